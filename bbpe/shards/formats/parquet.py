"""Parquet with a column `input_ids`, list<int32>, a row for each document.

A field with ids is a column `id`, and the masks of chats are `assistant_masks`, list<uint8>, as TRL reads it.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ...corpus.rowfiles import pyarrow_parquet
from ...errors import CorpusError
from ...lazy import arrow_array, np, npt, safe_import
from ...text import counted
from ..outputs import Outputs
from .format import PLAIN, AllLengths, Columns, Ids, Keys, Lengths, MaskFiles, Masks, OutputFormat, with_suffix

#: The ids of a row group; one document may have more.
_GROUP = 1 << 20


class ParquetWriter:
    """Writes row groups of about a million ids."""

    def __init__(self, outputs: Outputs, dtype: str, name: str, columns: Columns = PLAIN) -> None:
        parquet = pyarrow_parquet()
        safe_import("pyarrow")
        import pyarrow as pa

        self._pa = pa
        fields = [pa.field("input_ids", pa.list_(pa.field("element", pa.int32())))]
        fields += [pa.field("assistant_masks", pa.list_(pa.field("element", pa.uint8())))] * columns.masks
        self._schema, self._columns = pa.schema(fields + [pa.field("id", pa.string())] * columns.keys), columns
        self._writer = parquet.ParquetWriter(outputs.open(".parquet"), self._schema, compression="zstd")
        self._held: list[npt.NDArray[np.uint8]] = []
        self._masks: list[npt.NDArray[np.uint8]] = []
        self._lengths: list[Lengths] = []
        self._keys: list[str] = []
        self._count = 0

    def add(self, ids: npt.NDArray[np.uint8], masks: Masks = None) -> None:
        """Hold ids."""
        self._held.append(ids)
        if masks is not None:
            self._masks.append(masks)

    def end(self, lengths: Lengths, source: str, keys: Keys) -> None:
        """Hold lengths, and write row groups while there are enough ids."""
        self._lengths.append(lengths)
        self._keys += keys or ()
        self._count += int(lengths.sum())
        if self._count < _GROUP:
            return
        ids, lengths = np.concatenate(self._held).view(np.int32), np.concatenate(self._lengths)
        masks = _joined(self._masks)
        ends, start, done = np.cumsum(lengths), 0, 0
        # a group ends with the document that fills it, however documents come
        while self._count - done >= _GROUP:
            stop = int(np.searchsorted(ends, done + _GROUP)) + 1
            self._write(ids[done : ends[stop - 1]], masks[done : ends[stop - 1]], lengths[start:stop])
            start, done = stop, int(ends[stop - 1])
        self._held, self._lengths, self._masks = [ids[done:].view(np.uint8)], [lengths[start:]], [masks[done:]]
        self._count -= done

    def _write(self, ids: npt.NDArray[np.int32], masks: npt.NDArray[np.uint8], lengths: Lengths) -> None:
        pa = self._pa
        offsets = np.zeros(len(lengths) + 1, np.int64)
        np.cumsum(lengths, out=offsets[1:])
        if offsets[-1] > np.iinfo(np.int32).max:
            ids_of_group = counted(int(offsets[-1]), "id")
            raise CorpusError(f"a row group would have {ids_of_group}; a document of Parquet has less than 2**31")
        starts, count = arrow_array(offsets.astype(np.int32)), len(lengths)
        values = [ids, masks] if self._columns.masks else [ids]
        columns = [
            pa.ListArray.from_arrays(starts, arrow_array(each), type=self._schema.field(number).type)
            for number, each in enumerate(values)
        ]
        if self._columns.keys:
            columns.append(arrow_array(self._keys[:count], pa.string()))
            del self._keys[:count]
        self._writer.write_table(pa.table(columns, schema=self._schema), row_group_size=max(count, 1))

    def finish(self, lengths: AllLengths) -> None:
        """Write the last row group, and the footer."""
        if any(map(len, self._lengths)):
            self._write(_joined(self._held).view(np.int32), _joined(self._masks), np.concatenate(self._lengths))
        self._writer.close()


def _joined(parts: list[npt.NDArray[np.uint8]]) -> npt.NDArray[np.uint8]:
    return np.concatenate([np.empty(0, np.uint8), *parts])


def _keys(stem: Path, first: int = 0) -> Iterator[str]:
    file = pyarrow_parquet().ParquetFile(with_suffix(stem, ".parquet"))
    group = 0
    while group < file.num_row_groups and first >= (rows := file.metadata.row_group(group).num_rows):
        group, first = group + 1, first - rows
    for batch in file.iter_batches(row_groups=range(group, file.num_row_groups), columns=["id"], use_threads=False):
        yield from batch.column(0).to_pylist()[first:]
        first = max(first - len(batch), 0)


def _column(stem: Path, name: str = "input_ids") -> Any:
    path = with_suffix(stem, ".parquet")
    safe_import("pyarrow")
    import pyarrow as pa

    try:
        with path.open("rb") as file:
            column = pyarrow_parquet().read_table(file, columns=[name]).column(0).combine_chunks()
    except (pa.ArrowException, OSError) as error:
        if getattr(error, "errno", None) is not None:
            raise
        raise CorpusError(f"{path}: expected a Parquet file of shards: {error}") from error
    if isinstance(column, pa.ChunkedArray):
        column = pa.concat_arrays(column.chunks) if column.num_chunks else arrow_array([], column.type)
    return column


def _ids(stem: Path, dtype: str) -> Ids:
    found: Ids = _column(stem).flatten().to_numpy()
    return found


def _lengths(stem: Path, dtype: str, ids: Ids) -> Lengths:
    found: Lengths = np.diff(_column(stem).offsets.to_numpy().astype(np.int64))
    return found


def _masks(stem: Path) -> npt.NDArray[np.uint8]:
    found: npt.NDArray[np.uint8] = _column(stem, "assistant_masks").flatten().to_numpy()
    return found


_DTYPES = {"int32": 1 << 31}
PARQUET = OutputFormat(
    "parquet", (".parquet",), _DTYPES, True, ParquetWriter, _ids, _lengths, _keys, MaskFiles((), _masks)
)
