"""Counting equal texts once: which texts of a corpus were seen before.

One process sees all texts in the order of the corpus, so the first of equal ones is always the same, whatever counts
the texts afterwards: threads or an executor.  A text is known by a digest of 16 bytes (csrc/count/seen.h), and the
digests are in memory.

A checkpoint holds no digests, as another process has other keys for them.  A count that goes on reads the corpus from
its beginning, and passes over the chunks that are counted.
"""

from __future__ import annotations

from collections.abc import Callable

from ..budget import shown
from ..core.seen import Digester, SeenTexts
from ..errors import CorpusError, MemoryLimitError
from ..lazy import np, npt
from ..text import Buffer, counted
from .files import File
from .sources import Int64s, Reading, Texts


class Unique:
    """The texts that were seen so far.  They may take `room` bytes of memory, 0 for no limit.

    `digest` returns the digest of a source that is one text, even if only a part of it is in memory.

    >>> import numpy as np
    >>> unique = Unique()
    >>> unique.new(b"abcab", np.array([2, 3, 5])).tolist()
    [0, 1]
    >>> unique.new(b"ab", np.array([2])).tolist()
    []
    """

    def __init__(self, digest: Callable[[int], Digester] | None = None) -> None:
        self._seen, self._digest = SeenTexts(), digest
        self.room = 0

    @property
    def nbytes(self) -> int:
        """The bytes of memory that the digests take."""
        return self._seen.nbytes

    def new(self, data: Buffer, ends: Int64s) -> npt.NDArray[np.int64]:
        """Return the numbers of the texts in `data` that were not seen before, and remember all of them."""
        self._check(len(ends))
        return np.frombuffer(self._seen.new(data, np.ascontiguousarray(ends, np.int64)), np.int64)

    def is_new(self, source: int, event: Texts) -> bool:
        """Return whether the text that a source is was not seen before; `event` is its first block, or all of it."""
        self._check(1)
        if event.last or self._digest is None:
            text = Digester()
            text.update(np.frombuffer(event.data, np.uint8))
        else:
            text = self._digest(source)
        return self._seen.add(text)

    def _check(self, more: int) -> None:
        need = self._seen.need(more)
        if 0 < self.room < need:
            raise MemoryLimitError(
                f"Counting.unique is True: the digests of {counted(len(self._seen) + more, 'different document')} need "
                f"{shown(need)}, and max_memory leaves {shown(self.room)} for them; give a larger max_memory, or "
                "unique=False"
            )


def digest_of_file(reading: Reading, file: File) -> Digester:
    """Return the digest of a file that is one text, by reading it once more.  Raises `CorpusError` on a pipe."""
    if file.size is None:
        raise CorpusError(
            f"{file.path}: unique=True reads a large file twice, and a pipe or a device can be read only once; give "
            "files, or document='line'"
        )
    text = Digester()
    for event in reading.texts(file):
        text.update(np.frombuffer(event.data, np.uint8))
    return text
