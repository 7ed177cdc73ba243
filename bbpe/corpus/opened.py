"""Open a corpus file for its decompressed bytes, and check that its size does not change meanwhile."""

from __future__ import annotations

import io
import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import BinaryIO, cast

from ..core.rows import Block
from ..errors import CorpusError
from ..lazy import hashlib
from ..records import dataclass
from .compressed import BROKEN, COMPRESSIONS, failure
from .files import File, FilePath, check_head
from .urls import Url

#: Bytes of text that are read at once; a block and its tables fit the caches of a core.
BLOCK = 1 << 20
#: Bytes before a block that its reader may write to: what is left of the block before.
HEADROOM = 1 << 12
_BUFFER = 1 << 20
#: The bytes at each end of a file by which it is known again.
_ENDS = 1 << 16


class Buffers:
    """Memory for the blocks of files; a block is reused once no view of it is left.  Not thread-safe.

    Allocating each block anew would take as long as reading it: 17 instead of 9 ms for 32 MB of English.  Blocks are
    not cleared, because that takes 0.6 ms for a block, during which the interpreter lets no other thread run.
    """

    def __init__(self, size: int) -> None:
        self.size, self._size = size, HEADROOM + size
        self._all: list[Block] = []

    def free(self) -> Block:
        """Return a block of `size` bytes, after `HEADROOM` free bytes, that has no view."""
        for block in self._all:
            if not block.is_viewed:
                return block
        self._all.append(Block(self._size))
        return self._all[-1]

    def room(self, size: int) -> memoryview:
        """Return a view of `size` bytes, of a block that is free or, when they are more, of a new one."""
        return memoryview(self.free() if size <= self._size else Block(size))[:size]


@dataclass(frozen=True)
class Opened:
    """An open file; `raw` has the bytes on the disk, `stream` the decompressed bytes."""

    file: File
    raw: BinaryIO
    stream: BinaryIO

    def position(self) -> int:
        """Return the position in `raw` in bytes; 0 if it is not known."""
        return self.raw.tell() if self.raw.seekable() else 0

    def check_size(self) -> None:
        """Check that the size of the file has not changed; `CorpusError` with both sizes if it has."""
        if self.file.size is None:
            return
        path = self.file.path
        size = path.stat_now().st_size if isinstance(path, Url) else os.fstat(self.raw.fileno()).st_size
        if size != self.file.size:
            raise CorpusError(
                f"{self.file.path}: its size changed from {self.file.size} to {size} bytes while it was read; "
                "expected a complete file: copy it first, or wait until no program writes to it"
            )

    def check_position(self) -> None:
        """Check the size after reading past the initial size: a growing file might never end."""
        if self.file.size is not None and self.position() > self.file.size:
            self.check_size()

    def failure(self, error: Exception) -> Exception:
        """Return the exception to raise for one of `BROKEN`; raise `CorpusError` if the size has changed."""
        self.check_size()
        return failure(self.file.path, error)

    def fill(self, view: memoryview) -> int:
        """Fill a buffer and return the number of bytes; it is smaller than the buffer only at the end of the file."""
        filled = 0
        try:
            while filled < len(view) and (more := cast(io.RawIOBase, self.stream).readinto(view[filled:])):
                filled += more
        except BROKEN as error:
            raise self.failure(error) from error
        return filled

    def block(self, buffers: Buffers, size: int) -> memoryview:
        """Read `size` bytes, less only at the end."""
        if not size:
            return memoryview(bytearray())
        view = memoryview(buffers.free())[HEADROOM : HEADROOM + size]
        return view[: self.fill(view)]

    def shorter(self, size: int) -> CorpusError:
        """Return the error of a file that ended too early."""
        self.check_size()
        return CorpusError(f"{self.file.path}: it ended after {size} of {self.file.size} bytes; somebody writes to it")


@contextmanager
def opened(file: File, limit: int = 0, *, buffered: bool = False) -> Iterator[Opened]:
    """Open a file; `limit` is the window limit of `compressed`; `buffered`: the caller reads lines or small pieces."""
    decompress = COMPRESSIONS.get(file.path.suffix.lower())
    with ExitStack() as stack, naming(file.path):
        raw: BinaryIO = stack.enter_context(file.path.open("rb", buffering=0 if decompress is None else -1))
        stream = raw if decompress is None else stack.enter_context(decompress(raw, limit))
        if decompress is None and buffered:
            stream = cast(BinaryIO, io.BufferedReader(cast(io.RawIOBase, raw), _BUFFER))
        yield Opened(file, raw, stream)


def digest_of_ends(file: File) -> str:
    """Return the SHA-256 of the first and the last bytes of a file, of all bytes if they are few.

    It is empty for a URL, whose status has its version, and for a pipe.
    """
    if isinstance(file.path, Url) or file.size is None:
        return ""
    with naming(file.path), file.path.open("rb") as raw:
        digest = hashlib.sha256(raw.read(_ENDS))
        raw.seek(max(file.size - _ENDS, _ENDS))
        digest.update(raw.read(_ENDS))
    return digest.hexdigest()


def version_of(file: File) -> str:
    """Return what tells that a file is still the same: a digest of all bytes of a small one, whatever its time.

    Of a larger file it is the digest of both ends with the time of change, of a URL the version that its server gives.
    """
    if file.size is None:
        return ""
    ends = digest_of_ends(file)
    return ends if ends and file.size <= 2 * _ENDS else f"{ends} {file.path.stat().st_mtime_ns}".strip()


def read_block(file: File, start: int, stop: int, buffers: Buffers) -> memoryview:
    """Return bytes `start` to `stop`, no more than a block, of a plain file.

    A fifth of the time that `Reading.texts` takes for them; raises as it does.
    """
    with opened(file) as source:
        source.stream.seek(start)
        block = source.block(buffers, stop - start)
        if len(block) < stop - start:
            raise source.shorter(start + len(block))
        if stop == file.size:
            source.check_size()
    if start == 0:
        check_head(file, block)
    return block


@contextmanager
def naming(path: FilePath) -> Iterator[None]:
    """Have an error of the system name the file: a failed read, unlike a failed open, does not say of what."""
    try:
        yield
    except OSError as error:
        if error.filename is None:
            error.filename = str(path)
        raise
