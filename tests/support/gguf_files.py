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
    if of and isinstance(of[0], float):
        return pack(order + "IIQ", 9, 6, len(of)) + b"".join(pack(order + "f", number) for number in of)
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


def piece_rows(*, has_bytes: bool = True) -> list[tuple[str, float, int]]:
    """A small vocabulary of SentencePiece's: text, score and type."""
    rows = [("<unk>", 0.0, 2), ("<s>", 0.0, 3), ("</s>", 0.0, 3), ("<tool>", 0.0, 4)]
    rows += [(f"<0x{byte:02X}>", 0.0, 6) for byte in range(256)] if has_bytes else []
    several = ["\u2581t", "he", "\u2581the", "in", "\u2581in", "\u2581\u2581", "中中"]
    rows += [(text, -float(number), 1) for number, text in enumerate([*several, *"\u2581theinab中"], 1)]
    return rows


def piece_vocabulary(model: str = "llama", **changes: Any) -> dict[str, Any]:
    """The values of a vocabulary of pieces, "llama" or "t5"; `changes` replace them, `...` takes one out."""
    rows = [*piece_rows(has_bytes=model == "llama"), ("[PAD0]", -1000.0, 5)]
    texts, scores, kinds = zip(*rows, strict=True)
    values: dict[str, Any] = {"model": model, "pre": "default", "tokens": [*texts], "scores": [*scores]}
    values |= {"token_type": [*kinds], "bos_token_id": 1, "eos_token_id": 2, "unknown_token_id": 0} | changes
    return {PREFIX + name: of for name, of in values.items() if of is not ...}
