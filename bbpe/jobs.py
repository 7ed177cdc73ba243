"""What is to be counted: files, or an iterable of texts, from any place on."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from itertools import accumulate, islice, takewhile
from pathlib import Path
from typing import Any, Protocol, TypeAlias

import numpy as np

from .chunks import Chunk, Cutter, Place, Rules
from .compressed import COMPRESSIONS
from .core.count import PretokenTable
from .core.rows import gather
from .counter import ChunkCounter
from .counts import Summary
from .normalize import Text, text_bytes
from .rowfiles import Rows
from .sources import Buffers, Reading, Texts, is_plain

#: Bytes in which a place to cut a file is looked for first.
_WINDOW = 1 << 12
#: A file, or the bytes of one from a place to another.
Range: TypeAlias = tuple[Path, int, int | None]


@dataclass(frozen=True)
class Part:
    """Work for an executor, small to pickle unless it carries texts: ranges of files, or chunks.

    `place` is where to go on behind it, `read` how far in the corpus that is, in bytes.
    """

    ranges: tuple[Range, ...]
    chunks: tuple[Chunk, ...]
    place: Place | None
    read: int


class Job(Protocol):
    """A corpus."""

    #: The bytes of all sources, as they lie on the disk; `None` when that is not known.
    total: int | None
    #: How many files there are.
    files: int

    def sources(self, start: Place) -> Iterator[tuple[int, Iterable[Texts]]]:
        """Yield the number and the texts of each source, from a place on; `read` of texts counts from the first."""

    def parts(self, start: Place, rules: Rules, size: int) -> Iterator[Part]:
        """Yield parts of about `size` bytes, which may be counted apart, by other processes."""

    def pieces(self, start: Place, rules: Rules, threads: int) -> Iterator[Part]:
        """Yield parts for threads: ranges of plain files, which are best read by who counts them, and chunks."""

    def identity(self) -> dict[str, Any]:
        """Return plain data that says which corpus it is."""


class Files:
    """The texts of files."""

    def __init__(self, paths: list[Path], reading: Reading) -> None:
        self._paths, self._reading = paths, reading
        self._sizes = [path.stat().st_size for path in paths]
        self._bases = list(accumulate(self._sizes, initial=0))
        self._buffers = Buffers(reading.block)
        self.total: int | None = self._bases[-1]
        self.files = len(paths)

    def sources(self, start: Place) -> Iterator[tuple[int, Iterable[Texts]]]:
        """Yield the number and the texts of each file, from a place on."""
        for number in range(start.source, len(self._paths)):
            first = start if number == start.source else Place(number)
            events = self._reading.texts(self._paths[number], start=first.byte, buffers=self._buffers)
            base = self._bases[number]
            yield number, (replace(event, read=base + event.read) for event in _behind(events, first.text))

    def parts(self, start: Place, rules: Rules, size: int) -> Iterator[Part]:
        """Yield ranges of plain files, cut where they may be, and other files whole; small ones together."""
        ranges: list[Range] = []
        held = 0
        if start.text:
            # within records: the rest of the file travels as texts
            number, texts = next(self.sources(start))
            for chunk in Cutter(rules).chunks([(number, texts)], start):
                yield Part((), (replace(chunk, data=bytes(chunk.data)),), chunk.place, chunk.read)
            start = Place(start.source + 1)
        for number in range(start.source, len(self._paths)):
            path = self._paths[number]
            at = start.byte if number == start.source else 0
            for stop in self._cuts(number, at, rules, size):
                ranges.append((path, at, stop))
                yield Part(tuple(ranges), (), Place(number, 0, stop), self._bases[number] + stop)
                ranges, held, at = [], 0, stop
            ranges.append((path, at, None))
            packed = path.suffix.lower() in COMPRESSIONS
            held += (self._sizes[number] - at) * (4 if packed else 1)
            if held >= size:
                yield Part(tuple(ranges), (), Place(number + 1), self._bases[number + 1])
                ranges, held = [], 0
        if ranges:
            yield Part(tuple(ranges), (), Place(len(self._paths)), self._bases[-1])

    def pieces(self, start: Place, rules: Rules, threads: int) -> Iterator[Part]:
        """Yield ranges of large plain files, cut where they may be, and chunks of the others, small ones together.

        The last ranges are smaller, so that no thread waits long for another one in the end.
        """
        # a range is one block, although it ends a little behind its size
        count, size = len(self._paths), max(rules.block - 2 * _WINDOW, rules.block // 2)
        while start.source < count:
            number = start.source
            if not start.text and self._is_large(number, rules):
                at = start.byte
                for stop in self._cuts(number, at, rules, size, 2 * threads):
                    place = Place(number, 0, stop)
                    yield Part(((self._paths[number], at, stop),), (), place, self._bases[number] + stop)
                    at = stop
                yield Part(((self._paths[number], at, None),), (), Place(number + 1), self._bases[number + 1])
                start = Place(number + 1)
                continue
            stop = next((other for other in range(number + 1, count) if self._is_large(other, rules)), count)
            before = takewhile(partial(_is_before, stop), self.sources(start))
            yield from as_parts(Cutter(rules).chunks(before, start))
            start = Place(stop)

    def _is_large(self, number: int, rules: Rules) -> bool:
        return self._sizes[number] > 4 * rules.block and self._may_be_cut(self._paths[number], rules)

    def _may_be_cut(self, path: Path, rules: Rules) -> bool:
        return rules.sample >= 1 and is_plain(path) and (rules.pattern.scheme is not None or rules.by_line)

    def _cuts(self, number: int, at: int, rules: Rules, size: int, shares: int = 1) -> Iterator[int]:
        """Yield where a file may be cut into ranges of about `size` bytes; no place where it may not.

        A range is not more than one of so many shares of what is left of all files, unless that is little.
        """
        path, end = self._paths[number], self._sizes[number]
        if not self._may_be_cut(path, rules):
            return
        cutter, margin = Cutter(rules), 4 + max(map(len, rules.specials), default=0)
        with path.open("rb", buffering=0) as file:
            left = self._bases[-1] - self._bases[number]
            while end - at > 2 * (share := min(size, max((left - at) // shares, size // 8))):
                first, window, cut = at + share, _WINDOW, 0
                while first + window < end:
                    file.seek(first - margin)
                    cut = cutter.cut(file.read(window + margin), margin)
                    if cut:
                        break
                    first, window = first + window, min(4 * window, size)
                if not cut:
                    return
                at = first - margin + cut
                yield at

    def identity(self) -> dict[str, Any]:
        """Return names, sizes and times of change."""
        files = [[str(path), path.stat().st_size, path.stat().st_mtime_ns] for path in self._paths]
        return {"files": files, "text_field": self._reading.text_field}


class Iterated:
    """The texts of an iterable."""

    total: int | None = None
    files = 0

    def __init__(self, texts: Iterable[Text], block: int) -> None:
        self._texts, self._block = texts, block

    def sources(self, start: Place) -> Iterator[tuple[int, Iterable[Texts]]]:
        """Yield one source, less the texts that are done."""
        if start.source == 0:
            yield 0, self._events(start.text)

    def _events(self, done: int) -> Iterator[Texts]:
        texts, read = iter(self._texts), 0
        for _ in islice(texts, done):
            pass
        while True:
            data, ends = gather(texts, self._block, text_bytes)
            if not len(ends):
                return
            read += len(data)
            yield Texts(data, ends, True, read)

    def parts(self, start: Place, rules: Rules, size: int) -> Iterator[Part]:
        """Yield the texts themselves."""
        held: list[Chunk] = []
        for chunk in Cutter(rules).chunks(self.sources(start), start):
            held.append(replace(chunk, data=bytes(chunk.data)))
            if sum(chunk.size for chunk in held) >= size:
                yield Part((), tuple(held), held[-1].place, held[-1].read)
                held = []
        if held:
            yield Part((), tuple(held), held[-1].place, held[-1].read)

    def pieces(self, start: Place, rules: Rules, threads: int) -> Iterator[Part]:
        """Yield chunks of the texts."""
        return as_parts(Cutter(rules).chunks(self.sources(start), start))

    def identity(self) -> dict[str, Any]:
        """Return what is known of the texts, which is nothing: the caller gives the same ones again."""
        return {"files": None}


def _behind(events: Iterator[Texts], done: int) -> Iterator[Texts]:
    """Leave out events of so many texts."""
    for event in events:
        if done > 0 and event.ends is not None:
            done -= len(event.ends)
            continue
        yield event


def _is_before(stop: int, source: tuple[int, Iterable[Texts]]) -> bool:
    return source[0] < stop


def as_parts(chunks: Iterable[Chunk]) -> Iterator[Part]:
    """Yield each chunk as a part."""
    for chunk in chunks:
        yield Part((), (chunk,), chunk.place, chunk.read)


class PartCounter:
    """Counts parts; each thread has one of its own."""

    def __init__(self, rules: Rules, reading: Reading) -> None:
        self._reading, self._counter, self._cutter = reading, ChunkCounter(rules), Cutter(rules)
        self._buffers, self._is_whole = Buffers(reading.block), rules.sample >= 1

    def count(self, part: Part, table: PretokenTable) -> Summary:
        """Add the pretokens of a part to a table; returns what there was in it."""
        block = self._block(part)
        if block is not None:
            return self._counter.count(block, table)
        summary = Summary()
        for chunk in part.chunks or self._cutter.chunks(self._sources(part)):
            summary += self._counter.count(chunk, table)
        return summary

    def _block(self, part: Part) -> Chunk | None:
        """Return a part that is one block of a longer text as the chunk that the cutter would make of it, at once."""
        if len(part.ranges) != 1:
            return None
        path, start, stop = part.ranges[0]
        size = self._reading.block if stop is None else stop - start
        # the end of a file that has grown meanwhile, and texts of which some may be left out, are for the cutter
        if size > self._reading.block or (stop is None and not (start and self._is_whole and is_plain(path))):
            return None
        data = self._reading.block_of(path, start, start + size, self._buffers)
        ended = stop is None
        if ended and len(data) == size:
            return None
        return Chunk(data, np.array([len(data)], np.int64), None, texts=int(ended), size=len(data), ends_text=ended)

    def _sources(self, part: Part) -> Iterator[tuple[int, Iterable[Texts]]]:
        for number, (path, start, stop) in enumerate(part.ranges):
            yield number, self._reading.texts(path, start=start, stop=stop, buffers=self._buffers)


def count_part(rules: Rules, reading: Reading, part: Part) -> tuple[Rows, Summary]:
    """Count a part, wherever an executor runs this."""
    table = PretokenTable()
    summary = PartCounter(rules, reading).count(part, table)
    return Rows(*table.arrays()), summary
