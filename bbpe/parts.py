"""Work for threads, in tasks that they take, and the ids of such tasks one behind another."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from threading import Condition
from typing import Protocol

import numpy as np
import numpy.typing as npt

from .core.id_room import IdRoom
from .parallel import together

#: Tasks of a round, and ids that those of a round may have: ids of the last tasks wait for the first ones.
_ROUND, _ROUND_IDS = 32, 1 << 25
#: A thread begins the next round when no other one has more left than such a part of what it has a round.
_LAG = 3
#: The part of its run that a thread takes at once: taking costs some 10 us, and with what is taken nobody can help.
_TAKEN = 3


class Tasks:
    """Tasks 0 to `count`, on texts of `length` characters or bytes together, which threads take.

    They are taken in rounds, of which each thread has a run of its own: what stands close together is alike, so no
    thread's caches need what those of others have. When each took the next task of all, two threads took 19.8, not
    14.4 ms for 8 MB of many languages. A thread takes several at once, and fewer towards the end of its run. Who has
    none left goes on to the next round while no other thread is far behind, and else takes the last one of the longest
    run, which its caches do not know.
    """

    def __init__(self, count: int, length: int, threads: int) -> None:
        #: how much of the texts each thread is going to have
        self.share = length // threads
        self._count, self._threads = count, max(1, min(threads, count))
        self._round = max(_ROUND, 2 * self._threads)
        self._runs, self._begun = [deque[range]() for _ in range(self._threads)], 0
        self._error: BaseException | None = None
        self._changed = Condition()

    def run(self, work: Callable[[int], None]) -> None:
        """Have `work(0)` done by this thread and `work(1)`, ... by others; each takes tasks until there are none.

        The first error ends all of them and is raised.
        """

        def attempt(worker: int) -> None:
            try:
                work(worker)
            except BaseException as error:
                self._fail(error)

        together(attempt, self._threads, self._fail)
        if self._error is not None:
            raise self._error

    def take(self, worker: int) -> range | None:
        """Return the numbers of tasks that nobody has taken, one behind another, or None."""
        with self._changed:
            if self._error is not None:
                return None
            own = self._runs[worker]
            if not own and max(map(_left, self._runs)) <= self._round // (_LAG * self._threads):
                self._begin_round()
            if own:
                run = own.popleft()
                count = -(-len(run) // _TAKEN) if self._threads > 1 else len(run)
                if run[count:]:
                    own.appendleft(run[count:])
                return run[:count]
            longest = max(self._runs, key=_left)
            if not longest:
                return None
            run = longest.pop()
            if run[:-1]:
                longest.append(run[:-1])
            return run[-1:]

    def _begin_round(self) -> None:
        first, count = self._begun, min(self._round, self._count - self._begun)
        marks = [first + count * worker // self._threads for worker in range(self._threads + 1)]
        for run, (start, end) in zip(self._runs, pairwise(marks), strict=True):
            if start < end:
                run.append(range(start, end))
        self._begun = first + count

    def _fail(self, error: BaseException) -> None:
        with self._changed:
            self._error = self._error or error
            self._changed.notify_all()


def _left(runs: deque[range]) -> int:
    """Return how many tasks a thread has not yet taken."""
    return sum(map(len, runs))


class IdSource(Protocol):
    """Memory with ids of parts that wait for their places."""

    #: what waits there
    waiting: set[Encoded]

    def copy(self, start: int, count: int, room: IdRoom, to: int) -> None:
        """Copy the ids from `start` on to their place."""


@dataclass(frozen=True, slots=True, eq=False)
class Encoded:
    """The ids of parts: how many they are, and where they wait unless they are in their place; the part behind them."""

    stop: int
    count: int
    source: IdSource | None
    start: int


class Parts(Tasks):
    """Tasks that each encode a part of the texts to so many ids at most, and room for the ids of all of them.

    The ids of parts that were taken together go to their place at once if all parts before them have theirs by then;
    others wait in the memory of their thread, and are copied by whichever has nothing better to do.
    """

    def __init__(self, bounds: npt.NDArray[np.int64], length: int, threads: int) -> None:
        super().__init__(len(bounds) - 1, length, threads)
        #: how many ids the parts before each one have at most, and how many all of them: int64[n + 1]
        self.bounds = bounds
        self.room = IdRoom(int(bounds[-1]))
        average = max(1, int(bounds[-1]) // max(1, self._count))
        self._round = max(2 * self._threads, min(_ROUND, _ROUND_IDS // average))
        #: for how many ids a thread has memory where they wait: those of about a run
        self.most_waiting = average * -(-self._round // self._threads)
        self._encoded: dict[int, Encoded] = {}
        self._copies = deque[tuple[Encoded, IdSource, int]]()
        self._turn = self._end = 0

    def ids(self, work: Callable[[int], None]) -> npt.NDArray[np.uint32]:
        """Run `work`, which encodes the parts, and return the ids of all of them."""
        try:
            self.run(work)
        finally:  # an error leaves some, and memory that nobody asks for any more
            self._encoded.clear()
            self._copies.clear()
        return self.room.taken(self._end)

    def place(self, parts: range) -> int | None:
        """Return where the ids of parts go; None while others before them have no place."""
        with self._changed:
            return self._end if self._turn == parts.start else None

    def add(self, parts: range, count: int, source: IdSource | None = None, start: int = 0) -> None:
        """Take note that parts have `count` ids: in their place, or from `start` on in a source, where they wait."""
        with self._changed:
            self._encoded[parts.start] = Encoded(parts.stop, count, source, start)
            if source is not None:
                source.waiting.add(self._encoded[parts.start])
            while (encoded := self._encoded.pop(self._turn, None)) is not None:
                if encoded.source is not None:
                    self._copies.append((encoded, encoded.source, self._end))
                self._end += encoded.count
                self._turn = encoded.stop
            self._changed.notify_all()

    def copy(self, until: Callable[[], bool]) -> None:
        """Copy ids that wait and have a place, of any thread, and wait for more of them until that is true.

        Raises `RuntimeError` once any thread has failed.
        """
        while (found := self._next_copy(until)) is not None:
            part, source, to = found
            try:
                source.copy(part.start, part.count, self.room, to)
            finally:
                with self._changed:
                    source.waiting.discard(part)
                    self._changed.notify_all()

    def waiting(self, source: IdSource) -> list[tuple[int, int]]:
        """Return where in a source ids wait, from the first place to the last."""
        with self._changed:
            return sorted((part.start, part.start + part.count) for part in source.waiting)

    def finish(self) -> None:
        """Copy ids until all parts have their place."""
        self.copy(lambda: self._turn == self._count)

    def _next_copy(self, until: Callable[[], bool]) -> tuple[Encoded, IdSource, int] | None:
        with self._changed:
            self._changed.wait_for(lambda: self._copies or self._error is not None or until())
            if self._error is not None:
                raise RuntimeError("another thread has failed")
            return self._copies.popleft() if self._copies else None
