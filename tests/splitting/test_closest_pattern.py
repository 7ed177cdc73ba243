"""The named pattern that is closest to another one, what differs, and a text that shows it."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from bbpe.splitting.closest_pattern import PROBES, nearest
from bbpe.splitting.patterns import PATTERNS, Pattern, get_pattern

#: A named pattern, a part of its last regex and another one in its place, and what differs.
CHANGED = [
    ("qwen3_5", r"|\p{N}|", r"|\p{N}{1,5}|", ["number_max 5 instead of 1"]),
    ("gpt2", r" ?\p{N}+", r" ?\p{N}{1,2}", ["number_max 2 instead of 0"]),
    ("o200k", r"[\r\n/]*", "", ["tail 'none' instead of 'newlines_slash'"]),
    ("bloom", r" ?[^(", r" ?[^(#", ["the regex"]),
]


@pytest.mark.parametrize("name", PATTERNS)
def test_a_named_pattern_is_closest_to_itself(name: str) -> None:
    found = nearest(PATTERNS[name])
    assert found is not None
    assert (found.name, found.differs, found.example) == (name, (), None)


@pytest.mark.parametrize(("name", "old", "new", "differs"), CHANGED, ids=[row[0] for row in CHANGED])
def test_what_differs_is_said_and_shown(name: str, old: str, new: str, differs: list[str]) -> None:
    source = PATTERNS[name].steps[-1]
    changed = get_pattern(source.replace(old, new, 1))
    found = nearest(changed)
    assert found is not None
    assert (found.name, list(found.differs)) == (name, differs)
    split = [[*changed.split(text)] != [*PATTERNS[name].split(text)] for text in PROBES]
    assert found.example == next((text for text, is_other in zip(PROBES, split, strict=True) if is_other), None)


@pytest.mark.parametrize("source", [r"\w+|\W", "a", r"[ab]+|\s", r"\S+"])
def test_nothing_is_close_to_what_is_like_none(source: str) -> None:
    assert nearest(Pattern(None, (source + "|x{7}",))) is None


def test_frequent_characters_count_in_long_regexes() -> None:
    source = PATTERNS["tekken"].steps[0]
    for changed in (source.replace(r"\s", "[ ]") + "|(?<=ab)c", source.replace(r"\p{N}", "[0-9]")):
        assert len(changed) > 200
        found = nearest(Pattern(None, (changed,)))
        assert found is not None
        assert found.name == "tekken"


def test_of_two_that_are_equally_close_the_first_counts() -> None:
    """Numbers of up to four are as far from those of three as from those of two."""
    changed = get_pattern(PATTERNS["llama3"].steps[0].replace("{1,3}", "{1,4}"))
    found = nearest(changed)
    assert found is not None
    rows = [name for name, row in PATTERNS.items() if row.scheme is not None]
    near = [name for name in rows if PATTERNS[name].scheme in {PATTERNS["llama3"].scheme, PATTERNS["nanochat"].scheme}]
    assert found.name == near[0]


def of_seven_digits(name: str) -> tuple[str, ...]:
    """The regexes of a named pattern, with numbers of up to seven digits, which none of them has."""
    numbers = re.compile(r"(?<![\]}LsMS])\\p\{N\}(\{1,\d\}|\+)?(?=\||$)")
    return tuple(numbers.sub(r"\\p{N}{1,7}", step) for step in PATTERNS[name].steps)


@pytest.mark.parametrize(
    "name", [name for name, row in PATTERNS.items() if row.scheme is not None and of_seven_digits(name) != row.steps]
)
def test_of_all_named_patterns_the_one_counts_that_differs_in_one_thing(name: str) -> None:
    row = PATTERNS[name]
    found = nearest(Pattern(None, of_seven_digits(name), row.drops_gaps))
    assert found is not None
    other = PATTERNS[found.name].scheme
    assert other is not None
    assert row.scheme is not None
    assert found.differs == (f"number_max 7 instead of {other.number_max}",)
    assert replace(other, number_max=7) == replace(row.scheme, number_max=7)
