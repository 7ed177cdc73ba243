"""The work of an executor: count a part of a corpus, and write the counts to a run."""

from __future__ import annotations

from pathlib import Path

from ..corpus.chunks import ChunkOptions
from ..lazy import threading
from ..records import dataclass, replace
from .corpus_parts import Part
from .counter import PartCounter
from .counts import Summary
from .spill import write_run


@dataclass(frozen=True)
class RunTask:
    """A part of a corpus, its number, and the run that its counts go to."""

    number: int
    path: Path
    part: Part


def count_to_run(options: ChunkOptions, parts: int, task: RunTask) -> tuple[Summary, tuple[int, int]]:
    """Count a part, wherever an executor runs this, and write a run of so many parts of the hash space.

    Returns what was in the part, and the number of unique pretokens and their bytes.
    """
    counter = PartCounter(options)
    counter.put(task.number, task.part)
    total = counter.held.table.total
    found = write_run(task.path, counter.held.emptied, parts, threading.Event(), kept=True)
    return replace(counter.drain(), pretokens=total, unique=found[0]), found
