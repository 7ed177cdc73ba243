"""Divide texts among threads."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

from ..core.batch import extent
from ..core.encoder import SHORT_TEXT
from ..core.tasks import Tasks
from ..lazy import np, npt
from ..text import Text
from ..threads import run, thread_count

if TYPE_CHECKING:
    from ..core.column import Texts

_T = TypeVar("_T")

#: Text shorter than this, in characters or bytes, is encoded by one thread.
THREAD_WORTH = SHORT_TEXT
#: The largest and the smallest part of a text that is one task; threads idle at the end of larger tasks, and wait for
#: each other between smaller ones.
_CHUNK, _LEAST_CHUNK = 1 << 18, 1 << 17
#: The fewest tasks for each thread, because in a text of many languages some parts take five times as long as others.
_TASKS = 16


def chunk_length(length: int, threads: int | None) -> int:
    """Return the length of a task for a text of some length, so that all threads get equally many tasks."""
    workers = thread_count(threads)
    rounds = max(_TASKS, -(-length // (workers * _CHUNK)))
    return max(_LEAST_CHUNK, -(-length // (workers * rounds)))


class Batch:
    """The lengths of the texts of a batch, in characters or bytes, and the number of threads for them."""

    def __init__(self, texts: Texts, threads: int | None) -> None:
        self._ends = np.empty(len(texts), np.int64)
        self.length, self._most = extent(texts, self._ends)
        self.threads = 1 if threads is None and self.length < THREAD_WORTH else thread_count(threads)

    def marks(self) -> npt.NDArray[np.int64]:
        """Return the number of the first text of each part of the batch, then the number of texts, int64[n + 1]."""
        if self.threads == 1:  # one part for all texts
            return np.array([0, len(self._ends)][: 1 + len(self._ends)])
        chunk = chunk_length(self._most, self.threads)
        marks = np.searchsorted(self._ends, np.arange(chunk, self._most, chunk)) + 1
        marks = np.concatenate([[0], marks, [len(self._ends)]])
        # not numpy.unique, because its first call imports modules for 10 ms
        differ = np.concatenate([[True], marks[1:] > marks[:-1]])
        return np.compress(differ, marks)

    def bounds(self, marks: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """Return the most ids that the texts before each mark can have, int64[n + 1]."""
        return np.concatenate([[0], self._ends[marks[1:] - 1]])

    def each(self, work: Callable[[int, int, int, int], _T]) -> list[_T]:
        """Have threads call `work(start, stop, share, worker)` for parts of the batch; return the results in order."""
        marks = self.marks()
        tasks = Tasks(len(marks) - 1, self.length, self.threads)
        found: dict[int, _T] = {}

        def take(worker: int) -> None:
            while (taken := tasks.take(worker)) is not None:
                start, stop = int(marks[taken.start]), int(marks[taken.stop])
                found[taken.start] = work(start, stop, tasks.share, worker)

        run(tasks, take)
        return [found[part] for part in sorted(found)]


def text_length(text: Text) -> int:
    """Return the number of characters or bytes of a text; `TypeError` unless it is a text."""
    try:
        return len(text)
    except TypeError:
        raise TypeError(f"a text is str or bytes-like, not {type(text).__name__}") from None
