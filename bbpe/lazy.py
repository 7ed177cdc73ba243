"""Properties, views and modules that are made or imported when they are first used."""

from __future__ import annotations

import re
from collections.abc import Callable
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any, AnyStr, Generic, Self, TypeVar, cast, overload

__all__ = [
    "VIEWS", "futures", "hashlib", "lazy_property", "lazy_re", "lazy_regex", "np", "npt", "queue", "regex", "secrets",
    "tempfile", "threading",
]  # fmt: skip

Value = TypeVar("Value")


class _LazyModule(ModuleType):
    """A module that is imported when one of its names is first used."""

    def __getattr__(self, name: str) -> Any:
        # Python calls this only for names that the dictionary does not have yet
        value = self.__dict__[name] = getattr(import_module(self.__name__), name)
        return value


# Many calls need none of these, and importing them takes longer than such a call.
if TYPE_CHECKING:
    import hashlib
    import queue
    import secrets
    import tempfile
    import threading
    from concurrent import futures

    import numpy as np
    import numpy.typing as npt
    import regex
else:
    np, npt, regex = _LazyModule("numpy"), _LazyModule("numpy.typing"), _LazyModule("regex")
    futures, queue = _LazyModule("concurrent.futures"), _LazyModule("queue")
    hashlib, secrets = _LazyModule("hashlib"), _LazyModule("secrets")
    tempfile, threading = _LazyModule("tempfile"), _LazyModule("threading")


class _LazyPattern:
    """A regex that is compiled when one of its names is first used."""

    def __init__(self, compiler: ModuleType, source: str | bytes, flags: int) -> None:
        self._compiler, self._source, self._flags = compiler, source, flags

    def __getattr__(self, name: str) -> Any:
        value = self.__dict__[name] = getattr(self._compiler.compile(self._source, self._flags), name)
        return value


def lazy_re(source: AnyStr, flags: int = 0) -> re.Pattern[AnyStr]:
    """Return a regex of the module `re` that is compiled on its first use.

    >>> lazy_re("[0-9]+").findall("1 and 22")
    ['1', '22']
    """
    return cast("re.Pattern[AnyStr]", _LazyPattern(re, source, flags))


def lazy_regex(source: str) -> regex.Pattern[str]:
    """Return a regex of the package `regex` that is compiled on its first use; `source` names its flags, as `(?s)`."""
    return cast("regex.Pattern[str]", _LazyPattern(regex, source, 0))

#: Makers of objects with the interface of another library, by the name of the library.  The package enters its own ones
#: when it is imported, so that a tokenizer makes views and imports none of them.
VIEWS: dict[str, Callable[..., Any]] = {}


class lazy_property(Generic[Value]):  # noqa: N801 - a decorator, named like `property`
    """Turn a method without arguments into an attribute that is computed once per object.

    It takes no lock, so a child process cannot inherit a lock that is held.  Two threads may compute the value at the
    same time; both get the value that was stored first.

    >>> class Text:
    ...     @lazy_property
    ...     def words(self) -> list[str]:
    ...         return ["a", "b"]
    >>> text = Text()
    >>> text.words is text.words
    True
    """

    def __init__(self, make: Callable[[Any], Value]) -> None:
        self._make, self._name = make, make.__name__

    @overload
    def __get__(self, owner: None, kind: type) -> Self: ...
    @overload
    def __get__(self, owner: object, kind: type) -> Value: ...
    def __get__(self, owner: object, kind: type) -> Self | Value:
        # an attribute in the object's `__dict__` takes precedence, so later accesses do not call this
        return self if owner is None else owner.__dict__.setdefault(self._name, self._make(owner))
