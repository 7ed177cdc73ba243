"""What is to be counted: files, or an iterable of texts, from any place on."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import accumulate, islice
from pathlib import Path
from typing import Any, Protocol, TypeAlias

from .chunks import Chunk, Cutter, Place, Rules
from .compressed import COMPRESSIONS
from .core.count import PretokenTable
from .core.rows import gather
from .counter import ChunkCounter
from .counts import Summary
from .normalize import Text, text_bytes
from .rowfiles import Rows
from .sources import Reading, Texts, is_plain

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
        """Yield parts of about `size` bytes, which may be counted apart."""

    def identity(self) -> dict[str, Any]:
        """Return plain data that says which corpus it is."""


class Files:
    """The texts of files."""

    def __init__(self, paths: list[Path], reading: Reading) -> None:
        self._paths, self._reading = paths, reading
        self._sizes = [path.stat().st_size for path in paths]
        self._bases = list(accumulate(self._sizes, initial=0))
        self.total: int | None = self._bases[-1]
        self.files = len(paths)

    def sources(self, start: Place) -> Iterator[tuple[int, Iterable[Texts]]]:
        """Yield the number and the texts of each file, from a place on."""
        for number in range(start.source, len(self._paths)):
            first = start if number == start.source else Place(number)
            events = self._reading.texts(self._paths[number], start=first.byte)
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

    def _cuts(self, number: int, at: int, rules: Rules, size: int) -> Iterator[int]:
        """Yield where a file may be cut into ranges of about `size` bytes; no place where it may not."""
        path, end = self._paths[number], self._sizes[number]
        if rules.sample < 1 or not is_plain(path) or (rules.pattern.scheme is None and not rules.by_line):
            return
        cutter, margin = Cutter(rules), 4 + max(map(len, rules.specials), default=0)
        with path.open("rb") as file:
            while end - at > 2 * size:
                window, cut = 1 << 16, 0
                while not cut and at + size + window < end:
                    file.seek(at + size - margin)
                    cut = cutter.cut(file.read(window + margin), margin)
                    window *= 16
                if not cut:
                    return
                at += size - margin + cut
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


def count_part(rules: Rules, reading: Reading, part: Part) -> tuple[Rows, Summary]:
    """Count a part, wherever an executor runs this."""
    counter, table, summary = ChunkCounter(rules), PretokenTable(), Summary()
    sources = (
        (number, reading.texts(path, start=start, stop=stop)) for number, (path, start, stop) in enumerate(part.ranges)
    )
    for chunks in (part.chunks, Cutter(rules).chunks(sources) if part.ranges else ()):
        for chunk in chunks:
            summary += counter.count(chunk, table)
    return Rows(*table.arrays()), summary
