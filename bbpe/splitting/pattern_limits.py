"""What a regex may be: of what size, of which constructs, and on texts of what length it needs no limit of time.

A regex out of a file must not take minutes or gigabytes to compile, and its matches must follow one another.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import regex

from ..errors import PatternError

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


# -- constructs --------------------------------------------------------------------------------------------

_FUZZY = r"\d*[deis](?:\+\d*[dis])*(?:<=?\d+)?|\d+<=?[deis]<=?\d+"
_CONSTRUCT = regex.compile(
    rf"""(?P<comment> \(\?\#[^)]*\)?)
    | (?P<one> \[\^?\]?(?:\\.|[^\]\\])*+\]? | \\[pPNx]\{{[^}}]*\}}?)
    | (?P<keep> \\K) | (?P<anchor> \\G) | (?P<list> \\L<)
    | (?P<version> \(\?[a-zA-Z]*V[01])
    | (?P<call> \(\?(?:R|\d+|&|P>))
    | (?P<fuzzy> \{{(?:{_FUZZY})(?:,(?:{_FUZZY}))*[:}}])
    | (?P<number> \\[1-9] | \\g<[-+]?\d | \(\?\([-+]?\d)
    | (?P<again> \\g< | \(\?P= | \(\?\( | \(\* | \\R)
    | (?P<open> \((?:\?(?:<?[=!] | [:>|] | P?<\w+> | [a-zA-Z-]*:?))?) | (?P<close> \)) | (?P<or> \|)
    | (?P<repeat> [*+?][?+]? | \{{\d*(?:,\d*)?\}}[?+]?)
    | (?P<other> \\. | .)""",
    regex.VERBOSE | regex.DOTALL,
)
_REFUSED = {
    "keep": "moves the beginning of a match",
    "anchor": "depends on where the search began",
    "list": "names a list that a pattern cannot bring along",
    "version": "chooses the version of the syntax, which is 1 with && and else 0",
    "call": "calls a part of the regex anew, without end",
    "fuzzy": "allows errors in a match",
}
#: The steps of going back, as many as a regex can ever need on a text, that take no time to speak of.
_FEW_STEPS = 10**7


def check_constructs(source: str) -> None:
    r"""Raise `PatternError` on a construct by which matches need not follow one another in a text, by name.

    >>> check_constructs(r"[\K]+")
    """
    for kind, token, place in _constructs(source):
        if kind in _REFUSED:
            raise PatternError(
                f"pattern {source!r} has {token!r} at character {place}, which {_REFUSED[kind]} and is not supported; "
                "expected a regex whose matches follow one another"
            )


def needs_its_numbers(source: str) -> bool:
    """Whether a regex means another thing with a group around it: it names groups by numbers, or ends the search."""
    return any(kind == "number" or token == "(*" for kind, token, _ in _constructs(source))


def quick_up_to(source: str) -> int:
    """Return the length of texts up to which a regex needs few steps whatever they hold; -1 where that is not known.

    Each repetition of a character has at most as many ends as the text, each `|` in a group doubles the ways, and there
    are as many beginnings as characters.  Nothing is known where a group repeats, or what a group matched counts.

    >>> quick_up_to("[0-9][0-9][0-9]") > 1000, quick_up_to("(?:a|aa)+$")
    (True, -1)
    """
    clauses = [[1, 1, 1]]  # characters, repetitions and ways
    depth, before = 0, ""
    for kind, token, _ in _constructs(source):
        clause = clauses[-1]
        clause[0] += len(token)
        if kind in ("number", "again") or (kind == "repeat" and before in ("close", "repeat") and token[0] != "?"):
            return -1
        depth += (kind == "open") - (kind == "close")
        if kind == "repeat":
            clause[1] += 1
        elif kind == "or" and depth == 0:
            clauses.append([1, 1, 1])
        elif kind == "or":
            clause[2] *= 2
        before = before if kind == "comment" else kind
    length = step = 0
    while sum(size * ways * (length + 1) ** most for size, most, ways in clauses) < _FEW_STEPS:
        step = 1 + length // 8
        length += step
    return length - max(step, 1)


def _constructs(source: str) -> Iterator[tuple[str, str, int]]:
    """Yield the kind, the text and the place of each part of a regex."""
    for found in _CONSTRUCT.finditer(source):
        yield found.lastgroup or "", found[0], found.start()
