"""Counts that do not fit in memory: nothing of them is left on the disk, whatever happens."""

from __future__ import annotations

import errno
import gc
import os
import tempfile
from pathlib import Path
from typing import NoReturn

import pytest

import bbpe
from bbpe import budget
from bbpe.counting import options as count_options
from bbpe.counting import spill

pytest.importorskip("pyarrow")


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder for temporary files; tables are full at a few kilobytes."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    monkeypatch.setattr(budget.Budget, "of", classmethod(lambda cls, limit, buffers: cls(1 << 40, 3000)))
    monkeypatch.setattr(count_options, "_BLOCK", 1000)
    return folder


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    path = tmp_path / "a.txt"
    path.write_text(" ".join(f"word{number * 7919 % 1000}" for number in range(2000)))
    return path


def test_the_file_of_counts_goes_with_them(temporary: Path, corpus: Path) -> None:
    counts = bbpe.count(corpus, pattern="gpt2", max_memory="1GB", threads=1)
    assert counts.nbytes == 0  # they lie in a file
    assert [path.name for path in temporary.rglob("*.parquet")] == ["counts.parquet"]
    assert len(list(counts)) == len(counts)
    del counts
    gc.collect()
    assert list(temporary.iterdir()) == []


def full_disk(*_: object) -> NoReturn:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


@pytest.mark.parametrize("step", ["regrouped", "merged", "_write_buckets", "_in_order"])
def test_an_error_in_the_sum_leaves_nothing(
    step: str, temporary: Path, corpus: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(spill, step, full_disk)
    with pytest.raises(OSError, match=os.strerror(errno.ENOSPC)):
        bbpe.count(corpus, pattern="gpt2", max_memory="1GB", threads=1)
    gc.collect()
    assert list(temporary.iterdir()) == []


def test_a_sum_of_parts_is_in_a_file_if_memory_is_bounded(tmp_path: Path, corpus: Path) -> None:
    plan = bbpe.plan_count(corpus, tmp_path / "plan", pattern="gpt2")
    bbpe.count_part(plan, 0)
    free, bounded = bbpe.sum_counts(plan), bbpe.sum_counts(plan, max_memory="1GB")
    assert list(free) == list(bounded)
    assert free.nbytes > bounded.nbytes == 0
