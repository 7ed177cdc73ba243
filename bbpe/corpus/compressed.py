"""Open compressed files by their suffixes, and decompress them while they are read.

Each opener takes a limit for the window of the decompressor in bytes, 0 for none, because the writer of a file chooses
the size of this window.
"""

from __future__ import annotations

import io
import os
from collections.abc import Callable
from functools import partial
from pathlib import PurePath
from typing import Any, BinaryIO, Protocol, cast

from ..errors import CorpusError, MemoryLimitError
from ..lazy import safe_import

#: The compressed bytes that are read at once.
_STEP = 1 << 16
#: The exceptions that reading a truncated or damaged file may raise.
BROKEN = (EOFError, OSError, ValueError)


class _WindowError(ValueError):
    """The window of the decompressor is larger than memory allows."""


class _Frames:
    """The bytes of a zstandard file and its frames (RFC 8878, 3.1): the package does not say whether the last ended."""

    def __init__(self, file: BinaryIO) -> None:
        self._file, self._head, self._skip, self._checksum = file, b"", 0, 0
        self._wanted = 4
        self._next: Callable[[bytes], None] = self._magic

    @property
    def are_whole(self) -> bool:
        """Whether the data ends where a frame does."""
        return not self._head and not self._skip and self._next == self._magic

    def read(self, size: int) -> bytes:
        """Read bytes, and follow the frames in them."""
        data, at = self._file.read(size), 0
        while at < len(data):
            if self._skip:
                step = min(self._skip, len(data) - at)
                self._skip, at = self._skip - step, at + step
                continue
            taken = data[at : at + self._wanted - len(self._head)]
            self._head, at = self._head + taken, at + len(taken)
            if len(self._head) == self._wanted:
                head, self._head = self._head, b""
                self._next(head)
        return data

    def _expect(self, wanted: int, handle: Callable[[bytes], None], skip: int = 0) -> None:
        self._wanted, self._next, self._skip = wanted, handle, skip

    def _magic(self, head: bytes) -> None:
        is_skippable = head[1:] == b"\x2a\x4d\x18" and head[0] >> 4 == 5
        self._expect(4 if is_skippable else 1, self._skippable if is_skippable else self._descriptor)

    def _skippable(self, head: bytes) -> None:
        self._expect(4, self._magic, int.from_bytes(head, "little"))

    def _descriptor(self, head: bytes) -> None:
        size, is_single = head[0] >> 6, head[0] >> 5 & 1
        self._checksum = 4 * (head[0] >> 2 & 1)
        rest = (1 - is_single) + (0, 1, 2, 4)[head[0] & 3] + (is_single, 2, 4, 8)[size]
        self._expect(3, self._block, rest)

    def _block(self, head: bytes) -> None:
        number = int.from_bytes(head, "little")
        is_last, is_run = number & 1, number >> 1 & 3 == 1
        size = 1 if is_run else number >> 3
        if is_last:
            self._expect(4, self._magic, size + self._checksum)
        else:
            self._expect(3, self._block, size)


class _Zstandard(io.RawIOBase):
    """A zstandard file, decompressed while it is read; `EOFError` when it is truncated."""

    def __init__(self, file: BinaryIO, limit: int) -> None:
        try:
            safe_import("zstandard")
            import zstandard
        except ImportError as error:
            raise ImportError(".zst files need zstandard; install it with: pip install 'bbpe[data]'") from error
        # without a limit, use the longest window that the format allows
        window = 1 << (min(limit, 1 << 31).bit_length() - 1) if limit else 1 << 31
        self._frames, self._failure = _Frames(file), zstandard.ZstdError
        made: Any = zstandard.ZstdDecompressor(max_window_size=window)
        self._stream = made.stream_reader(self._frames, _STEP, read_across_frames=True, closefd=False)

    def readinto(self, buffer: Any) -> int:
        # no more is decompressed than fits the buffer, although 4 bytes may become 128 KiB
        try:
            size: int = self._stream.readinto(buffer)
        except self._failure as error:
            kind = _WindowError if "too much memory" in str(error) else ValueError
            raise kind(str(error)) from error
        if not size and not self._frames.are_whole:
            raise EOFError("the compressed data ends within a frame")
        return size


class _Decompressor(Protocol):
    """A stream of compressed data, as `bz2` and `lzma` have it."""

    @property
    def eof(self) -> bool: ...
    @property
    def needs_input(self) -> bool: ...
    @property
    def unused_data(self) -> bytes: ...
    def decompress(self, data: bytes, max_length: int) -> bytes: ...


class _Inflater:
    """A member of a gzip file, with the interface of the other decompressors."""

    def __init__(self) -> None:
        safe_import("zlib")
        import zlib

        self._made, self._error = zlib.decompressobj(wbits=31), zlib.error

    @property
    def eof(self) -> bool:
        return self._made.eof

    @property
    def needs_input(self) -> bool:
        return not self._made.unconsumed_tail

    @property
    def unused_data(self) -> bytes:
        return self._made.unused_data

    def decompress(self, data: bytes, max_length: int) -> bytes:
        try:
            return self._made.decompress(data or self._made.unconsumed_tail, max_length)
        except self._error as error:
            raise ValueError(str(error)) from error


class _Xz:
    """A stream of an xz file, with the interface of the other decompressors."""

    def __init__(self, limit: int) -> None:
        safe_import("lzma")
        import lzma

        self._made, self._error = lzma.LZMADecompressor(memlimit=limit or None), lzma.LZMAError

    @property
    def eof(self) -> bool:
        return self._made.eof

    @property
    def needs_input(self) -> bool:
        return self._made.needs_input

    @property
    def unused_data(self) -> bytes:
        return self._made.unused_data

    def decompress(self, data: bytes, max_length: int) -> bytes:
        try:
            return self._made.decompress(data, max_length)
        except self._error as error:
            kind = _WindowError if "emory usage limit" in str(error) else ValueError
            raise kind(str(error)) from error


class _Streams(io.RawIOBase):
    """A file of one or more streams, each of which `make` begins to decompress; no more than what is read is held."""

    def __init__(self, file: BinaryIO, make: Callable[[], _Decompressor]) -> None:
        self._file, self._make, self._rest, self._is_first = file, make, b"", True
        self._stream: _Decompressor | None = None

    def readinto(self, buffer: Any) -> int:
        while len(buffer):
            block = b""
            if self._stream is None or self._stream.needs_input:
                block, self._rest = self._rest or self._file.read(_STEP), b""
                if not block:
                    if self._stream is not None or self._is_first:
                        raise EOFError("the compressed data ends within a stream")
                    return 0
            if self._stream is None:
                # streams may have zeros between them
                block = block if self._is_first else block.lstrip(b"\0")
                if not block:
                    continue
                self._stream, self._is_first = self._make(), False
            data = self._stream.decompress(block, len(buffer))
            if self._stream.eof:
                self._rest, self._stream = self._stream.unused_data, None
            if data:
                buffer[: len(data)] = data
                return len(data)
        return 0


def _zstandard(file: BinaryIO, limit: int) -> BinaryIO:
    return cast(BinaryIO, _Zstandard(file, limit))


def _gzip(file: BinaryIO, _limit: int) -> BinaryIO:
    # the window is at most 32 KiB
    return cast(BinaryIO, _Streams(file, _Inflater))


def _bzip2(file: BinaryIO, _limit: int) -> BinaryIO:
    # a block takes at most 4 MB
    safe_import("bz2")
    import bz2

    return cast(BinaryIO, _Streams(file, bz2.BZ2Decompressor))


def _xz(file: BinaryIO, limit: int) -> BinaryIO:
    return cast(BinaryIO, _Streams(file, partial(_Xz, limit)))


#: Openers for compressed files by suffix; each takes a file and a limit for the window (0: none).
COMPRESSIONS: dict[str, Callable[[BinaryIO, int], BinaryIO]] = {
    ".gz": _gzip,
    ".bz2": _bzip2,
    ".xz": _xz,
    ".zst": _zstandard,
}


def failure(path: os.PathLike[str], error: Exception) -> Exception:
    """Return the exception to raise, with the name of the file, for one of `BROKEN`."""
    if isinstance(error, OSError) and error.errno is not None:
        error.filename = error.filename or str(path)
        return error
    if isinstance(error, _WindowError):
        return MemoryLimitError(
            f"{path}: decompressing the file takes more memory than max_memory leaves ({error}); give a larger "
            "max_memory, or compress the file with a smaller window"
        )
    suffix = PurePath(path).suffix
    return CorpusError(f"{path}: expected a whole {suffix} file: {error}")
