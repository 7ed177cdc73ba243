"""Samples in the shards of mosaicml-streaming (MDS) and the chunks of litdata: each sample is a document.

MDS, little-endian: uint32 samples; uint32 where each begins in the file, and the last ends; JSON with the names, kinds
and sizes of columns; samples.  A sample has a uint32 size of each column whose size varies, then the columns.

litdata: uint32 items; uint32 where each begins in the file, and the last ends; items.  `index.json` beside the chunks
has the dtype of ids, which are items of one tensor.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from ...core.rows import take
from ...errors import CorpusError
from ...lazy import np, npt
from ...text import counted
from ..formats.format import Ids, Lengths, forget, mapped
from .raw import indexed
from .reader import BLOCK, IdBlock, IdReading, IndexedFile, ReadFormat, checked_dtype

#: litdata's numbers of torch's and of NumPy's dtypes that are integers.
_TORCH = {11: "u1", 12: "i1", 13: "<i2", 14: "<i2", 15: "<i4", 16: "<i4", 17: "<i8", 18: "<i8", 20: "<u2"}
_NUMPY = {0: "i1", 1: "<i2", 2: "<i4", 3: "<i8", 4: "u1", 5: "<u2", 6: "<u4", 7: "<u8"}
#: The dtypes of MDS that values of an array may name, by their first byte.
_VALUES = {8: "u1", 9: "i1", 16: "<u2", 17: "<i2", 32: "<u4", 33: "<i4", 64: "<u8", 65: "<i8"}


class MdsFile:
    """The samples of one shard of MDS, of which one column has ids."""

    def __init__(self, path: Path, reading: IdReading) -> None:
        self._path, self.size = path, path.stat().st_size
        self._data = mapped(path, "u1")
        count = int(mapped(path, "<u4", count=1)[0])
        self._offsets = mapped(path, "<u4", offset=4, count=count + 1)
        begin = 4 * (count + 2)
        try:
            config, _ = json.JSONDecoder().raw_decode(bytes(self._data[begin : int(self._offsets[0])]).decode())
            names, kinds, sizes = (config[f"column_{name}"] for name in ("names", "encodings", "sizes"))
        except (ValueError, KeyError) as error:
            raise CorpusError(f"{path}: expected a shard of MDS, without compression: {error!r}") from error
        if int(self._offsets[-1]) != self.size:
            found = counted(self.size, "byte")
            raise CorpusError(f"{path}: the file has {found}; its samples end at {self._offsets[-1]}")
        if reading.column not in names:
            known = ", ".join(map(repr, names))
            raise CorpusError(f"{path}: there is no column {reading.column!r}, only {known}; name the column of ids by "
                              "column=")  # fmt: skip
        self._column, self._sizes = names.index(reading.column), sizes
        self.dtype, self._shape, self._header = self._coding(kinds[self._column], reading)
        self._lengths: Lengths | None = None

    def _coding(self, kind: str, reading: IdReading) -> tuple[str, bool, int]:
        """Return the dtype of ids, whether arrays say their shape, and the bytes before that."""
        name, _, rest = kind.partition(":")
        if name == "bytes":
            return checked_dtype(self._path, reading, None), False, 0
        if name != "ndarray":
            raise CorpusError(f"{self._path}: the column {reading.column!r} is {kind}; expected an ndarray or bytes")
        dtype, _, shape = rest.partition(":")
        if "," in shape:
            raise CorpusError(f"{self._path}: the column {reading.column!r} is {kind}; expected one dimension")
        if not dtype:
            # each array names its own; all of them must have that of the first one
            found = _VALUES.get(int(self._data[self._begins(0, 1)[0][0]])) if len(self._offsets) > 1 else reading.dtype
            return checked_dtype(self._path, reading, found or "f8"), not shape, 1
        try:
            named = np.dtype(dtype).newbyteorder("<")
        except TypeError:
            raise CorpusError(f"{self._path}: the column {reading.column!r} is {kind}; expected integers") from None
        return checked_dtype(self._path, reading, named), not shape, 0

    def _begins(self, first: int, stop: int) -> tuple[Lengths, Lengths]:
        """Return where the column begins in samples, and its bytes in each."""
        at = self._offsets[first:stop].astype(np.int64)
        number, varying = 0, [size is None for size in self._sizes]
        begins = at + 4 * sum(varying)
        for column, size in enumerate(self._sizes[: self._column + 1]):
            if size is None:
                its = _numbers(self._data, at + 4 * number, 4)
                number += 1
            else:
                its = np.full(len(at), size, np.int64)
            if column < self._column:
                begins = begins + its
        return begins, its

    def _places(self, first: int, stop: int) -> tuple[Lengths, Lengths]:
        """Return where the ids of samples begin in the file, and how many bytes they have."""
        begins, sizes = self._begins(first, stop)
        head = np.full(len(begins), self._header, np.int64)
        if self._header and len(begins):
            self._check(self._data[begins], _code(self.dtype), first, "dtype of the first sample")
        if self._shape and len(begins):
            shape = self._data[begins + self._header].astype(np.int64)
            self._check(shape >> 2, 1, first, "one dimension")
            head += 1 + (1 << (shape & 3))
        lengths = sizes - head
        wrong = np.flatnonzero((lengths < 0) | (lengths % np.dtype(self.dtype).itemsize != 0))
        if len(wrong):
            name = np.dtype(self.dtype).name
            raise CorpusError(f"{self._path}: sample {first + int(wrong[0])} has no whole ids of {name}")
        return begins + head, lengths

    def _check(self, found: Any, expected: int, first: int, what: str) -> None:
        wrong = np.flatnonzero(found != expected)
        if len(wrong):
            sample = first + int(wrong[0])
            raise CorpusError(f"{self._path}: sample {sample} is an array of another kind; expected {what}")

    @property
    def documents(self) -> int:
        """The number of samples."""
        return len(self._offsets) - 1

    @property
    def tokens(self) -> int:
        """The number of ids."""
        return int(self.all_lengths().sum())

    def all_lengths(self) -> Lengths:
        """Return the lengths of all documents."""
        if self._lengths is None:
            self._lengths = self._places(0, self.documents)[1] // np.dtype(self.dtype).itemsize
        return self._lengths

    def cuts(self, most: int) -> Iterator[tuple[int, int]]:
        """Yield numbers of samples, and the bytes before each."""
        offsets, cut = self._offsets.astype(np.int64), 0
        while offsets[-1] - cut > most:
            number = int(np.searchsorted(offsets, cut + most, "right")) - 1
            number = max(number, int(np.searchsorted(offsets, cut, "right")))
            if number >= self.documents:
                return
            cut = int(offsets[number])
            yield number, cut

    def blocks(self, start: int = 0, stop: int | None = None) -> Iterator[IdBlock]:
        """Yield the samples of a range, about `BLOCK` ids at a time."""
        stop = self.documents if stop is None else stop
        item = np.dtype(self.dtype).itemsize
        while start < stop:
            limit = int(self._offsets[start]) + BLOCK * item
            end = min(max(int(np.searchsorted(self._offsets, limit, "right")) - 1, start + 1), stop)
            begins, sizes = self._places(start, end)
            bounds = np.empty(2 * len(begins), np.int64)
            bounds[::2], bounds[1::2] = begins, begins + sizes
            # the bytes between the ids are rows that are not taken
            low = int(bounds[0])
            order = np.arange(0, len(bounds) - 1, 2, dtype=np.int64)
            taken, _ = take(self._data[low : int(bounds[-1])], bounds - low, order)
            read = int(self._offsets[end]) - int(self._offsets[start])
            yield IdBlock(taken.view(self.dtype), sizes // item, read, 0, start)
            start = end
            forget(self._data)


def _code(dtype: npt.DTypeLike) -> int:
    return next(code for code, name in _VALUES.items() if np.dtype(name) == np.dtype(dtype))


def _numbers(data: Any, at: Lengths, size: int) -> Lengths:
    """Return little-endian numbers that begin anywhere."""
    found = np.zeros(len(at), np.int64)
    for byte in range(size):
        found |= data[at + byte].astype(np.int64) << (8 * byte)
    return found


def _litdata(path: Path, reading: IdReading) -> IndexedFile:
    index = path.with_name("index.json")
    try:
        config = json.loads(index.read_bytes())["config"]
        formats, packing, locked = config["data_format"], config.get("compression"), config.get("encryption")
        kind, _, number = formats[0].partition(":") if len(formats) == 1 else ("", "", "")
    except FileNotFoundError:
        raise CorpusError(f"{path}: there is no index.json beside it, which says what litdata's chunks have") from None
    except (ValueError, KeyError, TypeError, AttributeError, IndexError) as error:
        raise CorpusError(f"{index}: expected the index of litdata: {error!r}") from error
    if packing or locked:
        raise CorpusError(f"{index}: the chunks are {'compressed' if packing else 'encrypted'}; expected plain ones")
    known = {"no_header_tensor": _TORCH, "no_header_numpy": _NUMPY}.get(kind)
    if known is None:
        raise CorpusError(f"{index}: items are {formats!r}; expected one tensor or array of ids, without a header")
    dtype = checked_dtype(index, reading, known.get(int(number), "f8"))
    count = int(mapped(path, "<u4", count=1)[0])
    offsets = mapped(path, "<u4", offset=4, count=count + 1).astype(np.int64)
    begin, size, item = 4 * (count + 2), path.stat().st_size, np.dtype(dtype).itemsize
    if int(offsets[0]) != begin or int(offsets[-1]) != size or (np.diff(offsets) < 0).any():
        raise CorpusError(f"{path}: the items do not follow one another from byte {begin} to the end, {size}")
    if ((offsets - begin) % item).any():
        raise CorpusError(f"{path}: an item has no whole ids of {np.dtype(dtype).name}")
    ids: Ids = mapped(path, dtype, offset=begin)
    return indexed(ids, (offsets - begin) // item)


def _listed(key: str, name: Callable[[Any], str], suffix: str, folder: Path) -> list[Path]:
    """Return the files that the index of a folder lists; `CorpusError` where one is missing, or is packed."""
    index = folder / "index.json"
    try:
        names = [name(row) for row in json.loads(index.read_bytes())[key]]
    except (ValueError, KeyError, TypeError) as error:
        raise CorpusError(f"{index}: expected an index with {key!r}: {error!r}") from error
    for each in names:
        if not each.endswith(suffix) or not (folder / each).is_file():
            problem = "is not there" if each.endswith(suffix) else f"has another suffix than {suffix}"
            raise CorpusError(f"{index}: the file {each!r} that it lists {problem}; expected files without compression")
    return [folder / each for each in names]


_MDS_LISTED = partial(_listed, "shards", lambda row: row["raw_data"]["basename"], ".mds")
_LITDATA_LISTED = partial(_listed, "chunks", lambda row: row["filename"], ".bin")
MDS = ReadFormat("mds", ".mds", ("/index.json",), MdsFile, has_columns=True, listed=_MDS_LISTED)
LITDATA = ReadFormat("litdata", ".bin", ("/index.json",), _litdata, listed=_LITDATA_LISTED)
