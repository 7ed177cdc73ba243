"""Workers that count parts of a corpus, each into a table of its own: this thread, or several."""

from __future__ import annotations

from dataclasses import dataclass, field
from queue import SimpleQueue
from threading import Condition, Thread

from .chunks import Rules
from .counts import Summary
from .jobs import Part, PartCounter
from .sources import Reading
from .tally import Lane

#: Parts that a worker has at most: one that it counts, and one that waits.
_EACH = 2
#: Seconds between two looks at whether Ctrl-C was pressed, where the system does not wake a thread that waits.
_LOOK = 0.1


class Workers:
    """Counts parts in `threads` threads; in this one if that is 1.  A context manager.

    A part goes to the lane with the least to do, and lanes take theirs in order: so the numbers of the parts of
    each lane rise, as `Lane` needs.
    """

    def __init__(self, rules: Rules, reading: Reading, threads: int) -> None:
        self.lanes = [Lane() for _ in range(threads)]
        self._rules, self._reading, self._summary = rules, reading, Summary()
        self._inline = PartCounter(rules, reading) if threads == 1 else None
        self._changed = Condition()
        self._error: BaseException | None = None
        self._queues = [_Queue(lane) for lane in self.lanes] if threads > 1 else []
        for queue in self._queues:
            Thread(target=self._work, args=(queue,)).start()

    def __enter__(self) -> Workers:
        return self

    def __exit__(self, *error: object) -> None:
        # nobody waits for the parts that are being counted, but for the interpreter when it exits
        for queue in self._queues:
            queue.stopped = True
            queue.items.put(None)

    def put(self, number: int, part: Part) -> None:
        """Have a part counted; numbers rise from call to call.  Raises what an earlier part has raised."""
        if self._inline is not None:
            lane = self.lanes[0]
            self._summary += self._inline.count(part, lane.begin(number))
            return
        with self._changed:
            least = min(self._queues, key=lambda queue: queue.waiting)
            while least.waiting >= _EACH and self._error is None:
                self._changed.wait(_LOOK)
                least = min(self._queues, key=lambda queue: queue.waiting)
            self._raise()
            least.waiting += 1
        least.items.put((number, part))

    def drain(self) -> Summary:
        """Wait until all parts are counted; returns what was in those since the last call."""
        with self._changed:
            while any(queue.waiting for queue in self._queues) and self._error is None:
                self._changed.wait(_LOOK)
            self._raise()
            summary, self._summary = self._summary, Summary()
            return summary

    @property
    def nbytes(self) -> int:
        """Bytes that the tables hold."""
        return sum(lane.table.nbytes for lane in self.lanes)

    def _raise(self) -> None:
        if self._error is not None:
            raise self._error

    def _work(self, queue: _Queue) -> None:
        counter = PartCounter(self._rules, self._reading)
        while (item := queue.items.get()) is not None and not queue.stopped:
            number, part = item
            summary, failed = Summary(), None
            try:
                summary = counter.count(part, queue.lane.begin(number))
            except BaseException as error:
                failed = error
            with self._changed:
                self._summary += summary
                self._error = self._error or failed
                queue.waiting -= 1
                self._changed.notify_all()


@dataclass(eq=False)
class _Queue:
    """The parts that one worker has to count."""

    lane: Lane
    items: SimpleQueue[tuple[int, Part] | None] = field(default_factory=SimpleQueue)
    waiting: int = 0
    stopped: bool = False
