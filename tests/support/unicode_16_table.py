"""Writes `bbpe/splitting/unicode_16.bin`: all properties of Unicode 16, by a `regex` package of that version.

    pip install --target FOLDER regex==2024.11.6
    python tests/support/unicode_16_table.py FOLDER
"""

from __future__ import annotations

import json
import sys
import zlib
from collections import Counter
from itertools import accumulate, groupby, pairwise
from pathlib import Path
from typing import Any

import numpy as np

TABLE = Path(__file__).parents[2] / "bbpe" / "splitting" / "unicode_16.bin"
_TEXT = "".join(map(chr, range(sys.maxunicode + 1)))


def table(regex: Any) -> dict[str, Any]:
    """Return the properties, their names and those of their values, as a `regex` package has them.

    `names`: each name of a property with its number.  `values[p]`: each name of a value with its number, empty where
    there are only no (0) and yes (1).  `runs[p]`: how many characters in a row have which value, as two lists.
    `groups[p]`: the values that a value such as the general category L stands for.  `more[p]`: for a value that
    characters have beside another, how many characters in a row do not have it, have it, do not have it, and so on.

    Most runs are those of a guess: `runs[p]` then also has the number of another property and the value of `p` for each
    of its values, and a value of 0 says that the guess is right; others have two added.
    """
    core = regex._regex_core
    numbers: dict[int, int] = {}
    found: dict[str, Any] = {"names": {}, "values": [], "runs": [], "groups": [], "more": []}
    for name, (key, values) in core.PROPERTIES.items():
        if key not in numbers:
            numbers[key] = len(numbers)
            found["values"].append({} if set(values) == core._BINARY_VALUES else values)
            for part, each in zip(("runs", "groups", "more"), _property(regex, name, values), strict=True):
                found[part].append(each)
        found["names"][name] = numbers[key]
    found["runs"] = _guessed(found["runs"])
    return found


def _guessed(runs: list[Any]) -> list[Any]:
    """Return the runs of properties with as many of them as possible guessed from another one with more runs."""
    starts = np.unique(np.concatenate([np.cumsum([0, *lengths[:-1]]) for lengths, _ in runs]))
    columns = [np.repeat(values, lengths)[starts] for lengths, values in runs]
    found, done = list(runs), []
    for number in sorted(range(len(runs)), key=lambda each: -len(runs[each][0])):
        for other in done:
            pairs = Counter(zip(columns[other].tolist(), columns[number].tolist(), strict=True))
            guesses = {before: value for (before, value), _ in reversed(pairs.most_common())}
            is_right = columns[number] == [guesses[before] for before in columns[other].tolist()]
            wrong = np.where(is_right, 0, columns[number] + 2)
            firsts = np.flatnonzero(np.diff(wrong, prepend=-1))
            lengths = np.diff(starts[firsts], append=len(_TEXT))
            guessed = [lengths.tolist(), wrong[firsts].tolist(), other, guesses]
            found[number] = min(found[number], guessed, key=lambda each: len(_packed(each)))
        done.append(number)
    return found


def _property(regex: Any, name: str, values: dict[str, int]) -> tuple[Any, Any, Any]:
    of_character, spans = [-1] * len(_TEXT), {}
    for number, value in sorted({number: value for value, number in values.items()}.items()):
        spans[number] = [match.span() for match in regex.finditer(rf"\p{{{name}={value}}}+", _TEXT)]
        if all(set(of_character[first:last]) == {-1} for first, last in spans[number]):
            for first, last in spans.pop(number):
                of_character[first:last] = [number] * (last - first)
    counts, groups, more = Counter(of_character), {}, {}
    for number, each in spans.items():
        inside = {one for first, last in each for one in set(of_character[first:last])}
        if -1 not in inside and sum(counts[one] for one in inside) == sum(last - first for first, last in each):
            groups[number] = sorted(inside)
        else:
            more[number] = _lengths([0, *(point for span in each for point in span)])
    parts = [(number, sum(1 for _ in same)) for number, same in groupby(of_character)]
    runs = [_lengths([0, *accumulate(length for _, length in parts)]), [number for number, _ in parts]]
    return runs, groups, more


def _lengths(points: list[int]) -> list[int]:
    return [after - before for before, after in pairwise(points)]


def _packed(found: Any) -> bytes:
    return zlib.compress(json.dumps(found, separators=(",", ":")).encode(), 9)


def main(folder: str) -> None:
    """Write the table."""
    sys.path.insert(0, folder)
    import regex

    assert Path(regex.__file__).is_relative_to(folder), regex.__file__
    assert regex.match(r"\p{L}\p{Cn}", "\U00010d4a\ua7ce"), "expected a letter of Unicode 16, and none of 17"
    TABLE.write_bytes(_packed(table(regex)))


if __name__ == "__main__":
    main(sys.argv[1])
