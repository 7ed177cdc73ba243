"""From files to texts: what each kind of file holds, read a block at a time.

A plain file is one text.  A `.jsonl` file has one in each line, a `.parquet` file one in each row.  Any but the last
may be compressed.  Nothing is ever read or decompressed whole, so memory stays bounded whatever the size.
"""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, cast

import numpy as np
import numpy.typing as npt

from .compressed import BROKEN, COMPRESSIONS, failure, naming
from .core.rows import Block, gather
from .errors import CorpusError
from .normalize import Text, text_bytes
from .rowfiles import buffers_of, pyarrow_parquet

#: Bytes of text that are read at once; a block and its tables fit the caches of a core.
BLOCK = 1 << 20
#: Rows of a Parquet file that are read at once.
_ROWS = 512
#: Bytes before a block that its reader may write to: what is left of the block before.
_ROOM = 1 << 12


@dataclass(frozen=True, slots=True)
class Texts:
    """Whole texts, or a part of one.

    `ends` says where each text ends in `data`, int64[n]; `None`: `data` is a part of one text, the last one if `last`.
    With `complete` false the text goes on behind the last part, which others read.  `read`: the bytes of the file that
    are behind it; `skipped`: records before or among them that have no text.  The `room` bytes that lie before
    `data`, a view of a `Block` then, are for whoever takes it.
    """

    data: bytes | memoryview
    ends: npt.NDArray[np.int64] | None
    last: bool = True
    read: int = 0
    skipped: int = 0
    complete: bool = True
    room: int = 0


class Buffers:
    """Memory for blocks of a file, used again when nobody looks at it any more; for one thread.

    Fresh memory for each block cost as much as reading it: 17 ms of 32 MB of English, now 9.  Nobody clears it: that
    took 0.6 ms a block, in which the interpreter let no other thread run.
    """

    def __init__(self, size: int) -> None:
        self._size = _ROOM + size
        self._all: list[Block] = []

    def free(self) -> Block:
        """Return one that nobody has a view of, of `size` bytes behind the room for what is left of another block."""
        for block in self._all:
            if not block.is_viewed:
                return block
        self._all.append(Block(self._size))
        return self._all[-1]


@dataclass(frozen=True, slots=True)
class Reading:
    """How files are read; picklable.

    `text_field`: the field of a `.jsonl` file, or the column of a `.parquet` file, that holds the text; `block`: bytes
    that are read at once.
    """

    text_field: str = "text"
    block: int = BLOCK

    def texts(
        self, path: Path, *, start: int = 0, stop: int | None = None, buffers: Buffers | None = None
    ) -> Iterator[Texts]:
        """Yield the texts of a file, in order, a block at a time.

        `start` and `stop` are bytes of the text, for files of one text only.  `buffers`, of blocks as large as these,
        go from one file to the next.

        Raises `CorpusError` naming the file, and the line or row, where it is broken, has no such field or is not
        of its kind; `ImportError` when a package that its kind needs is missing; `OSError` naming the file.
        """
        kind = kind_of(path)
        if kind == "parquet":
            return self._parquet(path)
        if kind == "jsonl":
            return self._lines(path)
        return _text(path, start, stop, self.block, buffers or Buffers(self.block))

    def block_of(self, path: Path, start: int, stop: int, buffers: Buffers) -> memoryview:
        """Return bytes `start` to `stop`, no more than a block, of a plain file, less if it ends before.

        What `texts` yields of them, in a fifth of its time.  Raises `OSError` naming the file.
        """
        with naming(path), path.open("rb", buffering=0) as file:
            file.seek(start)
            return _block(path, file, buffers, stop - start)

    def _lines(self, path: Path) -> Iterator[Texts]:
        with _open(path) as (file, position):
            lines = _Records(path, file, self.text_field)
            while True:
                data, ends = gather(lines, self.block, text_bytes)
                if not len(ends) and not lines.skipped:
                    return
                yield Texts(data, ends, True, position(), lines.taken_skipped())
                if not len(ends):
                    return

    def _parquet(self, path: Path) -> Iterator[Texts]:
        parquet = pyarrow_parquet()
        import pyarrow as pa

        with path.open("rb") as source, naming(path):
            try:
                file = parquet.ParquetFile(source, pre_buffer=False)
                _check_text_column(path, file.schema_arrow, self.text_field)
                size, rows, done = path.stat().st_size, max(file.metadata.num_rows, 1), 0
                for batch in file.iter_batches(_ROWS, columns=[self.text_field], use_threads=False):
                    column = batch.column(0)
                    done += len(column)
                    data, offsets = buffers_of(column.drop_null())
                    # a view of memory that arrow owns and reuses for nothing else while it lives
                    yield Texts(data.data, offsets[1:], True, size * done // rows, column.null_count)
            except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
                raise CorpusError(f"{path}: expected a Parquet file: {str(error).splitlines()[0]}") from error


def kind_of(path: Path) -> str:
    """Return "text", "jsonl" or "parquet", by the suffix before that of a compression.

    >>> kind_of(Path("a.jsonl.gz")), kind_of(Path("b.txt"))
    ('jsonl', 'text')
    """
    suffixes = [suffix.lower() for suffix in path.suffixes]
    if suffixes and suffixes[-1] in COMPRESSIONS:
        suffixes.pop()
    last = suffixes[-1] if suffixes else ""
    return "jsonl" if last in (".jsonl", ".ndjson") else "parquet" if last == ".parquet" else "text"


def is_plain(path: Path) -> bool:
    """Whether a file is one text as it lies on the disk, so that one may begin to read anywhere in it."""
    return kind_of(path) == "text" and path.suffix.lower() not in COMPRESSIONS and path.is_file()


def _text(path: Path, start: int, stop: int | None, size: int, buffers: Buffers) -> Iterator[Texts]:
    with _open(path) as (file, position):
        if start and is_plain(path):
            file.seek(start)
        else:
            _skip(path, file, start)
        left = sys.maxsize if stop is None else stop - start
        block = _block(path, file, buffers, min(size, left))
        while True:
            ended = len(block) < min(size, left)
            left -= len(block)
            after = _block(path, file, buffers, 0 if ended else min(size, left))
            yield Texts(block, None, not after, position(), complete=stop is None, room=_ROOM)
            if not after:
                return
            block = after


def _block(path: Path, file: BinaryIO, buffers: Buffers, size: int) -> memoryview:
    """Read `size` bytes, less only at the end."""
    if not size:
        return memoryview(bytearray())
    view, filled = memoryview(buffers.free())[_ROOM : _ROOM + size], 0
    try:
        while filled < size and (more := cast(io.RawIOBase, file).readinto(view[filled:])):
            filled += more
    except BROKEN as error:
        raise failure(path, error) from error
    return view[:filled]


def _read(path: Path, file: BinaryIO, size: int) -> bytes:
    """Read `size` bytes, less only at the end."""
    try:
        data = file.read(size)
        while 0 < len(data) < size and (more := file.read(size - len(data))):
            data += more
    except BROKEN as error:
        raise failure(path, error) from error
    return data


def _skip(path: Path, file: BinaryIO, size: int) -> None:
    while size and (block := _read(path, file, min(size, BLOCK))):
        size -= len(block)


class _Records:
    """The texts of the lines of a file, each of which is a JSON object."""

    def __init__(self, path: Path, file: BinaryIO, field: str) -> None:
        self._path, self._file, self._field, self._number = path, file, field, 0
        self.skipped = 0

    def __iter__(self) -> Iterator[Text]:
        return self

    def __next__(self) -> Text:
        while True:
            try:
                line = self._file.readline()
            except BROKEN as error:
                raise failure(self._path, error) from error
            if not line:
                raise StopIteration
            self._number += 1
            if line.isspace():
                continue
            text = self._field_of(line)
            if text is not None:
                return text
            self.skipped += 1

    def _field_of(self, line: bytes) -> str | None:
        try:
            record = json.loads(line)
        except ValueError as error:
            raise CorpusError(f"{self._path}: line {self._number}: expected a JSON object: {error}") from error
        if not isinstance(record, dict) or self._field not in record:
            found = f"one with {', '.join(map(repr, record))}" if isinstance(record, dict) else type(record).__name__
            raise CorpusError(
                f"{self._path}: line {self._number}: expected an object with the field {self._field!r}, found {found}; "
                "name the field that holds the text with text_field="
            )
        text = record[self._field]
        if text is not None and not isinstance(text, str):
            raise CorpusError(
                f"{self._path}: line {self._number}: field {self._field!r} is {type(text).__name__}; "
                "expected a string or null"
            )
        return text

    def taken_skipped(self) -> int:
        """Return how many records were skipped since the last call."""
        skipped, self.skipped = self.skipped, 0
        return skipped


def _check_text_column(path: Path, schema: Any, name: str) -> None:
    import pyarrow as pa

    if name not in schema.names:
        raise CorpusError(
            f"{path}: no column {name!r}, only {', '.join(map(repr, schema.names))}; "
            "name the column that holds the text with text_field="
        )
    kind = schema.field(name).type
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    is_text = (pa.types.is_string, pa.types.is_large_string, pa.types.is_binary, pa.types.is_large_binary)
    if not any(check(kind) for check in is_text):
        raise CorpusError(f"{path}: column {name!r} is {kind}; expected string or binary")


@contextmanager
def _open(path: Path) -> Iterator[tuple[BinaryIO, Callable[[], int]]]:
    """Open a file for its decompressed bytes; also how far in the file itself it is."""
    decompress = COMPRESSIONS.get(path.suffix.lower())
    with ExitStack() as stack, naming(path):
        raw = stack.enter_context(path.open("rb", buffering=0 if decompress is None else -1))
        file: BinaryIO = raw if decompress is None else stack.enter_context(decompress(raw))
        if decompress is None and kind_of(path) == "jsonl":
            file = cast(BinaryIO, io.BufferedReader(raw, BLOCK))
        counted = raw.seekable()
        yield file, (raw.tell if counted else lambda: 0)
