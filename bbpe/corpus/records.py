"""Read the texts of files of records: lines of JSON, rows of Parquet."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from ..budget import shown
from ..errors import CorpusError, MemoryLimitError
from ..text import Text
from .files import File, check_head
from .opened import Opened
from .parquet_pages import largest_window, pages
from .rowfiles import pyarrow_parquet

#: The most rows of a Parquet file that are read at once.
_ROWS = 512
#: The bytes of a Parquet file that are read at once.
_PARQUET_BUFFER = 1 << 20


class JsonLines:
    """An iterator over the texts of a file in which each line is a JSON object.

    `row` is the number of the last record, from 0; `skipped` is the number of records without a text.  `most` is the
    limit for the length of a line in bytes, 0 for none.
    """

    def __init__(self, source: Opened, field: str, most: int) -> None:
        self._source, self._file, self._field, self._most = source, source.file, field, most
        self._quoted = json.dumps(field, ensure_ascii=False).encode("utf-8", "surrogatepass")
        self._line, self.row, self.skipped = 0, -1, 0

    def __iter__(self) -> Iterator[Text]:
        return self

    def __next__(self) -> Text:
        while True:
            line = self._source.line(self._most)
            if not line:
                raise StopIteration
            self._line += 1
            if self._line == 1:
                check_head(self._file, line)
            if self._most and len(line) > self._most:
                raise MemoryLimitError(
                    f"{self._file.path}: line {self._line} is longer than the {shown(self._most)} that max_memory "
                    "leaves for a line; give a larger max_memory"
                )
            if line.isspace():
                continue
            self.row += 1
            text = self._text_of(line)
            if text is not None:
                return text
            self.skipped += 1

    def _text_of(self, line: bytes) -> str | None:
        try:
            # the field may be repeated, or a nested object may have it too
            if line.count(self._quoted) > 1:
                self._check_once(json.loads(line, object_pairs_hook=tuple))
            record = json.loads(line)
        except RecursionError:
            raise self._failure("the JSON is nested too deeply; expected an object with the text in a field") from None
        except CorpusError:
            raise
        except ValueError as error:
            raise self._failure(f"expected a JSON object: {error}") from error
        if not isinstance(record, dict) or self._field not in record:
            found = f"one with {', '.join(map(repr, record))}" if isinstance(record, dict) else type(record).__name__
            raise self._failure(
                f"expected an object with the field {self._field!r}, found {found}; "
                "name the field with the text by text_field="
            )
        text = record[self._field]
        if text is not None and not isinstance(text, str):
            raise self._failure(f"field {self._field!r} is {type(text).__name__}; expected a string or null")
        return text

    def _check_once(self, pairs: Any) -> None:
        """Check that the field is not repeated, because JSON does not define which value counts."""
        if isinstance(pairs, tuple) and sum(name == self._field for name, _ in pairs) > 1:
            raise self._failure(f"the field {self._field!r} is repeated; expected it once")

    def _failure(self, problem: str) -> CorpusError:
        # the line may be truncated because another program still writes to the file
        self._source.check_size()
        if self._file.kind == "json" and self.row == 0:
            problem += (
                "; a .json file is read as JSON lines, one object on each line; convert a single document, for example "
                "with `jq -c '.[]' a.json > a.jsonl`, or read it as text with format='text' (--input-format text)"
            )
        return CorpusError(f"{self._file.path}: line {self._line}: {problem}")

    def taken_skipped(self) -> int:
        """Return the number of records skipped since the last call."""
        skipped, self.skipped = self.skipped, 0
        return skipped


def parquet_columns(source: Opened, field: str, most: int) -> Iterator[tuple[Any, int]]:
    """Yield the column `field` of a Parquet file in batches of rows, each with the estimated position in bytes.

    `most` is the limit for the size of a cell in bytes, 0 for none.
    """
    parquet = pyarrow_parquet()
    import pyarrow as pa

    place, done = "", 0
    try:
        file = parquet.ParquetFile(source.stream, pre_buffer=False, buffer_size=_PARQUET_BUFFER if most else 0)
        _check_text_column(source.file, file.schema_arrow, field)
        size, rows = source.file.size or 0, max(file.metadata.num_rows, 1)
        for group in range(file.num_row_groups):
            place = f"row group {group}, after row {done}: "
            count = _rows_at_once(source, file.metadata.row_group(group), group, field, most)
            for batch in file.iter_batches(count, row_groups=[group], columns=[field], use_threads=False):
                done += len(batch)
                place = f"row group {group}, after row {done}: "
                yield batch.column(0), size * done // rows
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


def _check_text_column(file: File, schema: Any, name: str) -> None:
    import pyarrow as pa

    if name not in schema.names:
        raise CorpusError(
            f"{file.path}: no column {name!r}, only {', '.join(map(repr, schema.names))}; "
            "name the column with the text by text_field="
        )
    kind = schema.field(name).type
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    is_text = (pa.types.is_string, pa.types.is_large_string, pa.types.is_binary, pa.types.is_large_binary)
    if not any(check(kind) for check in is_text):
        raise CorpusError(f"{file.path}: column {name!r} is {kind}; expected string or binary")
