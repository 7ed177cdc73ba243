"""Attributes that are made at their first use."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, Self, TypeVar, overload

Value = TypeVar("Value")


class FirstUse(Generic[Value]):
    """Decorates a method without arguments: an attribute that it makes at the first use, then kept by the object.

    Safe between threads: where two make it at once, both get the same one.  There is no lock, which a fork might find
    taken for good.

    >>> class Text:
    ...     @FirstUse
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
        # the object's own attribute goes before this one, so nobody comes here again once it is there
        return self if owner is None else owner.__dict__.setdefault(self._name, self._make(owner))
