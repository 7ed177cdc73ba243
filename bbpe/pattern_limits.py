"""How large a split pattern may be: a regex out of a file must not take minutes or gigabytes to compile."""

from __future__ import annotations

from collections.abc import Sequence

import regex

from .errors import PatternError

#: The most regexes in a chain, and characters in all of them; published patterns have 3 and 700.
MOST_STEPS, MOST_CHARACTERS = 64, 20_000
#: The most characters that a regex may have when what it repeats a fixed number of times is written out.
MOST_WRITTEN_OUT = 100_000

_PART = regex.compile(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]?|\{(\d+)(?:,(\d*))?\}|.", regex.DOTALL)


def check_size(steps: Sequence[str]) -> None:
    """Raise `PatternError` on a chain of regexes that is too long, or would be with its repetitions written out.

    >>> check_size([r"a{1000}"])
    """
    if len(steps) > MOST_STEPS:
        raise PatternError(f"the pattern has {len(steps)} regexes; expected at most {MOST_STEPS}")
    characters = sum(map(len, steps))
    if characters > MOST_CHARACTERS:
        raise PatternError(f"the regexes have {characters} characters; expected at most {MOST_CHARACTERS}")
    written_out = sum(map(_written_out, steps))
    if written_out > MOST_WRITTEN_OUT:
        raise PatternError(
            f"the repetitions of the pattern are {written_out} characters when written out; expected at most "
            f"{MOST_WRITTEN_OUT}"
        )


def _written_out(source: str) -> int:
    """Return the length of a regex with its counted repetitions written out; groups that do not match do not matter."""
    sizes, last = [0], 0  # of the open groups, and of the last atom in the innermost
    for part in _PART.finditer(source):
        if part[1] is not None:
            repeated = last * max(int(part[1]), int(part[2] or 0)) - last
            sizes[-1] += max(repeated, 0)
            last += max(repeated, 0)
        elif part[0] == "(":
            sizes.append(0)
            last = 0
        elif part[0] == ")" and len(sizes) > 1:
            last = sizes.pop()
            sizes[-1] += last
        else:
            last = 1
            sizes[-1] += 1
    return sum(sizes)
