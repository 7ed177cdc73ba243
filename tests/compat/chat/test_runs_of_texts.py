"""What a method of a followed text makes has the origins that can be told by hand, run by run."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

pytest.importorskip("jinja2")

from bbpe.compat.chat.origins import (
    GENERATED,
    HEADER,
    TRUSTED,
    UNKNOWN,
    Traced,
    common_origin,
    joined,
    literal,
    origin_of_message,
    runs_of,
    traced,
)

T, M, N, U = TRUSTED, origin_of_message(0), origin_of_message(1), UNKNOWN
#: A text of the template, then one of a message.
TEXT = joined((literal("<a> "), traced("Bb c", M)))


def rows(text: Any) -> list[tuple[str, int]]:
    """The runs of a text, each with its characters."""
    if type(text) is not Traced:
        return [(text, U)]
    found, start = [], 0
    for end, origin in runs_of(text):
        found.append((str.__getitem__(text, slice(start, end)), origin))
        start = end
    return found


Made = Callable[[Traced], Any]
ONE: dict[str, tuple[Made, list[tuple[str, int]]]] = {
    "add a plain text": (lambda t: t + "x", [("<a> ", T), ("Bb c", M), ("x", U)]),
    "add to a plain text": (lambda t: "x" + t, [("x", U), ("<a> ", T), ("Bb c", M)]),
    "add a followed text": (lambda t: t + traced("x", N), [("<a> ", T), ("Bb c", M), ("x", N)]),
    "times": (lambda t: t[3:5] * 2, [(" ", T), ("B", M), (" ", T), ("B", M)]),
    "times from the left": (lambda t: 2 * t[3:5], [(" ", T), ("B", M), (" ", T), ("B", M)]),
    "times of one origin": (lambda t: t[:2] * 2, [("<a<a", T)]),
    "a slice": (lambda t: t[2:6], [("> ", T), ("Bb", M)]),
    "every second": (lambda t: t[1::2], [("a ", T), ("bc", M)]),
    "from the end": (lambda t: t[5:2:-1], [("bB", M), (" ", T)]),
    "an item": (lambda t: t[3], [(" ", T)]),
    "the item after it": (lambda t: t[4], [("B", M)]),
    "an item from the end": (lambda t: t[-5], [(" ", T)]),
    "the last item": (lambda t: t[-1], [("c", M)]),
    "strip": (lambda t: t.strip("<c"), [("a> ", T), ("Bb ", M)]),
    "upper": (lambda t: t.upper(), [("<A> ", T), ("BB C", M)]),
    "swapcase": (lambda t: t.swapcase(), [("<A> ", T), ("bB C", M)]),
    "replace": (lambda t: t.replace(" ", traced("--", N)), [("<a>", T), ("--", N), ("Bb", M), ("--", N), ("c", M)]),
    "replace the first": (lambda t: t.replace(" ", traced("-", N), 1), [("<a>", T), ("-", N), ("Bb c", M)]),
    "replace none": (lambda t: t.replace(" ", "-", 0), [("<a> ", T), ("Bb c", M)]),
    "replace by a plain text": (lambda t: t.replace("c", "x"), [("<a> ", T), ("Bb ", M), ("x", U)]),
    "replace the empty text": (
        lambda t: t[3:5].replace("", traced("-", N)), [("-", N), (" ", T), ("-", N), ("B", M), ("-", N)],
    ),
    "replace the empty text twice": (
        lambda t: t[3:6].replace("", traced("-", N), 2), [("-", N), (" ", T), ("-", N), ("Bb", M)],
    ),
    "join": (lambda t: t[3:5].join(["x", literal("y")]), [("x", U), (" ", T), ("B", M), ("y", T)]),
    "join one": (lambda t: t.join([traced("x", N)]), [("x", N)]),
    "without a prefix": (lambda t: t.removeprefix("<a"), [("> ", T), ("Bb c", M)]),
    "without a suffix": (lambda t: t.removesuffix(" c"), [("<a> ", T), ("Bb", M)]),
    "printf": (lambda t: literal("[%s]%%") % t, [("[", T), ("<a> ", T), ("Bb c", M), ("]%", T)]),
    "printf of several": (lambda t: literal("%s-%s") % (t[4:6], "x"), [("Bb", M), ("-", T), ("x", U)]),
    "printf by key": (lambda t: literal("%(k)s.") % {"k": t[4:6]}, [("Bb", M), (".", T)]),
    "printf with a width": (lambda t: literal("<%4s>") % t[4:6], [("<", T), ("  Bb", M), (">", T)]),
    "printf with a width that is given": (lambda t: literal("<%*s>") % (4, t[4:6]), [("<  Bb>", U)]),
}
MANY: dict[str, tuple[Made, list[list[tuple[str, int]]]]] = {
    "items": (lambda t: [*t[2:5]], [[(">", T)], [(" ", T)], [("B", M)]]),
    "split": (lambda t: t.split(), [[("<a>", T)], [("Bb", M)], [("c", M)]]),
    "split once": (lambda t: t.split(" ", 1), [[("<a>", T)], [("Bb c", M)]]),
    "split at a text": (lambda t: t.split("> B"), [[("<a", T)], [("b c", M)]]),
    "rsplit": (lambda t: t.rsplit(), [[("<a>", T)], [("Bb", M)], [("c", M)]]),
    "rsplit once": (lambda t: t.rsplit(" ", 1), [[("<a> ", T), ("Bb", M)], [("c", M)]]),
    "rsplit once at white space": (lambda t: t.rsplit(None, 1), [[("<a> ", T), ("Bb", M)], [("c", M)]]),
    "rsplit at a text": (lambda t: t.rsplit("> B"), [[("<a", T)], [("b c", M)]]),
    "lines": (lambda t: (literal("a\r\n") + t[4:6]).splitlines(), [[("a", T)], [("Bb", M)]]),
    "lines with their ends": (lambda t: (t[5:6] + literal("\n") + t[:1]).splitlines(True),
                              [[("b", M), ("\n", T)], [("<", T)]]),
    "partition": (lambda t: t.partition(" "), [[("<a>", T)], [(" ", T)], [("Bb c", M)]]),
    "rpartition": (lambda t: t.rpartition(" "), [[("<a> ", T), ("Bb", M)], [(" ", M)], [("c", M)]]),
}  # fmt: skip


def compact(found: list[tuple[str, int]]) -> list[tuple[str, int]]:
    """Runs of the same origin beside each other are one."""
    made: list[tuple[str, int]] = []
    for text, origin in found:
        if made and made[-1][1] == origin:
            made[-1] = (made[-1][0] + text, origin)
        elif text:
            made.append((text, origin))
    return made


@pytest.mark.parametrize("name", ONE)
def test_the_runs_of_a_text(name: str) -> None:
    make, expected = ONE[name]
    assert compact(rows(make(TEXT))) == compact(expected)


@pytest.mark.parametrize("name", MANY)
def test_the_runs_of_each_part(name: str) -> None:
    make, expected = MANY[name]
    assert [rows(each) for each in make(TEXT)] == expected


@pytest.mark.parametrize(("values", "origin"), [
    ([], U), ([1, None, 2.5], U), ([[], {}], U), ([literal("a"), 1], T), ([literal("a"), literal("b")], T),
    ([literal("a"), traced("b", M)], M), ([traced("b", M), literal("a")], M), ([traced("b", M), traced("c", N)], U),
    ([traced("b", M), traced("c", M)], M), ([{literal("k"): [traced("b", N)]}], N), ([{traced("k", N): 1}], N),
    ([object()], U), ([traced("b", M), object()], U), (["plain"], U), (["plain", literal("a")], U),
    ([traced("b", M), "plain"], U), ([traced("b", M | HEADER)], M | HEADER),
    ([traced("b", M | HEADER), traced("c", M)], M), ([traced("b", M | GENERATED)], M),
    ([(traced("b", M), literal("a"))], M),
    ([joined((traced("b", M), traced("c", N)))], U), ([joined((literal("a"), traced("c", N)))], N),
])  # fmt: skip
def test_the_origin_that_values_have_in_common(values: list[Any], origin: int) -> None:
    assert common_origin(values, lambda count: None) == origin
