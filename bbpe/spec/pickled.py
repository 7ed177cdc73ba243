"""A spec as one block of bytes, equal for equal specs in every process, and its data as values of JSON; and back.

Nothing but the data classes of this package is ever made.
"""

from __future__ import annotations

import json
from array import array
from binascii import a2b_base64, b2a_base64
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, TypeVar

from ..splitting import patterns
from . import decoders, models, rules, spec
from .models import Merges, Vocab

S = TypeVar("S")

#: The modules whose data classes specs are made of.
_MODULES = (spec, rules, decoders, models, patterns)
_BYTES, _FLOATS, _MAP, _MERGES = "bytes", "floats", "map", "merges"
#: The fields of a spec that have forms of their own.
_TABLES = ("vocab", "merges")
#: The bytes of a length.
_NUMBER = 8


def spec_bytes(made: spec.TokenizerSpec) -> bytes:
    """Return a spec as bytes: its data as JSON, its vocabulary, and its merges if it has any, each after its length."""
    assert isinstance(made.vocab, Vocab)
    parts = [json.dumps(plain_fields(made)).encode(), made.vocab.data()]
    if isinstance(made.merges, Merges):
        parts.append(made.merges.data())
    return b"".join(len(part).to_bytes(_NUMBER, "little") + part for part in parts)


def spec_of_bytes(data: bytes) -> spec.TokenizerSpec:
    """Return the spec of `spec_bytes`; `ValueError` or `TypeError` on anything else."""
    parts, start = [], 0
    while start < len(data):
        size = int.from_bytes(data[start : start + _NUMBER], "little")
        start += _NUMBER + size
        if start > len(data):
            raise ValueError(f"found {len(data)} bytes; expected {start} or more")
        parts.append(data[start - size : start])
    fields, vocab, *merges = parts
    return spec_of_fields(
        Vocab.of_data(vocab), Merges.of_data(*merges) if merges else None, json.loads(fields)
    )


def unpickled(kind: Callable[[spec.TokenizerSpec], S], data: bytes) -> S:
    """Return the tokenizer of a pickle, which has it as one block of bytes, so that equal ones have equal pickles."""
    return kind(spec_of_bytes(data))


def plain_fields(made: spec.TokenizerSpec) -> list[Any]:
    """Return the data of a spec without its vocabulary and merges as values of JSON."""
    return [to_plain(getattr(made, name)) for name in made.__match_args__ if name not in _TABLES]


def spec_of_fields(vocab: Vocab, merges: Merges | None, fields: list[Any]) -> spec.TokenizerSpec:
    """Return the spec of a vocabulary, merges and `plain_fields`; `ValueError` or `TypeError` on anything else."""
    return spec.TokenizerSpec(vocab, merges, *map(from_plain, fields))


@cache
def _classes() -> dict[str, type]:
    """Return the data classes by the names that JSON has for them."""
    return {
        f"{module.__name__.rpartition('.')[2]}.{name}": kind
        for module in _MODULES
        for name, kind in vars(module).items()
        if isinstance(kind, type) and kind.__module__ == module.__name__ and "__record__" in vars(kind)
    }


def to_plain(value: Any) -> Any:
    """Return a value as one of JSON, with bytes, numbers, mappings and records as objects of one member.

    Raises `TypeError` on a value of another type.

    >>> to_plain((rules.Prepend("_"), b"a", None))
    [{'rules.Prepend': ['_']}, {'bytes': 'YQ=='}, None]
    """
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, tuple):
        if value and all(type(item) is float for item in value):
            return {_FLOATS: _of_bytes(array("d", value).tobytes())}
        return [to_plain(item) for item in value]
    if isinstance(value, bytes):
        return {_BYTES: _of_bytes(value)}
    if isinstance(value, Merges):
        return {_MERGES: _of_bytes(value.data())}
    if isinstance(value, Mapping):
        return {_MAP: [[to_plain(key), to_plain(item)] for key, item in value.items()]}
    kind = type(value)
    name = f"{kind.__module__.rpartition('.')[2]}.{kind.__name__}"
    if _classes().get(name) is not kind:
        raise TypeError(f"found {value!r}; expected data of a spec")
    return {name: [to_plain(getattr(value, field)) for field in kind.__match_args__]}


def from_plain(value: Any) -> Any:
    """Return the value of `to_plain`; the classes check their fields.

    Raises `ValueError` or `TypeError` on anything else.

    >>> from_plain([{"rules.Prepend": ["_"]}, {"bytes": "YQ=="}, None])
    (Prepend(text='_'), b'a', None)
    """
    if isinstance(value, list):
        return tuple([from_plain(item) for item in value])
    if not isinstance(value, dict):
        return value
    ((name, content),) = value.items()
    if name == _BYTES:
        return a2b_base64(content)
    if name == _FLOATS:
        return tuple(array("d", a2b_base64(content)))
    if name == _MERGES:
        return Merges.of_data(a2b_base64(content))
    if name == _MAP:
        return {from_plain(key): from_plain(item) for key, item in content}
    if name not in _classes():
        raise ValueError(f"found {name!r}; expected the name of a data class")
    return _classes()[name](*from_plain(content))


def _of_bytes(data: bytes) -> str:
    # a third longer, where escapes of JSON would take up to six characters a byte
    return b2a_base64(data, newline=False).decode("ascii")
