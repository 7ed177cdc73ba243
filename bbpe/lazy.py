"""Values that are made on their first use: properties, and views that modules above this one make."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, Self, TypeVar, overload

Value = TypeVar("Value")

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
