"""GGUF files byte by byte, right and wrong ones."""

from __future__ import annotations

from struct import pack
from typing import Any

from vocabularies import keys, merge_lines

PREFIX = "tokenizer.ggml."


def string(text: str | bytes, order: str = "<") -> bytes:
    data = text.encode() if isinstance(text, str) else text
    return pack(order + "Q", len(data)) + data


def value(of: Any, order: str = "<") -> bytes:
    """A kind and a value; a `bytes` is written as it is."""
    if isinstance(of, bytes):
        return of
    if isinstance(of, bool):
        return pack(order + "I?", 7, of)
    if isinstance(of, int):
        return pack(order + "II", 4, of)
    if isinstance(of, str):
        return pack(order + "I", 8) + string(of, order)
    head = pack(order + "IIQ", 9, 8 if not of or isinstance(of[0], (str, bytes)) else 5, len(of))
    if not of or isinstance(of[0], (str, bytes)):
        return head + b"".join(string(text, order) for text in of)
    return head + b"".join(pack(order + "i", number) for number in of)


def gguf(values: dict[str, Any], *, order: str = "<", version: int = 3, tensors: int = 0) -> bytes:
    """A file of these values, and nothing behind them."""
    head = b"GGUF" + pack(order + "IQQ", version, tensors, len(values))
    return head + b"".join(string(name, order) + value(of, order) for name, of in values.items())


def vocabulary(**changes: Any) -> dict[str, Any]:
    """The values of a small vocabulary; `changes` replace them, `...` takes one out."""
    tokens = [*keys(), "<|endoftext|>", "<tool>", "[PAD269]"]
    values: dict[str, Any] = {
        "general.architecture": "gpt2",
        PREFIX + "model": "gpt2",
        PREFIX + "pre": "gpt-2",
        PREFIX + "tokens": tokens,
        PREFIX + "token_type": [1] * (len(tokens) - 3) + [3, 4, 5],
        PREFIX + "merges": merge_lines(),
        PREFIX + "eos_token_id": 267,
        PREFIX + "bos_token_id": 267,
        PREFIX + "add_bos_token": True,
        "tokenizer.chat_template": "{{ x }}",
    }
    values |= {PREFIX + name: change for name, change in changes.items()}
    return {name: of for name, of in values.items() if of is not ...}
