"""Our own speed from one change to the next, without peers.

    python -m pytest benchmarks --benchmark-autosave          before
    python -m pytest benchmarks --benchmark-compare           after
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import bbpe
from benchmarks.texts import documents, read

TEXT = read("stdlib", 1_000_000).decode("utf-8", "ignore")
DOCUMENTS = documents(TEXT)
TOKENIZER = bbpe.train_from_iterator([TEXT], 8_000, pattern="cl100k", counting=bbpe.Counting(threads=1))
IDS = TOKENIZER.encode_to_numpy(TEXT)

JOBS: dict[str, Callable[[], Any]] = {
    "split": lambda: bbpe.split_spans(TEXT, "cl100k"),
    "encode": lambda: TOKENIZER.encode_to_numpy(TEXT, threads=1),
    "encode_lists": lambda: TOKENIZER.encode_batch(DOCUMENTS, threads=1),
    "encode_short": lambda: TOKENIZER.encode("see my eyes first"),
    "decode": lambda: TOKENIZER.decode_bytes(IDS),
    "count": lambda: bbpe.count_from_iterator([TEXT], pattern="cl100k", threads=1),
    "train": lambda: bbpe.train_from_iterator([TEXT], 2_000, pattern="cl100k", counting=bbpe.Counting(threads=1)),
}


@pytest.mark.parametrize("name", JOBS)
def test_speed(name: str, benchmark: Any) -> None:
    assert len(benchmark(JOBS[name])) > 0


def test_speed_cold(benchmark: Any) -> None:
    """Encoding with empty caches."""

    def forget() -> None:
        TOKENIZER.clear_cache()

    ids = benchmark.pedantic(lambda: TOKENIZER.encode_to_numpy(TEXT, threads=1), setup=forget, rounds=10)
    assert len(ids) == len(IDS)
