"""Read and write counted pretokens in Parquet files with the columns `pretoken` (bytes) and `count`.

pyarrow is imported where it is used, because most jobs do not need it and it takes 60 MB.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, TypeAlias

from ..core.rows import take, trim
from ..errors import CorpusError, MemoryLimitError
from ..files import replacing
from ..lazy import arrow_array, hashlib, np, npt, safe_import
from ..records import dataclass
from .opened import naming
from .urls import path_of

Bytes: TypeAlias = "npt.NDArray[np.uint8]"
Offsets: TypeAlias = "npt.NDArray[np.int64]"
Counts: TypeAlias = "npt.NDArray[np.uint64]"

#: The number of rows of a row group, and of a batch that a reader yields.
ROWS = 1 << 16
#: The limits for the number of row groups of a run, a power of two; each has one part of the hash space.
LEAST_PARTS, MOST_PARTS = 16, 1024
#: The types of texts in arrow, with offsets of 32 and of 64 bits, and those that are views, with their wide types.
_NARROW, _WIDE = ("string", "binary"), ("large_string", "large_binary")
_VIEWS = {"string_view": "large_string", "binary_view": "large_binary"}


@dataclass(frozen=True)
class Rows:
    """Counted pretokens.

    Pretoken i is `data[offsets[i]:offsets[i + 1]]`; `data` is uint8[total], `offsets` int64[n + 1], `counts` uint64[n].
    `places` has the position of the first occurrence of each pretoken, uint64[n] in ascending order, `None` if it is
    not known.
    """

    data: Bytes
    offsets: Offsets
    counts: Counts
    places: Counts | None = None

    def __len__(self) -> int:
        return len(self.counts)

    def slice(self, start: int, stop: int) -> Rows:
        """Return the rows from `start` to `stop`."""
        offsets = self.offsets[start : stop + 1]
        places = None if self.places is None else self.places[start:stop]
        return Rows(self.data[offsets[0] : offsets[-1]], offsets - offsets[0], self.counts[start:stop], places)

    def take(self, order: Offsets) -> Rows:
        """Return the rows with the numbers in `order`."""
        data, offsets = take(self.data, self.offsets, order)
        return Rows(data, offsets, self.counts[order], None if self.places is None else self.places[order])

    @staticmethod
    def join(parts: list[Rows]) -> Rows:
        """Concatenate rows."""
        ends, at = [np.zeros(1, np.int64)], 0
        for part in parts:
            ends.append(part.offsets[1:] - part.offsets[0] + at)
            at = int(ends[-1][-1]) if len(part) else at
        places = [part.places for part in parts if part.places is not None]
        return Rows(
            _concatenated([part.data[part.offsets[0] : part.offsets[-1]] for part in parts], np.uint8),
            np.concatenate(ends),
            _concatenated([part.counts for part in parts], np.uint64),
            _concatenated(places, np.uint64) if len(places) == len(parts) else None,
        )


def _concatenated(arrays: list[npt.NDArray[Any]], dtype: type) -> npt.NDArray[Any]:
    return np.concatenate(arrays) if arrays else np.empty(0, dtype)


class RowDigest:
    """A digest of rows that does not depend on how they are batched; it detects accidental changes."""

    def __init__(self) -> None:
        self._columns = [hashlib.blake2b(digest_size=16) for _ in range(3)]

    def add(self, rows: Rows) -> None:
        """Add the next rows to the digest."""
        data = rows.data[rows.offsets[0] : rows.offsets[-1]]
        for column, values in zip(self._columns, (data, np.diff(rows.offsets), rows.counts), strict=True):
            column.update(np.ascontiguousarray(values).data)

    def hex(self, text: str) -> str:
        """Return the digest of all rows so far and of a text, in hexadecimal."""
        whole = b"".join(column.digest() for column in self._columns) + text.encode()
        return hashlib.blake2b(whole, digest_size=16).hexdigest()


def pyarrow_parquet() -> Any:
    """Import pyarrow's Parquet module; `ImportError` with the command that installs it."""
    try:
        safe_import("pyarrow.parquet")
        import pyarrow.parquet
    except ImportError as error:
        raise ImportError("Parquet files need pyarrow; install it with: pip install 'bbpe[data]'") from error
    return pyarrow.parquet


def release_arrow() -> None:
    """Return freed memory of arrow to the system, because arrow keeps many times what it ever used at once."""
    safe_import("pyarrow")
    import pyarrow as pa

    pa.default_memory_pool().release_unused()


class RowFileWriter:
    """Writes rows to a Parquet file; each call writes one row group."""

    def __init__(self, file: Any, *, places: bool) -> None:
        self._parquet = pyarrow_parquet()
        safe_import("pyarrow")
        import pyarrow as pa

        self._pa, self._places = pa, places
        fields = [pa.field("pretoken", pa.binary(), nullable=False), pa.field("count", pa.uint64(), nullable=False)]
        if places:
            fields.append(pa.field("place", pa.uint64(), nullable=False))
        self._schema = pa.schema(fields)
        self._writer = self._parquet.ParquetWriter(
            file, self._schema, compression="lz4" if places else "zstd", use_dictionary=False, write_statistics=False,
            write_page_checksum=True, store_schema=False,
        )  # fmt: skip

    def write(self, rows: Rows) -> None:
        """Write a row group, which may have no rows."""
        pa = self._pa
        offsets = (rows.offsets - rows.offsets[0]).astype(np.int32)
        data = np.ascontiguousarray(rows.data[rows.offsets[0] : rows.offsets[-1]])
        columns = [
            pa.Array.from_buffers(pa.binary(), len(rows), [None, pa.py_buffer(offsets), pa.py_buffer(data)]),
            arrow_array(rows.counts),
        ]
        if self._places:
            columns.append(arrow_array(rows.places))
        self._writer.write_table(pa.table(columns, schema=self._schema), row_group_size=max(len(rows), 1))
        release_arrow()

    def annotate(self, metadata: Mapping[str, str]) -> None:
        """Add text metadata to the file."""
        self._writer.add_key_value_metadata(dict(metadata))

    def close(self) -> None:
        """Write the footer of the file."""
        self._writer.close()
        release_arrow()
        trim()


@contextmanager
def writing(path: str | os.PathLike[str], *, places: bool = False, kept: bool = True) -> Iterator[RowFileWriter]:
    """Open a Parquet file for rows; when the block ends the whole file is on the disk, or nothing after an error.

    With `kept` false the file is a temporary file of this process: it must be new, is not flushed to the disk, and an
    error leaves it incomplete.
    """
    with replacing(path) if kept else Path(path).open("xb") as file:
        writer = RowFileWriter(file, places=places)
        try:
            yield writer
        except BaseException:
            # otherwise the garbage collector would close the writer later, after the file is removed
            with suppress(Exception):
                writer.close()
            raise
        writer.close()


def regrouped(batches: Iterator[Rows], size: int = ROWS) -> Iterator[Rows]:
    """Yield rows in groups of exactly `size`, except the last one."""
    held: list[Rows] = []
    count = 0
    for batch in batches:
        at = 0
        while count + len(batch) - at >= size:
            stop = at + size - count
            yield Rows.join([*held, batch.slice(at, stop)])
            held, count, at = [], 0, stop
        if at < len(batch):
            held.append(batch.slice(at, len(batch)))
            count += len(batch) - at
    if held:
        yield Rows.join(held)


class RunReader:
    """Reads the row groups of a file of `RowFileWriter` with places; raises `CorpusError` as `read_rows` does."""

    def __init__(self, path: Path) -> None:
        self._path, parquet = path, pyarrow_parquet()
        with _naming_errors(path):
            self._file = parquet.ParquetFile(path, pre_buffer=False, page_checksum_verification=True)
            self.groups: int = self._file.num_row_groups

    def group(self, number: int) -> Rows:
        """Return the rows of a group."""
        with _naming_errors(self._path):
            table = self._file.read_row_group(number, use_threads=False)
        rows = _rows(table.column("pretoken"), _numbers(table.column("count")), _numbers(table.column("place")))
        copy = Rows.join([rows])
        del rows, table
        release_arrow()
        return copy

    def close(self) -> None:
        """Close the file."""
        self._file.close()


def _numbers(column: Any) -> Any:
    """Return the numbers of a column without nulls; its `to_numpy` would import pandas for nothing."""
    chunks = getattr(column, "chunks", [column])
    parts = [_numbers_of(chunk) for chunk in chunks if len(chunk)]
    if len(parts) == 1:
        return parts[0]
    return np.concatenate(parts) if parts else np.zeros(0, np.uint64)


def _numbers_of(array: Any) -> Any:
    safe_import("pyarrow")
    import pyarrow as pa

    types, kind = pa.types, array.type
    letter = "f" if types.is_floating(kind) else "i" if types.is_signed_integer(kind) else "u"
    numbers = np.frombuffer(array.buffers()[1], f"{letter}{kind.bit_width // 8}")
    return numbers[array.offset :][: len(array)]


def _rows(pretokens: Any, counts: Counts, places: Counts | None = None) -> Rows:
    safe_import("pyarrow")
    import pyarrow as pa

    if isinstance(pretokens, pa.ChunkedArray):
        pretokens = pa.concat_arrays(pretokens.chunks) if pretokens.num_chunks else arrow_array([], pa.binary())
    data, offsets = buffers_of(pretokens)
    return Rows(data, offsets, counts, places)


def is_text(kind: Any) -> bool:
    """Return whether a type of arrow is one of strings or bytes, or a dictionary of them."""
    safe_import("pyarrow")
    import pyarrow as pa

    return str(kind.value_type if pa.types.is_dictionary(kind) else kind) in (*_NARROW, *_WIDE, *_VIEWS)


def without_views(array: Any) -> Any:
    """Return an arrow array as one that can be filtered, which an array of views cannot."""
    return array.cast(_VIEWS[str(array.type)]) if str(array.type) in _VIEWS else array


def buffers_of(array: Any) -> tuple[Bytes, Offsets]:
    """Return the bytes and the offsets of an arrow array of texts (`is_text`), or of nulls alone, without nulls."""
    narrow = str(array.type) in _NARROW
    if not narrow and str(array.type) not in _WIDE:
        array = array.cast("large_binary")
    _, offsets_buffer, data_buffer = array.buffers()
    dtype = np.int32 if narrow else np.int64
    if len(array) == 0:
        return np.empty(0, np.uint8), np.zeros(1, np.int64)
    offsets = np.frombuffer(offsets_buffer, dtype)[array.offset : array.offset + len(array) + 1].astype(np.int64)
    data = np.empty(0, np.uint8) if data_buffer is None else np.frombuffer(data_buffer, np.uint8)
    return data[offsets[0] : offsets[-1]], offsets - offsets[0]


def metadata_of(path: str | os.PathLike[str]) -> dict[str, str]:
    """Return the text metadata of a Parquet file, empty when it has none.

    Raises `CorpusError` naming the file when it is not a Parquet file, `OSError` when it cannot be read.
    """
    with _opened(path) as file:
        found = file.metadata.metadata or {}
        return {key.decode("utf-8", "replace"): value.decode("utf-8", "replace") for key, value in found.items()}


def read_rows(path: str | os.PathLike[str]) -> Iterator[Rows]:
    """Yield the rows of a file in order; any program may have written the file.

    Raises `CorpusError` naming the file and a column that is missing, has another type, or has a null or a negative
    count.
    """
    with _opened(path) as file:
        _check_columns(path, file.schema_arrow)
        row = 0
        for batch in file.iter_batches(batch_size=ROWS, columns=["pretoken", "count"], use_threads=False):
            pretokens, counts = batch.column("pretoken"), batch.column("count")
            for name, column in (("pretoken", pretokens), ("count", counts)):
                if column.null_count:
                    raise CorpusError(f"{path}: column {name!r} has a null after row {row}; expected none")
            yield _rows(pretokens, _whole_numbers(path, counts, row))
            release_arrow()
            row += len(counts)


def _whole_numbers(path: str | os.PathLike[str], counts: Any, row: int) -> Counts:
    safe_import("pyarrow")
    import pyarrow as pa

    if pa.types.is_decimal(counts.type):
        counts = counts.cast(pa.int64())
    numbers = _numbers(counts)
    # programs whose sums are wider than 64 bits may write floating-point numbers
    whole = numbers.dtype.kind in "iu" or bool(((numbers == np.rint(numbers)) & (numbers < 2**53)).all())
    if not whole or (len(numbers) and numbers.min() < 0):
        bad = numbers.min() if whole else numbers[(numbers != np.rint(numbers)) | (numbers >= 2**53)][0]
        raise CorpusError(f"{path}: a count after row {row} is {bad}; expected a whole number of 0 or more")
    exact: Counts = numbers.astype(np.uint64)
    return exact


def _check_columns(path: str | os.PathLike[str], schema: Any) -> None:
    safe_import("pyarrow")
    import pyarrow as pa

    types = pa.types
    for name in ("pretoken", "count"):
        if name not in schema.names:
            raise CorpusError(f"{path}: no column {name!r}; expected the columns 'pretoken' and 'count'")
    pretoken, count = schema.field("pretoken").type, schema.field("count").type
    if not is_text(pretoken):
        raise CorpusError(f"{path}: column 'pretoken' is {pretoken}; expected binary or string")
    if not (types.is_integer(count) or types.is_floating(count) or (types.is_decimal(count) and count.scale == 0)):
        raise CorpusError(f"{path}: column 'count' is {count}; expected integers")


@contextmanager
def _opened(path: str | os.PathLike[str]) -> Iterator[Any]:
    parquet = pyarrow_parquet()
    with path_of(os.fspath(path)).open("rb") as source, _naming_errors(path):
        yield parquet.ParquetFile(source, pre_buffer=False, page_checksum_verification=True)


@contextmanager
def _naming_errors(path: str | os.PathLike[str]) -> Iterator[None]:
    """Convert errors of arrow to errors that name the file."""
    safe_import("pyarrow")
    import pyarrow as pa

    with naming(Path(path)):
        try:
            yield
        except MemoryError as error:
            # a damaged file may request any amount
            raise MemoryLimitError(
                f"{path}: there is too little memory to read the file, or the file is damaged: {error}"
            ) from error
        except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
            # arrow reports broken content by an OSError without an errno; column names may be invalid UTF-8
            if getattr(error, "errno", None) is not None:
                raise
            raise CorpusError(f"{path}: expected a Parquet file: {' '.join(str(error).split())[:200]}") from error
