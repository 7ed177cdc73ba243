"""A curve as rows, tables and pages; and the sizes, shares and patterns that one may have."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import bbpe
from bbpe.report import curves
from bbpe.report.curves import CORPUS, VOCABULARY, Curve, CurvePoint

ANY: Any = bbpe
TEXTS = ["see my eyes first", "see my dogs", "low lower", "newest 123"] * 3
TOK = bbpe.train_from_iterator(TEXTS, 280)
GROWN = Curve(VOCABULARY, (
    CurvePoint(1000, "x", 300, 100), CurvePoint(2000, "x", 300, 60, 2.0), CurvePoint(1000, "y", 500, 0),
))  # fmt: skip
TRAINED = Curve(CORPUS, (
    CurvePoint(1200, "x", 300, 100, None, None, "a"), CurvePoint(2400, "x", 300, 96, 0.125, 0.25, "a"),
    CurvePoint(1200, "x", 300, 120, None, None, "b"),
))  # fmt: skip


def test_a_curve_as_data() -> None:
    names = ("size", "corpus", "tokenizer", "bytes", "tokens", "bytes_per_token", "gain", "changed")
    rows = [(1000, "x", "", 300, 100, 3.0, None, None), (2000, "x", "", 300, 60, 5.0, 2.0, None),
            (1000, "y", "", 500, 0, None, None, None)]  # fmt: skip
    assert GROWN.as_dict() == {
        "across": "vocabulary size", "points": [dict(zip(names, row, strict=True)) for row in rows],
        "knees": {"x": None, "y": None},
    }  # fmt: skip
    assert GROWN.to_csv() == (
        "size,corpus,tokenizer,bytes,tokens,bytes_per_token,gain,changed\n"
        "1000,x,,300,100,3.0,,\n2000,x,,300,60,5.0,2.0,\n1000,y,,500,0,,,\n"
    )
    assert TRAINED.to_csv().splitlines()[2] == "2400,x,a,300,96,3.125,0.125,0.25"
    assert list(TRAINED.as_dict()["knees"]) == ["a", "b"]
    assert [*GROWN] == list(GROWN.points)


def test_a_curve_as_tables() -> None:
    """The columns of names and of changes are there only where they say something."""
    table = GROWN.table()
    assert (table.header, table.left) == (("corpus", "vocabulary size", "tokens", "bytes/token", "gain"), 1)
    assert table.rows == (
        ("x", "1,000", "100", "3.000", "-"), ("x", "2,000", "60", "5.000", "2.0000"), ("y", "1,000", "0", "-", "-"),
    )  # fmt: skip
    trained = TRAINED.table()
    assert (trained.header, trained.left) == (
        ("tokenizer", "corpus", "bytes of training text", "tokens", "bytes/token", "gain", "tokens changed"), 2
    )  # fmt: skip
    assert trained.rows == (
        ("a", "x", "1,200", "100", "3.000", "-", "-"), ("a", "x", "2,400", "96", "3.125", "0.1250", "25.0%"),
        ("b", "x", "1,200", "120", "2.500", "-", "-"),
    )  # fmt: skip
    ratio = "bytes/token: the UTF-8 bytes of all texts over their tokens; more is better"
    notes = [ratio, "gain: the bytes per token that each further thousand tokens adds"]
    assert str(GROWN) == "\n".join([table.text(100), "", *notes])
    assert GROWN.to_latex() == table.latex(notes)
    assert GROWN.to_markdown() == table.markdown()
    doubled = [ratio, "gain: the bytes per token that each further doubling of the training text adds",
               "tokens changed: the share of the tokens that the next smaller training text did not give"]  # fmt: skip
    assert TRAINED.to_latex() == trained.latex(doubled)
    terms = re.findall("<dt>(.*?)</dt>", TRAINED._repr_html_())
    assert terms == ["bytes/token", "gain", "tokens changed"]
    assert TRAINED._repr_html_().startswith(trained.html())


def test_a_page_explains_knees_where_it_has_some(monkeypatch: pytest.MonkeyPatch) -> None:
    bend = Curve(VOCABULARY, tuple(CurvePoint(1000 << at, "x", 300, tokens) for at, tokens in enumerate((100, 60, 55))))
    assert "<dt>knee (a ring)</dt>" not in bend.to_html()
    monkeypatch.setattr(curves, "_LEAST", 3)
    page = bend.to_html()
    assert "<dt>knee (a ring)</dt><dd>beyond this size, a larger one gains less.</dd>" in page
    assert page.count('r="8"') == 1
    assert "<figcaption>bytes/token</figcaption>" in page
    assert 'aria-label="bytes/token by vocabulary size: x"' in page
    assert (bend.knee("x"), bend.as_dict()["knees"]) == (2000, {"x": 2000})
    monkeypatch.setattr(curves, "_LEAST", 4)
    assert bend.knee("x") is None


def test_points_gain_by_steps() -> None:
    first, second = CurvePoint(10, "x", 300, 100), CurvePoint(20, "x", 300, 60)
    assert second.gained(first, 4.0) == CurvePoint(20, "x", 300, 60, 0.5)
    nothing = CurvePoint(30, "x", 300, 0)
    assert (nothing.gained(second, 1.0), second.gained(nothing, 1.0)) == (nothing, second)
    assert (nothing.bytes_per_token, first.bytes_per_token) == (None, 3.0)


@pytest.mark.parametrize(("sizes", "found"), [
    ([280], [280]), ([280, 257, 270, 270], [257, 270, 280]), ((256,), [256]), (range(278, 281), [278, 279, 280]),
    ({270, 260}, [260, 270]), (np.array([271, 261]), [261, 271]), (iter([270]), [270]),
])  # fmt: skip
def test_sizes_are_points_from_the_smallest(sizes: Any, found: list[int]) -> None:
    curve = bbpe.learning_curve(TOK, sizes, texts={"a": TEXTS, "b": ["low"]})
    assert [(point.corpus, point.size) for point in curve] == [(name, size) for name in "ab" for size in found]
    sizes_of = {"a": sum(map(len, TEXTS)), "b": 3}
    assert {(point.corpus, point.bytes) for point in curve} == set(sizes_of.items())
    assert [point.gain is None for point in curve] == [at == 0 for _ in "ab" for at in range(len(found))]
    for point in curve:
        smaller = bbpe.train_from_iterator(TEXTS, point.size)
        assert point.tokens == sum(smaller.count_tokens(text) for text in {"a": TEXTS, "b": ["low"]}[point.corpus])


@pytest.mark.parametrize(("sizes", "kind", "message"), [
    ([], ValueError, r"sizes is \[\]; expected sizes of at most 280 tokens"),
    ([281], ValueError, r"sizes is \[281\]; expected sizes of at most 280 tokens"),
    ([255], ValueError, r"sizes is \[255\]; expected sizes of at least 256 tokens: bytes and special tokens"),
    ("280", TypeError, "sizes is '280', a str; expected a list of sizes, such as"),
    (b"280", TypeError, "sizes is b'280', a bytes; expected a list of sizes"),
    ({280: 1}, TypeError, r"sizes is \{280: 1\}, a dict; expected a list of sizes"),
    (280, TypeError, "sizes is 280, an int; expected a list of sizes"),
    ([270, 270.5], TypeError, r"sizes\[1\] must be an int, not float"),
    ([True], TypeError, r"sizes\[0\] must be an int, not bool"),
])  # fmt: skip
def test_sizes_that_there_are_not(sizes: Any, kind: type[Exception], message: str) -> None:
    with pytest.raises(kind, match=f"^{message}"):
        bbpe.learning_curve(TOK, sizes, texts=TEXTS)


def test_a_vocabulary_that_cannot_be_made_smaller_has_one_point() -> None:
    pieces = bbpe.train_from_iterator(TEXTS, 290, model="unigram")
    (point,) = bbpe.learning_curve(pieces, [len(pieces)], texts=TEXTS)
    assert (point.size, point.tokens) == (len(pieces), sum(map(pieces.count_tokens, TEXTS)))
    said = "has no smaller vocabularies, as its symbols are characters; train one at each size, and compare them by"
    for tokenizers, which in ((pieces, "the tokenizer"), ({"p": pieces}, "p: the tokenizer")):
        with pytest.raises(bbpe.VocabularyError, match=f"^{which} {said} bbpe.evaluate$"):
            ANY.learning_curve(tokenizers, [280, len(pieces)], texts=TEXTS)


@pytest.mark.parametrize(("shares", "counts"), [
    ((1.0,), [12]), ((1, 0.5), [6, 12]), ((0.5, 0.25, 0.5), [3, 6]), ([0.01, 1], [1, 12]), ((0.2, 0.3), [2, 4]),
])  # fmt: skip
def test_shares_are_points_from_the_smallest(shares: Any, counts: list[int]) -> None:
    curve = bbpe.corpus_curve(TEXTS, 260, held_out_texts={"a": ["low"], "b": ["see"]}, shares=shares)
    sizes = [sum(map(len, TEXTS[:count])) for count in counts]
    assert [(point.corpus, point.size) for point in curve] == [(name, size) for name in "ab" for size in sizes]
    assert [point.changed is None for point in curve] == [at == 0 for _ in "ab" for at in range(len(counts))]


@pytest.mark.parametrize(("options", "kind", "message"), [
    ({"shares": []}, ValueError, r"shares is \[\]; expected numbers more than 0 and at most 1"),
    ({"shares": [0, 1]}, ValueError, r"shares is \[0, 1\]; expected numbers more than 0 and at most 1"),
    ({"shares": [1.5]}, ValueError, r"shares is \[1.5\]; expected numbers more than 0 and at most 1"),
    ({"shares": 0.5}, TypeError, "shares must be a list of numbers, not float"),
    ({"shares": ["1"]}, TypeError, "shares must be a number, not str"),
    ({"shares": [0.5, 0.51]}, ValueError, r"shares is \[0.5, 0.51\], and two of them are equally many of 12 texts; "),
    ({"patterns": 5}, TypeError, "patterns is 5, an int; expected a list of patterns, or a mapping of names"),
    ({"patterns": {}}, ValueError, r"patterns is \{\}; expected at least one pattern"),
    ({"patterns": ("gpt2", "gpt2")}, ValueError, "patterns is .*; expected each pattern once"),
    ({"pattern": "none", "patterns": {"a": "gpt2"}}, ValueError, "pattern is 'none' and patterns is .*; expected one"),
])  # fmt: skip
def test_shares_and_patterns_that_there_are_not(options: dict[str, Any], kind: type[Exception], message: str) -> None:
    with pytest.raises(kind, match=f"^{message}"):
        bbpe.corpus_curve(TEXTS, 260, held_out_texts=["low"], **options)


def test_a_growing_corpus_is_a_list_of_texts() -> None:
    def endless() -> Iterator[str]:
        while True:
            yield "see"

    with pytest.raises(TypeError, match=r"^texts must be a list of texts, not generator$"):
        ANY.corpus_curve(endless(), 260, held_out_texts=["low"])
    lists = ANY.corpus_curve([TEXTS[:5], TEXTS[5:]], 260, held_out_texts=["low"])
    assert lists == bbpe.corpus_curve(TEXTS, 260, held_out_texts=["low"])


def test_patterns_are_lines_by_their_names() -> None:
    steps = [r"\w", "s"]
    for patterns, names in (
        (["gpt2", steps], ["gpt2", repr(steps)]), (("none",), ["none"]), ({"a": "none", 5: steps}, ["a", "5"]),
    ):  # fmt: skip
        curve = ANY.corpus_curve(TEXTS, 260, held_out_texts=["low"], shares=[1], patterns=patterns)
        assert [point.tokenizer for point in curve] == names
    assert bbpe.corpus_curve(TEXTS, 260, held_out_texts=["low"], shares=[1]).points[0].tokenizer == ""


def test_a_line_is_chosen_by_its_names() -> None:
    with pytest.raises(ValueError, match=r"^corpus is 'z' and tokenizer is None; expected one of 'x', 'y'$"):
        GROWN.knee("z")
    said = r"^corpus is 'x' and tokenizer is 'c'; expected one of \('x', 'a'\), \('x', 'b'\)$"
    with pytest.raises(ValueError, match=said):
        TRAINED.knee("x", "c")
    with pytest.raises(ValueError, match=r"^corpus is 'x' and tokenizer is None; "):
        TRAINED.knee("x")
    assert (GROWN.knee("x"), GROWN.knee("y", ""), TRAINED.knee("x", "b")) == (None, None, None)
