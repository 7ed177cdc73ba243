"""A trace as lines and as a picture: each symbol at its place, what a step made marked, the best path on top."""

from __future__ import annotations

import re
from typing import Any
from xml.etree import ElementTree

import pytest

import bbpe
from bbpe.report import trace_view
from bbpe.report.trace_view import Edge, PretokenTrace, Step, html, lines, svg, visible

MERGES = PretokenTrace(
    b" low", "merges", (b" ", b"l", b"o", b"w"),
    (Step(1, b"lo", 7, 0, (b" ", b"lo", b"w")), Step(0, b" lo", 9, None, (b" lo", b"w"))), (), (9, 3),
)  # fmt: skip
LATTICE = PretokenTrace(
    b"abc", "lattice", (), (),
    (Edge(0, 1, 4, -1.5, True), Edge(0, 3, 6, -9.25, False), Edge(1, 3, 5, -2.0, True)), (4, 5),
)  # fmt: skip
WHOLE = PretokenTrace(b"the", "whole", (b"the",), (), (), (11,))
SPECIAL = PretokenTrace(b"<s>", "special", (b"<s>",), (), (), (12,))
NOTHING = PretokenTrace(b"x", "merges", (), (), (), ())
LONGEST = PretokenTrace(b"low", "longest", (b"low",), (Step(0, b"lo", 7, None, (b"lo", b"w")),), (), (7,))


def test_the_steps_as_lines() -> None:
    assert list(lines([MERGES, LATTICE, WHOLE, SPECIAL, NOTHING, LONGEST], 99)) == [
        "' low'",
        " step  merge         symbols",
        "                     ␣ l o w",
        "    1  lo (rank 0)   ␣ lo w",
        "    2  ␣lo           ␣lo w",
        "  ids 9 3",
        "'abc'",
        " best bytes     score  token",
        "  *   0-1      -1.500  a",
        "      0-3      -9.250  abc",
        "  *   1-3      -2.000  bc",
        "  ids 4 5",
        "'the'  is looked up as a whole",
        "  ids 11",
        "'<s>'  is special",
        "  ids 12",
        "'x'",
        "  ids none",
        "'low'",
        " step  match   symbols",
        "               low",
        "    1  lo      lo w",
        "  ids 7",
    ]
    assert max(map(len, lines([MERGES], 12))) == 12
    (first, *_) = lines([PretokenTrace(b"a" * 200, "whole", (), (), (), ())], 300)
    assert 70 < len(first.partition("  is")[0]) <= 80


@pytest.mark.parametrize(
    ("token", "shown"),
    [(b" a\n", "␣a↵"), (b"\r\t", "␍⇥"), (b"\xe6", "<0xE6>"), ("\u202e".encode(), "\\u202e"), (b"\x01", "\\u0001")],
)
def test_what_is_visible_of_a_token(token: bytes, shown: str) -> None:
    assert visible(token) == shown


def shapes(drawn: str) -> list[tuple[str, ...]]:
    """The shapes of a picture, each by its class and what says where it is, a text with its words."""
    found = []
    for each in ElementTree.fromstring(f"<g>{drawn}</g>"):
        row = each.attrib
        if each.tag == "rect":
            assert (row["height"], row["rx"]) == ("24", "4")
            found.append((f"box {row['class']}", row["x"], row["y"], row["width"]))
        elif each.tag == "text":
            kind = f"text {row.get('class', '')}{row.get('text-anchor', '')}"
            found.append((kind, row["x"], row["y"], each.text or ""))
        elif each.tag == "path":
            found.append((f"path {row['class']}", row["d"]))
        else:
            assert (row["class"], row["r"]) == ("b", "4")
            found.append((each.tag, row["cx"], row["cy"]))
    return found


def test_a_row_of_boxes_for_each_step() -> None:
    """Boxes are as wide as their words, ten apart; a row is 34 below the one before."""
    drawn, width, height = trace_view._rows(MERGES)
    assert shapes(drawn) == [
        ("box b", "0", "0", "21"), ("text ", "6", "17", "␣"), ("box b", "31", "0", "21"), ("text ", "37", "17", "l"),
        ("box b", "62", "0", "21"), ("text ", "68", "17", "o"), ("box b", "93", "0", "21"), ("text ", "99", "17", "w"),
        ("text s", "128", "16", ""),
        ("box b", "0", "34", "21"), ("text ", "6", "51", "␣"), ("box m", "31", "34", "30"), ("text ", "37", "51", "lo"),
        ("box b", "71", "34", "21"), ("text ", "77", "51", "w"), ("text s", "106", "50", "rank 0"),
        ("box m", "0", "68", "39"), ("text ", "6", "85", "␣lo"), ("box b", "49", "68", "21"),
        ("text ", "55", "85", "w"), ("text s", "84", "84", ""), ("text s", "0", "106", "ids 9 3"),
    ]  # fmt: skip
    assert (width, height) == (200, 110)
    wide = PretokenTrace("世界".encode(), "whole", ("世界".encode(),), (), (), (5,))
    assert shapes(trace_view._rows(wide)[0])[0] == ("box b", "0", "0", str(9 * 4 + 12))
    assert shapes(trace_view._rows(wide)[0])[-1][-1] == "id 5"
    assert trace_view._rows(PretokenTrace(b"", "merges", (b"a",), (), (), (1234567,) * 9))[1] == 7 * (4 + 9 * 8 - 1)
    rank = Step(0, b"abcdefghij" * 2, 7, 1234, (b"abcdefghij" * 2,))
    _, width, height = trace_view._rows(PretokenTrace(b"", "merges", (b"a",), (rank,), (), ()))
    assert (width, height) == (9 * 20 + 12 + 10 + 4 + 7 * len("rank 1234"), 76)


def test_an_arc_for_each_token_of_a_lattice() -> None:
    """The best path comes last, over the others; an arc is as high as its token is long, up to eight bytes."""
    drawn, width, height = trace_view._lattice(LATTICE)
    assert shapes(drawn) == [
        ("path e", "M10,108 Q106,6 202,108"), ("text smiddle", "106", "54", "abc -9.25"),
        ("path p", "M10,108 Q42,74 74,108"), ("text smiddle", "42", "88", "a -1.50"),
        ("path p", "M74,108 Q138,40 202,108"), ("text smiddle", "138", "71", "bc -2.00"),
        ("circle", "10", "108"), ("circle", "74", "108"), ("circle", "138", "108"), ("circle", "202", "108"),
        ("text middle", "42", "130", "a"), ("text middle", "106", "130", "b"), ("text middle", "170", "130", "c"),
    ]  # fmt: skip
    assert (width, height) == (222, 138)
    for length in (7, 8, 9, 20):
        long = PretokenTrace(b"a" * length, "lattice", (), (), (Edge(0, length, 1, 0.0, True),), (1,))
        drawn, width, height = trace_view._lattice(long)
        base = 26 * min(length, 8) + 30
        end = 64 * length + 10
        peak = base - 34 * min(length, 8)
        assert shapes(drawn)[0] == ("path p", f"M10,{base} Q{(10 + end) // 2},{peak} {end},{base}")
        assert (width, height) == (64 * length + 30, base + 30)
    bare = PretokenTrace(b"a", "lattice", (), (), (), ())
    assert trace_view._lattice(bare)[1:] == (94, 86)


def test_pretokens_are_drawn_below_each_other() -> None:
    space = "{http://www.w3.org/2000/svg}"
    picture: Any = ElementTree.fromstring(svg([MERGES, LATTICE]))
    assert [group.get("transform") for group in picture.iter(f"{space}g")] == ["translate(8,8)", "translate(8,136)"]
    assert picture.get("viewBox") == "0 0 238 292"
    assert (picture.get("width"), picture.get("height"), picture.get("role")) == ("238", "292", "img")
    assert picture.find(f"{space}title").text == "␣low abc"
    assert ElementTree.fromstring(svg([])).get("viewBox") == "0 0 80 8"
    page = html([MERGES])
    assert svg([MERGES]) in page
    assert "    2  ␣lo           ␣lo w\n" in page


def test_the_style_holds_for_the_picture_alone() -> None:
    """It is a part of a notebook or a page, whose code has the classes `s` and `m`, too."""
    found = re.search(r"<style>(.*?)</style>", bbpe.train_from_iterator(["low lower"], 260).trace("low")._repr_html_())
    assert found is not None
    selectors = re.findall(r"([^{}]+)\{", found[1])
    assert len(selectors) > 4
    assert [each for each in selectors if not each.startswith(".bbpe ")] == []
