"""Where documents come from: the file, the range of it that a part has read, and the number of the record in the file.

A part says how many documents and how many records each of its sources has, and where some records have no document,
a file says which ones have (`.rows`, part.py).  Merging that moves documents to other parts writes the source and the
record of each (`.from`).  Records are numbered from the start of a range, because nobody knows how many lines are
before it until the parts of the ranges before it are done: their sum is added when somebody asks.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import accumulate, islice, pairwise
from typing import Any, NamedTuple, TypeAlias

from ..errors import CorpusError
from ..lazy import lazy_property, np, npt
from ..records import dataclass
from ..text import counted
from .formats.format import forget, mapped, with_suffix
from .part import FROM, ROWS, PartFiles, PartRecord, read_record, runs_of
from .plan import ShardPlan, Source
from .shuffle import Documents

#: Documents whose numbers are read at once.
_DOCUMENTS = 1 << 16
#: The most files that are mapped at once, beside those of load.py, and the most blocks of ids of documents.
_MOST_MAPS, _MOST_BLOCKS = 1 << 13, 16
#: The bytes of a page of memory, and of the numbers of a document.
_PAGE, NUMBER_BYTES = 1 << 12, 8
#: Numbers of a source and of a record from the start of the source on, uint32[n, 2].
Numbers: TypeAlias = "npt.NDArray[np.uint32]"


@dataclass(frozen=True)
class Origin:
    """Where a document comes from.

    Attributes:
        path: The file; `None` if an iterator gave the documents.
        start: Where the range of the file begins that the part has read, in bytes; of a Parquet file, the row group;
            of an iterator, the item.
        stop: Where the range ends; `None` for the end of the file.
        record: The number of the line or the row of the file, from 0.  Blank lines of JSON lines do not count, all
            others do: empty documents, records without a text, and lines that cannot be read.
        document: The number of the document, as in `shards[document]`.
        id: Its id in the corpus, if `id_field` was given.
    """

    path: str | None
    start: int
    stop: int | None
    record: int
    document: int
    id: str | None = None


class _PartSources(NamedTuple):
    """The sources of one part: their first documents and the end of all, their records, and the first of their run."""

    firsts: list[int]
    records: list[int]
    runs: list[int]


class Origins:
    """The origins of the documents of shards."""

    def __init__(self, plan: ShardPlan) -> None:
        self._plan = plan
        self._parts: dict[int, _PartSources] = {}
        self._maps: dict[int, Any] = {}
        # how many records are before each source of a file, by the number of the first one
        self._before: dict[int, list[int]] = {}
        self._ids: dict[tuple[int, int], list[str]] = {}

    def origin(self, document: int, number: int, within: int) -> Origin:
        """Return the origin of a document, given its part and its number there; `CorpusError` if nobody knows it."""
        if self._plan.policy.moved:
            index, row = self._numbers(number)[within].tolist()
            first = index
        else:
            part, rows = self._part(number), self._numbers(number)
            source = bisect_right(part.firsts, within) - 1
            run = part.runs[source]
            row = within - part.firsts[run] if rows is None else int(rows[within])
            index, first = self._offsets[number] + source, self._offsets[number] + run
        found = self._sources[index]
        return Origin(found.path or None, found.start, found.stop, self._records_before(first) + row, document,
                      self._id_of(number, within))  # fmt: skip

    def find(self, path: str, record: int) -> tuple[int, int]:
        """Return the part that has a record of a file, and the number of the document there.

        Raises `ValueError` if the shards have no such record, `CorpusError` if it has no document.
        """
        indices = self._files.get(path)
        if indices is None:
            raise ValueError(f"path is {path or None!r}, which is no file of the corpus of {self._plan.folder}")
        first, last = indices
        count = self._records_before(last) + self._records_of(last)
        if record >= count:
            known = f"the {counted(count, 'record')} of {path or 'the iterator'}"
            raise ValueError(f"record is {record}; expected less than {known}")
        before = self._before[first]
        index = first + bisect_right(before, record) - 1
        row = record - before[index - first]
        found = self._find_moved(index, row) if self._plan.policy.moved else self._find_in_order(index, row)
        if found is None:
            raise CorpusError(f"{path or 'iterator'}: record {record} has no document: {self._reason(index)}")
        return found

    def _find_in_order(self, index: int, row: int) -> tuple[int, int] | None:
        number = bisect_right(self._offsets, index) - 1
        part, rows, source = self._part(number), self._numbers(number), index - self._offsets[number]
        run, start, stop = part.runs[source], part.firsts[source], part.firsts[source + 1]
        row += sum(part.records[run:source])
        if rows is None:
            within = part.firsts[run] + row
            return (number, within) if within < stop else None
        within = start + int(np.searchsorted(rows[start:stop], row))
        return (number, within) if within < stop and rows[within] == row else None

    def _find_moved(self, index: int, row: int) -> tuple[int, int] | None:
        for number in range(len(self._plan)):
            numbers = self._numbers(number)
            for first in range(0, len(numbers), _DOCUMENTS):
                some = numbers[first : first + _DOCUMENTS]
                found = np.flatnonzero((some[:, 0] == index) & (some[:, 1] == row))
                if len(found):
                    return number, first + int(found[0])
            forget(numbers)
        return None

    def _reason(self, index: int) -> str:
        """Return why a record of a source has no document, as far as the record of a part says it."""
        plan = self._plan
        number = 0 if plan.policy.moved else bisect_right(self._offsets, index) - 1
        record = _record_of(plan, number)
        known = {"is empty": record.empty, "has no text": record.null, "cannot be read": record.refused}
        known["is left out of the mixture"] = record.left
        reasons = {reason: count for reason, count in known.items() if count}
        counts = ", ".join(f"{count:,}" for count in reasons.values())
        how_many = f"; of such records, part {number} left out {counts}" if len(reasons) > 1 else ""
        return f"it {' or '.join(reasons)}{how_many}"

    @lazy_property
    def _sources(self) -> tuple[Source, ...]:
        """All sources, which have one number."""
        return tuple(source for part in self._plan.parts for source in part)

    @lazy_property
    def _offsets(self) -> list[int]:
        """The number of the first source of each part."""
        return [0, *accumulate(map(len, self._plan.parts))][:-1]

    @lazy_property
    def _file_firsts(self) -> list[int]:
        """The number of the first source of the file that each source is in."""
        return runs_of(self._sources)

    @lazy_property
    def _files(self) -> dict[str, tuple[int, int]]:
        """The numbers of the first and the last source of each file, of one that is there twice the first time."""
        found: dict[str, tuple[int, int]] = {}
        for index, (source, first) in enumerate(zip(self._sources, self._file_firsts, strict=True)):
            known, _ = found.setdefault(source.path, (first, index))
            if known == first:
                found[source.path] = first, index
        return found

    def _records_of(self, index: int) -> int:
        """Return how many records a source has."""
        number = bisect_right(self._offsets, index) - 1
        return self._part(number).records[index - self._offsets[number]]

    def _records_before(self, index: int) -> int:
        """Return how many records of its file are before a source."""
        first = self._file_firsts[index]
        before = self._before.setdefault(first, [0])
        while len(before) <= index - first:
            before.append(before[-1] + self._records_of(first + len(before) - 1))
        return before[index - first]

    def _part(self, number: int) -> _PartSources:
        found = self._parts.get(number)
        if found is None:
            found = self._parts[number] = _part_of(self._plan, _record_of(self._plan, number))
        return found

    def _numbers(self, number: int) -> Any:
        """Return the numbers that a part has a file of: `Numbers`, or those of records alone, `None` without a file."""
        if number not in self._maps:
            if len(self._maps) >= _MOST_MAPS:
                del self._maps[next(iter(self._maps))]
            self._maps[number] = numbers_of(self._plan, _record_of(self._plan, number))
        return self._maps[number]

    def _id_of(self, number: int, within: int) -> str | None:
        keys = self._plan.policy.files.keys
        if self._plan.policy.id_field is None or keys is None:
            return None
        block = within // _DOCUMENTS
        found = self._ids.get((number, block))
        if found is None:
            if len(self._ids) >= _MOST_BLOCKS:
                self._ids = {}
            found = list(islice(keys(self._plan.stem(number), block * _DOCUMENTS), _DOCUMENTS))
            self._ids[number, block] = found
        return found[within % _DOCUMENTS]


def _record_of(plan: ShardPlan, number: int) -> PartRecord:
    record = read_record(plan, number)
    if record is None:
        raise CorpusError(f"{plan.stem(number)}: the part is missing; run bbpe.shard again")
    return record


def _is_known(plan: ShardPlan, record: PartRecord) -> bool:
    """Return whether the documents of a part can be told from records that were left out."""
    if plan.policy.moved:
        has_file = not record.documents or f"{plan.stem(record.part).name}{FROM}" in record.files
        return has_file and (record.part > 0 or bool(record.rows) or not plan.parts[0])
    return bool(record.rows) or record.records == record.documents == sum(record.sources)


def _rows_of(plan: ShardPlan, record: PartRecord) -> list[int]:
    """Return how many records each source of a part has; `CorpusError` where an older bbpe did not keep it."""
    if not _is_known(plan, record):
        raise _unknown(plan, record.part)
    # none was left out where the numbers are not kept
    return record.rows or record.sources


def _unknown(plan: ShardPlan, number: int) -> CorpusError:
    who = "these shards, or merged ones, are" if plan.policy.moved else "the part is"
    problem = f"{who} of an older bbpe, which did not keep the numbers of records; write the shards again to have them"
    return CorpusError(f"{plan.stem(number)}: {problem}")


def _part_of(plan: ShardPlan, record: PartRecord) -> _PartSources:
    return _PartSources([0, *accumulate(record.sources)], _rows_of(plan, record), runs_of(plan.parts[record.part]))


def numbers_of(plan: ShardPlan, record: PartRecord) -> Any:
    """Return the numbers that a part has a file of: `Numbers`, or those of records alone, `None` without a file.

    Raises `CorpusError` when the file does not fit the record, or an older bbpe did not write it.
    """
    is_moved = bool(plan.policy.moved)
    path = with_suffix(plan.stem(record.part), FROM if is_moved else ROWS)
    if path.name not in record.files:
        if not _is_known(plan, record):
            raise _unknown(plan, record.part)
        return np.empty((0, 2), np.uint32) if is_moved else None
    numbers, each = mapped(path, "<u4"), 1 + is_moved
    if len(numbers) != each * record.documents:
        found = counted(len(numbers), "number")
        raise CorpusError(f"{path}: the file has {found}; expected {each * record.documents}")
    if numbers.nbytes <= _PAGE:
        # a map would take more
        numbers = numbers.copy()
    return numbers.reshape(-1, 2) if is_moved else numbers


def number_blocks(plans: Sequence[ShardPlan], before: int) -> Iterator[Documents]:
    """Yield the `Numbers` of all documents of shards in order, as `shuffled` takes documents: eight bytes each.

    Sources are numbered as those of the plan that all sources are in, from `before` on.
    """
    for plan in plans:
        for number in range(len(plan)):
            record = _record_of(plan, number)
            known = numbers_of(plan, record)
            for first in range(0, record.documents, _DOCUMENTS):
                stop = min(first + _DOCUMENTS, record.documents)
                if plan.policy.moved:
                    numbers = known[first:stop] + np.array([before, 0], np.uint32)
                else:
                    numbers = _in_order(_part_of(plan, record), known, first, stop, before)
                forget(known)
                yield numbers.view(np.uint8).reshape(-1), np.full(stop - first, NUMBER_BYTES, np.int64)
            before += 0 if plan.policy.moved else len(plan.parts[number])
        before += len(plan.parts[0]) if plan.policy.moved else 0


def _in_order(part: _PartSources, rows: Any, first: int, stop: int, before: int) -> Numbers:
    """Return the numbers of documents of a part that merging did not move."""
    firsts, runs = np.array(part.firsts), np.array(part.runs)
    documents = np.arange(first, stop)
    sources = np.searchsorted(firsts, documents, "right") - 1
    in_run = documents - firsts[runs[sources]] if rows is None else rows[first:stop].astype(np.int64)
    ends = np.cumsum([0, *part.records])
    numbers = np.stack([before + sources, in_run - (ends[sources] - ends[runs[sources]])], axis=1)
    return numbers.astype(np.uint32)


def paths_of(plan: ShardPlan, record: PartRecord) -> tuple[list[str], list[int]]:
    """Return the files that documents of a part that merging divided come from, and how many in a row do.

    They have no file where they are shuffled, so that each may come from another, and where nobody knows it.
    """
    if plan.policy.shuffle is not None or not _is_known(plan, record):
        return [""], [record.documents]
    known = numbers_of(plan, record)
    changes, last = [0], -1
    for first in range(0, record.documents, _DOCUMENTS):
        sources = known[first : first + _DOCUMENTS, 0].astype(np.int64)
        changes += (first + np.flatnonzero(np.diff(sources, prepend=last))).tolist()
        last = sources[-1]
        forget(known)
    bounds = sorted({*changes, record.documents})
    return [plan.parts[0][int(known[start, 0])].path for start in bounds[:-1]], [*map(int.__sub__, bounds[1:], bounds)]


def rows_of_sources(plans: Sequence[ShardPlan]) -> list[int] | None:
    """Return how many records each source has, of all shards in order; `None` where an older bbpe did not keep them."""
    rows: list[int] = []
    for plan in plans:
        for number in range(len(plan)):
            record = _record_of(plan, number)
            if not _is_known(plan, record):
                return None
            rows += _rows_of(plan, record) if number == 0 or not plan.policy.moved else []
    return rows


def origin_faults(plan: ShardPlan, record: PartRecord) -> Iterator[str]:
    """Yield what is wrong with the numbers that say where the documents of a part come from."""
    stem, is_moved = plan.stem(record.part), bool(plan.policy.moved)
    if not _is_known(plan, record):
        return
    records = np.array(_rows_of(plan, _record_of(plan, 0) if is_moved else record), np.int64)
    known = numbers_of(plan, record)
    sources = plan.parts[0 if is_moved else record.part]
    if len(records) != len(sources) or (not is_moved and int(records.sum()) != record.records):
        found = f"{counted(int(records.sum()), 'record')} of {counted(len(records), 'source')}"
        yield f"{stem}.json: found {found}; expected {record.records:,} of {len(sources):,}"
        return
    part, last = None if is_moved else _part_of(plan, record), np.array([-1, -1], np.int64)
    for first in range(0, record.documents, _DOCUMENTS):
        stop = min(first + _DOCUMENTS, record.documents)
        numbers = known[first:stop] if part is None else _in_order(part, known, first, stop, 0)
        whole = numbers.astype(np.int64)
        is_wrong = whole[:, 0] >= len(records)
        is_wrong[~is_wrong] = whole[~is_wrong, 1] >= records[whole[~is_wrong, 0]]
        if part is not None:
            steps = np.diff(whole, axis=0, prepend=last[None])
            is_wrong |= (steps[:, 0] == 0) & (steps[:, 1] <= 0)
        if is_wrong.any():
            document, (source, row) = first + int(is_wrong.argmax()), whole[is_wrong.argmax()].tolist()
            yield f"{stem}: document {document} is said to be record {row} of source {source}, which cannot be"
            return
        last = whole[-1]
        forget(known)


class MergedOrigins:
    """Writes the origins of merged documents, given their numbers in the order in which they are merged.

    `rows` is how many records each source of the plan has, `blocks` as `number_blocks` yields them.  `documents` is how
    many documents of each source were written, unless they were moved.
    """

    def __init__(self, plan: ShardPlan, rows: list[int], blocks: Iterator[Documents]) -> None:
        self.rows, self.documents = rows, [0] * len(rows)
        self._is_moved, self._sources = bool(plan.policy.moved), plan.parts[0]
        self._runs = runs_of(self._sources)
        ends = [0, *accumulate(rows)]
        self._before = [ends[source] - ends[run] for source, run in enumerate(self._runs)]
        self._blocks, self._held = blocks, np.empty((0, 2), np.uint32)

    def write(self, part: PartFiles, count: int) -> None:
        """Write those of the next documents to the files of a part."""
        held, length = [self._held], len(self._held)
        while length < count:
            held.append(next(self._blocks)[0].view(np.uint32).reshape(-1, 2))
            length += len(held[-1])
        numbers = np.concatenate(held)
        numbers, self._held = numbers[:count], numbers[count:]
        if self._is_moved:
            part.come_from(numbers)
            return
        bounds = [0, *(np.flatnonzero(np.diff(numbers[:, 0])) + 1).tolist(), count]
        for start, stop in pairwise(bounds if count else ()):
            source = int(numbers[start, 0])
            self.documents[source] += stop - start
            rows = numbers[start:stop, 1].astype(np.int64)
            part.rows.add(self._runs[source], self._before[source] + rows, self._sources[source].path)
