"""The work on a part of a corpus: read it, find special tokens, split it, and count into the table of the worker.

The worker is a thread, or an executor, which writes the counts to a run.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import accumulate
from pathlib import Path

from ..core.count import PretokenTable, count_lines
from ..core.split import Splitter
from ..corpus.chunks import ChunkOptions, CorpusChunk, Cutter, Position, spans_between
from ..corpus.opened import Buffers, read_block
from ..corpus.rowfiles import Counts, Rows
from ..corpus.sources import Int64s, Texts
from ..lazy import np, threading
from ..pipeline.special_tokens import Matcher
from ..records import dataclass, field, replace
from ..splitting.splitter import TextSplitter
from .corpus_parts import Part
from .counts import Summary
from .spill import write_run

#: Positions number the rows of a chunk below this bit, and the chunks above it.
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

    def positions(self) -> Counts:
        """Return the position of each pretoken of the table, rising."""
        positions = np.empty(len(self.table), np.uint64)
        stops = [*self.lengths[1:], len(self.table)]
        for chunk, start, stop in zip(self.chunks, self.lengths, stops, strict=True):
            first = chunk << _WITHIN
            positions[start:stop] = np.arange(first, first + stop - start, dtype=np.uint64)
        return positions

    def emptied(self) -> Rows:
        """Return what the table holds, with places, and begin a new one."""
        rows = Rows(*self.table.arrays(), self.positions())
        self.table, self.chunks, self.lengths = PretokenTable(), [], []
        return rows


def joined(held: Sequence[WorkerTable], each: Callable[[Callable[[int], None], int], None]) -> PretokenTable:
    """Add up the tables of workers into one in the order of first appearance, and take them away.

    `each(work, n)` has `work(0)` to `work(n - 1)` done, by several threads.
    """
    used = sorted((one for one in held if len(one.table)), key=lambda one: -len(one.table)) or held[:1]
    first, *others = tables = [one.table for one in used]
    if not others:
        return first
    first.join(others, [one.chunks for one in used], [[*one.lengths, len(one.table)] for one in used])
    size, parts = sum(map(len, tables)), 1
    if size > _WORTH_THREADS:
        # more parts than threads, so that one that is held up has less to do; small ones, so that Ctrl-C is heard
        parts = min(max(4 << len(others).bit_length(), 1 << (size // _PART).bit_length()), 256)
    each(partial(first.join_part, parts=parts), parts)
    first.finish_join()
    for one in used:
        one.table = PretokenTable()
    return first


class PartCounter:
    """Counts parts into a table; each thread has one of its own."""

    def __init__(self, options: ChunkOptions) -> None:
        self.held, self.summary = WorkerTable(), Summary()
        self._options = options
        scheme = options.pattern.scheme
        self._compiled = None if scheme is None else Splitter(replace(scheme, by_line=options.by_line))
        self._regex = TextSplitter(options.pattern) if scheme is None else None
        self._matcher = Matcher.of(dict.fromkeys(options.specials, 0)) if options.specials else None
        # made when first needed: small files need no cutter, and counted parts no memory for blocks
        self._cutter: Cutter | None = None
        self._buffers: Buffers | None = None

    def put(self, number: int, part: Part) -> None:
        """Count a part into the table; numbers rise from call to call."""
        self.summary += self.count(part, self.held.begin(number))

    def drain(self) -> Summary:
        """Return what was counted since the last call."""
        summary, self.summary = self.summary, Summary()
        return summary

    def count(self, part: Part, table: PretokenTable) -> Summary:
        """Add the pretokens of a part to a table; returns what there was in it."""
        block = self._block(part)
        if block is not None:
            return self.count_chunk(block, table)
        summary = Summary()
        for chunk in part.chunks or self._cut(part):
            summary += self.count_chunk(chunk, table)
        return summary

    def count_chunk(self, chunk: CorpusChunk, table: PretokenTable) -> Summary:
        """Add the pretokens of a chunk to a table; returns what there was in it."""
        options, data, ends = self._options, chunk.data, chunk.ends
        cut, specials, dropped = table.cut, 0, 0
        if chunk.given:
            table.count_given(data, ends, options.longest)
        else:
            starts: Int64s | None = None
            if self._matcher is not None:
                starts, ends, specials = spans_between(data, ends, self._matcher, options.specials)
            if self._regex is not None:
                dropped = self._count_by_regex(self._regex, table, data, starts, ends)
            elif self._compiled is not None:
                table.count_spans(data, starts, ends, self._compiled, options.longest)
        documents = self._lines(chunk) if options.by_line else chunk.texts
        return Summary(
            documents=documents, bytes=chunk.size, left_out=chunk.left_out, skipped=chunk.skipped,
            refused=chunk.refused, special_tokens_found=specials, duplicates=chunk.duplicates,
            cut=table.cut - cut - chunk.cut_before, dropped=dropped,
        )  # fmt: skip

    def _block(self, part: Part) -> CorpusChunk | None:
        """Return a part as the chunk that the cutter would make of it: a block of a longer text, or small files."""
        if not part.ranges or self._options.sample < 1:
            return None
        if len(part.ranges) > 1 or (part.ranges[0][1] == 0 and part.ranges[0][2] is None):
            return self._whole(part)
        file, start, stop = part.ranges[0]
        ended = stop is None
        stop = file.size if stop is None else stop
        if not file.is_plain or stop is None or stop - start > self._options.reading.block:
            return None
        data = read_block(file, start, stop, self._memory())
        size = stop - start
        return CorpusChunk(data, array("q", [size]), None, texts=int(ended), size=size, ends_text=ended)

    def _whole(self, part: Part) -> CorpusChunk | None:
        """Return whole files that are together about a block as one chunk."""
        sizes = [file.size or 0 for file, _, _ in part.ranges if file.is_plain]
        are_whole = all(start == 0 and stop is None for _, start, stop in part.ranges)
        if not are_whole or len(sizes) < len(part.ranges) or sum(sizes) > self._options.reading.block:
            return None
        files = [file for file, _, _ in part.ranges]
        memory = self._memory()
        if len(files) == 1:
            data: bytes | memoryview = read_block(files[0], 0, sizes[0], memory)
        else:
            read = (bytes(read_block(file, 0, size, memory)) for file, size in zip(files, sizes, strict=True))
            data = b"".join(read)
        return CorpusChunk(data, array("q", accumulate(sizes)), None, texts=len(sizes), size=len(data))

    def _cut(self, part: Part) -> Iterator[CorpusChunk]:
        """Yield the chunks of ranges of files."""
        if self._cutter is None:
            self._cutter = Cutter(self._options)
        return self._cutter.chunks(self._sources(part), Position(0, 0, part.ranges[0][1]))

    def _memory(self) -> Buffers:
        if self._buffers is None:
            self._buffers = Buffers(self._options.reading.block)
        return self._buffers

    def _sources(self, part: Part) -> Iterator[tuple[int, Iterable[Texts]]]:
        for number, (file, start, stop) in enumerate(part.ranges):
            yield number, self._options.reading.texts(file, start=start, stop=stop, buffers=self._memory())

    def _lines(self, chunk: CorpusChunk) -> int:
        return count_lines(chunk.data, chunk.ends if chunk.ends_text else array("q"))

    def _count_by_regex(
        self,
        regex: TextSplitter,
        table: PretokenTable,
        data: bytes | memoryview,
        starts: Int64s | None,
        ends: Int64s,
    ) -> int:
        dropped, longest = 0, self._options.longest
        view, stops = memoryview(data), ends.tolist()
        for start, stop in zip([0, *stops[:-1]][: len(stops)] if starts is None else starts, stops, strict=True):
            for first, last in _line_spans(data, start, stop) if self._options.by_line else ((start, stop),):
                dropped += last - first
                for pretokens, pretoken_ends in regex.batches(view[first:last]):
                    table.count_given(pretokens, pretoken_ends, longest)
                    dropped -= len(pretokens)
        return dropped


def _line_spans(data: bytes | memoryview, start: int, stop: int) -> Iterator[tuple[int, int]]:
    whole = data if isinstance(data, bytes) else bytes(data)
    while start < stop:
        end = whole.find(b"\n", start, stop) + 1 or stop
        yield start, end
        start = end


@dataclass(frozen=True)
class RunTask:
    """A part of a corpus, its number, and the run that its counts go to."""

    number: int
    path: Path
    part: Part


def count_to_run(options: ChunkOptions, parts: int, task: RunTask) -> tuple[Summary, tuple[int, int]]:
    """Count a part, wherever an executor runs this, and write a run in `parts` ranges of hashes.

    Returns what was in the part, and the number of unique pretokens and their bytes.
    """
    counter = PartCounter(options)
    counter.put(task.number, task.part)
    total = counter.held.table.total
    found = write_run(task.path, counter.held.emptied, parts, threading.Event(), kept=True)
    return replace(counter.drain(), pretokens=total, unique=found[0]), found
