"""What a chat template is given: conversations, tools, documents and variables as plain data."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from inspect import isfunction, ismethod
from typing import Any, NoReturn

from ...core.traced import texts_of
from ...lazy import np
from .functions import schema_of

Message = dict[str, Any]

#: The usual roles. A template may make tokens of these, such as `<|user|>`; another role is text like a content.
ROLES = frozenset(
    "system developer user assistant tool function ipython observation model context document documents tools".split()
)
#: The roles of the results of tools, which answer a call before them.
RESULTS = frozenset(("tool", "function", "ipython", "observation"))
#: The names under which a message may have the thought of a model; templates read one or the other.
REASONING = ("reasoning_content", "thinking", "reasoning")
_SHOWN = 40
_THOUGHTS = frozenset(REASONING)


def conversations_of(messages: object) -> tuple[list[list[Message]], bool]:
    """Return conversations as a template reads them, and whether the caller has given several.

    Raises `TypeError` and `ValueError` naming the message that is none.
    """
    given = getattr(messages, "messages", messages)
    if not isinstance(given, Sequence) or isinstance(given, str | bytes):
        _refuse("messages", given, "a list of dicts with 'role' and 'content'")
    if not given:
        raise ValueError("messages is empty; expected at least one message")
    first = given[0]
    if isinstance(first, list | tuple) or hasattr(first, "messages"):
        chats = [getattr(chat, "messages", chat) for chat in given]
        return [_conversation(chat, f"messages[{number}]") for number, chat in enumerate(chats)], True
    return [_conversation(given, "messages")], False


def conversation_of(messages: object) -> list[Message]:
    """Return the messages of one conversation, which may be empty; raises as `conversations_of` does."""
    return _conversation(getattr(messages, "messages", messages), "messages")


def tools_of(tools: object) -> list[Any] | None:
    """Return the tools of a call as JSON schemas; a function has that of its signature and its docstring.

    Raises `TypeError` naming the tool that is none, and `ValueError` naming the function that cannot be described.
    """
    if tools is None:
        return None
    if not isinstance(tools, Sequence) or isinstance(tools, str | bytes):
        _refuse("tools", tools, "a list of JSON schemas or functions")
    return [_tool(tool, f"tools[{number}]") for number, tool in enumerate(tools)]


def documents_of(documents: object) -> list[Any] | None:
    """Return the documents of a call; `TypeError` naming the one that is no dict."""
    if documents is None:
        return None
    if not isinstance(documents, Sequence) or isinstance(documents, str | bytes):
        _refuse("documents", documents, "a list of dicts with 'title' and 'text'")
    for number, document in enumerate(documents):
        if not isinstance(document, Mapping):
            _refuse(f"documents[{number}]", document, "a dict with 'title' and 'text'")
    return [plain(document, "documents") for document in documents]


def plain(value: object, name: str) -> Any:
    """Return a value as data of JSON, which has no methods of its own; another object is the name of its type.

    Raises `ValueError` naming the argument that is nested too deeply, and `TypeError` naming the one with bytes.
    """
    try:
        return _plain(value)
    except _HasBytes as error:
        raise TypeError(f"{name} has {error}; expected a text: give what .decode() returns") from None
    except RecursionError:
        raise ValueError(f"{name} is nested too deeply, or holds itself; expected data as in JSON") from None


class _HasBytes(Exception):  # noqa: N818 - it never leaves this module
    """A value has bytes, which a template would write as the name of their type."""


def _conversation(given: object, name: str) -> list[Message]:
    if not isinstance(given, Sequence) or isinstance(given, str | bytes):
        _refuse(name, given, "a list of dicts with 'role' and 'content'")
    return [_message(message, f"{name}[{number}]") for number, message in enumerate(given)]


def _message(given: object, name: str) -> Message:
    texts = texts_of(given)  # most messages have nothing else
    message: Message = plain(given, name) if texts is None else dict(texts)
    if not isinstance(message, dict):
        _refuse(name, given, "a dict with 'role' and 'content'")
    if texts is None:  # clients of OpenAI give fields that are null; a template would write them as "None"
        message = {key: value for key, value in message.items() if value is not None}
    if not _THOUGHTS.isdisjoint(message):
        thought = next(message[key] for key in REASONING if key in message)
        message = {"thinking": thought, **message, "reasoning_content": thought}
    return message


def _tool(tool: object, name: str) -> Any:
    if isfunction(tool) or ismethod(tool):
        return schema_of(tool, name)
    if not isinstance(tool, Mapping):
        _refuse(name, tool, "a JSON schema, or a function with type hints and a docstring")
    return plain(tool, name)


def _plain(value: Any) -> Any:
    if value is None or type(value) in (str, int, float, bool):
        return value
    for kind in (str, int, float):
        if isinstance(value, kind):  # a subclass, such as an enumeration, has methods of its own
            # its own conversion might give another value
            convert: Callable[[Any], Any] = {str: str.__str__, int: int.__int__, float: float.__float__}[kind]
            return convert(value)
    if isinstance(value, bytes | bytearray):
        raise _HasBytes(f"{type(value).__name__} {value!r:.40}")
    if isinstance(value, Mapping):
        return {_plain(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_plain(item) for item in value]
    if isinstance(value, tuple):
        return tuple(_plain(item) for item in value)
    if isinstance(value, np.generic):
        return _plain(value.item())
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: _plain(getattr(value, field.name)) for field in dataclasses.fields(value)}
    dump = getattr(value, "model_dump", None)
    return _plain(dump()) if callable(dump) else f"<{type(value).__name__}>"


def _refuse(name: str, value: object, expected: str) -> NoReturn:
    shown = repr(value)[:_SHOWN]
    raise TypeError(f"{name} is {type(value).__name__} {shown}; expected {expected}")
