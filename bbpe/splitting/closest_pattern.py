"""Find the named pattern that is closest to a split pattern."""

from __future__ import annotations

from difflib import SequenceMatcher

from ..records import dataclass, fields
from .patterns import PATTERNS, Pattern
from .scheme import Scheme

#: Each of these texts is split differently by at least two named patterns, for a different reason.
PROBES = (
    "I'm he'LL x's 'ſx don't",
    "HTTPServer helloWorld ǅa",
    "1 12 123 1234 12345678 ½٣",
    "a1b2 x_y __init__ $1,000.00",
    "a  b   c\n  d \n\n e\r\n\r\nf\t\tg",
    "end  ",
    "end \n ",
    "e\u0301a\u0301\u0323b ก็ नमस्ते",
    "中文12あア한국。、x",
    "!? //\n\n/*\n.. (a) .b",
    " a\u3000b\xa0c\u200bd",
    "<|startoftext|>Ab's",
)
_LIKE = 0.9


@dataclass(frozen=True)
class Nearest:
    """The named pattern that is closest to a pattern.

    `differs` lists the differences and is empty when the two are equal.  `example` is a text that the two split
    differently, `None` when they split all of `PROBES` alike.
    """

    name: str
    differs: tuple[str, ...]
    example: str | None


def nearest(pattern: Pattern) -> Nearest | None:
    r"""Return the named pattern that a pattern equals or nearly equals; `None` when none is close.

    >>> from bbpe.splitting.patterns import get_pattern
    >>> nearest(get_pattern(r"\p{N}{1,2}| ?\p{L}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+")).name
    'gpt2'
    """
    if pattern.name is not None:
        return Nearest(pattern.name, (), None)
    if pattern.scheme is not None:
        found = _by_scheme(pattern.scheme)
        if found is not None:
            return _with_example(pattern, *found)
    source = "\n".join(pattern.steps)
    matcher = SequenceMatcher(autojunk=False)
    matcher.set_seq2(source)
    ratios = {}
    for name, row in _rows():
        matcher.set_seq1("\n".join(row.steps))
        ratios[name] = matcher.ratio() if matcher.real_quick_ratio() >= _LIKE else 0.0
    name, ratio = max(ratios.items(), key=lambda item: item[1])
    return _with_example(pattern, name, ("the regex",)) if ratio >= _LIKE else None


def _rows() -> list[tuple[str, Pattern]]:
    return [(name, row) for name, row in PATTERNS.items() if row.steps]


def _by_scheme(scheme: Scheme) -> tuple[str, tuple[str, ...]] | None:
    best: tuple[str, tuple[str, ...]] | None = None
    for name, row in _rows():
        if row.scheme is None:
            continue
        differs = tuple(
            f"{field.name} {getattr(scheme, field.name)!r} instead of {getattr(row.scheme, field.name)!r}"
            for field in fields(Scheme)
            if getattr(scheme, field.name) != getattr(row.scheme, field.name)
        )
        if best is None or len(differs) < len(best[1]):
            best = name, differs
    return best if best is not None and len(best[1]) <= 3 else None


def _with_example(pattern: Pattern, name: str, differs: tuple[str, ...]) -> Nearest:
    example = next((text for text in PROBES if [*pattern.split(text)] != [*PATTERNS[name].split(text)]), None)
    return Nearest(name, differs, example)
