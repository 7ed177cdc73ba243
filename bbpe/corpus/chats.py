"""Read the chats of files: lines of JSON and rows of Parquet with the messages of a chat in a field, and its tools."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from typing import Any, TypeAlias, cast

from ..core.image import checksum
from ..errors import CorpusError
from ..lazy import safe_import
from ..records import dataclass
from .fields import FieldName, columns_in_schema, fields_of, paths_in_schema, shown_field, value_of
from .files import File
from .opened import Buffers, opened
from .records import JsonLines, check_id_column, key_of, parquet_batches
from .urls import Url

#: The field with the functions that the model may call, which a file need not have.
TOOLS = "tools"
#: The bytes of lines in which the first chat of a file is looked for.
_WINDOW = 1 << 16
_ABSENT: Any = object()
#: Returns the error of a record with a problem, by its number in the block.
_Failure: TypeAlias = Callable[[str, int], CorpusError]


@dataclass(frozen=True)
class Chat:
    """A chat of a file: its messages, `None` if the record has none, the tools, and its id in the corpus."""

    messages: Any
    tools: Any = None
    key: str = ""


@dataclass(frozen=True)
class ChatBlock:
    """Some records of a file: `lines` of JSON, or the values of `rows`; `read` is the bytes of the file read so far.

    `failure` makes the error of a record that is wrong, given the problem and its number in the block, from 1.
    """

    read: int
    field: FieldName
    id_field: FieldName | None
    failure: _Failure
    lines: bytes = b""
    rows: tuple[Mapping[str, Any] | CorpusError, ...] = ()

    def chats(self) -> Iterator[tuple[int, Chat | CorpusError]]:
        """Yield each record with its number in the block, from 1: its chat, or the error of one that is wrong."""
        records: Sequence[bytes | Mapping[str, Any] | CorpusError] = self.rows
        records = self.lines.split(b"\n") if self.lines else records
        for number, record in enumerate(records, 1):
            if isinstance(record, bytes) and not record.strip(b" \t\r"):
                continue
            if isinstance(record, CorpusError):
                yield number, record
                continue
            try:
                yield number, self._chat(record)
            except ValueError as error:
                yield number, self.failure(str(error), number)

    def _chat(self, record: bytes | Mapping[str, Any]) -> Chat:
        absent = None
        if isinstance(record, bytes):
            record, absent = _object(record, self.field), _ABSENT
        key = None if self.id_field is None else value_of(record, self.id_field, absent)
        if key is _ABSENT and self.id_field is not None:
            raise ValueError(f"expected an object with the field {shown_field(self.id_field)}, as id_field= names it")
        messages = list_of(value_of(record, self.field, None), self.field)
        tools = list_of(record.get(TOOLS), TOOLS)
        return Chat(messages, tools, key_of(key))


def digest_of_chats(chats: Iterable[tuple[int, Chat | CorpusError]]) -> int:
    """Return a digest of the chats of a block."""
    values = [None if isinstance(chat, CorpusError) else (chat.messages, chat.tools, chat.key) for _, chat in chats]
    return checksum(json.dumps(values, default=str, separators=(",", ":")).encode())


def _object(line: bytes, field: FieldName) -> Mapping[str, Any]:
    try:
        record = json.loads(line)
    except RecursionError:
        raise ValueError("the JSON is nested too deeply; expected an object with messages in a field") from None
    except ValueError as error:
        raise ValueError(f"expected a JSON object: {error}") from None
    if not isinstance(record, dict) or value_of(record, field, _ABSENT) is _ABSENT:
        found = f"one with {fields_of(record, field)}" if isinstance(record, dict) else type(record).__name__
        raise ValueError(
            f"expected an object with the field {shown_field(field)}, found {found}; name the field with the messages "
            "by messages_field="
        )
    return record


def list_of(value: Any, name: FieldName) -> Any:
    """Return a list, given as one, as JSON in a string, or not at all; `ValueError` names the field of other values."""
    if isinstance(value, str | bytes):
        try:
            value = json.loads(value)
        except ValueError as error:
            problem = f"field {shown_field(name)} is a string; expected a list, or one as JSON: {error}"
            raise ValueError(problem) from None
    if value is not None and not isinstance(value, list):
        raise ValueError(f"field {shown_field(name)} is {type(value).__name__}; expected a list, or null")
    return value


def without_nulls(value: Any) -> Any:
    """Return a value of a column of Arrow without its fields that are null: a struct has those of all rows.

    >>> without_nulls([{"role": "user", "content": "Hi", "tool_calls": None}])
    [{'role': 'user', 'content': 'Hi'}]
    """
    if isinstance(value, Mapping):
        return {key: without_nulls(item) for key, item in value.items() if item is not None}
    if isinstance(value, list | tuple):
        return [without_nulls(item) for item in value]
    return value


def chat_blocks(
    file: File, field: FieldName, id_field: FieldName | None, *, start: int = 0, stop: int | None = None,
    buffers: Buffers,
) -> Iterator[ChatBlock]:  # fmt: skip
    """Yield the records of a file in order, a block at a time; `start` and `stop` are as in `Reading.texts`.

    Raises `CorpusError` naming the file when it is broken, or is one without fields, and `OSError` naming it.
    """
    check_has_fields(file, field)
    with opened(file, buffered=file.kind == "parquet") as source:
        if file.kind != "parquet":
            reader = JsonLines(source, field, 0, buffers, start=start, stop=stop)
            for lines, before in reader.lines():
                source.check_position()
                yield ChatBlock(source.position(), field, id_field, _line_failure(reader, before), lines)
            source.check_size()
            return
        done = 0
        columns = _Columns(file, field, id_field)
        for batch, position in parquet_batches(source, columns.check, 0, start, stop):
            rows = tuple(map(without_nulls, batch.to_pylist()))
            yield ChatBlock(position, field, id_field, _row_failure(file, done, start), rows=rows)
            done += len(rows)


def _line_failure(reader: JsonLines, before: int) -> _Failure:
    return lambda problem, number: reader.failure(problem, before + number)


def _row_failure(file: File, before: int, group: int) -> _Failure:
    of_group = f" of the row groups from {group} on" if group else ""
    return lambda problem, number: CorpusError(f"{file.path}: row {before + number}{of_group}: {problem}")


@dataclass(frozen=True)
class _Columns:
    """The columns of Parquet that a chat is in."""

    file: File
    field: FieldName
    id_field: FieldName | None

    def check(self, schema: Any) -> tuple[list[str], list[str]]:
        """Return their names; `CorpusError` naming the file that lacks one."""
        safe_import("pyarrow")
        import pyarrow as pa

        paths, types = paths_in_schema(schema, self.field), pa.types
        if not paths:
            known = columns_in_schema(schema, self.field)
            way = "name the column with the messages by messages_field="
            raise CorpusError(f"{self.file.path}: no column {shown_field(self.field)}, only {known}; {way}")
        for path, kind in paths:
            are_lists = types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind)
            if not (are_lists or types.is_string(kind) or types.is_large_string(kind) or types.is_null(kind)):
                raise CorpusError(
                    f"{self.file.path}: column {path!r} is {kind}; expected lists of messages, or these as JSON"
                )
        tools = [TOOLS] if TOOLS in schema.names else []
        return [path for path, _ in paths], [*tools, *check_id_column(self.file, schema, self.id_field)]


def check_has_fields(file: File, field: FieldName) -> None:
    """Raise `CorpusError` naming a file of plain text."""
    if file.kind == "text":
        raise CorpusError(
            f"{file.path}: a text file has no field {shown_field(field)}; expected JSON lines or Parquet with the "
            "messages of a chat in a field"
        )


def check_chats(
    files: Iterable[File], field: FieldName, id_field: FieldName | None, *, first_lines: bool
) -> None:  # fmt: skip
    """Check that files have chats, before a long job reads the first one, as `check_columns` checks those of texts."""
    asked = False
    for file in files:
        check_has_fields(file, field)
        is_url = isinstance(file.path, Url)
        if file.size is None or (is_url and asked) or not (first_lines or file.kind == "parquet"):
            continue
        asked = asked or is_url
        with closing(cast(Any, chat_blocks(file, field, id_field, buffers=Buffers(_WINDOW)))) as blocks:
            block = next(blocks, None)
            _, first = next(iter(block.chats()), (0, None)) if block is not None else (0, None)
        if first_lines and isinstance(first, CorpusError):
            raise first
