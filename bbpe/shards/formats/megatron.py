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
from typing import Any

from ...errors import CorpusError
from ...lazy import np, npt
from ..outputs import Output, Outputs
from .format import PLAIN, AllLengths, Columns, Ids, Keys, Lengths, MaskFiles, Masks, OutputFormat, mapped, with_suffix

_MAGIC, _VERSION = b"MMIDIDX\x00\x00", 1
_HEADER = struct.Struct("<9sQBQQ")
#: The end of the stem of the masks, which are a pair of their own.
_MASK = ".mask"
_CODES = {"uint8": 1, "uint16": 8, "int32": 4}


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


def read_index(path: Path) -> tuple[str, Any, Any, Any]:
    """Return the dtype of ids, and the three lists of an index.

    Raises `CorpusError` naming the file when it is no index, or when its lists do not fit together.
    """
    with path.open("rb") as file:
        head = file.read(_HEADER.size)
    magic, version, code, sequences, bounds = _HEADER.unpack(head.ljust(_HEADER.size, b"\0"))
    dtype = {code: dtype for dtype, code in _CODES.items()}.get(code)
    size = _HEADER.size + 12 * sequences + 8 * bounds
    if magic != _MAGIC or version != _VERSION or dtype is None or size != path.stat().st_size:
        known = " or ".join(_CODES)
        raise CorpusError(f"{path}: expected an index of Megatron of version {_VERSION}, with numbers of {known}")
    at = _HEADER.size
    lengths = mapped(path, "<i4", offset=at, count=sequences)
    begins = mapped(path, "<i8", offset=at + 4 * sequences, count=sequences)
    documents = mapped(path, "<i8", offset=at + 12 * sequences, count=bounds)
    if len(documents) and documents[-1] != sequences:
        raise CorpusError(f"{path}: the last document ends at sequence {documents[-1]} of {sequences}")
    return dtype, lengths, begins, documents


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
    found, lengths, begins, documents = read_index(path)
    bounds = np.concatenate([begins // np.dtype(found).itemsize, [len(ids)]]).astype(np.int64)
    if found != dtype or (np.diff(bounds) != lengths).any():
        raise CorpusError(f"{path}: the sequences do not follow one another in {stem.name}.bin, or are not {dtype}")
    of_documents: Lengths = np.diff(bounds[documents])
    return of_documents


#: A vocabulary of fewer than 65,500 ids takes two bytes, as in Megatron.
_DTYPES = {"uint16": 65499, "int32": 1 << 31}
_MASK_FILES = MaskFiles((f"{_MASK}.bin", f"{_MASK}.idx"), _masks)
MEGATRON = OutputFormat("megatron", (".bin", ".idx"), _DTYPES, True, MegatronWriter, _ids, _lengths, masks=_MASK_FILES)
