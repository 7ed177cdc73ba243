"""A folder that remembers how far a count is, so that one that was killed goes on where it was.

`bbpe-checkpoint.json` marks the folder as ours, and is locked while a process counts there.  `state.json` says what is
being counted and how, which run files hold the counts so far, and the place after the last text in them.  It is
replaced as a whole after the runs that it names are written, so at any moment the folder holds one consistent state.
Files of our names that it does not name are left over and deleted; no other file is touched.

Each process that counts gives its files random names.  So where the file system has no locks, a second process ends
with an error, never with wrong counts.
"""

from __future__ import annotations

import errno
import json
import os
import re
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn, Self
from weakref import WeakValueDictionary

from ..core.temporary import Opener
from ..corpus.chunks import Position
from ..corpus.rowfiles import LEAST_PARTS, MOST_PARTS, RunReader
from ..errors import CorpusError
from ..files import StrPath, local_path, remove_left_over, write_atomic
from ..lazy import hashlib, lazy_re, safe_import, secrets
from ..records import asdict, dataclass, field, fields
from ..text import counted, first_few
from .counts import Summary

_VERSION = 4
_MARKER, _STATE = "bbpe-checkpoint.json", "state.json"
_MARK = f'{{"format": "bbpe checkpoint", "version": {_VERSION}}}\n'.encode()
#: Files of counts, and what a killed process leaves of the files that it was writing.
_RUN = lazy_re(r"bbpe-run-\d{5,12}-[0-9a-f]{12}\.parquet")
_LEFT_OVER = lazy_re(
    rf"(?:{_RUN.pattern}|bbpe-part-\d{{5,12}}-[0-9a-f]{{12}}\.parquet"
    rf"|\.(?:bbpe-run-[\w-]+\.parquet|{re.escape(_STATE)})\.[0-9a-f]{{12}}\.tmp)",
    re.ASCII,
)
#: Numbers in a state are below this, and those of chunks fit the upper half of a place.
_MOST, _MOST_CHUNKS = 2**63, 2**32
#: Names of files that a checkpoint may have.
WRITTEN = (_MARKER, _STATE, "bbpe-run-00001-000000000000.parquet")
_START_AGAIN = "delete the folder to start again"
#: What a file system answers that has no locks.
_NO_LOCKS = (errno.ENOLCK, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.EINVAL)
#: The byte of a file that is locked on Windows.
_BEYOND = 1 << 30
#: Who holds which folder in this process, by process and inode: such locks do not keep a process from itself.
_HELD = WeakValueDictionary[tuple[int, int, int], "FolderLock"]()


@dataclass(frozen=True)
class State:
    """How far a count is: the place, the number of the next chunk, what was read, and the runs that hold it.

    `parts`: of the hash space, in each run; 0 before the first.  `ended`: nothing is left to read.
    """

    place: Position = field(default_factory=Position)
    chunk: int = 0
    summary: Summary = field(default_factory=Summary)
    runs: tuple[str, ...] = ()
    parts: int = 0
    ended: bool = False


def checkpoint_folder(folder: StrPath) -> Path:
    """Return the path of a checkpoint; `ValueError` on a URL."""
    problem = "a checkpoint is a folder of a machine, whose files are replaced again and again"
    return local_path(folder, problem, argument="checkpoint")


class Checkpoint:
    """The folder of one count; `identity` is plain data that says what is counted and how.  A context manager.

    Raises `CorpusError` when the folder holds files and is not ours, when it is of another version, or when another
    count is using it; `OSError` when it cannot be made.
    """

    def __init__(self, folder: StrPath, identity: Mapping[str, Any]) -> None:
        self.folder = checkpoint_folder(folder)
        self.folder.mkdir(parents=True, exist_ok=True)
        # as it comes back from the file
        self._identity: dict[str, Any] = json.loads(json.dumps(identity))
        self._path = self.folder / _STATE
        self._token = secrets.token_hex(6)
        self._digests: dict[str, dict[str, Any]] = {}
        self._lock = self._taken()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._lock.release()

    def name(self, kind: str, number: int) -> Path:
        """Return the path of a new file of counts of this process; `kind` is "run" or "part"."""
        return self.folder / file_name(kind, number, self._token)

    def load(self) -> State:
        """Return where to go on, from the beginning if the folder is new.

        Raises `CorpusError` naming the file when it is of another count, saying what differs, or broken.
        """
        if not self._path.exists():
            self._tidy(())
            return State()
        try:
            record = json.loads(self._path.read_bytes(), parse_constant=_refuse_constant)
            found = _state_of(record)
        except (ValueError, TypeError, RecursionError) as error:
            raise CorpusError(f"{self._path}: expected the state of a count: {error}; {_START_AGAIN}") from error
        identity = record["identity"]
        for key, mine in self._identity.items():
            if identity.get(key) != mine:
                raise CorpusError(
                    f"{self._path}: this checkpoint is of another count: {_difference(key, identity.get(key), mine)}; "
                    "use another folder, or delete this one"
                )
        self._check_place(found)
        for run in record["state"]["runs"]:
            self._check_run(run, found.parts)
            self._digests[run["name"]] = run
        self._tidy(found.runs)
        return found

    def save(self, state: State) -> None:
        """Write where to go on."""
        runs = [self._described(run) for run in state.runs]
        record = {"identity": self._identity, "state": {**asdict(state), "runs": runs}}
        sealed = {"version": _VERSION, **record, "digest": _digest_of(record)}
        write_atomic(self._path, json.dumps(sealed).encode())

    def _taken(self) -> FolderLock:
        marker = self.folder / _MARKER
        if not marker.exists():
            others = sorted(entry.name for entry in self.folder.iterdir())
            # another process may have made the marker just now
            if others and _MARKER not in others:
                shown = first_few([*map(repr, others)], 4)
                raise CorpusError(
                    f"{self.folder}: the folder is no checkpoint of bbpe and holds {shown}; expected a new or empty "
                    "folder, or one that an earlier count made"
                )
        try:
            lock = FolderLock(marker)
        except BlockingIOError:
            raise CorpusError(
                f"{self.folder}: another count is using this checkpoint folder; wait until it ends, or use another "
                "folder"
            ) from None
        found = lock.content(_MARK)
        if found != _MARK:
            lock.release()
            raise CorpusError(
                f"{marker}: found {found[:80]!r}, expected {_MARK!r}: the checkpoint is of another version of bbpe, or "
                f"damaged; use another folder, or {_START_AGAIN}"
            )
        return lock

    def _check_place(self, state: State) -> None:
        """Refuse a place that is not in the corpus."""
        files, place = self._identity.get("files"), state.place
        count = len(files) if isinstance(files, list) else 1
        inside = place.source < count or place == Position(count)
        if inside and isinstance(files, list) and place.source < count:
            _, size, _, is_plain = files[place.source]
            inside = not is_plain or place.byte <= size
        if not inside:
            raise CorpusError(f"{self._path}: {place} is not in the corpus, of {count} sources; {_START_AGAIN}")

    def _check_run(self, run: Mapping[str, Any], parts: int) -> None:
        path = self.folder / run["name"]
        if not path.is_file():
            raise CorpusError(f"{path}: a file of the checkpoint is gone; {_START_AGAIN}")
        found = self._described(path.name)
        if found != run:
            told = f"{counted(found['bytes'], 'byte')} of digest {found['digest']}"
            told += f", expected {run['bytes']:,} of {run['digest']}"
            raise CorpusError(f"{path}: a file of the checkpoint was changed: {told}; {_START_AGAIN}")
        reader = RunReader(path)
        reader.close()
        if reader.groups != parts:
            found_parts = counted(reader.groups, "part")
            raise CorpusError(f"{path}: found {found_parts}, and {self._path} says {parts}; {_START_AGAIN}")

    def _described(self, run: str) -> dict[str, Any]:
        """Return what the state says of a run, by which a change of it is found."""
        if run not in self._digests:
            with (self.folder / run).open("rb") as file:
                digest = hashlib.file_digest(file, _blake).hexdigest()
                self._digests[run] = {"name": run, "bytes": file.tell(), "digest": digest}
        return self._digests[run]

    def _tidy(self, runs: tuple[str, ...]) -> None:
        """Delete what a killed process left over."""
        for path in self.folder.iterdir():
            if _LEFT_OVER.fullmatch(path.name) and path.name not in runs:
                remove_left_over(path)


def file_name(kind: str, number: int, token: str) -> str:
    """Return how a file of counts is called; `kind` is "run" or "part", `token` is that of the process."""
    return f"bbpe-{kind}-{number:05}-{token}.parquet"


def _blake() -> Any:
    return hashlib.blake2b(digest_size=16)


def _digest_of(record: Mapping[str, Any]) -> str:
    text = json.dumps({key: record[key] for key in ("identity", "state")}, sort_keys=True)
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"found {name}, expected a number")


def _state_of(record: Any) -> State:
    """Check each field of what a file says; `ValueError` or `TypeError` on what `save` does not write."""
    if isinstance(record, dict) and record.get("version") != _VERSION:
        raise ValueError(f"version is {_short(record.get('version'))}; expected {_VERSION}")
    _record(record, ("version", "identity", "state", "digest"), "the file")
    _expect(record["identity"], dict, "identity")
    state = _record(record["state"], [row.name for row in fields(State)], "state")
    place = _numbers(Position, state["place"], "place")
    summary = _numbers(Summary, state["summary"], "summary")
    chunk = _number(state["chunk"], "chunk", _MOST_CHUNKS)
    parts = _number(state["parts"], "parts", MOST_PARTS + 1)
    if parts < LEAST_PARTS or parts & (parts - 1):
        raise ValueError(f"parts is {parts}; expected a power of two from {LEAST_PARTS} to {MOST_PARTS}")
    names = [_run_name(run) for run in _expect(state["runs"], list, "runs")]
    if len(set(names)) != len(names):
        raise ValueError(f"a run is named twice: {', '.join(names)}")
    ended = _expect(state["ended"], bool, "ended")
    if record["digest"] != _digest_of(record):
        raise ValueError("its digest is of something else; the file was changed")
    return State(place, chunk, summary, tuple(names), parts, ended)


def _run_name(run: Any) -> str:
    _record(run, ("name", "bytes", "digest"), "a run")
    name: str = _expect(run["name"], str, "the name of a run")
    if not _RUN.fullmatch(name):
        raise ValueError(f"a run is called {_short(name)}; expected such as {file_name('run', 0, '0' * 12)!r}")
    _number(run["bytes"], "the bytes of a run", _MOST)
    _expect(run["digest"], str, "the digest of a run")
    return name


def _record(value: Any, names: Sequence[str], what: str) -> dict[str, Any]:
    found: dict[str, Any] = _expect(value, dict, what)
    if set(found) != set(names):
        raise ValueError(f"{what} has the fields {_short(', '.join(found))}; expected {', '.join(names)}")
    return found


def _numbers(kind: type[Any], value: Any, what: str) -> Any:
    found = _record(value, [row.name for row in fields(kind)], what)
    return kind(**{key: _number(number, f"{what}.{key}", _MOST) for key, number in found.items()})


def _number(value: Any, name: str, limit: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError(f"{name} is {_short(value)}; expected a whole number")
    if not 0 <= value < limit:
        raise ValueError(f"{name} is {_short(value)}; expected 0 to {limit - 1}")
    return value


def _expect(value: Any, kind: type[Any], name: str) -> Any:
    if not isinstance(value, kind):
        raise TypeError(f"{name} is {_short(value)}; expected {kind.__name__}")
    return value


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:60]}..."


def _difference(key: str, theirs: Any, mine: Any) -> str:
    if isinstance(theirs, list) and isinstance(mine, list):
        for number, (a, b) in enumerate(zip(theirs, mine, strict=False)):
            if a != b:
                return f"{key}: number {number} was {a!r}, now {b!r}"
        return f"{key}: there were {len(theirs)}, now {len(mine)}"
    return f"{key} was {theirs!r}, now {mine!r}"


class FolderLock:
    """Holds a lock on a file of a folder, which is made if it is not there.

    The system releases it when the process dies.  On POSIX forked processes do not inherit it, and it works over NFS; a
    process loses it when it closes the file, so nothing else may open it.  Where the file system has no locks there is
    none, but for other threads of the process.

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
    """Lock a file for this process, or raise `BlockingIOError`."""
    try:
        if sys.platform == "win32":
            safe_import("msvcrt")
            import msvcrt

            # Windows also denies reading to others, so lock a byte past the end of the file
            os.lseek(handle, _BEYOND, os.SEEK_SET)
            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
        else:
            safe_import("fcntl")
            import fcntl

            fcntl.lockf(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except ImportError:  # a system without such locks
        return
    except OSError as error:
        # wine names no cause where the byte is locked
        if error.errno in (errno.EACCES, errno.EAGAIN, errno.EDEADLK) or not error.errno:
            raise BlockingIOError(error.errno, error.strerror) from None
        if error.errno not in _NO_LOCKS:
            raise
