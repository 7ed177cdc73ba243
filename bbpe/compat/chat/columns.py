"""Columns of chats: those of Arrow, and batches of a data set, with their messages; ids, masks and labels out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from ...corpus.chats import list_of, without_nulls
from ...errors import VocabularyError
from ...lazy import np, safe_import
from ...records import kind, whole
from ...threads import check_threads
from .messages import tools_of

if TYPE_CHECKING:
    from ...tokenizer import Tokenizer

_Result = TypeVar("_Result")


def encode_chat_columns(
    tokenizer: Tokenizer, batch: object, *, messages: str = "messages", tools: str = "tools", ignore: int = -100,
    **options: Any,
) -> dict[str, list[list[int]]]:  # fmt: skip
    """Return the columns of a batch of chats; `Tokenizer.encode_chat_columns` documents the details."""
    for name, value in (("messages", messages), ("tools", tools)):
        kind(name, value, str, "the name of a column, a str")
    chats = _column(batch, messages)
    if chats is None:
        names = ", ".join(map(repr, _names(batch)))
        raise ValueError(f"the batch has no column {messages!r}, only {names}; name it by messages=")
    _check_rows(chats, messages)
    whole("ignore", ignore)
    functions = _column(batch, tools)
    if functions is None and tools != "tools":
        names = ", ".join(map(repr, _names(batch)))
        raise ValueError(f"the batch has no column {tools!r}, only {names}; expected the name of one as tools=")
    if functions is not None and len(functions) != len(chats):
        counts = f"{len(chats)} and {len(functions)} rows"
        raise ValueError(f"columns {messages!r} and {tools!r} have {counts}; expected as many of both")
    functions = [naming(f"row {number}", tools_of, each) for number, each in enumerate(functions or [])]
    if len({*map(repr, functions)}) <= 1:  # by its text: 1 == True, and a dict has an order
        found: Any = tokenizer.encode_chat_batch(chats, functions[0] if functions else None, **options)
    else:
        check_threads(options.pop("threads", None))
        encode, rows = partial(tokenizer.encode_chat, **options), zip(chats, functions, strict=True)
        found = [naming(f"row {number}", encode, *row) for number, row in enumerate(rows)]
    return {
        "input_ids": [row.ids.tolist() for row in found],
        "assistant_masks": [row.mask.tolist() for row in found],
        "labels": [row.labels(ignore).tolist() for row in found],
    }


def opened_chats(conversations: Any) -> Any:
    """Return a column of Arrow as a list of Python's values, without fields that are null; anything else as it is."""
    if not any(hasattr(conversations, name) for name in ("__arrow_c_array__", "__arrow_c_stream__")):
        return conversations
    if not hasattr(conversations, "to_pylist"):  # a column of another library, such as a Series of polars
        safe_import("pyarrow")
        import pyarrow as pa

        make = pa.chunked_array if hasattr(conversations, "__arrow_c_stream__") else pa.array
        conversations = make(conversations)
    return [without_nulls(value) for value in conversations.to_pylist()]


def rows_of(conversations: Any) -> list[Any]:
    """Return the conversations of a call; `TypeError` naming an argument without any, or a row that is not one."""
    opened = opened_chats(conversations)
    if not isinstance(opened, Iterable) or isinstance(opened, str | bytes | Mapping):
        problem = f"conversations is {type(conversations).__name__} {conversations!r:.40}"
        raise TypeError(f"{problem}; expected a list of conversations")
    rows = list(opened)
    if rows and isinstance(rows[0], Mapping):
        raise TypeError("conversations is a list of messages; expected a list of conversations, or encode_chat")
    _check_rows(rows, "conversations")
    return rows


def _check_rows(rows: Sequence[Any], name: str) -> None:
    for number, row in enumerate(rows):
        if not isinstance(getattr(row, "messages", row), list | tuple):
            problem = f"{name}[{number}] is {type(row).__name__} {row!r:.40}"
            raise TypeError(f"{problem}; expected a list of dicts with 'role' and 'content'")


def naming(name: str, work: Callable[..., _Result], *arguments: Any) -> _Result:
    """Return the result of a function of one chat of several; errors begin with the name of the chat."""
    try:
        return work(*arguments)
    except VocabularyError as error:
        raise VocabularyError(f"{name}: {error.problem}", path=error.path, place=error.place) from None
    except (TypeError, ValueError) as error:
        if type(error) not in (TypeError, ValueError):
            raise
        raise type(error)(f"{name}: {error}") from None


def _names(batch: Any) -> list[str]:
    """Return the names of the columns of a batch, a mapping or a table."""
    if not isinstance(batch, Mapping) and not hasattr(batch, "column_names"):
        raise TypeError(f"batch is {type(batch).__name__}; expected a dict of columns, or a table of Arrow")
    return list(batch if isinstance(batch, Mapping) else batch.column_names)


def _column(batch: Any, name: str) -> list[Any] | None:
    """Return a column of lists, `None` if the batch lacks it.

    Fields that are null are left out but of JSON in strings: those of Arrow are also null where another row has them.
    """
    if name not in _names(batch):
        return None
    values = opened_chats(batch[name] if isinstance(batch, Mapping) else batch.column(name))
    if not isinstance(values, Sequence | np.ndarray) or isinstance(values, str | bytes):
        kind = type(values).__name__
        raise TypeError(f"column {name!r} is {kind}; expected a chat in each row: give columns, map(..., batched=True)")
    if len(values) and all(isinstance(value, Mapping) for value in values):
        raise TypeError(f"column {name!r} is one list of dicts; expected one in each row: map(..., batched=True)")
    return [list_of(without_nulls(value), f"{name}[{number}]") for number, value in enumerate(values)]
