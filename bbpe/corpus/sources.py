"""Read the texts of files of each kind, a block at a time.

A plain file is one text.  A `.jsonl` file has a text on each line, a `.parquet` file one in each row.  Plain files and
`.jsonl` files may be compressed.  No file is read or decompressed as a whole, so memory is bounded for any size:
`Pending` holds the end of a text until a position is found to cut it.
"""

from __future__ import annotations

import sys
from array import array
from collections.abc import Iterator
from typing import Any, TypeAlias

from ..errors import CorpusError
from ..lazy import np, npt
from ..records import dataclass
from ..text import Text
from .fields import FieldName
from .files import File, FilePath, Format, OnError, check_head, file_of
from .opened import BLOCK, HEADROOM, Buffers, Opened, opened
from .records import JsonLines, Refuse, key_of, parquet_columns
from .rowfiles import buffers_of

#: Numbers of 64 bits; NumPy is not imported for a few of them.
Int64s: TypeAlias = "array[int] | npt.NDArray[np.int64]"
#: The limit for the window of a decompressor, as a multiple of the limit for a text.
_WINDOWS = 8


@dataclass(frozen=True)
class Texts:
    """Whole texts, or a part of one text.

    `ends` has the end of each text in `data`, int64[n].  `None` means that `data` is a part of one text, and `last`
    that it is the last part.  With `complete` false the text continues after the last part, and another reader reads
    the rest.  `read` is the number of bytes of the file read so far.  `skipped` is the number of records without a
    text, before or among these texts, and `refused` of those that cannot be read.  With `headroom`, `data` is a view of
    a `Block`, and the caller may write to the `headroom` bytes before it.  `path` is the file, for messages.  `keys`
    has the id of each whole text, if a field with ids is asked for and the file has fields.  `numbers` has the number
    of the record of each whole text from the start of reading on, int64[n], `None` where no record lacks a text.
    """

    data: bytes | memoryview
    ends: Int64s | None
    last: bool = True
    read: int = 0
    skipped: int = 0
    complete: bool = True
    headroom: int = 0
    path: FilePath | None = None
    keys: list[str] | None = None
    refused: int = 0
    numbers: npt.NDArray[np.int64] | None = None

    @property
    def records(self) -> int:
        """The number of records of whole texts, read or not."""
        return (0 if self.ends is None else len(self.ends)) + self.skipped + self.refused


@dataclass(frozen=True)
class Reading:
    """The options for reading files; picklable.

    `text_field`: the field of a `.jsonl` file, or the column of a `.parquet` file, that has the text.  `block`: the
    bytes that are read at once.  `format`: the kind of all files, `None` to use their names.  `most`: the limit for the
    length of a line or a cell in bytes, 0 for none.  `id_field`: the field or column that has ids
    of texts, `None` for no ids.  `on_error`: "raise" to end at a line that cannot be read, "skip" to leave it out.
    """

    text_field: FieldName = "text"
    block: int = BLOCK
    format: Format | None = None
    most: int = 0
    id_field: FieldName | None = None
    on_error: OnError = "raise"

    def file(self, path: FilePath) -> File:
        """Return the kind and the size of a file; raises the errors of `file_of`."""
        return file_of(path, self.format, self.text_field)

    def texts(
        self, file: File, *, start: int = 0, stop: int | None = None, buffers: Buffers | None = None,
        refuse: Refuse | None = None,
    ) -> Iterator[Texts]:  # fmt: skip
        """Yield the texts of a file in order, a block at a time.

        `start` and `stop` are positions in bytes, in a file of JSON lines those of the beginnings of lines, and of a
        Parquet file the numbers of row groups.  `buffers` can be reused for the next file; its blocks must have the
        size `block`.  `refuse` is as in `JsonLines`, by default as `on_error` says.

        Raises `CorpusError` naming the file, and the line or row, when it is broken, lacks the field, is of another
        kind, or changed its size; `MemoryLimitError` on a line or cell of more than `most` bytes; `ImportError` when a
        required package is missing; `OSError` naming the file.
        """
        if file.kind == "parquet":
            return self._parquet(file, start, stop)
        if file.kind == "text":
            return self._text(file, start, stop, buffers or Buffers(self.block))
        return self._lines(file, start, stop, buffers or Buffers(self.block), refuse or self._refuse)

    @property
    def _refuse(self) -> Refuse | None:
        return _ignored if self.on_error == "skip" else None

    def records(self, file: File) -> Iterator[tuple[int, Text]]:
        """Yield the texts of a file of records, each with the number of its record from 0; raises errors of `texts`."""
        if file.kind == "parquet":
            with opened(file, buffered=True) as source:
                done = 0
                for column, _, _ in parquet_columns(source, self.text_field, self.most):
                    rows = np.flatnonzero(_is_there(column))
                    data, offsets = buffers_of(column.drop_null())
                    ends = offsets.tolist()
                    for i, row in enumerate(rows.tolist()):
                        yield done + row, data[ends[i] : ends[i + 1]].tobytes()
                    done += len(column)
            return
        with opened(file, _WINDOWS * self.most) as source:
            for records in JsonLines(source, self.text_field, self.most, Buffers(self.block), self._refuse):
                source.check_position()
                ends = [0, *records.ends.tolist()]
                for i, number in enumerate(records.numbers.tolist()):
                    yield number, bytes(records.data[ends[i] : ends[i + 1]])
            source.check_size()

    def _text(self, file: File, start: int, stop: int | None, buffers: Buffers) -> Iterator[Texts]:
        with opened(file, _WINDOWS * self.most) as source:
            end = stop if stop is not None else file.size if file.is_plain else None
            if start and file.is_plain:
                source.stream.seek(start)
            else:
                _skip(source, start)
            left = sys.maxsize if end is None else end - start
            block = source.block(buffers, min(self.block, left))
            if start == 0:
                check_head(file, block, self.text_field)
            while True:
                ended = len(block) < min(self.block, left)
                left -= len(block)
                if ended and end is not None:
                    raise source.shorter(end - left)
                after = source.block(buffers, 0 if ended else min(self.block, left))
                source.check_position()
                if not after and stop is None:
                    source.check_size()
                yield Texts(block, None, not after, source.position(), 0, stop is None, HEADROOM, file.path)
                if not after:
                    return
                block = after

    def _lines(
        self, file: File, start: int, stop: int | None, buffers: Buffers, refuse: Refuse | None
    ) -> Iterator[Texts]:
        with opened(file, _WINDOWS * self.most) as source:
            lines = JsonLines(
                source, self.text_field, self.most, buffers, refuse, start=start, stop=stop, id_field=self.id_field
            )
            for records in lines:
                source.check_position()
                yield Texts(
                    records.data, records.ends, True, source.position(), records.skipped, path=file.path,
                    keys=records.keys, refused=records.refused, numbers=records.numbers,
                )  # fmt: skip
            source.check_size()

    def _parquet(self, file: File, start: int, stop: int | None) -> Iterator[Texts]:
        with opened(file, buffered=True) as source:
            batches = parquet_columns(source, self.text_field, self.most, start, stop, self.id_field)
            done = 0
            for column, ids, position in batches:
                # without nulls pyarrow needs no module of functions, which takes 0.1 s to import
                some_null = column.null_count > 0
                data, offsets = buffers_of(column.drop_null() if some_null else column)
                keys = None
                if self.id_field is not None:
                    there = [ids_of.filter(column.is_valid()) if some_null else ids_of for ids_of in ids]
                    keys = list(map(key_of, map(_first, zip(*(each.to_pylist() for each in there), strict=True))))
                # a view of memory that arrow owns and does not reuse while the view exists
                numbers = done + (np.flatnonzero(_is_there(column)) if some_null else np.arange(len(column)))
                done += len(column)
                yield Texts(
                    data.data, offsets[1:], True, position, column.null_count, path=file.path, keys=keys,
                    numbers=numbers,
                )  # fmt: skip


def _first(values: tuple[Any, ...]) -> Any:
    return next((value for value in values if value is not None), None)


def _is_there(column: Any) -> npt.NDArray[np.bool_]:
    """Return which cells of a column of Arrow are not null."""
    found: npt.NDArray[np.bool_] = column.is_valid().to_numpy(zero_copy_only=False)
    return found


def _ignored(_error: CorpusError, _line: int) -> None:
    """Take the error of a line that is left out; the number of such lines goes with the texts."""


def _skip(source: Opened, size: int) -> None:
    buffer = memoryview(bytearray(min(size, BLOCK)))
    while size and (filled := source.fill(buffer[:size])):
        size -= filled


class Pending:
    """The bytes of a text that are not in a chunk yet.

    Without a cut the pending bytes must double before the next search.  From `most` bytes on (0: no limit) every block
    is searched.
    """

    def __init__(self, most: int = 0) -> None:
        self._data: bytes | bytearray | memoryview = b""
        self._most, self._enough = most, 0

    def __len__(self) -> int:
        return len(self._data)

    def add(self, event: Texts) -> bool:
        """Append the next part of the text, and return whether to search for a cut now.

        After a search without a cut the pending bytes must double first, so an endless word takes linear time.
        """
        data, size = event.data, len(self._data)
        if size <= event.headroom and isinstance(data, memoryview):
            # copy the pending bytes into the free space before the block, so that the block is not copied
            whole = memoryview(data.obj)[event.headroom - size : event.headroom + len(data)]
            whole[:size] = self._data
            self._data = whole
        elif not size:
            self._data = data
        else:
            # the buffer can grow in place: no chunk has a view of it
            if not isinstance(self._data, bytearray):
                self._data = bytearray(self._data)
            self._data += data
        return event.last or len(self._data) >= self._enough

    @property
    def data(self) -> bytes | bytearray | memoryview:
        """The pending bytes."""
        return self._data

    def keep(self, cut: int) -> None:
        """Keep only the bytes after the cut."""
        if cut:
            self._data, self._enough = bytes(self._data[cut:]), 0
            return
        self._enough = 2 * len(self._data)
        if self._most and self._enough > self._most:
            self._enough = max(self._most, len(self._data)) + 1
