"""Writing a file so that it is there whole or not at all."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Open a file for writing bytes; it takes the place of `path` when the block ends without an error.

    Until then the bytes stand in a hidden file beside it, which an error removes; readers see the old
    content or the new.  A link is followed; what is no regular file (a device, a pipe) is written to
    directly.  Raises the `OSError` of the system, naming `path`.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with replacing(Path(folder, "a.bin")) as file:
    ...         _ = file.write(b"whole")
    ...     Path(folder, "a.bin").read_bytes()
    b'whole'
    """
    target = Path(os.path.realpath(path))
    if target.exists() and not target.is_file():
        with _about(path), target.open("wb") as file:
            yield file
        return
    beside = target.with_name(f".{target.name[:200]}.{secrets.token_hex(6)}.tmp")
    try:
        # "x" makes a file with the permissions that the umask leaves, where `tempfile` makes a private one
        with _about(path, beside), beside.open("xb") as file:
            yield file
        with _about(path, beside):
            beside.replace(target)
    finally:
        beside.unlink(missing_ok=True)


@contextmanager
def _about(path: str | os.PathLike[str], beside: Path | None = None) -> Iterator[None]:
    # a failed write names no file, and the one beside is not what the caller asked for
    try:
        yield
    except OSError as error:
        unnamed = error.filename is None or error.filename == str(beside)
        if error.errno is None or not unnamed:
            raise
        raise OSError(error.errno, error.strerror, os.fspath(path)) from None
