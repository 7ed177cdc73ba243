"""Compressed files, by their suffixes: the bytes they stand for, decompressed as they are read.

Each takes a limit too, 0 for none: the bytes that it may keep to look back at, which the file's maker chooses.
"""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, BinaryIO, cast

from ..errors import CorpusError, MemoryLimitError

_BUFFER = 1 << 20
#: Compressed bytes of a zstandard file that are decompressed at once, at most.
_ZSTD_MOST = 1 << 11
#: Compressed bytes of an .xz file that are read at once.
_XZ_STEP = 1 << 16
#: What reading a file that is cut off or damaged may raise.
BROKEN = (EOFError, OSError, ValueError, zlib.error, lzma.LZMAError)


class _TooFarBackError(ValueError):
    """Decompressing looks further back than memory allows."""


class _Zstandard(io.RawIOBase):
    """A zstandard file, decompressed as it is read; `EOFError` when it is cut off."""

    def __init__(self, file: BinaryIO, limit: int) -> None:
        try:
            import zstandard
        except ImportError as error:
            raise ImportError(".zst files need zstandard; install it with: pip install 'bbpe[data]'") from error
        # without a limit the longest window that the format allows
        window = 1 << (min(limit, 1 << 31).bit_length() - 1) if limit else 1 << 31
        self._make = zstandard.ZstdDecompressor(max_window_size=window).decompressobj
        self._failure = zstandard.ZstdError
        self._file, self._frame, self._rest, self._ready = file, None, b"", memoryview(b"")
        self._step = 64

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._ready:
            # little at a time: the package returns all that it stands for, and 4 bytes may be 128 KiB
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
                kind = _TooFarBackError if "too much memory" in str(error) else ValueError
                raise kind(str(error)) from error
            self._frame, self._rest = (None, frame.unused_data + self._rest) if frame.eof else (frame, self._rest)
            self._step = min(2 * self._step, _ZSTD_MOST) if len(self._ready) < _BUFFER else max(self._step // 2, 64)
        size = min(len(buffer), len(self._ready))
        buffer[:size] = self._ready[:size]
        self._ready = self._ready[size:]
        return size


class _Xz(io.RawIOBase):
    """An .xz file, or several one after another, read within a limit, which `LZMAFile` has not."""

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
                kind = _TooFarBackError if "emory usage limit" in str(error) else ValueError
                raise kind(str(error)) from error
            if self._stream.eof:
                self._rest, self._stream = self._stream.unused_data, None
            if data:
                buffer[: len(data)] = data
                return len(data)


def _zstandard(file: BinaryIO, limit: int) -> BinaryIO:
    return cast(BinaryIO, io.BufferedReader(_Zstandard(file, limit), _BUFFER))


def _gzip(file: BinaryIO, _limit: int) -> BinaryIO:
    # its window is 32 KiB
    return cast(BinaryIO, io.BufferedReader(gzip.GzipFile(fileobj=file), _BUFFER))


def _bzip2(file: BinaryIO, _limit: int) -> BinaryIO:
    # at most 4 MB
    return cast(BinaryIO, bz2.BZ2File(file))


def _xz(file: BinaryIO, limit: int) -> BinaryIO:
    if not limit:
        return cast(BinaryIO, lzma.LZMAFile(file))
    return cast(BinaryIO, io.BufferedReader(_Xz(file, limit), _BUFFER))


#: Suffixes of compressed files, and what reads the bytes that each stands for, within a limit (0: none).
COMPRESSIONS: dict[str, Callable[[BinaryIO, int], BinaryIO]] = {
    ".gz": _gzip,
    ".bz2": _bzip2,
    ".xz": _xz,
    ".zst": _zstandard,
}


def failure(path: Path, error: Exception) -> Exception:
    """Return what to raise, naming the file, for one of `BROKEN` that was raised while reading it."""
    if isinstance(error, OSError) and error.errno is not None:
        error.filename = error.filename or str(path)
        return error
    if isinstance(error, _TooFarBackError):
        return MemoryLimitError(
            f"{path}: to decompress it takes more memory than max_memory leaves ({error}); give a larger max_memory, "
            "or compress it with a smaller window"
        )
    return CorpusError(f"{path}: expected a whole {path.suffix} file: {error}")
