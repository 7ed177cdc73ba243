"""Sizes that nobody reaches by accident: counts beyond 2^33, a million special tokens, a text of gigabytes."""

from __future__ import annotations

import mmap
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import bbpe
from bbpe.budget import resident_bytes

LINE = "see my eyes first, see my 12345 dogs\n"


def test_counts_beyond_33_bits() -> None:
    """Merges are those of the same counts, smaller, and a total stays exact."""
    counts = {" low": 5, " lower": 2, " newest": 6, " widest": 3}
    huge = {pretoken: count << 52 for pretoken, count in counts.items()}
    assert bbpe.train_from_counts(huge, 270).merges == bbpe.train_from_counts(counts, 270).merges
    one = bbpe.count_from_iterator([LINE], pattern="gpt2")
    many = one.scale(2.0**34) + one.scale(2.0**34)
    assert many.total == one.total << 35
    assert dict(many)[b"see"] == 1 << 35


@pytest.mark.parametrize("count", [10_000, pytest.param(1_000_000, marks=pytest.mark.long)])
def test_special_tokens(count: int, tmp_path: Path) -> None:
    tokens = [f"<|{number:07}|>" for number in range(count)]
    tok = bbpe.train_from_iterator([LINE], 270 + count, special_tokens=tokens)
    text = f"see {tokens[-1]} my {tokens[0]}{tokens[count // 2]}"
    ids = tok.encode(text, allowed_special="all")
    first = tok.special_tokens[tokens[0]]
    assert [i - first for i in ids if i >= first] == [count - 1, 0, count // 2]
    assert tok.decode(ids) == text
    tok.save(tmp_path / "tokenizer.json")
    assert bbpe.load(tmp_path / "tokenizer.json").encode(text, allowed_special="all") == ids


def blocks(line: bytes, size: int) -> Iterator[bytes]:
    block = line * (1_000_000 // len(line))
    for _ in range(size // len(block)):
        yield block


@pytest.mark.parametrize("size", [4_000_000, pytest.param(8_600_000_000, marks=pytest.mark.long)])
def test_a_long_text(size: int, tmp_path: Path) -> None:
    """A file of so many bytes, beyond 2^33, counted through a map of it, and within bounded memory."""
    line, path = LINE.encode(), tmp_path / "text.txt"
    with path.open("wb") as file:
        for block in blocks(line, size):
            file.write(block)
    lines = path.stat().st_size // len(line)
    tok = bbpe.train_from_iterator([LINE], 280)
    per_line = len(tok.encode(LINE))
    before = resident_bytes()
    # of a process that holds what other tests left
    counts = bbpe.count(path, pattern="gpt2", max_memory=before + 10**9)
    assert dict(counts)[b" my"] == 2 * lines
    assert resident_bytes() - before < 1e9
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as whole:
        part = memoryview(whole)[-len(line) * (min(lines, 1000)) :]
        ids = tok.encode_to_numpy(part)
        part.release()
        assert len(ids) == per_line * min(lines, 1000)
    assert ids.dtype == np.uint32


@pytest.mark.parametrize("size", [2_000_000, pytest.param(2_000_000_000, marks=pytest.mark.long)])
def test_a_long_stream(size: int) -> None:
    tok = bbpe.train_from_iterator([LINE], 280)
    per_line, line = len(tok.encode(LINE)), LINE.encode()
    before, count = resident_bytes(), 0
    for _ in tok.encode_iterable(blocks(line, size)):
        count += 1
    block = 1_000_000 // len(line)
    assert count == per_line * block * (size // (block * len(line)))
    assert resident_bytes() - before < 200e6
