"""Read the texts of files of records: lines of JSON, rows of Parquet."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

from ..budget import shown
from ..core.json_lines import read_lines
from ..errors import CorpusError, MemoryLimitError
from ..lazy import np, npt, safe_import
from ..records import dataclass
from ..text import text_bytes
from .fields import (
    FieldName,
    columns_in_schema,
    columns_of,
    encoded_field,
    fields_of,
    first_of,
    paths_in_schema,
    shown_field,
    value_of,
)
from .files import File, check_head
from .opened import Buffers, Opened
from .parquet_pages import largest_window, pages
from .rowfiles import is_text, pyarrow_parquet, without_views

#: Takes the error of a record that cannot be read, and the number of its line.
Refuse: TypeAlias = Callable[[CorpusError, int], object]

#: The most rows of a Parquet file that are read at once.
_ROWS = 512
#: The bytes of a Parquet file that are read at once.
_PARQUET_BUFFER = 1 << 20
_ABSENT: Any = object()


@dataclass(frozen=True)
class Records:
    """The texts of some records: `data` up to each of `ends`, int64[n], and the number of each record from 0.

    `skipped` is the number of records without a text among them, `refused` of those that cannot be read, `position`
    where they end in the decompressed file.  `keys` has the id of each text, if a field with ids is asked for.
    """

    data: bytes | memoryview
    ends: npt.NDArray[np.int64]
    numbers: npt.NDArray[np.int64]
    skipped: int
    position: int
    keys: list[str] | None = None
    refused: int = 0


class JsonLines:
    """Reads the texts of a file in which each line is a JSON object, a block of lines at a time.

    `most` is the limit for the length of a line in bytes, 0 for none.  `refuse` gets the error of a line that is wrong
    and its number; the line is skipped if it returns.  `start` and `stop` are where lines begin, in a file that is not
    compressed; records are numbered from `start` on.  `id_field` is the field with the id of a text; one that lacks it
    is wrong, but with `refuse` its id is empty, as that of a null is.
    """

    def __init__(
        self, source: Opened, field: FieldName, most: int, buffers: Buffers, refuse: Refuse | None = None, *,
        start: int = 0, stop: int | None = None, id_field: FieldName | None = None,
    ) -> None:  # fmt: skip
        self._id_field = id_field
        self._source, self._field, self._most, self._buffers = source, field, most, buffers
        self._name = encoded_field(field)
        self._refuse, self._start, self._stop = refuse, start, stop
        self._line = self._record = self._refused = 0
        self._position, self._before = start, -1

    def __iter__(self) -> Iterator[Records]:
        """Yield the records in order; raises `CorpusError` naming the file and the line, unless lines are skipped."""
        for lines in self._blocks():
            if self._position == 0:
                check_head(self._source.file, lines)
            yield from self._records(lines)
        if self._refused:
            yield self._made(b"", np.empty(0, np.int64), np.empty(0, np.int64), 0, None)

    def lines(self) -> Iterator[tuple[bytes, int]]:
        """Yield whole lines, about a block at a time, and how many lines are before them, from `start` on."""
        done = 0
        for block in self._blocks():
            if not done:
                check_head(self._source.file, block)
            lines = bytes(block)
            yield lines, done
            done += lines.count(b"\n")

    def failure(self, problem: str, line: int) -> CorpusError:
        """Return the error of a line by its number from `start` on, from 1."""
        return self._failure(problem, line)

    def _made(
        self, data: bytes | memoryview, ends: npt.NDArray[np.int64], numbers: npt.NDArray[np.int64], nulls: int,
        keys: list[str] | None,
    ) -> Records:  # fmt: skip
        """Return records up to the position, with the number of those that were refused since the last ones."""
        refused, self._refused = self._refused, 0
        return Records(data, ends, numbers, nulls, self._position, keys, refused)

    def _blocks(self) -> Iterator[memoryview]:
        """Yield whole lines, about a block at a time; a view is valid until the next one is asked for."""
        size, held, buffer = self._buffers.size, 0, bytearray(self._buffers.size)
        left = sys.maxsize if self._stop is None else self._stop - self._start
        if self._start:
            self._source.stream.seek(self._start)
        while True:
            wanted = min(len(buffer) - held, left)
            filled = held + self._source.fill(memoryview(buffer)[held : held + wanted])
            left -= filled - held
            ended = filled - held < wanted or not left
            if ended and left and self._stop is not None:
                raise self._source.shorter(self._stop - left)
            cut = filled if ended else buffer.rfind(b"\n", held, filled) + 1
            if cut:
                yield memoryview(buffer)[:cut]
            if ended:
                return
            rest = buffer[cut:filled]
            held = len(rest)
            if not cut:
                self._check_length(held)
                # no more than what would be refused
                buffer = bytearray(min(2 * held, self._most + 1) if self._most else 2 * held)
            elif len(buffer) > size > held:
                buffer = bytearray(size)
            buffer[:held] = rest

    def _check_length(self, held: int) -> None:
        if self._most and held > self._most:
            raise MemoryLimitError(
                f"{self._source.file.path}: line {self._number() + 1} is longer than the {shown(self._most)} that "
                "max_memory leaves for a line; give a larger max_memory"
            )

    def _records(self, lines: memoryview) -> Iterator[Records]:
        at = 0
        while at < len(lines):
            start, room = at, self._buffers.room(len(lines) - at)
            at, used, ends, numbers, count, records, nulls = read_lines(lines, at, self._name, room)
            keys = self._keys(lines[start:at], numbers, self._line)
            self._line += count
            self._position += at - start
            if records:
                yield self._made(room[:used], ends, self._record + numbers, nulls, keys)
                self._record += records
            if at < len(lines):
                # wrong, or rare: the json module has the message, or the text
                stop = bytes(lines[at:]).find(b"\n") + 1
                line = bytes(lines[at : at + stop] if stop else lines[at:])
                at, self._line, self._position = at + len(line), self._line + 1, self._position + len(line)
                yield from self._slowly(line)

    def _slowly(self, line: bytes) -> Iterator[Records]:
        try:
            text = self._text_of(line)
        except CorpusError as error:
            if self._refuse is None:
                raise
            self._refuse(error, self._number())
            self._refused += 1
        else:
            data = b"" if text is None else bytes(text_bytes(text))
            ends = np.full(int(text is not None), len(data), np.int64)
            keys = self._keys(memoryview(line), ends - ends, self._line - 1)
            yield self._made(data, ends, np.full(len(ends), self._record), 1 - len(ends), keys)
        self._record += 1

    def _keys(self, lines: memoryview, numbers: npt.NDArray[np.int64], before: int) -> list[str] | None:
        """Return the ids of records of right lines, given their numbers among them; `before` lines are done."""
        if self._id_field is None:
            return None
        name, room = encoded_field(self._id_field), self._buffers.room(len(lines))
        at, _, ends, own, count, records, _ = read_lines(lines, 0, name, room)
        spans = zip(own.tolist(), [0, *ends.tolist()], ends.tolist(), strict=False)
        found = {number: key_of(bytes(room[start:end])) for number, start, end in spans}
        # where one is no string, the next ones may be none either
        for line in bytes(lines[at:]).split(b"\n") if at < len(lines) else ():
            count += 1
            if line.strip(b" \t\r"):
                values = json.loads(line)
                value = value_of(values, self._id_field, _ABSENT)
                if value is _ABSENT and self._refuse is None:
                    self._line, wanted = before + count, shown_field(self._id_field)
                    raise self._failure(f"expected an object with the field {wanted}, as id_field= names it")
                found[records] = key_of(None if value is _ABSENT else value)
                records += 1
        return [found.get(number, "") for number in numbers.tolist()]

    def _text_of(self, line: bytes) -> str | None:
        try:
            record = json.loads(line)
        except RecursionError:
            raise self._failure("the JSON is nested too deeply; expected an object with the text in a field") from None
        except ValueError as error:
            raise self._failure(f"expected a JSON object: {error}") from error
        text = value_of(record, self._field, _ABSENT) if isinstance(record, dict) else _ABSENT
        if text is _ABSENT:
            is_object = isinstance(record, dict)
            found = f"one with {fields_of(record, self._field)}" if is_object else type(record).__name__
            way = "name the field with the text by text_field="
            if self._record or self._start:  # records before it have the field
                way = "name its field, too, by text_field=, or write null where a record has no text"
            raise self._failure(f"expected an object with the field {shown_field(self._field)}, found {found}; {way}")
        if text is not None and not isinstance(text, str):
            raise self._failure(f"field {shown_field(self._field)} is {type(text).__name__}; expected a string or null")
        return text

    def _number(self, line: int | None = None) -> int:
        """Return the number of a line in the file, whose lines before `start` are counted when it is first wanted."""
        if self._before < 0:
            before = 0
            with self._source.file.path.open("rb") as file:
                for at in range(0, self._start, self._buffers.size):
                    before += file.read(min(self._buffers.size, self._start - at)).count(b"\n")
            self._before = before
        return self._before + (self._line if line is None else line)

    def _failure(self, problem: str, line: int | None = None) -> CorpusError:
        # the line may be truncated because another program still writes to the file
        try:
            self._source.check_size()
        except CorpusError:
            raise
        except ValueError:  # another thread has read all of it by now, and closed it
            pass
        if self._source.file.kind == "json" and self._record == 0:
            problem += (
                "; a .json file is read as JSON lines, one object on each line; convert a single document, for example "
                "with `jq -c '.[]' a.json > a.jsonl`, or read it as text with format='text'"
            )
        if self._source.file.by_contents:
            problem += "; the file is read as JSON lines because of its first ones; format='text' reads it as text"
        return CorpusError(f"{self._source.file.path}: line {self._number(line)}: {problem}")


def key_of(value: object) -> str:
    """Return the id of a text by the value of its field: a string as it is, nothing for a null, JSON for other values.

    >>> key_of("a-1"), key_of(None), key_of(17), key_of([1, "b"])
    ('a-1', '', '17', '[1, "b"]')
    """
    if value is None:
        return ""
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    return bytes(text_bytes(text)).decode()


def parquet_columns(
    source: Opened, field: FieldName, most: int, start: int = 0, stop: int | None = None,
    id_field: FieldName | None = None,
) -> Iterator[tuple[Any, list[Any], int]]:  # fmt: skip
    """Yield the column `field` of batches of rows, the columns of `id_field`, and the estimated position in bytes.

    `most` is the limit for the size of a cell in bytes, 0 for none.  `start` and `stop` are numbers of row groups.
    """

    def check(schema: Any) -> tuple[list[str], list[str]]:
        return check_text_column(source.file, schema, field), check_id_column(source.file, schema, id_field)

    for batch, position in parquet_batches(source, check, most, start, stop):
        ids = [] if id_field is None else columns_of(batch, id_field)
        yield without_views(first_of(columns_of(batch, field))), list(map(without_views, ids)), position


def check_id_column(file: File, schema: Any, id_field: FieldName | None) -> list[str]:
    """Return the columns of ids, if they are asked for; `CorpusError` naming the file that lacks them."""
    if id_field is None:
        return []
    paths = paths_in_schema(schema, id_field)
    if not paths:
        raise CorpusError(f"{file.path}: no column {shown_field(id_field)}, as id_field= names it")
    return [path for path, _ in paths]


def parquet_batches(
    source: Opened, check: Callable[[Any], tuple[list[str], list[str]]], most: int, start: int,
    stop: int | None,
) -> Iterator[tuple[Any, int]]:  # fmt: skip
    """Yield batches of rows, each with the estimated position in bytes.

    `check(schema)` returns the columns whose cells have at most `most` bytes together, 0 for no limit, and others.
    """
    parquet = pyarrow_parquet()
    safe_import("pyarrow")
    import pyarrow as pa

    place, done = "", 0
    try:
        file = parquet.ParquetFile(source.stream, pre_buffer=False, buffer_size=_PARQUET_BUFFER if most else 0)
        limited, others = check(file.schema_arrow)
        columns = list(dict.fromkeys([*limited, *others]))
        size, rows = source.file.size or 0, max(file.metadata.num_rows, 1)
        for group in range(start, file.num_row_groups if stop is None else stop):
            place = f"row group {group}, after row {done}: "
            room = most // len(limited) if most else 0
            meta = file.metadata.row_group(group)
            count = min(_rows_at_once(source, meta, group, field, room) for field in limited)
            for batch in file.iter_batches(count, row_groups=[group], columns=columns, use_threads=False):
                done += len(batch)
                place = f"row group {group}, after row {done}: "
                yield batch, size * done // rows
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        # arrow reports broken content by an OSError without an errno; column names may be invalid UTF-8
        if isinstance(error, MemoryError) or getattr(error, "errno", None) is not None:
            raise
        source.check_size()
        problem = " ".join(str(error).split())[:200]
        raise CorpusError(f"{source.file.path}: {place}expected a Parquet file: {problem}") from error
    source.check_size()


def _rows_at_once(source: Opened, group: Any, number: int, field: str, most: int) -> int:
    """Return the number of rows of a group to read at once, so that their cells take at most `most` bytes."""
    columns = [column for column in map(group.column, range(group.num_columns)) if column.path_in_schema == field]
    if not most or not columns:
        return _ROWS
    start = columns[0].data_page_offset
    if columns[0].has_dictionary_page and columns[0].dictionary_page_offset:
        start = min(start, columns[0].dictionary_page_offset)
    try:
        found = list(pages(source.stream, start, columns[0].total_compressed_size))
    except ValueError as error:
        raise CorpusError(f"{source.file.path}: row group {number}: expected a Parquet file: {error}") from error
    largest = max((size for size, _ in found), default=0)
    if largest > most:
        raise MemoryLimitError(
            f"{source.file.path}: row group {number}: a page of column {field!r} has {shown(largest)}, more than the "
            f"{shown(most)} that max_memory leaves for a page; give a larger max_memory"
        )
    # each row may be the longest entry of the dictionary
    dictionary = max((size for size, values in found if not values), default=0)
    rows = max(1, min(_ROWS, most // dictionary)) if dictionary else _ROWS
    while rows > 1 and largest_window([page for page in found if page[1]], rows) > most:
        rows //= 2
    return rows


def check_text_column(file: File, schema: Any, name: FieldName) -> list[str]:
    """Return the columns of texts of a schema; `CorpusError` naming the file, and the columns that there are."""
    safe_import("pyarrow")
    import pyarrow as pa

    paths = paths_in_schema(schema, name)
    if not paths:
        raise CorpusError(
            f"{file.path}: no column {shown_field(name)}, only {columns_in_schema(schema, name)}; "
            "name the column with the text by text_field="
        )
    for path, kind in paths:
        # a column of nulls alone has a type of its own, because its writer saw no text
        if not is_text(kind) and not pa.types.is_null(kind):
            raise CorpusError(f"{file.path}: column {path!r} is {kind}; expected string or binary")
    return [path for path, _ in paths]
