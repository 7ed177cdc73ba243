"""Atomic groups, possessive repetitions and empty rounds: automatons find what the `regex` package finds."""

from __future__ import annotations

import itertools

import pytest
from test_automaton import compare

from bbpe.splitting.automaton import automaton_of, may_begin_empty

TEXTS = ["".join(chars) for size in range(6) for chars in itertools.product("abc", repeat=size)][::2]

#: What an atomic group may hold, of one length and of several, empty too.
INNER = ["a|ab", "ab|a", "ab?", "a*?b?", "a|", "|ab", "(?:a|b)*?b", "a(?>b?)", "(?:ab|a)(?:b|c)?"]
#: Where a group stands: before and after other characters, in rounds that may be empty, within and beside others.
AROUND = [
    "(?>{})c", "(?:(?>{})c?)*b", "(?:(?>{})?b?)+c", "b?(?>{})|a", "(?>{})(?>{})c", "(?:(?>{})|b)*?c", "(?>b(?>{})|a)c",
    "(?:(?>{})){{2}}c", "(?:{})?+c", "(?:{})*+b?", "(?:(?:{}){{1,2}}+c)?",
]  # fmt: skip


@pytest.mark.parametrize("around", AROUND)
def test_groups_of_which_the_first_match_is_final(around: str) -> None:
    followed = 0
    for inner in INNER:
        source = around.replace("{}", inner).replace("{{", "{").replace("}}", "}")
        found = automaton_of(source)
        if found.tables is None:
            assert found.reason.startswith("an atomic group or possessive repetition after which"), source
        else:
            compare(source, TEXTS)
            followed += 1
    assert followed > 3


@pytest.mark.parametrize(
    "source",
    [
        "(?:a?b??)*c", "(?:a{0,2}|b)*?c", "(?:(?:a|)(?:b|)){2,}c", "(?:(?:|a)b?){0,2}c", "(?:a*?|b){2}?c",
        "(?:(?=b)|a)*b", "(?:a?+b?)*+c", "(?:(?:a|b?){3}c)*", "(?:(?:ab?)?){1,2}c?", "(?:(?:|a)+|c){2,3}b",
        "a{0}b{0,0}c",
    ],
)  # fmt: skip
def test_rounds_that_may_be_empty(source: str) -> None:
    compare(source, TEXTS)


def test_an_end_of_line_is_none_of_the_lookarounds_that_are_counted() -> None:
    looks = "|".join(f"(?=a{char})" for char in "bcdefghi")
    assert automaton_of(f"{looks}|$").reason == ""
    assert automaton_of(f"{looks}|(?=a$)").reason == "more than 8 lookarounds of more than one character"
    # the same one, and its negation, are one
    assert automaton_of(f"{looks}|(?=ab)c|(?!ai)b").reason == ""
    compare(f"{looks}|$", ["", "ab\n", "ai", "a\n\n"])


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("a*", True), ("a", False), ("(?=a)", True), ("(?<=a)", False), (r"\s*$", False), ("$", False), ("^", True),
        ("(?!a)", True), (r"\b", True), ("a{0}", True), ("(?:a|b?)", True), ("a+?", False), ("(?>a|)", True),
        ("(?<!a)", True), (r"(a)\1", False), (r"((a)\2)?", True), ("", True), ("(?=ab)", True),
        ("(?!ab)b?", True), (r"\Ga?", True), ("$|b", False),
    ],
)  # fmt: skip
def test_whether_a_text_may_begin_with_an_empty_match(source: str, expected: bool) -> None:
    assert may_begin_empty(source) is expected
