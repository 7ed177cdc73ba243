"""A lock on a folder: one process at a time, until it releases the lock or dies."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from weakref import WeakValueDictionary

from ..core.temporary import Opener
from ..lazy import safe_import

#: What a file system answers that has no locks.
_NO_LOCKS = (errno.ENOLCK, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.EINVAL)
#: Who holds which folder in this process, by process and inode: such locks do not keep a process from itself.
_HELD = WeakValueDictionary[tuple[int, int, int], "FolderLock"]()


class FolderLock:
    """Holds a lock on a file of a folder, which is made if it is not there.

    It is a POSIX lock: the system releases it when the process dies, forked processes do not inherit it, and it works
    over NFS.  A process loses it when it closes the file, so nothing else may open it.  Where the file system has no
    locks there is none, but for other threads of the process.

    Raises `BlockingIOError` when somebody holds it, `OSError` naming the file when it cannot be opened.
    """

    def __init__(self, path: Path) -> None:
        status = path.parent.stat()
        self._key = (os.getpid(), status.st_dev, status.st_ino)
        if _HELD.setdefault(self._key, self) is not self:
            raise BlockingIOError(errno.EAGAIN, os.strerror(errno.EAGAIN), os.fspath(path))
        try:
            self._file = open(path, "r+b", buffering=0, opener=Opener(os.O_CREAT))  # noqa: SIM115
            try:
                _lock(self._file.fileno())
            except BaseException:
                self._file.close()
                raise
        except BaseException:
            _HELD.pop(self._key, None)
            raise

    def content(self, new: bytes) -> bytes:
        """Return what the file holds, which is `new` where it held nothing."""
        self._file.seek(0)
        found = self._file.read(1 << 12)
        if found:
            return found
        self._file.write(new)
        os.fsync(self._file.fileno())
        return new

    def release(self) -> None:
        """Let others have it; a forked process that comes here releases nothing."""
        self._file.close()
        if self._key[0] == os.getpid():
            _HELD.pop(self._key, None)


def _lock(handle: int) -> None:
    try:
        safe_import("fcntl")
        import fcntl
    except ImportError:  # a system without such locks
        return
    try:
        fcntl.lockf(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno in (errno.EACCES, errno.EAGAIN):
            raise BlockingIOError(error.errno, error.strerror) from None
        if error.errno not in _NO_LOCKS:
            raise
