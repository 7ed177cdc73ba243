"""The JSON schema of a Python function, for templates and prompts with tools.

The rules are those of `transformers`: each argument has a type hint, and a line in the `Args:` of the docstring.
"""

from __future__ import annotations

import inspect
import json
import re
import types
from collections.abc import Callable, Mapping
from enum import Enum
from typing import Any, Literal, NoReturn, Union, get_args, get_origin, get_type_hints

from ...lazy import lazy_re

_SCALARS: Mapping[object, str] = {int: "integer", float: "number", str: "string", bool: "boolean", type(None): "null"}
_TYPES: Mapping[object, dict[str, Any]] = {
    **{kind: {"type": name} for kind, name in _SCALARS.items()},
    list: {"type": "array"}, tuple: {"type": "array"}, dict: {"type": "object"}, Any: {},
}  # fmt: skip
#: Types of other packages, which need not be installed.
_MEDIA = {("PIL.Image", "Image"): {"type": "image"}, ("torch", "Tensor"): {"type": "audio"}}
_WORDS = lazy_re(r"Args:|Returns:|Raises:")
_SECTIONS = {name: lazy_re(rf"\n\s*{name}:\n") for name in ("Args", "Returns")}
_ARGUMENT = lazy_re(r"([ \t]*)(\w+)(?:[ \t]*\([^()\n]*\))?:\s*(.*)", re.DOTALL)
_CHOICES = lazy_re(r"\(choices:\s*(.*?)\)\s*\Z", re.IGNORECASE | re.DOTALL)


def schema_of(function: Callable[..., Any], name: str) -> dict[str, Any]:
    """Return the schema of a function; `ValueError` naming the function and what its signature or docstring lacks."""
    title = getattr(function, "__name__", "operation")
    where = f"{name}: function {title}"
    text = (inspect.getdoc(function) or "").strip()
    if not text:
        _refuse(f"{where} has no docstring", "one that describes the function and, under 'Args:', its arguments")
    described, arguments, returned = _docstring(text)
    try:
        hints = get_type_hints(function)
    except Exception as error:  # a hint is an expression of the caller
        _refuse(f"{where} has a type hint that cannot be read ({type(error).__name__}: {error})", "names that exist")
    properties: dict[str, Any] = {}
    required = []
    for number, (key, parameter) in enumerate(inspect.signature(function).parameters.items()):
        if parameter.annotation is inspect.Parameter.empty:
            if number == 0 and key in ("self", "cls"):
                continue
            _refuse(f"{where}: argument {key!r} has no type hint", f"one such as {key}: str")
        properties[key] = _hint(hints[key], f"{where}: argument {key!r}")
        if key not in arguments:
            problem = f"{where}: the docstring does not describe the argument {key!r}"
            _refuse(problem, f"a line '{key}: ...' under 'Args:'")
        required += [key] if parameter.default is inspect.Parameter.empty else []
        properties[key] |= _described(arguments[key], f"{where}: argument {key!r}")
    parameters = {"type": "object", "properties": properties, **({"required": required} if required else {})}
    made = {"name": title, "description": described, "parameters": parameters}
    result = _returned(hints, returned)
    return {"type": "function", "function": made if result is None else {**made, "return": result}}


def _docstring(text: str) -> tuple[str, dict[str, str], str | None]:
    """Return the description of a docstring in Google's style, those of its arguments, and that of its result."""
    described = _WORDS.split(text)[0]
    sections = {
        name: _WORDS.split(text[begin.end() :])[0]
        for name, begin in ((name, section.search(text)) for name, section in _SECTIONS.items())
        if begin is not None
    }
    lines = [line for line in sections.get("Args", "").split("\n") if line.strip()]
    arguments: dict[str, str] = {}
    current, margin = "", ""
    for line in lines:
        match = _ARGUMENT.match(line)
        # a line that is indented deeper goes on with the argument above it
        if match and not (current and len(match[1]) > len(margin)):
            current, margin = match[2], match[1]
            arguments[current] = match[3].strip()
        elif current:
            arguments[current] = f"{arguments[current]} {line.strip()}".strip()
    returned = sections.get("Returns")
    return described.strip(), arguments, None if returned is None else returned.strip()


def _described(text: str, where: str) -> dict[str, Any]:
    """Return the description of an argument, and the values of its `(choices: [...])` if it has some."""
    match = _CHOICES.search(text)
    if match is None:
        return {"description": text}
    try:
        values = json.loads(match[1])
    except ValueError:
        values = None
    if not isinstance(values, list):
        _refuse(f"{where} has choices {match[1][:40]!r}", 'a list in JSON, such as ["tea", "coffee"]')
    choices = [value.strip() if isinstance(value, str) else value for value in values]
    return {"enum": choices, "description": text[: match.start()].strip()}


def _returned(hints: Mapping[str, Any], described: str | None) -> dict[str, Any] | None:
    if "return" not in hints:
        return None
    try:
        schema = _hint(hints["return"], "")
    except ValueError:  # a model never writes it
        return None
    return schema if described is None else {**schema, "description": described}


def _hint(hint: Any, where: str) -> dict[str, Any]:
    """Return the schema of a type hint; `ValueError` for a class of which nobody knows the JSON."""
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is None:
        if isinstance(hint, type) and issubclass(hint, Enum):
            return _values([member.value for member in hint], where)
        media = _MEDIA.get((getattr(hint, "__module__", ""), getattr(hint, "__name__", "")))
        known = _TYPES.get(hint, media)
        if known is None:
            _refuse_hint(hint, where)
        return dict(known)
    if origin in (Union, types.UnionType):
        return _union(arguments, where)
    if origin is Literal:
        return _values(list(arguments), where)
    if not arguments and origin in _TYPES:  # typing.List
        return dict(_TYPES[origin])
    if origin is list:
        return {"type": "array", "items": _hint(arguments[0], where)}
    if origin is tuple:
        if len(arguments) == 1 or ... in arguments:
            _refuse(f"{where} has the type hint {hint}", "list[...] for any number of items, or a type for each item")
        return {"type": "array", "prefixItems": [_hint(argument, where) for argument in arguments]}
    if origin is dict:
        return {"type": "object", "additionalProperties": _hint(arguments[1], where)}
    return _refuse_hint(hint, where)


def _union(arguments: tuple[Any, ...], where: str) -> dict[str, Any]:
    kinds = [_hint(argument, where) for argument in arguments if argument is not type(None)]
    if len(kinds) == 1:
        made = kinds[0]
    elif all(kind.keys() == {"type"} and isinstance(kind["type"], str) for kind in kinds):
        names = sorted({kind["type"] for kind in kinds})
        made = {"type": names[0] if len(names) == 1 else names}
    else:
        made = {"anyOf": kinds}
    return {**made, "nullable": True} if type(None) in arguments else made


def _values(values: list[Any], where: str) -> dict[str, Any]:
    """Return the schema of a choice of values."""
    if not values or any(type(value) not in _SCALARS for value in values):
        _refuse(f"{where} has a choice of {values!r:.40}", "values that are str, int, float, bool or None")
    names = list(dict.fromkeys(_SCALARS[type(value)] for value in values))
    return {"type": names[0] if len(names) == 1 else names, "enum": values}


def _refuse_hint(hint: Any, where: str) -> NoReturn:
    expected = "str, int, float, bool, Enum, Literal, list, tuple, dict or Union; or give the tool as a JSON schema"
    _refuse(f"{where} has the type hint {hint!r:.60}", expected)


def _refuse(problem: str, expected: str) -> NoReturn:
    raise ValueError(f"{problem}; expected {expected}")
