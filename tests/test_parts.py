"""Work that threads share: who takes what, where the ids of parts go, and the threads themselves."""

from __future__ import annotations

import itertools
import os
import random
import signal
import threading
import time
import weakref
from collections.abc import Callable, Iterator

import numpy as np
import numpy.typing as npt
import pytest

from bbpe import parallel
from bbpe.core.id_room import IdRoom
from bbpe.parallel import together
from bbpe.parts import Encoded, Parts, Tasks


class _Early:
    """What one worker has of parts that are early: each part's number, as often as it has ids."""

    def __init__(self, parts: Parts) -> None:
        self.waiting, self._parts = set[Encoded](), parts
        self.ids: list[int] = []

    def copy(self, start: int, count: int, room: IdRoom, to: int) -> None:
        np.frombuffer(room, np.uint32)[to : to + count] = self.ids[start : start + count]

    def add(self, taken: range) -> None:
        ids = [number for number in taken for _ in range(number % 4)]
        if len(self.ids) > 20:
            self._parts.copy(lambda: not self.waiting or self._parts.place(taken) is not None)
        place = self._parts.place(taken)
        if place is None:
            if not self.waiting:
                self.ids.clear()
            self._parts.add(taken, len(ids), self, len(self.ids))
            self.ids += ids
        else:
            np.frombuffer(self._parts.room, np.uint32)[place : place + len(ids)] = ids
            self._parts.add(taken, len(ids))
        self._parts.copy(lambda: True)


def _parts(most: int, count: int, threads: int) -> Parts:
    """So many parts, each with so many ids at most."""
    return Parts(most * np.arange(count + 1), count, threads)


def _fill(parts: Parts, seconds: Callable[[int], float]) -> npt.NDArray[np.uint32]:
    """Have part k write k for k % 4 ids after so many seconds."""

    def work(worker: int) -> None:
        early = _Early(parts)
        while (taken := parts.take(worker)) is not None:
            time.sleep(sum(map(seconds, taken)))
            early.add(taken)
        parts.finish()

    return parts.ids(work)


def test_each_thread_takes_what_stands_together_and_then_what_others_left() -> None:
    tasks = Tasks(100, 100, 3)
    # a third of what is left of its run, 10 to 20
    assert [tasks.take(1) for _ in range(2)] == [range(10, 14), range(14, 17)]
    assert [tasks.take(0) for _ in range(5)] == [range(4), range(4, 6), range(6, 8), range(8, 9), range(9, 10)]
    assert tasks.take(0) == range(31, 32)  # the last of the longest run
    assert [tasks.take(2) for _ in range(4)] == [range(21, 25), range(25, 27), range(27, 29), range(29, 30)]
    assert tasks.take(2) == range(30, 31)
    assert [tasks.take(worker) for worker in (2, 1)] == [range(20, 21), range(17, 18)]
    # two tasks of one thread are left: others go on to the next round, behind the last one
    assert [tasks.take(worker) for worker in (2, 0)] == [range(53, 57), range(32, 36)]
    assert [tasks.take(1) for _ in range(2)] == [range(18, 19), range(19, 20)]
    rest = list(_all_taken(tasks, 3))
    assert sorted(rest) == sorted(set(range(32, 100)) - set(range(53, 57)) - set(range(32, 36)))
    assert [tasks.take(worker) for worker in range(3)] == [None] * 3


def _all_taken(tasks: Tasks, threads: int, stay: int = 1) -> Iterator[int]:
    """What threads take in turn, `stay` times each, until there is nothing left."""
    for turn in itertools.count():
        taken = tasks.take(turn // stay % threads)
        if taken is None:
            return
        yield from taken


@pytest.mark.parametrize("threads", [1, 2, 5])
@pytest.mark.parametrize("failing", [0, 1, 7, 29])
def test_the_error_of_a_part_is_the_one_that_is_raised(failing: int, threads: int) -> None:
    """Others wait for the part that failed, or would for those that were never begun: nobody hangs, or hides it."""

    def seconds(number: int) -> float:
        if number == failing:
            raise MemoryError(f"part {number}")
        return 0.002 * (number % 3)

    with pytest.raises(MemoryError, match=f"part {failing}"):
        _fill(_parts(4, 30, threads), seconds)


@pytest.mark.parametrize("stay", [1, 3, 40])
@pytest.mark.parametrize("count", [0, 1, 3, 4, 33, 34, 65, 1_000])
def test_every_task_is_taken_once(count: int, stay: int) -> None:
    for threads in (1, 2, 3, 64):
        taken = _all_taken(Tasks(count, count, threads), max(1, min(threads, count)), stay)
        assert sorted(taken) == list(range(count))


def test_parts_arrive_in_any_order() -> None:
    rng = random.Random(97)
    waits = [rng.random() / 500 for _ in range(200)]
    expected = [number for number in range(200) for _ in range(number % 4)]
    for threads in (1, 2, 5, 64):
        assert _fill(_parts(3, 200, threads), waits.__getitem__).tolist() == expected
    assert _fill(_parts(3, 0, 2), waits.__getitem__).tolist() == []


def test_what_interrupts_the_calling_thread_ends_the_others() -> None:
    caller = threading.get_ident()
    parts = _parts(4, 1_000, 3)

    def seconds(number: int) -> float:
        if number > 10 and threading.get_ident() == caller:
            raise KeyboardInterrupt
        return 0.001

    with pytest.raises(KeyboardInterrupt):
        _fill(parts, seconds)
    assert parts.take(0) is None


def test_ctrl_c_while_the_others_are_waited_for() -> None:
    """It is raised, and not before they have ended."""
    parts, ended = _parts(1, 3, 3), []

    def work(worker: int) -> None:
        if worker == 0:
            return
        time.sleep(0.05)
        if worker == 2:  # which has not ended by then, however busy the machine is
            os.kill(os.getpid(), signal.SIGINT)
        time.sleep(0.5 / worker)
        ended.append(worker)

    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs ignore it
    try:
        with pytest.raises(KeyboardInterrupt):
            parts.ids(work)
    finally:
        signal.signal(signal.SIGINT, before)
    assert sorted(ended) == [1, 2]
    assert parts.take(0) is None


def test_threads_wait_for_the_next_call_and_no_more_than_there_are_cores() -> None:
    first = sorted(_idents(2))
    assert sorted(_idents(2)) == first
    assert len(set(_idents(64))) == 64
    assert len(parallel._IDLE) == parallel.thread_count(None)


def test_a_thread_keeps_nothing_of_what_it_has_done() -> None:
    class Kept:
        def work(self, number: int) -> None:
            pass

    kept = Kept()
    gone = weakref.ref(kept)
    together(kept.work, 2, print)
    del kept
    assert gone() is None


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_no_thread_waits_where_a_process_forks() -> None:
    """Python warns of those that are there, and a warning is an error here; the child has threads of its own."""
    together(lambda number: None, 3, print)
    child = os.fork()
    if child == 0:
        found: list[int] = []
        together(found.append, 3, print)
        os._exit(0 if sorted(found) == [0, 1, 2] else 1)
    assert not parallel._IDLE
    assert os.waitpid(child, 0)[1] == 0
    assert len(set(_idents(3))) == 3


def _idents(threads: int) -> list[int]:
    """The threads that work together."""
    found: list[int] = []
    together(lambda number: found.append(threading.get_ident()), threads, print)
    return found
