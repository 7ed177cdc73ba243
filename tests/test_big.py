"""A text beyond 32 bits, and a million special tokens.  Counts beyond 2^33 are in test_counts.py."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import pytest

import bbpe

LINE = "some text, 12 numbers; é and 中文, and more of it\n"


@pytest.mark.long
def test_a_text_of_8_gb(tok_of: Callable[[str], bbpe.Tokenizer]) -> None:
    """Of which nothing but numbers is kept: ids and pretokens of equal blocks, which no pretoken crosses."""
    block = (LINE * (2**20 // len(LINE))).encode()
    blocks = 2**33 // len(block) + 1
    tok = tok_of("gpt2")
    text = block * blocks
    assert tok.count_tokens(text) == blocks * tok.count_tokens(block)
    once = bbpe.count_from_iterator([block], pattern="gpt2")
    counted = bbpe.count_from_iterator([text], pattern="gpt2")
    assert dict(counted) == {pretoken: blocks * count for pretoken, count in once}


@pytest.mark.long
def test_a_million_special_tokens(tok_of: Callable[[str], bbpe.Tokenizer], tmp_path: Path) -> None:
    rng, few = random.Random(3), tok_of("gpt2")
    first = max(few.spec.vocab) + 1
    specials = {f"<|{number:x}|>": first + number for number in range(10**6)}
    tok = bbpe.Tokenizer.from_merges(few.spec.vocab, few.merges, pattern="gpt2", special_tokens=specials)
    chosen = rng.sample(sorted(specials), 1000)
    text = LINE.join(chosen)
    ids = tok.encode(text, allowed_special="all")
    assert [number for number in ids if number >= first] == [specials[token] for token in chosen]
    assert tok.decode(ids) == text
    assert tok.encode(text) == few.encode(text)
    tok.save(tmp_path / "tokenizer.json")
    again = bbpe.load(tmp_path / "tokenizer.json")
    assert again == tok
    assert again.encode(text, allowed_special="all") == ids
