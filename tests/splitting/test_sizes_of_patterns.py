"""Every way to a pattern has the limits of its size, and what a quantifier may follow."""

from __future__ import annotations

import pytest

from bbpe.errors import PatternError
from bbpe.splitting.automaton import automaton_of
from bbpe.splitting.patterns import get_pattern, recognise


@pytest.mark.parametrize(
    ("steps", "problem"),
    [
        (["a"] * 65, "the pattern has 65 regexes; expected at most 64"),
        (["a" * 10_000, "b" * 10_001], "the regexes have 20001 characters; expected at most 20000"),
        (["(a{1000}){101}"], "the pattern has 101000 characters when its repetitions are expanded; expected at most"),
    ],
)
@pytest.mark.parametrize("drops_gaps", [False, True])
def test_a_pattern_that_is_too_long_is_refused(steps: list[str], problem: str, drops_gaps: bool) -> None:
    for make in (lambda: get_pattern(steps), lambda: recognise(steps, drops_gaps=drops_gaps)):
        with pytest.raises(PatternError, match=problem):
            make()


def test_a_pattern_of_the_greatest_size_is_made() -> None:
    assert len(get_pattern(["a"] * 64).steps) == 64
    assert list(get_pattern(["(a{1000}){100}"]).split("b")) == ["b"]


@pytest.mark.parametrize(
    "source", ["a{2}{3}", "a*(?#c){2}", "a+(?#c)(?#d)*", "(?x)a* +", "(?x)a{2} # c\n ?", "a*+*", "a??+"]
)
def test_a_quantifier_after_a_quantifier_is_named(source: str) -> None:
    found = automaton_of(source)
    assert (found.tables, found.reason) == (None, "a quantifier after a quantifier")


@pytest.mark.parametrize("source", ["(?x)a *", "a(?#c)*", "(?x)a # c\n{2}", "a*(?#c)b", "(?x)a* # +\nb"])
def test_blanks_and_comments_may_stand_before_and_after_a_quantifier(source: str) -> None:
    assert automaton_of(source).tables is not None
