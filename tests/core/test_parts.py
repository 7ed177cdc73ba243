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
from contextlib import contextmanager

import numpy as np
import numpy.typing as npt
import pytest
from test_lent import in_process

import bbpe
from bbpe import threads
from bbpe.core import helper
from bbpe.core.encoder import Encoder
from bbpe.core.parts import Parts
from bbpe.core.tasks import Tasks
from bbpe.threads import run, run_threads


class _Text:
    """A text in parts, of which some have many ids and others few, and what encodes it."""

    def __init__(self, tok: bbpe.Tokenizer, parts: int) -> None:
        rng = random.Random(97)
        self.encoder: Encoder = tok._parts.encoder.encoder
        rows = ["".join(rng.choices(("ab ", "中é", " the"), k=rng.choice((0, 1, 300)))) + "\n\n" for _ in range(parts)]
        self.text = "".join(rows)
        # where it may be cut anyhow
        self.cuts = self.encoder.cuts(self.text, max(1, len(self.text) // parts))
        self.count = len(self.cuts) - 1
        self.ids = tok.encode(self.text)

    def parts(self, threads: int) -> Parts:
        return Parts(self.cuts, len(self.text), threads, 3)

    def encode(self, threads: int, before: Callable[[int], None]) -> npt.NDArray[np.uint32]:
        """Have each worker do something before it takes any part."""
        parts = self.parts(threads)

        def work(worker: int) -> None:
            before(worker)
            self.encoder.encode_parts(self.text, self.cuts, parts, worker)

        run(parts.tasks, work)
        return parts.taken()


@pytest.fixture
def text_of(tok_of: Callable[[str], bbpe.Tokenizer]) -> Callable[[int], _Text]:
    """`text_of(9)`: a text in about so many parts."""
    return lambda parts: _Text(tok_of("gpt2"), parts)


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
def test_the_error_of_a_task_is_the_one_that_is_raised(failing: int, threads: int) -> None:
    tasks = Tasks(30, 30, threads)

    def work(worker: int) -> None:
        while (taken := tasks.take(worker)) is not None:
            for number in taken:
                if number == failing:
                    raise MemoryError(f"task {number}")
                time.sleep(0.002 * (number % 3))

    with pytest.raises(MemoryError, match=f"task {failing}"):
        run(tasks, work)
    assert tasks.take(0) is None


@pytest.mark.parametrize("threads", [2, 5])
def test_nobody_waits_for_parts_of_a_thread_that_has_failed(threads: int, text_of: Callable[[int], _Text]) -> None:
    text = text_of(40)
    for failing in range(threads):
        parts, has_taken = text.parts(threads), threading.Event()

        def work(
            worker: int, parts: Parts = parts, failing: int = failing, has_taken: threading.Event = has_taken
        ) -> None:
            if worker == failing:
                assert parts.tasks.take(worker) is not None
                has_taken.set()
                time.sleep(0.05)  # others come to their end meanwhile
                raise MemoryError("taken, and not done")
            has_taken.wait()
            text.encoder.encode_parts(text.text, text.cuts, parts, worker)

        with pytest.raises(MemoryError, match="taken, and not done"):
            run(parts.tasks, work)


@pytest.mark.parametrize("stay", [1, 3, 40])
@pytest.mark.parametrize("count", [0, 1, 3, 4, 33, 34, 65, 1_000])
def test_every_task_is_taken_once(count: int, stay: int) -> None:
    for workers in (1, 2, 3, 64):
        taken = _all_taken(Tasks(count, count, workers), max(1, min(workers, count)), stay)
        assert sorted(taken) == list(range(count))


@pytest.mark.parametrize("parts", [1, 2, 33, 200])
def test_parts_arrive_in_any_order(parts: int, text_of: Callable[[int], _Text]) -> None:
    text, rng = text_of(parts), random.Random(98)
    waits = [rng.random() / 500 for _ in range(64)]
    for workers in (1, 2, 5, 64):
        assert text.encode(workers, lambda worker: time.sleep(waits[worker])).tolist() == text.ids
        # all that the other threads have waits for the first part
        assert text.encode(workers, lambda worker: time.sleep(0.02 * (worker == 0))).tolist() == text.ids


def test_no_parts() -> None:
    parts = Parts(np.zeros(1, np.int64), 0, 3)
    assert parts.tasks.threads == 1
    assert parts.tasks.take(0) is None
    assert parts.taken().tolist() == []


def test_what_has_no_such_worker_or_threads(text_of: Callable[[int], _Text]) -> None:
    text = text_of(9)
    with pytest.raises(IndexError, match="worker 2 of 2"):
        Tasks(3, 3, 2).take(2)
    with pytest.raises(IndexError, match="worker 2 of 2"):
        text.encoder.encode_parts(text.text, text.cuts, text.parts(2), 2)
    with pytest.raises(ValueError, match="bounds is empty"):
        Parts(np.zeros(0, np.int64), 0, 1)
    with pytest.raises(ValueError, match="threads is 0; expected at least 1"):
        Tasks(3, 3, 0)


def test_what_interrupts_the_calling_thread_ends_the_others() -> None:
    caller = threading.get_ident()
    tasks = Tasks(1_000, 1_000, 3)

    def work(worker: int) -> None:
        while (taken := tasks.take(worker)) is not None:
            if taken.start > 10 and threading.get_ident() == caller:
                raise KeyboardInterrupt
            time.sleep(0.001)

    with pytest.raises(KeyboardInterrupt):
        run(tasks, work)
    assert tasks.take(0) is None


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="needs POSIX signals")
def test_signals_are_heard_between_parts(tok_of: Callable[[str], bbpe.Tokenizer]) -> None:
    """Encoding takes 5 ms and more, and is all C; the handler finds parts that nobody has taken."""
    text = "ab cd\n" * 3_000_000
    encoder = tok_of("gpt2")._parts.encoder.encoder
    cuts = encoder.cuts(text, len(text) // 500)
    parts, left = Parts(cuts, len(text), 2), list[range]()

    def hear() -> None:
        while (taken := parts.tasks.take(1)) is not None:
            left.append(taken)
        parts.tasks.stop()

    # a processor's time is measured in steps of 4 ms, in which all may be done
    with _alarm(hear, 0.002, signal.ITIMER_REAL):
        encoder.encode_parts(text, cuts, parts, 0)
    assert left


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="needs POSIX signals")
@pytest.mark.parametrize("method", ["lists", "rows", "counts"])
def test_signals_are_heard_between_texts(method: str, tok_of: Callable[[str], bbpe.Tokenizer]) -> None:
    texts: list[str | bytes] = ["ab cd\n" * 1_000] * 40_000
    encode = getattr(tok_of("gpt2")._parts.encoder, method)
    encode(texts[:2], threads=1)  # the first call takes longer than the alarm on a slow machine
    # others may keep the processor for longer than that
    with _alarm(texts.clear, 0.02, signal.ITIMER_PROF), pytest.raises(RuntimeError, match="of a batch is gone"):
        encode(texts, threads=1)


@contextmanager
def _alarm(hear: Callable[[], None], seconds: float, clock: int) -> Iterator[None]:
    """Have that called by a signal after so many seconds of a clock."""
    number = signal.SIGPROF if clock == signal.ITIMER_PROF else signal.SIGALRM
    before = signal.signal(number, lambda *_: hear())
    try:
        signal.setitimer(clock, seconds)
        yield
    finally:
        signal.setitimer(clock, 0)
        signal.signal(number, before)


def test_ctrl_c_while_the_others_are_waited_for() -> None:
    """It is raised, and not before they have ended."""
    tasks, ended = Tasks(3, 3, 3), []

    def work(worker: int) -> None:
        if worker == 0:
            return
        time.sleep(0.05)
        if worker == 2:  # which has not ended by then, however busy the machine is
            signal.raise_signal(signal.SIGINT)
        time.sleep(0.5 / worker)
        ended.append(worker)

    with _interrupts(), pytest.raises(KeyboardInterrupt):
        run(tasks, work)
    assert sorted(ended) == [1, 2]
    assert tasks.take(0) is None


@contextmanager
def _interrupts() -> Iterator[None]:
    """SIGINT raises KeyboardInterrupt, which a shell's background jobs ignore."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def test_threads_wait_for_the_next_call_and_no_more_than_there_are_cores() -> None:
    first = sorted(_idents(2))
    assert sorted(_idents(2)) == first
    assert len(set(_idents(64))) == 64
    assert len(helper._IDLE) == threads.thread_count(None)


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="needs affinities")
def test_threads_that_work_together_run_where_the_caller_may() -> None:
    """Those too that another caller has left."""
    allowed = os.sched_getaffinity(0)
    try:
        for cpus in (allowed, {min(allowed)}, {max(allowed)}, allowed):
            os.sched_setaffinity(0, cpus)
            masks: list[set[int]] = []
            run_threads(lambda number, masks=masks: masks.append(os.sched_getaffinity(0)), 4, print)  # type: ignore[misc]
            assert masks == [cpus] * 4
    finally:
        os.sched_setaffinity(0, allowed)


def test_a_thread_keeps_nothing_of_what_it_has_done() -> None:
    class Kept:
        def work(self, number: int) -> None:
            pass

    kept = Kept()
    gone = weakref.ref(kept)
    run_threads(kept.work, 2, print)
    del kept
    assert gone() is None


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_no_thread_waits_where_a_process_forks() -> None:
    """Python warns of all threads, so pyarrow, which has one, is not imported; the child has threads of its own."""
    code = """
import os, threading, warnings
warnings.simplefilter("error")
from bbpe.core import helper
from bbpe.threads import run_threads

def work(found):
    run_threads(lambda number: found.append(threading.get_ident()), 3, print)
    return len(set(found)) == 3 and len(helper._IDLE) == 2

assert work([])
child = os.fork()
if child == 0:
    os._exit(0 if work([]) else 1)
assert not helper._IDLE
assert os.waitpid(child, 0)[1] == 0
assert work([])
print("none")
"""
    assert in_process(code) == "none\n"


def _idents(threads: int) -> list[int]:
    """The threads that work together."""
    found: list[int] = []
    run_threads(lambda number: found.append(threading.get_ident()), threads, print)
    return found
