"""Results of threads, one behind another in the order of their parts."""

from __future__ import annotations

from threading import Condition

import numpy as np
import numpy.typing as npt

from .core.id_room import IdRoom


class Parts:
    """Room for at most so many ids, which parts of a work fill in turn, whichever of `threads` has which."""

    def __init__(self, most: int, threads: int) -> None:
        self.room = IdRoom(most)
        self.threads = threads
        self._end = self._turn = 0
        self._failed = 1 << 62  # the first part that has
        self._changed = Condition()

    def place(self, number: int, count: int) -> int:
        """Wait for the parts before `number`, and return where `count` ids of this one go.

        Raises `RuntimeError` when one of these has failed.
        """
        with self._changed:
            self._changed.wait_for(lambda: self._turn == number or self._failed < number)
            if self._turn != number:
                raise RuntimeError("an earlier part of this work failed")
            start = self._end
            self._end += count
            self._turn += 1
            self._changed.notify_all()
            return start

    def fail(self, number: int) -> None:
        """Let nobody wait for a part that will not come; the parts before it do not, and so go on."""
        with self._changed:
            self._failed = min(self._failed, number)
            self._changed.notify_all()

    def taken(self) -> npt.NDArray[np.uint32]:
        """Return the ids of all parts and give back the rest of the room."""
        return self.room.taken(self._end)
