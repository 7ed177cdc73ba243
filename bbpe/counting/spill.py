"""Counts of chunks, by several workers, in bounded memory: kept in tables, and written out when these are full.

Each worker counts into a table of its own, and each chunk has a number, so the place of a pretoken's first
appearance is known without being stored: tables keep the order in which they grew.  A run is what the tables
held when they were full: rows (pretoken, count, place) in a Parquet file, a row group for each part of the hash
space.  In the end each part is summed by itself, and its rows go, in the order of their places, to buckets,
which one behind another hold the whole in the order of first appearance.  No step holds more than the tables did.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import pairwise
from pathlib import Path
from threading import Event

import numpy as np

from ..core.count import PretokenTable
from ..core.rows import hashes, sum_rows
from ..corpus.rowfiles import LEAST_PARTS, MOST_PARTS, Counts, Rows, RunReader, writing

#: Places number the rows of a chunk below this bit, and the chunks above it.
_WITHIN = 32
#: Pretokens that are worth more than one thread when tables are added up, and those of one part: 5 ms.
_WORTH_THREADS, _PART = 1 << 14, 1 << 17


@dataclass
class WorkerTable:
    """A table that one worker fills, and how long it was when each chunk began."""

    table: PretokenTable = field(default_factory=PretokenTable)
    chunks: list[int] = field(default_factory=list)
    lengths: list[int] = field(default_factory=list)

    def begin(self, chunk: int) -> PretokenTable:
        """Return the table for counting a chunk; numbers rise from call to call."""
        length = len(self.table)
        if self.lengths and self.lengths[-1] == length:
            self.chunks[-1] = chunk  # the chunk before brought nothing new
        else:
            self.chunks.append(chunk)
            self.lengths.append(length)
        return self.table

    def places(self) -> Counts:
        """Return the place of each pretoken of the table, rising."""
        places = np.empty(len(self.table), np.uint64)
        stops = [*self.lengths[1:], len(self.table)]
        for chunk, start, stop in zip(self.chunks, self.lengths, stops, strict=True):
            first = chunk << _WITHIN
            places[start:stop] = np.arange(first, first + stop - start, dtype=np.uint64)
        return places

    def emptied(self) -> Rows:
        """Return what the table holds, with places, and begin a new one."""
        rows = Rows(*self.table.arrays(), self.places())
        self.table, self.chunks, self.lengths = PretokenTable(), [], []
        return rows


def joined(lanes: Sequence[WorkerTable], each: Callable[[Callable[[int], None], int], None]) -> PretokenTable:
    """Add up the tables of lanes into one in the order of first appearance, and take them away.

    `each(work, n)` has `work(0)` to `work(n - 1)` done, by several threads.
    """
    used = sorted((lane for lane in lanes if len(lane.table)), key=lambda lane: -len(lane.table)) or lanes[:1]
    first, *others = tables = [lane.table for lane in used]
    if not others:
        return first
    chunks = [np.array(lane.chunks, np.int64) for lane in used]
    first.join(others, chunks, [np.array([*lane.lengths, len(lane.table)], np.int64) for lane in used])
    size, parts = sum(map(len, tables)), 1
    if size > _WORTH_THREADS:
        # more parts than threads, so that one that is held up has less to do; small ones, so that Ctrl-C is heard
        parts = min(max(4 << len(others).bit_length(), 1 << (size // _PART).bit_length()), 256)
    each(partial(first.join_part, parts=parts), parts)
    first.finish_join()
    for lane in used:
        lane.table = PretokenTable()
    return first


def parts_for(size: int | None, room: int) -> int:
    """Return how many parts of the hash space keep each below `room` bytes, for a corpus of `size` bytes."""
    parts = LEAST_PARTS
    # summing takes up to eight times the rows of a part, which are fewer bytes than the text
    while parts < MOST_PARTS and (64 if size is None else 8 * size // max(room, 1)) > parts:
        parts *= 2
    return parts


def write_run(path: Path, lane: WorkerTable, parts: int, stopped: Event, *, kept: bool = False) -> tuple[int, int]:
    """Write what a lane holds to a run file and empty it; returns the number of rows, and the bytes of pretokens.

    `kept`: another process may read it, after a power cut too.

    Raises `InterruptedError` soon after `stopped` is set.
    """
    rows = lane.emptied()
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
