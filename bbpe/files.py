"""Reading and writing whole files: what is written is there in full, or not at all."""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

from .atomic import Replacement, replacing, sync_folder
from .errors import VocabularyError

StrPath = str | os.PathLike[str]


@dataclass(frozen=True)
class ReadFile(os.PathLike[str]):
    """A path whose file has been read: whoever is to read it gets `data`, whatever the file holds by then."""

    path: Path
    data: bytes = field(repr=False)

    def __fspath__(self) -> str:
        """Return the path, which errors name."""
        return str(self.path)

    __str__ = __fspath__


def open_file(path: StrPath) -> BinaryIO:
    """Open a file to read; `VocabularyError` when it is a pipe or a device, which may have no end, or never begin."""
    # a pipe without a writer would be waited for
    file = open(path, "rb", opener=_opened_at_once)  # noqa: SIM115
    if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        file.close()
        raise VocabularyError("it is a pipe or a device; expected a file", path=path)
    return file


def _opened_at_once(path: str, flags: int) -> int:
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))


def read_bytes(path: StrPath, *, most: int) -> bytes:
    """Return the bytes of a file, of which no more than `most` and one are read, whatever its size is said to be.

    Raises the `OSError` of the system, which names the file, and `VocabularyError` when it has more than `most` bytes.
    """
    if isinstance(path, ReadFile):
        data, size = path.data, len(path.data)
    else:
        with open_file(path) as file:
            size = os.fstat(file.fileno()).st_size
            data = b"" if size > most else file.read(most + 1)
    size = max(size, len(data))
    if size > most:
        raise VocabularyError(f"it has {size} bytes or more; expected at most {most}", path=path)
    return data


def write_atomic(path: StrPath, data: bytes) -> None:
    """Write a file, or leave what was there.

    Readers see the old content or the new, and an interrupted write leaves nothing behind.

    Raises the `OSError` of the system, naming `path`.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_atomic(Path(folder, "a.txt"), b"abc")
    ...     read_bytes(Path(folder, "a.txt"), most=3)
    b'abc'
    """
    with replacing(path) as file:
        file.write(data)


def write_folder_atomic(folder: StrPath, files: Mapping[str, bytes]) -> None:
    """Write several files into a folder, which is made if need be.

    All are on the disk in full under temporary names before the first is moved into place, so that running
    out of space, say, changes none of them; nothing but renames is between the first and the last.

    Raises the `OSError` of the system, naming the file or the folder, and those of `atomic.check_replaceable`.
    """
    target = Path(folder)
    made = not target.exists()
    target.mkdir(parents=True, exist_ok=True)
    try:
        with ExitStack() as stack:
            new = []
            for name, data in files.items():
                new.append(Replacement(target / name))
                stack.callback(new[-1].discard)
                with new[-1].naming():
                    new[-1].file.write(data)
                new[-1].finish()
            for file in new:
                file.move()
    except BaseException:
        if made:
            with suppress(OSError):  # not empty: somebody else's file
                target.rmdir()
        raise
    sync_folder(target)
    if made:
        sync_folder(target.parent)
