"""A text that is read a block at a time: what is left of the last block until there is a place to cut it."""

from __future__ import annotations

from .sources import Texts


class Pending:
    """The end of a text's last block that stands in no chunk yet, and what came after it.

    `most`: from how many bytes on a cut should be looked for each time, 0: never.
    """

    def __init__(self, most: int = 0) -> None:
        self._data: bytes | bytearray | memoryview = b""
        self._most, self._enough = most, 0

    def __len__(self) -> int:
        return len(self._data)

    def add(self, event: Texts) -> bool:
        """Take the next part of the text; whether a cut should be looked for now.

        Where there was none, what is pending must double first, so that an endless word costs linear time.
        """
        data, size = event.data, len(self._data)
        if size <= event.room and isinstance(data, memoryview):
            # what is left goes where there is room for it, before the block, so that this one stays where it is
            whole = memoryview(data.obj)[event.room - size : event.room + len(data)]
            whole[:size] = self._data
            self._data = whole
        elif not size:
            self._data = data
        else:
            # it grows in its place: nobody looks at it, as none of it stands in a chunk
            if not isinstance(self._data, bytearray):
                self._data = bytearray(self._data)
            self._data += data
        return event.last or len(self._data) >= self._enough

    @property
    def data(self) -> bytes | bytearray | memoryview:
        """What is pending."""
        return self._data

    def keep(self, cut: int) -> None:
        """Go on with what comes after the cut."""
        if cut:
            self._data, self._enough = bytes(self._data[cut:]), 0
            return
        self._enough = 2 * len(self._data)
        if self._most and self._enough > self._most:
            self._enough = max(self._most, len(self._data)) + 1
