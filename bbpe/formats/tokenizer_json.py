"""HF's `tokenizer.json`, as far as it describes byte-level BPE.

Everything in the file that could change ids is either followed or refused by name.  Format: the
serialisation of HF's `tokenizers` (`tokenizers/src/tokenizer/serialization.rs` and the components').
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from ..errors import VocabularyError
from ..files import StrPath, write_atomic
from ..patterns import Pattern, get_pattern
from ..spec import TokenizerSpec, make_spec
from .keys import MergeKeys, check_ids, keys_of, merge_keys, merged_bytes, tokens_of, well_formed
from .known import check_special_tokens
from .pre_tokenizers import read_pre_tokenizer, write_pre_tokenizer
from .ranks import live_merges
from .reading import Fields, about, read_json, shown

NAMES = (("tokenizer.json",),)
HEAD = re.compile(
    rb'\s*\{\s*"(version|truncation|padding|added_tokens|pre_tokenizer|normalizer|post_processor|decoder|model)"'
    rb"\s*:\s*[^\s\d-]"
)


def load(
    path: StrPath,
    *,
    pattern: str | Sequence[str] | Pattern | None = None,
    special_tokens: Mapping[str, int] | None = None,
    name: str | None = None,
) -> TokenizerSpec:
    """Read a `tokenizer.json`.

    `pattern` replaces the regexes of the file, `special_tokens` its special tokens.

    Raises `VocabularyError` with file and place on malformed JSON, a component or value that is not
    supported, by name, and a broken vocabulary; `PatternError` on a regex that cannot be followed exactly.
    """
    given = check_special_tokens(special_tokens)
    document = Fields(read_json(path), path=path, place="")
    document.only("version", "1.0", default="1.0")
    document.only("truncation", None, default=None)
    document.only("padding", None, default=None)
    _no_normalizer(document)
    _no_template(document)
    _byte_level_decoder(document)
    split = read_pre_tokenizer(document.take("pre_tokenizer"), path=path, replaced=pattern is not None)
    special, added = _added_tokens(document)
    model = Fields(document.take("model"), path=path, place="model")
    document.done()
    if given is not None:
        special = given
        added = {text: token_id for text, token_id in added.items() if text not in given}
    vocab, pairs, whole = _model(model, {**added, **special})
    with about(path):
        return make_spec(
            vocab,
            pairs,
            pattern=split if pattern is None else get_pattern(pattern),
            special_tokens=special,
            added_tokens=added,
            whole_pretokens=whole,
            name=name,
        )


def dump(spec: TokenizerSpec, path: StrPath) -> None:
    """Write a `tokenizer.json` that HF's `tokenizers` reads to the same ids.

    Raises `PatternError` when its regex dialect cannot express the pattern, and `VocabularyError` when a
    special token reads like an ordinary one.
    """
    merges, whole = spec.merges, spec.whole_pretokens
    if merges is None:
        live = live_merges(spec)
        merges, whole = live.merges, whole and bool(live.unmade)
    document = {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": _written_tokens(spec),
        "normalizer": None,
        "pre_tokenizer": write_pre_tokenizer(spec.pattern),
        "post_processor": None,
        "decoder": {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True},
        "model": {
            "type": "BPE",
            "dropout": None,
            "unk_token": None,
            "continuing_subword_prefix": None,
            "end_of_word_suffix": None,
            "fuse_unk": False,
            "byte_fallback": False,
            "ignore_merges": whole,
            # special tokens too: HF numbers those that are not here anew
            "vocab": keys_of(spec, path=path, marked=not whole),
            "merges": [f"{left} {right}" for left, right in merge_keys(spec, merges)],
        },
    }
    write_atomic(path, json.dumps(document, ensure_ascii=False).encode())


def _no_normalizer(document: Fields) -> None:
    value = document.take("normalizer", None)
    if value is not None:
        normalizer = Fields(value, path=document.path, place="normalizer")
        kind = normalizer.take_type("type", str)
        if kind != "Sequence" or normalizer.take_type("normalizers", list):
            normalizer.refuse(f"{_kinds(value)} is not supported; expected null or an empty Sequence")
        normalizer.done()


def _no_template(document: Fields) -> None:
    value = document.take("post_processor", None)
    if value is not None and set(_leaf_types(value)) - {"ByteLevel"}:
        document.refuse(f"{_kinds(value)} is not supported; expected null or ByteLevel", "post_processor")


def _byte_level_decoder(document: Fields) -> None:
    value = document.take("decoder")
    if _leaf_types(value) != ["ByteLevel"]:
        document.refuse(f"{_kinds(value)} is not supported; expected ByteLevel", "decoder")


def _leaf_types(value: object) -> list[object]:
    """Return the types of a component, or of the parts of a Sequence."""
    if not isinstance(value, dict):
        return [value]
    for parts in ("processors", "normalizers", "decoders"):
        if value.get("type") == "Sequence" and isinstance(value.get(parts), list):
            return [kind for part in value[parts] for kind in _leaf_types(part)]
    return [value.get("type")]


def _kinds(value: object) -> str:
    return " and ".join(shown(kind) for kind in _leaf_types(value))


def _added_tokens(document: Fields) -> tuple[dict[str, int], dict[str, int]]:
    special: dict[str, int] = {}
    added: dict[str, int] = {}
    for number, value in enumerate(document.take_type("added_tokens", list, [])):
        token = Fields(value, path=document.path, place=f"added_tokens[{number}]")
        text, token_id = token.take_type("content", str), token.take_type("id", int)
        for flag in ("single_word", "lstrip", "rstrip"):
            token.only(flag, False)
        token.take_type("normalized", bool, False)  # no normalizer, no difference
        if text in special or text in added:
            token.refuse(f"{text!r} stands twice; expected each token once", "content")
        if not well_formed(text):
            token.refuse(f"{text!r} holds half a surrogate pair; expected Unicode text", "content")
        (special if token.take_type("special", bool) else added)[text] = token_id
        token.done()
    return special, added


def _model(model: Fields, specials: Mapping[str, int]) -> tuple[dict[int, bytes], list[tuple[bytes, bytes]], bool]:
    model.only("type", "BPE", default="BPE")
    model.only("dropout", None, 0.0, 0, default=None)
    model.only("unk_token", None, default=None)
    model.only("continuing_subword_prefix", None, "", default=None)
    model.only("end_of_word_suffix", None, "", default=None)
    model.only("byte_fallback", False, default=False)
    model.take_type("fuse_unk", bool, False)  # no unknown token, no difference
    whole = model.take_type("ignore_merges", bool, False)
    place = model.at("vocab")
    keys = check_ids(model.take_type("vocab", dict), path=model.path, place=place)
    merges = _merges(model)
    model.done()
    _check_specials(model, keys, merges, specials)
    tokens = tokens_of((key for key in keys if key not in specials), path=model.path, place=place)
    pairs = merged_bytes(merges, tokens)
    return {keys[key]: token for key, token in tokens.items()}, pairs, whole


def _merges(model: Fields) -> MergeKeys:
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
        pairs.append((left, right))
    return MergeKeys(pairs, model.path, lambda number: model.at(f"merges[{number}]"))


def _check_specials(model: Fields, keys: Mapping[str, int], merges: MergeKeys, specials: Mapping[str, int]) -> None:
    """Refuse special tokens that have two ids or are ordinary tokens at the same time."""
    both = {text for text in specials if text in keys}
    for text in both:
        if keys[text] != specials[text]:
            model.refuse(f"token {text!r} has id {keys[text]} here and {specials[text]} in added_tokens", "vocab")
    ordinary = sorted({text for text in both if len(text.encode("utf-8", "replace")) == 1} | merges.using(both))
    if ordinary:
        raise VocabularyError(
            f"{ordinary[0]!r} is an added token and an ordinary one that merges use; expected one of the two",
            path=model.path,
            place="added_tokens",
        )


def _written_tokens(spec: TokenizerSpec) -> list[dict[str, Any]]:
    rows = [(token_id, text, True) for text, token_id in spec.special_tokens.items()]
    rows += [(token_id, text, False) for text, token_id in spec.added_tokens.items()]
    return [
        {
            "id": token_id,
            "content": text,
            "single_word": False,
            "lstrip": False,
            "rstrip": False,
            "normalized": False,
            "special": special,
        }
        for token_id, text, special in sorted(rows)
    ]
