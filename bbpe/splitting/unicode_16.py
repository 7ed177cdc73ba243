"""The characters of Unicode 16, whatever version of Unicode the `regex` package has.

HF's `tokenizers` and tiktoken classify by Unicode 16.  A table has all properties that the package knows, with their
names; `tests/support/unicode_16_table.py` makes it of a package of that version.  Characters that are newer are not
assigned in Unicode 16: in texts for the package, others without an assignment take their place, which a regex does not
tell from them by the characters that it lists.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import cache, lru_cache
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any

from ..lazy import lazy_re, np, npt, regex, safe_import

#: One more than the last code point.
END_OF_UNICODE = 0x110000
#: The first code point that Unicode 16 does not assign.
FIRST_UNASSIGNED = 0x378
#: Unassigned characters that never will be characters, or that are ignored by default.
_PECULIAR = (range(0x2065, 0x2066), range(0xFDD0, 0xFDF0), range(0xFFF0, 0xFFF9))
#: Planes from here on have no characters for texts, except for a few that are never classified.
_LAST_ASKED = 0x40000
_ESCAPED = lazy_re(r"\\u([0-9a-fA-F]{4})|\\U([0-9a-fA-F]{8})")
#: POSIX brackets that the `regex` package tells from the properties of their names.
_POSIX = ("ALNUM", "DIGIT", "PUNCT", "XDIGIT")
_YES_OR_NO = {"NO": 0, "N": 0, "FALSE": 0, "F": 0, "YES": 1, "Y": 1, "TRUE": 1, "T": 1}


@lru_cache(maxsize=256)
def property_set(name: str, *, is_posix: bool = False) -> tuple[int, ...] | None:
    r"""Return where membership in a property of Unicode 16 changes, as a `CharacterSet`; `None` if it has no such one.

    The name is that between the braces of `\p{...}`, or with `is_posix` between the colons of `[[:...:]]`.

    >>> property_set("White_Space")[:4], property_set("gc=Nd")[:2], property_set("Script=Sidetic")
    ((9, 14, 32, 33), (48, 58), None)
    """
    prop, _, value = "".join(char for char in name.upper() if char not in "_- ").replace(":", "=").rpartition("=")
    names, values = _table()["names"], _table()["values"]
    if prop:
        number = names.get(prop)
        known = {} if number is None else values[number] or _YES_OR_NO
        return _members(number, known[value]) if value in known else None
    value = f"POSIX{value}" if is_posix and value in _POSIX else value
    for prop, prefix in (("GC", ""), ("SC", ""), ("BLK", ""), ("", ""), ("", "IS"), ("SC", "IS"), ("BLK", "IN")):
        number, bare = names.get(prop or value.removeprefix(prefix)), value.removeprefix(prefix)
        if number is None or not value.startswith(prefix):
            continue
        if prop and bare in values[number]:
            return _members(number, values[number][bare])
        if not prop and not values[number]:
            return _members(number, 1)
    return None


@cache
def unassigned() -> tuple[int, ...]:
    """Return the code points at which being assigned in Unicode 16 changes, from the first one that is not."""
    found = property_set("Cn")
    assert found is not None
    return found


@cache
def _table() -> dict[str, Any]:
    safe_import("zlib")
    import zlib

    packed = Path(__file__).with_suffix(".bin").read_bytes()
    found: dict[str, Any] = json.loads(zlib.decompress(packed))
    return found


def _members(number: int, value: int) -> tuple[int, ...]:
    """Return the characters with a value of a property, both by their number."""
    table = _table()
    more = table["more"][number].get(str(value))
    if more is not None:
        return tuple(accumulate(more))
    ends, values = _runs(number)
    chosen = frozenset(table["groups"][number].get(str(value), [value]))
    within = [False, *(each in chosen for each in values), False]
    borders = zip([0, *ends], pairwise(within), strict=True)
    return tuple(point for point, (before, after) in borders if before != after)


@cache
def _runs(number: int) -> tuple[list[int], list[int]]:
    """Return where runs of characters with one value of a property end, and the values.

    The table has what the value of another property lets guess, and the runs of characters that are guessed wrongly.
    """
    lengths, kept, *guess = _table()["runs"][number]
    ends = list(accumulate(lengths))
    if not guess:
        return ends, kept
    other, guesses = guess
    ends_of_other, values_of_other = _runs(other)
    every = sorted({*ends, *ends_of_other})
    guessed = _at([guesses[str(value)] for value in values_of_other], ends_of_other, every)
    right = _at(kept, ends, every)
    return every, [value if known == 0 else known - 2 for known, value in zip(right, guessed, strict=True)]


def _at(values: list[int], ends: list[int], every: list[int]) -> Iterator[int]:
    """Yield the values of runs at all of these ends, those of the runs among them."""
    number = 0
    for end in every:
        yield values[number]
        number += end == ends[number]


@cache
def _kinds() -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Return where characters may differ from those before in any property, and a number for equal characters."""
    table = _table()
    runs = [(np.array(ends), np.array(values)) for ends, values in map(_runs, range(len(table["runs"])))]
    more = [np.cumsum(row) for rows in table["more"] for row in rows.values()]
    # `numpy.unique` would import `numpy.ma` late
    every = np.sort(np.concatenate([np.zeros(1, np.int64), *(ends for ends, _ in runs), *more]))
    starts = every[np.flatnonzero(np.diff(every, prepend=-1))][:-1]
    rows = [values[np.searchsorted(ends, starts, "right")] for ends, values in runs]
    rows += [np.searchsorted(points, starts, "right") & 1 for points in more]
    numbers: dict[bytes, int] = {}
    columns = np.stack(rows).T.copy()
    return starts, np.array([numbers.setdefault(column.tobytes(), len(numbers)) for column in columns])


def listed(source: str) -> tuple[int, ...]:
    """Return where sets that a regex lists character by character may begin or end, in order."""
    points = {ord(char) for char in source if char >= chr(FIRST_UNASSIGNED)}
    points.update(int(four or eight, 16) for four, eight in _ESCAPED.findall(source))
    return tuple(sorted(points.union(point + 1 for point in points)))


@lru_cache(maxsize=16)
def stand_ins(borders: tuple[int, ...] = ()) -> dict[int, int]:
    """Return the code points that are newer than Unicode 16, each with one that is unassigned and between its borders.

    Both have the same properties where there is such one.  Between some borders there is none: a regex lists just these
    characters.
    """
    newer, others = _newer_and_others()
    starts, kinds = _kinds()
    found = np.zeros(len(newer), np.int64)
    for chosen in (kinds, np.zeros_like(kinds)):
        kind, kind_of_others = (chosen[np.searchsorted(starts, each, "right") - 1] for each in (newer, others))
        keys = np.sort(kind_of_others * END_OF_UNICODE + others)
        nearest = np.where(found > 0, 0, END_OF_UNICODE)
        at = np.searchsorted(keys, kind * END_OF_UNICODE + newer)
        for place in (at - 1, at):
            near_kind, near = np.divmod(keys[np.clip(place, 0, len(keys) - 1)], END_OF_UNICODE)
            distance = np.abs(near - newer)
            is_between = np.searchsorted(borders, near, "right") == np.searchsorted(borders, newer, "right")
            is_better = is_between & (near_kind == kind) & (distance < nearest)
            found[is_better], nearest[is_better] = near[is_better], distance[is_better]
    return dict(zip(newer[found > 0].tolist(), found[found > 0].tolist(), strict=True))


def as_of_16(text: str, source: str) -> str:
    """Return a text of equal length in which a regex matches what it would match by Unicode 16."""
    if text.isascii() or _any_newer().search(text) is None:
        return text
    return text.translate(stand_ins(listed(source)))


@cache
def _newer_and_others() -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Return the code points that are assigned only after Unicode 16, and those that are not assigned now."""
    points = unassigned()
    ranges = zip(points[::2], points[1::2], strict=True)
    points = np.concatenate([np.arange(first, min(last, _LAST_ASKED)) for first, last in ranges if first < _LAST_ASKED])
    is_newer = np.zeros(len(points), np.bool_)
    for found in regex.finditer(r"\P{Cn}+", str(points.astype("<u4").tobytes(), "utf-32-le")):
        is_newer[slice(*found.span())] = True
    is_peculiar = np.isin(points, [point for part in _PECULIAR for point in part]) | (points & 0xFFFF >= 0xFFFE)
    return points[is_newer], points[~(is_newer | is_peculiar)]


@cache
def _any_newer() -> re.Pattern[str]:
    """Return a regex that matches a character that is newer than Unicode 16."""
    newer, _ = _newer_and_others()
    # as ranges, because `re` compares a character above U+FFFF with each
    parts = [part for part in np.split(newer, np.flatnonzero(np.diff(newer) > 1) + 1) if len(part)]
    return re.compile(f"[{''.join(f'{chr(part[0])}-{chr(part[-1])}' for part in parts)}]" if parts else "(?!)")
