"""Read text and JSON with errors that name the file and the position."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NoReturn, TypeVar

from ...errors import VocabularyError
from ...files import StrPath, read_bytes
from ...text import text_of_file

_MOST_BYTES = 1 << 30
_REQUIRED: Any = object()
_T = TypeVar("_T")
_U = TypeVar("_U")


def read_file(path: StrPath) -> bytes:
    """Return the bytes of a file; `VocabularyError` above 1 GiB, `OSError` when it cannot be read."""
    return read_bytes(path, most=_MOST_BYTES)


def read_text(path: StrPath) -> str:
    """Return the text of a UTF-8 file; `VocabularyError` when it is not UTF-8 or too large."""
    return text_of_file(read_file(path), path)


def read_json(path: StrPath, parse_float: Callable[[str], float] = float) -> Any:
    """Return the value of a JSON file; `VocabularyError` when it is malformed or repeats a key."""
    text = read_text(path)
    try:
        return loads(text, parse_float)
    except json.JSONDecodeError as error:
        place = f"line {error.lineno} column {error.colno}"
        end = "; the file ends too early" if error.pos >= len(text.rstrip()) else ""
        raise VocabularyError(f"{error.msg}; expected JSON{end}", path=path, place=place) from None
    except VocabularyError as error:
        raise VocabularyError(error.problem, path=path) from None
    except RecursionError:
        raise VocabularyError("the JSON is nested too deeply; expected a vocabulary", path=path) from None
    except ValueError as error:  # a number with thousands of digits
        raise VocabularyError(f"{error}; expected JSON", path=path) from None


def loads(text: str, parse_float: Callable[[str], float] = float) -> Any:
    """Return the value of JSON; `VocabularyError` on a repeated key and on a constant that is not JSON."""
    return json.loads(text, parse_float=parse_float, object_pairs_hook=_unique, parse_constant=_no_constant)


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    values = dict(pairs)
    if len(values) != len(pairs):
        seen: set[str] = set()
        for key, _ in pairs:
            if key in seen:
                raise VocabularyError(f"key {key!r} is listed twice in one object; expected each key once")
            seen.add(key)
    return values


def _no_constant(constant: str) -> NoReturn:
    raise VocabularyError(f"found {constant}; expected JSON")


@contextmanager
def about(path: StrPath) -> Iterator[None]:
    """Add the file to every `VocabularyError` that does not name one."""
    try:
        yield
    except VocabularyError as error:
        if error.path is not None:
            raise
        raise VocabularyError(error.problem, path=path, place=error.place) from None


class Fields:
    """A JSON object that is read field by field, so that no field is overlooked."""

    def __init__(self, value: object, *, path: StrPath, place: str) -> None:
        self.path, self.place = path, place
        if not isinstance(value, dict):
            self.refuse(f"found {shown(value)}; expected an object")
        self._left: dict[str, Any] = dict(value)

    def __contains__(self, key: str) -> bool:
        return key in self._left

    def names(self) -> list[str]:
        """Return the names of the fields that were not taken."""
        return list(self._left)

    def take(self, key: str, default: Any = _REQUIRED) -> Any:
        """Return a field; refuse the object if the field is missing and has no default."""
        value = self._left.pop(key, default)
        if value is _REQUIRED:
            self.refuse(f"field {key!r} is missing")
        return value

    def component(self, key: str, read: Callable[..., _T], absent: _U) -> _T | _U:
        """Return what `read(value, path=path)` makes of a field, `absent` if the field is missing or null."""
        value = self.take(key, None)
        return absent if value is None else read(value, path=self.path)

    def peek(self, key: str) -> Any:
        """Return a field without taking it, or `None`."""
        return self._left.get(key)

    def take_type(self, key: str, kind: type[_T], default: Any = _REQUIRED) -> _T:
        """Return a field that must have a type."""
        return self.checked(self.take(key, default), kind, key)

    def checked(self, value: Any, kind: type[_T], key: str) -> _T:
        """Return the value of a field that was taken and must have a type."""
        if type(value) is not kind:
            self.refuse(f"found {shown(value)}; expected {_KINDS[kind]}", key)
        if isinstance(value, str) and not well_formed(value):
            self.refuse(f"{value!r} holds half a surrogate pair; expected Unicode text", key)
        return value

    def take_int(self, key: str, least: int, most: int, default: Any = _REQUIRED) -> int:
        """Return a field that must be a whole number within bounds."""
        value = self.take_type(key, int, default)
        if not least <= value <= most:
            self.refuse(f"found {shown(value)}; expected {least} to {most}", key)
        return value

    def only(self, key: str, *accepted: object, default: Any = _REQUIRED) -> None:
        """Take a field and refuse any value except the accepted ones."""
        value = self.take(key, default)
        if not any(type(value) is type(other) and value == other for other in accepted):
            expected = " or ".join(json.dumps(other) for other in accepted)
            self.refuse(f"{shown(value)} is not supported; expected {expected}", key)

    def done(self) -> None:
        """Refuse fields that were not taken, because they might change ids."""
        if self._left:
            self.refuse(f"unknown field {min(self._left)!r}")

    def refuse(self, problem: str, key: str | None = None) -> NoReturn:
        """Raise a `VocabularyError` about this object or one of its fields."""
        raise VocabularyError(problem, path=self.path, place=self.at(key) or None)

    def at(self, key: str | None) -> str:
        """Return the path of a field, such as `model.vocab`."""
        return ".".join(part for part in (self.place, key) if part)


def parts_of(value: object, name: str, path: StrPath, place: str) -> list[tuple[object, str]]:
    """Return a component and its position, or those of all parts of a `Sequence`, which are in the field `name`."""
    if not isinstance(value, dict) or value.get("type") != "Sequence":
        return [(value, place)]
    fields = Fields(value, path=path, place=place)
    fields.take("type")
    parts = fields.take_type(name, list)
    fields.done()
    return [
        inner for number, part in enumerate(parts) for inner in parts_of(part, name, path, f"{place}.{name}[{number}]")
    ]


_KINDS: Mapping[type, str] = {
    dict: "an object",
    list: "a list",
    str: "a string",
    int: "a whole number",
    bool: "true or false",
}


def well_formed(text: str) -> bool:
    """Return whether a text has no unpaired surrogate, which JSON can express but UTF-8 cannot."""
    return text.isascii() or not any(0xD800 <= ord(char) <= 0xDFFF for char in text)


def shown(value: object) -> str:
    """Return the JSON text of a value, shortened to 60 characters."""
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 60 else text[:57] + "..."
