"""Texts that know where each of their characters comes from, so that a rendered chat does.

An origin is a number: a set of the flags below, and the message of a field above them.  `Traced` keeps it through the
methods and operators of `str`.  A plain `str` that is joined to traced texts has no known origin and is not trusted.
Each method first makes the text as `str` does, so that the text is that of a plain rendering whatever becomes of the
origins.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, TypeAlias

from ...core.traced import TracedText, part
from ...core.traced import joined as _joined
from ...lazy import lazy_re

#: The flags of an origin: written by the template or the model's files; the role or name of a message; within a
#: `{% generation %}` block.
TRUSTED, HEADER, GENERATED = 1, 2, 4
#: How far above the flags an origin has the number of its message plus one.
SHIFT = 3
#: The origin of a text that was not followed.
UNKNOWN = 0
#: The origin of all characters of a text, or the ends of runs of characters with their origins.
Origins: TypeAlias = int | tuple[tuple[int, int], ...]

_PRINTF = lazy_re(r"%(?:\(([^)]*)\))?([#0\- +]*(?:\*|\d+)?(?:\.(?:\*|\d+))?)[hlL]?(.)")


def origin_of_message(number: int, flags: int = 0) -> int:
    """Return the origin of fields of a message."""
    return (number + 1) << SHIFT | flags


class Traced(TracedText):
    """A text with the origins of its characters."""

    __slots__ = ()
    _origins: Origins

    def __str__(self) -> Traced:  # a template's str() keeps it
        return self

    def __getitem__(self, key: Any) -> Traced:
        if isinstance(key, slice):
            start, stop, step = key.indices(len(self))
            if step == 1:
                return part(self, start, max(start, stop))
            return _gathered(self, range(start, stop, step))
        text = str.__getitem__(self, key)
        at = key.__index__()
        return traced(text, _origin_at(self._origins, at if at >= 0 else at + len(self)))

    def __iter__(self) -> Iterator[str]:
        if isinstance(self._origins, int):
            for char in str.__iter__(self):
                yield traced(char, self._origins)
        else:
            for at in range(len(self)):
                yield part(self, at, at + 1)

    def __add__(self, other: str) -> str:
        if type(other) in (str, Traced):
            return joined((self, other))
        # markup and what is undefined have an operator of their own; `str` refuses others
        add = getattr(type(other), "__radd__", None)
        made: Any = NotImplemented if add is None else add(other, self)
        return str.__add__(self, other) if made is NotImplemented else made

    def __radd__(self, other: Any) -> str:
        return joined((other, self)) if isinstance(other, str) else NotImplemented

    def __mul__(self, count: Any) -> str:
        text = str.__mul__(self, count)
        return traced(text, self._origins) if isinstance(self._origins, int) else joined([self] * count.__index__())

    __rmul__ = __mul__

    def __mod__(self, values: Any) -> Traced:
        return _agreed(str.__mod__(self, values), _printed, self, values)

    def join(self, texts: Iterable[str], /) -> Traced:
        """Return texts with this one between them."""
        parts = [text for each in texts for text in (each, self)][:-1]
        str.join(self, parts[::2])  # refuses what is no text
        return joined(parts)

    def removeprefix(self, prefix: str, /) -> Traced:
        """Return the text without a prefix."""
        return part(self, len(self) - len(str.removeprefix(self, prefix)), len(self))

    def removesuffix(self, suffix: str, /) -> Traced:
        """Return the text without a suffix."""
        return part(self, 0, len(str.removesuffix(self, suffix)))

    def replace(self, old: str, new: str, /, count: Any = -1) -> Traced:
        """Return the text with another one in place of a text in it."""
        return _agreed(str.replace(self, old, new, count), _replaced, self, old, new, count)

    def split(self, sep: str | None = None, maxsplit: Any = -1) -> list[str]:
        """Return the parts between separators."""
        return _found(self, str.split(self, sep, maxsplit), sep)

    def rsplit(self, sep: str | None = None, maxsplit: Any = -1) -> list[str]:
        """Return the parts between separators, found from the end."""
        return _found_from_end(self, str.rsplit(self, sep, maxsplit), sep)

    def splitlines(self, keepends: Any = False) -> list[str]:
        """Return the lines."""
        lines: list[str] = []
        at = 0
        for whole, line in zip(str.splitlines(self, True), str.splitlines(self, keepends), strict=True):
            lines.append(part(self, at, at + len(line)))
            at += len(whole)
        return lines

    def partition(self, sep: str, /) -> tuple[str, str, str]:
        """Return the parts before, at and after the first separator."""
        before, found, _ = map(len, str.partition(self, sep))
        return part(self, 0, before), part(self, before, before + found), part(self, before + found, len(self))

    def rpartition(self, sep: str, /) -> tuple[str, str, str]:
        """Return the parts before, at and after the last separator."""
        before, found, _ = map(len, str.rpartition(self, sep))
        return part(self, 0, before), part(self, before, before + found), part(self, before + found, len(self))

    def upper(self) -> Traced:
        """Return the text in upper case."""
        return _cased(self, str.upper(self))

    def lower(self) -> Traced:
        """Return the text in lower case."""
        return _cased(self, str.lower(self))

    def title(self) -> Traced:
        """Return the text with capital letters at the beginnings of words."""
        return _cased(self, str.title(self))

    def capitalize(self) -> Traced:
        """Return the text with a capital letter at its beginning."""
        return _cased(self, str.capitalize(self))

    def swapcase(self) -> Traced:
        """Return the text with the cases of letters exchanged."""
        return _cased(self, str.swapcase(self))

    def casefold(self) -> Traced:
        """Return the text without differences of case."""
        return _cased(self, str.casefold(self))


# the errors of a template name the type of a value, which is a text like others to it
Traced.__name__, Traced.__qualname__, Traced.__module__ = "str", "str", "builtins"

_new = TracedText.__new__


def traced(text: str, origins: Origins) -> Traced:
    """Return a text with its origins."""
    made = _new(Traced, text)
    made._origins = origins
    return made


def literal(text: str) -> Traced:
    """Return a text that the template or the model's files have."""
    return traced(text, TRUSTED)


def plain_text(text: str) -> str:
    """Return a text without origins."""
    return str.__getitem__(text, slice(None))


def runs_of(text: str) -> tuple[tuple[int, int], ...]:
    """Return the ends of runs of characters, with their origins."""
    origins = text._origins if type(text) is Traced else UNKNOWN
    return ((len(text), origins),) if isinstance(origins, int) else origins


def joined(parts: Iterable[Any]) -> Traced:
    """Return texts, and tuples of texts, one after another."""
    made: Traced = _joined(Traced, parts if isinstance(parts, list | tuple) else list(parts))
    return made


def common_origin(values: Iterable[Any], step: Callable[[int], None]) -> int:
    """Return the origin of a text that is made of values; `step` pays for the number of their parts.

    It is that of the one message whose texts are among them, or of the template if no other text is.
    """
    stack, found, has_text = [*values], -1, False
    while stack:
        step(1)
        value = stack.pop()
        if isinstance(value, str):
            has_text = True
            for _, origin in runs_of(value):
                untrusted = origin & ~GENERATED
                if untrusted & TRUSTED or untrusted == found:
                    continue
                if found >= 0:
                    if found >> SHIFT != untrusted >> SHIFT:
                        return UNKNOWN
                    untrusted &= found
                found = untrusted
        elif isinstance(value, Mapping):
            stack += [*value.keys(), *value.values()]
        elif isinstance(value, list | tuple):
            stack += value
        elif value is not None and not isinstance(value, int | float):
            return UNKNOWN
    return found if found >= 0 else TRUSTED if has_text else UNKNOWN


def _origin_at(origins: Origins, at: int) -> int:
    return origins if isinstance(origins, int) else next(origin for end, origin in origins if end > at)


def _gathered(text: Traced, places: range) -> Traced:
    chars = str.__getitem__(text, slice(None))
    if isinstance(text._origins, int):
        return traced("".join([chars[at] for at in places]), text._origins)
    return joined([part(text, at, at + 1) for at in places])


def _agreed(text: str, follow: Callable[..., Traced], *arguments: Any) -> Traced:
    """Return a text with the origins that `follow` finds for it; of other texts they are unknown."""
    made = follow(*arguments)
    return made if made == text else traced(text, UNKNOWN)


def _cased(text: Traced, changed: str) -> Traced:
    # no letter becomes fewer; where one becomes several, the places of the others are not known
    if isinstance(text._origins, int) or len(changed) == len(text):
        return traced(changed, text._origins)
    return traced(changed, common_origin((text,), lambda count: None) & ~TRUSTED)


def _replaced(text: Traced, old: str, new: str, count: int) -> Traced:
    parts: list[str] = []
    at = 0
    places = range(len(text) + 1) if old == "" else None
    while count != 0:
        found = str.find(text, old, at) if places is None else len(parts) // 2
        if found < 0 or (places is not None and found >= len(places)):
            break
        parts += [part(text, at, found), new]
        at = found + len(old)
        count -= 1
    return joined([*parts, part(text, at, len(text))])


def _found(text: Traced, parts: list[str], sep: str | None) -> list[str]:
    """Return parts of a text, which follow each other in it, with their origins."""
    made: list[str] = []
    at = 0
    for each in parts:
        at = str.index(text, each, at) if sep is None else at
        made.append(part(text, at, at + len(each)))
        at += len(each) + len(sep or "")
    return made


def _found_from_end(text: Traced, parts: list[str], sep: str | None) -> list[str]:
    made: list[str] = []
    at = len(text)
    for each in reversed(parts):
        at = str.rindex(text, each, 0, at) + len(each) if sep is None else at
        made.append(part(text, at - len(each), at))
        at -= len(each) + len(sep or "")
    return made[::-1]


def _printed(form: Traced, values: Any) -> Traced:
    """Return a printf-style text; only fields without a width keep the origins of their values."""
    parts: list[str] = []
    at = number = 0
    given = values if isinstance(values, tuple) else (values,)
    for match in _PRINTF.finditer(form):
        parts.append(part(form, at, match.start()))
        at = match.end()
        key, width, kind = match.groups()
        if kind == "%":
            parts.append(part(form, match.start(), match.start() + 1))
            continue
        if "*" in width:
            return traced("", UNKNOWN)
        value = values[key] if key is not None else given[number]
        number += key is None
        if kind == "s" and not width and isinstance(value, str):
            parts.append(value)
        else:
            field = f"%{width}{kind}" % (value,)
            parts.append(traced(field, common_origin((value,), lambda count: None) & ~TRUSTED))
    return joined([*parts, part(form, at, len(form))])
