"""dolma's and OLMo's files: a `.npy` of ids without a header, and a `.csv.gz` of where documents are.

A row of the table is `start,end,id,src,loc`: the ids of a document, the end exclusive; its id in the corpus if a field
with ids is named, else its number in this part; the file that it comes from; and its number among those of the part
that come from there.  A `.mask` has a bool for each id, as OLMo-core's `label_mask_paths` name it.
"""

from __future__ import annotations

import csv
import gzip
import io
from collections.abc import Iterator
from itertools import islice, repeat
from pathlib import Path

from ...errors import CorpusError
from ...lazy import np, npt
from ..outputs import Outputs
from .format import PLAIN, AllLengths, Columns, Ids, Keys, Lengths, MaskFiles, Masks, OutputFormat, mapped, with_suffix


class OlmoWriter:
    """Writes ids, and a row for each document."""

    def __init__(self, outputs: Outputs, dtype: str, name: str, columns: Columns = PLAIN) -> None:
        self._ids, table = outputs.open(".npy"), outputs.open(".csv.gz")
        # no name and no time, so that equal rows have equal bytes
        self._packed = gzip.GzipFile("", "wb", 6, table, 0)
        self._at = self._document = self._within = 0
        self._mask = outputs.open(".mask") if columns.masks else None
        self._source = ""

    def add(self, ids: npt.NDArray[np.uint8], masks: Masks = None) -> None:
        """Append ids."""
        self._ids.write(ids.data)
        if self._mask is not None and masks is not None:
            self._mask.write(masks.data)

    def end(self, lengths: Lengths, source: str, keys: Keys) -> None:
        """Write rows."""
        if source != self._source:
            self._source, self._within = source, 0
        count = len(lengths)
        ends = self._at + np.cumsum(lengths, dtype=np.int64)
        own = range(self._document, self._document + count) if keys is None else keys
        within = range(self._within, self._within + count)
        text = io.StringIO()
        rows = zip((ends - lengths).tolist(), ends.tolist(), own, repeat(source), within, strict=False)
        csv.writer(text, lineterminator="\n").writerows(rows)
        self._at, self._document, self._within = int(ends[-1]), self._document + count, self._within + count
        self._packed.write(text.getvalue().encode("utf-8", "surrogateescape"))

    def finish(self, lengths: AllLengths) -> None:
        """Write the end of the table."""
        self._packed.close()


def _ids(stem: Path, dtype: str) -> Ids:
    found: Ids = mapped(with_suffix(stem, ".npy"), dtype)
    return found


def _rows(path: Path) -> Iterator[list[str]]:
    with gzip.open(path, "rt", encoding="utf-8", errors="surrogateescape", newline="") as file:
        yield from csv.reader(file)


def _keys(stem: Path, first: int = 0) -> Iterator[str]:
    return (row[2] for row in islice(_rows(with_suffix(stem, ".csv.gz")), first, None))


def _lengths(stem: Path, dtype: str, ids: Ids) -> Lengths:
    path = with_suffix(stem, ".csv.gz")
    found = [(int(row[0]), int(row[1])) for row in _rows(path)]
    bounds = np.array(found, np.int64).reshape(-1, 2)
    expected = np.concatenate([np.zeros(1, np.int64), bounds[:, 1]])
    if (bounds[:, 0] != expected[:-1]).any() or expected[-1] != len(ids):
        raise CorpusError(f"{path}: the documents do not follow one another in {stem.name}.npy")
    return np.diff(expected)


def _masks(stem: Path) -> npt.NDArray[np.uint8]:
    found: npt.NDArray[np.uint8] = mapped(with_suffix(stem, ".mask"), "uint8")
    return found


_DTYPES = {"uint16": 1 << 16, "uint32": 1 << 32}
_SUFFIXES, _MASKS = (".npy", ".csv.gz"), MaskFiles((".mask",), _masks)
OLMO = OutputFormat("olmo", _SUFFIXES, _DTYPES, True, OlmoWriter, _ids, _lengths, _keys, _MASKS)
