"""Workers that count parts of a corpus, each into a table of its own: this thread, or several."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from queue import SimpleQueue
from threading import Condition, Thread
from typing import TypeAlias

from .chunks import Rules
from .counts import Summary
from .jobs import Part, PartCounter
from .sources import Reading
from .tally import Lane

#: Parts for each worker at a time, one that is being counted and two that wait; then none until one of these is left.
_EACH, _LEFT = 3, 2
#: Seconds between two looks at whether Ctrl-C was pressed, where the system does not wake a thread that waits.
_LOOK = 0.1

_Task: TypeAlias = Callable[[PartCounter, Lane], Summary]


class Workers:
    """Counts parts in `threads` threads; in this one if that is 1.  A context manager.

    Who is done takes the part that has waited longest: so nobody waits while there is one, and the numbers of the parts
    of each lane rise, as `Lane` needs.  A thread begins when there is a part for it.
    """

    def __init__(self, rules: Rules, reading: Reading, threads: int) -> None:
        self.lanes = [Lane() for _ in range(threads)]
        self._rules, self._reading, self._summary = rules, reading, Summary()
        self._inline = PartCounter(rules, reading) if threads == 1 else None
        self._tasks: SimpleQueue[_Task | None] = SimpleQueue()
        self._changed = Condition()
        self._unfinished, self._awaited = 0, -1  # tasks; how many there may be for who waits to go on
        self._error: BaseException | None = None
        self._stopped = False
        self._begun = 0

    def __enter__(self) -> Workers:
        return self

    def __exit__(self, *error: object) -> None:
        # nobody waits for the parts that are being counted, but for the interpreter when it exits
        self._stopped = True
        for _ in range(self._begun):
            self._tasks.put(None)

    def put(self, number: int, part: Part) -> None:
        """Have a part counted; numbers rise from call to call.  Raises what an earlier part has raised."""
        self._raise()
        self._give(partial(_count, number, part))

    def each(self, work: Callable[[int], None], count: int) -> None:
        """Have `work(0)` to `work(count - 1)` done; returns when they are.  Raises what one of these has raised."""
        for i in range(count):
            self._give(partial(_do, work, i))
        self._wait(0)

    def drain(self) -> Summary:
        """Wait until all parts are counted; returns what was in those since the last call."""
        self._wait(0)
        summary, self._summary = self._summary, Summary()
        return summary

    @property
    def nbytes(self) -> int:
        """Bytes that the tables hold."""
        return sum(lane.table.nbytes for lane in self.lanes)

    def _give(self, task: _Task) -> None:
        if self._inline is not None:
            self._summary += task(self._inline, self.lanes[0])
            return
        if self._unfinished >= _EACH * len(self.lanes):
            self._wait(_LEFT * len(self.lanes))
        with self._changed:
            self._unfinished += 1
        self._tasks.put(task)
        if self._begun < min(self._unfinished, len(self.lanes)):
            self._begun += 1
            Thread(target=self._work, args=(self.lanes[self._begun - 1],)).start()

    def _wait(self, count: int) -> None:
        """Wait until no more tasks than that are unfinished."""
        with self._changed:
            self._awaited = count
            while self._unfinished > count and self._error is None:
                self._changed.wait(_LOOK)
            self._awaited = -1
            self._raise()

    def _raise(self) -> None:
        if self._error is not None:
            raise self._error

    def _work(self, lane: Lane) -> None:
        counter = PartCounter(self._rules, self._reading)
        while (task := self._tasks.get()) is not None and not self._stopped:
            summary, failed = Summary(), None
            try:
                summary = task(counter, lane)
            except BaseException as error:
                failed = error
            with self._changed:
                self._summary += summary
                self._error = self._error or failed
                self._unfinished -= 1
                if self._unfinished <= self._awaited or self._error is not None:
                    self._changed.notify()


def _count(number: int, part: Part, counter: PartCounter, lane: Lane) -> Summary:
    return counter.count(part, lane.begin(number))


def _do(work: Callable[[int], None], i: int, _counter: PartCounter, _lane: Lane) -> Summary:
    work(i)
    return Summary()
