"""Hold the end of a text that is read in blocks, until a position is found to cut it."""

from __future__ import annotations

from .sources import Texts


class Pending:
    """The bytes of a text that are not in a chunk yet.

    Without a cut the pending bytes must double before the next search.  From `most` bytes on (0: no limit) every block
    is searched.
    """

    def __init__(self, most: int = 0) -> None:
        self._data: bytes | bytearray | memoryview = b""
        self._most, self._enough = most, 0

    def __len__(self) -> int:
        return len(self._data)

    def add(self, event: Texts) -> bool:
        """Append the next part of the text, and return whether to search for a cut now.

        After a search without a cut the pending bytes must double first, so an endless word takes linear time.
        """
        data, size = event.data, len(self._data)
        if size <= event.headroom and isinstance(data, memoryview):
            # copy the pending bytes into the free space before the block, so that the block is not copied
            whole = memoryview(data.obj)[event.headroom - size : event.headroom + len(data)]
            whole[:size] = self._data
            self._data = whole
        elif not size:
            self._data = data
        else:
            # the buffer can grow in place: no chunk has a view of it
            if not isinstance(self._data, bytearray):
                self._data = bytearray(self._data)
            self._data += data
        return event.last or len(self._data) >= self._enough

    @property
    def data(self) -> bytes | bytearray | memoryview:
        """The pending bytes."""
        return self._data

    def keep(self, cut: int) -> None:
        """Keep only the bytes after the cut."""
        if cut:
            self._data, self._enough = bytes(self._data[cut:]), 0
            return
        self._enough = 2 * len(self._data)
        if self._most and self._enough > self._most:
            self._enough = max(self._most, len(self._data)) + 1
