"""The merge loop by itself: thresholds, tie rules, limits, against the slow reference."""

from __future__ import annotations

import random
import subprocess
import sys
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from bbpe import reference
from bbpe.core.count import PretokenTable
from bbpe.core.train import Trainer, merge_memory
from bbpe.splitting.patterns import get_pattern
from bbpe.splitting.splitter import TextSplitter
from bbpe.text import BYTE_ORDER

TIES = ["ids", "bytes", "first"]
THRESHOLDS = [0, 1, 2, 3, 5, 9, 40, 1_000, 2**40]


def table_of(counts: Mapping[bytes, int]) -> PretokenTable:
    table = PretokenTable()
    for pretoken, count in counts.items():
        table.add(pretoken, count)
    return table


def merges_of(
    table: PretokenTable, limit: int, *, threshold: int, visits: int = 1 << 20, **options: Any
) -> list[tuple[bytes, bytes]]:
    chosen = {"tie_break": "ids", "min_frequency": 1, "max_token_length": 2**32 - 1, **options}
    trainer = Trainer(table, BYTE_ORDER, merge_limit=limit, threshold=threshold, **chosen)
    while not trainer.step(visits):
        pass
    assert trainer.step(visits)
    assert trainer.merge_count == len(trainer.merges()) <= trainer.merge_limit
    tokens = [bytes((byte,)) for byte in BYTE_ORDER]
    merges = []
    for left, right in trainer.merges():
        merges.append((tokens[left], tokens[right]))
        tokens.append(tokens[left] + tokens[right])
    return merges


def random_counts(rng: random.Random) -> dict[bytes, int]:
    alphabet = rng.choice([b"ab", b"aab", b"abcd", bytes(range(256)), "あいうえお".encode()])
    most = rng.choice([1, 3, 20, 500, 2**33])
    words = (bytes(rng.choices(alphabet, k=rng.randint(1, 20))) for _ in range(rng.randint(1, 40)))
    return {word: rng.randint(1, rng.randint(1, most)) for word in words}


@pytest.mark.parametrize("tie_break", TIES)
def test_no_threshold_changes_a_merge(tie_break: str) -> None:
    """High ones are lowered again and again, which searches for pairs in the middle of merging."""
    rng = random.Random(f"thresholds {tie_break}")
    for _ in range(9):
        counts, limit = random_counts(rng), rng.choice([3, 30, 300])
        options: dict[str, Any] = {"tie_break": tie_break, "min_frequency": rng.choice([1, 1, 2, 5])}
        if rng.random() < 0.4:
            options["max_token_length"] = rng.randint(1, 8)
        expected = reference.train_from_counts(counts, limit, **options)
        table = table_of(counts)
        for threshold in THRESHOLDS:
            visits = rng.choice([1, 50, 1 << 20])
            assert merges_of(table, limit, threshold=threshold, visits=visits, **options) == expected, (
                threshold, counts, limit, options)


@pytest.mark.parametrize(
    ("name", "tie_break"), [("en", "ids"), ("code", "bytes"), ("multi", "first"), ("ja", "bytes"), ("zh", "ids")]
)
def test_thresholds_on_real_text(name: str, tie_break: str, corpus: Callable[..., str]) -> None:
    """Enough text for lists that share their memory, and for tables that grow and drop pairs."""
    text = corpus(name, 400_000).encode()
    splitter = TextSplitter(get_pattern("gpt2")).compiled
    assert splitter is not None
    table = PretokenTable()
    assert table.count_text(text, 0, len(text), splitter) == len(text)
    expected = merges_of(table, 4_000, threshold=1, tie_break=tie_break)
    assert len(expected) == 4_000
    for threshold in (0, 7, 300):
        assert merges_of(table, 4_000, threshold=threshold, tie_break=tie_break) == expected


@pytest.mark.parametrize("threshold", [0, 1, 2**62])
def test_counts_beyond_33_bits(threshold: int) -> None:
    counts = {b"abab": 2**33 + 1, b"ba": 2**34 + 5, b"cab": 2**33 + 2, b"xyz": 2**40, b"q": 2**50}
    expected = reference.train_from_counts(counts, 10)
    assert merges_of(table_of(counts), 10, threshold=threshold) == expected


def test_one_long_pretoken() -> None:
    rng = random.Random(3)
    text = bytes(rng.choices(b"ab", k=3_000))
    for tie_break in TIES:
        expected = reference.train_from_counts({text: 2}, 60, tie_break=tie_break)
        for threshold in (1, 100):
            assert merges_of(table_of({text: 2}), 60, threshold=threshold, tie_break=tie_break) == expected


@pytest.mark.parametrize("counts", [{}, {b"": 3}, {b"a": 5}, {b"ab": 0}])
def test_nothing_to_merge(counts: dict[bytes, int]) -> None:
    assert merges_of(table_of(counts), 10, threshold=0) == []


def test_a_trainer_wants_256_bytes() -> None:
    with pytest.raises(ValueError, match="255 bytes"):
        Trainer(
            PretokenTable(), bytes(255), merge_limit=1, tie_break="ids", min_frequency=1, max_token_length=9
        )


GROWTH = """
import random, sys
from bbpe.core.count import PretokenTable
from bbpe.core.train import Trainer, merge_memory
from bbpe.text import BYTE_ORDER

def peak():
    return next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmHWM")) * 1024

letters, words, length, limit = map(int, sys.argv[1:])
rng = random.Random(0)
table = PretokenTable()
for i in range(words):
    table.add(bytes(rng.randrange(letters) for _ in range(length)), 1 + 2000 // (i + 1))
before = peak()
options = {"tie_break": "ids", "min_frequency": 1, "max_token_length": 100}
trainer = Trainer(table, BYTE_ORDER, merge_limit=limit, **options)
while not trainer.step(1 << 20):
    pass
print(peak() - before, merge_memory(table.pretoken_bytes, len(table), limit))
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
@pytest.mark.parametrize("shape", [(4, 40_000, 50, 100), (200, 40_000, 50, 30_000), (2, 10, 100_000, 4_000)], ids=str)
def test_memory_stays_below_the_estimate(shape: tuple[int, ...]) -> None:
    command = [sys.executable, "-c", GROWTH, *map(str, shape)]
    grown, estimate = map(int, subprocess.run(command, capture_output=True, text=True, check=True).stdout.split())
    assert 0 < grown < estimate


def test_the_estimate_grows_with_all_that_matters() -> None:
    assert merge_memory(10**9, 10**7, 1000) > merge_memory(10**8, 10**7, 1000) > merge_memory(10**8, 10**6, 1000)
    assert merge_memory(10**8, 10**6, 10**6) > merge_memory(10**8, 10**6, 1000)
