"""A folder that remembers how far a count is, so that one that was killed goes on where it was.

`state.json` says what is being counted and how, which run files hold the counts so far, and the place behind the last
text in them.  It is replaced as a whole after the runs that it names are written, so at any moment the folder holds
one consistent state; files that it does not name are left over and replaced.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from .chunks import Place
from .counts import Summary
from .errors import CorpusError
from .files import StrPath, write_atomic

_VERSION = 1


@dataclass(frozen=True)
class State:
    """How far a count is: the place, the number of the next chunk, what was read, and the runs that hold it.

    `parts`: of the hash space, in each run; 0 before the first.  `ended`: nothing is left to read.
    """

    place: Place = field(default_factory=Place)
    chunk: int = 0
    summary: Summary = field(default_factory=Summary)
    runs: tuple[str, ...] = ()
    parts: int = 0
    ended: bool = False


class Checkpoint:
    """The folder of one count; `identity` is plain data that says what is counted and how.

    Raises `OSError` when the folder cannot be made.
    """

    def __init__(self, folder: StrPath, identity: Mapping[str, Any]) -> None:
        self.folder = Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True)
        # as it comes back from the file
        self._identity: dict[str, Any] = json.loads(json.dumps(identity))
        self._path = self.folder / "state.json"

    def load(self) -> State:
        """Return where to go on, from the beginning if the folder is new.

        Raises `CorpusError` naming the file when it is of another count, saying what differs, or broken.
        """
        if not self._path.exists():
            self._tidy(())
            return State()
        try:
            record = json.loads(self._path.read_bytes())
            identity, state = record["identity"], record["state"]
            if record["version"] != _VERSION:
                raise ValueError(f"version {record['version']}")
            found = State(
                Place(**state["place"]),
                state["chunk"],
                Summary(**state["summary"]),
                tuple(state["runs"]),
                state["parts"],
                state["ended"],
            )
        except (ValueError, KeyError, TypeError) as error:
            raise CorpusError(f"{self._path}: expected the state of a count: {error}; delete the folder") from error
        for key, mine in self._identity.items():
            if identity.get(key) != mine:
                raise CorpusError(
                    f"{self._path}: this checkpoint is of another count: {_difference(key, identity.get(key), mine)}; "
                    "use another folder, or delete this one"
                )
        for run in found.runs:
            if not (self.folder / run).is_file():
                raise CorpusError(f"{self.folder / run}: a file of the checkpoint is gone; delete the folder")
        self._tidy(found.runs)
        return found

    def _tidy(self, runs: tuple[str, ...]) -> None:
        """Delete what a killed process left over."""
        for pattern in ("run-*.parquet", "part-*.parquet", ".*.tmp"):
            for path in self.folder.glob(pattern):
                if path.name not in runs:
                    path.unlink(missing_ok=True)

    def save(self, state: State) -> None:
        """Write where to go on."""
        record = {"version": _VERSION, "identity": self._identity, "state": asdict(state)}
        write_atomic(self._path, json.dumps(record).encode())


def _difference(key: str, theirs: Any, mine: Any) -> str:
    if isinstance(theirs, list) and isinstance(mine, list):
        for number, (a, b) in enumerate(zip(theirs, mine, strict=False)):
            if a != b:
                return f"{key}: number {number} was {a!r}, now {b!r}"
        return f"{key}: there were {len(theirs)}, now {len(mine)}"
    return f"{key} was {theirs!r}, now {mine!r}"
