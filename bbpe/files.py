"""Reading and writing whole files: what is written is there in full, or not at all."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import ExitStack, suppress
from pathlib import Path

from .atomic import replacing
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

    All are written in full under temporary names before the first is moved into place, so that running
    out of space, say, changes none of them.

    Raises the `OSError` of the system, naming the file or the folder.
    """
    target = Path(folder)
    made = not target.exists()
    target.mkdir(parents=True, exist_ok=True)
    try:
        with ExitStack() as stack:
            for name, data in files.items():
                file = stack.enter_context(replacing(target / name))
                file.write(data)
                # so that a full disk shows here, not while files are moved
                file.flush()
    except BaseException:
        if made:
            with suppress(OSError):  # not empty: somebody else's file
                target.rmdir()
        raise
