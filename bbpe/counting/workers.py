"""Workers that count parts of a corpus, each into a table of its own: this thread, and others beside it."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from queue import Empty, SimpleQueue
from threading import Condition, Thread
from typing import TypeAlias

from ..corpus.chunks import ChunkOptions
from ..corpus.sources import Reading
from .corpus_parts import Part, PartCounter
from .counts import Summary
from .spill import WorkerTable

#: Parts that wait for each of the other threads before this one counts a part itself.
_WAITING = 2
#: Seconds between two looks at whether Ctrl-C was pressed, where the system does not wake a thread that waits.
_LOOK = 0.1

_Task: TypeAlias = Callable[[PartCounter, WorkerTable], Summary]


class Workers:
    """Counts parts in `threads` threads, of which this one is the first.  A context manager.

    Idle workers take the oldest queued part: so nobody waits while there is one, and the numbers of the parts of each
    table rise, as `WorkerTable` needs.  This thread counts when enough parts wait for the others, for one that only
    hands out parts would want a core now and then.  Another thread begins when there is a part for it, as long as the
    system has more of them.
    """

    def __init__(self, rules: ChunkOptions, reading: Reading, threads: int) -> None:
        self.lanes = [WorkerTable() for _ in range(threads)]
        self._rules, self._reading, self._summary = rules, reading, Summary()
        self._counter = PartCounter(rules, reading)
        self._tasks: SimpleQueue[_Task | None] = SimpleQueue()
        self._changed = Condition()
        self._unfinished = 0
        self._error: BaseException | None = None
        self._stopped = False
        self._threads: list[Thread] = []
        self._others = threads - 1

    def __enter__(self) -> Workers:
        return self

    def __exit__(self, *error: object) -> None:
        self._stopped = True
        for _ in self._threads:
            self._tasks.put(None)
        # each counts the part that it has to its end, which is a moment
        for thread in self._threads:
            thread.join()

    def put(self, number: int, part: Part) -> None:
        """Have a part counted; numbers rise from call to call.  Raises what an earlier part has raised."""
        self._give(partial(_count, number, part))

    def each(self, work: Callable[[int], None], count: int) -> None:
        """Have `work(0)` to `work(count - 1)` done; returns when they are.  Raises what one of these has raised."""
        for i in range(count):
            self._give(partial(_do, work, i))
        self._finish()

    def drain(self) -> Summary:
        """Wait until all parts are counted; returns what was in those since the last call."""
        self._finish()
        summary, self._summary = self._summary, Summary()
        return summary

    @property
    def nbytes(self) -> int:
        """Bytes that the tables hold."""
        return sum(lane.table.nbytes for lane in self.lanes)

    def _give(self, task: _Task) -> None:
        with self._changed:
            self._raise()
            self._unfinished += 1
        self._tasks.put(task)
        if len(self._threads) < min(self._tasks.qsize(), self._others):
            self._begin()
        while self._tasks.qsize() > _WAITING * self._others and self._help():
            pass

    def _begin(self) -> None:
        """Begin another thread, or know that there is none."""
        thread = Thread(target=self._work, args=(self.lanes[len(self._threads) + 1],))
        try:
            thread.start()
            self._threads.append(thread)
        except RuntimeError:
            self._others = len(self._threads)

    def _help(self) -> bool:
        """Do the task that has waited longest in this thread; whether there was one."""
        try:
            task = self._tasks.get_nowait()
        except Empty:
            return False
        assert task is not None
        self._do(task, self._counter, self.lanes[0])
        with self._changed:
            self._raise()
        return True

    def _finish(self) -> None:
        """Do what is left, and wait until the others are done."""
        while self._help():
            pass
        with self._changed:
            while self._unfinished and self._error is None:
                self._changed.wait(_LOOK)
            self._raise()

    def _raise(self) -> None:
        if self._error is not None:
            raise self._error

    def _work(self, lane: WorkerTable) -> None:
        counter: PartCounter | None = None
        while (task := self._tasks.get()) is not None and not self._stopped:
            counter = self._do(task, counter, lane)

    def _do(self, task: _Task, counter: PartCounter | None, lane: WorkerTable) -> PartCounter | None:
        """Do a task, and keep what it raises: whatever that is, for want of memory too, the task counts as done."""
        try:
            counter = counter or PartCounter(self._rules, self._reading)
            summary = task(counter, lane)
            with self._changed:
                self._summary += summary
        except BaseException as error:
            self._error = self._error or error
        finally:
            with self._changed:
                self._unfinished -= 1
                self._changed.notify()
        return counter


def _count(number: int, part: Part, counter: PartCounter, lane: WorkerTable) -> Summary:
    return counter.count(part, lane.begin(number))


def _do(work: Callable[[int], None], i: int, _counter: PartCounter, _lane: WorkerTable) -> Summary:
    work(i)
    return Summary()
