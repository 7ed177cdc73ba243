"""Parquet with a column of ids: a list of any integers in each row, which is a document."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ...corpus.ranges import row_group_cuts
from ...corpus.rowfiles import pyarrow_parquet
from ...errors import CorpusError
from ...lazy import np, npt, safe_import
from ...text import counted
from ..formats.format import Lengths, Masks
from .reader import BLOCK, IdBlock, IdReading, ReadFormat, checked_dtype


class RowFile:
    """The rows of a Parquet file; only its footer is read when it is opened."""

    def __init__(self, path: Path, reading: IdReading) -> None:
        self._path, self._reading = path, reading
        self.size = path.stat().st_size
        with self._opened() as file:
            schema, self._metadata = file.schema_arrow, file.metadata
        self.dtype = checked_dtype(path, reading, self._dtype_of(schema, reading.column))
        for name in (reading.id_field, reading.masks):
            if name is not None and name not in schema.names:
                raise CorpusError(f"{path}: there is no column {name!r}, only {_listed(schema)}")
        self._tokens: int | None = None

    def _dtype_of(self, schema: Any, column: str) -> npt.DTypeLike:
        """Return the dtype of the ids of a column; `CorpusError` unless it has lists of integers."""
        if column not in schema.names:
            raise CorpusError(f"{self._path}: there is no column {column!r}, only {_listed(schema)}; name the column "
                              "of ids by column=")  # fmt: skip
        kind = schema.field(column).type
        value = getattr(kind, "value_type", None)
        is_list = value is not None and "list" in str(kind).partition("<")[0]
        if not is_list or not str(value).removeprefix("u").startswith("int"):
            raise CorpusError(f"{self._path}: the column {column!r} is {kind}; expected a list of integers")
        found: npt.DTypeLike = np.dtype(str(value))
        return found

    @contextmanager
    def _opened(self) -> Iterator[Any]:
        safe_import("pyarrow")
        import pyarrow as pa

        try:
            with self._path.open("rb") as file:
                yield pyarrow_parquet().ParquetFile(file, pre_buffer=False)
        except (pa.ArrowException, OSError) as error:
            if getattr(error, "errno", None) is not None:
                raise
            short = " ".join(str(error).split())[:200]
            raise CorpusError(f"{self._path}: expected a Parquet file of ids: {short}") from error

    @property
    def documents(self) -> int:
        """The number of rows."""
        found: int = self._metadata.num_rows
        return found

    @property
    def tokens(self) -> int:
        """The number of ids, for which all rows are read once."""
        if self._tokens is None:
            self._tokens = sum(len(block.ids) for block in self.blocks())
        return self._tokens

    def all_lengths(self) -> Lengths:
        """Return the lengths of all documents."""
        return np.concatenate([np.empty(0, np.int64), *(block.lengths for block in self.blocks())])

    def cuts(self, most: int) -> Iterator[tuple[int, int]]:
        """Yield numbers of row groups, and about how many bytes are before each."""
        return row_group_cuts(self._path, 0, self.size, most)

    def blocks(self, start: int = 0, stop: int | None = None) -> Iterator[IdBlock]:
        """Yield the rows of a range of row groups, about `BLOCK` ids at a time."""
        metadata, reading = self._metadata, self._reading
        groups = [metadata.row_group(number) for number in range(metadata.num_row_groups)]
        sizes = [group.total_byte_size for group in groups]
        total, before = max(sum(sizes), 1), sum(sizes[:start])
        row = sum(group.num_rows for group in groups[:start])
        columns = [name for name in (reading.column, reading.id_field, reading.masks) if name is not None]
        with self._opened() as file:
            for number in range(start, len(groups) if stop is None else stop):
                count, read = groups[number].num_rows, self.size * before // total
                before += sizes[number]
                left = self.size * before // total - read
                rows = max(BLOCK * count // max(self._values(groups[number]), 1), 1)
                for batch in file.iter_batches(rows, row_groups=[number], columns=columns, use_threads=False):
                    share = left * batch.num_rows // max(count, 1)
                    yield self._block(batch, row, share)
                    left, count, row = left - share, count - batch.num_rows, row + batch.num_rows

    def _values(self, group: Any) -> int:
        """Return the number of ids of a row group, and of empty rows."""
        chunks = (group.column(number) for number in range(group.num_columns))
        found: int = next(chunk.num_values for chunk in chunks if chunk.path_in_schema.partition(".")[0]
                          == self._reading.column)  # fmt: skip
        return found

    def _block(self, batch: Any, row: int, read: int) -> IdBlock:
        reading = self._reading
        ids, lengths = self._lists(batch, reading.column, row)
        keys = None if reading.id_field is None else self._keys(batch, reading.id_field, row)
        masks: Masks = None
        if reading.masks is not None:
            found, own = self._lists(batch, reading.masks, row)
            if not np.array_equal(own, lengths):
                wrong = int(np.flatnonzero(own != lengths)[0])
                raise CorpusError(f"{self._path}: row {row + wrong} has {counted(int(lengths[wrong]), 'id')} and "
                                  f"{own[wrong]:,} numbers in the column {reading.masks!r}")  # fmt: skip
            if len(found) and (found.min() < 0 or found.max() > 1):
                raise CorpusError(f"{self._path}: the column {reading.masks!r} has other numbers than 0 and 1")
            masks = found.astype(np.uint8)
        return IdBlock(ids, lengths, read, 0, row, keys, masks)

    def _lists(self, batch: Any, name: str, row: int) -> tuple[Any, Lengths]:
        """Return the numbers of a column of lists, and how many each row has; `CorpusError` names a row with a null."""
        column = batch.column(batch.schema.get_field_index(name))
        if column.null_count:
            at = int(np.flatnonzero(column.is_null().to_numpy(zero_copy_only=False))[0])
            raise CorpusError(f"{self._path}: row {row + at} has no list in the column {name!r}; expected one, which "
                              "may be empty")  # fmt: skip
        values = column.flatten()
        if values.null_count:
            at = int(np.flatnonzero(values.is_null().to_numpy(zero_copy_only=False))[0])
            raise CorpusError(f"{self._path}: the column {name!r} has a null among the numbers of rows from {row} on, "
                              f"at number {at}")  # fmt: skip
        if hasattr(column, "offsets"):
            lengths: Lengths = np.diff(column.offsets.to_numpy().astype(np.int64))
        else:
            lengths = np.full(len(column), column.type.list_size, np.int64)
        return values.to_numpy(zero_copy_only=False), lengths

    def _keys(self, batch: Any, name: str, row: int) -> list[str]:
        found = batch.column(batch.schema.get_field_index(name)).to_pylist()
        for number, key in enumerate(found):
            if key is None or isinstance(key, float | bytes | list | dict):
                what = "null" if key is None else type(key).__name__
                raise CorpusError(f"{self._path}: row {row + number} has {what} in the column {name!r}; expected the "
                                  "id of a document, a text or a number")  # fmt: skip
        return [str(key) for key in found]


def _listed(schema: Any) -> str:
    return ", ".join(map(repr, schema.names)) or "none"


PARQUET = ReadFormat("parquet", ".parquet", (), RowFile, has_keys=True, has_columns=True)
