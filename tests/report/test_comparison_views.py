"""A comparison as text, Markdown, pages and tables: the same sentences and rows in each form."""

from __future__ import annotations

from typing import Any

import pytest

from bbpe.report import compare
from bbpe.report.compare import Comparison, SplitPair, _more
from bbpe.report.tables import page
from bbpe.report.verify import Difference

PAIRS = (
    SplitPair(b" a\n", 1200, (b" a", b"\n"), (b" ", b"a", b"\xff")), SplitPair(b"bc", 2, (b"b", b"c"), (b"bc",)),
    SplitPair(b"de", 7, (b"d", b"e"), (b"d", b"e")),
)  # fmt: skip
FOUND = Comparison(
    ("left", "right"), 1300, 1200, (1, 2), ("merges", "pattern"), 3, 1, 0,
    Difference(b" a\n", 0, ((5, b" a"), (6, b"\n")), ((7, b" "),)), (2000, 3180), PAIRS,
)  # fmt: skip
LINES = [
    "left and right share 1,300 tokens, 1,200 of them with the same id; 1 is only in left, 2 only in right",
    "their definitions differ in: merges, pattern",
    "both cut 1 of 3 different pretokens of the corpus at the same places",
    "right needs 59 % more tokens than left: 3,180, not 2,000",
    r"first difference: ' a\n' at byte 0: 5 ' a' 6 '\n' | 7 ' '",
]
HEADER = ("pretoken", "left", "right", "occurs", "right needs")
ROWS = (
    (r"' a\n'", r" a|\n", " |a|<0xFF>", "1,200", "1,200 more"), ("'bc'", "b|c", "bc", "2", "2 fewer"),
    ("'de'", "d|e", "d|e", "7", "as many"),
)  # fmt: skip


def changed(**changes: Any) -> Comparison:
    return Comparison(**{**FOUND.__dict__, **changes})


@pytest.fixture(autouse=True)
def _wide(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compare, "line_columns", lambda: 150)


def test_the_table_of_pretokens() -> None:
    """Pretokens are quoted, as they may begin or end with blanks; figures are at the right."""
    table = FOUND.table()
    assert (table.header, table.rows, table.left) == (HEADER, ROWS, 3)
    assert [_more(tokens) for tokens in (1, -1, 0, 1000, -2500)] == [
        "1 more", "1 fewer", "as many", "1,000 more", "2,500 fewer",
    ]  # fmt: skip


def test_sentences_come_before_the_table() -> None:
    assert list(FOUND.lines()) == LINES
    assert str(FOUND) == "\n".join([*LINES, FOUND.table().text(150)])
    assert FOUND.to_markdown() == "\n\n".join([*LINES, FOUND.table().markdown()])
    paragraphs = "".join(f"<p>{line}</p>" for line in LINES).replace("'", "&#x27;")
    assert FOUND._repr_html_() == paragraphs + FOUND.table().html()
    made = FOUND.to_html()
    above = "<h2>Pretokens that differ most, each with the tokens of both</h2>"
    assert f"{paragraphs}{above}{FOUND.table().html()}" in made
    assert "<title>left and right</title>" in made
    assert "<main><h1>left and right</h1><figure><figcaption>tokens of the corpus</figcaption>" in made
    assert made.count('<span class="best">left</span>') == 1
    assert "<b>3,180</b>" in made


def test_without_pretokens_there_is_no_table() -> None:
    none = changed(pairs=())
    assert str(none) == "\n".join(LINES)
    assert none.to_markdown() == "\n\n".join(LINES)
    assert "<table>" not in none._repr_html_() + none.to_html()
    assert "<h2>" not in none.to_html()


def test_without_a_corpus_there_are_hard_texts_and_no_figure() -> None:
    none = changed(pairs=(), tokens=None, texts=1)
    assert list(none.lines())[2:] == ["both cut 1 of 1 hard text at the same places", LINES[4]]
    paragraphs = "".join(f"<p>{line}</p>" for line in none.lines()).replace("'", "&#x27;")
    body = f"<main><h1>left and right</h1>{paragraphs}</main>"
    assert none.to_html() == page("left and right", body, style=compare.STYLE)


@pytest.mark.parametrize(("changes", "lines"), [
    # ids are compared where all shared tokens have the same ones, or where tokens have no places
    ({"same_ids": 1300}, {0: LINES[0].replace("1,200", "1,300"), 3: "both give 0 of 3 different pretokens of the "
                                                                    "corpus the same ids"}),
    ({"equal": None}, {2: "both give 0 of 3 different pretokens of the corpus the same ids"}),
    ({"tokens": (5, 5)}, {3: "both need 5 tokens"}), ({"tokens": (1, 1)}, {3: "both need 1 token"}),
    ({"only": (2, 1)}, {0: LINES[0].replace("1 is only in left, 2", "2 are only in left, 1")}),
    ({"differences": ()}, {1: "their definitions differ in: nothing"}),
])  # fmt: skip
def test_each_sentence_is_that_of_its_figure(changes: dict[str, Any], lines: dict[int, str]) -> None:
    found = list(changed(**changes).lines())
    assert {at: found[at] for at in lines} == lines


def test_equal_tokenizers_are_one_sentence() -> None:
    same = changed(differences=(), equal_ids=3, pairs=(), first=None)
    said = "left and right are identical: 1,300 tokens, and the same ids for 3 different pretokens of the corpus"
    assert str(same) == said
    # the same definitions may give other ids, and others the same
    assert str(changed(differences=(), equal_ids=2)).startswith("left and right share 1,300 tokens")
    assert str(changed(equal_ids=3)).startswith("left and right share 1,300 tokens")


def test_long_names_are_shortened_and_lines_wrapped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compare, "line_columns", lambda: 60)
    long = changed(names=("l" * 90, "r" * 90), pairs=())
    shown = ["l" * 19 + "..." + "l" * 18, "r" * 19 + "..." + "r" * 18]
    assert str(long).splitlines()[:2] == [f"{shown[0]} and", f"  {shown[1]} share 1,300"]
    assert max(map(len, str(long).splitlines())) <= 60
    assert long.table().header == ("pretoken", *shown, "occurs", f"{shown[1]} needs")
