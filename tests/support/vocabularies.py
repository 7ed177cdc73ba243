"""Small vocabularies made by hand, and the files that hold them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from bbpe.spec.spec import TokenizerSpec, make_spec
from bbpe.splitting.patterns import Pattern, get_pattern
from bbpe.text import BYTE_ORDER, bytes_to_alphabet

#: Merges that build " the", "in", "ing", "aaaa" and a Chinese character.
MERGES: tuple[tuple[bytes, bytes], ...] = (
    (b"t", b"h"),
    (b"th", b"e"),
    (b" ", b"the"),
    (b"i", b"n"),
    (b"in", b"g"),
    (b"a", b"a"),
    (b"aa", b"aa"),
    (b"\xe4", b"\xb8"),
    (b"\xe4\xb8", b"\xad"),
    (b"1", b"2"),
    (b"'", b"s"),
)


def vocab_of(merges: Sequence[tuple[bytes, bytes]] = MERGES) -> dict[int, bytes]:
    """256 bytes in GPT-2's order, then each new token of the merges."""
    tokens = dict.fromkeys(bytes([byte]) for byte in BYTE_ORDER)
    tokens.update(dict.fromkeys(left + right for left, right in merges))
    return dict(enumerate(tokens))


def small_spec(
    merges: Sequence[tuple[bytes, bytes]] | None = MERGES,
    *,
    pattern: str | Pattern = "gpt2",
    special_tokens: Mapping[str, int] | None = None,
    **options: Any,
) -> TokenizerSpec:
    vocab = vocab_of(MERGES if merges is None else merges)
    if special_tokens is None:
        special_tokens = {"<|endoftext|>": len(vocab)}
    return make_spec(vocab, merges, pattern=get_pattern(pattern), special_tokens=special_tokens, **options)


def keys(vocab: Mapping[int, bytes] | None = None) -> dict[str, int]:
    """A vocabulary as vocab.json has it."""
    vocab = vocab_of() if vocab is None else vocab
    return {bytes_to_alphabet(token): token_id for token_id, token in vocab.items()}


def merge_lines(merges: Sequence[tuple[bytes, bytes]] = MERGES) -> list[str]:
    return [f"{bytes_to_alphabet(left)} {bytes_to_alphabet(right)}" for left, right in merges]


def document(**changes: Any) -> dict[str, Any]:
    """The object of a small tokenizer.json; `changes` replace fields, `model__x` those of the model."""
    model: dict[str, Any] = {
        "type": "BPE",
        "dropout": None,
        "unk_token": None,
        "continuing_subword_prefix": None,
        "end_of_word_suffix": None,
        "fuse_unk": False,
        "byte_fallback": False,
        "ignore_merges": False,
        "vocab": keys(),
        "merges": merge_lines(),
    }
    value: dict[str, Any] = {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [],
        "normalizer": None,
        "pre_tokenizer": byte_level(),
        "post_processor": None,
        "decoder": byte_level(),
        "model": model,
    }
    for name, change in changes.items():
        target, _, field = name.rpartition("__")
        (model if target else value)[field] = change
    return value


def byte_level(**changes: Any) -> dict[str, Any]:
    return {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True, **changes}


def split(regex: str, **changes: Any) -> dict[str, Any]:
    return {"type": "Split", "pattern": {"Regex": regex}, "behavior": "Isolated", "invert": False, **changes}


def sequence(*parts: object) -> dict[str, Any]:
    return {"type": "Sequence", "pretokenizers": [*parts]}


def added(text: str, token_id: int, **changes: Any) -> dict[str, Any]:
    flags = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}
    return {"id": token_id, "content": text, **flags, **changes}


def write_json(path: Path, value: object) -> Path:
    path.write_text(json.dumps(value), encoding="utf-8")
    return path


def write_pair(
    folder: Path, vocab: Mapping[str, object] | str | None = None, merges: Sequence[str] | None = None
) -> Path:
    """A folder of vocab.json and merges.txt."""
    folder.mkdir(exist_ok=True)
    vocab = keys() if vocab is None else vocab
    text = vocab if isinstance(vocab, str) else json.dumps(vocab)
    (folder / "vocab.json").write_text(text, encoding="utf-8")
    lines = ["#version: 0.2", *(merge_lines() if merges is None else merges)]
    (folder / "merges.txt").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return folder
