"""Shuffling as such: documents in the order of their keys, whatever the sizes, the blocks and the files on the way."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from bbpe.shards import shuffle
from bbpe.shards.shuffle import Documents


def key(seed: int, number: int) -> int:
    """splitmix64, as its authors write it in C."""
    most = (1 << 64) - 1
    z = (seed + (number + 1) * 0x9E3779B97F4A7C15) & most
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & most
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & most
    return z ^ (z >> 31)


def blocks_of(documents: list[bytes], step: int) -> Iterator[Documents]:
    for at in range(0, len(documents), step):
        some = documents[at : at + step]
        yield np.frombuffer(b"".join(some), np.uint8), np.array([*map(len, some)], np.int64)


def listed(found: Iterator[Documents]) -> list[bytes]:
    documents = []
    for ids, sizes in found:
        ends = np.cumsum(sizes).tolist()
        documents += [ids[start:end].tobytes() for start, end in zip([0, *ends], ends, strict=False)]
        assert len(ids) == sum(sizes)
    return documents


@pytest.mark.parametrize("seed", [0, 7, (1 << 64) - 1])
def test_keys_are_those_of_splitmix64(seed: int) -> None:
    assert shuffle.keys_of(seed, 0, 5).tolist() == [key(seed, number) for number in range(5)]
    assert shuffle.keys_of(seed, 1 << 40, 2).tolist() == [key(seed, (1 << 40) + number) for number in range(2)]
    assert shuffle.keys_of(seed, 3, 0).tolist() == []


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize(
    ("bucket", "most", "large"),
    [(1 << 24, 256, 4), (3000, 256, 4), (300, 256, 1), (300, 2, 1), (1000, 4, 1), (1, 8, 4)],
    ids=["one file", "some files", "many files", "two at a time", "four at a time", "a file for each"],
)
def test_documents_are_in_the_order_of_their_keys(
    bucket: int, most: int, large: int, threads: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also those without ids, and one that is larger than a file should be."""
    for name, value in (("_BUCKET", bucket), ("_MOST", most), ("_LARGE", large)):
        monkeypatch.setattr(shuffle, name, value)
    draw = random.Random(5)
    documents = [draw.randbytes(draw.choice([0, 1, 2, 8, 30])) for _ in range(200)]
    documents[50] = draw.randbytes(2000)
    size = sum(map(len, documents))
    order = sorted(range(200), key=lambda number: key(9, number))
    found = shuffle.shuffled(blocks_of(documents, 37), 9, 200, size, tmp_path, threads)
    assert listed(found) == [documents[number] for number in order]
    assert list(tmp_path.iterdir()) == []


def test_no_documents_are_no_documents(tmp_path: Path) -> None:
    assert listed(shuffle.shuffled(iter(()), 1, 0, 0, tmp_path)) == []
    assert listed(shuffle.shuffled(blocks_of([b""], 1), 1, 1, 0, tmp_path)) == [b""]


def test_about_as_much_is_sorted_at_once_as_memory_is_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where nobody knew beforehand how large documents are: then what has been written is divided again."""
    monkeypatch.setattr(shuffle, "_BUCKET", 4000)
    documents = [bytes(20)] * 1000
    for size in (20_000, 0):
        found = list(shuffle.shuffled(blocks_of(documents, 100), 1, 1000 if size else 0, size, tmp_path))
        counts = [len(sizes) for _, sizes in found]
        assert sum(counts) == 1000
        # 84 bytes for each: ids, key and size, and what sorting them takes
        assert max(counts) * 84 <= 4 * 4000
        assert len(counts) >= 5


def test_a_file_goes_when_its_documents_were_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """So the disk needs to hold the documents once, and not each time that they are divided."""
    monkeypatch.setattr(shuffle, "_BUCKET", 300)
    monkeypatch.setattr(shuffle, "_LARGE", 1)
    documents = [b"%03d" % number for number in range(100)]
    left = []
    for _ in shuffle.shuffled(blocks_of(documents, 10), 1, 0, 0, tmp_path):
        left.append(sum(path.stat().st_size for path in tmp_path.rglob("*.ids")))
    assert left[0] < 300
    assert left == sorted(left, reverse=True)
    assert left[-1] == 0


def test_no_more_files_are_open_than_a_process_may_have(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shuffle, "_BUCKET", 100)
    monkeypatch.setattr(shuffle, "_MOST", 8)
    for size in (100 * 7, 100 * 8, 100 * 9, 100 * 1000):
        found = shuffle.shuffled(blocks_of([b"a"] * 50, 50), 1, 0, size, tmp_path)
        next(found)
        (folder,) = tmp_path.iterdir()
        # the first of them was sorted, and is gone
        assert len(list(folder.glob("*.ids"))) == 7
        list(found)
