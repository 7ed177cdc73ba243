"""`count`: the only step of training whose cost grows with the corpus."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, nullcontext
from functools import partial
from operator import attrgetter
from pathlib import Path
from typing import TypeAlias, Unpack

from ..budget import Budget, affordable_threads, shown
from ..core.count import PretokenTable
from ..corpus.chunks import ChunkOptions, Cutter, Position
from ..corpus.files import CorpusPaths, check_apart, corpus_files
from ..corpus.ranges import check_columns
from ..corpus.rowfiles import pyarrow_parquet
from ..errors import CorpusError
from ..files import temporary_folder
from ..lazy import futures
from ..progress import Progress
from ..records import check_names, replace
from ..text import Text, counted
from ..threads import Workers, thread_count
from .checkpoint import WRITTEN, Checkpoint, State, checkpoint_folder, file_name
from .corpus_parts import Corpus, Files, Iterated, Part, checked_texts
from .counter import PartCounter, RunTask, count_to_run, joined
from .counts import PretokenCounts, Summary, counts_of
from .handout import HandOut
from .options import Counting, CountingTask, FileOptions, Report, TextOptions, silent
from .spill import Spill, parts_for

#: What a caller wants to know while counts grow: at least so many unique pretokens, of so many bytes.
Growth: TypeAlias = Callable[[int, int], None]

#: Bytes of files, and of texts, that an executor counts at once.
_FILES_PART, _TEXTS_PART = 64 << 20, 4 << 20
_NOT_SEEN = (
    "a worker has written its counts where this process does not see them; give checkpoint=, a folder that all "
    "machines see"
)
#: Files whose heads an estimate of the counts is made from.
_HEADS = 4
#: Seconds between two states of a checkpoint.
_CHECKPOINT_SECONDS = 30.0


def count(
    files: CorpusPaths,
    *,
    pattern: str | Sequence[str],
    special_tokens: Sequence[str] = (),
    **options: Unpack[FileOptions],
) -> PretokenCounts:
    """Count the pretokens of files; counts train tokenizers, and can be added up.

    A file is one text; `.jsonl` has one in the field `text_field` of each line, `.parquet` one in the column
    `text_field` of each row; `.gz`, `.bz2`, `.xz` and `.zst` are decompressed as they are read.  A `.json` file is
    read as JSON lines, and so is a file whose name says nothing and whose first lines are JSON.  Archives, tables,
    other files that are not text, and UTF-16 raise an error that says which it found. A file must not change while it
    is read.

    Args:
        files: A path, glob or folder, or the URL of one, such as "s3://bucket/*.jsonl", or a list of them.  A file
            that is given twice counts twice; a folder or a glob gives each file once.
        pattern: How to split texts, the name of a pattern or a regex.
        special_tokens: Texts that separate the text in which they are found, and are not counted.
        **options: The fields of `Counting`: `max_memory`, `checkpoint`, `executor`, `threads`, `sample`, `document`,
            `text_field`, `format`, `on_error`, `max_pretoken_bytes`, `progress`.

    Returns:
        The pretokens and how often each occurs, in the order of their first appearance.

    Raises:
        ValueError: An argument has a wrong value; `PatternError` names an unknown pattern.
        TypeError: An argument has the wrong type.
        CorpusError: A file cannot be read as text, or a checkpoint is not ours, in use, damaged or of another count.
        OSError: A file cannot be read; the error names it.
        ImportError: A package is needed to read a file.

    Example:
        >>> from pathlib import Path
        >>> from tempfile import TemporaryDirectory
        >>> with TemporaryDirectory() as folder:
        ...     _ = Path(folder, "a.txt").write_text("low lower low")
        ...     counts = count(folder, pattern="gpt2")
        >>> list(counts), counts.total, counts.summary.bytes
        ([(b'low', 1), (b' lower', 1), (b' low', 1)], 3, 13)

    """
    check_names("count", options, FileOptions.__annotations__)
    how = Counting(**options)
    with how.reporting() as report:
        return count_files(files, how.task(pattern, special_tokens), report)


def count_from_iterator(
    texts: Iterable[Text] | Iterable[Sequence[Text]],
    *,
    pattern: str | Sequence[str],
    special_tokens: Sequence[str] = (),
    **options: Unpack[TextOptions],
) -> PretokenCounts:
    """Count the pretokens of texts.

    Args:
        texts: Texts, each `str` or bytes-like; or lists of texts, if the first item is one; or a column of Arrow.
        pattern: How to split texts, the name of a pattern or a regex.
        special_tokens: Texts that separate the text in which they are found, and are not counted.
        **options: The fields of `Counting`, without `text_field`, `format` and `on_error`.  With `checkpoint`, a second
            call must get the same texts; it skips those that are done.

    Returns:
        The pretokens and how often each occurs, in the order of their first appearance.

    Raises:
        ValueError: As `count`.
        TypeError: As `count`; an item that is no text is named by its number.
        CorpusError: As `count`, of a checkpoint.

    Example:
        >>> count_from_iterator(["low lower", "low"], pattern="gpt2").most_common(1)
        [(b'low', 2)]

    """
    check_names("count_from_iterator", options, FileOptions.__annotations__)
    how = Counting(**options)
    with how.reporting() as report:
        return count_texts(texts, how.task(pattern, special_tokens), report)


def count_files(
    files: CorpusPaths, task: CountingTask, report: Report, growth: Growth | None = None, argument: str | None = None
) -> PretokenCounts:
    """Count files; `growth` is called with lower bounds while the counts grow, and errors name `argument`."""
    if isinstance(files, Iterator):
        files = list(files)
    options = task.options
    field, checkpoint = "Counting.text_field", options.checkpoint
    found = corpus_files(files, options.format, options.text_field, argument, field_argument=field)
    if "parquet" in map(attrgetter("kind"), found):
        check_columns(found, options.text_field)
    if checkpoint is not None:
        paths = [file.path for file in found]
        check_apart(checkpoint_folder(checkpoint), "the checkpoint folder", files, paths, WRITTEN)
    return count_corpus(Files(found, task.chunks, unique=options.unique), task, report, growth)


def count_texts(
    texts: Iterable[Text] | Iterable[Sequence[Text]], task: CountingTask, report: Report, growth: Growth | None = None
) -> PretokenCounts:
    """Count texts; `growth` as in `count_files`."""
    texts = checked_texts(texts)
    how = task.options
    for name in ("format", "text_field", "on_error"):
        if getattr(how, name) != getattr(Counting, name):
            raise ValueError(f"Counting.{name} is {getattr(how, name)!r}; expected it only with files, not with texts")
    return count_corpus(Iterated(texts, task.chunks, unique=how.unique), task, report, growth)


def count_corpus(corpus: Corpus, task: CountingTask, report: Report, growth: Growth | None = None) -> PretokenCounts:
    """Count any corpus; `growth` as in `count_files`."""
    return _CountRun(corpus, task, report, growth).run()


class _CountRun:
    """One count: parts to counters, full tables to runs, states to a checkpoint, and all of it to counts."""

    def __init__(self, corpus: Corpus, task: CountingTask, report: Report, growth: Growth | None) -> None:
        self._corpus, self._spec, self._chunks, self._how = corpus, task.spec, task.chunks, task.options
        self._report, self._growth = report, growth
        # a regex holds the interpreter's lock, so it gains nothing from threads
        alone = corpus.is_small or self._how.executor is not None or self._spec.pattern.scheme is None
        self._threads = 1 if alone else thread_count(self._how.threads)
        self._budget: Budget | None = None
        if self._how.max_memory is not None:
            each = 8 * self._chunks.reading.block
            self._threads = affordable_threads(self._how.max_memory, self._threads, each)
            self._budget = Budget.of(self._how.max_memory, buffers=each * (1 + self._threads))
            if corpus.unique is not None:
                corpus.unique.room = self._budget.tables // 2
        self._counters: list[PartCounter] = []
        self._workers: Workers[PartCounter] | None = None
        self._checkpoint: Checkpoint | None = None
        self._spill: Spill | None = None
        self._state, self._chunk, self._read, self._saved = State(), 0, 0, time.monotonic()

    def run(self) -> PretokenCounts:
        """Count all of it."""
        with ExitStack() as stack:
            if self._budget is not None or self._how.checkpoint is not None or self._how.executor is not None:
                self._spill = self._spilling(stack)
            if self._budget is not None:
                note = plan_note(self._corpus, self._chunks, self._budget, self._threads)
                self._report(Progress("plan", 0, self._corpus.total, "bytes", note))
            counts = None if self._state.ended else self._counted()
            if self._spill is not None and counts is None:
                summary = replace(self._state.summary, files=self._corpus.files)
                bounded = self._budget is not None
                counts = self._spill.counts(self._spec, summary, self._report, bounded=bounded)
            assert counts is not None
            if counts.summary.documents == 0 and counts.summary.left_out:
                left_out = f"all of {counted(counts.summary.left_out, 'document')}; use a larger one"
                raise CorpusError(f"sample={self._how.sample} leaves out {left_out}")
            done = self._read if self._corpus.total is None else self._corpus.total
            note = "" if self._report is silent else str(counts.summary)
            ended = Progress("count", done, self._corpus.total, "bytes", note)
            if self._spill is not None and self._spill.runs:
                steps = 2 * self._spill.parts
                ended = replace(ended, phase="sum", done=steps, total=steps, unit="parts")
            self._report(ended)
            return counts

    def _spilling(self, stack: ExitStack) -> Spill:
        """Return where counts go when tables are full, and take up the state that is there."""
        pyarrow_parquet()
        how, room = self._how, self._budget.tables if self._budget else 1 << 28
        parts = parts_for(self._corpus.total, room)
        if how.checkpoint is None:
            path = Path(stack.enter_context(temporary_folder()))
            return Spill(lambda kind, number: path / file_name(kind, number, "0"), (), parts, room, kept=False)
        identity = {**self._spec.as_json(), "sample": how.sample, "unique": how.unique, **self._corpus.identity()}
        self._checkpoint = stack.enter_context(Checkpoint(how.checkpoint, identity))
        self._state = self._checkpoint.load()
        self._chunk = self._state.chunk
        runs = [self._checkpoint.folder / run for run in self._state.runs]
        return Spill(self._checkpoint.name, runs, self._state.parts or parts, room, kept=True)

    def _counted(self) -> PretokenCounts | None:
        """Count what is left; returns the counts, or none when there are runs, which hold all of them."""
        self._report(Progress("count", 0, self._corpus.total, "bytes"))
        if self._how.executor is not None and self._spill is not None:
            self._count_by(self._how.executor, self._spill)
            self._save(self._spill, self._state.place, ended=True)
            return None
        self._counters = [PartCounter(self._chunks) for _ in range(self._threads)]
        total, place = self._corpus.total, self._state.place
        # one thread needs no workers
        crew: AbstractContextManager[Workers[PartCounter] | None] = nullcontext()
        if self._threads > 1:
            crew = Workers(self._counters)
        with crew as workers:
            self._workers = workers
            for part in self._corpus.pieces(place, self._threads):
                self._chunk += 1
                if workers is None:
                    self._counters[0].put(self._chunk, part)
                else:
                    workers.put(partial(PartCounter.put, number=self._chunk, part=part))
                self._read = max(self._read, part.read)
                done = self._read if total is None else min(self._read, total)
                self._report(Progress("count", done, total, "bytes"))
                if self._spill is not None:
                    self._after(self._spill, part.place)
            if self._spill is not None and self._spill.runs:
                self._flush(self._spill)
                self._save(self._spill, self._state.place, ended=True)
                return None
            if workers is not None:
                workers.finish()
            summary = self._state.summary
            for counter in self._counters:
                summary += counter.summary
            table = self._counters[0].held.table if workers is None else self._joined(workers)
            return counts_of(table, self._spec, replace(summary, files=self._corpus.files))

    def _count_by(self, executor: futures.Executor, spill: Spill) -> None:
        """Have an executor count what is left, whose workers write runs; parts come back in any order."""
        travels = not isinstance(self._corpus, Files) or self._corpus.unique is not None
        size = _TEXTS_PART if travels else _FILES_PART
        if self._budget is not None:
            size = max(min(size, self._budget.tables // 4), self._chunks.reading.block)
        tasks = (
            RunTask(number, spill.path(number), part)
            for number, part in enumerate(self._corpus.parts(self._state.place, size), self._chunk + 1)
        )
        hand_out = HandOut(executor, self._how.in_flight, self._how.attempts)
        waiting: dict[int, tuple[Path, Part, Summary]] = {}
        for task, (summary, found) in hand_out.results(partial(count_to_run, self._chunks, spill.parts), tasks):
            if not task.path.exists():
                raise CorpusError(f"{task.path}: {_NOT_SEEN}")
            waiting[task.number] = task.path, replace(task.part, ranges=(), chunks=()), summary
            spill.largest = max(spill.largest, found)
            # a checkpoint has what comes before the first part that is missing
            while (done := waiting.pop(self._chunk + 1, None)) is not None:
                self._chunk += 1
                spill.runs.append(done[0])
                self._state = replace(self._state, summary=self._state.summary + done[2])
                self._read = max(self._read, done[1].read)
                self._after_part(done[1].place)
            total = self._corpus.total
            self._report(Progress("count", self._read if total is None else min(self._read, total), total, "bytes"))

    def _after_part(self, place: Position | None) -> None:
        """Save a checkpoint when it is time."""
        if self._spill is None or place is None:
            return
        now = time.monotonic()
        if self._checkpoint is not None and now - self._saved >= _CHECKPOINT_SECONDS:
            self._flush(self._spill)
            self._save(self._spill, place)
            # no more than a twentieth of the time
            self._saved = now + 20 * (time.monotonic() - now)

    def _after(self, spill: Spill, place: Position | None) -> None:
        """Spill when tables are full, and note where to go on."""
        held = sum(counter.held.table.nbytes for counter in self._counters)
        held += 0 if self._corpus.unique is None else self._corpus.unique.nbytes
        if self._budget is not None and held > self._budget.tables:
            self._flush(spill)
            if self._growth is not None:
                self._growth(*spill.largest)
        self._after_part(place)

    def _joined(self, workers: Workers[PartCounter]) -> PretokenTable:
        """Add up the tables of all counters."""

        def each(work: Callable[[int], None], count: int) -> None:
            for number in range(count):
                workers.put(partial(_without_state, work, number))
            workers.finish()

        return joined([counter.held for counter in self._counters], each)

    def _drain(self) -> None:
        """Wait until all parts are counted, and note what was in them."""
        if self._workers is not None:
            self._workers.finish()
        for counter in self._counters:
            self._state = replace(self._state, summary=self._state.summary + counter.drain())

    def _flush(self, spill: Spill) -> None:
        """Write what the tables hold to runs."""
        self._drain()
        for counter in self._counters:
            if len(counter.held.table):
                spill.write(counter.held.emptied)

    def _save(self, spill: Spill, place: Position, *, ended: bool = False) -> None:
        runs = tuple(run.name for run in spill.runs)
        self._state = State(place, self._chunk, self._state.summary, runs, spill.parts, ended)
        if self._checkpoint is not None:
            self._checkpoint.save(self._state)


def _without_state(work: Callable[[int], None], number: int, _counter: PartCounter) -> None:
    work(number)


def plan_note(corpus: Corpus, options: ChunkOptions, budget: Budget, threads: int) -> str:
    """Say in a line for people what a count within bounded memory is going to do."""
    note = f"{budget.name} {shown(budget.limit)}: {counted(threads, 'thread')}, tables of {shown(budget.tables)}"
    if isinstance(corpus, Files) and corpus.total and corpus.are_stored:
        unique, unique_bytes, table_bytes = _estimate(corpus, options, corpus.total)
        spills = "to be spilled to Parquet files, " if table_bytes > budget.tables else ""
        note += (
            f"; {shown(corpus.total)} to read, about {counted(unique, 'unique pretoken')} of {shown(unique_bytes)} "
            f"expected, {spills}{shown(table_bytes)} of tables"
        )
    return note


def _estimate(corpus: Corpus, options: ChunkOptions, total: int) -> tuple[int, int, int]:
    """Estimate unique pretokens, their bytes and those of tables: they grow as a power of the text."""
    counter, cutter, table = PartCounter(options), Cutter(options), PretokenTable()
    read = unique = 0
    for number, events in corpus.sources(Position()):
        if number >= _HEADS:
            break
        for chunk in cutter.chunks([(number, events)], Position(number)):
            counter.count_chunk(chunk, table)
            read, unique = read + max(chunk.size, 1), len(table)
            if chunk.place is None or chunk.place.source == number:
                break
    if not unique:
        return 0, 0, 0
    # Heaps' law with the exponent of text in which hardly anything repeats: rather too many than too few
    grown = max(1.0, total / read) ** 0.8
    data = table.arrays()[0]
    return int(unique * grown), int(data.nbytes * grown), int(table.nbytes * grown)
