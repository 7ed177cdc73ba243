"""Tasks and workers as such: what is called, by whom, in which order, and what becomes of errors."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from typing import Any

import pytest
from processes import package_env

from bbpe import threads
from bbpe.threads import Workers, _Progress, _Task, imap, run_in_thread, run_threads


def test_a_task_keeps_what_its_call_returns_or_raises() -> None:
    task = _Task(abs, -3)
    task()
    assert task.result() == 3
    for error in (ValueError("a"), KeyboardInterrupt(), MemoryError()):

        def fail(item: int, error: BaseException = error) -> None:
            raise error

        failed = _Task(fail, 1)
        failed("a state that it does not need")  # type: ignore[arg-type]
        with pytest.raises(type(error)) as caught:
            failed.result()
        assert caught.value is error


def test_whoever_asks_for_a_result_waits_for_it() -> None:
    task = _Task(abs, -3)
    timer = threading.Timer(0.05, task)
    began = time.monotonic()
    timer.start()
    assert task.result() == 3
    assert time.monotonic() - began > 0.04
    timer.join()


@pytest.mark.parametrize("count", [1, 2, 5])
def test_a_map_is_in_order_and_ends_with_the_first_error(count: int) -> None:
    callers: set[int] = set()

    def call(item: int) -> int:
        callers.add(threading.get_ident())
        time.sleep(0.002 * (5 - item % 5))
        return 10 // item

    assert list(imap(call, iter([5, 2, 1, 10]), count)) == [2, 5, 10, 1]
    assert (callers == {threading.get_ident()}) is (count == 1)
    found: list[int] = []
    with pytest.raises(ZeroDivisionError):
        found.extend(imap(call, [5, 2, 0, 1], count))
    assert found == [2, 5]
    assert list(imap(call, [], count)) == []


def test_what_has_not_begun_when_a_map_ends_is_not_done() -> None:
    done: list[int] = []
    may_end = threading.Event()

    def call(item: int) -> int:
        if item:
            may_end.wait(20)
        done.append(item)
        return item

    results: Any = imap(call, range(20), 2)
    assert next(results) == 0
    threading.Timer(0.05, may_end.set).start()
    results.close()
    assert len(done) <= 3


def test_progress_counts_tasks_and_keeps_the_first_error() -> None:
    progress, seen = _Progress(), list[Any]()
    errors = ValueError("first"), KeyboardInterrupt("second")

    def fail(state: Any) -> None:
        seen.append(state)
        raise errors[len(seen) - 1]

    for _ in range(3):
        progress.add()
    progress.raise_error()
    progress.do(fail, "a")
    assert (progress.unfinished, progress.error) == (2, errors[0])
    progress.do(fail, "b")
    progress.do(seen.append, "c")
    assert (progress.unfinished, progress.error, seen) == (0, errors[0], ["a", "b", "c"])
    with pytest.raises(ValueError, match="first"):
        progress.raise_error()


def test_waiting_ends_with_a_task_or_after_a_moment(monkeypatch: pytest.MonkeyPatch) -> None:
    progress = _Progress()
    monkeypatch.setattr(threads, "_LOOK", 20.0)
    progress.wait()  # nobody has the lock at first
    timer = threading.Timer(0.02, lambda: progress.do(lambda _: None, None))
    progress.add()
    timer.start()
    began = time.monotonic()
    progress.wait()
    assert 0.01 < time.monotonic() - began < 10
    timer.join()
    monkeypatch.setattr(threads, "_LOOK", 0.01)
    progress.wait()


def test_one_worker_is_this_thread() -> None:
    seen: list[tuple[str, int]] = []
    with Workers(["own"]) as workers:
        for _ in range(3):
            workers.put(lambda state: seen.append((state, threading.get_ident())))
        assert len(seen) == 3  # nobody else could do them
        assert not workers._help()
        workers.finish()
    assert seen == [("own", threading.get_ident())] * 3
    with Workers(["own"]) as workers, pytest.raises(ZeroDivisionError):
        workers.put(lambda state: 1 // 0)


def test_each_worker_has_a_state_of_its_own() -> None:
    """All tasks are done once; this thread helps when many of them wait; a state is never used by two threads."""
    states: list[list[int]] = [[], [], []]
    owners: dict[int, set[int]] = {}

    def note(state: list[int], number: int) -> None:
        owners.setdefault(id(state), set()).add(threading.get_ident())
        time.sleep(0.001)
        state.append(number)

    with Workers(states) as workers:
        for number in range(60):
            workers.put(lambda state, number=number: note(state, number))
        workers.finish()
    assert sorted(number for state in states for number in state) == list(range(60))
    assert states[0] != []
    assert all(len(found) == 1 for found in owners.values())
    assert all(state == sorted(state) for state in states)


def test_this_thread_does_each_task_at_once_where_the_system_has_no_more_threads(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    done: list[tuple[str, int]] = []
    asked: list[object] = []
    with Workers(["this", "other", "third"]) as workers:
        # the state of the thread that cannot begin is left alone
        monkeypatch.setattr(Workers, "begin", lambda workers, work: asked.append(work) or False)
        for number in range(3):
            workers.put(lambda state, number=number: done.append((state, number)))
            assert done == [("this", each) for each in range(number + 1)]
        monkeypatch.undo()
    assert len(asked) == 1


def test_what_a_task_has_raised_is_told_where_the_next_one_is_put() -> None:
    """So nothing more is read for work that has failed; the end says it again."""
    done: list[str] = []

    def fail(state: str) -> None:
        raise ValueError(f"no {state}")

    with Workers(["this", "other"]) as workers:
        workers.put(fail)
        while workers._progress.error is None:
            workers._progress.wait()
        with pytest.raises(ValueError, match="no other"):
            workers.put(done.append)
        with pytest.raises(ValueError, match="no other"):
            workers.finish()
    assert done == []


def test_work_aside_is_done_by_another_thread() -> None:
    assert run_in_thread(lambda: 5) == 5
    assert run_in_thread(threading.get_ident) != threading.get_ident()
    with pytest.raises(KeyError, match="a"):
        run_in_thread(lambda: {}["a"])
    seen: dict[int, int] = {}
    run_threads(lambda number: seen.__setitem__(number, threading.get_ident()), 3, pytest.fail)  # type: ignore[arg-type]
    assert seen.keys() == {0, 1, 2}
    assert seen[0] == threading.get_ident()


WAITING = """
import time
from pathlib import Path
import bbpe
tok, tasks = bbpe.train_from_iterator(["see my dogs"], 260), Path("/proc/self/task")
tok.encode_batch(["see my dogs"])
before = len([*tasks.iterdir()]) if tasks.exists() else 0
tok.encode_batch(["see my dogs " * 9999] * 64, threads=3)
after = len([*tasks.iterdir()]) if tasks.exists() else 2
print(after - before, time.time(), flush=True)
"""


def test_threads_that_wait_do_not_delay_the_end() -> None:
    """They would wait five seconds for the next call."""
    command = [sys.executable, "-c", WAITING]
    done = subprocess.run(command, env=package_env(), capture_output=True, text=True, check=True)
    ended = time.time()
    threads, last = done.stdout.split()
    assert int(threads) > 0
    assert ended - float(last) < 4
