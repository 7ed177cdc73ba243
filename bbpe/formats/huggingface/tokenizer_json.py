"""HF's `tokenizer.json` with a model of the type BPE, WordPiece, WordLevel or Unigram.

Everything in the file that could change ids is either followed or refused by name.  Source of the format: the
serialization of HF's `tokenizers` (`tokenizers/src/tokenizer/serialization.rs` and its components).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from ...errors import VocabularyError
from ...files import ReadFile, StrPath
from ...lazy import safe_import
from ...records import replace
from ...spec.decoders import Blanks, ByteLevel, DecoderStep
from ...spec.models import UnigramModel, WordLevelModel, WordPieceModel
from ...spec.rules import ESCAPED_MARK, NO_TEMPLATE, SPACE_MARK, Normalizer, Replace
from ...spec.spec import TextRules, TokenizerSpec, make_spec
from ...splitting.patterns import get_pattern
from ..common.given import Given
from ..common.key_tables import KeyTable, quick_document
from ..common.keys import key_of, keys_of, keys_of_characters, keys_of_rows, merge_keys, without_added
from ..common.ranks import live_merges
from ..common.reading import Fields, about, read_file, read_json
from ..rows import FORMATS
from ..transformers.folder import CLASS, CONFIG, ClassFolder, FolderConfig
from .added_tokens import AddedTokens, makes_texts, modelled_ids, read_added_tokens, spelled, write_added_tokens
from .bpe import ReadModel, read_bpe
from .decoders import read_decoder, write_decoder
from .normalizers import read_normalizers, write_normalizers
from .own_fields import OWN, write_own_fields
from .post_processors import read_post_processor, write_post_processor
from .pre_tokenizers import PreTokenization, read_pre_tokenizer, write_pre_tokenizer
from .row_lengths import read_padding, read_truncation, take_own_padding, write_padding, write_truncation
from .scores import dumps, score_of

NAMES = FORMATS["huggingface"].names
_MARK_BLANKS = Replace(" ", False, SPACE_MARK)


def load(path: StrPath, given: Given, parse_float: Callable[[str], float] = score_of) -> TokenizerSpec:
    """Read a `tokenizer.json`, and keep the other files in its folder, such as `tokenizer_config.json`.

    `pattern` replaces the regexes of the file, `special_tokens` its special tokens.  `parse_float`: `float` for the
    JSON of a tokenizer in memory, whose scores HF's `tokenizers` does not read back.

    Raises `VocabularyError` with file and position on malformed JSON, an unsupported component or value, and a broken
    vocabulary; `PatternError` on a regex that cannot be followed exactly.
    """
    data = read_file(path)
    document = quick_document(data, reads_scores=parse_float is score_of)
    if document is not None:
        try:
            return read_document(document, path, given)
        except VocabularyError as error:
            # the slower reader finds the position of an error among tokens and merges
            if error.place is not None and not error.place.startswith(("model", "added_tokens")):
                raise
    return read_document(read_json(ReadFile(Path(path), data), parse_float), path, given)


def read_document(value: object, path: StrPath, given: Given) -> TokenizerSpec:
    """Return the spec of the object of a `tokenizer.json`; errors name `path`."""
    value, folder, config, notes = _in_folder(value, path, given)
    document = Fields(value, path=path, place="")
    document.only("version", "1.0", default="1.0")
    truncation = document.component("truncation", read_truncation, None)
    padding = document.component("padding", read_padding, None)
    normalizers = document.component("normalizer", read_normalizers, ())
    template, trims = document.component("post_processor", read_post_processor, (None, ()))
    split_value = document.take("pre_tokenizer", None)
    split = read_pre_tokenizer(split_value, path=path, replaced=given.pattern is not None)
    decoder = document.component("decoder", read_decoder, (Blanks(),))
    added = read_added_tokens(document).extended(config.tokens)
    model = _model(document.take("model"), path)
    document.done()
    padding = (take_own_padding(model) if OWN in model else None) or padding
    keys = _keys_of_model(model)
    added = added.numbered(keys)
    added = added if given.special_tokens is None else added.with_special(given.special_tokens)
    split = split if given.pattern is None else replace(split, pattern=get_pattern(given.pattern))
    has_marks = _has_marks(model, keys, split, normalizers, {*added.special, *added.added})
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
            name=given.name, rules=rules, characters=read.characters, template=template,
            token_options=added.options_with(normalizers),
            files={} if folder is None else folder.other_files(),
            model=read.other,
            decoder=_with_end_of_word(decoder, read),
        )  # fmt: skip
    modelled = modelled_ids(spec, keys) if read.whole or read.other is not None else ()
    return replace(
        spec, padding=padding, truncation=truncation, trims=trims, dropout=read.dropout, modelled=modelled, notes=notes
    )


def _in_folder(
    value: object, path: StrPath, given: Given
) -> tuple[object, ClassFolder | None, FolderConfig, tuple[str, ...]]:
    """Return what a folder makes of a document, the folder if it has other files, its tokens, and notes.

    The path of the file alone has the tokens of the file, as in `tokenizers`.
    """
    is_named = Path(path).name == NAMES[0][0]
    folder = given.folder if is_named and given.folder is not None and given.folder.has_others else None
    if is_named and given.is_folder and given.folder is not None and isinstance(value, dict):
        safe_import("bbpe.formats.transformers.rebuilt")
        from ..transformers.rebuilt import rebuilt

        made = rebuilt(value, given.folder, _readers(path))
        return made.value, folder, made.config, made.notes
    return value, folder, FolderConfig(), ()


def _readers(path: StrPath) -> dict[str, Callable[[Any], Any]]:
    """Return the readers of the parts of a document that make ids, by field; places of ids do not count."""
    return {
        "normalizer": lambda value: () if value is None else read_normalizers(value, path=path),
        "pre_tokenizer": lambda value: read_pre_tokenizer(value, path=path),
        "post_processor": lambda value: (value and read_post_processor(value, path=path)[0]) or NO_TEMPLATE,
    }


def _model(value: object, path: StrPath) -> Fields:
    """Return the fields of a model; those of old files have no type, which `tokenizers` finds by the fields."""
    if isinstance(value, dict) and "type" not in value and "merges" not in value:
        of_words = {"continuing_subword_prefix", "max_input_chars_per_word"} <= set(value)
        kind = "Unigram" if isinstance(value.get("vocab"), list) else "WordPiece" if of_words else "WordLevel"
        value = {"type": kind, **value}
    return Fields(value, path=path, place="model")


def _has_marks(
    model: Fields, keys: Mapping[str, int], split: PreTokenization, normalizers: Sequence[Normalizer],
    specials: Collection[str],
) -> bool:  # fmt: skip
    """Return whether a blank may take the place of U+2581 in tokens: it has a token, and none has a blank itself."""
    if model.peek("byte_fallback") is True and SPACE_MARK not in keys:
        return False
    marks = split.marks_blanks or tuple(normalizers[-1:]) == (_MARK_BLANKS,)
    if not marks or (isinstance(keys, KeyTable) and not keys.table.has_byte(ord(" "))):
        return True
    blank = next((key for key in keys if " " in key and key not in specials), None)
    if blank is not None and ESCAPED_MARK in normalizers:
        model.refuse(f"token {blank!r} has a blank and would never be found; expected U+2581 for each blank", "vocab")
    return blank is None


def _with_end_of_word(decoder: tuple[DecoderStep, ...], read: ReadModel) -> tuple[DecoderStep, ...]:
    """Return a decoder that replaces the ends of words of bytes, which HF's `transformers` does after decoding."""
    characters = read.characters
    if decoder != (ByteLevel(),) or characters is None or not (characters.are_bytes or read.is_spelled):
        return decoder
    return (ByteLevel(characters.end_of_word),)


def written(spec: TokenizerSpec, path: Path) -> dict[Path, bytes]:
    """Return a `tokenizer.json` that gives the same ids in HF's `tokenizers`, and the other files of the spec.

    A path that does not end in `.json` is a folder.  It has a configuration, as onnxruntime-extensions asks for one.  A
    configuration that is there is kept, unless the spec has its own.

    Raises `PatternError` when Oniguruma cannot express the pattern, and `VocabularyError` when a special token looks
    like an ordinary one or the format has no component for a rule of the spec.
    """
    data = dumps(_document(spec, path)).encode()
    is_device = path.exists() and not (path.is_file() or path.is_dir())
    target = path if (path.suffix == ".json" and not path.is_dir()) or is_device else path / NAMES[0][0]
    carried = spec.files if target.name == NAMES[0][0] else {}
    if target != path and not (path / CONFIG).exists():
        carried = {CONFIG: f'{{"{CLASS}": "PreTrainedTokenizerFast"}}\n'.encode(), **carried}
    return {**{target.parent / name: file for name, file in carried.items()}, target: data}


def _document(spec: TokenizerSpec, path: StrPath) -> dict[str, Any]:
    if spec.characters is not None and spec.characters.unused:
        raise VocabularyError("no field holds pieces of the type UNUSED; write a SentencePiece .model")
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
        case WordPieceModel() | WordLevelModel():
            safe_import("bbpe.formats.huggingface.words")
            from .words import write_words

            return write_words(spec, spec.model)
        case UnigramModel():
            safe_import("bbpe.formats.huggingface.unigram")
            from .unigram import write_unigram

            return write_unigram(spec, spec.model)
    return _written_bpe(spec, path)


def _written_bpe(spec: TokenizerSpec, path: StrPath) -> dict[str, Any]:
    merges, whole = spec.merges, spec.whole_pretokens
    if spec.characters is not None and spec.characters.end_apart:
        raise VocabularyError("no field holds a symbol of its own for the end of a word; write codes (.codes)")
    if spec.merge_levels:
        problem = "merges of equal scores apply from left to right, but a list of merges has an order"
        raise VocabularyError(f"{problem}; write a SentencePiece .model")
    if merges is None:
        live = live_merges(spec)
        merges, whole = live.merges, whole and bool(live.unmade)
    return {
        "type": "BPE",
        "dropout": spec.dropout or None,
        "unk_token": _unknown_token(spec),
        "continuing_subword_prefix": (spec.characters.prefix or None) if spec.characters is not None else None,
        "end_of_word_suffix": (spec.characters.end_of_word or None) if spec.characters is not None else None,
        "fuse_unk": spec.characters is not None and spec.characters.fuse_unknown,
        "byte_fallback": spec.characters is not None and bool(spec.characters.byte_tokens),
        "ignore_merges": whole,
        # with special tokens, because HF assigns new ids to tokens that are not in vocab
        "vocab": _written_keys(spec, whole),
        "merges": _written_merges(spec, merges),
        **write_own_fields(spec),
    }


def _written_keys(spec: TokenizerSpec, whole: bool) -> dict[str, int]:
    if spec.characters is None:
        return _keys_of_bytes(spec, whole)
    keys, symbols = keys_of_characters(spec), spec.characters
    tokens = (*spec.special_tokens.items(), *spec.added_tokens.items())
    outside = {text for text, token_id in tokens if token_id not in (*symbols.byte_tokens.values(), symbols.unknown)}
    outside = {text for text in outside if keys[text] not in spec.vocab}
    # in the vocabulary these would be read as tokens of a byte or a character
    alone = {text for text in outside if len(text.removeprefix(symbols.prefix).removesuffix(symbols.end_of_word)) < 2}
    if spec.whole_pretokens and makes_texts(spec):
        alone |= {text for text in outside if keys[text] not in spec.modelled}
    # without one of them, those after it need their places: then all that come after the tokens of the model
    last = max((*spec.vocab, *symbols.byte_tokens.values()), default=-1)
    later = {text for text in outside if keys[text] > last and keys[text] not in spec.modelled}
    for chosen in (alone, later | alone, outside) if alone else ():
        words = without_added(spec, keys, chosen)
        if words is not keys:
            return words
    return keys


def _keys_of_bytes(spec: TokenizerSpec, whole: bool) -> dict[str, int]:
    """Return the keys of a vocabulary of bytes; with `whole`, one that spells another text would be found as that."""
    keys = keys_of(spec, marked=True)
    tokens = [*spec.special_tokens, *spec.added_tokens] if whole else []
    outside = [text for text in tokens if keys[text] not in spec.vocab and keys[text] not in spec.modelled]
    others = {text for text in outside if spelled(text) not in (None, text)}
    if makes_texts(spec) and (words := without_added(spec, keys, set(outside))) is not keys:
        return words
    words = without_added(spec, keys, others)
    if others and words is keys:
        text = min(others)
        problem = f"added token {text!r} (id {keys[text]}) would be read as {spelled(text)!r}"
        raise VocabularyError(f"{problem}; expected added tokens with the highest ids, in order")
    return words


def _written_merges(spec: TokenizerSpec, merges: Sequence[tuple[int, int, int]]) -> list[str] | list[list[str]]:
    if spec.characters is None:
        return [f"{left} {right}" for left, right in merge_keys(spec, merges)]
    keys = {token_id: key_of(token, spec.characters) for token_id, token in spec.vocab.items()}
    return [[keys[left], keys[right]] for left, right, _ in merges]


def _unknown_token(spec: TokenizerSpec) -> str | None:
    if spec.characters is None or spec.characters.unknown is None:
        return None
    unknown = spec.characters.unknown
    found = next((key for key, token_id in keys_of_characters(spec).items() if token_id == unknown), None)
    if found is None:
        raise VocabularyError(f"the unknown token has id {unknown}; expected the id of a token")
    return found


def _keys_of_model(model: Fields) -> Mapping[str, int]:
    """Return the keys and ids of a model as far as they are valid; the readers of models refuse others."""
    vocab = model.peek("vocab")
    if isinstance(vocab, KeyTable):
        return vocab
    if isinstance(vocab, dict):
        return {key: token_id for key, token_id in vocab.items() if type(token_id) is int}
    return keys_of_rows(vocab)


def _read_model(
    model: Fields, added: AddedTokens, split: PreTokenization, rules: TextRules, has_marks: bool
) -> ReadModel:
    """Read a model; `has_marks`: U+2581 has a token, so that a blank may take its place."""
    match model.peek("type"):
        case "WordPiece" | "WordLevel":
            safe_import("bbpe.formats.huggingface.words")
            from .words import read_words

            words, of_words = read_words(model, added.special)
            return ReadModel(words, other=of_words, is_spelled=split.byte_level)
        case "Unigram":
            marks = has_marks and _marks_blanks(split, rules)
            safe_import("bbpe.formats.huggingface.unigram")
            from .unigram import read_unigram

            # a token with a blank is never a piece where blanks are U+2581
            left_out = {*added.special, *(text for text in added.added if marks and " " in text)}
            vocab, unigram, characters = read_unigram(model, left_out, marks_blanks=marks)
            return ReadModel(vocab, characters=characters, other=unigram, is_spelled=split.byte_level)
    return read_bpe(model, added, split, marks=has_marks and _marks_blanks(split, rules))


def _marks_blanks(split: PreTokenization, rules: TextRules) -> bool:
    """Return whether texts have U+2581 for every blank before the model, so that the spec can use blanks instead."""
    return split.marks_blanks or rules.normalizers[-1:] == (_MARK_BLANKS,)
