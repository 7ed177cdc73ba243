"""Open compressed files by their suffixes, and decompress them while they are read.

Each opener takes a limit for the window of the decompressor in bytes, 0 for none, because the writer of a file chooses
the size of this window.
"""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
import zlib
from collections.abc import Callable
from pathlib import PurePath
from typing import Any, BinaryIO, cast

from ..errors import CorpusError, MemoryLimitError

_BUFFER = 1 << 20
#: The most compressed bytes of a zstandard file that are decompressed at once.
_ZSTD_MOST = 1 << 11
#: The compressed bytes of an .xz file that are read at once.
_XZ_STEP = 1 << 16
#: The exceptions that reading a truncated or damaged file may raise.
BROKEN = (EOFError, OSError, ValueError, zlib.error, lzma.LZMAError)


class _WindowError(ValueError):
    """The window of the decompressor is larger than memory allows."""


class _Zstandard(io.RawIOBase):
    """A zstandard file, decompressed while it is read; `EOFError` when it is truncated."""

    def __init__(self, file: BinaryIO, limit: int) -> None:
        try:
            import zstandard
        except ImportError as error:
            raise ImportError(".zst files need zstandard; install it with: pip install 'bbpe[data]'") from error
        # without a limit, use the longest window that the format allows
        window = 1 << (min(limit, 1 << 31).bit_length() - 1) if limit else 1 << 31
        self._make = zstandard.ZstdDecompressor(max_window_size=window).decompressobj
        self._failure = zstandard.ZstdError
        self._file, self._frame, self._rest, self._ready = file, None, b"", memoryview(b"")
        self._step = 64

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._ready:
            # read small blocks, because the package returns everything they decompress to, and 4 bytes may be 128 KiB
            block, self._rest = self._rest[: self._step], self._rest[self._step :]
            block = block or self._file.read(self._step)
            if not block:
                if self._frame is not None:
                    raise EOFError("the compressed data ends within a frame")
                return 0
            frame: Any = self._frame or self._make()
            try:
                self._ready = memoryview(frame.decompress(block))
            except self._failure as error:
                kind = _WindowError if "too much memory" in str(error) else ValueError
                raise kind(str(error)) from error
            self._frame, self._rest = (None, frame.unused_data + self._rest) if frame.eof else (frame, self._rest)
            self._step = min(2 * self._step, _ZSTD_MOST) if len(self._ready) < _BUFFER else max(self._step // 2, 64)
        size = min(len(buffer), len(self._ready))
        buffer[:size] = self._ready[:size]
        self._ready = self._ready[size:]
        return size


class _Xz(io.RawIOBase):
    """An .xz file of one or more streams, read within a memory limit, which `LZMAFile` does not support."""

    def __init__(self, file: BinaryIO, limit: int) -> None:
        self._file, self._limit, self._rest = file, limit, b""
        self._stream: lzma.LZMADecompressor | None = None

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while True:
            block = b""
            if self._stream is None or self._stream.needs_input:
                block = self._rest or self._file.read(_XZ_STEP)
                self._rest = b""
                if not block:
                    if self._stream is not None:
                        raise EOFError("the compressed data ends within a stream")
                    return 0
            if self._stream is None:
                block = block.lstrip(b"\0")  # streams may have zeros between them
                if not block:
                    continue
                self._stream = lzma.LZMADecompressor(memlimit=self._limit)
            try:
                data = self._stream.decompress(block, len(buffer))
            except lzma.LZMAError as error:
                kind = _WindowError if "emory usage limit" in str(error) else ValueError
                raise kind(str(error)) from error
            if self._stream.eof:
                self._rest, self._stream = self._stream.unused_data, None
            if data:
                buffer[: len(data)] = data
                return len(data)


def _zstandard(file: BinaryIO, limit: int) -> BinaryIO:
    return cast(BinaryIO, io.BufferedReader(_Zstandard(file, limit), _BUFFER))


def _gzip(file: BinaryIO, _limit: int) -> BinaryIO:
    # the window is at most 32 KiB
    return cast(BinaryIO, io.BufferedReader(gzip.GzipFile(fileobj=file), _BUFFER))


def _bzip2(file: BinaryIO, _limit: int) -> BinaryIO:
    # a block takes at most 4 MB
    return cast(BinaryIO, bz2.BZ2File(file))


def _xz(file: BinaryIO, limit: int) -> BinaryIO:
    if not limit:
        return cast(BinaryIO, lzma.LZMAFile(file))
    return cast(BinaryIO, io.BufferedReader(_Xz(file, limit), _BUFFER))


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
