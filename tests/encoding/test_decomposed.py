"""Truncating and cutting where the end of a text has no token of its own, as its characters join those before."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import bbpe

TEXTS = ("a b", "cafe\u0301", "e\u0301e\u0301", "the cafe\u0301 ", "\u0301", "low  ", "\r\nlow")
ACCENTS = {"type": "Sequence", "normalizers": [{"type": "NFD"}, {"type": "StripAccents"}]}


def made(normalizer: dict[str, Any], path: Path) -> bbpe.Tokenizer:
    """A tokenizer of letters and two pairs."""
    vocab = {text: number for number, text in enumerate(["[UNK]", *"abcdefghijklmnopqrstuvwxyz", "fe", "ca"])}
    model = {"type": "BPE", "unk_token": "[UNK]", "vocab": vocab, "merges": [["f", "e"], ["c", "a"]]}
    rules = {"normalizer": normalizer, "pre_tokenizer": {"type": "Whitespace"}}
    path.write_text(json.dumps({"version": "1.0", "added_tokens": [], "model": model, **rules}))
    return bbpe.load(path)


@pytest.mark.parametrize("normalizer", [{"type": "NFC"}, {"type": "NFKC"}, {"type": "NFD"}, ACCENTS])
def test_a_text_is_truncated_at_either_side(normalizer: dict[str, Any], tmp_path: Path) -> None:
    tok, kept = made(normalizer, tmp_path / "tokenizer.json"), list[str]()
    for text in TEXTS:
        for n in range(4):
            left, right = tok.truncate(text, n, "left"), tok.truncate(text, n)
            assert text.endswith(left)
            assert text.startswith(right)
            assert max(tok.count_tokens(left), tok.count_tokens(right)) <= n
            kept += [left, right]
    assert "" in kept
    assert "cafe\u0301" in kept


@pytest.mark.parametrize("normalizer", [{"type": "NFC"}, {"type": "NFKC"}, {"type": "NFD"}, ACCENTS])
@pytest.mark.parametrize("overlap", [0, 1, 2])
def test_chunks_are_whole(normalizer: dict[str, Any], overlap: int, tmp_path: Path) -> None:
    tok = made(normalizer, tmp_path / "tokenizer.json")
    for text in TEXTS:
        chunks = list(tok.chunk(text, 8, overlap=overlap))
        assert chunks[-1].end == len(text)
        assert all(chunk.tokens <= 8 for chunk in chunks)
