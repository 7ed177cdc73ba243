"""Small tekken.json files."""

from __future__ import annotations

from base64 import b64encode
from typing import Any

from vocabularies import MERGES

from bbpe.splitting.patterns import PATTERNS


def ordered_vocab(first: int = 0) -> dict[int, bytes]:
    """The 256 bytes in order, then what the merges make."""
    tokens = dict.fromkeys([bytes([byte]) for byte in range(256)] + [left + right for left, right in MERGES])
    return dict(enumerate(tokens, first))


def tekken(**changes: Any) -> dict[str, Any]:
    """The object of a small tekken.json; `changes` replace fields, `config__x` those of the config."""
    rows = [
        {"rank": rank, "token_bytes": b64encode(token).decode(), "token_str": None}
        for rank, token in ordered_vocab().items()
    ]
    config: dict[str, Any] = {
        "pattern": PATTERNS["tekken"].steps[0],
        "num_vocab_tokens": len(rows),
        "default_vocab_size": 2 + len(rows),
        "default_num_special_tokens": 2,
        "version": "v7",
    }
    listed = [{"rank": i, "token_str": text, "is_control": True} for i, text in enumerate(["<unk>", "<s>"])]
    value: dict[str, Any] = {"config": config, "vocab": rows, "special_tokens": listed}
    for name, change in changes.items():
        target, _, field = name.rpartition("__")
        (config if target else value)[field] = change
    return {key: field for key, field in value.items() if field is not ...}
