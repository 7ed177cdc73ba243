"""What each operation of a chat template costs: so many characters and so many steps for these arguments, no others.

A cost that is too low lets a template make more than its budget, and one that is too high refuses honest templates.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

pytest.importorskip("jinja2")
budget = pytest.importorskip("bbpe.compat.chat.budget")
costs = pytest.importorskip("bbpe.compat.chat.costs")

from markupsafe import Markup  # noqa: E402 - a package that jinja2 needs

ITEM = 16  # characters, for an item of a list
LONG = "x" * 3071  # a search of it is three steps; one character more takes a fourth
LINES = "ab\ncd e"
#: The number 5 as a text: ten times what it is measured as, which is a step.
FIVE = 10 * (24 + 9)


def spent(function: Callable[..., Any], *arguments: Any, **named: Any) -> tuple[int, int]:
    """The characters and steps that a cost takes and returns."""
    made = budget.RenderBudget()
    token = budget.spending(made)
    before = made.characters, made.steps
    try:
        returned = function(*arguments, **named) or 0
    finally:
        budget.release(token)
    return returned + before[0] - made.characters, before[1] - made.steps


def listed(*texts: str) -> int:
    """The characters of a list of texts, as text_size() has them."""
    return 10 * (24 + sum(len(text) + 2 + 24 + 2 for text in texts))


def given(*arguments: Any, **named: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
    return arguments, named


FILTERS: list[tuple[str, tuple[tuple[Any, ...], dict[str, Any]], tuple[int, int]]] = [
    ("length", given("x" * 99), (0, 0)),
    ("list", given(["a", "b", "c"]), (3 * ITEM, 3)),
    ("list", given(iter("abc")), (0, 0)),
    ("map", given(["a", "b", "c"], "upper"), (0, 3)),
    ("sort", given("abc" * 16), (48 * ITEM + 48, 3)),
    ("e", given("<a>"), (18, 0)),
    ("urlencode", given("é"), (12, 0)),
    ("sum", given([1, 2, 3]), (3 * ITEM, 0)),
    ("sum", given("abcd" * 8, start=[]), ((32 * ITEM + 32) * 33, 2)),
    ("join", given("abc"), (3, 0)),
    ("join", given("abc", "--"), (9, 0)),
    ("join", given(["ab", "c"], "--"), (listed("ab", "c") + 4, 3)),
    ("replace", given("abcabc", "b", "xyz"), (12, 1)),
    ("replace", given("abcabc", "b", "xyz", 1), (9, 1)),
    ("replace", given("abcabc", "b", "xyz", 0), (6, 1)),
    ("replace", given("abcabc", "b", "xyz", -1), (12, 1)),
    ("replace", given(5, "5", "xyz"), (FIVE + 4, 2)),
    ("replace", given(LONG, "y", "z"), (3071, 3)),
    ("center", given("abc"), (83, 0)),
    ("center", given("abc", 10), (13, 0)),
    ("center", given("abc", -5), (3, 0)),
    ("center", given("abc", "x"), (3, 0)),
    ("indent", given(LINES), (7 + 4 * 4, 0)),
    ("indent", given(LINES, 10), (7 + 4 * 10, 0)),
    ("indent", given(LINES, -1), (7, 0)),
    ("indent", given(LINES, None), (7, 0)),
    ("indent", given(LINES, "xyz", True), (7 + 4 * 3, 0)),
    ("indent", given(5, 10, blank=True), (FIVE + 2 * 10, 1)),
    ("wordwrap", given("ab" * 40), (160, 5)),
    ("wordwrap", given("ab" * 40, 10, True, "--"), (240, 5)),
    ("truncate", given("ab" * 40), (240, 0)),
    ("truncate", given("ab" * 40, 5, True, "!"), (3 * (80 + FIVE + 320 + 1), 2)),
    ("format", given("%d|%5d", 1, 2), (6 + 5 + 2 * 640, 2)),
    ("format", given("%(a)s", a="xyz"), (5 + 3, 0)),
    ("urlize", given("abcd"), (4 * 8, 4)),
    ("urlize", given("abcd", 5, target="xyz"), (4 * (8 + FIVE + 3), 5)),
    ("round", given(1.5), (0, 0)),
    ("int", given("12"), (0, 0)),
    ("batch", given("abc", 10), (3 * ITEM, 0)),
    ("batch", given("abc", 10, "x"), (13 * ITEM, 0)),
    ("batch", given("abc", -1, "x"), (3 * ITEM, 0)),
    ("slice", given("abc", 10), (13 * ITEM, 0)),
    ("slice", given("abc", -1), (3 * ITEM, 0)),
    ("slice", given("abc", None), (3 * ITEM, 0)),
    ("striptags", given("a<b><c>"), (7 * 3, 0)),
    ("striptags", given(5), (FIVE, 1)),
    ("pprint", given(["a"]), (2 * listed("a"), 2 + listed("a"))),
    ("tojson", given(["a"]), (6 * 53 + 13 * 4, 2)),
    ("tojson", given(["a"], True), (12 * 53 + 13 * 4, 2)),
    ("tojson", given(["a"], indent=10), (6 * 53 + 13 * (4 + 10), 4)),
    ("tojson", given(["a"], indent=-3), (6 * 53 + 13 * 4, 2)),
    ("tojson", given([["a"], {"b": []}], indent="--"), (6 * 160 + 40 * (4 + 2 * 3), 11)),
    ("tojson", given(["a"], separators="123456"), (6 * 53 + 13 * 6, 2)),
    ("upper", given("abc"), (9, 0)),
    ("upper", given(5), (3 * FIVE, 1)),
]  # fmt: skip
METHODS: list[tuple[str, tuple[tuple[Any, ...], dict[str, Any]], tuple[int, int]]] = [
    ("center", given("ab"), (2, 0)),
    ("center", given("ab", 9), (11, 0)),
    ("zfill", given("ab", -9), (2, 0)),
    ("zfill", given("ab", None), (2, 0)),
    ("split", given("a b c"), (5 + 3 * ITEM, 1)),
    ("split", given("a b c", ""), (5 + 3 * ITEM, 1)),
    ("split", given("a,b,c,d", ","), (7 + 4 * ITEM, 1)),
    ("split", given("a,b,c,d", ",", 2), (7 + 3 * ITEM, 1)),
    ("split", given("a,b,c,d", ",", 0), (7 + ITEM, 1)),
    ("split", given("a,b,c,d", ",", -1), (7 + 4 * ITEM, 1)),
    ("split", given(LONG, "y"), (3071 + ITEM, 3)),
    ("get", given({}), (0, 0)),
    ("isalpha", given("x" * 640), (0, 11)),
    ("isalpha", given("x" * 639), (0, 10)),
    ("count", given("x" * 640, "yy"), (0, 12)),
    ("find", given(LONG, "yy"), (0, 5)),
    ("expandtabs", given("\ta\t"), (3 + 2 * 8, 0)),
    ("expandtabs", given("\ta\t", 20), (3 + 2 * 20, 0)),
    ("expandtabs", given(b"\ta\t", 20), (3 + 2 * 20, 0)),
    ("expandtabs", given("\ta\t", None), (3, 0)),
    ("translate", given("ab", {97: "xyz"}), (6, 0)),
    ("translate", given("ab", {}), (2, 0)),
    ("translate", given("ab", {97: None}), (2, 0)),
    ("translate", given("ab", "xyz"), (2, 0)),
    ("fromkeys", given({}, "abc"), (2 * 3 * ITEM, 0)),
    ("to_bytes", given(5), (1, 0)),
    ("to_bytes", given(5, 9), (9, 0)),
    ("to_bytes", given(5, -9), (0, 0)),
    ("to_bytes", given(5, "x"), (0, 0)),
    ("from_bytes", given(5, b"abc"), (0, 0)),
    ("escape", given(Markup, "<ab>"), (4, 0)),
    ("join", given("--", "abc"), (9, 0)),
    ("join", given("--"), (240, 1)),
    ("format", given("ab{}", "c"), (4, 0)),
    ("format_map", given("ab{}", {}), (4, 0)),
    ("upper", given("ab"), (6, 0)),
    ("upper", given(b"ab"), (3 * (4 * 2 + 3), 0)),
    ("pop", given([1, 2, 3], 1), (3 * ITEM + 26 + 32 + 24, 3)),
    ("update", given({1: 2}, [3], a="bc"), (ITEM + 26 + 26 + 32 + 28 + 27 + 28, 6)),
]  # fmt: skip


@pytest.mark.parametrize(
    ("cost", "arguments", "wanted"),
    [(costs.FILTERS.get(name, costs.plain), *row) for name, *row in FILTERS]
    + [(costs.METHODS.get(name, costs._same), *row) for name, *row in METHODS],
    ids=[f"{kind} {row[0]} {n}" for kind, rows in (("|", FILTERS), (".", METHODS)) for n, row in enumerate(rows)],
)  # fmt: skip
def test_the_cost_of_an_operation(cost: Callable[..., int], arguments: Any, wanted: tuple[int, int]) -> None:
    assert spent(cost, *arguments[0], **arguments[1]) == wanted


@pytest.mark.parametrize(
    ("operator", "left", "right", "wanted"),
    [
        ("+", "ab", "c", (3, 1)), ("+", ["ab"], ["c", "d"], (3 * ITEM, 1)), ("+", b"ab", b"c", (3, 1)),
        ("+", Markup("ab"), "c", (18, 1)), ("+", "ab", Markup("c"), (18, 1)), ("+", "ab", 5, (2, 1)),
        ("*", "ab", 3, (6, 1)), ("*", 3, "ab", (6, 1)), ("*", [1, 2], 3, (6 * ITEM, 1)), ("*", "ab", -3, (0, 1)),
        ("*", 3, b"ab", (6, 1)), ("*", (1,), 3, (3 * ITEM, 1)), ("*", "ab", 1.5, (0, 1)), ("-", "ab", "c", (0, 1)),
        ("%", "%9d%%", 5, (5 + 9 + 3 * FIVE, 2)), ("%", "%*d", (9, 5), (3 + 14 + 2 * FIVE, 3)),
        ("%", b"%3s", b"a", (3 + 3 + 7, 1)), ("%", Markup("%s"), "ab", (6 * 4, 1)), ("%", "%s", Markup("ab"), (4, 1)),
        ("%", "%(a)s%(a)s", {"a": "xy"}, (10 + 2 * 2, 1)), ("%", 5, 3, (0, 1)), ("/", 5.0, 3, (0, 1)),
    ],
)  # fmt: skip
def test_the_cost_of_an_operator(operator: str, left: Any, right: Any, wanted: tuple[int, int]) -> None:
    assert spent(costs.pay_operator, operator, left, right) == wanted


@pytest.mark.parametrize(
    ("cost", "arguments", "bits"),
    [
        (costs.pay_operator, ("*", 7, 255), 11), (costs.pay_operator, ("**", 7, 5), 15),
        (costs.pay_operator, ("**", 2, 5), 10), (costs.pay_operator, ("**", 7, -5), 0),
        (costs.pay_operator, ("**", 1, 1 << 40), 42), (costs.pay_operator, ("+", 7, 7), 6),
        (costs.pay_operator, ("%", -8, 8), 8), (costs._round, (1.5, 9), 36), (costs._round, (1.5, -9), 36),
        (costs._round, (1.5,), 0), (costs._round, (1.5, None), 0), (costs._int, ("ff", 0, 16), 10),
        (costs._int, ("ff" * 9,), 0), (costs._int, ("f" * 9, 0, 9), 45), (costs._int, (5, 0, 16), 0),
        (costs._from_bytes, (5, b"abc"), 24), (costs._from_bytes, (5,), 0),
    ],
)  # fmt: skip
def test_the_bits_of_an_integer_are_limited(cost: Callable[..., int], arguments: tuple[Any, ...], bits: int) -> None:
    """As many as the limit are permitted, one more is not."""
    for limit, is_refused in ((bits, False), *([(bits - 1, True)] if bits else [])):
        token = budget.spending(budget.RenderBudget(None, budget.Limits(bits=limit)))
        try:
            cost(*arguments)
            assert not is_refused
        except budget.LimitReached:
            assert is_refused
        finally:
            budget.release(token)


@pytest.mark.parametrize(
    ("value", "form", "wanted"),
    [("ab", "", (2, 0)), ("ab", ">12.3", (2 + 12 + 3 + 5, 0)), (5, "012", (FIVE + 12 + 3, 1))],
)
def test_the_cost_of_a_field(value: Any, form: str, wanted: tuple[int, int]) -> None:
    assert spent(costs.pay_field, value, form) == wanted


def test_a_width_of_many_digits_is_more_than_any_budget() -> None:
    """It is not read, as the time that takes grows with the square of its length."""
    for form in ("%1234567890123456d", "%.1234567890123456f"):
        with pytest.raises(budget.LimitReached):
            spent(costs.pay_operator, "%", form, 5)
    assert (costs._width("9" * 15), costs._width("9" * 16)) == (10**15 - 1, 1 << 62)
    with pytest.raises(budget.LimitReached):
        spent(costs.pay_field, "", "9" * 16)


def test_the_cost_of_a_call() -> None:
    """A method of a built-in type by its name, with markup at its longest; another function by its arguments."""
    def plain(*arguments: Any, **named: Any) -> None: ...

    def paid(*row: Any, **named: Any) -> tuple[int, int]:
        return spent(lambda: (costs.pay_call(row[0], row[1:], named), 0)[1])

    assert paid("ab".center, 9) == (11, 1)
    assert paid(Markup("ab").center, 9) == (66, 1)
    assert paid("ab".center, 9, Markup("*")) == (66, 1)
    assert paid([1, 2].copy) == (2 * ITEM + 24 + 24, 1 + 2)
    assert paid(plain, "ab", c="d") == (28 + 27, 1 + 2)
    assert paid(Markup.escape, "<ab>") == (24, 1)
    token = budget.spending(budget.RenderBudget())
    try:
        assert costs.pay_call("-".join, (iter("ab"),), {}) == (["a", "b"],)
        assert costs.pay_call({}.fromkeys, (iter("ab"), 5), {}) == (["a", "b"], 5)
        assert costs.pay_call("-".join, (), {}) == ()
        kept = iter("ab")
        assert costs.pay_call([].extend, (kept,), {}) == (kept,)
    finally:
        budget.release(token)


def test_the_items_of_an_iterator_pay_for_themselves() -> None:
    for values, wanted in ((["ab"], (2 * ITEM, 2)), ([[1, 2, 3], (4,)], (7 * ITEM, 3)), ([], (ITEM, 1))):
        assert spent(lambda values=values: list(costs.PaidItems(iter(values), None)) == values and 0) == wanted


def test_how_deep_a_value_is() -> None:
    for value, depth, steps in (
        (5, 0, 1), ([], 1, 1), ([5], 1, 2), ({"a": {"b": [1]}}, 3, 4), ([[], ([],)], 3, 4), ({"a": 1, "b": 2}, 1, 3)
    ):  # fmt: skip
        assert spent(costs._depth, value) == (depth, steps)


def test_the_limits_of_a_rendering() -> None:
    """Large enough for every published template, small enough that a hostile one ends within seconds."""
    assert budget.Limits() == budget.LIMITS == budget.Limits(
        characters=33_554_432, characters_per_given=512, steps=2_000_000, steps_per_given=20, calls=100,
        numbers=100_000, bits=65_536, source=1_048_576,
    )  # fmt: skip
    made = budget.RenderBudget({"a": "x" * 10})
    size = 24 + 4 + 24 + 3 + 24 + 12  # of the dict, its key and its value
    assert (made.characters, made.steps, made.calls) == (33_554_432 + 512 * size, 2_000_000 + 20 * size, 100)


def test_a_value_that_is_not_measured_to_its_end_pays_for_what_waits() -> None:
    """Its parts that were not looked at are steps, too."""
    limits = budget.Limits(characters=10_000, steps=50, characters_per_given=0, steps_per_given=0)
    for count, is_refused in ((20, False), (51, True), (300, True)):
        made = budget.RenderBudget(None, limits)
        if is_refused:
            with pytest.raises(budget.LimitReached, match="takes more than 50 steps"):
                made.measure([1.5] * count)
            assert made.steps == 50 - count
        else:
            assert made.measure([1.5] * count) == 24 + 26 * count
            assert made.steps == 50 - 1 - count
