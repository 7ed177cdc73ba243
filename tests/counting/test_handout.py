"""Handing out work: a window of parts, in any order, again after a failure, and to a new pool after a broken one."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import active_children, get_context
from pathlib import Path
from typing import Any

import pytest
from processes import KILL

from bbpe.counting.handout import HandOut, workers_of


class Fake(Executor):
    """So many workers, none of which begins before it is told to."""

    def __init__(self, workers: int | None) -> None:
        self.calls: list[tuple[Callable[[], Any], Future[Any]]] = []
        if workers is not None:
            self._max_workers = workers

    def submit(self, function: Callable[..., Any], /, *arguments: Any, **options: Any) -> Future[Any]:
        future: Future[Any] = Future()
        self.calls.append((lambda: function(*arguments, **options), future))
        return future


def finish(call: tuple[Callable[[], Any], Future[Any]]) -> None:
    work, future = call
    try:
        future.set_result(work())
    except Exception as error:
        future.set_exception(error)


def test_a_straggler_holds_nobody_up() -> None:
    """64 workers, 40 parts: 39 are done while one is not."""
    executor, done = Fake(64), list[int]()

    def run() -> None:
        for number, _ in HandOut(executor).results(abs, range(40)):
            done.append(number)

    thread = threading.Thread(target=run)
    thread.start()
    while len(executor.calls) < 40:
        time.sleep(0.001)
    for call in executor.calls[1:]:
        finish(call)
    deadline = time.monotonic() + 20
    while len(done) < 39 and time.monotonic() < deadline:
        time.sleep(0.001)
    assert len(done) == 39
    assert 0 not in done
    finish(executor.calls[0])
    thread.join()
    assert sorted(done) == list(range(40))


def test_the_window_is_that_of_the_executor() -> None:
    class Client:
        def nthreads(self) -> dict[str, int]:
            return {"a": 3, "b": 4}

    dask = Fake(None)
    dask._client = Client()  # type: ignore[attr-defined]
    assert (workers_of(Fake(5)), workers_of(dask), workers_of(Fake(None))) == (5, 7, os.cpu_count())
    for executor, in_flight, most in ((Fake(3), None, 6), (Fake(3), 4, 4), (dask, None, 14)):
        results = HandOut(executor, in_flight).results(abs, range(100))
        thread = threading.Thread(target=lambda results=results: next(results))
        thread.start()
        while len(executor.calls) < most:
            time.sleep(0.001)
        time.sleep(0.01)
        assert len(executor.calls) == most
        finish(executor.calls[0])
        thread.join()
        results.close()
        assert all(future.cancelled() or future.done() for _, future in executor.calls)


def test_what_fails_is_tried_again_and_what_is_wrong_is_not() -> None:
    tries: list[int] = []

    def fails(number: int) -> int:
        tries.append(number)
        if number == 2 and tries.count(2) < 3:
            raise OSError("the network is down")
        if number == 5:
            raise ValueError("wrong for good")
        return number

    with ThreadPoolExecutor(2) as executor:
        assert sorted(HandOut(executor, attempts=3).results(fails, range(4))) == [(n, n) for n in range(4)]
        tries.clear()
        with pytest.raises(OSError, match="network") as caught:
            list(HandOut(executor, attempts=2).results(fails, [2]))
        assert caught.value.__notes__ == ["part 2 failed 2 times"]
        tries.clear()
        with pytest.raises(ValueError, match="for good"):
            list(HandOut(executor).results(fails, [5]))
        assert tries == [5]
        assert executor.submit(abs, -1).result() == 1


def test_a_worker_that_hangs_holds_nobody_up_for_good() -> None:
    """Its part is handed out again when it takes long, once, and what it does in the end counts no more."""
    hangs, tries, told = threading.Event(), list[int](), list[bool]()

    def work(number: int) -> int:
        tries.append(number)
        if number == 3 and tries.count(3) < 2:
            told.append(hangs.wait(20))
            raise OSError("the worker is gone")
        return number * number

    with ThreadPoolExecutor(3) as executor:
        results = HandOut(executor, attempts=2, patience=0.05).results(work, range(12))
        assert dict(results) == {number: number * number for number in range(12)}
        assert sorted(tries) == sorted([*range(12), 3])
        assert told == [], "nobody waited for it"
        hangs.set()
    assert told == [True]


def test_of_two_tries_that_fail_the_last_one_counts() -> None:
    tries = list[int]()

    def work(number: int) -> int:
        tries.append(number)
        if number == 1:
            time.sleep(0.3)
            raise OSError(f"failure {tries.count(1)}")
        return number

    with ThreadPoolExecutor(3) as executor, pytest.raises(OSError, match="failure 2") as caught:
        list(HandOut(executor, attempts=2, patience=0.05).results(work, range(4)))
    assert caught.value.__notes__ == ["part 1 failed 2 times"]
    assert tries.count(1) == 2


class Clocked(Fake):
    """Finishes the first call as it comes, after a moment of `clock`, and those of later ones as `late` says."""

    def __init__(self, clock: list[float], late: Callable[[Clocked], None] = lambda executor: None) -> None:
        super().__init__(4)
        self.clock, self.late = clock, late

    def submit(self, function: Callable[..., Any], /, *arguments: Any, **options: Any) -> Future[Any]:
        future = super().submit(function, *arguments, **options)
        if len(self.calls) == 1:
            self.clock[0] += 0.01
            finish(self.calls[0])
        elif len(self.calls) > 2:
            self.late(self)
        return future


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """What the clock of `HandOut` says."""
    now = [100.0]
    monkeypatch.setattr("bbpe.counting.handout.monotonic", lambda: now[0])
    return now


def test_of_two_tries_that_end_together_one_counts(clock: list[float]) -> None:
    def late(executor: Clocked) -> None:
        for call in executor.calls[1:]:
            finish(call)

    executor = Clocked(clock, late)
    results = HandOut(executor, patience=0.001).results(abs, range(2))
    assert next(results) == (0, 0)
    clock[0] += 1
    assert list(results) == [(1, 1)]
    assert len(executor.calls) == 3


@pytest.mark.parametrize(("patience", "after", "calls"), [(0.001, 0.035, 2), (0.001, 0.045, 3), (0.06, 0.045, 2)])
def test_an_item_is_handed_out_again_after_patience_and_four_times_the_longest(
    patience: float, after: float, calls: int, clock: list[float]
) -> None:
    """The longest item that is done took 0.01 s by the clock."""
    executor = Clocked(clock, lambda executor: finish(executor.calls[2]))
    results = HandOut(executor, patience=patience).results(abs, range(2))
    assert next(results) == (0, 0)
    clock[0] += after
    timer = threading.Timer(0.3, lambda: executor.calls[1][1].cancelled() or finish(executor.calls[1]))
    timer.start()
    assert list(results) == [(1, 1)]
    assert len(executor.calls) == calls
    timer.join()


def test_what_another_worker_has_done_is_not_begun(clock: list[float]) -> None:
    """The first try still waits for its worker when the second one ends."""
    executor = Clocked(clock, lambda executor: finish(executor.calls[2]))
    results = HandOut(executor, patience=0.001).results(abs, range(2))
    assert next(results) == (0, 0)
    clock[0] += 1
    assert list(results) == [(1, 1)]
    assert executor.calls[1][1].cancelled()


STARTED: list[str] = []


def begin(word: str) -> None:
    STARTED.append(word)


def killed_once(folder: str, number: int) -> int:
    assert STARTED == ["as asked"]
    mark = Path(folder, str(number))
    if number % 3 == 1 and not mark.exists():
        mark.write_text("")
        os.kill(os.getpid(), KILL)
    return number * number


def test_a_pool_whose_workers_are_killed_is_replaced(tmp_path: Path) -> None:
    from functools import partial

    before = set(active_children())
    with ProcessPoolExecutor(2, get_context("forkserver"), begin, ("as asked",)) as executor:
        hand_out = HandOut(executor, attempts=6)
        found = dict(hand_out.results(partial(killed_once, str(tmp_path)), range(6)))
    assert found == {number: number * number for number in range(6)}
    # the new pool has ended, although somebody still holds it
    assert hand_out._executor is not executor
    assert workers_of(hand_out._executor) == 2
    assert set(active_children()) <= before


@pytest.mark.parametrize("turn", range(5))
def test_of_several_errors_of_threads_that_of_the_earliest_item_is_raised(turn: int) -> None:
    """Whichever thread ends first: a run that fails twice in a row says the same."""
    failed = threading.Event()

    def work(number: int) -> int:
        if number == 3:
            failed.set()
            raise ValueError("item 3")
        if number == 1:
            failed.wait(20)
            time.sleep(0.002 * turn)
            raise ValueError("item 1")
        return number

    with ThreadPoolExecutor(3) as executor:
        with pytest.raises(ValueError, match="item 1"):
            list(HandOut(executor, 3, 1).results(work, range(8)))
        # an error that another attempt may change does not count
        failed.clear()

        def unlucky(number: int) -> int:
            if number == 1:
                failed.wait(20)
                raise OSError("item 1")
            return work(number)

        with pytest.raises(ValueError, match="item 3"):
            list(HandOut(executor, 3, 2).results(unlucky, range(8)))
