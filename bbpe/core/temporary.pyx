"""Files and folders that are removed unless they are kept, whatever ends the work on them.

Handlers of signals run between two instructions of Python's bytecode, and what they raise may skip the end of any Python
function.  So the object that removes a file makes it, without bytecode in between, and removes it when it is freed:

    NewFile(path)   made --move--> replaces another file        freed, or discarded: closed and removed
    Folder(path)    made --keep--> stays                        freed, or left: removed, with its files if `is_whole`
"""
cimport cython

import os
from io import FileIO

cdef object _close = os.close, _unlink = os.unlink
cdef object _mkdir = os.mkdir, _rmdir = os.rmdir, _listdir = os.listdir, _getpid = os.getpid
cdef str _SEPARATOR = os.sep


@cython.final
cdef class Opener:
    """An `opener` for `open` that adds flags, and gives a new file a mode; no handler comes before the file has an owner."""

    cdef int _flags, _mode

    def __cinit__(self, int flags, int mode=0o666):
        self._flags, self._mode = flags, mode

    def __call__(self, path: str, int flags) -> int:
        return os.open(path, flags | self._flags, self._mode)


@cython.final
@cython.no_gc
cdef class NewFile:
    """A new file, open for writing as `raw`: an error if there is one of this name."""

    cdef readonly object raw  # stub: FileIO
    cdef str _path
    cdef bint _is_there
    cdef object _process

    def __cinit__(self, str path not None, int mode=0o666):
        self._path, self._process = path, _getpid()
        self.raw = FileIO(path, "xb", opener=Opener(0, mode))
        self._is_there = True

    def __dealloc__(self):
        self._discard()

    def move(self, str target not None):
        """Replace another file."""
        os.replace(self._path, target)
        self._is_there = False

    def discard(self):
        """Close the file, and remove it unless it was moved."""
        self._discard()

    cdef void _discard(self) noexcept:
        try:
            if self.raw is not None:
                self.raw.close()
        except OSError:
            pass
        # a child process has the object, and the file is not its own
        if self._is_there and self._process == _getpid():
            self._is_there = False
            try:
                _unlink(self._path)
            except OSError:
                pass


@cython.final
@cython.no_gc
cdef class Folder:
    """A new folder at `path`, a context manager: an error if there is one of this name."""

    cdef readonly str path
    cdef bint _is_there, _is_whole
    cdef object _process

    def __cinit__(self, str path not None, int mode=0o777, bint is_whole=False):
        self.path, self._is_whole, self._process = path, is_whole, _getpid()
        _mkdir(path, mode)
        self._is_there = True

    def __dealloc__(self):
        self._discard()

    def __enter__(self) -> str:
        return self.path

    def __exit__(self, *error: object):
        self._discard()

    def discard(self):
        """Remove the folder unless it is kept."""
        self._discard()

    def keep(self):
        """Never remove the folder."""
        self._is_there = False

    cdef void _discard(self) noexcept:
        if self._is_there and self._process == _getpid():
            self._is_there = False
            _removed(self.path, self._is_whole)


cdef void _removed(str path, bint is_whole) noexcept:
    """Remove a folder, and what is in it; what cannot be removed stays."""
    try:
        if is_whole:
            for name in _listdir(path):
                inner = path + _SEPARATOR + name
                try:
                    _unlink(inner)
                except OSError:
                    _removed(inner, True)
        _rmdir(path)
    except OSError:
        pass


def sync_folder(str path not None):
    """Flush the names in a folder to the disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        _close(handle)
