"""The documents of classes of Python, which read files of their own and no `tokenizer.json`, as ByT5 and Wav2Vec2.

Source: the classes of HF's `transformers` 5.  These classes give their tokens the ids of `added_tokens_decoder`, and
others the ids after the vocabulary.  They find tokens in a text as it is, the longest first.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ...errors import VocabularyError
from ...pipeline.word_symbols import WordSymbols
from ...records import replace
from ...spec.decoders import Blanks, Fuse
from ...spec.models import Merges, SymbolModel
from ...spec.rules import Replace, TokenOptions
from ...spec.spec import TokenizerSpec, spec_of_symbols
from ...text import bytes_to_alphabet
from ..common.keys import check_ids
from ..common.reading import Fields, read_text, shown
from .documents import ClassFiles, ClassParts, ModelClass, number, replaced
from .folder import ClassFolder
from .tokens import FolderToken

STRIPS = TokenOptions(lstrip=True, rstrip=True)
OF_PERCEIVER = ("pad", "bos", "eos", "mask", "cls", "sep")
_ALPHABET = tuple(bytes_to_alphabet(bytes((byte,))) for byte in range(256))
_LEVEL = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": False, "use_regex": False}
# what Python takes for white space
_BLANKS = {"type": "Split", "pattern": {"Regex": r"[\s\x{1C}-\x{1F}]+"}, "behavior": "Removed", "invert": False}
# the marks of symbols at the end of a word, and of tokens within one
_END, _INNER = "</w>", "@@"
_ENDS_OF_TEXT = Replace(r"\A[\s\x1c-\x1f]+|[\s\x1c-\x1f]+\Z", True, "")
_JOINED = (Blanks(), Fuse(), Replace(f"{_INNER} ", False, ""), _ENDS_OF_TEXT)


def own_files(row: ModelClass, folder: ClassFolder) -> ClassFiles:
    """Return the vocabulary of a class, with its added tokens; `VocabularyError` where two tokens would have an id."""
    usual = {f"{use}_token": FolderToken(text, row.usual) for use, text in row.tokens.items()}
    # a class without a file of keys gives its own tokens their ids, and they keep their options
    kept = () if row.file else usual
    config, ids = folder.config_in_python(usual, tuple(map(FolderToken, row.listed(folder.fields))), kept)
    files = ClassFiles(row, config, folder.fields)
    base = row.base(files, folder)
    if row.file and files.text("unk") not in base:
        problem = f"{row.file} has no token {files.text('unk')!r}; expected one for what is unknown"
        files.fields.refuse(problem, "unk_token")
    keys = dict(base)
    taken = {token_id: text for text, token_id in keys.items()}
    single = next((token.text for token in config.tokens if token.options.single_word), None)
    if single is not None:
        problem = f"{single!r} has single_word, which is not supported for a class of Python; expected false"
        files.fields.refuse(problem, "added_tokens_decoder")
    for token in config.tokens:
        text = token.text
        token_id = ids.get(text, keys.get(text, len(keys)))
        if taken.setdefault(token_id, text) != text or keys.setdefault(text, token_id) != token_id:
            problem = f"the token {text!r} would have the id {token_id}, but {taken[token_id]!r} has it, or it has two"
            files.fields.refuse(f"{problem}; expected one token for each id", "added_tokens_decoder")
    files = replace(files, keys=keys)
    return replace(files, config=replace(config, tokens=tuple(row.found(files, base))))


def _of_bytes(files: ClassFiles, uses: tuple[str, ...]) -> dict[str, int]:
    """Return the keys of special tokens and then of all bytes."""
    texts = [*(files.text(use) for use in uses), *_ALPHABET]
    keys = {text: token_id for token_id, text in enumerate(texts)}
    if len(keys) != len(texts):
        files.fields.refuse("two special tokens have one text, or that of a byte; expected tokens of their own")
    return keys


def byt5_keys(files: ClassFiles, folder: ClassFolder) -> dict[str, int]:
    """Return the keys of ByT5."""
    return _of_bytes(files, ("pad", "eos", "unk"))


def perceiver_keys(files: ClassFiles, folder: ClassFolder) -> dict[str, int]:
    """Return the keys of Perceiver."""
    return _of_bytes(files, OF_PERCEIVER)


def byt5(files: ClassFiles) -> ClassParts:
    """ByT5 and Perceiver: each byte is a token."""
    return ClassParts({"type": "BPE", "vocab": files.keys, "merges": []}, (), (_LEVEL,), _LEVEL)


def byt5_tokens(fields: Fields) -> list[str]:
    """Return the tokens of ByT5 for masked spans."""
    return [f"<extra_id_{i}>" for i in range(number(fields, "extra_ids", 125))]


def counted_keys(files: ClassFiles, folder: ClassFolder) -> dict[str, int]:
    """Return the keys of PhoBERT: four tokens of its own, and the texts of lines that end with a count."""
    keys = {files.text(use): number for number, use in enumerate(("bos", "pad", "eos", "unk"))}
    if len(keys) < 4:
        files.fields.refuse("two of bos_token, pad_token, eos_token and unk_token are one; expected four tokens")
    path = folder.path / files.row.file
    rows = _rows_of(folder, files.row.file)
    for place, row in enumerate(rows if rows[-1] else rows[:-1], 1):
        text, blank, _ = row.strip().rpartition(" ")
        if not blank or text in keys:
            found = f"the token {text!r} is listed twice" if blank else f"found {row[:60]!r}"
            raise VocabularyError(f"{found}; expected each token once, with a count", path=path, place=f"line {place}")
        keys[text] = len(keys)
    return keys


def _rows_of(folder: ClassFolder, file: str) -> list[str]:
    """Return what is between the line ends of a file, as Python's `open` knows them."""
    return read_text(folder.file(file)).replace("\r\n", "\n").replace("\r", "\n").split("\n")


def in_words(files: ClassFiles) -> ClassParts:
    """PhoBERT, BERTweet and CTRL: words, which `with_symbols` divides, with the line end after them."""
    if files.fields.peek("normalization"):
        problem = "true rewrites tweets by rules of Python that no normalizer has, which is not supported"
        files.fields.refuse(f"{problem}; expected false", "normalization")
    model = {"type": "WordLevel", "vocab": files.keys, "unk_token": files.text("unk")}
    splits = {"type": "Split", "pattern": {"Regex": files.row.pattern}, "behavior": "Removed", "invert": True}
    return ClassParts(model, (), (splits,), None)


def with_symbols(spec: TokenizerSpec, files: ClassFiles, folder: ClassFolder) -> TokenizerSpec:
    """Return the spec of words that are divided into symbols by merges, which need not have ids."""
    row, unknown = files.row, files.keys[files.text("unk")]
    path = folder.path / row.merges
    found = [tuple(pair) for pair in row.pairs(_rows_of(folder, row.merges))]
    ranks = {(pair[0], pair[1]): rank for rank, pair in enumerate(found) if len(pair) == 2}
    if found and not ranks:
        raise VocabularyError(f"no line has two symbols{row.counts}; expected merges", path=path)
    merges = sorted(ranks, key=ranks.__getitem__)
    broken = next((pair for pair in merges if "".join(pair).endswith(_END) and not pair[1].endswith(_END)), None)
    if broken is not None:
        problem = f"the merge {' '.join(broken)!r} makes the mark {_END!r} of characters, which is not supported"
        raise VocabularyError(f"{problem}; expected it only at the end of a symbol", path=path)
    singles = [text + _END for text in files.keys if len(text) == 1]
    singles += [text[0] for text in files.keys if len(text) == 3 and text.endswith(_INNER)]
    made = (text for pair in merges for text in (*pair, "".join(pair)))
    texts = dict.fromkeys((*(text for text in singles if " " not in text), *made))
    numbers = {text: number for number, text in enumerate(texts)}
    pieces = [text.removesuffix(_END) if text.endswith(_END) else text + _INNER for text in texts]
    ids = tuple(unknown if piece in spec.special_tokens else files.keys.get(piece, unknown) for piece in pieces)
    listed = Merges((numbers[left], numbers[right], numbers[left + right]) for left, right in merges)
    model = SymbolModel(unknown, " ".join(texts), ids, listed)
    if not _are_in_order(merges):
        _check_order(spec, model, path)
    return replace(spec, model=model, modelled=(), decoder=_JOINED)


def _are_in_order(merges: Sequence[tuple[str, str]]) -> bool:
    """Return whether one merge makes each symbol, before it is a part of others."""
    known = {part for pair in merges for part in pair if len(part.removesuffix(_END)) == 1}
    for left, right in merges:
        if left not in known or right not in known or left + right in known:
            return False
        known.add(left + right)
    return True


def _check_order(spec: TokenizerSpec, model: SymbolModel, path: Path) -> None:
    """Refuse merges in an order in which it matters whether all pairs of a merge become one at once."""
    inner, _ = spec_of_symbols(spec, model)
    assert inner.characters is not None
    known = set(range(256))
    for left, right, made in WordSymbols(inner.vocab, inner.merges or (), inner.characters).model.live_merges()[0]:
        if not {left, right} <= known:
            problem = "a merge comes before the one that makes a part of it, so all pairs of a merge are to become one"
            raise VocabularyError(f"{problem} at once, which is not supported; expected merges as learned", path=path)
        known.add(made)


def lines(files: ClassFiles, folder: ClassFolder) -> dict[str, int]:
    """Return the lines of a vocabulary, without blanks at their ends."""
    path = folder.path / files.row.file
    texts = [line.strip() for line in read_text(folder.file(files.row.file)).splitlines()]
    keys = {text: token_id for token_id, text in enumerate(texts)}
    if len(keys) != len(texts):
        text = next(text for place, text in enumerate(texts) if keys[text] != place)
        raise VocabularyError(f"the token {text!r} is listed twice; expected each token once", path=path)
    return keys


def esm(files: ClassFiles) -> ClassParts:
    """ESM: each token is found within words, and what is left of a word is unknown."""
    model = {"type": "WordLevel", "vocab": files.keys, "unk_token": files.text("unk")}
    return ClassParts(model, (), (_BLANKS,), None)


def esm_tokens(files: ClassFiles, base: Mapping[str, int]) -> list[FolderToken]:
    """Return the tokens of the files, and all others of the vocabulary, which are not special."""
    known = {token.text for token in files.config.tokens}
    others = [FolderToken(text, is_special=False) for text in base if text and text not in known]
    return [*files.config.tokens, *others]


def characters(files: ClassFiles, folder: ClassFolder) -> dict[str, int]:
    """Return the keys of a vocabulary, or those of the language that the configuration names."""
    path, language = folder.path / files.row.file, files.fields.peek("target_lang")
    values = folder.json(files.row.file)
    if language is not None and isinstance(values, Mapping):
        language = files.fields.checked(language, str, "target_lang")
        if language not in values:
            files.fields.refuse(f"found {language!r}; expected a language of {path.name}", "target_lang")
        values = values[language]
    if not isinstance(values, dict):
        raise VocabularyError(f"found {shown(values)}; expected an object of tokens and ids", path=path)
    return check_ids(values, path=path)


def _of_characters(files: ClassFiles) -> dict[str, Any]:
    return {"type": "BPE", "vocab": files.keys, "merges": [], "unk_token": files.text("unk")}


def mgp_str(files: ClassFiles) -> ClassParts:
    """MGP-STR: each character is a token."""
    return ClassParts(_of_characters(files), (), (), None)


def wav2vec2(files: ClassFiles) -> ClassParts:
    """Wav2Vec2: each character is a token, and a mark takes the place of blanks; ids of a text that repeat are one."""
    fields, mark = files.fields, _delimiter(files)
    if files.flag("do_lower_case", False):
        problem = "true makes upper case of a text by rules of Python that no normalizer has, which is not supported"
        fields.refuse(f"{problem}; expected false", "do_lower_case")
    if fields.peek("replace_word_delimiter_char") not in (None, " "):
        fields.refuse("another character than a blank is not supported; expected one", "replace_word_delimiter_char")
    odd = [text for text in files.keys if (mark in text and text != mark) or (text != " " and text.isspace())]
    if odd:
        problem = f"decoding the token {odd[0]!r} gives blanks by rules that no decoder has, which is not supported"
        raise VocabularyError(problem, path=Path(fields.path).with_name(files.row.file))
    group = {"type": "CTC", "pad_token": files.text("pad"), "word_delimiter_token": mark, "cleanup": True}
    decoder = {"type": "Sequence", "decoders": [group, {"type": "Fuse"}, replaced(r"\A +| +\z", "", is_regex=True)]}
    return ClassParts(_of_characters(files), (replaced(" ", mark),), (), decoder)


def wav2vec2_tokens(files: ClassFiles, base: Mapping[str, int]) -> list[FolderToken]:
    """Return the tokens of several characters, which take blanks with them if the vocabulary has them."""
    mark = _delimiter(files)
    known = {token.text: token for token in files.config.tokens if token.text != mark}
    plain = {text: FolderToken(text, is_special=False) for text in base if len(text) > 1 and text != mark}
    tokens = {**plain, **known}.values()
    return [replace(token, options=STRIPS) if token.text in plain else token for token in tokens]


def _delimiter(files: ClassFiles) -> str:
    """Return the mark that takes the place of blanks."""
    value = files.fields.peek("word_delimiter_token") if "word_delimiter_token" in files.fields else "|"
    value = value.get("content") if isinstance(value, dict) else value
    return files.fields.checked(value, str, "word_delimiter_token")


_ROBERTA_ENDS = {"bos": "<s>", "eos": "</s>", "sep": "</s>", "cls": "<s>"}
_PHOBERT = ModelClass(
    "vocab.txt", {**{use: f"<{use}>" for use in ("unk", "pad", "mask")}, **_ROBERTA_ENDS}, in_words,
    ("cls A sep", "cls A sep sep B sep"), base=counted_keys, pattern=r"[^\s\x{1C}-\x{1F}]+\n?", merges="bpe.codes",
    pairs=lambda rows: [row.split()[:-1] for row in rows[:-1]],
    counts=" and a count, as files that BertweetTokenizer of transformers 5 saves, which then has no merges",
)  # fmt: skip
#: The classes by their names without the end "Tokenizer".
OWN_CLASSES = {
    "ByT5": ModelClass(
        "", {"eos": "</s>", "unk": "<unk>", "pad": "<pad>"}, byt5, ("A eos", "A eos B eos"),
        usual=STRIPS, listed=byt5_tokens, base=byt5_keys,
        note="ByT5Tokenizer of transformers adds no '</s>' to a text that ends with one; bbpe does",
    ),
    "Perceiver": ModelClass(
        "", {use: f"[{use.upper()}]" for use in OF_PERCEIVER}, byt5,
        ("cls A sep", "cls A sep B sep"), base=perceiver_keys,
    ),
    "Esm": ModelClass(
        "vocab.txt", {"unk": "<unk>", "cls": "<cls>", "pad": "<pad>", "mask": "<mask>", "eos": "<eos>"}, esm,
        ("cls A eos", "cls A eos B eos"), base=lines, found=esm_tokens,
    ),
    "Wav2Vec2CTC": ModelClass(
        "vocab.json", {"bos": "<s>", "eos": "</s>", "unk": "<unk>", "pad": "<pad>", "word_delimiter": "|"}, wav2vec2,
        None, base=characters, found=wav2vec2_tokens,
    ),
    **dict.fromkeys(("Bertweet", "Phobert"), _PHOBERT),
    "CTRL": ModelClass(
        "vocab.json", {"unk": "<unk>"}, in_words, None, base=characters, pattern=r"\S+\n?", merges="merges.txt",
        pairs=lambda rows: [row.split() for row in rows[1:-1]],
    ),
    "Mgpstr": ModelClass(
        "vocab.json", {"bos": "[GO]", "eos": "[s]", "unk": "[GO]", "pad": "[GO]"}, mgp_str, None, base=characters,
    ),
}  # fmt: skip
