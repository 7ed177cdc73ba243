"""Columns of Arrow in the batch methods of views: ids come from their buffers, and a `str` is made only if needed."""

from __future__ import annotations

from typing import Any

from ..core.column import Column, text_column


def opened(texts: Any) -> Any:
    """Return a column of Arrow as the column that encoders read; anything else as it is."""
    column = None if type(texts) in (str, list) else text_column(texts)
    return texts if column is None else column


def listed(texts: Any) -> Any:
    """Return a column of Arrow, opened or not, as a list of strings; anything else as it is."""
    texts = opened(texts)
    return [text_of(texts, row) for row in range(len(texts))] if isinstance(texts, Column) else texts


def text_of(column: Column, row: int) -> str:
    """Return a text of a column; `TypeError` or `ValueError` names the row that is null or is not UTF-8."""
    data = column[row]
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        problem = f"text {row} of the batch, counted from 0, is not UTF-8: {error.reason} at byte {error.start}"
        raise ValueError(f"{problem}; expected bytes of UTF-8 where a result has texts") from error
