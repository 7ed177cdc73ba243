"""Published vocabularies by name: their files, and the regexes as tiktoken itself has them."""

from __future__ import annotations

from pathlib import Path

import pytest

import bbpe

#: Corpora and vocabularies, when they lie beside the checkout.
SHARED = Path(__file__).resolve().parents[3] / "shared"
RANK_FILES = {
    "gpt2": "gpt2.tiktoken",
    "p50k_base": "p50k_base.tiktoken",
    "cl100k_base": "cl100k_base.tiktoken",
    "o200k_base": "o200k_base.tiktoken",
    "llama3": "llama3.tiktoken",
    "qwen": "qwen.tiktoken",
    "qwen3_6": "qwen3_6.tiktoken",
}
# those that are spelled unlike ours
PUBLISHED = {
    "gpt2": r"'(?:[sdmt]|ll|ve|re)| ?\p{L}++| ?\p{N}++| ?[^\s\p{L}\p{N}]++|\s++$|\s+(?!\S)|\s",
    "cl100k": r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+"
    r"|\s++$|\s*[\r\n]|\s+(?!\S)|\s",
}


def same_ids(tok: bbpe.Tokenizer, text: str, expected: list[int]) -> None:
    """Compare, and on a difference show the first place instead of a megabyte."""
    ids = tok.encode(text)
    if ids != expected:
        at = next((i for i, pair in enumerate(zip(ids, expected, strict=False)) if pair[0] != pair[1]), None)
        around = slice(0, 20) if at is None else slice(max(at - 3, 0), at + 5)
        ours, theirs = (b"|".join(map(tok.id_to_token, some[around])) for some in (ids, expected))
        pytest.fail(f"token {at}: {ours!r}, expected {theirs!r} of {text[:200]!r}")
