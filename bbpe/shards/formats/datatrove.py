"""datatrove's `.ds` of ids, which nanotron reads, with `.ds.index` and `.ds.metadata`.

The index has where each document ends, in ids, as uint64.  The metadata has three lines: the name of the tokenizer and
the bytes of an id, the number of ids, and the same for people.  Masks are in `.ds.loss`, a bool for each id.
"""

from __future__ import annotations

from pathlib import Path

from ...errors import CorpusError
from ...lazy import np, npt
from ..outputs import Outputs
from .format import PLAIN, AllLengths, Columns, Ids, Keys, Lengths, MaskFiles, Masks, OutputFormat, mapped, with_suffix


class DatatroveWriter:
    """Writes ids and the ends of documents."""

    def __init__(self, outputs: Outputs, dtype: str, name: str, columns: Columns = PLAIN) -> None:
        self._ids, self._index = outputs.open(".ds"), outputs.open(".ds.index")
        self._metadata, self._size, self._name = outputs.open(".ds.metadata"), np.dtype(dtype).itemsize, name
        self._loss = outputs.open(".ds.loss") if columns.masks else None
        self._at = 0

    def add(self, ids: npt.NDArray[np.uint8], masks: Masks = None) -> None:
        """Append ids."""
        self._ids.write(ids.data)
        if self._loss is not None and masks is not None:
            self._loss.write(masks.data)

    def end(self, lengths: Lengths, source: str, keys: Keys) -> None:
        """Write where documents end."""
        ends = self._at + np.cumsum(lengths, dtype=np.int64)
        self._index.write(ends.astype("<u8").tobytes())
        self._at = int(ends[-1])

    def finish(self, lengths: AllLengths) -> None:
        """Write the metadata."""
        text = f"{self._name or 'Unknown Tokenizer'}|{self._size}\n{self._at}\n{_for_people(self._at)}"
        self._metadata.write(text.encode())


def _for_people(count: int) -> str:
    """Write a number of ids with three digits and a prefix.

    >>> _for_people(7), _for_people(12345), _for_people(100_000_000)
    ('7.00 T', '12.3 kT', '100 MT')
    """
    power = min((len(str(count)) - 1) // 3, 5)
    value = count / 1000**power
    digits = 2 - (len(str(int(value))) - 1) if count else 2
    return f"{value:.{digits}f} {['', 'k', 'M', 'G', 'T', 'P'][power]}T"


def _ids(stem: Path, dtype: str) -> Ids:
    found: Ids = mapped(with_suffix(stem, ".ds"), dtype)
    return found


def _lengths(stem: Path, dtype: str, ids: Ids) -> Lengths:
    path = with_suffix(stem, ".ds.index")
    ends = mapped(path, "<u8").astype(np.int64)
    lengths: Lengths = np.diff(ends, prepend=0)
    if (ends[-1] if len(ends) else 0) != len(ids) or (lengths < 0).any():
        raise CorpusError(f"{path}: the documents do not end where {stem.name}.ds ends")
    return lengths


def _masks(stem: Path) -> npt.NDArray[np.uint8]:
    found: npt.NDArray[np.uint8] = mapped(with_suffix(stem, ".ds.loss"), "uint8")
    return found


_SUFFIXES = (".ds", ".ds.index", ".ds.metadata")
_DTYPES = {"uint16": 1 << 16, "uint32": 1 << 32}
_MASKS = MaskFiles((".ds.loss",), _masks)
DATATROVE = OutputFormat("datatrove", _SUFFIXES, _DTYPES, True, DatatroveWriter, _ids, _lengths, masks=_MASKS)
