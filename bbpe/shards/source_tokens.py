"""The tokens of the sources of a corpus by several tokenizers, as a table that is printed or saved."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import PurePath
from typing import Any

from ..corpus.rowfiles import pyarrow_parquet
from ..files import replacing, write_atomic
from ..lazy import safe_import
from ..records import checked_path, dataclass
from ..text import aligned, columns_of, distinct, shortened
from ..tokenizer import Tokenizer, checked_tokenizer

#: The most columns of a name in a terminal, and the most that it has in the narrowest one.
_LONGEST, _SHORTEST = 40, 6


@dataclass(frozen=True)
class SourceTokens:
    """The tokens of one source of a corpus.

    Attributes:
        source: Its name.
        documents: The number of texts, empty ones too.
        bytes: The number of their bytes.
        tokens: The number of their tokens by each tokenizer.
        unknown: How many of these are the unknown token, for text that the vocabulary lacks.

    Example:
        >>> SourceTokens("web", 2, 40, (10, 8), (0, 0)).bytes_per_token
        (4.0, 5.0)

    """

    source: str
    documents: int
    bytes: int
    tokens: tuple[int, ...]
    unknown: tuple[int, ...]

    @property
    def bytes_per_token(self) -> tuple[float, ...]:
        """Bytes of text for each token by each tokenizer; 0 if there are no tokens."""
        return tuple(self.bytes / tokens if tokens else 0.0 for tokens in self.tokens)

    def __add__(self, other: SourceTokens) -> SourceTokens:
        return SourceTokens(
            self.source, self.documents + other.documents, self.bytes + other.bytes,
            tuple(map(sum, zip(self.tokens, other.tokens, strict=True))),
            tuple(map(sum, zip(self.unknown, other.unknown, strict=True))),
        )  # fmt: skip

    @staticmethod
    def none(source: str, count: int) -> SourceTokens:
        """Return a source without documents, for a number of tokenizers."""
        return SourceTokens(source, 0, 0, (0,) * count, (0,) * count)


@dataclass(frozen=True)
class SourceTable:
    """The tokens of the sources of a corpus; iteration and `len` work on the rows, and `str` is a table.

    Attributes:
        tokenizers: The names of the tokenizers.
        rows: The sources, in the order in which the corpus has them.

    Example:
        >>> table = SourceTable(("gpt2",), (SourceTokens("web", 2, 40, (10,), (0,)),))
        >>> print(table)
        source  documents  bytes  gpt2  bytes a token: gpt2
        web             2     40    10                 4.00
        >>> table.rows[0].tokens
        (10,)

    """

    tokenizers: tuple[str, ...]
    rows: tuple[SourceTokens, ...]

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[SourceTokens]:
        return iter(self.rows)

    @property
    def total(self) -> SourceTokens:
        """The sum of all sources."""
        return sum(self.rows, SourceTokens.none("total", len(self.tokenizers)))

    def as_dict(self) -> dict[str, Any]:
        """Return all numbers as data for JSON."""
        (total,) = self._records([self.total])
        return {"tokenizers": list(self.tokenizers), "rows": [*self._records(self.rows)], "total": total}

    def _records(self, rows: Sequence[SourceTokens]) -> Iterator[dict[str, Any]]:
        for row in rows:
            numbers = zip(self.tokenizers, row.tokens, row.unknown, row.bytes_per_token, strict=True)
            each = {
                name: {"tokens": tokens, "unknown": unknown, "bytes_per_token": ratio}
                for name, tokens, unknown, ratio in numbers
            }
            yield {"source": row.source, "documents": row.documents, "bytes": row.bytes, "tokenizers": each}

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the table to a file.

        Args:
            path: The file, or a URL that fsspec can write: `.parquet` has a row for each source and tokenizer, `.json`
                is what `as_dict` returns.

        Raises:
            ImportError: `pyarrow` (the extra `data`) is not installed.
            ValueError: The name of the file ends with neither.
            OSError: The file cannot be written.

        """
        if suffix_of(path) == ".json":
            write_atomic(path, json.dumps(self.as_dict(), indent=1, ensure_ascii=False).encode("utf-8", "replace"))
        else:
            self._write_parquet(path)

    def _write_parquet(self, path: str | os.PathLike[str]) -> None:
        parquet = pyarrow_parquet()
        safe_import("pyarrow")
        import pyarrow as pa

        kinds = {
            "source": pa.string(), "tokenizer": pa.string(), "documents": pa.int64(), "bytes": pa.int64(),
            "tokens": pa.int64(), "unknown": pa.int64(), "bytes_per_token": pa.float64(),
        }  # fmt: skip
        lines = [
            {"source": row["source"], "tokenizer": name, "documents": row["documents"], "bytes": row["bytes"], **each}
            for row in self._records(self.rows)
            for name, each in row["tokenizers"].items()
        ]
        with replacing(path) as file:
            parquet.write_table(pa.Table.from_pylist(lines, schema=pa.schema(list(kinds.items()))), file)

    def text(self, most: int | None = None) -> str:
        """Return the table for a terminal.

        Args:
            most: The most columns of a line: columns that have no place go to another table below, and long names are
                shortened.  One table by default.

        Returns:
            The table, without a line end after its last line.

        Example:
            >>> table = SourceTable(("gpt2", "o200k"), (SourceTokens("web", 2, 40, (10, 8), (0, 0)),))
            >>> print(table.text(50))
            source  documents  bytes  tokens: gpt2
            web             2     40            10
            <BLANKLINE>
            source  tokens: o200k  bytes a token: gpt2
            web                 8                 4.00
            <BLANKLINE>
            source  bytes a token: o200k
            web                     5.00

        """
        shown = aligned(self._lines())
        if most is None or max(map(columns_of, shown.splitlines())) <= most:
            return shown
        header, *rows = self._lines(is_split=True)
        room = max(_SHORTEST, min(_LONGEST, most - max(map(columns_of, header)) - 2))
        return aligned([header, *([shortened(name, room), *cells] for name, *cells in rows)], most=most)

    def _lines(self, *, is_split: bool = False) -> list[list[str]]:
        """Return the cells below their header; in a table that is split each column says what it is."""
        rows = [*self.rows, *([self.total] if len(self.rows) > 1 else [])]
        kinds = [("tokens" if is_split else "", [[f"{each:,}" for each in row.tokens] for row in rows])]
        kinds.append(("bytes a token", [[f"{each:.2f}" for each in row.bytes_per_token] for row in rows]))
        if any(any(row.unknown) for row in rows):
            kinds.append(("unknown", [[f"{each:,}" for each in row.unknown] for row in rows]))
        header = ["source", "documents", "bytes"]
        lines = [[row.source, f"{row.documents:,}", f"{row.bytes:,}"] for row in rows]
        for kind, cells in kinds:
            for at, name in enumerate(self.tokenizers):
                header.append(f"{kind}: {name}" if kind and (is_split or at == 0) else name)
            for line, more in zip(lines, cells, strict=True):
                line += more
        return [header, *lines]

    def __str__(self) -> str:
        return self.text()


def suffix_of(path: str | os.PathLike[str], argument: str = "path") -> str:
    """Return the suffix of a file that a table is saved in; `ValueError` naming the argument if it is none of these.

    >>> suffix_of("tokens.JSON")
    '.json'
    """
    suffix = PurePath(checked_path(argument, path)).suffix.lower()
    if suffix not in (".parquet", ".json"):
        raise ValueError(f"{argument} is {os.fspath(path)!r}; expected a name that ends with .parquet or .json")
    return suffix


def named_tokenizers(given: object, argument: str = "tokenizers") -> dict[str, Tokenizer]:
    """Return tokenizers by different names; `TypeError` for what is none, `ValueError` when there are none."""
    if isinstance(given, Mapping):
        named = {str(name): checked_tokenizer(tok, f"{argument}[{name!r}]") for name, tok in given.items()}
    elif isinstance(given, list | tuple):
        listed = [checked_tokenizer(tok, f"{argument}[{place}]") for place, tok in enumerate(given)]
        own = [tok.name or f"tokenizer {place}" for place, tok in enumerate(listed, 1)]
        named = dict(zip(distinct(own), listed, strict=True))
    else:
        tok = checked_tokenizer(given, argument)
        named = {tok.name or "tokenizer 1": tok}
    if not named:
        raise ValueError(f"{argument} is empty; expected a tokenizer or several")
    return named
