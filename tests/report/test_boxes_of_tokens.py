"""Tokens as boxes: each different token once, where each is in the text, and what pages and terminals show of them."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

import bbpe
from bbpe.report.terminal import sample, shown, wrapped
from bbpe.report.view import Boxes, boxes, summary, texts_to_html, to_html

BYTES = {bytes([byte]): byte for byte in range(256)}
TOK = bbpe.Tokenizer.from_ranks({**BYTES, b"ab": 256}, pattern="gpt2", special_tokens={"<s>": 300})
OTHER = bbpe.Tokenizer.from_ranks({**BYTES, b"bc": 256}, pattern="gpt2", special_tokens={"<e>": 300})

TOKENS = [b"a\n", b"\xe6", b"a\n", b"<s>", b"\xe7\n"]


def made(spans: list[tuple[int, int]] | None) -> Boxes:
    return Boxes("n", 10, [5, 6, 5, 7, 8], TOKENS, spans, frozenset({7, 8}))


@pytest.mark.parametrize(("spans", "expected"), [
    ([(0, 2), (2, 3), (3, 5), (5, 8), (8, 10)], True),
    ([(0, 2), (2, 3), (3, 5), (5, 8), (8, 11)], [0, 2, 2, 3, 3, 5, 5, 8, 8, 11]),
    ([(1, 3), (3, 4), (4, 6), (6, 9), (9, 11)], [1, 3, 3, 4, 4, 6, 6, 9, 9, 11]),
    (None, None),
])  # fmt: skip
def test_boxes_as_data(spans: list[tuple[int, int]] | None, expected: Any) -> None:
    """Flags add up: 1 for a special token, 2 for parts of characters, 4 for a line end."""
    assert made(spans).as_dict() == {
        "name": "n", "summary": "5 tokens, 2.00 bytes per token", "bytes": 10,
        "kinds": [[5, "a\u21b5", "61 0a", 4], [6, "<0xE6>", "e6", 2], [7, "<s>", "3c 73 3e", 1],
                  [8, "<0xE7>\u21b5", "e7 0a", 7]],
        "order": [0, 1, 0, 2, 3], "spans": expected,
    }  # fmt: skip


@pytest.mark.parametrize(("size", "count", "said"), [
    (0, 0, "0 tokens"), (5, 0, "0 tokens"), (3, 1, "1 token, 3.00 bytes per token"),
    (1, 2, "2 tokens, 0.50 bytes per token"), (3210, 1000, "1,000 tokens, 3.21 bytes per token"),
])  # fmt: skip
def test_the_summary_of_boxes(size: int, count: int, said: str) -> None:
    assert Boxes("n", size, [1] * count, [b"a"] * count, None, frozenset()).summary == said


@pytest.mark.parametrize(("allowed", "ids"), [
    ((), ([256, 60, 115, 62], [97, 98, 60, 115, 62])), ("all", ([256, 300], [97, 98, 60, 115, 62])),
    (["<s>"], ([256, 300], [97, 98, 60, 115, 62])), ({"<e>"}, ([256, 60, 115, 62], [97, 98, 60, 115, 62])),
    (("<s>", "<e>"), ([256, 300], [97, 98, 60, 115, 62])),
])  # fmt: skip
def test_a_special_token_that_one_does_not_have_is_text_for_it(allowed: Any, ids: tuple[list[int], list[int]]) -> None:
    for text in ("ab<s>", b"ab<s>"):
        found = boxes(text, {"x": TOK, "y": OTHER}, allowed_special=allowed)
        assert [(each.name, each.size, each.ids) for each in found] == [("x", 5, ids[0]), ("y", 5, ids[1])]
        assert [each.special for each in found] == [{300}, {300}]
        assert [each.spans[-1] for each in found if each.spans] == [(2 if 300 in ids[0] else 4, 5), (4, 5)]
        assert [b"".join(each.tokens) for each in found] == [b"ab<s>"] * 2
    wrong: Any = {"x": TOK, "y": 5}
    with pytest.raises(TypeError, match=r"^tokenizers\['y'\] is 5, an int; expected a Tokenizer"):
        boxes("a", wrong)


def test_a_page_has_a_view_for_each_text() -> None:
    page = texts_to_html([("a <1>", "ab"), ("", b"bc")], {"<x>": TOK, "y": OTHER})
    body = page.partition("<body>")[2]
    assert '<h2 class="file">a &lt;1&gt;</h2><div id="view0"></div><div id="view1"></div></main>' in body
    assert re.findall(r"<li>(.*?)</li>", body) == [
        "a &lt;1&gt; &lt;x&gt;: 1 token, 2.00 bytes per token", "a &lt;1&gt; y: 2 tokens, 1.00 bytes per token",
        "&lt;x&gt;: 2 tokens, 1.00 bytes per token", "y: 1 token, 2.00 bytes per token",
    ]  # fmt: skip
    calls = re.findall(r"^show\(document\.getElementById\('view(\d)'\), (.*)\);$", body.partition("</script>")[0], re.M)
    assert [number for number, _ in calls] == ["0", "1"]
    for (_, data), text in zip(calls, ("ab", "bc"), strict=True):
        assert json.loads(data) == [each.as_dict() for each in boxes(text, {"<x>": TOK, "y": OTHER})]
    alone = to_html("ab<s>", {"x": TOK}, allowed_special="all").partition("<body>")[2]
    assert '<main><div id="view0"></div></main>' in alone
    assert "<li>x: 2 tokens, 2.50 bytes per token</li>" in alone


def test_the_table_of_a_notebook() -> None:
    """The names of tokens have a row only where there are some."""
    def rows(tok: bbpe.Tokenizer) -> dict[str, str]:
        cells = re.findall(r"<th scope=\"row\"[^>]*>(.*?)</th><td[^>]*>(.*?)</td>", summary(tok))
        return dict(cells)

    facts = {"name": "unnamed", "tokens": "258", "special tokens": "&lt;s&gt;", "fingerprint": TOK.fingerprint[:16]}
    found = rows(TOK)
    assert {name: found[name] for name in facts} == facts
    assert list(found) == ["name", "tokens", "model", "special tokens", "fingerprint"]
    named = rows(TOK.with_roles(bos_token="<s>"))
    assert list(named) == ["name", "tokens", "model", "special tokens", "named tokens", "fingerprint"]
    assert named["named tokens"] == "bos &lt;s&gt;"


FOUND = [
    Boxes("n" * 50, 4, [10, 11, 12], [b"ab", b"<s>", b"\n"], None, frozenset({11})),
    Boxes("m", 0, [], [], None, frozenset()),
]  # fmt: skip
LONG = "n" * 19 + "..." + "n" * 18


def test_boxes_stand_below_their_names() -> None:
    assert shown(FOUND, colour=False) == (
        f"{LONG}: 3 tokens, 1.33 bytes per token\n[ab][<s>][\\n]\n\nm: 0 tokens\n"
    )
    assert shown(FOUND, colour=False, with_ids=True) == (
        f"{LONG}: 3 tokens, 1.33 bytes per token\n[ab][<s>][\\n]\n10 11 12\n\nm: 0 tokens\n\n"
    )
    assert shown(FOUND[:1], colour=False, with_ids=True, most=7).splitlines()[1:] == [
        "[ab]", "[<s>]", "[\\n]", "10 11", "12",
    ]  # fmt: skip
    assert shown(FOUND[:1], colour=True).splitlines() == [
        f"\x1b[1m{LONG}\x1b[0m: 3 tokens, 1.33 bytes per token",
        "\x1b[48;5;153;38;5;16mab\x1b[0m\x1b[1;7m<s>\x1b[0m\x1b[48;5;157;38;5;16m\\n\x1b[0m",
    ]


def test_six_colours_come_in_turn() -> None:
    found = re.findall(r"48;5;(\d+);", sample([b"a"] * 8, colour=True))
    assert found == ["153", "223", "157", "225", "229", "195", "153", "223"]
    assert sample([], colour=True) == sample([], colour=False) == ""


@pytest.mark.parametrize(("most", "lines"), [
    (10, ["[abcd][ef]", "[g]"]), (9, ["[abcd]", "[ef][g]"]), (7, ["[abcd]", "[ef][g]"]), (6, ["[abcd]", "[ef]", "[g]"]),
    (13, ["[abcd][ef][g]"]), (12, ["[abcd][ef]", "[g]"]),
])  # fmt: skip
def test_lines_of_tokens_are_as_long_as_they_may_be(most: int, lines: list[str]) -> None:
    assert sample([b"abcd", b"ef", b"g"], colour=False, most=most).split("\n") == lines


@pytest.mark.parametrize(("line", "most", "indent", "lines"), [
    ("ab cd", 5, 0, ["ab cd"]), ("ab cd", 4, 0, ["ab", "cd"]), ("ab cd ef", 5, 2, ["ab cd", "  ef"]),
    ("ab cdefg", 6, 2, ["ab", " cdefg"]), ("ab cdefgh", 6, 2, ["ab", "cdefgh"]), (" ab", 3, 0, [" ab"]),
    ("  ab cd", 4, 1, ["  ab", " cd"]), ("\u4e16\u754c ab", 7, 0, ["\u4e16\u754c ab"]),
    ("\u4e16\u754c ab", 6, 0, ["\u4e16\u754c", "ab"]), ("abcdefgh x", 6, 0, ["ab...h", "x"]),
])  # fmt: skip
def test_lines_of_words_are_as_long_as_they_may_be(line: str, most: int, indent: int, lines: list[str]) -> None:
    assert list(wrapped(line, most, indent)) == lines


def test_whole_words_have_longer_lines() -> None:
    assert list(wrapped("a/long/path is here", 6, 2, whole=True)) == ["a/long/path", "  is", "  here"]
    assert list(wrapped("see a/long/path", 6, 2, whole=True)) == ["see", "a/long/path"]
