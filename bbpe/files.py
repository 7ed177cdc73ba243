"""Read whole files, and write whole files atomically."""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import BinaryIO

from .atomic import Replacement, replacing, sync_folder
from .errors import VocabularyError
from .records import dataclass, field

StrPath = str | os.PathLike[str]


@dataclass(frozen=True)
class ReadFile(os.PathLike[str]):
    """A path with the bytes of its file; `read_bytes` returns `data` even if the file has changed meanwhile."""

    path: Path
    data: bytes = field(repr=False)

    def __fspath__(self) -> str:
        """Return the path for the messages of errors."""
        return str(self.path)

    __str__ = __fspath__


def open_file(path: StrPath) -> BinaryIO:
    """Open a file for reading; `VocabularyError` for a pipe or a device, which may never end."""
    # without O_NONBLOCK, opening a pipe waits for a writer
    file = open(path, "rb", opener=_open_nonblocking)  # noqa: SIM115
    if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        file.close()
        raise VocabularyError("the file is a pipe or a device; expected a regular file", path=path)
    return file


def _open_nonblocking(path: str, flags: int) -> int:
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))


def read_bytes(path: StrPath, *, most: int) -> bytes:
    """Return the bytes of a file; at most `most` + 1 bytes are read, because the reported size may be wrong.

    Raises an `OSError` naming the file, and `VocabularyError` when it has more than `most` bytes.
    """
    if isinstance(path, ReadFile):
        data, size = path.data, len(path.data)
    else:
        with open_file(path) as file:
            size = os.fstat(file.fileno()).st_size
            data = b"" if size > most else file.read(most + 1)
    size = max(size, len(data))
    if size > most:
        raise VocabularyError(f"the file has {size} bytes or more; expected at most {most}", path=path)
    return data


def write_atomic(path: StrPath, data: bytes) -> None:
    """Write a file atomically.

    Readers see the old content or the new content, and an interrupted write leaves no temporary file.

    Raises an `OSError` naming `path`.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_atomic(Path(folder, "a.txt"), b"abc")
    ...     read_bytes(Path(folder, "a.txt"), most=3)
    b'abc'
    """
    with replacing(path) as file:
        file.write(data)


def write_folder_atomic(folder: StrPath, files: Mapping[str, bytes]) -> None:
    """Write several files into a folder, and make the folder if it does not exist.

    All files are complete on the disk under temporary names before the first one is renamed.  So an error such as a
    full disk changes none of them.

    Raises an `OSError` naming the file or the folder, and the errors of `atomic.check_replaceable`.
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
            with suppress(OSError):  # another program may have put a file into the folder
                target.rmdir()
        raise
    sync_folder(target)
    if made:
        sync_folder(target.parent)
