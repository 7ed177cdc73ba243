"""The cost of each operation of a chat template is charged before its result is made, and is at least its size."""

from __future__ import annotations

from types import MappingProxyType
from typing import Any

import pytest

import bbpe

pytest.importorskip("jinja2")
budget = pytest.importorskip("bbpe.compat.chat.budget")
costs = pytest.importorskip("bbpe.compat.chat.costs")

CHAT = [{"role": "user", "content": "see"}]
#: What templates are given here, which costs them nothing.
GIVEN: dict[str, Any] = {
    "t": "a b<&>é\n" * 40, "h": "x" * 90, "tabs": "\t" * 90, "sharp": "ß" * 900, "items": ["a"] * 90, "n": 3,
    "pairs": [["k", "v" * 90]] * 9, "table": {f"key{number}": "<" * 90 for number in range(9)}, "deep": [[[[1]] * 9]],
    "form": "%(a)s" * 90, "fields": "{0}" * 90, "long_keys": {"k" * 900: 1}, "odd": "\x00\ud7ff\U0010ffff" * 30,
    "letters": "".join(map(chr, range(0x4E00, 0x5200))),
}  # fmt: skip
#: Expressions that make a text.
TEXTS = [
    "t * 9", "9 * t", "t + t", "t ~ t ~ items", "form % {'a': h}", "'%9000d' % n", "'%-9000s|' % n", "'%.9000f' % 1.5",
    "'%*d' % (9000, n)", "'%.*f' % (9000, 1.5)", "form | format(a=h)", "'%9000d' | format(n)", "fields.format(h)",
    "'{:9000}'.format(n)", "'{:.9000f}'.format(1.5)", "'{!r}'.format(odd)", "'{!a}'.format(odd)",
    "'{a:{b}}'.format(a=n, b=9000)", "'{a[key1]:>9000}'.format(a=table)", "'{a:9000}'.format_map({'a': n})",
    "t | center(9000)", "t.center(9000)", "t.ljust(9000)", "t.rjust(9000, '*')", "t.zfill(9000)",
    "tabs.expandtabs(90)", "tabs.expandtabs()", "t | indent(90)", "t | indent(h, true, true)", "t | indent(h)",
    "t | wordwrap(1, true, h)", "items | join(h)", "h.join(items)", "items | map('upper') | join(h)",
    "t | replace('a', h)", "t.replace('a', h)", "t | replace('', h)", "t.replace('', h)", "t | replace('a', h, 9)",
    "t.translate({97: h})", "table | tojson(indent=90)", "items | tojson(indent=h)", "deep | tojson(indent=90)",
    "items | tojson(separators=(h, ':'))", "odd | tojson(true)", "t | e", "t | escape", "t | forceescape",
    "t | urlencode", "odd | urlencode", "sharp | upper", "sharp.upper()", "sharp | title", "sharp | capitalize",
    "t | safe + t", "t + (t | safe)", "(t | safe) ~ t", "('%s' | safe) % (t,)", "(form | safe) % {'a': t}",
    "t | safe | replace('a', h)", "table | xmlattr", "('http://a.b ' * 9) | urlize(target=h)", "items | string",
    "odd ~ [odd]", "table | string", "long_keys | string", "table | pprint", "deep | pprint", "lipsum(9)",
    "strftime_now('%Y' * 90)", "(t * 2) | truncate(330, end=t)", "t | striptags", "[odd] | string",
    "range(900) | list | string", "('&' * 900) | truncate(800, end='.' | safe)", "('' | safe).join([t])",
    "t | indent('x' | safe)", "t | wordwrap(1, true, '' | safe)",
]  # fmt: skip
#: Expressions that make a list, a tuple, a dict or bytes, and their least sizes for each item.
LISTS = {
    "items * 9": 8, "9 * items": 8, "items + items": 8, "t | list": 8, "items[1:]": 8, "t.split()": 8,
    "t.split('a')": 8, "t.splitlines()": 8, "t.rsplit('<')": 8, "items | batch(900, 'x') | first": 8,
    "items | slice(900) | list": 8, "items | sort": 8, "items | unique | list": 8, "range(900) | list": 8,
    "items | reverse | list": 8, "dict.fromkeys(range(900))": 16, "dict.fromkeys(t | list)": 16,
    "table.fromkeys(range(900))": 16, "dict.fromkeys(letters)": 16, "table.fromkeys(letters)": 16,
    "pairs | sum(start=[])": 8, "n.to_bytes(9000, 'big')": 1, "table | dictsort": 8,
    "table | items | list": 8, "items | map('upper') | list": 8, "t | groupby(0) | list": 8, "t.encode()": 1,
    "t.encode().zfill(9000)": 1, "t.encode() * 9": 1,
}  # fmt: skip


@pytest.fixture(scope="module")
def tok() -> bbpe.Tokenizer:
    return bbpe.train_from_iterator(["low lower"], 260)


def rendered(tok: bbpe.Tokenizer, template: str) -> str:
    text = tok.apply_chat_template(CHAT, chat_template=template, variables=GIVEN)
    assert isinstance(text, str)
    return text


@pytest.mark.parametrize(
    ("expression", "least"), [*((each, 1) for each in TEXTS), *LISTS.items()], ids=lambda value: str(value)
)
def test_what_is_made_is_paid_for(
    tok: bbpe.Tokenizer, monkeypatch: pytest.MonkeyPatch, expression: str, least: int
) -> None:
    size = least * int(rendered(tok, f"{{{{ ({expression}) | length }}}}"))
    assert size
    monkeypatch.setattr(budget, "LIMITS", budget.Limits(characters=size - 1, characters_per_given=0))
    with pytest.raises(bbpe.VocabularyError, match="makes texts and lists of more than"):
        rendered(tok, f"{{% set made = {expression} %}}")


@pytest.mark.parametrize(
    "value",
    [
        "", "x" * 99, "\U0010ffff" * 9, b"\xff" * 99, 5, -(10**300), 1.5e300, None, True, [], [1] * 99, [[[["x"]]]],
        ("a", "\x00"), {"k" * 99: 1}, {1: "v" * 99}, {"a": {"b": {"c": "d"}}}, {1, 2, 3}, frozenset("abc"), range(99),
        {"k" * 99: 1}.keys(), {"k" * 99: 1}.items(), {1: "v" * 99}.values(), MappingProxyType({"k" * 99: 1}),
    ],
    ids=lambda value: f"{type(value).__name__} {value!r:.12}",
)  # fmt: skip
def test_a_value_is_measured_as_at_least_its_text(value: Any) -> None:
    token = budget.spending(budget.RenderBudget())
    try:
        text = str(list(value)) if isinstance(value, range) else str(value)
        assert costs.text_size(value) >= len(text)
        assert costs.text_size([value]) >= len(text)
        assert costs.total_size(value, 5, a=value) >= 2 * len(text)
    finally:
        budget.release(token)


def test_a_budget_pays_for_everything_and_no_more_than_it_has() -> None:
    """The limit is reached by one more than it, and not by it."""
    limits = budget.Limits(characters=160, steps=60, bits=100, characters_per_given=0, steps_per_given=0)

    def paid(method: str, *arguments: Any) -> tuple[int, int]:
        made = budget.RenderBudget(None, limits)
        getattr(made, method)(*arguments)
        return limits.characters - made.characters, limits.steps - made.steps

    assert paid("take", 160) == (160, 0)
    assert paid("step", 60) == (0, 60)
    assert paid("take_items", 10) == (10 * budget.ITEM, 0)
    assert budget.ITEM >= 8  # the bytes of an item in a list
    searched = [paid("search", length)[1] for length in (0, 10_000, 20_000)]
    assert 0 < searched[0] < searched[1] < searched[2]
    assert paid("check_bits", 50, 50) == (0, 0)
    for method, arguments in {
        "take": (161,), "step": (61,), "take_items": (11,), "search": (1 << 20,), "check_bits": (50, 51),
    }.items():  # fmt: skip
        with pytest.raises(budget.LimitReached):
            paid(method, *arguments)


def test_a_value_that_is_too_large_is_not_measured_to_its_end() -> None:
    """A list that holds another one many times over ends the rendering before it is walked through."""
    small, deep = budget.Limits(characters=10_000, steps=10_000, characters_per_given=0, steps_per_given=0), ["x"]
    for _ in range(60):
        deep = [deep, deep]  # as a text it has more characters than there are atoms here
    with pytest.raises(budget.LimitReached):
        budget.RenderBudget(None, small).measure(deep)


def test_limits_grow_with_what_is_given() -> None:
    limits = budget.Limits(characters=100, steps=100, characters_per_given=3, steps_per_given=2)
    less, more = (budget.RenderBudget({"a": "x" * length}, limits) for length in (1000, 2000))
    assert more.characters - less.characters == 3000
    assert more.steps - less.steps == 2000


#: Filters (`|join`) and methods (`join`), their arguments, and the characters and steps of each, no more and no less.
#: To measure a text costs 26 more than its length; a list 24, and 2 for each item; a number 32; each part a step.
COSTS: list[tuple[str, tuple[Any, ...], dict[str, Any], int, int]] = [
    ("|upper", ("abc", "d"), {"a": "e"}, 3 * 5, 0), ("|first", (["a"],), {}, 0, 0), ("|list", (["a", "b"],), {}, 32, 2),
    ("|map", (["a", "b"],), {}, 0, 2), ("|sort", (["ab", "c"],), {}, 32 + 10 * (24 + 4 + 28 + 27), 54),
    ("|sum", ([1, 2],), {}, 32, 0), ("|sum", ([[]], None, []), {}, 2 * (16 + 10 * 50), 33),
    ("|join", ("ab", "xyz"), {}, 2 + 2 * 3, 0), ("|replace", ("banana", "a", "xy"), {}, 6 + 3 * 2, 1),
    ("|replace", ("banana", "a", "xy", 2), {}, 6 + 2 * 2, 1), ("|replace", ("banana", "a", "xy", 0), {}, 6, 1),
    ("|replace", ("banana", "a", "xy", -1), {}, 6 + 3 * 2, 1), ("|replace", (12, "1", "x"), {}, 10 * 33 + 3, 2),
    ("|center", ("ab", 9), {}, 11, 0), ("|center", ("ab",), {}, 82, 0), ("|center", ("ab", "9"), {}, 2, 0),
    ("|indent", ("a\nb", 5), {}, 3 + 4 * 5, 0), ("|indent", ("a\nb", "xyz"), {}, 3 + 4 * 3, 0),
    ("|indent", ("a",), {}, 1 + 3 * 4, 0), ("|indent", ("a", None), {}, 1, 0), ("|wordwrap", ("a" * 32, 2), {}, 64, 2),
    ("|wordwrap", ("abcd", 2, True, "xyz"), {}, 4 * 4, 0), ("|format", ("%5s|%.3s", "a"), {}, 8 + 8 + 2, 0),
    ("|format", ("%(k)s",), {"k": "abc"}, 5 + 3, 0), ("|format", ("%*.*s|%s", -7, 2), {}, 8 + 2 * 9 + 2 * 10 * 65, 2),
    ("|urlize", ("abcd",), {}, 4 * 8, 4), ("|urlize", ("abcd", "ef"), {"target": "g"}, 4 * (8 + 3), 4),
    ("|round", (1.5, 3), {}, 0, 0), ("|int", ("12",), {}, 0, 0), ("|batch", (["a"], 5, "x"), {}, 96, 0),
    ("|batch", (["a"], 5), {}, 16, 0), ("|slice", (["a"], 5), {}, 96, 0), ("|striptags", ("<a>b<",), {}, 5 * 3, 0),
    ("|pprint", ("abc",), {}, 2 * 10 * 29, 291), ("|tojson", ([1],), {}, 6 * 58 + 14 * 4, 2),
    ("|tojson", ([1], True), {}, 12 * 58 + 14 * 4, 2), ("|tojson", ([[1]], False, 5), {}, 6 * 84 + 21 * (4 + 2 * 5), 6),
    ("|tojson", ([1], False, "xy"), {}, 6 * 58 + 14 * (4 + 2), 4), ("|tojson", ([1], False, -9), {}, 6 * 58 + 56, 2),
    ("|tojson", ([1], False, None, "abc"), {}, 6 * 58 + 14 * 3, 2), ("|e", ("ab",), {}, 12, 0),
    ("|urlencode", ("ab",), {}, 24, 0), ("|pprint", (b"abc",), {}, 2 * 10 * 29, 291),
    ("ljust", ("ab", 9), {}, 11, 0), ("center", ("ab",), {}, 2, 0), ("zfill", ("ab", -9), {}, 2, 0),
    ("split", ("a b c",), {}, 5 + 16 * 3, 1), ("split", ("a,b,", ","), {}, 4 + 16 * 3, 1),
    ("split", ("a,b,", ",", 1), {}, 4 + 16 * 2, 1), ("split", ("a,b,", ",", 0), {}, 4 + 16, 1),
    ("split", ("a,b,", ",", -1), {}, 4 + 16 * 3, 1), ("split", ("x" * 1024, ","), {}, 1024 + 16, 2),
    ("expandtabs", ("a\tb",), {}, 3 + 8, 0), ("expandtabs", (b"a\tb", 3), {}, 3 + 3, 0),
    ("translate", ("ab", {97: "xyz", 98: 1}), {}, 6, 0), ("translate", ("ab",), {}, 2, 0),
    ("fromkeys", ({}, [1, 2, 3]), {}, 3 * 32, 0), ("to_bytes", (5, 9), {}, 9, 0), ("to_bytes", (5,), {}, 1, 0),
    ("find", ("x" * 2048, "y"), {}, 0, 3 + 2), ("isalpha", ("x" * 640,), {}, 0, 10 + 1), ("get", ({}, "a"), {}, 0, 0),
    ("upper", ("abc",), {}, 3 * 3, 0), ("copy", ([1, 2],), {}, 32 + 24 + 24, 2),
    ("join", ("xyz", "ab"), {}, 2 + 2 * 3, 0), ("format", ("ab{}", "x"), {}, 4, 0),
    ("format_map", ("ab", {}), {}, 2, 0),
]  # fmt: skip


@pytest.mark.parametrize(("name", "given", "named", "characters", "steps"), COSTS, ids=lambda value: f"{value!s:.20}")
def test_a_cost_is_no_higher_than_it_says(
    name: str, given: tuple[Any, ...], named: dict[str, Any], characters: int, steps: int
) -> None:
    is_filter, name = name.startswith("|"), name.removeprefix("|")
    cost = costs.FILTERS.get(name, costs.plain) if is_filter else costs.METHODS.get(name, costs._same)
    made = budget.RenderBudget()
    before = made.characters, made.steps
    token = budget.spending(made)
    try:
        size = cost(*given, **named)
    finally:
        budget.release(token)
    assert (size + before[0] - made.characters, before[1] - made.steps) == (characters, steps)


@pytest.mark.parametrize(
    ("value", "size", "steps"),
    [
        ("abc", 3 + 26, 1), (b"abc", 3 + 26, 1), (None, 24, 1), (1.5, 24, 1), (0, 8 + 24, 1), (64, 7 // 3 + 32, 1),
        ([], 24, 1), (["a", "b"], 24 + 2 * 2 + 2 * 27, 3), ({"a": "b"}, 24 + 4 + 2 * 27, 3), (range(3), 4 * 24, 1),
        ({"a": "b"}.items(), 24 + 2 + 24 + 2 * 2 + 2 * 27, 4),
    ],
    ids=str,
)  # fmt: skip
def test_a_measure_is_no_higher_than_it_says(value: Any, size: int, steps: int) -> None:
    made = budget.RenderBudget()
    before = made.steps
    assert (made.measure(value), before - made.steps) == (size, steps)


@pytest.mark.parametrize(
    ("call", "most"),
    [
        (lambda number: costs.FILTERS["round"](1.5, number), 25),
        (lambda number: costs.FILTERS["round"](1, -number), 25),
        (lambda number: costs.METHODS["from_bytes"](int, b"a" * number), 12),
        (lambda number: costs.FILTERS["int"]("f" * number, 0, 16), 20),
        (lambda number: costs.FILTERS["int"]("9" * number), None),
        (lambda number: costs.pay_operator("**", 8, number), 25),
        (lambda number: costs.pay_operator("**", 1, number), None),
        (lambda number: costs.pay_operator("*", 2**60, 1 << (number - 1)), 39),
    ],
)  # fmt: skip
def test_the_most_bits(call: Any, most: int | None) -> None:
    token = budget.spending(budget.RenderBudget(None, budget.Limits(bits=100)))
    try:
        call(most or 1000)
        if most is not None:
            with pytest.raises(budget.LimitReached, match="more than 100 bits"):
                call(most + 1)
    finally:
        budget.release(token)


@pytest.mark.parametrize(
    ("operator", "left", "right", "characters"),
    [
        ("+", "ab", "c", 3), ("+", ["a"], [1, 2], 48), ("*", "ab", 5, 10), ("*", 5, [1, 2], 160), ("*", "ab", -5, 0),
        ("%", "%9s", "a", 3 + 9 + 1), ("-", 1.5, 2, 0), ("/", "a", "b", 0), ("*", (1,), True, 16), ("*", b"ab", 3, 6),
    ],
    ids=str,
)  # fmt: skip
def test_an_operator_pays_for_its_result(operator: str, left: Any, right: Any, characters: int) -> None:
    made = budget.RenderBudget()
    before = made.characters, made.steps
    token = budget.spending(made)
    try:
        costs.pay_operator(operator, left, right)
    finally:
        budget.release(token)
    assert (before[0] - made.characters, before[1] - made.steps) == (characters, 1)
