"""Work for threads, in tasks that they take one by one, and the ids of such tasks one behind another."""

from __future__ import annotations

from collections.abc import Callable
from threading import Condition

import numpy as np
import numpy.typing as npt

from .core.id_room import IdRoom
from .parallel import together


class Tasks:
    """Tasks 0 to `count`, on texts of `length` characters or bytes together, which threads take one by one."""

    def __init__(self, count: int, length: int, threads: int) -> None:
        #: how much of the texts each thread is going to have
        self.share = length // threads
        self._count, self._threads = count, min(threads, count)
        self._taken = 0
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

    def take(self) -> int | None:
        """Return the number of a task that nobody has taken, or None."""
        with self._changed:
            if self._taken == self._count or self._error is not None:
                return None
            self._taken += 1
            return self._taken - 1

    def _fail(self, error: BaseException) -> None:
        with self._changed:
            self._error = self._error or error
            self._changed.notify_all()


class Parts(Tasks):
    """Tasks that each encode a part of the texts, and room for `most` ids of all of them."""

    def __init__(self, count: int, length: int, most: int, threads: int) -> None:
        super().__init__(count, length, threads)
        self.room = IdRoom(most)
        self._turn = self._end = 0

    def ids(self, work: Callable[[int], None]) -> npt.NDArray[np.uint32]:
        """Run `work`, which finds a place for each part, and return the ids of all of them."""
        self.run(work)
        return self.room.taken(self._end)

    def place(self, number: int, count: int, waits: bool) -> int | None:
        """Return where `count` ids of a part go.

        While parts before it have no place, and for good after an error, None; or, if it `waits`, only after an error.
        """
        with self._changed:
            if waits:
                self._changed.wait_for(lambda: self._turn == number or self._error is not None)
            if self._turn != number or self._error is not None:
                return None
            start = self._end
            self._end += count
            self._turn += 1
            self._changed.notify_all()
            return start
