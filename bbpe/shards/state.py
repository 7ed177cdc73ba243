"""What a folder of shards shows about its parts: done, being written, or failed.

No worker needs to register anywhere.  The names of the folder say which parts are done, and the times of temporary
files say which ones somebody writes now.  A part that failed has a small file `part-00017.failed`, which a later
success removes; no other file depends on it.
"""

from __future__ import annotations

import errno
import json
import os
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from ..files import write_atomic
from ..lazy import lazy_re
from ..records import dataclass, field
from ..text import shortened

#: The suffix of the note on a part that failed.
FAILED = ".failed"
#: A part without a write for this many seconds is not running.
IDLE = 120.0
#: Files of parts that are not published yet (see `bbpe.files.temporary_name`), but for notes on failures.
_TEMPORARY = lazy_re(r"\.part-(\d{5,})\.(?!failed\.).*\.[0-9a-f]{12}\.tmp")
_NAMED = lazy_re(r"part-(\d{5,})\.(json|failed)")
_SPAN = lazy_re(r"([0-9]+)(?:-([0-9]+))?")
#: No plan has a part of a larger number.
_LAST = 10**7
#: The characters of an error that a note keeps.
_KEPT = 2000


@dataclass(frozen=True)
class PartFailure:
    """Why the last attempt to write a part failed.

    Attributes:
        part: The number of the part.
        error: The name of the error, such as "CorpusError".
        message: Its message.
        host: The machine; empty where the system does not say it.
        time: Seconds since 1970; 0 where the part was written, and its files were damaged later.
    """

    part: int
    error: str
    message: str
    host: str = ""
    time: float = 0.0

    def __str__(self) -> str:
        when = time.strftime(", %Y-%m-%d %H:%M:%S", time.localtime(self.time)) if self.time else ""
        return f"part {self.part}{f' on {self.host}' if self.host else ''}{when}: {self.error}: {self.message}"


@dataclass
class Listing:
    """The parts that the names in a folder show, from one listing.

    `temporary` has the names of the files of each part that somebody writes or left.
    """

    done: set[int] = field(default_factory=set)
    failed: set[int] = field(default_factory=set)
    temporary: dict[int, list[str]] = field(default_factory=dict)


def check_folder(path: Path) -> None:
    """Raise `NotADirectoryError` when a path for shards is that of a file."""
    if path.exists() and not path.is_dir():
        raise NotADirectoryError(errno.ENOTDIR, "the path is a file; expected a folder for shards", str(path))


@contextmanager
def naming_no_plan() -> Iterator[None]:
    """Make the error about a plan that is not there say what is there in its place."""
    try:
        yield
    except (FileNotFoundError, NotADirectoryError) as error:
        path = Path(error.filename)
        folder = path if isinstance(error, NotADirectoryError) else path.parent
        problem = "the folder has no plan.json, so no shards" if folder.is_dir() else "no such folder"
        problem = "the path is a file" if folder.is_file() else problem
        way = "expected a folder that bbpe.shard wrote; bbpe.open_shards reads files of other programs"
        raise FileNotFoundError(errno.ENOENT, f"{problem}; {way}", str(folder)) from None


def listing(folder: Path) -> Listing:
    """List a folder of shards once, without a look at any file."""
    found = Listing()
    with os.scandir(folder) as entries:
        for entry in entries:
            name = entry.name
            if (named := _NAMED.fullmatch(name)) is not None:
                (found.done if named[2] == "json" else found.failed).add(int(named[1]))
            elif name.startswith(".part-") and (written := _TEMPORARY.fullmatch(name)) is not None:
                found.temporary.setdefault(int(written[1]), []).append(name)
    return found


def is_written(folder: Path, names: list[str], idle: float) -> bool:
    """Return whether one of these temporary files was written to within the last `idle` seconds."""
    now = time.time()
    for name in names:
        with suppress(FileNotFoundError):  # published or removed meanwhile
            if now - (folder / name).stat().st_mtime < idle:
                return True
    return False


def written_parts(folder: Path, found: Listing, idle: float = IDLE) -> list[int]:
    """Return the parts that are not done and that somebody writes now, in order."""
    left = sorted(found.temporary.keys() - found.done)
    return [number for number in left if is_written(folder, found.temporary[number], idle)]


def note_failure(stem: Path, plan: str, number: int, error: Exception) -> None:
    """Write the note on a part that failed; a folder that cannot be written to does not hide the error itself."""
    host = os.uname().nodename if hasattr(os, "uname") else os.environ.get("COMPUTERNAME", "")
    message = shortened(" ".join(str(error).split()), _KEPT)
    record = {"part": number, "error": type(error).__name__, "message": message, "host": host, "time": time.time()}
    with suppress(OSError):
        write_atomic(_note(stem), json.dumps({"plan": plan, **record}).encode())


def forget_failure(stem: Path) -> None:
    """Remove the note on a part, if there is one."""
    _note(stem).unlink(missing_ok=True)


def read_failure(stem: Path, plan: str, number: int) -> PartFailure | None:
    """Return the note on a part; `None` when there is none, or that of another plan."""
    try:
        record = json.loads(_note(stem).read_bytes())
        return PartFailure(**record) if record.pop("plan") == plan else None
    except FileNotFoundError:
        return None
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        return PartFailure(number, "CorpusError", f"{_note(stem)}: expected the note on a failed part: {error!r}")


def _note(stem: Path) -> Path:
    return stem.with_name(stem.name + FAILED)


def numbers_text(numbers: Iterable[int]) -> str:
    """Return numbers in order as a list with ranges, which `numbers_of` reads.

    >>> numbers_text([3, 17, 18, 19, 25, 26])
    '3,17-19,25-26'
    """
    spans: list[list[int]] = []
    for number in numbers:
        if spans and spans[-1][1] == number - 1:
            spans[-1][1] = number
        else:
            spans.append([number, number])
    return ",".join(f"{first}" if first == last else f"{first}-{last}" for first, last in spans)


def numbers_of(text: str) -> list[int]:
    """Read a list with ranges, in order; `ValueError` when it is none, or names a number twice.

    >>> numbers_of("3,17-19")
    [3, 17, 18, 19]
    """
    numbers: list[int] = []
    for span in text.split(","):
        if (found := _SPAN.fullmatch(span)) is None or int(found[2] or found[1]) < int(found[1]):
            raise ValueError(f"expected numbers and ranges such as 3,17-19, not {text!r}")
        first, last = int(found[1]), int(found[2] or found[1])
        if last > _LAST:
            raise ValueError(f"expected numbers of parts, not {last}")
        numbers += range(first, last + 1)
    if len(set(numbers)) < len(numbers):
        raise ValueError(f"expected each part once, not {text!r}")
    return sorted(numbers)
