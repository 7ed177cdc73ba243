"""Comparisons of templates have the values that Python gives them, in both ways to render, and so have formats."""

from __future__ import annotations

from typing import Any

import pytest

pytest.importorskip("jinja2")

from bbpe.compat.chat import sandbox, tracing
from bbpe.compat.chat.origins import TRUSTED, UNKNOWN, Traced, origin_of_message, runs_of
from bbpe.spec.chat_templates import ChatTemplate

MESSAGES = [{"role": "user", "content": "Bb"}]
T, M = TRUSTED, origin_of_message(0)


def rendered(expression: str) -> Any:
    """The text that an expression of `c`, the content of a message, writes; both ways to render write the same."""
    template = ChatTemplate(f"{{% set c = messages[0].content %}}{{{{ {expression} }}}}")
    found = tracing.render_traced(template, {}, {}, MESSAGES)
    assert str.__str__(found) == sandbox.render(template, {"messages": MESSAGES})
    return found


@pytest.mark.parametrize(("expression", "value"), [
    ("1 < 2", True), ("2 < 2", False), ("1 < 2 < 3", True), ("1 < 2 < 2", False), ("2 < 1 < 3", False),
    ("1 < 3 > 2", True), ("1 < 3 > 3", False), ("3 > 2 > 1 > 0", True), ("3 > 2 > 1 > 1", False),
    ("1 == 1 == 2", False), ("1 != 2 != 2", False), ("1 <= 1 >= 1", True), ("'a' in 'ab' in ['ab']", True),
    ("'a' in 'ab' in ['a']", False),
    ("'x' not in 'ab' == 'ab'", True), ("'x' not in 'ab' == 'b'", False), ("'B' in c == 'Bb'", True),
    ("'B' in c == 'B'", False), ("c == 'Bb' != c", False), ("'A' < c < 'C'", True), ("'A' < c < 'B'", False),
    ("1 in [1, 2] in [[1, 2]]", True), ("1 in [1, 2] in [[2]]", False),
])  # fmt: skip
def test_every_comparison_of_a_chain_counts(expression: str, value: bool) -> None:
    assert str(rendered(expression)) == str(value)


@pytest.mark.parametrize(("expression", "value"), [
    ("c is string", True), ("1 is string", False), ("c is defined", True), ("d is defined", False),
    ("d is undefined", True), ("c is undefined", False), ("none is none", True), ("c is none", False),
    ("c is not none", True), ("3 is odd", True), ("2 is odd", False), ("2 is even", True), ("6 is divisibleby 3", True),
    ("7 is divisibleby 3", False), ("[1] is sequence", True), ("1 is sequence", False), ("{} is mapping", True),
    ("[] is mapping", False), ("1 is number", True), ("c is number", False), ("c is iterable", True),
    ("1 is iterable", False), ("true is boolean", True), ("1 is boolean", False), ("true is true", True),
    ("c is eq('Bb')", True), ("c is eq('b')", False), ("c is ne('b')", True), ("1 is lt(2)", True),
    ("2 is lt(2)", False), ("2 is le(2)", True), ("3 is gt(2)", True), ("2 is ge(3)", False), ("c is in(['Bb'])", True),
    ("c is in(['b'])", False), ("'ab' is lower", True), ("c is lower", False), ("'AB' is upper", True),
    ("c is sameas(c)", True), ("messages is callable", False), ("range is callable", True),
])  # fmt: skip
def test_tests_of_values_tell_what_they_are_named_for(expression: str, value: bool) -> None:
    assert str(rendered(expression)) == str(value)


@pytest.mark.parametrize(("expression", "runs"), [
    ("'<{}>'.format(c)", [("<", T), ("Bb", M), (">", T)]), ("'{{'.format()", [("{", T)]),
    ("'{{}}{}'.format(c)", [("{}", T), ("Bb", M)]), ("'{}{{{}}}!'.format(c, 'x')", [("Bb", M), ("{x}!", T)]),
    ("'{1}-{0}-{1}'.format(c, 'x')", [("x-", T), ("Bb", M), ("-x", T)]),
    ("'{x}{{{x}'.format(x=c)", [("Bb", M), ("{", T), ("Bb", M)]),
    ("'{:>4}|{{'.format(c)", [("  Bb", M), ("|{", T)]), ("'{!s}{{'.format(c)", [("Bb", M), ("{", T)]),
    ("'{!r}|'.format(c)", [("'Bb'", M), ("|", T)]), ("'{0[0]}|{1}'.format([c], c)", [("Bb", M), ("|", T), ("Bb", M)]),
    ("'{x[y]}|{}'.format(c, x={'y': 'z'})", [("z|", T), ("Bb", M)]),
    ("'{x}|'.format_map({'x': c})", [("Bb", M), ("|", T)]), ("'{}|'.format(5)", [("5", UNKNOWN), ("|", T)]),
    # texts that a filter joins
    ("[c, 'x', c] | join", [("Bb", M), ("x", T), ("Bb", M)]), ("['x', c] | join('-')", [("x-", T), ("Bb", M)]),
    ("[c] | join", [("Bb", M)]), ("['x', 'y'] | join(c)", [("x", T), ("Bb", M), ("y", T)]),
    ("[c, 'x'] | join(d='-')", [("Bb", M), ("-x", T)]),
])  # fmt: skip
def test_fields_and_parts_of_a_text_have_their_own_origins(expression: str, runs: list[tuple[str, int]]) -> None:
    text = rendered(expression)
    assert type(text) is Traced
    made: list[tuple[str, int]] = []
    start = 0
    for end, origin in runs_of(text):
        part = str.__getitem__(text, slice(start, end))
        made = [*made[:-1], (made[-1][0] + part, origin)] if made and made[-1][1] == origin else [*made, (part, origin)]
        start = end
    assert made == runs
