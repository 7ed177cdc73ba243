"""Megatron-LM's indexed datasets: a `.bin` of ids, and an `.idx` of where sequences and documents are.

`.idx`, little-endian: `MMIDIDX`, two zeros; uint64 version; uint8 code of the dtype; uint64 sequences; uint64 documents
plus one; int32 ids of each sequence; int64 where each begins in the `.bin`, in bytes; int64 first sequence of each
document, and the number of sequences.  Each document is one sequence, an empty one none.  Masks are another pair of
files, `.mask.bin` and `.mask.idx`, with uint8.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from ...errors import CorpusError
from ...lazy import np, npt
from ...text import counted
from ..outputs import Output, Outputs
from .format import PLAIN, AllLengths, Columns, Ids, Keys, Lengths, MaskFiles, Masks, OutputFormat, mapped, with_suffix

_MAGIC, _VERSION = b"MMIDIDX\x00\x00", 1
_HEADER = struct.Struct("<9sQBQQ")
#: The end of the stem of the masks, which are a pair of their own.
_MASK = ".mask"
_CODES = {"uint8": 1, "uint16": 8, "int32": 4}
#: The dtypes of numbers of indices by their codes.
_KINDS = {1: "u1", 2: "i1", 3: "<i2", 4: "<i4", 5: "<i8", 6: "<f8", 7: "<f4", 8: "<u2"}


class MegatronWriter:
    """Writes a `.bin`, and in the end its `.idx`."""

    def __init__(self, outputs: Outputs, dtype: str, name: str, columns: Columns = PLAIN) -> None:
        kinds = {"": dtype, _MASK: "uint8"} if columns.masks else {"": dtype}
        # files are published in the order in which they are opened
        self._pairs = [(outputs.open(f"{name}.bin"), outputs.open(f"{name}.idx"), kind) for name, kind in kinds.items()]

    def add(self, ids: npt.NDArray[np.uint8], masks: Masks = None) -> None:
        """Append ids."""
        for (data, _, _), values in zip(self._pairs, (ids, masks), strict=False):
            assert values is not None
            data.write(values.data)

    def end(self, lengths: Lengths, source: str, keys: Keys) -> None:
        """Do nothing: `finish` gets all lengths."""

    def finish(self, lengths: AllLengths) -> None:
        """Write the indices."""
        for _, index, dtype in self._pairs:
            _write_index(index, dtype, lengths)


def _write_index(index: Output, dtype: str, lengths: AllLengths) -> None:
    """Write the three lists of an index, each in one pass over the lengths."""
    documents = sequences = 0
    for some in lengths():
        documents, sequences = documents + len(some), sequences + int(np.count_nonzero(some))
    index.write(_HEADER.pack(_MAGIC, _VERSION, _CODES[dtype], sequences, documents + 1))
    for some in lengths():
        index.write(some[some > 0].tobytes())
    for begins in _running(lengths, np.dtype(dtype).itemsize):
        index.write(begins.tobytes())
    index.write(np.zeros(1, np.int64).tobytes())
    done = 0
    for some in lengths():
        ends = done + np.cumsum(some > 0, dtype=np.int64)
        index.write(ends.tobytes())
        done = int(ends[-1])


def _running(lengths: AllLengths, size: int) -> Iterator[npt.NDArray[np.int64]]:
    """Yield where each sequence begins, in bytes."""
    at = 0
    for some in lengths():
        taken = some[some > 0].astype(np.int64) * size
        ends = at + np.cumsum(taken, dtype=np.int64)
        yield ends - taken
        at = int(ends[-1]) if len(ends) else at


class Index(NamedTuple):
    """An index: the dtype of ids; the length of each sequence, where it begins, in bytes, and the list of documents.

    `path` is that of the index, for messages.
    """

    path: Path
    dtype: str
    sizes: Any
    begins: Any
    documents: Any

    def bounds(self, count: int) -> Bounds:
        """Return where documents are in a file of so many ids."""
        return Bounds(self, count)


def read_index(path: Path) -> Index:
    """Return an index that Megatron-LM or one of its forks wrote.

    Raises `CorpusError` naming the file when it is no index, has more than ids, or its lists do not fit together.
    """
    with path.open("rb") as file:
        head = file.read(_HEADER.size)
    if len(head) < _HEADER.size or not head.startswith(_MAGIC):
        raise CorpusError(f"{path}: expected an index of Megatron, which begins with {_MAGIC!r}")
    _, version, code, sequences, bounds = _HEADER.unpack(head)
    if version != _VERSION:
        raise CorpusError(f"{path}: the index has version {version}; expected {_VERSION}")
    if code not in _KINDS:
        raise CorpusError(f"{path}: the code of the dtype is {code}; expected 1 to {len(_KINDS)}")
    size, found = _HEADER.size + 12 * sequences + 8 * bounds, path.stat().st_size
    if found == size + sequences and sequences:
        raise CorpusError(f"{path}: the index has a mode for each sequence, as multimodal data do; expected ids alone")
    if found != size:
        raise CorpusError(f"{path}: the index has {counted(found, 'byte')}; its numbers of sequences make {size:,}")
    at = _HEADER.size
    sizes = mapped(path, "<i4", offset=at, count=sequences)
    begins = mapped(path, "<i8", offset=at + 4 * sequences, count=sequences)
    documents = mapped(path, "<i8", offset=at + 12 * sequences, count=bounds)
    if not bounds or (int(documents[0]), int(documents[-1])) != (0, sequences):
        raise CorpusError(f"{path}: the documents do not begin with sequence 0 and end with sequence {sequences}")
    return Index(path, _KINDS[code], sizes, begins, documents)


class Bounds:
    """Where documents begin, by the sequences of an index that follow one another."""

    def __init__(self, index: Index, count: int) -> None:
        self._index, self._count, self._item = index, count, np.dtype(index.dtype).itemsize
        self.position(len(index.documents) - 1)

    def _places(self, sequences: Any) -> Any:
        """Return the number of ids before sequences, of which the last one may be behind all."""
        begins = self._index.begins
        found = np.full(len(sequences), self._count, np.int64)
        inner = sequences < len(begins)
        found[inner] = begins[sequences[inner]] // self._item
        return found

    def position(self, document: int) -> int:
        """Return the number of ids before a document."""
        return int(self._places(np.array([self._index.documents[document]], np.int64))[0])

    def lengths(self, first: int, stop: int) -> Lengths:
        """Return the lengths of documents; `CorpusError` unless their sequences follow one another."""
        documents = self._index.documents[first : stop + 1]
        low, high = int(documents[0]), int(documents[-1])
        places = self._places(np.arange(low, high + 1, dtype=np.int64))
        sizes = self._index.sizes[low:high]
        within = documents - low
        if (np.diff(places) != sizes).any() or (np.diff(documents) < 0).any() or (low == 0 and places[0] and high):
            raise CorpusError(f"{self._index.path}: the sequences of documents {first} to {stop - 1} do not follow one "
                              "another in the file of ids")  # fmt: skip
        found: Lengths = np.diff(places[within])
        return found


def _ids(stem: Path, dtype: str) -> Ids:
    found: Ids = mapped(with_suffix(stem, ".bin"), dtype)
    return found


def _masks(stem: Path) -> npt.NDArray[np.uint8]:
    masks = with_suffix(stem, _MASK)
    found: npt.NDArray[np.uint8] = mapped(with_suffix(masks, ".bin"), "uint8")
    _lengths(masks, "uint8", found)
    return found


def _lengths(stem: Path, dtype: str, ids: Ids) -> Lengths:
    path = with_suffix(stem, ".idx")
    index = read_index(path)
    if np.dtype(index.dtype) != dtype:
        raise CorpusError(f"{path}: the ids are {np.dtype(index.dtype).name}; expected {dtype}")
    return index.bounds(len(ids)).lengths(0, len(index.documents) - 1)


#: A vocabulary of fewer than 65,500 ids takes two bytes, as in Megatron.
_DTYPES = {"uint16": 65499, "int32": 1 << 31}
_MASK_FILES = MaskFiles((f"{_MASK}.bin", f"{_MASK}.idx"), _masks)
MEGATRON = OutputFormat("megatron", (".bin", ".idx"), _DTYPES, True, MegatronWriter, _ids, _lengths, masks=_MASK_FILES)
