"""Megatron's `.bin` of ids and `.idx` of sequences and documents, as Megatron-LM and its forks write them.

A document has any number of sequences; their ends within a document are not kept, since no other format has them.
Indices of multimodal data, which have a mode for each sequence, and numbers that are no integers are refused.
"""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

from ...errors import CorpusError
from ...lazy import np
from ...text import counted
from ..formats.format import Lengths, mapped
from .reader import IdReading, IndexedFile, ReadFormat, checked_dtype, suffixed

_MAGIC, _VERSION = b"MMIDIDX\x00\x00", 1
_HEADER = struct.Struct("<9sQBQQ")
#: The dtypes of numbers by their codes in the index.
_DTYPES = {1: "u1", 2: "i1", 3: "<i2", 4: "<i4", 5: "<i8", 6: "<f8", 7: "<f4", 8: "<u2"}


def _index(path: Path) -> tuple[str, Any, Any, Any]:
    """Return the dtype of ids, and the lists of an index: lengths of sequences, their begins, and documents."""
    with path.open("rb") as file:
        head = file.read(_HEADER.size)
    if len(head) < _HEADER.size or not head.startswith(_MAGIC):
        raise CorpusError(f"{path}: expected an index of Megatron, which begins with {_MAGIC!r}")
    _, version, code, sequences, bounds = _HEADER.unpack(head)
    if version != _VERSION:
        raise CorpusError(f"{path}: the index has version {version}; expected {_VERSION}")
    if code not in _DTYPES:
        raise CorpusError(f"{path}: the code of the dtype is {code}; expected 1 to 8")
    size, found = _HEADER.size + 12 * sequences + 8 * bounds, path.stat().st_size
    if found == size + sequences and sequences:
        raise CorpusError(f"{path}: the index has a mode for each sequence, as multimodal data do; expected ids alone")
    if found != size:
        raise CorpusError(f"{path}: the index has {counted(found, 'byte')}; its numbers of sequences make {size:,}")
    at = _HEADER.size
    lengths = mapped(path, "<i4", offset=at, count=sequences)
    begins = mapped(path, "<i8", offset=at + 4 * sequences, count=sequences)
    documents = mapped(path, "<i8", offset=at + 12 * sequences, count=bounds)
    if not bounds or (int(documents[0]), int(documents[-1])) != (0, sequences):
        raise CorpusError(f"{path}: the documents do not begin with sequence 0 and end with sequence {sequences}")
    return _DTYPES[code], lengths, begins, documents


class _Bounds:
    """Where documents begin, by the sequences of an index that follow one another."""

    def __init__(self, path: Path, lengths: Any, begins: Any, documents: Any, item: int, count: int) -> None:
        self._path, self._lengths, self._begins, self._documents = path, lengths, begins, documents
        self._item, self._count = item, count
        self.position(len(documents) - 1)

    def _places(self, sequences: Any) -> Any:
        """Return the number of ids before sequences, of which the last one may be behind all."""
        last = len(self._begins)
        found = np.full(len(sequences), self._count, np.int64)
        inner = sequences < last
        found[inner] = self._begins[sequences[inner]] // self._item
        return found

    def position(self, document: int) -> int:
        return int(self._places(np.array([self._documents[document]], np.int64))[0])

    def lengths(self, first: int, stop: int) -> Lengths:
        """Return the lengths of documents; `CorpusError` unless their sequences follow one another."""
        documents = self._documents[first : stop + 1]
        low, high = int(documents[0]), int(documents[-1])
        places = self._places(np.arange(low, high + 1, dtype=np.int64))
        sequences = self._lengths[low:high]
        within = documents - low
        if (np.diff(places) != sequences).any() or (np.diff(documents) < 0).any() or (low == 0 and places[0] and high):
            raise CorpusError(f"{self._path}: the sequences of documents {first} to {stop - 1} do not follow one "
                              "another in the file of ids")  # fmt: skip
        found: Lengths = np.diff(places[within])
        return found


def _open(path: Path, reading: IdReading) -> IndexedFile:
    stem = MEGATRON.stem(path)
    index = suffixed(stem, ".idx")
    if not index.exists():
        raise CorpusError(f"{path}: there is no {index.name} beside it; Megatron's ids come as a .bin and an .idx")
    found, lengths, begins, documents = _index(index)
    ids = mapped(path, checked_dtype(index, reading, found))
    bounds = _Bounds(index, lengths, begins, documents, ids.itemsize, len(ids))
    masks = None
    if reading.masks is not None:
        masks = mapped(suffixed(stem, ".mask.bin"), "u1", count=len(ids))
    held = (lengths, begins, documents)
    return IndexedFile(ids, len(documents) - 1, bounds.lengths, bounds.position, masks=masks, held=held)


_MASKS = (".mask.bin", ".mask.idx")
MEGATRON = ReadFormat("megatron", ".bin", (".idx", *_MASKS), _open, mask_files=_MASKS)
