"""Regexes in a `tokenizer.json`, which are in the dialect of Oniguruma.

Those of the named patterns mean the same in the dialect of the `regex` package.  `oniguruma.py` translates any other;
it is imported for them only, because its tables take longer to make than a known regex to look up.
"""

from __future__ import annotations

from collections.abc import Sequence

from ...files import StrPath
from ...lazy import safe_import
from ...splitting.patterns import PATTERNS, with_line_ends

# tests/formats/test_formats.py compares the named patterns with Oniguruma on random text.  This one needs another
# spelling in Oniguruma: under (?i) "st" would match the ligature U+FB06, and [\p{L}] the mark U+0345, which no class of
# the `regex` package matches.
_SPELLED = {
    PATTERNS["clip"].steps[0]: r"(?i:<\|[s]tartoftext\|>|<\|endoftext\|>|'s|'t|'re|'ve|'m|'ll|'d)"
    r"|[\p{L}]+|[\p{N}]|[^\s\p{L}\p{N}\u0345]+"
}
_READ = {there: here for here, there in _SPELLED.items()}
_SAFE = {_SPELLED.get(step, step) for row in PATTERNS.values() for step in row.steps}
_SAFE |= {with_line_ends(step) for step in _SAFE}


def to_oniguruma(steps: Sequence[str]) -> list[str]:
    """Translate a chain of regexes of the `regex` package to Oniguruma.

    Raises `PatternError` on a construct that may mean something else in Oniguruma.
    """
    spelled = [_SPELLED.get(step, step) for step in steps]
    for step in spelled:
        if step not in _SAFE:
            safe_import("bbpe.formats.huggingface.oniguruma")
            from .oniguruma import check_agreed

            check_agreed(step)
    return spelled


def from_oniguruma(source: str, *, path: StrPath, place: str) -> str:
    r"""Translate a regex of a `tokenizer.json` to the dialect of the `regex` package.

    Raises `PatternError` with file and position on a construct that may mean something else in the `regex` package and
    has no other spelling.

    >>> from_oniguruma(r"\p{N}{1,3}+|\s+", path="tokenizer.json", place="pre_tokenizer")
    '(?:\\p{N}{1,3})+|\\s+'
    """
    if source in _SAFE:
        return _READ.get(source, source)
    safe_import("bbpe.formats.huggingface.oniguruma")
    from .oniguruma import translated

    return translated(source, path=path, place=place)
