"""A file of a corpus, open for its decompressed bytes, and watched: it must stay as large as it was."""

from __future__ import annotations

import io
import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import BinaryIO, cast

from ..errors import CorpusError
from .compressed import BROKEN, COMPRESSIONS, failure, naming
from .kinds import File

_BUFFER = 1 << 20


@dataclass(frozen=True, slots=True)
class Opened:
    """`stream` has the decompressed bytes of `raw`, the file as it lies on the disk."""

    file: File
    raw: BinaryIO
    stream: BinaryIO

    def position(self) -> int:
        """Return how far in the file itself it is; 0 where that is not known."""
        return self.raw.tell() if self.raw.seekable() else 0

    def check_size(self) -> None:
        """Check that the file is as large as it was; `CorpusError` naming both sizes when it is not."""
        if self.file.size is None:
            return
        size = os.fstat(self.raw.fileno()).st_size
        if size != self.file.size:
            raise CorpusError(
                f"{self.file.path}: its size changed from {self.file.size} to {size} bytes while it was read; "
                "expected a file that nobody writes to: copy it first, or wait until it is complete"
            )

    def check_place(self) -> None:
        """Check the size when more was read than there was: a file may grow faster than it is read."""
        if self.file.size is not None and self.position() > self.file.size:
            self.check_size()

    def failure(self, error: Exception) -> Exception:
        """Return what to raise for an error of `BROKEN`; `CorpusError` when the size has changed."""
        self.check_size()
        return failure(self.file.path, error)

    def line(self, most: int) -> bytes:
        """Read a line, or the first bytes of one that is longer than `most`, unless that is 0."""
        try:
            return self.stream.readline(most + 1 if most else -1)
        except BROKEN as error:
            raise self.failure(error) from error

    def fill(self, view: memoryview) -> int:
        """Read into a buffer; returns how many bytes, fewer than it has only at the end."""
        filled = 0
        try:
            while filled < len(view) and (more := cast(io.RawIOBase, self.stream).readinto(view[filled:])):
                filled += more
        except BROKEN as error:
            raise self.failure(error) from error
        return filled


@contextmanager
def opened(file: File, limit: int = 0, *, buffered: bool = False) -> Iterator[Opened]:
    """Open a file; `limit`: see `compressed`.  `buffered`: lines or small pieces of it will be read."""
    decompress = COMPRESSIONS.get(file.path.suffix.lower())
    with ExitStack() as stack, naming(file.path):
        raw: BinaryIO = stack.enter_context(file.path.open("rb", buffering=0 if decompress is None else -1))
        stream = raw if decompress is None else stack.enter_context(decompress(raw, limit))
        if decompress is None and buffered:
            stream = cast(BinaryIO, io.BufferedReader(cast(io.RawIOBase, raw), _BUFFER))
        yield Opened(file, raw, stream)
