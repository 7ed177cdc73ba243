"""One count on its way: chunks to workers, full tables to runs, states to a checkpoint, and all of it to counts."""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Executor
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from pathlib import Path
from threading import Event
from typing import TypeAlias

from ..budget import Budget, affordable_threads, shown
from ..core.count import PretokenTable
from ..corpus.chunks import Cutter, Position
from ..corpus.rowfiles import Rows, pyarrow_parquet, regrouped, writing
from ..errors import CorpusError
from ..progress import Progress
from ..threads import apart, submit_all, thread_count
from .checkpoint import Checkpoint, State, file_name
from .corpus_parts import Files, Job, Part, as_parts, count_part
from .counter import ChunkCounter
from .counts import CountingSpec, PretokenCounts, Summary, counts_of, spilled_counts
from .options import Counting, Report
from .spill import joined, merged, parts_for, write_run
from .workers import Workers

#: What a caller wants to know while counts grow: at least so many unique pretokens, of so many bytes.
Growth: TypeAlias = Callable[[int, int], None]

#: Bytes of files, and of texts, that an executor counts at once.
_FILES_PART, _TEXTS_PART = 64 << 20, 4 << 20
#: Seconds between two states of a checkpoint.
_CHECKPOINT_SECONDS = 30.0
#: Files whose heads the estimate is made from.
_HEADS = 4


class CountRun:
    """One count on its way."""

    def __init__(
        self, job: Job, spec: CountingSpec, options: Counting, report: Report, growth: Growth | None
    ) -> None:
        self._job, self._spec, self._options, self._report, self._growth = job, spec, options, report, growth
        self._rules = options.chunks(spec)
        self._reading = options.reading()
        # a regex holds the interpreter's lock, so it gains nothing from threads
        regex = spec.pattern.scheme is None
        self._threads = 1 if regex or options.executor is not None else thread_count(options.threads)
        self._budget: Budget | None = None
        if options.max_memory is not None:
            each = 8 * self._rules.block
            self._threads = affordable_threads(options.max_memory, self._threads, each)
            buffers = each * (1 + self._threads)
            self._budget = Budget.of(options.max_memory, buffers=buffers)
        self._state, self._runs = State(), list[Path]()
        self._read = 0
        self._stopped = Event()
        self._saved = time.monotonic()

    def run(self) -> PretokenCounts:
        """Count all of it."""
        with ExitStack() as stack:
            stack.callback(self._stopped.set)
            self._workers = stack.enter_context(Workers(self._rules, self._reading, self._threads))
            self._checkpoint: Checkpoint | None = None
            self._name = self._names(stack)
            self._parts = self._state.parts or parts_for(self._job.total, self._room)
            self._plan()
            if not self._state.ended:
                self._count_all()
            if not self._runs:
                self._state = replace(self._state, summary=self._state.summary + self._workers.drain())
                summary = replace(self._state.summary, files=self._job.files)
                table = joined(self._workers.lanes, self._workers.each)
                return self._told(counts_of(table, self._spec, summary))
            self._flush()
            self._save(self._state.place, ended=True)
            return self._told(self._merge())

    @property
    def _room(self) -> int:
        return self._budget.tables if self._budget else 1 << 28

    def _names(self, stack: ExitStack) -> Callable[[str, int], Path] | None:
        """Return what gives names to files of counts, and take up the state that is there."""
        options = self._options
        if options.checkpoint is not None:
            pyarrow_parquet()
            identity = {**self._spec.as_json(), "sample": options.sample, **self._job.identity()}
            self._checkpoint = stack.enter_context(Checkpoint(options.checkpoint, identity))
            self._state = self._checkpoint.load()
            self._runs = [self._checkpoint.folder / run for run in self._state.runs]
            return self._checkpoint.name
        if options.max_memory is not None:
            pyarrow_parquet()
            # a thread that nobody waits for after Ctrl-C may still write there
            folder = tempfile.TemporaryDirectory(prefix="bbpe-", ignore_cleanup_errors=True)
            path = Path(stack.enter_context(folder))
            return lambda kind, number: path / file_name(kind, number, "0")
        return None

    def _plan(self) -> None:
        """Say what is going to be done, before it takes long."""
        budget, total = self._budget, self._job.total
        if budget is None:
            return
        note = f"{budget.name} {shown(budget.limit)}: {self._threads} threads, tables of {shown(budget.tables)}"
        if isinstance(self._job, Files) and total and self._job.are_stored:
            unique, unique_bytes, table_bytes = self._estimate(total)
            spills = "to be spilled to Parquet files, " if table_bytes > budget.tables else ""
            note += (
                f"; {shown(total)} to read, about {unique:,} unique pretokens of {shown(unique_bytes)} expected, "
                f"{spills}{shown(table_bytes)} of tables"
            )
        self._report(Progress("plan", 0, total, "bytes", note))

    def _estimate(self, total: int) -> tuple[int, int, int]:
        """Estimate unique pretokens, their bytes and those of tables: they grow as a power of the text."""
        counter, table = ChunkCounter(self._rules), PretokenTable()
        sizes: list[tuple[int, int]] = []
        for number, events in self._job.sources(Position()):
            if number >= _HEADS:
                break
            for chunk in Cutter(self._rules).chunks([(number, events)], Position(number)):
                read = (sizes[-1][0] if sizes else 0) + max(chunk.size, 1)
                counter.count(chunk, table)
                sizes.append((read, len(table)))
                if chunk.place is None or chunk.place.source == number:
                    break
        if not sizes or not len(table):
            return 0, 0, 0
        read, unique = sizes[-1]
        # Heaps' law with the exponent of text in which hardly anything repeats: rather too many than too few
        grown = max(1.0, total / read) ** 0.8
        data = table.arrays()[0]
        return int(unique * grown), int(data.nbytes * grown), int(table.nbytes * grown)

    def _count_all(self) -> None:
        self._tell(self._state.place, 0)
        place = self._state.place
        if self._options.executor is None:
            # one thread reads best from one end to the other
            for part in (
                self._job.pieces(place, self._rules, self._threads)
                if self._threads > 1
                else as_parts(Cutter(self._rules).chunks(self._job.sources(place), place))
            ):
                self._workers.put(self._next(), part)
                self._after(part.place, part.read)
            return
        for rows, summary, place_after, read in self._counted_elsewhere(self._options.executor, place):
            table = self._workers.lanes[0].begin(self._next())
            table.add_arrays(rows.data, rows.offsets, rows.counts)
            self._state = replace(self._state, summary=self._state.summary + summary)
            self._after(place_after, read)

    def _counted_elsewhere(
        self, executor: Executor, start: Position
    ) -> Iterator[tuple[Rows, Summary, Position | None, int]]:
        size = _FILES_PART if self._job.total is not None else _TEXTS_PART
        if self._budget is not None:
            size = max(min(size, self._budget.tables // 4), self._rules.block)
        places: list[tuple[Position | None, int]] = []

        def parts() -> Iterator[Part]:
            for part in self._job.parts(start, self._rules, size):
                places.append((part.place, part.read))
                yield part

        work = partial(count_part, self._rules, self._reading)
        waiting = 2 * (getattr(executor, "_max_workers", None) or os.cpu_count() or 1)
        for number, (rows, summary) in enumerate(submit_all(executor, work, parts(), waiting)):
            yield rows, summary, *places[number]

    def _next(self) -> int:
        self._state = replace(self._state, chunk=self._state.chunk + 1)
        return self._state.chunk

    def _after(self, place: Position | None, read: int) -> None:
        """Tell how far it is, spill when tables are full, and note where to go on."""
        self._tell(place, read)
        if self._budget is not None and self._workers.nbytes > self._budget.tables:
            self._flush()
            if self._growth is not None:
                self._growth(*self._largest)
        if self._checkpoint is None or place is None:
            return
        now = time.monotonic()
        if now - self._saved >= _CHECKPOINT_SECONDS:
            self._flush()
            self._save(place)
            # no more than a twentieth of the time
            self._saved = now + 20 * (time.monotonic() - now)

    _largest = (0, 0)

    def _tell(self, place: Position | None, read: int) -> None:
        self._read = max(self._read, read)
        total = self._job.total
        self._report(Progress("count", min(self._read, total) if total is not None else self._read, total, "bytes"))

    def _flush(self) -> None:
        """Write what the tables hold to runs."""
        assert self._name is not None
        self._state = replace(self._state, summary=self._state.summary + self._workers.drain())
        kept = self._checkpoint is not None
        for lane in self._workers.lanes:
            if len(lane.table):
                path = self._name("run", len(self._runs))
                work = partial(write_run, path, lane, self._parts, self._stopped, kept=kept)
                unique, size = apart(work, self._stopped.set)
                self._largest = max(self._largest, (unique, size))
                self._runs.append(path)

    def _save(self, place: Position, *, ended: bool = False) -> None:
        runs = tuple(run.name for run in self._runs)
        self._state = replace(self._state, place=place, runs=runs, parts=self._parts, ended=ended)
        if self._checkpoint is not None:
            self._checkpoint.save(self._state)

    def _merge(self) -> PretokenCounts:
        """Add up the runs: into a table, or into a file when memory is bounded."""
        assert self._name is not None
        name = partial(self._name, "part")
        spec, summary = self._spec, replace(self._state.summary, files=self._job.files)
        steps, step = 2 * self._parts, 0

        def batches() -> Iterator[Rows]:
            nonlocal step
            source = merged(self._runs, self._parts, name, self._room)
            while (rows := apart(lambda: next(source, None))) is not None:
                step += 1
                self._report(Progress("sum", min(step, steps), steps, "parts"))
                yield rows

        if self._budget is None:
            table = PretokenTable()
            for rows in batches():
                table.add_arrays(rows.data, rows.offsets, rows.counts)
            return counts_of(table, spec, summary)
        folder = Path(tempfile.mkdtemp(prefix="bbpe-"))
        path, unique, total = folder / "counts.parquet", 0, 0
        try:
            with writing(path, kept=False) as file:
                for rows in regrouped(batches()):
                    file.write(rows)
                    unique, total = unique + len(rows), total + sum(rows.counts.tolist())
        except BaseException:
            shutil.rmtree(folder, ignore_errors=True)
            raise
        return spilled_counts(path, spec, replace(summary, unique=unique, pretokens=total))

    def _told(self, counts: PretokenCounts) -> PretokenCounts:
        if counts.summary.documents == 0 and counts.summary.left_out:
            raise CorpusError(
                f"sample={self._options.sample} leaves out all {counts.summary.left_out} documents; use a larger one"
            )
        note = str(counts.summary)
        if self._runs:
            steps = 2 * self._parts
            self._report(Progress("sum", steps, steps, "parts", note))
        else:
            total = self._job.total
            self._report(Progress("count", self._read if total is None else total, total, "bytes", note))
        return counts
