"""Every way to a pattern has the limits of its size, and what a quantifier may follow."""

from __future__ import annotations

import pytest

from bbpe.errors import PatternError
from bbpe.splitting import pattern_limits
from bbpe.splitting.automaton import automaton_of
from bbpe.splitting.pattern_limits import check_size, depends_on_place, safe_length
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


@pytest.mark.parametrize(
    ("source", "size"),
    [
        ("abc", 3), ("a{3}", 3), ("ab{3}", 4), ("ab{3}c", 5), ("(ab){3}c", 7), ("a{2,5}", 5), ("a{5,}", 5), ("a{0}", 1),
        ("a{1}", 1), (r"\.{3}", 3), ("[abc]{4}", 4), ("[^]]{2}", 2), (r"[a\]]{2}b", 3), ("a{2}{3}", 6),
        ("((a){2}b){3}", 9), ("(a{2}b{3}){2}", 10), ("a(b{2}", 3), ("a)b{3}", 5), ("a|b{2}", 4), ("((a{2}){2}){2}b", 9),
        ("(ab)(c){2}", 4), ("(a(b)){2}", 4),
    ],
)  # fmt: skip
def test_repetitions_count_as_if_they_were_written_out(
    source: str, size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pattern_limits, "MOST_EXPANDED", size)
    check_size([source])
    with pytest.raises(PatternError, match=f"the pattern has {size + 1} characters when its repetitions are expanded"):
        check_size([source, "x"])
    monkeypatch.setattr(pattern_limits, "MOST_EXPANDED", size - 1)
    with pytest.raises(PatternError, match=f"has {size} characters when its rep.* expected at most {size - 1}"):
        check_size([source])


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        (r"(a)\1", True), (r"\Ga", True), ("(*PRUNE)a", True), (r"(a)\g<1>", True), (r"(a)\g<-1>", True),
        ("(a)?(?(1)a|b)", True), ("(?P<x>a)(?P=x)", False), (r"(?P<x>a)\g<x>", False), ("(?P<x>a)?(?(x)a)", False),
        (r"[\1]a", False), (r"a\R", False), (r"a(?#\1)", False), (r"\\1", False), ("(a)1", False), (r"\p{L}+", False),
    ],
)  # fmt: skip
def test_what_depends_on_the_groups_and_matches_before(source: str, expected: bool) -> None:
    assert depends_on_place(source) is expected


@pytest.mark.parametrize(
    ("source", "clauses"),
    [
        # for each clause its characters and one more, the ends it may have, and its alternatives
        ("a", [(2, 1, 1)]), ("ab*", [(4, 2, 1)]), ("a|b", [(3, 1, 1), (2, 1, 1)]), ("ab*|c", [(5, 2, 1), (2, 1, 1)]),
        ("(a|b)c", [(7, 1, 2)]), ("(a?|b|c)|d", [(11, 2, 4), (2, 1, 1)]), ("[abc]+x{2,3}", [(13, 3, 1)]),
        ("(?:ab)?", [(8, 2, 1)]), ("a(?#b)c+", [(9, 2, 1)]), (r"\p{L}+a??b", [(11, 3, 1)]),
    ],
)  # fmt: skip
def test_texts_of_a_safe_length_take_few_steps(source: str, clauses: list[tuple[int, int, int]]) -> None:
    def steps(length: int) -> int:
        return sum(size * choices * (length + 1) ** ends for size, ends, choices in clauses)

    found = safe_length(source)
    assert steps(found) < 10**7 <= steps(found + 1 + found // 8)
