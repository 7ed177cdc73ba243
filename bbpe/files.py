"""Reading and writing whole files: what is written is there in full, or not at all."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import ExitStack, suppress
from pathlib import Path

from .atomic import Replacement, replacing, sync_folder
from .errors import VocabularyError

StrPath = str | os.PathLike[str]


def read_bytes(path: StrPath, *, most: int | None = None) -> bytes:
    """Return the bytes of a file.

    Raises the `OSError` of the system, which names the file, and `VocabularyError` when it has more than `most` bytes.
    """
    if most is not None and Path(path).stat().st_size > most:
        raise VocabularyError(f"it has {Path(path).stat().st_size} bytes; expected at most {most}", path=path)
    return Path(path).read_bytes()


def write_atomic(path: StrPath, data: bytes) -> None:
    """Write a file, or leave what was there.

    Readers see the old content or the new, and an interrupted write leaves nothing behind.

    Raises the `OSError` of the system, naming `path`.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_atomic(Path(folder, "a.txt"), b"abc")
    ...     read_bytes(Path(folder, "a.txt"))
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
