"""What writing a plan will take: tokens, disk and time, measured on a sample of its files."""

from __future__ import annotations

import math
import random
import time
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import accumulate, count
from pathlib import Path
from typing import Any, BinaryIO

from ..corpus.opened import naming
from ..corpus.ranges import row_groups
from ..corpus.urls import path_of
from ..errors import CorpusError
from ..files import temporary_folder
from ..progress import duration
from ..records import asdict, dataclass, kind, replace, whole
from ..text import counted, sized
from ..threads import imap
from .outputs import outputs
from .part import PartWriter, Totals
from .plan import ShardPlan, Source

#: How many places of each kind of file are read, and how many bytes of text at each.
_PLACES, _PLACE = 16, 1 << 19
#: Packed files are read from their beginning, so that a place there has more text.
_PACKED = 1 << 22
#: The bytes that a decompressor reads at once.
_AHEAD = 1 << 17
#: A kind of file with less input than this is read as a whole, and so is a packed text that is one document.
_WHOLE = 1 << 22
#: The seconds after which no further place is read, if there are two of the kind.
_SECONDS = 1.0
#: Bytes in which the end of a line is looked for at once.
_WINDOW = 1 << 14
#: Parquet footers that are read at once.
_READERS = 8


@dataclass(frozen=True)
class ShardEstimate:
    """About how many tokens, how much disk space and how much time a plan will take.

    Attributes:
        parts: The number of parts.
        files: The number of files.
        size: Their bytes, as they are on the disk.
        records: The records that they have.
        counted: Whether `records` was counted, as Parquet files and texts allow, and not estimated.
        documents: The documents that will be written.
        tokens: The tokens that will be written.
        tokens_error: The tokens are within this of the estimate in about 19 of 20 samples; 0 if all was read, `None`
            if the sample is too small to tell.
        disk: The bytes that will be written.
        core_seconds: The time that one core of this machine computes, without waiting for the disk.
        sampled: The bytes of input that were read.
        unmeasured: The bytes of input in kinds of files without a sample; only `size` includes them.

    Example:
        >>> from pathlib import Path
        >>> from tempfile import TemporaryDirectory
        >>> tok = bbpe.train_from_iterator(["low lower"], 258)
        >>> with TemporaryDirectory() as folder:
        ...     _ = Path(folder, "a.jsonl").write_text('{"text": "low"}')
        ...     plan = bbpe.plan_shards(folder + "/a.jsonl", folder + "/out", tok)
        ...     found = bbpe.estimate_shards(plan)
        >>> found.documents, found.tokens, found.tokens_error
        (1, 1, 0)

    """

    parts: int
    files: int
    size: int
    records: int
    counted: bool
    documents: int
    tokens: int
    tokens_error: int | None
    disk: int
    core_seconds: float
    sampled: int
    unmeasured: int

    def as_dict(self) -> dict[str, Any]:
        """Return the numbers as plain Python objects, which JSON can write.

        Returns:
            The attributes by their names.

        Example:
            >>> ShardEstimate(1, 1, 15, 1, True, 1, 1, 0, 34, 0.1, 15, 0).as_dict()["tokens"]
            1

        """
        return asdict(self)

    def __str__(self) -> str:
        return "\n".join(self.lines(1))

    def lines(self, cores: int) -> list[str]:
        """Return the estimate as lines to print, with the time on a number of cores.

        Args:
            cores: The number of cores.

        Returns:
            The lines.

        Raises:
            ValueError: `cores` is less than 1.
            TypeError: `cores` is not an int.

        Example:
            >>> for line in ShardEstimate(2, 3, 4_000_000, 9_000, False, 9_000, 1_234_567, 9_876, 2_600_000,
            ...                           0.5, 2_000_000, 0).lines(1):
            ...     print(line)
            3 files, 4.0 MB, about 9,000 records; 2 parts
            about 9,000 documents, 1,230,000 tokens (within 0.8 %), 2.6 MB on the disk
            about 0.5 s of work for 1 core, measured on 2.0 MB

        """
        cores = whole("cores", cores, 1)
        known = self.records if self.counted else _rounded(self.records)
        records = f"{'' if self.counted else 'about '}{counted(known, 'record')}"
        is_whole = self.sampled == self.size
        documents, tokens = (self.documents, self.tokens) if is_whole else map(_rounded, (self.documents, self.tokens))
        error = ""
        if not is_whole and self.tokens_error is None:
            error = " (the sample is too small to say how exact)"
        elif not is_whole and self.tokens_error is not None:
            error = f" (within {100 * self.tokens_error / max(self.tokens, 1):.1f} %)"
        amounts = f"{counted(documents, 'document')}, {counted(tokens, 'token')}{error}, {sized(self.disk)} on the disk"
        work = f"{duration(self.core_seconds / cores)} of work for {counted(cores, 'core')}"
        lines = [
            f"{counted(self.files, 'file')}, {sized(self.size)}, {records}; {counted(self.parts, 'part')}",
            amounts if is_whole else f"about {amounts}",
            f"about {work}, measured on {sized(self.sampled)}",
        ]
        if self.unmeasured:
            lines.append(f"{sized(self.unmeasured)} of packed texts are in none of these numbers but the first ones")
        return lines


def estimate_shards(plan: ShardPlan, *, seed: int = 0) -> ShardEstimate:
    r"""Estimate the tokens, disk and time of a plan, from a sample of each kind of its files.

    bbpe encodes about 8 MB of each kind, at random places; it reads smaller kinds whole, and only the beginnings of
    compressed files. This takes about a second.

    Args:
        plan: The plan.
        seed: Chooses the places.

    Returns:
        The estimate.

    Raises:
        CorpusError: A file of the sample has changed or cannot be read as text, or the plan is of merged shards.
        TypeError: An argument has the wrong type.
        OSError: A file cannot be read.

    Example:
        >>> from pathlib import Path
        >>> from tempfile import TemporaryDirectory
        >>> tok = bbpe.train_from_iterator(["low lower"], 258)
        >>> with TemporaryDirectory() as folder:
        ...     _ = Path(folder, "a.jsonl").write_text('{"text": "low"}\n' * 5)
        ...     plan = bbpe.plan_shards(folder + "/a.jsonl", folder + "/out", tok)
        ...     bbpe.estimate_shards(plan).tokens
        5

    """
    kind("plan", plan, ShardPlan, "what plan_shards returns", "shards have it as shards.plan")
    generator = random.Random(whole("seed", seed))
    if plan.policy.moved:
        raise CorpusError(f"{plan.folder}: the documents were {plan.policy.moved} when shards were merged")
    if plan.policy.reading is not None or plan.is_iterated:
        what = "an iterator" if plan.is_iterated else "shards, whose ids are copied or encoded again"
        raise CorpusError(f"{plan.folder}: the plan is of {what}; only plans of texts are estimated")
    kinds: dict[tuple[str, ...], list[Source]] = {}
    for source in (source for part in plan.parts for source in part):
        kinds.setdefault(tuple(Path(source.path).suffixes[-2:]), []).append(source)
    with temporary_folder() as folder:
        samples = [
            _Sample(plan, sources, generator).taken(Path(folder, f"sample-{number}"), _SECONDS / len(kinds))
            for number, sources in enumerate(kinds.values())
        ]
    return _summed(plan, samples)


class _Enough(Exception):  # noqa: N818
    """A place has been read as far as is needed."""


@dataclass
class _Place:
    """What was read at one place: bytes of input, what became of them, and how long it took."""

    input: float
    totals: Totals
    seconds: float


class _Sample:
    """Some places in the files of one kind."""

    def __init__(self, plan: ShardPlan, sources: Sequence[Source], generator: random.Random) -> None:
        self._plan, self._sources, self._generator = plan, sources, generator
        self.size = sum(source.read for source in sources)
        self.is_whole, self._ids = self.size <= _WHOLE, {id(source) for source in sources}
        file = sources[0].file(plan.policy)
        self.is_parquet, self._is_packed = file.kind == "parquet", file.is_packed
        # each file is a document, of which some bytes are as good as all
        is_text = file.kind == "text" and plan.policy.messages_field is None
        self.is_document = is_text and plan.policy.document == "file"
        self._groups: dict[str, list[tuple[int, int]]] = {}
        self.places: list[_Place] = []
        self._taken: dict[Source, _Place | None] = {}
        self._whole: set[int] = set()
        self._runs = count()
        #: Bytes that are written for each token.
        self.each = 0.0

    def taken(self, stem: Path, seconds: float) -> _Sample:
        """Read places until there are enough, or for some seconds, and return the sample."""
        began = time.perf_counter()
        with outputs(stem) as files:
            self._part = part = PartWriter(self._plan, files, 1, self._report)
            for source, rows in self._chosen():
                self._take(source, rows)
                if not self.is_whole and len(self.places) > 1 and time.perf_counter() - began > seconds:
                    break
            # files that end before they have been read far enough
            self.is_whole = self.is_whole or len(self._whole) == len(self._sources)
            totals = part.finish()
            self.each = sum(output.tell() for output in files.files.values()) / max(totals.tokens, 1)
        return self

    def _chosen(self) -> Iterator[tuple[Source, int]]:
        """Yield the sources to read, or ranges of some, each with the rows of a range of Parquet."""
        if self.is_whole:
            yield from ((source, 0) for source in self._sources)
            return
        # nothing tells how much of a packed text has been read before it ends
        is_closed = self.is_document and self._is_packed
        sources = [source for source in self._sources if not is_closed or source.read <= _WHOLE]
        if self._is_packed:
            # only its beginning can be read, which is no other place the next time
            chosen = self._generator.sample(sources, min(_PLACES, len(sources)))
            yield from ((source, 0) for source in chosen)
            return
        ends = list(accumulate(source.read for source in sources))
        for _ in range(_PLACES if ends else 0):
            at = self._generator.randrange(ends[-1])
            number = bisect_right(ends, at)
            source, within = sources[number], at - (ends[number] - sources[number].read)
            if self.is_parquet:
                yield self._group(source, within)
            else:
                yield _range(source, within, is_document=self.is_document), 0

    def groups_of(self, source: Source) -> list[tuple[int, int]]:
        """Return the rows and bytes of the row groups of a source."""
        if source.path not in self._groups:
            self._groups[source.path] = row_groups(path_of(source.path))
        return self._groups[source.path][source.start : source.stop]

    def _group(self, source: Source, within: int) -> tuple[Source, int]:
        """Return the row group at some byte of a source, and its rows."""
        groups = self.groups_of(source)
        ends = list(accumulate(size for _, size in groups))
        number = min(bisect_right(ends, within * ends[-1] // source.read), len(ends) - 1)
        rows, size = groups[number]
        first = source.start + number
        return replace(source, start=first, stop=first + 1, read=source.read * size // ends[-1]), rows

    def _take(self, source: Source, rows: int) -> None:
        """Add a place; one that chance names again, as few row groups are, is not read again."""
        if self.is_whole or source not in self._taken:
            self._taken[source] = self._read(source, rows)
        place = self._taken[source]
        if place is not None:
            self.places.append(place)

    @property
    def sampled(self) -> float:
        """The bytes of input that were read."""
        return sum({id(place): place.input for place in self.places}.values())

    def _read(self, source: Source, rows: int) -> _Place | None:
        """Read a place; `None` if nothing of it was read."""
        self._first = self._begun = self._part.totals, time.thread_time()
        self._pieces, self._rows = 0, rows
        try:
            self._part.read(source, next(self._runs))
        except _Enough:
            part, (before, began) = self._part.totals, self._first
            found = _difference(part, before)
            read = source.read * found.records / rows if rows else float(found.input)
        else:
            (before, began), read = self._begun, float(source.read)
            found = _difference(self._part.totals, before)
            self._whole |= {id(source)} & self._ids
        return _Place(read, found, time.thread_time() - began) if read else None

    def _report(self, _read: int) -> None:
        """Stop at a place that has been read far enough."""
        if self.is_whole or self.is_document or not (self._is_packed or self._rows):
            return
        self._pieces += 1
        if self._is_packed and self._pieces == 1:
            # a decompressor reads ahead; from one piece to another it is as far ahead
            self._first = self._part.totals, time.thread_time()
            return
        done = self._part.totals
        if done.text - self._first[0].text >= (_PACKED if self._is_packed else _PLACE) and (
            self._is_packed or done.records - self._first[0].records < self._rows
        ):
            raise _Enough

    def rate(self, name: str) -> float:
        """Return the mean of some total for each byte of input."""
        return sum(self._value(place, name) for place in self.places) / sum(place.input for place in self.places)

    def _value(self, place: _Place, name: str) -> float:
        value: float = getattr(place.totals, name)
        if name == "tokens" and self.is_document:
            value -= self.around * place.totals.documents
        return value

    @property
    def around(self) -> int:
        """The ids around each document."""
        policy = self._plan.policy
        return (policy.bos is not None) + (policy.eos is not None)

    def total(self, name: str) -> float:
        """Return some total of all files of this kind, about."""
        if self.is_whole:
            return float(sum(getattr(place.totals, name) for place in self.places))
        if not self.is_document or name not in ("records", "documents", "tokens"):
            return self.rate(name) * self.size
        count = len(self._sources)
        return self.rate("tokens") * self.size + self.around * count if name == "tokens" else float(count)

    def error(self) -> float | None:
        """Return two standard errors of the tokens; `None` for one place, which tells nothing."""
        if self.is_whole:
            return 0.0
        count = len(self.places)
        if count < 2:
            return None
        rate = self.rate("tokens")
        square = sum((self._value(place, "tokens") - rate * place.input) ** 2 for place in self.places)
        mean = sum(place.input for place in self.places) / count
        # where a decompressor is in its file is known to a block, at both ends of what is read
        ahead = rate * _AHEAD / math.sqrt(6) if self._is_packed and not self.is_document else 0.0
        return 2 * self.size * math.hypot(math.sqrt(square / (count - 1)), ahead) / math.sqrt(count) / mean

    def seconds(self) -> float:
        """Return the time of one core for all files of this kind, but for that of the first place if there are more."""
        places = self.places[1:] or self.places
        read = sum(place.input for place in places)
        return self.size * sum(place.seconds for place in places) / read

    def rows(self) -> int:
        """Return the rows of all Parquet files."""
        paths = [path for path in dict.fromkeys(source.path for source in self._sources) if path not in self._groups]
        found = imap(lambda path: row_groups(path_of(path)), paths, _READERS)
        self._groups |= dict(zip(paths, found, strict=True))
        return sum(rows for source in self._sources for rows, _ in self.groups_of(source))


def _difference(after: Totals, before: Totals) -> Totals:
    return Totals(*(left - right for left, right in zip(vars(after).values(), vars(before).values(), strict=True)))


def _range(source: Source, within: int, *, is_document: bool) -> Source:
    """Return a range of a source from about some byte on, of whole lines unless the source is one text."""
    path = path_of(source.path)
    last = source.size if source.stop is None else source.stop
    with naming(path), path.open("rb") as stream:
        start = _line_after(stream, source.start + within, last, is_document=is_document) if within else source.start
        start = start if start < last else source.start
        stop = _line_after(stream, start + _PLACE, last, is_document=is_document)
    return replace(source, start=start, stop=source.stop if stop == last else stop, read=stop - start)


def _line_after(stream: BinaryIO, at: int, last: int, *, is_document: bool) -> int:
    """Return where a line begins at some byte or after it; in a text with long lines, that byte."""
    if at >= last:
        return last
    stream.seek(at - 1)
    while block := stream.read(_WINDOW):
        found = block.find(b"\n")
        if found >= 0:
            return min(stream.tell() - len(block) + found + 1, last)
        if is_document:
            return at
    return last


def _summed(plan: ShardPlan, samples: Sequence[_Sample]) -> ShardEstimate:
    """Return the estimate from the samples of all kinds of files."""
    measured = [sample for sample in samples if sample.places or not sample.size]
    records = documents = tokens = disk = seconds = sampled = 0.0
    is_counted = len(measured) == len(samples)
    for sample in (sample for sample in measured if sample.size):
        is_counted = is_counted and (sample.is_whole or sample.is_document or sample.is_parquet)
        is_rows = sample.is_parquet and not sample.is_whole
        records += sample.rows() if is_rows else sample.total("records")
        documents, tokens = documents + sample.total("documents"), tokens + sample.total("tokens")
        disk, seconds = disk + sample.each * sample.total("tokens"), seconds + sample.seconds()
        sampled += sample.sampled
    errors = [sample.error() for sample in measured if sample.size]
    error = None if None in errors else math.ceil(math.hypot(*(each or 0.0 for each in errors)))
    return ShardEstimate(
        len(plan), len({source.path for part in plan.parts for source in part}), plan.size, round(records), is_counted,
        round(documents), round(tokens), error, round(disk), seconds, round(sampled),
        sum(sample.size for sample in samples if sample not in measured),
    )  # fmt: skip


def _rounded(number: int) -> int:
    """Return a number with three digits that count.

    >>> _rounded(1_234_567), _rounded(98)
    (1230000, 98)
    """
    return int(float(f"{number:.3g}"))
