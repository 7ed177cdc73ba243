"""Writing a file so that it is there whole or not at all, after a kill and after a power cut."""

from __future__ import annotations

import errno
import os
import secrets
import shutil
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

#: Bytes of a temporary name that come from the target's; no file system that matters allows fewer than 143 in all.
_NAME_BYTES = 100
#: What a file system answers that cannot flush a folder.
_NOT_FOR_FOLDERS = (errno.EINVAL, errno.ENOTSUP, errno.EBADF)


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Open a file for writing bytes; it takes the place of `path` when the block ends without an error.

    Until then the bytes are in a hidden file beside it, which an error removes; readers see the old content or the
    new, after a power cut too.  The new file has the mode of the old one, and its owner and access list where the
    system permits.  A link is followed; what is no regular file (a device, a pipe) is written to directly.

    Raises the `OSError` of the system, naming `path`, and those of `check_replaceable`.

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
    new = Replacement(path)
    try:
        with new.naming():
            yield new.file
        new.finish()
        new.move()
    finally:
        new.discard()
    sync_folder(target.parent)


class Replacement:
    """A file that is going to take the place of `path`: write to `file`, `finish`, `move`, and `discard` in any case.

    Raises as `replacing` does.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._path, self._target = path, Path(os.path.realpath(path))
        old = check_replaceable(path)
        if old is not None and not stat.S_ISREG(old.st_mode):
            raise FileExistsError(errno.EEXIST, "there is something else; expected a file or nothing", os.fspath(path))
        self._beside = self._target.with_name(temporary_name(self._target.name))
        with self.naming():
            # a new file has the permissions that the umask leaves; one that replaces another is private at first
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
            self.file: BinaryIO = os.fdopen(os.open(self._beside, flags, 0o666 if old is None else 0o600), "wb")
            try:
                if old is not None:
                    _take_over(self._target, old, self._beside)
            except BaseException:
                self.discard()
                raise

    def finish(self) -> None:
        """Have all bytes on the disk."""
        with self.naming(), self.file:
            self.file.flush()
            os.fsync(self.file.fileno())

    def move(self) -> None:
        """Take the place of the target."""
        with self.naming():
            self._beside.replace(self._target)

    def discard(self) -> None:
        """Remove what was not moved."""
        with suppress(OSError):  # what is buffered may find no room, and nobody wants it
            self.file.close()
        self._beside.unlink(missing_ok=True)

    @contextmanager
    def naming(self) -> Iterator[None]:
        """Have an error of the system name the target."""
        with _about(self._path, self._beside):
            yield


def check_replaceable(path: str | os.PathLike[str]) -> os.stat_result | None:
    """Refuse to replace a file that may not be written; returns its status, `None` where there is none.

    Raises `PermissionError` naming `path` when no mode bit allows writing, for root too, or the system does not; an
    `OSError` with EMLINK when the file has other names (hard links): a new file would leave these with the old content.
    """
    try:
        status = Path(path).stat()
    except FileNotFoundError:
        return None
    if not stat.S_ISREG(status.st_mode):
        return status
    name = os.fspath(path)
    if not status.st_mode & 0o222 or not os.access(path, os.W_OK):
        raise PermissionError(errno.EACCES, "the file is read-only; make it writable, or choose another name", name)
    if status.st_nlink > 1:
        told = f"the file has {status.st_nlink} names (hard links); delete this one first, or choose another name"
        raise OSError(errno.EMLINK, told, name)
    return status


def temporary_name(name: str) -> str:
    """Return a random hidden name for what is going to be called `name`."""
    head = os.fsencode(name)[:_NAME_BYTES].decode("utf-8", "ignore")
    return f".{head}.{secrets.token_hex(6)}.tmp"


def sync_folder(folder: Path) -> None:
    """Have the names in a folder on the disk, where the system can do that."""
    try:
        handle = os.open(folder, os.O_RDONLY)
    except PermissionError:  # a folder that may be written and not listed, or a system that opens none
        return
    try:
        os.fsync(handle)
    except OSError as error:
        if error.errno not in _NOT_FOR_FOLDERS:
            raise OSError(error.errno, error.strerror, os.fspath(folder)) from None
    finally:
        os.close(handle)


def _take_over(target: Path, old: os.stat_result, beside: Path) -> None:
    """Give a new file the owner, mode and access list of the one that it replaces; never more rights than that."""
    for owner in (old.st_uid, -1):
        with suppress(OSError, AttributeError):
            os.chown(beside, owner, old.st_gid)
            break
    new = beside.stat()
    if (new.st_uid, new.st_gid) == (old.st_uid, old.st_gid):
        shutil.copystat(target, beside)
        os.utime(beside)
        return
    mode = stat.S_IMODE(old.st_mode) & 0o777
    if new.st_gid != old.st_gid:
        # another group gets what everybody has
        mode &= ~0o070 | (mode & 0o007) << 3
    beside.chmod(mode)


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
