r"""Sets of characters, with the members that the `regex` package gives to them, by the properties of Unicode 16.

A set is the code points at which membership changes, in ascending order: `(48, 58)` holds the ten digits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cache, lru_cache

from ..lazy import lazy_regex, np, regex
from ..records import dataclass
from .unicode_16 import END_OF_UNICODE, listed, property_set, stand_ins

CharacterSet = tuple[int, ...]


class UnknownPropertyError(ValueError):
    """Unicode 16 has no such property; the message names it."""


NOTHING: CharacterSet = ()
EVERYTHING: CharacterSet = (0, END_OF_UNICODE)


#: Escapes that are properties, and all spellings of properties: an escape, "^", a name, and a name within colons.
_SHORT = {"d": "nd", "w": "word", "s": "space", "h": "blank"}
_PROPERTY = lazy_regex(
    r"\\(?<escape>[dDwWsSh])|\\(?<escape>[pP])(?:\{(?<no>\^?)(?<name>[^{}]*)\}|(?<name>\w))"
    r"|\[\[:(?<no>\^?)(?<posix>[^:]*):\]\]"
)

#: Below this code point each character is asked about.
_ASKED = 0x40000


@cache
def _starts() -> tuple[int, ...]:
    """Return the first code point that each character to ask about from `_ASKED` on stands for.

    Each stands for the code points up to the next.  Planes 4 to 13 are not assigned and planes 15 and 16 are for
    private use.  So in each of these planes, and at the end of plane 14, all characters have the same properties,
    except the last two.
    """
    points: list[int] = []
    for plane in range(_ASKED, END_OF_UNICODE, 0x10000):
        points += range(plane, plane + 0x1000) if plane == 0xE0000 else (plane,)
        points += (plane + 0x1000, plane + 0xFFFE, plane + 0xFFFF)
    return (*points, END_OF_UNICODE)


@lru_cache(maxsize=4)
def _asked(borders: tuple[int, ...] = ()) -> str:
    """Return the characters to ask about, with `stand_ins` for those that are newer than Unicode 16."""
    wide = np.arange(_ASKED, dtype="<u4")
    others = stand_ins(borders)
    wide[list(others)] = list(others.values())
    # decoding a surrogate takes 50 times longer
    below, above = (str(part.tobytes(), "utf-32-le") for part in (wide[:0xD800], wide[0xE000:]))
    return "".join([below, *map(chr, range(0xD800, 0xE000)), above, *map(chr, _starts()[:-1])])


@cache
def _cased() -> str:
    """Return the characters that have another case."""
    return "".join(regex.findall(r"[\p{CWCF}\p{CWL}\p{CWU}\p{CWT}]", _asked()))


@lru_cache(maxsize=512)
def members(source: str, flags: int) -> CharacterSet:
    r"""Return the members of a property or a class of a regex, such as `\p{Lu}` or `[^a-z]`.

    The properties within a class are those of the `regex` package.

    >>> members(r"[0-9]", 0)
    (48, 58)
    """
    found = None if flags & regex.ASCII else _by_table(source, ignores_case=bool(flags & regex.IGNORECASE))
    return members_of_package(source, flags) if found is None else found


@lru_cache(maxsize=512)
def members_of_package(source: str, flags: int) -> CharacterSet:
    """Return the members that the installed `regex` package has, where Unicode 16 has none for the newer characters."""
    text, starts = _asked(listed(source)), _starts()
    pattern = regex.compile(f"(?:{source})++", flags)
    changes = (at for found in pattern.finditer(text) for at in found.span())
    return tuple(at if at < _ASKED else starts[at - _ASKED] for at in changes)


def _by_table(source: str, *, ignores_case: bool) -> CharacterSet | None:
    r"""Return the members of a source such as `\p{...}`, `[[:...:]]` or `\w`; `None` for any other source."""
    found = _PROPERTY.fullmatch(source)
    if found is None:
        return None
    escape, name, posix = found["escape"] or "", found["name"] or "", found["posix"]
    chosen = property_set(posix or _SHORT.get(escape.lower(), name), is_posix=posix is not None)
    if chosen is None:
        raise UnknownPropertyError(f"{source}, no property of Unicode 16")
    if ignores_case:
        one_case = ("lu", "ll", "lt"), ("upper", "lower", "upper=no", "lower=no")
        for names, both in zip(one_case, ("lc", "cased"), strict=True):
            if chosen in map(property_set, names):
                chosen = property_set(both) or NOTHING
    return complement(chosen) if escape.isupper() != bool(found["no"]) else chosen


def spelled(chosen: CharacterSet) -> str:
    r"""Return a set as the members of a class of a regex.

    >>> spelled((48, 58))
    '\\U00000030-\\U00000039'
    """
    return "".join(f"\\U{first:08X}-\\U{end - 1:08X}" for first, end in zip(chosen[::2], chosen[1::2], strict=True))


def is_representable(chosen: CharacterSet) -> bool:
    """Return whether `members` can find a set: it asks about few characters of the planes 4 to 16."""
    return all(point <= _ASKED or point in _starts() for point in chosen)


@lru_cache(maxsize=512)
def with_cases(chosen: CharacterSet, flags: int) -> CharacterSet:
    """Return a set with all characters of which another case is in it."""
    found = regex.findall(f"[{spelled(chosen)}]", _cased(), flags) if chosen else []
    return union([chosen, *(single(ord(char)) for char in found)])


@lru_cache(maxsize=512)
def folded(char: str, flags: int) -> CharacterSet:
    """Return the characters that a character matches where case is ignored."""
    found = regex.compile(regex.escape(char), flags).findall(_cased())
    return union([single(ord(each)) for each in {char, *found}])


def single(first: int, last: int | None = None) -> CharacterSet:
    """Return the set of one code point, or of a range with both ends."""
    return (first, (first if last is None else last) + 1)


@dataclass(frozen=True)
class Partition:
    """Characters in classes, such that each set is a union of classes.

    The code points from `points[i]` to `points[i + 1]` are of class `classes[i]`.  `within[s][c]`: class c is in set s.
    """

    points: tuple[int, ...]
    classes: tuple[int, ...]
    within: tuple[tuple[bool, ...], ...]


def partition(sets: Sequence[CharacterSet]) -> Partition:
    """Return the coarsest classes of characters of which each set is a union.

    >>> partition([(48, 58), (50, 60)]).classes
    (0, 1, 2, 3, 0)
    """
    points: list[int] = []
    classes: list[int] = []
    numbers: dict[int, int] = {}
    for point, inside in _sweep(sets):
        points.append(point)
        classes.append(numbers.setdefault(inside, len(numbers)))
    within = tuple(tuple(bool(inside >> number & 1) for inside in numbers) for number in range(len(sets)))
    return Partition((*points, END_OF_UNICODE), tuple(classes), within)


def _sweep(sets: Sequence[CharacterSet]) -> Iterable[tuple[int, int]]:
    """Yield the points where membership in any set changes, from 0, with the sets there as bits."""
    changes = {0: 0}
    for number, each in enumerate(sets):
        for point in each:
            changes[point] = changes.get(point, 0) ^ 1 << number
    inside = 0
    for point in sorted(changes):
        inside ^= changes[point]
        if point < END_OF_UNICODE:
            yield point, inside


def combined(sets: Sequence[CharacterSet], keep: Callable[[int], bool]) -> CharacterSet:
    """Return the characters for which `keep` is true; its argument has a bit for each set."""
    found: list[int] = []
    before = False
    for point, inside in _sweep(sets):
        if keep(inside) != before:
            found.append(point)
            before = not before
    return (*found, END_OF_UNICODE) if before else tuple(found)


def union(sets: Sequence[CharacterSet]) -> CharacterSet:
    """Return the characters of any of the sets."""
    return sets[0] if len(sets) == 1 else _united(tuple(sets))


@lru_cache(maxsize=256)
def _united(sets: tuple[CharacterSet, ...]) -> CharacterSet:
    return combined(sets, bool)


def complement(chosen: CharacterSet) -> CharacterSet:
    """Return all other characters.

    >>> complement((48, 58))
    (0, 48, 58, 1114112)
    """
    inner = chosen[1:] if chosen[:1] == (0,) else (0, *chosen)
    return inner[:-1] if inner[-1:] == (END_OF_UNICODE,) else (*inner, END_OF_UNICODE)
