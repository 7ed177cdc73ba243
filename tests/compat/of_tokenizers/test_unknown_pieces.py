"""Unknown pieces of Unigram where one character becomes several pieces, side by side with `tokenizers`."""

from __future__ import annotations

import random

import pytest

from bbpe.compat.tokenizers import Tokenizer

hf = pytest.importorskip("tokenizers")
from small_hf import KINDS  # noqa: E402 - it imports tokenizers

POOL = [
    " ", "\u00bd", "\u00bc ", "\ufdfa", "\u2167", "see", "my", "\u2603", "\u2603\u2603", "\u2026", "\u3314",
    "x\u00bdy", "1/2", "\u2044", "<s>", "\u00e9", "e\u0301", "\u3000", "\ufb01", "\u2460", "\u4e2d",
    "\u2460\u2461", "\u0130", "<unk>", "\n", "\u2122",
]  # fmt: skip


def test_unknown_pieces() -> None:
    document = KINDS["unigram"]().to_str()
    ours, theirs = Tokenizer.from_str(document), hf.Tokenizer.from_str(document)
    rng = random.Random(9)
    for _ in range(500):
        text = "".join(rng.choices(POOL, k=rng.randint(1, 6)))
        one, other = ours.encode(text), theirs.encode(text)
        assert (one.ids, one.tokens, one.offsets) == (other.ids, other.tokens, other.offsets), text
        one.truncate(2)
        other.truncate(2)
        assert one.tokens == other.tokens, text
