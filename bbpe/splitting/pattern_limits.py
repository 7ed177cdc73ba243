"""Limits of split regexes: their size, their constructs, and the text length that is safe without a time limit.

A regex from a file must not take minutes or gigabytes to compile, and its matches must be in order and not overlap.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ..errors import PatternError
from ..lazy import lazy_re, lazy_regex

#: The most regexes in a chain, and the most characters in all of them; published patterns have up to 3 and 700.
MOST_STEPS, MOST_CHARACTERS = 64, 20_000
#: The most characters of a chain with counted repetitions expanded: `a{3}` as `aaa`.
MOST_EXPANDED = 100_000

_PART = lazy_re(r"(?s)\\.|\[\^?\]?(?:\\.|[^\]\\])*\]?|\{(\d+)(?:,(\d*))?\}|.")


def check_size(steps: Sequence[str]) -> None:
    """Raise `PatternError` on a chain of regexes that is too long, as written or with repetitions expanded.

    >>> check_size([r"a{1000}"])
    """
    if len(steps) > MOST_STEPS:
        raise PatternError(f"the pattern has {len(steps)} regexes; expected at most {MOST_STEPS}")
    characters = sum(map(len, steps))
    if characters > MOST_CHARACTERS:
        raise PatternError(f"the regexes have {characters} characters; expected at most {MOST_CHARACTERS}")
    expanded = sum(map(_expanded, steps))
    if expanded > MOST_EXPANDED:
        raise PatternError(
            f"the pattern has {expanded} characters when its repetitions are expanded; expected at most "
            f"{MOST_EXPANDED}"
        )


def _expanded(source: str) -> int:
    """Return the length of a regex with counted repetitions expanded; unbalanced parentheses do no harm."""
    sizes, last = [0], 0  # sizes of the open groups, and the size of the last atom in the innermost group
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
_CONSTRUCT = lazy_regex(
    rf"""(?sx)(?P<comment> \(\?\#[^)]*\)?)
    | (?P<one> \[\^?\]?(?:\\.|[^\]\\])*+\]? | \\[pPNx]\{{[^}}]*\}}?)
    | (?P<keep> \\K) | (?P<anchor> \\G) | (?P<list> \\L<)
    | (?P<version> \(\?[a-zA-Z]*V[01])
    | (?P<call> \(\?(?:R|\d+|&|P>))
    | (?P<fuzzy> \{{(?:{_FUZZY})(?:,(?:{_FUZZY}))*[:}}])
    | (?P<number> \\[1-9] | \\g<[-+]?\d | \(\?\([-+]?\d)
    | (?P<again> \\g< | \(\?P= | \(\?\( | \(\* | \\R)
    | (?P<open> \((?:\?(?:<?[=!] | [:>|] | P?<\w+> | [a-zA-Z-]*:?))?) | (?P<close> \)) | (?P<or> \|)
    | (?P<repeat> [*+?][?+]? | \{{\d*(?:,\d*)?\}}[?+]?)
    | (?P<other> \\. | .)"""
)
_REFUSED = {
    "keep": "moves the beginning of a match",
    "list": "names a list that a pattern cannot contain",
    "version": "chooses the version of the syntax, which is 1 with && and 0 otherwise",
    "call": "calls a part of the regex recursively, without limit",
    "fuzzy": "allows errors in a match",
}
#: The number of backtracking steps that takes negligible time.
_FEW_STEPS = 10**7


def check_constructs(source: str) -> None:
    r"""Raise `PatternError` on a construct with which matches can overlap or come out of order; the error names it.

    >>> check_constructs(r"[\K]+")
    """
    for kind, token, start in _constructs(source):
        if kind in _REFUSED:
            raise PatternError(
                f"pattern {source!r} has {token!r} at character {start}, which {_REFUSED[kind]} and is not supported; "
                "expected a regex whose matches are in order and do not overlap"
            )


def depends_on_place(source: str) -> bool:
    r"""Return whether a regex would mean something else in a group, or after other matches of one search.

    It refers to groups by number, or has a control verb or `\G`.
    """
    return any(kind in ("number", "anchor") or token == "(*" for kind, token, _ in _constructs(source))


def safe_length(source: str) -> int:
    """Return the length up to which a regex takes few steps on every text; -1 when no length is known to be safe.

    The bound on steps: a match can begin at each character, each repetition of a character can end at each character
    of the text, and each `|` in a group doubles the alternatives.  A repeated group or a reference to a group has no
    such bound.

    >>> safe_length("[0-9][0-9][0-9]") > 1000, safe_length("(?:a|aa)+$")
    (True, -1)
    """
    clauses = [[1, 1, 1]]  # for each clause its characters, repetitions and alternatives
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
    while sum(size * choices * (length + 1) ** repeats for size, repeats, choices in clauses) < _FEW_STEPS:
        step = 1 + length // 8
        length += step
    return length - max(step, 1)


def _constructs(source: str) -> Iterator[tuple[str, str, int]]:
    """Yield the kind, the text and the position of each construct of a regex."""
    for found in _CONSTRUCT.finditer(source):
        yield found.lastgroup or "", found[0], found.start()
