"""From files to texts: what each kind of file holds, read a block at a time.

A plain file is one text.  A `.jsonl` file has one in each line, a `.parquet` file one in each row.  Any but the last
may be compressed.  Nothing is ever read or decompressed whole, so memory stays bounded whatever the size.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from ..core.rows import gather
from ..text import Text, text_bytes
from .files import File, Format, check_head, file_of
from .opened import BLOCK, ROOM, Buffers, Opened, opened
from .records import JsonLines, parquet_columns
from .rowfiles import buffers_of

#: What a decompressor may look back at, as a multiple of the longest text that memory has room for.
_WINDOWS = 8


@dataclass(frozen=True, slots=True)
class Texts:
    """Whole texts, or a part of one.

    `ends` says where each text ends in `data`, int64[n]; `None`: `data` is a part of one text, the last one if `last`.
    With `complete` false the text goes on behind the last part, which others read.  `read`: the bytes of the file that
    are behind it; `skipped`: records before or among them that have no text.  The `room` bytes that lie before
    `data`, a view of a `Block` then, are for whoever takes it.  `path` is the file, for messages.
    """

    data: bytes | memoryview
    ends: npt.NDArray[np.int64] | None
    last: bool = True
    read: int = 0
    skipped: int = 0
    complete: bool = True
    room: int = 0
    path: Path | None = None


@dataclass(frozen=True, slots=True)
class Reading:
    """How files are read; picklable.

    `text_field`: the field of a `.jsonl` file, or the column of a `.parquet` file, that holds the text; `block`: bytes
    that are read at once; `format`: what files are, whatever their names; `most`: bytes of the longest line or cell
    that memory has room for, 0 for any.
    """

    text_field: str = "text"
    block: int = BLOCK
    format: Format | None = None
    most: int = 0

    def file(self, path: Path) -> File:
        """Return what kind of file that is; raises as `file_of` does."""
        return file_of(path, self.format)

    def texts(
        self, file: File, *, start: int = 0, stop: int | None = None, buffers: Buffers | None = None
    ) -> Iterator[Texts]:
        """Yield the texts of a file, in order, a block at a time.

        `start` and `stop` are bytes of the text, for files of one text only.  `buffers`, of blocks as large as these,
        go from one file to the next.

        Raises `CorpusError` naming the file, and the line or row, where it is broken, has no such field, is not
        of its kind, or is no longer as large as it was; `MemoryLimitError` on a line or cell of more than `most` bytes;
        `ImportError` when a package that its kind needs is missing; `OSError` naming the file.
        """
        if file.kind == "parquet":
            return self._parquet(file)
        if file.kind == "text":
            return self._text(file, start, stop, buffers or Buffers(self.block))
        return self._lines(file)

    def records(self, file: File) -> Iterator[tuple[int, Text]]:
        """Yield the texts of a file of records, each with the number of its record, from 0; raises as `texts` does."""
        if file.kind == "parquet":
            with opened(file, buffered=True) as source:
                done = 0
                for column, _ in parquet_columns(source, self.text_field, self.most):
                    rows = np.flatnonzero(column.is_valid().to_numpy(zero_copy_only=False))
                    data, offsets = buffers_of(column.drop_null())
                    ends = offsets.tolist()
                    for i, row in enumerate(rows.tolist()):
                        yield done + row, data[ends[i] : ends[i + 1]].tobytes()
                    done += len(column)
            return
        with opened(file, _WINDOWS * self.most, buffered=True) as source:
            lines = JsonLines(source, self.text_field, self.most)
            for text in lines:
                source.check_place()
                yield lines.row, text
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
                check_head(file, block)
            while True:
                ended = len(block) < min(self.block, left)
                left -= len(block)
                if ended and end is not None:
                    raise source.shorter(end - left)
                after = source.block(buffers, 0 if ended else min(self.block, left))
                source.check_place()
                if not after and stop is None:
                    source.check_size()
                yield Texts(block, None, not after, source.position(), 0, stop is None, ROOM, file.path)
                if not after:
                    return
                block = after

    def _lines(self, file: File) -> Iterator[Texts]:
        with opened(file, _WINDOWS * self.most, buffered=True) as source:
            lines = JsonLines(source, self.text_field, self.most)
            while True:
                data, ends = gather(lines, self.block, text_bytes)
                source.check_place()
                if len(ends) or lines.skipped:
                    yield Texts(data, ends, True, source.position(), lines.taken_skipped(), path=file.path)
                if not len(ends):
                    source.check_size()
                    return

    def _parquet(self, file: File) -> Iterator[Texts]:
        with opened(file, buffered=True) as source:
            for column, position in parquet_columns(source, self.text_field, self.most):
                data, offsets = buffers_of(column.drop_null())
                # a view of memory that arrow owns and reuses for nothing else while it lives
                yield Texts(data.data, offsets[1:], True, position, column.null_count, path=file.path)


def _skip(source: Opened, size: int) -> None:
    buffer = memoryview(bytearray(min(size, BLOCK)))
    while size and (filled := source.fill(buffer[:size])):
        size -= filled
