"""HF's `tokenizer.json` with a model of the type BPE, WordPiece or Unigram.

Everything in the file that could change ids is either followed or refused by name.  Source of the format: the
serialization of HF's `tokenizers` (`tokenizers/src/tokenizer/serialization.rs` and its components).
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from ...errors import VocabularyError
from ...files import StrPath
from ...spec.decoders import ByteLevel, DecoderStep, usual_decoder
from ...spec.models import UnigramModel, WordPieceModel
from ...spec.rules import SPACE_MARK, Characters, Replace
from ...spec.spec import TextRules, TokenizerSpec, make_spec
from ...splitting.patterns import PATTERNS, Pattern, get_pattern
from ...text import bytes_to_alphabet
from ..character_keys import key_of, keys_of_characters, read_keys
from ..keys import MergeKeys, check_ids, in_alphabet, keys_of, merge_keys, merged_bytes, tokens_of
from ..known import check_special_tokens
from ..ranks import live_merges
from ..reading import Fields, about, read_file, read_json, shown
from ..rows import FORMATS
from ..wordpiece import read_wordpiece, write_wordpiece
from .added_tokens import AddedTokens, read_added_tokens, write_added_tokens
from .decoders import read_decoder, write_decoder
from .normalizers import read_normalizers, write_normalizers
from .own_fields import read_own_fields, write_own_fields
from .post_processors import read_post_processor, write_post_processor
from .pre_tokenizers import AT_BLANKS, PreTokenization, read_pre_tokenizer, write_pre_tokenizer
from .unigram import read_unigram, write_unigram

NAMES = FORMATS["huggingface"].names
#: Other files of a tokenizer in the same folder; they do not affect ids and are saved unchanged.
OTHER_FILES = (
    "tokenizer_config.json",
    "special_tokens_map.json",
    "added_tokens.json",
    "chat_template.jinja",
    "chat_template.json",
    "generation_config.json",
)


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
    specials = check_special_tokens(special_tokens)
    document = Fields(read_json(path), path=path, place="")
    document.only("version", "1.0", default="1.0")
    document.only("truncation", None, default=None)
    document.only("padding", None, default=None)
    normalizers = read_normalizers(document.take("normalizer", None), path=path)
    template = read_post_processor(document.take("post_processor", None), path=path)
    split = read_pre_tokenizer(document.take("pre_tokenizer"), path=path, replaced=pattern is not None)
    decoder = read_decoder(document.take("decoder"), path=path)
    added = read_added_tokens(document)
    model = Fields(document.take("model"), path=path, place="model")
    document.done()
    added = added if specials is None else added.with_special(specials)
    split = split if pattern is None else replace(split, pattern=get_pattern(pattern))
    rules = TextRules(normalizers, split.prefix, split.rules)
    read = _read_model(model, added, split, rules)
    if read.characters is not None and read.other is None:
        split, rules = _simplified(split, rules, read.characters, read.vocab.values(), read.whole)
    with about(path):
        return make_spec(
            read.vocab,
            read.pairs,
            pattern=split.pattern,
            special_tokens=added.special,
            added_tokens=added.added,
            whole_pretokens=read.whole,
            name=name,
            rules=rules,
            characters=read.characters,
            token_options=added.options_with(normalizers),
            template=template,
            files=_other_files(Path(path)),
            model=read.other,
            decoder=_with_end_of_word(decoder, read.characters),
        )


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
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": write_added_tokens(spec),
        "normalizer": write_normalizers(spec.rules.normalizers, path=path),
        "pre_tokenizer": write_pre_tokenizer(spec),
        "post_processor": write_post_processor(spec),
        "decoder": write_decoder(spec.decoder),
        "model": _written_model(spec, path),
    }


def _written_model(spec: TokenizerSpec, path: StrPath) -> dict[str, Any]:
    match spec.model:
        case WordPieceModel():
            return write_wordpiece(spec, spec.model)
        case UnigramModel():
            return write_unigram(spec, spec.model)
    return _written_bpe(spec, path)


def _written_bpe(spec: TokenizerSpec, path: StrPath) -> dict[str, Any]:
    merges, whole = spec.merges, spec.whole_pretokens
    if merges is None:
        live = live_merges(spec)
        merges, whole = live.merges, whole and bool(live.unmade)
    return {
        "type": "BPE",
        "dropout": None,
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
    return keys_of(spec, path=path, marked=not whole) if spec.characters is None else keys_of_characters(spec)


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


def _other_files(path: Path) -> dict[str, bytes]:
    if path.name != NAMES[0][0]:
        return {}
    return {name: read_file(_within(path.with_name(name))) for name in OTHER_FILES if path.with_name(name).is_file()}


def _within(path: Path) -> Path:
    """Return a path; `VocabularyError` when it is a link out of its folder, because saving would copy the target.

    Links within the cache of `huggingface_hub` are allowed, where a snapshot links to the blobs of its repository.
    """
    folder, target = path.parent.resolve(), path.resolve()
    folders = [folder, folder.parents[1] / "blobs"] if folder.parent.name == "snapshots" else [folder]
    if target.parent not in folders:
        problem = f"the file is a link to {target}, out of its folder, and would be saved with the tokenizer"
        raise VocabularyError(f"{problem}; replace the link by the file, or remove it", path=path)
    return path


class _Model(NamedTuple):
    vocab: dict[int, bytes]
    pairs: list[tuple[bytes, bytes]] | None = None
    whole: bool = False
    characters: Characters | None = None
    other: WordPieceModel | UnigramModel | None = None


def _read_model(model: Fields, added: AddedTokens, split: PreTokenization, rules: TextRules) -> _Model:
    specials = {**added.added, **added.special}
    match model.peek("type"):
        case "WordPiece":
            vocab, wordpiece = read_wordpiece(model, specials)
            return _Model(vocab, other=wordpiece)
        case "Unigram":
            marks = _marks_blanks(model, split, rules, {}, {})
            if split.byte_level:
                model.refuse("the pre_tokenizer ByteLevel is not supported together with Unigram")
            vocab, unigram, characters = read_unigram(model, specials, marks_blanks=marks)
            return _Model(vocab, characters=characters, other=unigram)
    return _bpe(model, added, split, rules)


def _bpe(model: Fields, added: AddedTokens, split: PreTokenization, rules: TextRules) -> _Model:
    model.only("type", "BPE", default="BPE")
    model.only("dropout", None, 0.0, 0, default=None)
    unknown = model.take("unk_token", None)
    if unknown is not None and type(unknown) is not str:
        model.refuse(f"found {shown(unknown)}; expected a string or null", "unk_token")
    prefix, end = _mark(model, "continuing_subword_prefix"), _mark(model, "end_of_word_suffix")
    if split.byte_level:
        _refuse_marks(model, "the pre_tokenizer ByteLevel is", prefix, "")
    byte_fallback = model.take_type("byte_fallback", bool, False)
    fuse = model.take_type("fuse_unk", bool, False)
    whole = model.take_type("ignore_merges", bool, False)
    place = model.at("vocab")
    keys = check_ids(model.take_type("vocab", dict), path=model.path, place=place)
    merges = _merges(model, prefix)
    own = read_own_fields(model)
    model.done()
    if byte_fallback or whole:
        _refuse_marks(model, "byte_fallback and ignore_merges are", prefix, end)
    specials = {**added.added, **added.special}
    both = _shared(model, keys, specials)
    added.check_numbers(keys, model)
    if split.byte_level:  # every byte has a token, so unk_token and byte_fallback have no effect
        _check_not_merged(model, both, merges)
        tokens = tokens_of((key for key in keys if key not in specials), path=model.path, place=place)
        ended = _ended_bytes(model, tokens, None if unknown is None else keys.get(unknown), end) if end else None
        return _Model({keys[key]: token for key, token in tokens.items()}, merged_bytes(merges, tokens), whole, ended)
    marks = _marks_blanks(model, split, rules, keys, specials)
    if marks and SPACE_MARK in prefix + end:
        _refuse_marks(model, "U+2581 for blanks is", prefix, end)
    unknown_id = None if unknown is None else _unknown_id(model, unknown, {**specials, **keys})
    if unknown is not None and not byte_fallback and any(unknown in pair for pair in merges.pairs):
        model.refuse(f"found the unknown token {shown(unknown)} in a merge; expected merges without it", "merges")
    characters = Characters((), unknown_id, fuse, marks, end, prefix=prefix, unknown_text=own.unknown_text)
    alone = {text for text in both if len(text.removeprefix(prefix).removesuffix(end)) == 1 or len(text) == 1}
    if marks:  # all blanks are U+2581, so a token with a blank is never found
        alone = {text for text in alone if " " not in text}
    left_out = both - merges.using(both) - alone
    tokens, characters = read_keys(
        keys, characters, byte_fallback=byte_fallback, left_out=left_out, path=model.path, place=place
    )
    pairs = merged_bytes(merges, tokens)
    return _Model({keys[key]: token for key, token in tokens.items()}, pairs, whole, characters)


def _ended_bytes(model: Fields, tokens: Mapping[str, bytes], unknown: int | None, end: str) -> Characters:
    lost = next((byte for byte in range(256) if not _has_both(bytes((byte,)), end, tokens)), None)
    if lost is not None:
        problem = f"byte 0x{lost:02X} lacks a token with or without {shown(end)}; expected both for each byte"
        model.refuse(problem, "end_of_word_suffix")
    return Characters((), unknown, end_of_word=end, are_bytes=True)


def _unknown_id(model: Fields, unknown: str, ids: Mapping[str, int]) -> int:
    token_id = ids.get(unknown)
    if token_id is None:
        model.refuse(f"{shown(unknown)} has no id", "unk_token")
    return token_id


def _refuse_marks(model: Fields, what: str, prefix: str, end: str) -> None:
    """Refuse marks of positions in words; `what` names the option that is not supported together with them."""
    for name, mark in (("continuing_subword_prefix", prefix), ("end_of_word_suffix", end)):
        if mark:
            model.refuse(f"found {shown(mark)}, together with which {what} not supported", name)


def _has_both(byte: bytes, end: str, tokens: Mapping[str, bytes]) -> bool:
    key = bytes_to_alphabet(byte)
    return key in tokens and key + end in tokens


def _marks_blanks(
    model: Fields, split: PreTokenization, rules: TextRules, keys: Mapping[str, int], specials: Mapping[str, int]
) -> bool:
    """Return whether texts have U+2581 for every blank before the model, so that the spec can use blanks instead."""
    marks = split.marks_blanks or rules.normalizers[-1:] == (Replace(" ", False, SPACE_MARK),)
    blank = next((key for key in keys if " " in key and key not in specials), None)
    if marks and blank is not None:
        model.refuse(f"token {blank!r} has a blank and would never be found; expected U+2581 for each blank", "vocab")
    return marks


def _simplified(
    split: PreTokenization, rules: TextRules, characters: Characters, tokens: Any, whole: bool
) -> tuple[PreTokenization, TextRules]:
    """Remove splits that do not affect ids: before blanks that no token joins, and at blanks after all are marked."""
    if characters.marks_words:
        return split, rules
    joined = any(b" " in token[1:] for token in tokens)
    if split.pattern == AT_BLANKS and not joined and not whole:
        split = replace(split, pattern=PATTERNS["none"])
    if characters.marks_blanks and rules.normalizers and rules.pre_tokenizers:
        kept = tuple(rule for rule in rules.pre_tokenizers if getattr(rule, "regex", None) != " ")
        rules = replace(rules, pre_tokenizers=kept)
    return split, rules


def _mark(model: Fields, name: str) -> str:
    """Take a mark of positions in words; "" if there is none."""
    if model.peek(name) is None:
        model.take(name, None)
        return ""
    return model.take_type(name, str)


def _merges(model: Fields, prefix: str) -> MergeKeys:
    pairs: list[tuple[str, str]] = []
    for number, merge in enumerate(model.take_type("merges", list)):
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


def _shared(model: Fields, keys: Mapping[str, int], specials: Mapping[str, int]) -> set[str]:
    """Return the special tokens that are also keys; refuse one with two ids."""
    both = {text for text in specials if text in keys}
    for text in both:
        if keys[text] != specials[text]:
            model.refuse(f"token {text!r} has id {keys[text]} here and {specials[text]} in added_tokens", "vocab")
    return both


def _check_not_merged(model: Fields, both: set[str], merges: MergeKeys) -> None:
    """Refuse special tokens that are also ordinary tokens which merges use."""
    ordinary = sorted({text for text in both if len(text) == 1 and in_alphabet(text)} | merges.using(both))
    if ordinary:
        raise VocabularyError(
            f"{ordinary[0]!r} is both an added token and an ordinary token of merges; expected one of the two",
            path=model.path,
            place="added_tokens",
        )
