"""How many rooms a reader walks through who follows one call: `python tests/support/journeys.py` prints a table.

A room is a module of the package of which a function is called, and a change is a call in another room than the call
before.  Functions that dataclasses generate have no line to read and do not count, nor do those of
`bbpe.records` and `bbpe.lazy`.
Each journey is made twice, and the second time counts, when caches are full and lazy imports are done.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from types import FrameType
from typing import Any

import bbpe

PACKAGE = str(Path(bbpe.__file__).parent)
OFF_THE_WAY = {str(Path(bbpe.__file__).parent / name) for name in ("records.py", "lazy.py")}


@dataclass(frozen=True)
class Journey:
    """The calls of a journey in order: rooms, and functions in them."""

    calls: tuple[tuple[str, str], ...]

    @property
    def rooms(self) -> int:
        return len({room for room, _ in self.calls})

    @property
    def changes(self) -> int:
        return sum(one[0] != other[0] for one, other in pairwise(self.calls))

    def __str__(self) -> str:
        lines: list[str] = []
        for number, (room, function) in enumerate(self.calls):
            if number == 0 or room != self.calls[number - 1][0]:
                lines.append(f"  {room}:")
            lines[-1] += f" {function}"
        return "\n".join([f"{len(self.calls)} calls, {self.rooms} rooms, {self.changes} changes", *lines])


def journey(call: Callable[[], object]) -> Journey:
    """Return the way that a call takes through the package, in this thread."""
    calls: list[tuple[str, str]] = []

    def note(frame: FrameType, event: str, _argument: Any) -> None:
        name = frame.f_code.co_filename
        if event == "call" and name.startswith(PACKAGE) and name not in OFF_THE_WAY:
            calls.append((Path(name).relative_to(PACKAGE).as_posix(), frame.f_code.co_name))

    call()
    sys.setprofile(note)
    try:
        call()
    finally:
        sys.setprofile(None)
    return Journey(tuple(calls))


def main() -> None:
    """Print the journeys of the main calls on a small file."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "a.txt")
        path.write_text("low lower lowest")
        tok, saved = bbpe.train(path, 258), Path(folder, "tokenizer.json")
        tok.save(saved)
        journeys: dict[str, Callable[[], object]] = {
            "encode(text)": lambda: tok.encode("low"),
            "encode_batch(texts)": lambda: tok.encode_batch(["low", "lower"]),
            "encode_batch_to_numpy(texts)": lambda: tok.encode_batch_to_numpy(["low", "lower"]),
            "load(tokenizer.json)": lambda: bbpe.load(saved),
            "count(file)": lambda: bbpe.count(path, pattern="gpt2"),
            "train(file)": lambda: bbpe.train(path, 258),
            "train(file, model='wordpiece')": lambda: bbpe.train(path, 30, model="wordpiece"),
            "train(file, model='unigram')": lambda: bbpe.train(path, 300, model="unigram"),
        }
        for name, call in journeys.items():
            sys.stdout.write(f"{name}: {journey(call)}\n\n")


if __name__ == "__main__":
    main()
