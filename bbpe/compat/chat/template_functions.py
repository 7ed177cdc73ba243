"""The functions that chat templates may call, those of `transformers` and those of jinja2 in a sandbox.

Each pays for what it makes out of the budget of the rendering, before it makes it.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import datetime
from typing import Any, NoReturn

from jinja2 import TemplateError
from jinja2.exceptions import SecurityError
from jinja2.utils import Namespace as _Namespace

from . import costs
from .budget import LimitReached, current

_WORD = 16  # the characters of a word of the function lipsum, at most


def to_json(
    x: Any, ensure_ascii: Any = False, indent: Any = None, separators: Any = None, sort_keys: Any = False
) -> str:
    """Write JSON without the escapes for HTML that jinja2 has."""
    return json.dumps(x, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)


def refuse(message: str) -> NoReturn:
    """Raise what a template says about its messages."""
    raise TemplateError(message)


def now(form: str) -> str:
    """Return the time of the call, written by a form of `strftime`."""
    # a width in a form makes C's strftime write at most 256 times its length
    current().take(len(form) << 8)
    return datetime.now().strftime(form)


def number_range(*arguments: int) -> range:
    """Return a range of few numbers."""
    numbers = range(*arguments)
    most = current().limits.numbers
    if numbers and (numbers[-1] - numbers[0]) // numbers.step >= most:
        raise LimitReached(f"has a range of more than {most:,} numbers")
    return numbers


def lipsum(
    made: Callable[..., str], n: int = 5, html: bool = True,
    min: int = 20, max: int = 100,  # noqa: A002 - jinja2's names
) -> str:  # fmt: skip
    """Return meaningless text, which `made` makes, once it is paid for."""
    current().take(len(range(n)) * len(range(max)) * _WORD)  # a negative number, or NaN, would pay back
    return made(n, html, min, max)


class Dict:
    """The function `dict` of templates, without the attributes of the type."""

    def __call__(self, *arguments: Any, **named: Any) -> dict[Any, Any]:
        """Return a dict."""
        return dict(*arguments, **named)

    def fromkeys(self, *arguments: Any) -> dict[Any, Any]:
        """Return a dict of keys with one value."""
        current().take_items(costs.length_of(arguments[0]) if arguments else 0)
        return dict.fromkeys(*arguments)


class Namespace(_Namespace):
    """The function `namespace` of templates; its names do not begin with an underscore."""

    def __init__(*arguments: Any, **named: Any) -> None:  # "self" may be the name of an attribute
        own, *given = arguments
        values = dict(*given, **named)
        for name in values:
            _check_name(name)
        _Namespace.__init__(own, values)

    def __setitem__(self, name: str, value: Any) -> None:
        _check_name(name)
        super().__setitem__(name, value)

    def __repr__(self) -> str:
        # namespaces may hold each other many times over
        current().step()
        text = super().__repr__()
        current().take(len(text))
        return text


def _check_name(name: object) -> None:
    if isinstance(name, str) and name.startswith("_"):
        raise SecurityError(f"a namespace has no attribute {name!r}: it begins with an underscore")
