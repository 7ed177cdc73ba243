"""Samples by a regex, and counts that end early because what follows them cannot be done."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import bbpe
from bbpe import budget

#: A regex of clauses that the compiled splitter does not know.
REGEX = r"[^\W\d_]+|\d|[^\w]|_"


@pytest.mark.parametrize("by_line", [False, True])
def test_a_sample_by_a_regex_is_that_of_any_pattern(
    by_line: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Texts are chosen by what they hold, before they are split: also long ones, which are split as they are read."""
    for number in range(30):
        (tmp_path / f"{number:02}.txt").write_text(f"doc {number}\n" * (300 if number % 3 else 2))
    options: dict[str, Any] = {"sample": 0.4, "document": "line" if by_line else "file"}
    monkeypatch.setattr("bbpe.counting.options._BLOCK", 1000)
    right = bbpe.count(tmp_path, pattern="gpt2", **options).summary
    assert right.left_out > 5
    for pattern in (REGEX, r"\w+(?=\s)|\s|\w+", r"(\w)\1|[^x]"):
        found = bbpe.count(tmp_path, pattern=pattern, **options).summary
        assert (found.documents, found.left_out, found.files) == (right.documents, right.left_out, 30), pattern


def test_no_text_at_all_is_no_matter_of_the_sample(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"text": null}\n' * 3)
    for sample in (1.0, 0.5):
        counts = bbpe.count(tmp_path / "a.jsonl", pattern="gpt2", sample=sample)
        assert (list(counts), counts.summary.documents, counts.summary.skipped) == ([], 0, 3)


def test_merging_that_cannot_fit_any_more_ends_the_count(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hours of counting would be for nothing."""
    pytest.importorskip("pyarrow")
    monkeypatch.setattr(budget.Budget, "of", classmethod(lambda cls, limit, buffers: cls(1 << 40, 1 << 16)))
    monkeypatch.setattr("bbpe.counting.options._BLOCK", 1 << 14)
    read = 0

    def texts() -> Iterator[str]:
        nonlocal read
        for read in range(60):
            yield " ".join(f"{number:x}" for number in range(read << 12, (read << 12) + 2000))

    monkeypatch.setattr("bbpe.training.bpe.resident_bytes", lambda: 10**9)
    with pytest.raises(bbpe.MemoryLimitError, match=r"unique pretokens.*needs about"):
        bbpe.train_from_iterator(texts(), 900_000, counting=bbpe.Counting(max_memory=10**9 + 100_000, threads=1))
    assert read < 50
