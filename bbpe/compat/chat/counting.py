"""The number of tokens of messages in a prompt of OpenAI's models, whose template nobody has."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NoReturn

from ...errors import VocabularyError
from ...published.names import name_for_model
from .messages import REASONING

if TYPE_CHECKING:
    from ...tokenizer import Tokenizer

# the tokens around each message, those of a name and those before the answer, which OpenAI has published
_AROUND, _NAME, _ANSWER = 3, 1, 3
#: The tokens around each function of OpenAI's models, by their vocabulary.
_FUNCTION = {"o200k_base": 7, "cl100k_base": 10}
# those of a parameter list, each parameter, each list of values, each value, and of all functions
_PARAMETERS, _PARAMETER, _VALUES, _VALUE, _FUNCTIONS = 3, 3, -3, 3, 12
# those around a call of a function, which is written much like a message to it; an estimate
_CALL = 3
# the fields of a message that its sender does not write, or that a server adds
_UNWRITTEN = ("tool_calls", "function_call", "annotations")


def count_openai(
    tokenizer: Tokenizer, messages: Sequence[Mapping[str, Any]], tools: Sequence[Any] | None, model: str | None
) -> int:
    """Return the number of tokens of messages and tools by the rules that OpenAI has published.

    Raises `VocabularyError` for a model that is none of OpenAI's, `ValueError` naming the message and the field that
    cannot be counted.
    """
    name = tokenizer.name if model is None else name_for_model(model)
    if name not in _FUNCTION:
        subject = "this tokenizer has no chat template" if model is None else f"model {model!r}"
        raise VocabularyError(
            f"{subject}, and its vocabulary is {name!r}; expected a chat template, or a model of OpenAI with one of "
            f"{', '.join(_FUNCTION)}"
        )
    count = _ANSWER
    for number, message in enumerate(messages):
        count += _AROUND + _count_message(tokenizer, message, f"messages[{number}]")
    return count + (_count_tools(tokenizer, tools, _FUNCTION[name]) if tools else 0)


def _count_message(tokenizer: Tokenizer, message: Mapping[str, Any], where: str) -> int:
    count = 0
    for key, value in message.items():
        if key in _UNWRITTEN or (key in REASONING[1:] and message.get(REASONING[0]) == value):
            continue  # a thought is there under several names
        count += sum(tokenizer.count_tokens(text) for text in _texts(value, f"{where}.{key}")) + _NAME * (key == "name")
    calls = message.get("tool_calls", [])
    if not isinstance(calls, list | tuple):
        _refuse(f"{where}.tool_calls", calls, "a list of calls")
    for number, call in enumerate(calls):
        place = f"{where}.tool_calls[{number}]"
        if not isinstance(call, dict):
            _refuse(place, call, "an object with a function")
        # custom tools have an input, as a text
        kind = next((kind for kind in ("function", "custom") if kind in call), None)
        call, place = (call, place) if kind is None else (call[kind], f"{place}.{kind}")
        count += _count_call(tokenizer, call, place)
    if "function_call" in message:
        count += _count_call(tokenizer, message["function_call"], f"{where}.function_call")
    return count


def _count_call(tokenizer: Tokenizer, call: Any, where: str) -> int:
    if not isinstance(call, dict):
        _refuse(where, call, "an object with a name and arguments")
    name = call.get("name")
    if not isinstance(name, str):
        _refuse(f"{where}.name", name, "the name of a function")
    written = call.get("arguments", call.get("input", ""))
    if isinstance(written, dict):
        written = json.dumps(written, ensure_ascii=False)
    if not isinstance(written, str):
        _refuse(f"{where}.arguments", written, "a JSON string")
    return _CALL + tokenizer.count_tokens(name) + tokenizer.count_tokens(written)


def _texts(value: Any, where: str) -> list[str]:
    """Return the texts of a field of a message."""
    if isinstance(value, str):
        return [value]
    parts = value if isinstance(value, list | tuple) else [value]
    texts = []
    for number, part in enumerate(parts):
        text = part.get("text", part.get("refusal")) if isinstance(part, dict) else part
        if not isinstance(text, str):
            place = where if parts is not value else f"{where}[{number}]"
            kind = f"a part of the type {part['type']!r}" if isinstance(part, dict) and "type" in part else None
            _refuse(place, value if parts is not value else part, "a text, or a list of parts with texts", kind)
        texts.append(text)
    return texts


def _count_tools(tokenizer: Tokenizer, tools: Sequence[Any], function: int) -> int:
    count = _FUNCTIONS
    for number, tool in enumerate(tools):
        where = f"tools[{number}]"
        described = _object(tool.get("function", tool), where)
        if not isinstance(described.get("name"), str):
            _refuse(f"{where}.name", described.get("name"), "the name of a function")
        count += function + _count_line(tokenizer, described["name"], described.get("description"))
        fields = _object(_object(described.get("parameters"), where).get("properties"), f"{where}.parameters")
        count += _PARAMETERS if fields else 0
        for name, field in fields.items():
            shape = _object(field, f"{where}.parameters.{name}")
            count += _PARAMETER + _count_line(tokenizer, name, str(shape.get("type", "")), shape.get("description"))
            if "enum" in shape:
                count += _VALUES + sum(_VALUE + tokenizer.count_tokens(str(value)) for value in shape["enum"])
    return count


def _object(value: Any, where: str) -> dict[str, Any]:
    if value is None:
        return {}
    if not isinstance(value, dict):
        _refuse(where, value, "an object of a JSON schema")
    return value


def _count_line(tokenizer: Tokenizer, *words: str | None) -> int:
    return tokenizer.count_tokens(":".join(word or "" for word in words).removesuffix("."))


def _refuse(where: str, value: Any, expected: str, kind: str | None = None) -> NoReturn:
    raise ValueError(f"{where} is {kind or f'{type(value).__name__} {value!r:.40}'}; expected {expected}")
