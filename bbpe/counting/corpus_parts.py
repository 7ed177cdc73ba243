"""The corpus of a count: files, or an iterable of texts, from any position on."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set, Sized
from functools import partial
from itertools import accumulate, chain, count, islice, takewhile
from operator import itemgetter
from typing import Any, Literal, Protocol, TypeAlias

from ..budget import shown
from ..core.column import Column, text_column
from ..core.rows import gather
from ..core.seen import Digester
from ..corpus.chunks import ChunkOptions, CorpusChunk, Cutter, Position
from ..corpus.fields import plain_field
from ..corpus.files import File
from ..corpus.opened import Buffers, version_of
from ..corpus.ranges import line_cuts, row_group_cuts
from ..corpus.sources import Texts
from ..corpus.unique import Unique, digest_of_file
from ..errors import CorpusError, MemoryLimitError, described
from ..records import dataclass, replace
from ..text import Text, text_bytes

#: The least number of parts that a corpus of many small files has: progress is reported after each.
_STEPS = 16
#: Bytes in which a place to cut a file is looked for first.
_WINDOW = 1 << 12
#: How much longer than a line of a file a text of an iterable may be, as it is in memory already.
_TEXT = 4
#: A file, or the bytes of one from a place to another.
Range: TypeAlias = tuple[File, int, int | None]


@dataclass(frozen=True)
class Part:
    """Work for an executor, small to pickle unless it carries texts: ranges of files, or chunks.

    `place` is where to go on behind it, `read` how far in the corpus that is, in bytes.
    """

    ranges: tuple[Range, ...]
    chunks: tuple[CorpusChunk, ...]
    place: Position | None
    read: int


class Corpus(Protocol):
    """Files or texts, from any position on."""

    #: The bytes of all sources, as they are on the disk; `None` when that is not known.
    total: int | None
    #: How many files there are.
    files: int
    #: Whether all of it is no more than a block, which needs one thread alone.
    is_small: bool

    def sources(self, start: Position) -> Iterator[tuple[int, Iterable[Texts]]]:
        """Yield the number and the texts of each source, from a place on; `read` of texts counts from the first."""

    def parts(self, start: Position, size: int) -> Iterator[Part]:
        """Yield parts of about `size` bytes, which other processes may count."""

    def pieces(self, start: Position, threads: int) -> Iterator[Part]:
        """Yield parts for threads: ranges of plain files, which are best read by who counts them, and chunks."""

    def identity(self) -> dict[str, Any]:
        """Return plain data that says which corpus it is."""

    @property
    def unique(self) -> Unique | None:
        """The texts that were seen, where equal ones count once."""


class Files:
    """The texts of files."""

    def __init__(self, files: Sequence[File], options: ChunkOptions, *, unique: bool = False) -> None:
        self.unique = Unique(self._digest) if unique else None
        self._files, self._options, self._reading = files, options, options.reading
        self._sizes = [file.size or 0 for file in files]
        self._bases = list(accumulate(self._sizes, initial=0))
        self.total: int | None = self._bases[-1]
        self.files = len(files)
        #: Whether all may be read twice, which a pipe may not.
        self.are_stored = None not in [file.size for file in files]
        self.is_small = self.are_stored and self._bases[-1] <= self._reading.block

    def sources(self, start: Position) -> Iterator[tuple[int, Iterable[Texts]]]:
        """Yield the number and the texts of each file, from a place on."""
        buffers = Buffers(self._reading.block)
        for number in range(start.source, len(self._files)):
            first = start if number == start.source else Position(number)
            events = self._reading.texts(self._files[number], start=first.byte, buffers=buffers)
            base = self._bases[number]
            yield number, (replace(event, read=base + event.read) for event in behind(events, first.text))

    def _digest(self, number: int) -> Digester:
        return digest_of_file(self._reading, self._files[number])

    def parts(self, start: Position, size: int) -> Iterator[Part]:
        """Yield ranges of files that may be cut, and other files whole; small ones together.

        Where equal texts count once, the parts are the texts themselves, as this process looks at all of them.
        """
        if self.unique is not None:
            yield from _together(_chunks(self, self._options, start), size)
            return
        ranges: list[Range] = []
        held = 0
        if start.text:
            # within records: the rest of the file travels as texts
            number, texts = next(self.sources(start))
            for chunk in Cutter(self._options).chunks([(number, texts)], start):
                yield Part((), (replace(chunk, data=bytes(chunk.data)),), chunk.place, chunk.read)
            start = Position(start.source + 1)
        for number in range(start.source, len(self._files)):
            file = self._files[number]
            at = start.byte if number == start.source else 0
            done = at
            for stop, done in self._record_cuts(number, at, size):
                ranges.append((file, at, stop))
                yield Part(tuple(ranges), (), Position(number, 0, stop), self._bases[number] + done)
                ranges, held, at = [], 0, stop
            ranges.append((file, at, None))
            held += (self._sizes[number] - done) * (4 if file.is_packed else 1)
            if held >= size:
                yield Part(tuple(ranges), (), Position(number + 1), self._bases[number + 1])
                ranges, held = [], 0
        if ranges:
            yield Part(tuple(ranges), (), Position(len(self._files)), self._bases[-1])

    def _record_cuts(self, number: int, at: int, size: int) -> Iterator[tuple[int, int]]:
        """Yield where a file may be cut, as positions of its kind, and about how many bytes come before each."""
        file, end = self._files[number], self._sizes[number]
        if end > 2 * size and file.kind == "parquet" and file.size is not None:
            return row_group_cuts(file.path, at, end, size)
        if end - at > 2 * size and file.kind in ("jsonl", "json") and not file.is_packed:
            return ((cut, cut) for cut in line_cuts(file.path, at, end, size))
        return ((cut, cut) for cut in self._cuts(number, at, size))

    def pieces(self, start: Position, threads: int) -> Iterator[Part]:
        """Yield ranges of large plain files, small ones whole and together, and chunks of all others.

        The last ranges are smaller, so that no thread waits long for another one in the end.
        """
        if self.unique is not None:
            yield from _as_parts(_chunks(self, self._options, start))
            return
        # a range is one block, although it ends a little after its size
        count, block = len(self._files), self._reading.block
        size = max(block - 2 * _WINDOW, block // 2)
        together = min(block, self._bases[-1] // _STEPS)
        while start.source < count:
            number = start.source
            way = "chunks" if start.text else self._way(start.source, threads)
            if way == "ranges":
                at = start.byte
                for stop in self._cuts(number, at, size, 2 * threads):
                    place = Position(number, 0, stop)
                    yield Part(((self._files[number], at, stop),), (), place, self._bases[number] + stop)
                    at = stop
                number += 1
                yield Part(((self._files[number - 1], at, None),), (), Position(number), self._bases[number])
            elif way == "whole" and not start.byte:
                while number < count and self._way(number, threads) == way:
                    if number > start.source and self._bases[number + 1] - self._bases[start.source] > together:
                        break
                    number += 1
                whole = tuple((file, 0, None) for file in self._files[start.source : number])
                yield Part(whole, (), Position(number), self._bases[number])
            else:
                number = next((n for n in range(number + 1, count) if self._way(n, threads) != "chunks"), count)
                before = takewhile(partial(_is_before, number), self.sources(start))
                yield from _as_parts(Cutter(self._options).chunks(before, start))
            start = Position(number)

    def _way(self, number: int, threads: int) -> Literal["whole", "ranges", "chunks"]:
        """Return how a file is counted.  One thread reads a large file best from one end to the other."""
        size, block = self._sizes[number], self._reading.block
        if self._options.sample >= 1 and self._files[number].is_plain and size <= block:
            return "whole"
        return "ranges" if threads > 1 and size > 4 * block and self._may_be_cut(self._files[number]) else "chunks"

    def _may_be_cut(self, file: File) -> bool:
        options = self._options
        return options.sample >= 1 and file.is_plain and (options.pattern.scheme is not None or options.by_line)

    def _cuts(self, number: int, at: int, size: int, shares: int = 1) -> Iterator[int]:
        """Yield where a file may be cut into ranges of about `size` bytes; no place where it may not.

        A range is not more than one of so many shares of what is left of all files, unless that is little.
        """
        end = self._sizes[number]
        if not self._may_be_cut(self._files[number]):
            return
        cutter, margin = Cutter(self._options), 4 + max(map(len, self._options.specials), default=0)
        with self._files[number].path.open("rb", buffering=0) as file:
            left = self._bases[-1] - self._bases[number]
            while end - at > 2 * (share := min(size, max((left - at) // shares, size // 8))):
                first, window, cut = at + share, _WINDOW, 0
                while first + window < end:
                    before = min(margin, first)
                    file.seek(first - before)
                    cut = cutter.cut(file.read(window + before), before)
                    if cut:
                        break
                    first, window = first + window, max(window, min(4 * window, size))
                if not cut:
                    return
                at = first - before + cut
                yield at

    def identity(self) -> dict[str, Any]:
        """Return names, sizes, versions, and whether each is one text as it is on the disk."""
        # a pipe is another one each time
        files = [[str(file.path), file.size, version_of(file), file.is_plain] for file in self._files]
        reading = self._reading
        how = {"text_field": plain_field(reading.text_field), "format": reading.format, "on_error": reading.on_error}
        return {"files": files, **how}


class Iterated:
    """The texts of an iterable."""

    total: int | None = None
    files = 0
    is_small = False

    def __init__(
        self, texts: Iterable[Text] | Iterable[Sequence[Text]], options: ChunkOptions, *, unique: bool = False
    ) -> None:
        self.unique = Unique() if unique else None
        self._texts, self._options, self._reading = texts, options, options.reading

    def sources(self, start: Position) -> Iterator[tuple[int, Iterable[Texts]]]:
        """Yield one source, less the texts that are done."""
        if start.source == 0:
            yield 0, self._events(start.text)

    def _events(self, done: int) -> Iterator[Texts]:
        taken, read, texts = count(), 0, flat(self._texts)
        if not isinstance(self._texts, Sequence):
            # what comes after an error is the number of the text that is none; 17 ns a text
            texts = map(itemgetter(0), zip(texts, taken, strict=False))
        for _ in islice(texts, done):
            pass
        if self._reading.most:
            texts = _checked(texts, done, _TEXT * self._reading.most)
        while True:
            try:
                data, ends = gather(texts, self._reading.block, text_bytes)
            except TypeError as error:
                if isinstance(self._texts, Column):
                    raise
                number = _first_wrong(self._texts) if isinstance(self._texts, Sequence) else next(taken) - 1
                raise TypeError(f"text {number}, counted from 0: {error}") from error
            if not len(ends):
                return
            read += len(data)
            yield Texts(data, ends, True, read)

    def parts(self, start: Position, size: int) -> Iterator[Part]:
        """Yield the texts themselves."""
        yield from _together(_chunks(self, self._options, start), size)

    def pieces(self, start: Position, threads: int) -> Iterator[Part]:
        """Yield chunks of the texts."""
        return _as_parts(_chunks(self, self._options, start))

    def identity(self) -> dict[str, Any]:
        """Return what is known of the texts, which is nothing: the caller gives the same ones again."""
        return {"files": None}


def checked_texts(texts: object, argument: str = "texts") -> Iterable[Text] | Iterable[Sequence[Text]]:
    """Return texts, a column of Arrow as a sequence of them; `TypeError` naming the argument for anything else."""
    column = text_column(texts)
    if column is not None:
        return column
    # the order of a set differs from run to run; the values of a mapping would be lost
    wrong = str, bytes, bytearray, memoryview, os.PathLike, Mapping, Set
    if isinstance(texts, wrong) or not isinstance(texts, Iterable):
        raise TypeError(f"{argument} is {described(texts)}; expected an iterable of texts, such as a list of str")
    return texts


def flat(texts: Iterable[Text] | Iterable[Sequence[Text]]) -> Iterator[Text]:
    """Return texts one by one; when the first of them is a list or a tuple, all are such batches of texts."""
    iterator: Iterator[Any] = iter(texts)
    first = list(islice(iterator, 1))
    iterator = chain(first, iterator)
    return chain.from_iterable(map(_batch, iterator)) if first and isinstance(first[0], (list, tuple)) else iterator


def _first_wrong(texts: Sequence[Any]) -> int | None:
    """Return the number of the first of some texts that is none."""
    for number, text in enumerate(flat(texts)):
        try:
            text_bytes(text)
        except TypeError:
            return number
    return None


def _batch(texts: object) -> list[Text] | tuple[Text, ...]:
    if not isinstance(texts, (list, tuple)):
        raise TypeError(f"expected a list of texts, as the first one was, not {type(texts).__name__}")
    return texts


def _checked(texts: Iterator[Text], number: int, most: int) -> Iterator[Text]:
    """Yield texts; `MemoryLimitError` on one for which memory has no room."""
    for text in texts:
        if isinstance(text, Sized) and len(text) > most:
            raise MemoryLimitError(
                f"text {number}, counted from 0, is longer than the {shown(most)} that max_memory leaves for a text; "
                "give a larger max_memory, or the text in parts"
            )
        yield text
        number += 1


def behind(events: Iterator[Texts], done: int) -> Iterator[Texts]:
    """Yield events without those of the first `done` records."""
    for event in events:
        if done > 0 and event.ends is not None:
            done -= event.records
            continue
        yield event


def _is_before(stop: int, source: tuple[int, Iterable[Texts]]) -> bool:
    return source[0] < stop


def _chunks_after(chunks: Iterable[CorpusChunk], start: Position) -> Iterator[CorpusChunk]:
    """Yield the chunks of a corpus that follow a place; `CorpusError` unless a chunk ends there."""
    is_behind = start == Position()
    for chunk in chunks:
        if is_behind:
            yield chunk
        elif chunk.place is not None and chunk.place > start:
            break
        else:
            is_behind = chunk.place == start
    if not is_behind:
        raise CorpusError(
            f"the checkpoint ends at {start}, where no block of the texts ends now: with unique=True a count goes on "
            "with the same max_memory and the same texts; give these, or delete the checkpoint to start again"
        )


def _chunks(corpus: Corpus, options: ChunkOptions, start: Position) -> Iterator[CorpusChunk]:
    """Yield the chunks of a corpus from a place on, in order, and look at what comes before where texts count once."""
    if corpus.unique is None:
        return Cutter(options).chunks(corpus.sources(start), start)
    return _chunks_after(Cutter(options, unique=corpus.unique).chunks(corpus.sources(Position())), start)


def _together(chunks: Iterable[CorpusChunk], size: int) -> Iterator[Part]:
    """Yield chunks in parts of about `size` bytes, with bytes that stay as they are."""
    held: list[CorpusChunk] = []
    for chunk in chunks:
        held.append(replace(chunk, data=bytes(chunk.data)))
        if sum(chunk.size for chunk in held) >= size:
            yield Part((), tuple(held), held[-1].place, held[-1].read)
            held = []
    if held:
        yield Part((), tuple(held), held[-1].place, held[-1].read)


def _as_parts(chunks: Iterable[CorpusChunk]) -> Iterator[Part]:
    """Yield each chunk as a part."""
    for chunk in chunks:
        yield Part((), (chunk,), chunk.place, chunk.read)
