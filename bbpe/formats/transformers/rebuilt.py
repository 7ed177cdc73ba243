"""A `tokenizer.json` in a folder whose class rebuilds the rules of the file, as `AutoTokenizer` does.

The class takes the vocabulary and the merges of the file, and most classes nothing else: they bring normalizers,
pre-tokenizers, decoder, options of the model, tokens and template.  A class of Python does not read the file at all.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any

from ...errors import BBPEError, VocabularyError
from ...lazy import lazy_re, safe_import
from ...records import dataclass
from ..common.key_tables import KeyTable, ScoredKeys
from ..common.keys import keys_of_rows
from .folder import CLASS, CONFIG, MAP, MODEL, ClassFolder, FolderConfig
from .names import NO_CONFIG, FolderClass, class_of, refused_class
from .tokens import ADDITIONAL, EXTRA

_FILE_ALONE = "the path of tokenizer.json alone gives the ids of `tokenizers` for it"
# parts of a file in which a class can differ, as messages name them; a decoder changes no ids
_PARTS = {"normalizer": "the normalizer", "pre_tokenizer": "the pre-tokenizer", "post_processor": "the template"}
_OPTIONS = ("unk_id", "continuing_subword_prefix", "end_of_word_suffix", "fuse_unk", "byte_fallback", "ignore_merges")
_RULES = ("normalizer", "pre_tokenizer", "decoder", "model")
# the types of models that `fix_mistral_regex` counts for, and the versions of `transformers` that saved them
_MISTRAL = frozenset(("mistral", "mistral3", "ministral", "pixtral", "voxtral"))
_BEFORE_5 = lazy_re(r"$|[0-4](?!\d)|5\.0\.0\.?(?:dev|a|b|rc)")
_LEAST_OF_MISTRAL = 100_000
# Gemma has it after each blank became U+2581
_NO_SPLIT = {"type": "Split", "pattern": {"String": " "}, "behavior": "MergedWithPrevious", "invert": False}
_Read = Mapping[str, Callable[[Any], Any]]


@dataclass(frozen=True)
class Rebuilt:
    """The object of a tokenizer.json with the rules of a class, the tokens of the folder, and what differs."""

    value: dict[str, Any]
    config: FolderConfig
    notes: tuple[str, ...] = ()


def rebuilt(value: dict[str, Any], folder: ClassFolder, read: _Read) -> Rebuilt:
    """Return what `AutoTokenizer` makes of a tokenizer.json in a folder; `read` has the readers of parts by field.

    Raises `VocabularyError` for a class whose rules are not known, and for one that reads no tokenizer.json.
    """
    named, is_type = FolderClass("", "", ""), False
    with suppress(VocabularyError):  # a configuration that is not JSON has no effect
        named = class_of(folder)
        is_type = named.field != CLASS and folder.stated[2] in NO_CONFIG
    if not named.is_known or is_type or not named.rebuilds_json or _is_of_llama_3(value, folder, named):
        if named.is_in_python and not is_type:
            problem = "is written in Python and reads no tokenizer.json, and bbpe does not support it"
            raise refused_class(folder, f"{problem}; {_FILE_ALONE}")
        config = folder.config(taken=_ids(value.get("added_tokens")))
        patched = _of_mistral(value, folder, config, read)
        return Rebuilt(value, config) if patched is None else patched
    if not named.is_supported:
        problem = "replaces rules of a tokenizer.json by its own, and bbpe does not support it"
        raise refused_class(folder, f"{problem}; {_FILE_ALONE}")
    return _of_class(value, folder, named, read)


def _is_of_llama_3(value: Mapping[str, Any], folder: ClassFolder, named: FolderClass) -> bool:
    """Return whether a file of bytes names Llama's class, which `AutoTokenizer` then does not use."""
    parts = str([value.get("pre_tokenizer"), value.get("decoder"), value.get("post_processor")])
    return named.short == "Llama" and "'ByteLevel'" in parts and not folder.has_code


def _of_class(value: dict[str, Any], folder: ClassFolder, named: FolderClass, read: _Read) -> Rebuilt:
    safe_import("bbpe.formats.transformers.classes")
    from .classes import CLASSES
    safe_import("bbpe.formats.transformers.documents")
    from .documents import class_files, document

    row = CLASSES[named.short]
    model = value.get("model")
    model = model if isinstance(model, dict) else {}
    vocab = model.get("vocab")
    keys = vocab if isinstance(vocab, dict | KeyTable) else keys_of_rows(vocab)
    listed = vocab if isinstance(vocab, list) else []
    rows: Any = [row for row in listed if isinstance(row, list) and len(row) == 2]
    rows = [*zip(vocab, vocab.scores, strict=True)] if isinstance(vocab, ScoredKeys) else rows
    table = _charsmap(value.get("normalizer"))
    # a table of tokens replaces the one of the file
    has_table = "added_tokens_decoder" in folder.fields and not row.keeps_rules
    added = [] if has_table else value.get("added_tokens") or []
    texts = [token["content"] for token in added if isinstance(token, dict) and isinstance(token.get("content"), str)]
    taken = _ids(added)
    _check_list(row.listed(folder.fields), folder)
    files = class_files(row, folder, taken=taken, keys=keys, pieces=rows, charsmap=table, is_listed=True, added=texts)
    made = document(files)
    kind, expected = model.get("type", "BPE" if "merges" in model else ""), made["model"]["type"]
    if kind and kind != expected:
        found = f"the model of tokenizer.json is {kind}, which the class {named.name!r} reads as {expected}"
        raise VocabularyError(f"{found}; {_FILE_ALONE}", path=folder.path / named.file, place=named.field)
    own = {name: model[name] for name in ("vocab", "merges") if name in model}
    made["model"] = {**made["model"], **own}
    made["added_tokens"] = added
    keeps_template = row.keeps_template and value.get("post_processor") is not None
    kept = (*(("post_processor",) if keeps_template else ()), *(_RULES if row.keeps_rules else ()))
    made |= {name: value.get(name) for name in kept}
    differs = [_PARTS[name] for name in _PARTS if _differs(value.get(name), made[name], read[name])]
    has_options = any((model.get(name) or None) != (made["model"].get(name) or None) for name in _OPTIONS)
    differs += ["options of the model"] if has_options else []
    note = f"{named.name} ({named.field} in {named.file}) replaces {' and '.join(differs)} of tokenizer.json, as in "
    notes: tuple[str, ...] = (f"{note}transformers 5; {_FILE_ALONE}",) if differs else ()
    fill = files.config.uses.get("fill_token") if named.short == "CodeLlama" else None
    if fill is not None:
        notes += (f"{named.name} of transformers makes an infilling prompt of a text with {fill!r}; bbpe does not",)
    return Rebuilt({**value, **made}, files.config, notes)


def _check_list(usual: Sequence[str], folder: ClassFolder) -> None:
    """Refuse a list that a class with a usual list adds to that, where only `special_tokens_map.json` has it."""
    config, names = folder.json(CONFIG), folder.json(MAP)
    config, names = (value if isinstance(value, dict) else {} for value in (config, names))
    listed = names.get(ADDITIONAL)
    is_read = not {"added_tokens_decoder", ADDITIONAL, EXTRA} & config.keys()
    if usual and is_read and isinstance(listed, list) and not set(map(str, listed)) <= set(usual):
        problem = f"a list beside the usual one of the class is not supported; expected all tokens in {CONFIG}"
        raise VocabularyError(problem, path=folder.path / MAP, place=ADDITIONAL)


def _ids(rows: Any) -> set[Any]:
    """Return the ids of added tokens, as far as rows of a tokenizer.json have them."""
    rows = rows if isinstance(rows, list) else []
    return {row.get("id") for row in rows if isinstance(row, dict) and isinstance(row.get("id"), int)}


def _differs(one: Any, other: Any, read: Callable[[Any], Any]) -> bool:
    """Return whether two parts of files are different rules."""
    if _parts(one) == _parts(other) or {str(one), str(other)} == {"None", str(_NO_SPLIT)}:
        return False
    try:
        return bool(read(one) != read(other))
    except BBPEError:
        return True


def _parts(value: Any) -> list[Any]:
    """Return the parts of a sequence of normalizers, or the value of another field alone."""
    listed = value.get("normalizers") if isinstance(value, dict) else None
    return listed if isinstance(listed, list) else [value]


def _charsmap(normalizer: Any) -> str:
    """Return the first compiled table of normalizers, as a file has it."""
    tables = (part.get("precompiled_charsmap") for part in _parts(normalizer) if isinstance(part, dict))
    return next((table for table in tables if isinstance(table, str)), "")


def _of_mistral(value: dict[str, Any], folder: ClassFolder, config: FolderConfig, read: _Read) -> Rebuilt | None:
    """Return a file with the pattern that `fix_mistral_regex` chooses; `None` where it has no effect."""
    of_model, split = folder.json(MODEL), value.get("pre_tokenizer")
    of_model = of_model if isinstance(of_model, dict) else {}
    kind, version = of_model.get("model_type"), of_model.get("transformers_version") or ""
    with suppress(VocabularyError):
        is_asked = bool(folder.fields.peek("fix_mistral_regex"))
        is_old = (kind is None or kind in _MISTRAL) and _BEFORE_5.match(str(version)) is not None
        if is_asked and of_model and is_old and isinstance(split, dict) and _size(value) > _LEAST_OF_MISTRAL:
            return _patched(value, split, config, read)
    return None


def _patched(value: dict[str, Any], split: Any, config: FolderConfig, read: _Read) -> Rebuilt:
    """Return a file with tekken's pattern in place of the first pre-tokenizer of a sequence, or before another one."""
    safe_import("bbpe.formats.transformers.keys")
    from .keys import split_at

    parts = [split]
    if split.get("type") == "Sequence":
        parts = [*(split.get("pretokenizers") or ())][1:]
    elif split.get("type") == "Metaspace":
        parts = [{"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False}]
    made = {"type": "Sequence", "pretokenizers": [split_at("tekken", drops_gaps=False), *parts]}
    note = f"fix_mistral_regex in {CONFIG} replaces the pre-tokenizer of tokenizer.json, as in transformers 5"
    has_note = _differs(split, made, read["pre_tokenizer"])
    return Rebuilt({**value, "pre_tokenizer": made}, config, (f"{note}; {_FILE_ALONE}",) if has_note else ())


def _size(value: Mapping[str, Any]) -> int:
    """Return the number of tokens of a file, with those that its model lacks."""
    model, added = value.get("model"), value.get("added_tokens")
    vocab = model.get("vocab") if isinstance(model, dict) else None
    keys = vocab if isinstance(vocab, Mapping) else keys_of_rows(vocab)
    return len(keys) + sum(row.get("content") not in keys for row in added or () if isinstance(row, dict))
