"""Cut files of records into ranges: files of lines where lines begin, Parquet files between row groups."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from typing import Any, cast

from ..errors import CorpusError
from ..lazy import safe_import
from .fields import FieldName
from .files import File, FilePath
from .records import check_id_column, check_text_column
from .rowfiles import pyarrow_parquet
from .sources import Reading
from .urls import Url

#: Bytes in which the end of a line is looked for at once.
_WINDOW = 1 << 16
#: Bytes of a file whose first lines are checked.
_HEAD = 1 << 16


def line_cuts(path: FilePath, start: int, end: int, size: int) -> Iterator[int]:
    """Yield where lines begin that divide bytes `start` to `end` into equal ranges of at most about `size` bytes."""
    count, last = -(-(end - start) // size), start
    with path.open("rb") as stream:
        for number in range(1, count):
            at = start + (end - start) * number // count
            if at <= last:
                continue
            stream.seek(at - 1)
            while (found := (block := stream.read(_WINDOW)).find(b"\n")) < 0 and block:
                pass
            cut = stream.tell() - len(block) + found + 1
            if found < 0 or cut >= end:
                return
            yield cut
            last = cut


def row_groups(path: FilePath) -> list[tuple[int, int]]:
    """Return the rows and the bytes of each row group of a Parquet file; `CorpusError` naming it when it is none."""
    with _parquet(path) as file:
        groups = map(file.metadata.row_group, range(file.metadata.num_row_groups))
        return [(group.num_rows, group.total_byte_size) for group in groups]


def row_group_cuts(path: FilePath, start: int, file_size: int, size: int) -> Iterator[tuple[int, int]]:
    """Yield numbers of row groups after `start` that divide a file, and about how many bytes are before each.

    Raises `CorpusError` naming the file when it is no Parquet file.
    """
    groups = [size for _, size in row_groups(path)]
    total, held, before = max(sum(groups), 1), 0, 0
    for number, group in enumerate(groups):
        share = file_size * group // total
        if held and held + share > size and number > start:
            yield number, file_size * before // total
            held = 0
        held, before = held + share, before + group


def check_columns(
    files: Iterable[File], field: FieldName, id_field: FieldName | None = None, *, first_lines: bool = False
) -> None:
    """Check that Parquet files have the columns of texts and of ids, before a long job reads the first one.

    `first_lines`: and that the first lines of JSON have these fields.  Of files elsewhere only the first is asked,
    since each would take a request.  Raises `CorpusError` naming the file.
    """
    asked = False
    for file in files:
        is_url = isinstance(file.path, Url)
        is_checked = file.kind == "parquet" or (first_lines and file.kind in ("json", "jsonl"))
        if not is_checked or file.size is None or (is_url and asked):
            continue
        asked = asked or is_url
        if file.kind != "parquet":
            with closing(cast(Any, Reading(field, _HEAD, id_field=id_field).texts(file))) as texts:
                next(texts, None)
            continue
        with _parquet(file.path) as opened:
            schema = opened.schema_arrow
        check_text_column(file, schema, field)
        check_id_column(file, schema, id_field)


@contextmanager
def _parquet(path: FilePath) -> Iterator[Any]:
    """Open a Parquet file, of which only the footer is read; `CorpusError` naming it when it is none."""
    safe_import("pyarrow")
    import pyarrow as pa

    parquet = pyarrow_parquet()
    try:
        with path.open("rb") as file:
            yield parquet.ParquetFile(file, pre_buffer=False)
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        if getattr(error, "errno", None) is not None:
            raise
        raise CorpusError(f"{path}: expected a Parquet file: {' '.join(str(error).split())[:200]}") from error
