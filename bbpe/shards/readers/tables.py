"""Files of ids with a list of documents beside them: dolma's and OLMo's `.npy`, and datatrove's `.ds`.

Where the list is not there, EOS or BOS divide the ids, as in other raw files.
"""

from __future__ import annotations

import csv
import gzip
import zlib
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from ...errors import CorpusError
from ...lazy import np
from ..formats.format import Ids, Lengths, mapped
from .raw import indexed
from .reader import (
    BLOCK,
    DelimitedFile,
    IdReading,
    IndexedFile,
    ReadFormat,
    check_bounds,
    checked_dtype,
    suffixed,
)  # fmt: skip

#: The widths of ids that the metadata of datatrove name.
_WIDTHS = {"2": "<u2", "4": "<u4"}


def _olmo(path: Path, reading: IdReading) -> IndexedFile | DelimitedFile:
    ids: Ids = mapped(path, checked_dtype(path, reading, None))
    stem = OLMO.stem(path)
    table = suffixed(stem, ".csv.gz")
    if not table.exists():
        if reading.id_field is not None:
            raise CorpusError(f"{path}: there is no {table.name} beside it, which has the ids of documents")
        return DelimitedFile(path, ids, reading)
    begins, ends = _bounds_of(table)
    expected = np.concatenate([np.zeros(1, np.int64), ends])
    if not np.array_equal(begins, expected[:-1]):
        raise CorpusError(f"{table}: the documents do not follow one another in {path.name}")
    check_bounds(table, ends, len(ids))
    masks = None if reading.masks is None else mapped(suffixed(stem, ".mask"), "u1", count=len(ids))
    keys = None if reading.id_field is None else lambda: (row[2] for row in _rows(table))
    return indexed(ids, expected, keys=keys, masks=masks)


def _rows(path: Path) -> Iterator[list[str]]:
    try:
        with gzip.open(path, "rt", encoding="utf-8", errors="surrogateescape", newline="") as file:
            yield from csv.reader(file)
    except (EOFError, zlib.error, gzip.BadGzipFile, csv.Error) as error:
        raise CorpusError(f"{path}: expected a table of documents, start,end,id,src,loc: {error}") from error


def _bounds_of(path: Path) -> tuple[Lengths, Lengths]:
    """Return where documents begin and end, by the first two columns of a table."""
    found = [np.empty((0, 2), np.int64)]
    rows = _rows(path)
    while some := list(islice(rows, BLOCK)):
        try:
            found.append(np.array([(int(row[0]), int(row[1])) for row in some], np.int64))
        except (ValueError, IndexError, OverflowError) as error:
            raise CorpusError(f"{path}: expected rows start,end,id,src,loc: {error}") from error
    bounds = np.concatenate(found)
    return bounds[:, 0], bounds[:, 1]


def _datatrove(path: Path, reading: IdReading) -> IndexedFile | DelimitedFile:
    stem = DATATROVE.stem(path)
    metadata, index = suffixed(stem, ".ds.metadata"), suffixed(stem, ".ds.index")
    found = None
    if metadata.exists():
        first = metadata.read_text("utf-8").partition("\n")[0]
        found = _WIDTHS.get(first.rpartition("|")[2])
        if found is None:
            raise CorpusError(f"{metadata}: the first line is {first[:40]!r}; expected a name, | and a width of 2 or 4")
    ids: Ids = mapped(path, checked_dtype(path, reading, found))
    if not index.exists():
        return DelimitedFile(path, ids, reading)
    ends = mapped(index, "<i8")

    def position(document: int) -> int:
        return int(ends[document - 1]) if document else 0

    def lengths(first: int, stop: int) -> Lengths:
        its: Lengths = np.diff(ends[first:stop], prepend=position(first))
        if (its < 0).any():
            raise CorpusError(f"{index}: documents {first} to {stop - 1} do not follow one another in {path.name}")
        return its

    check_bounds(index, ends[-1:], len(ids))
    masks = None if reading.masks is None else mapped(suffixed(stem, ".ds.loss"), "u1", count=len(ids))
    return IndexedFile(ids, len(ends), lengths, position, masks=masks, held=(ends,))


OLMO = ReadFormat(
    "olmo", ".npy", (".csv.gz", ".mask"), _olmo, says_dtype=False, has_keys=True, mask_files=(".mask",)
)
DATATROVE = ReadFormat(
    "datatrove", ".ds", (".ds.index", ".ds.metadata", ".ds.loss"), _datatrove, mask_files=(".ds.loss",)
)
