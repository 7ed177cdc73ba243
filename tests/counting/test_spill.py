"""Counts that do not fit in memory: nothing of them is left on the disk, whatever happens."""

from __future__ import annotations

import errno
import gc
import os
import tempfile
import threading
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import pytest
from systems import system_has

import bbpe
from bbpe import budget
from bbpe.core.count import PretokenTable
from bbpe.corpus.rowfiles import Rows, RunReader
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
    path.write_text(" ".join(f"word{number * 7919 % 600}" for number in range(1200)))
    return path


def test_the_file_of_counts_goes_with_them(temporary: Path, corpus: Path) -> None:
    counts = bbpe.count(corpus, pattern="gpt2", max_memory="4GB", threads=1)
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
        bbpe.count(corpus, pattern="gpt2", max_memory="4GB", threads=1)
    gc.collect()
    assert list(temporary.iterdir()) == []


def test_a_sum_of_parts_is_in_a_file_if_memory_is_bounded(tmp_path: Path, corpus: Path) -> None:
    plan = bbpe.plan_count(corpus, tmp_path / "plan", pattern="gpt2")
    bbpe.count_part(plan, 0)
    free, bounded = bbpe.sum_counts(plan), bbpe.sum_counts(plan, max_memory="4GB")
    assert list(free) == list(bounded)
    assert free.nbytes > bounded.nbytes == 0


def open_files() -> int | None:
    """How many descriptors this process has; `None` where the system does not list them."""
    return len(os.listdir("/dev/fd")) if system_has("/dev/fd") else None  # noqa: PTH208 - of this very process


def test_a_sum_closes_its_files_and_says_how_far_it_is(temporary: Path, corpus: Path) -> None:
    seen: list[bbpe.Progress] = []
    open_before = open_files()
    counts = bbpe.count(corpus, pattern="gpt2", max_memory="4GB", threads=1, progress=seen.append)
    assert open_files() == open_before
    sums = [progress for progress in seen if progress.phase == "sum"]
    steps = 2 * spill.parts_for(corpus.stat().st_size, 3000)
    assert {(progress.total, progress.unit) for progress in sums} == {(steps, "parts")}
    assert [progress.done for progress in sums] == sorted(progress.done for progress in sums)
    assert len(sums) > 16
    assert sums[-1] is seen[-1]
    assert (sums[-1].done, sums[-1].note) == (steps, str(counts.summary))


def test_threads_are_as_many_as_memory_has_room_for(
    temporary: Path, corpus: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[tuple[Any, ...]] = []

    def affordable(*arguments: Any) -> int:
        asked.append(arguments)
        return 2

    monkeypatch.setattr("bbpe.counting.count.affordable_threads", affordable)
    seen: list[bbpe.Progress] = []
    bbpe.count(corpus, pattern="gpt2", max_memory="4GB", threads=7, progress=seen.append)
    assert asked == [("4GB", 7, 8000)]
    assert ": 2 threads, tables of 3.0 kB; " in seen[0].note
    assert "to be spilled to Parquet files" in seen[0].note


@pytest.mark.parametrize(
    ("size", "room", "parts"),
    [
        (None, 1 << 28, 64), (None, 1, 64), (0, 1 << 28, 16), (1 << 28, 1 << 28, 16), (2 << 28, 1 << 28, 16),
        (3 << 28, 1 << 28, 32), (8 << 28, 1 << 28, 64), (1 << 40, 1 << 28, 1024), (10, 0, 128),
    ],
)  # fmt: skip
def test_parts_of_the_hash_space_fit_the_room(size: int | None, room: int, parts: int) -> None:
    assert spill.parts_for(size, room) == parts


def test_a_run_that_is_stopped_leaves_no_file(tmp_path: Path) -> None:
    """So Ctrl-C need not wait for the disk."""
    table, stopped = PretokenTable(), threading.Event()
    table.add(b"see", 1)

    def rows() -> Rows:
        return Rows(*table.arrays(), np.array([7], np.uint64))

    assert spill.write_run(tmp_path / "a", rows, 16, stopped, kept=True) == (1, 3)
    reader = RunReader(tmp_path / "a")
    groups = [reader.group(number) for number in range(reader.groups)]
    reader.close()
    assert (len(groups), sum(map(len, groups))) == (16, 1)
    stopped.set()
    with pytest.raises(InterruptedError, match="b was not finished"):
        spill.write_run(tmp_path / "b", rows, 16, stopped, kept=True)
    assert [path.name for path in tmp_path.iterdir()] == ["a"]
