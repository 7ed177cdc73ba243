"""Figures of pages: each bar, line, tick and ring at its place, all names as text."""

from __future__ import annotations

import re
from collections.abc import Mapping
from xml.etree import ElementTree

import pytest

from bbpe.report import figures
from bbpe.report.figures import Bar, bars, colour_of, definitions, lines
from bbpe.report.plots import COLOURS

BLUE, ORANGE = COLOURS[:2]


def picture(figure: str) -> ElementTree.Element:
    found = re.search(r'<svg class="curve".*?</svg>', figure)
    assert found is not None
    return ElementTree.fromstring(found[0])


def shapes(figure: str) -> list[tuple[str, ...]]:
    """What is drawn, in order: each shape with where it is and its ink, each text with its words."""
    found: list[tuple[str, ...]] = []
    for each in picture(figure):
        row: Mapping[str, str] = each.attrib
        if each.tag == "text":
            found.append(("text", row["x"], row["y"], row["text-anchor"], each.text or ""))
        elif each.tag == "circle":
            found.append(("circle", row["cx"], row["cy"], row["r"], row["fill"], row.get("stroke", "")))
        elif each.tag == "polyline":
            found.append(("line", row["points"], row["stroke"], row["stroke-width"]))
        else:
            found.append(("path", row["d"], row["stroke"]))
    return found


def test_lines_are_drawn_over_a_logarithmic_axis() -> None:
    """The axes cross at 46 and 236; the values fill the room between them but for a margin at each end."""
    series = [("a <b>", [1000, 2000, 4000], [1.0, 2.0, 3.0]), ("c", [2000], [1.5])]
    found = lines("bytes <", series, across="size", up="height", knees=[(2000, 2.0), (4000, 3.0)])
    assert shapes(found) == [
        ("path", "M46 10V236H428", "var(--soft)"),
        ("path", "M46 220.4H428", "var(--line)"), ("text", "40", "224.4", "end", "1"),
        ("path", "M46 171.7H428", "var(--line)"), ("text", "40", "175.7", "end", "1.5"),
        ("path", "M46 123.0H428", "var(--line)"), ("text", "40", "127.0", "end", "2"),
        ("path", "M46 74.3H428", "var(--line)"), ("text", "40", "78.3", "end", "2.5"),
        ("path", "M46 25.6H428", "var(--line)"), ("text", "40", "29.6", "end", "3"),
        ("path", "M54.0 236v4", "var(--soft)"), ("text", "54.0", "253", "middle", "1k"),
        ("path", "M237.0 236v4", "var(--soft)"), ("text", "237.0", "253", "middle", "2k"),
        ("path", "M420.0 236v4", "var(--soft)"), ("text", "420.0", "253", "middle", "4k"),
        ("text", "243", "274", "middle", "size"),
        ("line", "54.0,220.4 237.0,123.0 420.0,25.6", BLUE, "2"),
        ("circle", "54.0", "220.4", "3", BLUE, ""), ("circle", "237.0", "123.0", "3", BLUE, ""),
        ("circle", "420.0", "25.6", "3", BLUE, ""),
        ("line", "237.0,171.7", ORANGE, "2"), ("circle", "237.0", "171.7", "3", ORANGE, ""),
        ("circle", "237.0", "123.0", "8", "none", "var(--ink)"), ("circle", "420.0", "25.6", "8", "none", "var(--ink)"),
    ]  # fmt: skip
    drawn = picture(found)
    assert (drawn.get("viewBox"), drawn.get("role")) == ("0 0 440 280", "img")
    assert drawn.get("aria-label") == "height by size: a <b>, c"
    assert found.startswith("<figure><figcaption>bytes &lt;</figcaption><svg ")
    assert re.findall(r"</svg>([^<]*)</span>", found.partition('<div class="legend">')[2]) == ["a &lt;b&gt;", "c"]


@pytest.mark.parametrize(
    ("x", "y", "points"),
    [
        ([5], [2.0], "54.0,123.0"),  # one size has no width, and one value no height
        ([0, 4], [0.0, 2.0], "54.0,236.0 420.0,26.7"),  # nothing is where 1 is, and no value is below 0
        ([1, 4, 16], [2.0, 2.0, 2.0], "54.0,123.0 237.0,123.0 420.0,123.0"),
        ([0], [0.0], "54.0,236.0"),
        ([2, 4], [0.5, 0.5], "54.0,123.0 420.0,123.0"),
    ],
)
def test_lines_without_width_or_height_have_a_place(x: list[int], y: list[float], points: str) -> None:
    found = [shape[1] for shape in shapes(lines("c", [("a", x, y)], across="", up="")) if shape[0] == "line"]
    assert found == [points]


def test_the_axes_hold_all_lines() -> None:
    """The smallest and the largest size and value may be those of different lines."""
    series = [("a", [2000, 4000], [2.0, 3.0]), ("b", [1000, 2000], [1.0, 2.0])]
    found = [shape[1] for shape in shapes(lines("c", series, across="", up="")) if shape[0] == "line"]
    assert found == ["237.0,123.0 420.0,25.6", "54.0,220.4 237.0,123.0"]


@pytest.mark.parametrize(
    ("low", "high", "values"),
    [
        (0.84, 3.16, [1.0, 1.5, 2.0, 2.5, 3.0]),
        (0.0, 7.0, [0, 1, 2, 3, 4, 5, 6, 7]),  # at most seven steps
        (0.0, 7.5, [0, 2, 4, 6]),
        (0.0, 70.0, [0, 10, 20, 30, 40, 50, 60, 70]),
        (5.0, 45.0, [10, 20, 30, 40]),
        (100.0, 101.0, [100.0, 100.2, 100.4, 100.6, 100.8, 101.0]),
        (1.0, 31.0, [5, 10, 15, 20, 25, 30]),
        (0.0201, 0.0801, [0.03, 0.04, 0.05, 0.06, 0.07, 0.08]),
    ],
)
def test_values_of_an_axis_are_round(low: float, high: float, values: list[float]) -> None:
    assert figures._round_values(low, high) == values


@pytest.mark.parametrize(
    ("low", "high", "ends"),
    [
        (1.0, 3.0, (0.84, 3.16)), (0.0, 2.0, (0.0, 2.16)), (2.0, 2.0, (1.8, 2.2)), (10.0, 10.0, (9.0, 11.0)),
        (0.5, 0.5, (0.4, 0.6)), (0.0, 0.0, (0.0, 0.1)),
    ],
)  # fmt: skip
def test_an_axis_goes_a_little_beyond_its_values(low: float, high: float, ends: tuple[float, float]) -> None:
    """A twelfth of what they span, or a tenth of a single value; never below nothing."""
    assert figures._scale(low, high) == pytest.approx(ends)


def test_a_size_without_room_has_no_tick() -> None:
    """A text needs eight for each of its characters, from the last one that is shown."""
    places = {1: 0.0, 2: 7.9, 3: 8.0, 10: 23.9, 11: 24.0, 4: 32.0}
    found = list(figures._ticks(list(places), lambda value: places[int(value)], 100))
    assert [re.findall(r">(.*)<", tick) for tick in found] == [[], ["1"], [], ["3"], [], ["11"], [], ["4"]]
    assert found[0] == '<path d="M0.0 100v4" stroke="var(--soft)"/>'
    assert found[1] == '<text x="0.0" y="117" text-anchor="middle">1</text>'


def test_bars_have_one_scale_and_their_values_as_text() -> None:
    """The longest end, of a bar or of an interval, is the whole width."""
    groups = [
        ("g & h", [Bar("n <", 1.0, "1 <", (0.5, 2.0)), Bar("m", 4.0, "4", None, True)]),
        ("", [Bar("o", None, "-")]),
    ]
    svg = '<svg viewBox="0 0 100 12" preserveAspectRatio="none" aria-hidden="true">'
    assert bars("cap <", iter(groups)) == (
        '<figure><figcaption>cap &lt;</figcaption><div class="bars"><span class="group">g &amp; h</span>'
        f'<span>n &lt;</span>{svg}<rect width="25.00" height="10" y="1" fill="var(--bar)"/>'
        '<path d="M12.50 6H50.00" stroke="var(--ink)" stroke-width="2"/></svg><b>1 &lt;</b>'
        f'<span class="best">m</span>{svg}<rect width="100.00" height="10" y="1" fill="var(--accent)"/></svg>'
        f'<b class="best">4</b><span>o</span>{svg}<rect width="0.00" height="10" y="1" fill="var(--bar)"/></svg>'
        "<b>-</b></div></figure>"
    )
    assert '<rect width="0.00"' in bars("t", [("", [Bar("a", 0.0, "0")])])
    assert '<rect width="50.00"' in bars("t", [("", [Bar("a", 1.0, "1", (0.5, 2.0))])])
    assert bars("t", []) == '<figure><figcaption>t</figcaption><div class="bars"></div></figure>'


def test_black_is_the_ink_of_the_page() -> None:
    assert [colour_of(number) for number in (0, 6, 7, 8, 15)] == [
        BLUE, COLOURS[6], "var(--ink)", BLUE, "var(--ink)",
    ]  # fmt: skip


def test_definitions_are_terms_and_sentences() -> None:
    assert definitions(["a <b>: one: two", "c: d"]) == (
        "<dl><dt>a &lt;b&gt;</dt><dd>one: two.</dd><dt>c</dt><dd>d.</dd></dl>"
    )
