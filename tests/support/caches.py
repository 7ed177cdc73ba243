"""What tests of caches share."""

from __future__ import annotations

import random
from collections.abc import Sequence

import bbpe
from bbpe.core.bpe import CompiledBPE

#: more than any test fills
ROOM = 1 << 30


def fresh(tok: bbpe.Tokenizer) -> bbpe.Tokenizer:
    """The same without anything remembered."""
    return bbpe.Tokenizer(tok.spec)


def lines_ids(model: CompiledBPE, lines: Sequence[bytes]) -> list[int]:
    """The ids of lines that are a pretoken each, and so are their ends."""
    end = model.encode_pretoken(b"\n")
    return [token_id for line in lines for token_id in (*model.encode_pretoken(line), *end)]


def words(rng: random.Random, count: int, letters: str = "etaoinshrdlu", longest: int = 15) -> list[bytes]:
    return ["".join(rng.choices(letters, k=rng.randint(1, longest))).encode() for _ in range(count)]
