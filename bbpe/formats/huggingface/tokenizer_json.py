"""HF's `tokenizer.json` with a model of the type BPE, WordPiece, WordLevel or Unigram.

Everything in the file that could change ids is either followed or refused by name.  Source of the format: the
serialization of HF's `tokenizers` (`tokenizers/src/tokenizer/serialization.rs` and its components).
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from ...errors import VocabularyError
from ...files import ReadFile, StrPath
from ...records import replace
from ...spec.decoders import ByteLevel, DecoderStep
from ...spec.merges import Merges
from ...spec.models import OtherModel, UnigramModel, WordLevelModel, WordPieceModel
from ...spec.rules import BYTE_KEYS, ESCAPED_MARK, SPACE_MARK, Characters, Normalizer, Replace
from ...spec.spec import TextRules, TokenizerSpec, make_spec, usual_decoder
from ...spec.vocab import Vocab
from ...splitting.patterns import Pattern, get_pattern
from ..character_keys import key_of, keys_of_characters, read_keys
from ..folder_config import FolderConfig, other_files, read_folder, with_flags
from ..key_tables import Keys, MergeIds, MergeKeys
from ..keys import byte_symbols, check_ids, in_alphabet, keys_of, merge_keys, without_added
from ..known import check_special_tokens
from ..ranks import live_merges
from ..reading import Fields, about, read_file, read_json, shown, well_formed
from ..rows import FORMATS
from .added_tokens import AddedTokens, read_added_tokens, write_added_tokens
from .decoders import read_decoder, write_decoder
from .documents import Unread, quick_document
from .normalizers import read_normalizers, write_normalizers
from .own_fields import OWN, read_own_fields, write_own_fields
from .post_processors import read_post_processor, write_post_processor
from .pre_tokenizers import PreTokenization, read_pre_tokenizer, with_prefix, write_pre_tokenizer
from .row_lengths import read_truncation, take_padding, write_padding, write_truncation

NAMES = FORMATS["huggingface"].names
_MARK_BLANKS = Replace(" ", False, SPACE_MARK)


def load(
    path: StrPath,
    *,
    pattern: str | Sequence[str] | Pattern | None = None,
    special_tokens: Mapping[str, int] | None = None,
    name: str | None = None,
) -> TokenizerSpec:
    """Read a `tokenizer.json`, and keep the other files in its folder, such as `tokenizer_config.json`.

    `pattern` replaces the regexes of the file, `special_tokens` its special tokens.

    Raises `VocabularyError` with file and position on malformed JSON, an unsupported component or value, and a broken
    vocabulary; `PatternError` on a regex that cannot be followed exactly.
    """
    data = read_file(path)
    options = _Options(path, pattern, check_special_tokens(special_tokens), name)
    document = quick_document(data)
    if document is not None:
        try:
            return _spec(document, options)
        except VocabularyError as error:
            # the slower reader finds the position of an error among tokens and merges
            if error.place is not None and not error.place.startswith(("model", "added_tokens")):
                raise
    return _spec(read_json(ReadFile(Path(path), data)), options)


def read_document(
    value: object,
    *,
    path: StrPath,
    pattern: str | Sequence[str] | Pattern | None,
    special_tokens: Mapping[str, int] | None,
    name: str | None,
) -> TokenizerSpec:
    """Return the spec of the object of a `tokenizer.json`; errors name `path`, and `load` documents the others."""
    return _spec(value, _Options(path, pattern, check_special_tokens(special_tokens), name))


class _Options(NamedTuple):
    path: StrPath
    pattern: str | Sequence[str] | Pattern | None
    specials: dict[str, int] | None
    name: str | None


def _spec(value: object, options: _Options) -> TokenizerSpec:
    path, pattern, specials, name = options
    document = Fields(value, path=path, place="")
    is_folder = Path(path).name == NAMES[0][0]
    folder = read_folder(Path(path).parent) if is_folder else FolderConfig()
    document.only("version", "1.0", default="1.0")
    truncation = read_truncation(document.take("truncation", None), path=path)
    normalizers = read_normalizers(document.take("normalizer", None), path=path)
    template, trims = read_post_processor(document.take("post_processor", None), path=path)
    split_value = with_prefix(document.take("pre_tokenizer", None), folder.add_prefix_space)
    split = read_pre_tokenizer(split_value, path=path, replaced=pattern is not None)
    decoder = read_decoder(document.take("decoder", None), path=path)
    added = read_added_tokens(document).extended(folder.tokens)
    model = _model(document.take("model"), path)
    padding = take_padding(document, model)
    document.done()
    added = added.numbered(_keys_of_model(model))
    added = added if specials is None else added.with_special(specials)
    split = split if pattern is None else replace(split, pattern=get_pattern(pattern))
    has_marks = _has_marks(model, split, normalizers, {*added.special, *added.added})
    split = split.on_words() if model.peek("type") in ("WordPiece", "WordLevel") or not has_marks else split
    rules = TextRules(normalizers, split.prefix, split.rules)
    read = _read_model(model, added, split, rules, has_marks)
    if read.is_spelled:
        split = split.spelled()
        rules = TextRules(normalizers, split.prefix, split.rules)
    with about(path):
        spec = make_spec(
            read.vocab,
            read.merges,
            pattern=split.pattern,
            special_tokens=added.special,
            added_tokens=added.added,
            whole_pretokens=read.whole,
            name=name, rules=rules, characters=read.characters, template=template,
            token_options=added.options_with(normalizers),
            files=other_files(Path(path).parent) if is_folder else {},
            model=read.other,
            decoder=_with_end_of_word(decoder, read.characters),
        )  # fmt: skip
    spec = with_flags(spec, folder)
    return replace(spec, padding=padding, truncation=truncation, trims=trims, dropout=read.dropout)


def _model(value: object, path: StrPath) -> Fields:
    """Return the fields of a model; those of old files have no type, which `tokenizers` finds by the fields."""
    if isinstance(value, dict) and "type" not in value and "merges" not in value:
        of_words = {"continuing_subword_prefix", "max_input_chars_per_word"} & set(value)
        kind = "Unigram" if isinstance(value.get("vocab"), list) else "WordPiece" if of_words else "WordLevel"
        value = {"type": kind, **value}
    return Fields(value, path=path, place="model")


def _has_marks(
    model: Fields, split: PreTokenization, normalizers: Sequence[Normalizer], specials: Collection[str]
) -> bool:
    """Return whether a blank may take the place of U+2581 in tokens: it has a token, and none has a blank itself."""
    keys = _keys_of_model(model)
    if model.peek("byte_fallback") is True and SPACE_MARK not in keys:
        return False
    marks = split.marks_blanks or tuple(normalizers[-1:]) == (_MARK_BLANKS,)
    blank = next((key for key in keys if " " in key and key not in specials), None) if marks else None
    if blank is not None and ESCAPED_MARK in normalizers:
        model.refuse(f"token {blank!r} has a blank and would never be found; expected U+2581 for each blank", "vocab")
    return blank is None


def _with_end_of_word(decoder: tuple[DecoderStep, ...], characters: Characters | None) -> tuple[DecoderStep, ...]:
    """Return a decoder that replaces the ends of words of bytes, which HF's `transformers` does after decoding."""
    is_usual = decoder == (ByteLevel(),) and characters is not None and characters.are_bytes
    return usual_decoder(characters, None) if is_usual else decoder


def written(spec: TokenizerSpec, path: Path) -> dict[Path, bytes]:
    """Return a `tokenizer.json` that gives the same ids in HF's `tokenizers`, and the other files of the spec.

    A path that does not end in `.json` is a folder.

    Raises `PatternError` when Oniguruma cannot express the pattern, and `VocabularyError` when a special token looks
    like an ordinary one or the format has no component for a rule of the spec.
    """
    data = json.dumps(_document(spec, path), ensure_ascii=False).encode()
    is_device = path.exists() and not (path.is_file() or path.is_dir())
    target = path if path.suffix == ".json" or is_device else path / NAMES[0][0]
    carried = spec.files if target.name == NAMES[0][0] else {}
    return {**{target.with_name(name): file for name, file in carried.items()}, target: data}


def _document(spec: TokenizerSpec, path: StrPath) -> dict[str, Any]:
    if spec.characters is not None and spec.characters.unused:
        raise VocabularyError("no field holds pieces of the type UNUSED; write a SentencePiece .model", path=path)
    (padding, own), model = write_padding(spec.padding), _written_model(spec, path)
    if own:
        model[OWN] = {**model.get(OWN, {}), **own}
    return {
        "version": "1.0",
        "truncation": write_truncation(spec.truncation),
        "padding": padding,
        "added_tokens": write_added_tokens(spec),
        "normalizer": write_normalizers(spec.rules.normalizers, path=path),
        "pre_tokenizer": write_pre_tokenizer(spec),
        "post_processor": write_post_processor(spec),
        "decoder": write_decoder(spec.decoder),
        "model": model,
    }


def _written_model(spec: TokenizerSpec, path: StrPath) -> dict[str, Any]:
    match spec.model:
        case WordPieceModel():
            from ..wordpiece import write_wordpiece

            return write_wordpiece(spec, spec.model)
        case WordLevelModel():
            from .word_level import write_word_level

            return write_word_level(spec, spec.model)
        case UnigramModel():
            from .unigram import write_unigram

            return write_unigram(spec, spec.model)
    return _written_bpe(spec, path)


def _written_bpe(spec: TokenizerSpec, path: StrPath) -> dict[str, Any]:
    merges, whole = spec.merges, spec.whole_pretokens
    if spec.merge_levels:
        problem = "merges of equal scores apply from left to right, but a list of merges has an order"
        raise VocabularyError(f"{problem}; write a SentencePiece .model", path=path)
    if merges is None:
        live = live_merges(spec)
        merges, whole = live.merges, whole and bool(live.unmade)
    return {
        "type": "BPE",
        "dropout": spec.dropout or None,
        "unk_token": _unknown_token(spec, path),
        "continuing_subword_prefix": (spec.characters.prefix or None) if spec.characters is not None else None,
        "end_of_word_suffix": (spec.characters.end_of_word or None) if spec.characters is not None else None,
        "fuse_unk": spec.characters is not None and spec.characters.fuse_unknown,
        "byte_fallback": spec.characters is not None and bool(spec.characters.byte_ids),
        "ignore_merges": whole,
        # with special tokens, because HF assigns new ids to tokens that are not in vocab
        "vocab": _written_keys(spec, path, whole),
        "merges": _written_merges(spec, merges),
        **write_own_fields(spec),
    }


def _written_keys(spec: TokenizerSpec, path: StrPath, whole: bool) -> dict[str, int]:
    if spec.characters is None:
        return keys_of(spec, path=path, marked=not whole)
    keys, symbols = keys_of_characters(spec), spec.characters
    tokens = (*spec.special_tokens.items(), *spec.added_tokens.items())
    outside = {text for text, token_id in tokens if token_id not in (*symbols.byte_ids, symbols.unknown)}
    outside = {text for text in outside if keys[text] not in spec.vocab}
    # in the vocabulary these would be read as tokens of a byte or a character
    alone = {text for text in outside if len(text.removeprefix(symbols.prefix).removesuffix(symbols.end_of_word)) < 2}
    for chosen in (alone, outside) if alone else ():
        words = without_added(spec, keys, chosen)
        if words is not keys:
            return words
    return keys


def _written_merges(spec: TokenizerSpec, merges: Sequence[tuple[int, int, int]]) -> list[str] | list[list[str]]:
    if spec.characters is None:
        return [f"{left} {right}" for left, right in merge_keys(spec, merges)]
    keys = {token_id: key_of(token, spec.characters) for token_id, token in spec.vocab.items()}
    return [[keys[left], keys[right]] for left, right, _ in merges]


def _unknown_token(spec: TokenizerSpec, path: StrPath) -> str | None:
    if spec.characters is None or spec.characters.unknown is None:
        return None
    unknown = spec.characters.unknown
    for key, token_id in keys_of_characters(spec).items():
        if token_id == unknown:
            return key
    raise VocabularyError(f"the unknown token has id {unknown}; expected the id of a token", path=path)


class _Model(NamedTuple):
    vocab: Mapping[int, bytes]
    merges: Merges | None = None
    whole: bool = False
    characters: Characters | None = None
    other: OtherModel | None = None
    dropout: float = 0.0
    #: After the pre-tokenizer `ByteLevel` the tokens are texts in its alphabet, not bytes.
    is_spelled: bool = False


def _keys_of_model(model: Fields) -> Mapping[str, int]:
    """Return the keys and ids of a model as far as they are valid; the readers of models refuse others."""
    vocab = model.peek("vocab")
    if isinstance(vocab, Keys):
        return vocab
    if isinstance(vocab, dict):
        return {key: token_id for key, token_id in vocab.items() if type(token_id) is int}
    rows = enumerate(vocab if isinstance(vocab, list) else ())
    return {row[0]: number for number, row in rows if isinstance(row, list) and row and type(row[0]) is str}


def _read_model(
    model: Fields, added: AddedTokens, split: PreTokenization, rules: TextRules, has_marks: bool
) -> _Model:
    """Read a model; `has_marks`: U+2581 has a token, so that a blank may take its place."""
    match model.peek("type"):
        case "WordPiece":
            from ..wordpiece import read_wordpiece

            wordpieces, wordpiece = read_wordpiece(model)
            return _Model(wordpieces, other=wordpiece, is_spelled=split.byte_level)
        case "WordLevel":
            from .word_level import read_word_level

            words, word_level = read_word_level(model, added.special)
            return _Model(words, other=word_level, is_spelled=split.byte_level)
        case "Unigram":
            marks = has_marks and _marks_blanks(split, rules)
            from .unigram import read_unigram

            # a token with a blank is never a piece where blanks are U+2581
            left_out = {*added.special, *(text for text in added.added if marks and " " in text)}
            vocab, unigram, characters = read_unigram(model, left_out, marks_blanks=marks)
            return _Model(vocab, characters=characters, other=unigram, is_spelled=split.byte_level)
    return _bpe(model, added, split, rules, has_marks)


def _bpe(model: Fields, added: AddedTokens, split: PreTokenization, rules: TextRules, has_marks: bool) -> _Model:
    model.only("type", "BPE", default="BPE")
    dropout = _dropout(model)
    unknown = model.take("unk_token", None)
    if unknown is not None and type(unknown) is not str:
        model.refuse(f"found {shown(unknown)}; expected a string or null", "unk_token")
    prefix, end = _mark(model, "continuing_subword_prefix"), _mark(model, "end_of_word_suffix")
    byte_fallback, fuse, whole = (_flag(model, name) for name in ("byte_fallback", "fuse_unk", "ignore_merges"))
    place = model.at("vocab")
    keys = _keys(model, place)
    merges = _merges(model, keys, prefix)
    own = read_own_fields(model)
    model.done()
    specials = {**added.added, **added.special}
    both = {text for text in specials if text in keys}
    if split.byte_level and not (whole and prefix):
        read = _of_bytes(keys, merges, whole, both, _Unknown(unknown, fuse), prefix, end)
        is_complete = read is not None and read.characters is None
        if read is not None and (is_complete or not (byte_fallback and any(key in keys for key in BYTE_KEYS))):
            return read._replace(dropout=dropout)
    if byte_fallback:
        _refuse_marks(model, "byte_fallback is", prefix, end)
    if whole:
        _refuse_marks(model, "ignore_merges is", prefix, "")
    marks = has_marks and _marks_blanks(split, rules)
    if marks and SPACE_MARK in prefix + end:
        _refuse_marks(model, "U+2581 for blanks is", prefix, end)
    unknown_id = None if unknown is None else keys.get(unknown)
    if unknown is not None and not byte_fallback and merges.using_as_part(unknown):
        model.refuse(f"found the unknown token {shown(unknown)} in a merge; expected merges without it", "merges")
    characters = Characters((), unknown_id, fuse, marks, end, prefix=prefix, unknown_text=own.unknown_text)
    alone = {text for text in both if len(text.removeprefix(prefix).removesuffix(end)) == 1 or len(text) == 1}
    if marks:  # all blanks are U+2581, so a token with a blank is never found
        alone = {text for text in alone if " " not in text}
    left_out = both - merges.using(both) - alone
    vocab, characters = read_keys(
        keys, characters, byte_fallback=byte_fallback, left_out=left_out, path=model.path, place=place
    )
    return _Model(
        vocab, merges.merges(keys, vocab), whole, characters, dropout=dropout, is_spelled=split.byte_level
    )


class _Unknown(NamedTuple):
    token: str | None
    is_fused: bool


def _of_bytes(
    keys: Keys,
    merges: MergeKeys | MergeIds,
    whole: bool,
    both: set[str],
    unknown: _Unknown,
    prefix: str,
    end: str,
) -> _Model | None:
    """Return a byte-level vocabulary, whose bytes need not all be tokens.

    It is `None` if a key has a character outside the byte alphabet, or if tokens have the bytes 0xFD and 0xFF, which
    mark the beginning and the end of words.
    """
    kept = merges.using(both) | {text for text in both if len(text) == 1 and in_alphabet(text)}
    vocab = Vocab.of_keys(keys.table, keys.ids(both - kept))
    if vocab is None or (prefix and end and f"ý{end}" in keys and f"{prefix}ÿ" in keys):
        return None
    for mark, byte in ((prefix, 0xFD), (end, 0xFF)):
        if mark and any(_has_byte(token, prefix, end, byte) for token in vocab.values()):
            return None
    # `tokenizers` never writes an unknown token that is not in its vocabulary
    unknown_id = None if unknown.token is None else keys.get(unknown.token)
    symbols = Characters((), unknown_id, unknown.is_fused, prefix=prefix, end_of_word=end, are_bytes=True)
    return _Model(vocab, merges.merges(keys, vocab), whole, byte_symbols(vocab, symbols))


def _has_byte(token: bytes, prefix: str, end: str, byte: int) -> bool:
    bare = token.removeprefix(prefix.encode()).removesuffix(end.encode())
    return len(bare) > 1 and byte in bare


def _refuse_marks(model: Fields, what: str, prefix: str, end: str) -> None:
    """Refuse marks of positions in words; `what` names the option that is not supported together with them."""
    for name, mark in (("continuing_subword_prefix", prefix), ("end_of_word_suffix", end)):
        if mark:
            model.refuse(f"found {shown(mark)}, together with which {what} not supported", name)


def _marks_blanks(split: PreTokenization, rules: TextRules) -> bool:
    """Return whether texts have U+2581 for every blank before the model, so that the spec can use blanks instead."""
    return split.marks_blanks or rules.normalizers[-1:] == (_MARK_BLANKS,)


def _dropout(model: Fields) -> float:
    """Take the dropout, with which `tokenizers` draws other ids at each call."""
    value = model.take("dropout", None)
    if value is None:
        return 0.0
    if type(value) not in (int, float) or not 0 <= value <= 1:
        model.refuse(f"found {shown(value)}; expected null or a probability, 0 to 1", "dropout")
    return float(value)


def _flag(model: Fields, name: str) -> bool:
    """Take a flag, which may be null."""
    value = model.take(name, None)
    return False if value is None else model.checked(value, bool, name)


def _mark(model: Fields, name: str) -> str:
    """Take a mark of positions in words; "" if there is none."""
    mark = model.take(name, None)
    if mark is not None and (type(mark) is not str or not well_formed(mark)):
        model.refuse("expected a string of Unicode text, or null", name)
    return mark or ""


def _keys(model: Fields, place: str) -> Keys:
    """Take the keys of a model."""
    if isinstance(model.peek("vocab"), Keys):
        keys: Keys = model.take("vocab")
        return keys
    return Keys.of(check_ids(model.take_type("vocab", dict), path=model.path, place=place))


def _merges(model: Fields, keys: Keys, prefix: str) -> MergeKeys | MergeIds:
    """Take the merges of a model."""
    unread = model.take("merges")
    if isinstance(unread, Unread):
        return unread.merges(keys, prefix)
    pairs: list[tuple[str, str]] = []
    for number, merge in enumerate(model.checked(unread, list, "merges")):
        if type(merge) is str and merge.startswith("#version"):
            continue  # as in a merges.txt
        if type(merge) is str:
            left, _, right = merge.partition(" ")
            is_pair = left and right and " " not in right
        else:
            is_pair = type(merge) is list and len(merge) == 2 and all(type(part) is str and part for part in merge)
            left, right = merge if is_pair else ("", "")
        if not is_pair:
            model.refuse(f'found {shown(merge)}; expected "a b" or ["a", "b"]', f"merges[{number}]")
        if not right.startswith(prefix) or right == prefix:
            problem = f"found {shown(merge)}; expected a second token that continues with continuing_subword_prefix"
            model.refuse(problem, f"merges[{number}]")
        pairs.append((left, right))
    return MergeKeys(pairs, model.path, lambda number: model.at(f"merges[{number}]"), prefix)
