"""Compressed files, by their suffixes: the bytes they stand for, decompressed as they are read."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, cast

from .errors import CorpusError

_BUFFER = 1 << 20
#: Compressed bytes of a zstandard file that are decompressed at once, at most.
_ZSTD_MOST = 1 << 11
#: What reading a file that is cut off or damaged may raise.
BROKEN = (EOFError, OSError, ValueError, zlib.error, lzma.LZMAError)


class _Zstandard(io.RawIOBase):
    """A zstandard file, decompressed as it is read; `EOFError` when it is cut off."""

    def __init__(self, file: BinaryIO) -> None:
        try:
            import zstandard
        except ImportError as error:
            raise ImportError(".zst files need zstandard; install it with: pip install 'bbpe[data]'") from error
        # the longest window that the format allows: memory is for the file's maker to choose
        self._make = zstandard.ZstdDecompressor(max_window_size=1 << 31).decompressobj
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
                raise ValueError(str(error)) from error
            self._frame, self._rest = (None, frame.unused_data + self._rest) if frame.eof else (frame, self._rest)
            self._step = min(2 * self._step, _ZSTD_MOST) if len(self._ready) < _BUFFER else max(self._step // 2, 64)
        size = min(len(buffer), len(self._ready))
        buffer[:size] = self._ready[:size]
        self._ready = self._ready[size:]
        return size


def _zstandard(file: BinaryIO) -> BinaryIO:
    return cast(BinaryIO, io.BufferedReader(_Zstandard(file), _BUFFER))


def _gzip(file: BinaryIO) -> BinaryIO:
    return cast(BinaryIO, io.BufferedReader(gzip.GzipFile(fileobj=file), _BUFFER))


#: Suffixes of compressed files, and what reads the bytes that each stands for.
COMPRESSIONS: dict[str, Callable[[BinaryIO], Any]] = {
    ".gz": _gzip,
    ".bz2": bz2.BZ2File,
    ".xz": lzma.LZMAFile,
    ".zst": _zstandard,
}


def failure(path: Path, error: Exception) -> Exception:
    """Return what to raise, naming the file, for one of `BROKEN` that was raised while reading it."""
    if isinstance(error, OSError) and error.errno is not None:
        error.filename = error.filename or str(path)
        return error
    return CorpusError(f"{path}: expected a whole {path.suffix} file: {error}")


@contextmanager
def naming(path: Path) -> Iterator[None]:
    """Have an error of the system name the file: a failed read, unlike a failed open, does not say of what."""
    try:
        yield
    except OSError as error:
        if error.filename is None:
            error.filename = str(path)
        raise
