"""Counts of chunks, by several workers, in bounded memory: kept in tables, and written out when these are full.

Each worker counts into a table of its own, and each chunk has a number, so the place of a pretoken's first
appearance is known without being stored: tables keep the order in which they grew.  A run is what the tables
held when they were full: rows (pretoken, count, place) in a Parquet file, a row group for each part of the hash
space.  In the end each part is summed by itself, and its rows go, in the order of their places, to buckets,
which one behind another hold the whole in the order of first appearance.  No step holds more than the tables did.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import pairwise
from pathlib import Path
from threading import Event

from ..core.count import PretokenTable
from ..core.rows import hashes, sum_rows
from ..corpus.rowfiles import LEAST_PARTS, MOST_PARTS, Counts, Rows, RunReader, regrouped, writing
from ..files import temporary_folder
from ..lazy import np
from ..progress import Progress
from ..records import replace
from ..threads import run_in_thread
from .counts import CountingSpec, PretokenCounts, Summary, counts_of, spilled_counts
from .options import Report


class Spill:
    """The run files of one count, and their sum; `name` gives names to files, `kept` is as in `write_run`.

    `largest`: the most unique pretokens, and bytes of them, that a run has, which all counts together have at least.
    """

    def __init__(
        self, name: Callable[[str, int], Path], runs: Sequence[Path], parts: int, room: int, *, kept: bool
    ) -> None:
        self.runs, self.parts, self._room = list(runs), parts, room
        self._name, self._kept = name, kept
        self.largest = (0, 0)
        self.stopped = Event()

    def path(self, number: int) -> Path:
        """Return the path of the run with this number."""
        return self._name("run", number)

    def write(self, take: Callable[[], Rows]) -> None:
        """Write the rows that `take()` returns, so that Ctrl-C is heard meanwhile."""
        path = self._name("run", len(self.runs))
        work = partial(write_run, path, take, self.parts, self.stopped, kept=self._kept)
        self.largest = max(self.largest, run_in_thread(work, self.stopped.set))
        self.runs.append(path)

    def rows(self, report: Report) -> Iterator[Rows]:
        """Yield the rows of the sum of all runs, in the order of first appearance."""
        steps, step = 2 * self.parts, 0
        source = merged(self.runs, self.parts, partial(self._name, "part"), self._room)
        while (rows := run_in_thread(lambda: next(source, None))) is not None:
            step += 1
            report(Progress("sum", min(step, steps), steps, "parts"))
            yield rows

    def counts(self, spec: CountingSpec, summary: Summary, report: Report, *, bounded: bool) -> PretokenCounts:
        """Return the sum of all runs: in a table, or in a file when memory is bounded."""
        if not bounded:
            table = PretokenTable()
            for rows in self.rows(report):
                table.add_arrays(rows.data, rows.offsets, rows.counts)
            return counts_of(table, spec, summary)
        folder = temporary_folder()
        path, unique, total = Path(folder.path, "counts.parquet"), 0, 0
        with writing(path, kept=False) as file:
            for rows in regrouped(self.rows(report)):
                file.write(rows)
                unique, total = unique + len(rows), total + sum(rows.counts.tolist())
        return spilled_counts(path, folder, spec, replace(summary, unique=unique, pretokens=total))


def parts_for(size: int | None, room: int) -> int:
    """Return how many parts of the hash space keep each below `room` bytes, for a corpus of `size` bytes."""
    parts = LEAST_PARTS
    # summing takes up to eight times the rows of a part, which are fewer bytes than the text
    while parts < MOST_PARTS and (64 if size is None else 8 * size // max(room, 1)) > parts:
        parts *= 2
    return parts


def write_run(
    path: Path, take: Callable[[], Rows], parts: int, stopped: Event, *, kept: bool = False
) -> tuple[int, int]:
    """Write the rows that `take()` returns to a run file; returns their number, and the bytes of pretokens.

    `kept`: another process may read it, after a power cut too.

    Raises `InterruptedError` soon after `stopped` is set.
    """
    rows = take()
    part_of = hashes(rows.data, rows.offsets)
    # the low bits place a pretoken in tables, so parts take the high ones
    part_of >>= np.uint64(32)
    part_of %= np.uint64(parts)
    small = part_of.astype(np.uint16)
    del part_of
    with writing(path, places=True, kept=kept) as file:
        for part in range(parts):
            if stopped.is_set():
                raise InterruptedError(f"{path} was not finished")
            file.write(rows.take(np.flatnonzero(small == part)))
    return len(rows), rows.data.nbytes


def merged(runs: Sequence[Path], parts: int, name: Callable[[int], Path], room: int) -> Iterator[Rows]:
    """Add up runs, and yield the rows of the sum in the order of their places; `name` gives names to files in between.

    Each time a part is done, a batch without rows comes, so that the caller can tell that it goes on.
    """
    files: list[Path] = []
    boundaries: Counts | None = None
    if not runs:
        return
    for part in range(parts):
        rows = _summed(runs, part, room)
        if boundaries is None:
            boundaries = _quantiles(rows, parts)
        path = name(part)
        _write_buckets(path, rows, boundaries)
        files.append(path)
        yield rows.slice(0, 0)
    if boundaries is None:
        return
    readers = [RunReader(path) for path in files]
    try:
        for bucket in range(len(boundaries) + 1):
            yield _in_order(Rows.join([reader.group(bucket) for reader in readers]))
    finally:
        for reader, path in zip(readers, files, strict=True):
            reader.close()
            path.unlink(missing_ok=True)


def _in_order(rows: Rows) -> Rows:
    assert rows.places is not None
    if (rows.places[1:] > rows.places[:-1]).all():
        return rows
    return rows.take(np.argsort(rows.places, kind="stable").astype(np.int64))


def _summed(runs: Iterable[Path], part: int, room: int) -> Rows:
    held: list[Rows] = []
    size = 0
    for run in runs:
        reader = RunReader(run)
        held.append(reader.group(part))
        reader.close()
        size += held[-1].data.nbytes + 24 * len(held[-1])
        if size > room // 4:
            held = [_sum(held)]
            size = 0
    return _sum(held)


def _sum(held: list[Rows]) -> Rows:
    """Add up equal rows, and forget what is held."""
    rows = Rows.join(held)
    held.clear()
    rows = _in_order(rows)
    firsts, sums = sum_rows(rows.data, rows.offsets, rows.counts)
    unique = rows.take(firsts)
    return Rows(unique.data, unique.offsets, sums, unique.places)


def _quantiles(rows: Rows, buckets: int) -> Counts:
    """Return the places that divide all rows about evenly; the rows of one part are a fair sample of all."""
    assert rows.places is not None
    if len(rows) < buckets:
        return np.empty(0, np.uint64)
    boundaries: Counts = rows.places[np.arange(1, buckets) * len(rows) // buckets]
    return boundaries


def _write_buckets(path: Path, rows: Rows, boundaries: Counts) -> None:
    assert rows.places is not None
    ends = [0, *np.searchsorted(rows.places, boundaries).tolist(), len(rows)]
    with writing(path, places=True, kept=False) as file:
        for start, stop in pairwise(ends):
            file.write(rows.slice(start, stop))
