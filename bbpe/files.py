"""Read whole files, and write files atomically: after a kill or a power cut a file is complete or unchanged.

A file can be written to a URL, too, as fsspec uploads a whole one; a folder of files cannot.
"""

from __future__ import annotations

import errno
import os
import stat
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from contextvars import ContextVar
from io import BufferedReader, BufferedWriter
from pathlib import Path
from typing import Any, BinaryIO, TypeAlias

from .core import temporary
from .core.temporary import Folder, NewFile, Opener
from .errors import CorpusError, VocabularyError
from .lazy import hashlib, in_gate, lazy_re, safe_import, tempfile
from .records import check_file_name, checked_path, dataclass, field, names_folder

StrPath = str | os.PathLike[str]

#: A URL, or a chain of them as fsspec has it.  The name of a drive, as in C://, has a single letter.
_URL = lazy_re(r"(?:[A-Za-z][A-Za-z0-9+.-]+::)*[A-Za-z][A-Za-z0-9+.-]+://")
#: The seconds before a file is replaced again that was open elsewhere.
_PAUSES = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0)
#: What `Path` makes of a URL.
_PATH_OF_URL = lazy_re(r"([A-Za-z][A-Za-z0-9+.-]+):[/\\](?![/\\])")
_LOCAL = "file://"
#: How the path of a URL of Windows begins, as in file:///C:/a.
_DRIVE = lazy_re(r"/[A-Za-z]:")
#: Schemes whose files are read alone, and archives, which are files of files.
_READ_ONLY = frozenset("http https data git github gist reference zip tar libarchive jar".split())

#: The most bytes of the target's name in a temporary name; common file systems allow at least 143 bytes in a name.
_NAME_BYTES = 100
#: The bytes that are read at once where a file has more than its size says.
_BLOCK = 1 << 20
#: The errors of file systems that cannot flush a folder.
_NOT_FOR_FOLDERS = (errno.EINVAL, errno.ENOTSUP, errno.EBADF)
#: What was read, by real path: the identity of each file that was opened, and the digests of what was read whole.
_Read: TypeAlias = dict[str, set[object]]
_OPENED: ContextVar[_Read | None] = ContextVar("opened", default=None)
#: Without O_NONBLOCK, opening a pipe waits for a writer.
_NONBLOCKING = Opener(getattr(os, "O_NONBLOCK", 0))


@dataclass(frozen=True)
class ReadFile(os.PathLike[str]):
    """A path with the bytes of its file; `read_bytes` returns `data` even if the file has changed meanwhile."""

    path: Path
    data: bytes = field(repr=False)

    def __fspath__(self) -> str:
        """Return the path for the messages of errors."""
        return str(self.path)

    __str__ = __fspath__


def user_cache() -> Path:
    """Return the folder of the user's caches, which need not exist; `RuntimeError` for a user without a home.

    It is $XDG_CACHE_HOME, and without that the one of the system: %LOCALAPPDATA% on Windows, ~/Library/Caches on macOS,
    ~/.cache elsewhere.
    """
    for variable in ("XDG_CACHE_HOME", "LOCALAPPDATA") if sys.platform == "win32" else ("XDG_CACHE_HOME",):
        if os.environ.get(variable):
            return Path(os.environ[variable])
    below = {"win32": "AppData/Local", "darwin": "Library/Caches"}.get(sys.platform, ".cache")
    return Path.home() / below


def open_file(path: StrPath) -> BufferedReader:
    """Open a file for reading; `VocabularyError` for a pipe or a device, which may never end; no URL is opened."""
    path = local_path(path, "files other than those of corpora are not read from URLs", "copy it to this machine first")
    file = open(path, "rb", opener=_NONBLOCKING)  # noqa: SIM115
    status = os.fstat(file.fileno())
    if not stat.S_ISREG(status.st_mode):
        file.close()
        raise VocabularyError("the file is a pipe or a device; expected a regular file", path=path)
    _note(path, (status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns))
    return file


@contextmanager
def noting_reads() -> Iterator[_Read]:
    """Collect what `open_file`, `read_bytes` and `digest_of` read within the context."""
    read: _Read = {}
    token = _OPENED.set(read)
    try:
        yield read
    finally:
        _OPENED.reset(token)


def is_covered(later: _Read, earlier: _Read) -> bool:
    """Return whether `later` has no file, and no content of a file, that `earlier` does not have."""
    return all(facts <= earlier.get(path, set()) for path, facts in later.items())


def digest_of(path: StrPath) -> bytes:
    """Return the SHA-256 of the bytes of a file."""
    with open_file(path) as file:
        digest = hashlib.file_digest(file, "sha256").digest()
    _note(path, digest)
    return digest


def _note(path: StrPath, fact: object) -> None:
    read = _OPENED.get()
    if read is not None:
        read.setdefault(os.path.realpath(path), set()).add(fact)


def read_bytes(path: StrPath, *, most: int) -> bytes:
    """Return the bytes of a file; at most `most` + 1 bytes are read, because the reported size may be wrong.

    Raises an `OSError` naming the file, and `VocabularyError` when it has more than `most` bytes.
    """
    if isinstance(path, ReadFile):
        data, size = path.data, len(path.data)
    else:
        with open_file(path) as file:
            size = os.fstat(file.fileno()).st_size
            data = b"" if size > most else _read(file, size, most)
        if _OPENED.get() is not None:
            _note(path, hashlib.sha256(data).digest())
    size = max(size, len(data))
    if size > most:
        raise VocabularyError(f"the file has {size} bytes or more; expected at most {most}", path=path)
    return data


def _read(file: BinaryIO, size: int, most: int) -> bytes:
    """Return what a file has, at most `most` + 1 bytes; `read` asks for the memory of all that it may return."""
    parts = [file.read(size + 1)]
    # the file has grown, or its system does not give its size, as in /proc
    left = most + 1 - len(parts[0]) if len(parts[0]) > size else 0
    while left and (part := file.read(min(left, _BLOCK))):
        parts.append(part)
        left -= len(part)
    return b"".join(parts)


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
    """Write several files into a folder, and make the folder if it does not exist; a name may have a folder of its own.

    All files are complete on the disk under temporary names before the first one is renamed.  So an error such as a
    full disk changes none of them.

    Raises an `OSError` naming the file or the folder, the errors of `check_replaceable`, and `ValueError` on a URL.
    """
    target = local_path(folder, f"a folder of {len(files)} files is not written to a URL")
    folders = dict.fromkeys([target, *((target / name).parent for name in files)])
    made = [each for folder in folders for each in _made(folder)]
    with ExitStack() as stack:
        for each in made:
            stack.callback(each.discard)
        new = []
        for name, data in files.items():
            new.append(Replacement(target / name))
            stack.callback(new[-1].discard)
            with new[-1].naming():
                new[-1].file.write(data)
            new[-1].finish()
        for file in new:
            file.move()
        for each in made:
            each.keep()
    for written in reversed(folders):
        sync_folder(written)
    for each in made:
        sync_folder(Path(each.path).parent)


def _made(folder: Path) -> list[Folder]:
    """Make a folder and those above it; returns the new ones, which are removed again unless they are kept."""
    made: list[Folder] = []
    missing = [each for each in (folder, *folder.parents) if not each.exists()]
    above = (folder, *folder.parents)[len(missing) :][:1]
    if missing and above and not above[0].is_dir():
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), os.fspath(above[0]))
    for each in reversed(missing):
        try:
            made.append(Folder(str(each)))
        except FileExistsError:  # another program has made it
            if not each.is_dir():
                raise
    if not folder.is_dir():
        raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), os.fspath(folder))
    return made


def temporary_folder(prefix: str = "bbpe-", parent: StrPath | None = None) -> Folder:
    """Return a new private folder, in that of the system for temporary files or in `parent`; it is a context manager.

    It goes, with all that is in it, at the end of the context, or when the object is freed.

    >>> with temporary_folder() as name:
    ...     Path(name).is_dir()
    True
    >>> Path(name).exists()
    False
    """
    name = f"{prefix}{os.urandom(8).hex()}"
    return Folder(str(Path(system_folder() if parent is None else parent, name)), 0o700, is_whole=True)


def system_folder() -> str:
    """Return the folder of the system for temporary files.

    Python tries folders at the first call, and holds a lock meanwhile, which no thread of a forked child gives back.
    """
    return tempfile.gettempdir() if tempfile.tempdir is not None else in_gate(tempfile.gettempdir)


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Open a file for writing bytes that replaces `path` when the block ends without an error.

    Until then the bytes are in a hidden file in the same folder, which is removed after an error.  Readers see the old
    content or the new content, even after a power cut.  The new file has the mode of the old one, and its owner and
    access list where the system permits.  A link is followed.  A device or a pipe is written to directly.  To a URL the
    whole file is uploaded when the block ends; before that its bytes are in a temporary file.

    Raises an `OSError` naming `path` when the system reports one, and the errors of `check_replaceable` and
    `check_upload`.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with replacing(Path(folder, "a.bin")) as file:
    ...         _ = file.write(b"whole")
    ...     Path(folder, "a.bin").read_bytes()
    b'whole'
    """
    if is_remote(path):
        with _uploading(os.fspath(path)) as file:
            yield file
        return
    check_file_name(path)
    path = local_path(path, "")
    target = Path(os.path.realpath(path))
    if target.exists() and not target.is_file():
        with naming_unnamed(path), target.open("wb") as file:
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
    """A new file that will replace `path`.

    Write to `file`, whose name is `temporary`, then call `finish` and `move`; call `discard` in any case.  Raises the
    errors of `replacing`.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._path, self._target = path, Path(os.path.realpath(path))
        old = check_replaceable(path)
        if old is not None and not stat.S_ISREG(old.st_mode):
            problem = "the path is not a regular file; expected a file or a new name"
            raise FileExistsError(errno.EEXIST, problem, os.fspath(path))
        self.temporary = self._target.with_name(temporary_name(self._target.name))
        with self.naming():
            # the umask decides the permissions of a new file; a file that replaces another is private at first
            self._new = NewFile(str(self.temporary), 0o666 if old is None else 0o600)
            self.file: BinaryIO = BufferedWriter(self._new.raw)
            try:
                if old is not None:
                    _copy_status(self._target, old, self.temporary)
            except BaseException:
                self.discard()
                raise

    def finish(self) -> None:
        """Flush all bytes to the disk."""
        with self.naming(), self.file:
            self.file.flush()
            os.fsync(self.file.fileno())

    def move(self) -> None:
        """Replace the target; on Windows, where this fails while the target is open elsewhere, within two seconds."""
        with self.naming():
            for pause in _PAUSES if sys.platform == "win32" else ():
                with suppress(PermissionError):
                    self._new.move(str(self._target))
                    return
                time.sleep(pause)
            self._new.move(str(self._target))

    def discard(self) -> None:
        """Remove the file unless it was moved."""
        with suppress(OSError):  # buffered bytes may not fit the disk, but they are not needed
            self.file.close()
        self._new.discard()

    @contextmanager
    def naming(self) -> Iterator[None]:
        """Make system errors name the target instead of the temporary file."""
        with naming_unnamed(self._path, self.temporary):
            yield


def remove_left_over(path: Path) -> None:
    """Remove a file that an earlier run has left, if it is still there.

    On Windows a file that somebody has open stays: a run that ends later than it should still writes it.
    """
    try:
        path.unlink(missing_ok=True)
    except PermissionError:
        if sys.platform != "win32":
            raise


def check_replaceable(path: str | os.PathLike[str]) -> os.stat_result | None:
    """Refuse to replace a file that is not writable; return its status, `None` if it does not exist.

    Raises `PermissionError` naming `path` when no mode bit allows writing, even for root, or when the system denies
    it; an `OSError` with EMLINK when the file has hard links, which would keep the old content.
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
        problem = f"the file has {status.st_nlink} names (hard links); delete this one first, or choose another name"
        raise OSError(errno.EMLINK, problem, name)
    return status


def temporary_name(name: str) -> str:
    """Return a random hidden name for a file that will be renamed to `name`."""
    head = os.fsencode(name)[:_NAME_BYTES].decode("utf-8", "ignore")
    return f".{head}.{os.urandom(6).hex()}.tmp"


def sync_folder(folder: Path) -> None:
    """Flush the names in a folder to the disk, where the system supports it."""
    try:
        temporary.sync_folder(str(folder))
    except PermissionError:  # the folder may be written but not listed, or the system does not open folders
        return
    except OSError as error:
        if error.errno not in _NOT_FOR_FOLDERS:
            raise OSError(error.errno, error.strerror, os.fspath(folder)) from None


def _copy_status(target: Path, old: os.stat_result, new_path: Path) -> None:
    """Give a new file the owner, mode and access list of the file that it replaces, but never more rights."""
    for owner in (old.st_uid, -1):
        with suppress(OSError, AttributeError):
            os.chown(new_path, owner, old.st_gid)
            break
    new = new_path.stat()
    if (new.st_uid, new.st_gid) == (old.st_uid, old.st_gid):
        safe_import("shutil")
        import shutil

        shutil.copystat(target, new_path)
        os.utime(new_path)
        return
    mode = stat.S_IMODE(old.st_mode) & 0o777
    if new.st_gid != old.st_gid:
        # a different group gets only the rights of others
        mode &= ~0o070 | (mode & 0o007) << 3
    new_path.chmod(mode)


def is_url(name: str) -> bool:
    """Return whether a name is a URL.

    >>> is_url("s3://bucket/a.jsonl"), is_url("simplecache::s3://bucket/a.jsonl"), is_url("a/b.jsonl")
    (True, True, False)
    """
    return _URL.match(name) is not None


def is_remote(path: StrPath) -> bool:
    """Return whether a path is a URL other than a `file://` one, whose file is on this machine."""
    name = os.fspath(path)
    return isinstance(name, str) and is_url(name) and not name.startswith(_LOCAL)


def local_path(
    path: StrPath, problem: str, way: str = "use a local folder, and upload it when it is complete", *,
    argument: str = "path",
) -> Path:  # fmt: skip
    """Return the path of what must be on this machine; a `file://` URL is a path.

    Raises `ValueError` naming another URL, the problem with it, and the way out; `NotADirectoryError` for the name of a
    file with a slash after it; otherwise as `checked_path`.

    >>> local_path("file:///tmp/a", "").as_posix()
    '/tmp/a'
    """
    name = os.fspath(checked_path(argument, path))
    if is_remote(path):
        raise ValueError(f"{name}: {problem}; {way}")
    found = _PATH_OF_URL.match(name) if isinstance(name, str) else None
    if found is not None and not Path(name).parts[0].endswith(os.sep) and not Path(f"{found[1]}:").exists():
        raise ValueError(f"{name}: expected a path of this machine; if this is a URL, it needs two slashes, as a str")
    local = path_of_local_url(name) if isinstance(name, str) else Path(name)
    if names_folder(name) and local.exists() and not local.is_dir():
        raise NotADirectoryError(errno.ENOTDIR, "this is a file; leave out the slash after its name", name)
    return local


def path_of_local_url(name: str) -> Path:
    """Return the path that a `file://` URL names, or the path itself.

    >>> path_of_local_url("file:///tmp/a").as_posix()
    '/tmp/a'
    """
    path = name.removeprefix(_LOCAL)
    return Path(path[1:] if sys.platform == "win32" and path != name and _DRIVE.match(path) else path)


def check_upload(url: str) -> tuple[Any, str]:
    """Return the file system of a URL to which a file can be written, and the path in it, before work begins.

    Raises `ValueError` naming a URL to which no file can be written, `ImportError` when fsspec or the package for the
    scheme is missing, `OSError` naming the URL when it is a folder or its server cannot be asked.
    """
    scheme = url.partition("://")[0]
    if "::" in url or scheme in _READ_ONLY:
        kind = "a chain of URLs" if "::" in url else f"{scheme}://"
        raise ValueError(f"{url}: nothing can be written to {kind}; write to a local file, and upload it")
    with naming_url(url):
        system, path = file_system(url)
        try:
            is_folder = url.endswith("/") or system.info(path)["type"] == "directory"
        except (FileNotFoundError, PermissionError):  # who may write need not be allowed to read
            is_folder = False
    if is_folder:
        raise IsADirectoryError(errno.EISDIR, "this is a folder; expected the URL of a file", url)
    return system, path


@contextmanager
def _uploading(url: str) -> Iterator[BinaryIO]:
    """Open a local file for bytes that is uploaded as a whole when the block ends without an error."""
    system, path = check_upload(url)
    folder = temporary_folder()
    local = Path(folder.path, "upload")
    try:
        with local.open("w+b") as file:
            yield file
        try:
            with naming_url(url):
                system.put_file(str(local), path)
                size, wanted = system.info(path)["size"], local.stat().st_size
                if size not in (wanted, None):
                    raise OSError(errno.EIO, f"the server has {size} of {wanted} bytes", url)
        except OSError as error:
            folder.keep()
            raise OSError(error.errno, f"{error.strerror}; what was to be uploaded is kept as {local}", url) from error
    finally:
        folder.discard()


def file_system(url: str) -> tuple[Any, str]:
    """Return the file system of a URL, and the path in it."""
    try:
        safe_import("fsspec.core")
        from fsspec.core import url_to_fs
    except ImportError as error:
        raise ImportError(f"{url}: URLs need fsspec; install it with: pip install 'bbpe[fsspec]'") from error
    try:
        system, path = in_gate(lambda: url_to_fs(url))  # it imports what its protocol needs
    except ValueError as error:
        raise CorpusError(f"{url}: {error}") from error
    except ImportError as error:
        raise ImportError(f"{url}: {' '.join(str(error).split())}") from error
    return system, str(path)


@contextmanager
def naming_url(url: str) -> Iterator[None]:
    """Convert what packages for servers raise to an `OSError` with a number that names the URL."""
    try:
        yield
    except (CorpusError, ImportError, MemoryError):
        raise
    except Exception as error:
        number = getattr(error, "errno", None) or (errno.ENOENT if isinstance(error, FileNotFoundError) else errno.EIO)
        # packages raise FileNotFoundError with the path alone
        problem = " ".join(str(error).split()) if number != errno.ENOENT else os.strerror(errno.ENOENT)
        problem = problem or type(error).__name__
        raise OSError(number, getattr(error, "strerror", None) or problem, url) from error


@contextmanager
def naming_unnamed(path: str | os.PathLike[str], temporary: Path | None = None) -> Iterator[None]:
    """Make system errors that name no file, or the temporary one, name a path: a failed write names none."""
    try:
        yield
    except OSError as error:
        unnamed = error.filename is None or error.filename == str(temporary)
        if error.errno is None or not unnamed:
            raise
        raise OSError(error.errno, error.strerror, os.fspath(path)) from None
