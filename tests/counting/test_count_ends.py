"""Counting where little is there: systems without locks, executors that break, nothing left to read, one text alone."""

from __future__ import annotations

import errno
import json
import operator
import os
import sys
from concurrent.futures import BrokenExecutor, CancelledError, Executor, Future
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import bbpe
from bbpe.corpus.chunks import Position
from bbpe.counting import checkpoint, counts, options
from bbpe.counting import count as counting
from bbpe.counting.corpus_parts import Iterated
from bbpe.counting.handout import HandOut, workers_of
from bbpe.counting.spill import Spill, parts_for

pytest.importorskip("pyarrow")


# -- locks ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("number", "raised"),
    [
        (errno.EACCES, BlockingIOError), (errno.EAGAIN, BlockingIOError), (errno.ENOLCK, None), (errno.ENOTSUP, None),
        (errno.ENOSYS, None), (errno.EINVAL, None), (errno.EIO, OSError), (errno.EBADF, OSError),
    ],
)  # fmt: skip
def test_what_the_system_says_to_a_lock(
    number: int, raised: type[OSError] | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A system without locks is no error; another process that holds it is, and so is a disk that fails."""

    def refuse(*_: object) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr("fcntl.lockf", refuse)
    if raised is None:
        checkpoint.FolderLock(tmp_path / "lock").release()
    else:
        with pytest.raises(raised) as caught:
            checkpoint.FolderLock(tmp_path / "lock")
        assert (type(caught.value), caught.value.errno) == (raised, number)
    assert dict(checkpoint._HELD) == {}


@pytest.mark.parametrize(
    ("number", "raised"), [(None, None), *((each, BlockingIOError) for each in (errno.EACCES, errno.EDEADLK, 0))]
)
def test_a_lock_on_windows_is_behind_what_the_file_holds(
    number: int | None, raised: type[OSError] | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Others could not read what is locked there.  Wine says with no number that another process has it."""
    locked = list[tuple[int, int, int]]()

    def locking(handle: int, mode: int, size: int) -> None:
        locked.append((os.lseek(handle, 0, os.SEEK_CUR), mode, size))
        if number is not None:
            raise OSError(number, os.strerror(number))

    monkeypatch.setitem(sys.modules, "msvcrt", SimpleNamespace(locking=locking, LK_NBLCK=2))
    monkeypatch.setattr(sys, "platform", "win32")
    if raised is None:
        lock = checkpoint.FolderLock(tmp_path / "lock")
        assert [lock.content(b"mark"), lock.content(b"another")] == [b"mark", b"mark"]
        lock.release()
    else:
        with pytest.raises(raised):
            checkpoint.FolderLock(tmp_path / "lock")
    assert locked == [(1 << 30, 2, 1)]
    assert dict(checkpoint._HELD) == {}


def test_a_system_that_has_no_locks_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "fcntl", None)
    lock = checkpoint.FolderLock(tmp_path / "lock")
    with pytest.raises(BlockingIOError) as caught:  # this process knows what it holds
        checkpoint.FolderLock(tmp_path / "lock")
    assert (caught.value.errno, caught.value.filename) == (errno.EAGAIN, str(tmp_path / "lock"))
    assert (lock.content(b"new"), lock.content(b"other")) == (b"new", b"new")
    lock.release()
    checkpoint.FolderLock(tmp_path / "lock").release()


def test_a_forked_process_does_not_release_the_lock_of_its_parent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lock = checkpoint.FolderLock(tmp_path / "lock")
    held = dict(checkpoint._HELD)
    with monkeypatch.context() as forked:
        forked.setattr(checkpoint.os, "getpid", lambda: -1)
        lock.release()
    assert dict(checkpoint._HELD) == held != {}
    lock.release()
    assert dict(checkpoint._HELD) == {}


# -- executors -----------------------------------------------------------------------------------------


class Answers(Executor):
    """Gives one answer after the other: an error of `submit`, an error of the work, None for the work's result."""

    _max_workers = 1

    def __init__(self, *answers: BaseException | str | None) -> None:
        self.answers = list(answers)

    def submit(self, function: Any, /, *arguments: Any, **named: Any) -> Future[Any]:
        answer = self.answers.pop(0) if self.answers else None
        future: Future[Any] = Future()
        if isinstance(answer, BrokenExecutor):
            raise answer
        if answer == "cancel":
            future.cancel()
            future.set_running_or_notify_cancel()
        elif isinstance(answer, BaseException):
            future.set_exception(answer)
        else:
            future.set_result(function(*arguments, **named))
        return future


def test_work_that_was_cancelled_is_handed_out_again() -> None:
    assert list(HandOut(Answers("cancel"), attempts=2).results(abs, [-3])) == [(-3, 3)]
    for answer, kind in (("cancel", CancelledError), (OSError("a"), OSError)):
        for attempts, notes in ((1, []), (2, ["part -3 failed 2 times"]), (3, ["part -3 failed 3 times"])):
            with pytest.raises(kind) as caught:
                list(HandOut(Answers(*[answer] * attempts), attempts=attempts).results(abs, [-3]))
            assert getattr(caught.value, "__notes__", []) == notes
            caught.value.__notes__ = []
    for error in (KeyboardInterrupt(), MemoryError(), ImportError("a"), TypeError("a"), bbpe.CorpusError("a")):
        executor = Answers(error)
        with pytest.raises(type(error)):
            list(HandOut(executor).results(abs, [-3]))


def test_an_executor_that_broke_is_replaced_if_it_is_a_pool_of_processes() -> None:
    broken = BrokenExecutor("all nodes are gone")
    with pytest.raises(BrokenExecutor, match="all nodes are gone"):
        list(HandOut(Answers(None, broken)).results(abs, [-3, 4, 5]))
    assert workers_of(Answers()) == 1
    assert workers_of(SimpleNamespace(_max_workers=0)) == os.cpu_count()  # type: ignore[arg-type]


@pytest.mark.parametrize("given", [0, -1])
def test_a_window_has_room(given: int) -> None:
    for name in ("in_flight", "attempts", "threads", "max_pretoken_bytes"):
        with pytest.raises(ValueError, match=rf"^Counting\.{name} is {given}; expected "):
            bbpe.Counting(**{name: given})
    with pytest.raises(TypeError, match=r"^Counting\.text_field must be a str, or a list of them, not int$"):
        bbpe.Counting(text_field=5)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"^Counting\.executor must be a concurrent\.futures\.Executor, not str$"):
        bbpe.Counting(executor="dask")  # type: ignore[arg-type]


# -- texts ---------------------------------------------------------------------------------------------


def iterated(texts: Any, **options: Any) -> Iterated:
    return Iterated(texts, bbpe.Counting(**options).task("gpt2").chunks)


def test_texts_that_were_read_to_their_end() -> None:
    """A count that goes on behind the last text reads nothing."""
    texts = iterated(["low", "lower"])
    assert [number for number, _ in texts.sources(Position())] == [0]
    assert list(texts.sources(Position(1))) == []
    assert list(texts.parts(Position(1), 5)) == []
    ((_, events),) = texts.sources(Position(0, 1))
    assert [bytes(event.data) for event in events] == [b"lower"]


@pytest.mark.parametrize(("size", "counts"), [(1, [1, 1]), (1 << 20, [1, 1]), ((1 << 20) + 1, [2]), (1 << 30, [2])])
def test_parts_of_texts_end_with_the_chunk_that_fills_them(size: int, counts: list[int]) -> None:
    texts = ["x" * (1 << 20), "y" * (1 << 20)]
    parts = list(iterated(texts).parts(Position(), size))
    assert [len(part.chunks) for part in parts] == counts
    data = [chunk.data for part in parts for chunk in part.chunks]
    assert b"".join(data) == "".join(texts).encode()
    assert {type(each) for each in data} == {bytes}  # they go to other processes


def test_a_text_of_a_column_that_is_none_is_named_by_the_column() -> None:
    import pyarrow as pa

    with pytest.raises(TypeError, match=r"^row 1|null") as caught:
        bbpe.count_from_iterator(pa.array(["low", None]), pattern="gpt2")
    assert "counted from 0: " not in str(caught.value)
    for texts in (["low", 5], iter(["low", 5]), [["low"], ["lower", 5]]):
        number = 2 if isinstance(texts, list) and texts[0] == ["low"] else 1
        with pytest.raises(TypeError, match=rf"^text {number}, counted from 0: "):
            bbpe.count_from_iterator(texts, pattern="gpt2")


def test_a_text_for_which_memory_has_no_room(monkeypatch: pytest.MonkeyPatch) -> None:
    most = 4 * 2 * options._BLOCK
    monkeypatch.setattr(bbpe.Counting, "most", property(lambda self: 2 * options._BLOCK))
    assert bbpe.count_from_iterator(["a" * most], pattern="gpt2").total == 1
    with pytest.raises(bbpe.MemoryLimitError, match=r"text 1, counted from 0, is longer than the \d\.\d MB that"):
        bbpe.count_from_iterator(["a", "a" * (most + 1)], pattern="gpt2")


# -- plans, sums and runs ------------------------------------------------------------------------------


def test_a_part_is_counted_once_and_its_record_is_read(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("low lower low")
    plan = bbpe.plan_count(iter([tmp_path / "a.txt"]), tmp_path / "out", pattern="gpt2")
    summary = bbpe.count_part(plan, 0)
    record = plan.path(0, ".json")
    before = record.stat().st_mtime_ns
    assert bbpe.count_part(plan, 0) == summary
    assert record.stat().st_mtime_ns == before
    for data in ("{", "5", '{"none": 1}', "[]"):
        record.write_text(data)
        with pytest.raises(bbpe.CorpusError, match=r"run-00000\.json: expected the record of a part: "):
            bbpe.count_part(plan, 0)
    record.unlink()
    with pytest.raises(bbpe.CorpusError, match=r"1 of 1 part is missing, first part 0$"):
        bbpe.sum_counts(plan)


def test_what_a_table_cannot_hold_is_said_as_it_says_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only counts whose sum passes 64 bits are said to do so."""

    class Full:
        total = 2**64 - 5

        def add_arrays(self, *_: object) -> None:
            raise OverflowError("too many pretokens")

    monkeypatch.setattr(counts, "PretokenTable", Full)
    for more, said in ((4, "^too many pretokens$"), (5, "^the sum of the counts of a pretoken passes 64 bits$")):
        rows: Any = SimpleNamespace(data=b"", offsets=None, counts=np.array([more, 0], np.uint64))
        with pytest.raises(OverflowError, match=said):
            counts._table_of([rows])


def test_runs_are_numbered_from_0_and_the_largest_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[Path] = []
    sizes = iter([(3, 10), (5, 2), (5, 1)])

    def write_run(path: Path, *_: object, **named: object) -> tuple[int, int]:
        made.append(path)
        assert named == {"kept": True}
        return next(sizes)

    monkeypatch.setattr("bbpe.counting.spill.write_run", write_run)
    spill = Spill(lambda kind, number: tmp_path / f"{kind}-{number}", [tmp_path / "run-0"], 4, 100, kept=True)
    largest = []
    for _ in range(3):
        spill.write(lambda: None)  # type: ignore[arg-type, return-value]
        largest.append(spill.largest)
    assert [path.name for path in made] == ["run-1", "run-2", "run-3"]
    assert (spill.runs, largest) == ([tmp_path / "run-0", *made], [(3, 10), (5, 2), (5, 2)])
    assert spill.path(7) == tmp_path / "run-7"


def test_the_parts_of_the_hash_space() -> None:
    """Twice as many until eight times the corpus fits the memory of each; 64 at least where its size is unknown."""
    least, most = parts_for(0, 1), parts_for(1 << 60, 1)
    assert [parts_for(size, 1000) for size in (0, 125 * least, 125 * least + 125)] == [least, least, 2 * least]
    assert parts_for(None, 1) == parts_for(None, 1 << 40) == max(64, least)
    assert (parts_for(10, 0), most & (most - 1)) == (parts_for(10, 1), 0)


def test_memory_for_texts_is_set_aside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Eight blocks for each thread and for the reader."""
    (tmp_path / "a.txt").write_text("low lower " * 200_000)
    seen: list[tuple[Any, ...]] = []
    of = counting.Budget.of
    monkeypatch.setattr(counting, "affordable_threads", lambda limit, threads, each: seen.append((threads, each)) or 2)
    monkeypatch.setattr(counting, "Budget", SimpleNamespace(
        of=lambda limit, buffers: seen.append((limit, buffers)) or of(limit, buffers=buffers)
    ))  # fmt: skip
    bbpe.count(tmp_path / "a.txt", pattern="gpt2", max_memory="4GB", threads=3)
    assert seen[:2] == [(3, 8 * options._BLOCK), ("4GB", 24 * options._BLOCK)]


def test_batches_are_of_so_many_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    found = bbpe.count_from_iterator(["a b c d e f g"], pattern="whitespace")
    rows = list(found)
    for size, lengths in ((3, [3, 3, 1]), (6, [6, 1]), (7, [7]), (8, [7]), (1, [1] * 7)):
        monkeypatch.setattr(counts, "ROWS", size)
        assert [len(batch) for batch in found.batches()] == lengths
        assert list(found) == rows


def test_a_comparison_is_of_all_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    one, two = (bbpe.count_from_iterator(texts, pattern="gpt2") for texts in (["a b"], ["a b b"]))
    assert (one == one, one == two, one == [(b"a", 1), (b" b", 1)]) == (True, False, False)
    assert one != bbpe.count_from_iterator(["a b"], pattern="gpt2", special_tokens=["<s>"])
    assert one != bbpe.count_from_iterator(["a b c"], pattern="gpt2")
    assert (sum([one, two]) == one + two, dict(sum([one, two]))) == (True, {b"a": 2, b" b": 3})
    for left, right in ((one, [(b"a", 1)]), (1, one), (one, 0)):
        with pytest.raises(TypeError):
            operator.add(left, right)


def test_files_have_the_versions_that_earlier_releases_read(tmp_path: Path) -> None:
    """A version changes with the layout alone, and then on purpose: others refuse the files."""
    import pyarrow.parquet as parquet

    (tmp_path / "a.txt").write_text("low lower")
    tok = bbpe.train_from_iterator(["low lower"], 258)
    bbpe.count(tmp_path / "a.txt", pattern="gpt2", checkpoint=tmp_path / "state").save(tmp_path / "c.parquet")
    bbpe.plan_count(tmp_path / "a.txt", tmp_path / "counts", pattern="gpt2")
    bbpe.plan_shards(tmp_path / "a.txt", tmp_path / "shards", tok)
    metadata = parquet.read_schema(tmp_path / "c.parquet").metadata
    (saved,) = [json.loads(value) for key, value in metadata.items() if key.startswith(b"bbpe")]
    plans = [json.loads((tmp_path / name / "plan.json").read_text()) for name in ("counts", "shards")]
    marker = json.loads((tmp_path / "state" / "bbpe-checkpoint.json").read_text())
    assert [each["version"] for each in (saved, *plans, marker)] == [2, 2, 4, 4]
