"""Curves and pictures: points of a plain loop, and what is drawn where."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import pytest

import bbpe
from bbpe.report import plots
from bbpe.report.curves import Curve, CurvePoint
from bbpe.report.evaluate import Evaluation
from bbpe.report.measures import Measures, TextTotals

#: No two figures of this row are the same.
ROW = Measures("t", "c", TextTotals(7, 1100, 900, 130), 500, 11, 101, 13, 17, 300, 210, 0.625)


def test_a_growing_corpus_is_that_of_a_plain_loop() -> None:
    """The first texts are trained on; gains are by doubling, and new tokens those that no smaller text gave."""
    texts = ["low lower lowest", "see my eyes", "newest widest", "世界 dogs and cats", "slow"] * 2
    shares, held = [0.2, 0.5, 1.0], {"x": ["see my lowest dogs"], "y": ["low"]}
    curve = bbpe.corpus_curve(texts, 275, held_out_texts=held, shares=shares)
    toks = [bbpe.train_from_iterator(texts[: round(share * len(texts))], 275) for share in shares]
    sizes = [sum(len(text.encode()) for text in texts[: round(share * len(texts))]) for share in shares]
    expected = []
    for name, (text,) in held.items():
        before: tuple[set[bytes], float, int] | None = None
        for tok, size in zip(toks, sizes, strict=True):
            known, ratio = set(tok.spec.vocab.values()), len(text.encode()) / len(tok.encode(text))
            new = None if before is None else len([token for token in known if token not in before[0]]) / len(known)
            gain = None if before is None else (ratio - before[1]) / math.log2(size / before[2])
            expected.append((size, name, len(text.encode()), len(tok.encode(text)), gain, new))
            before = known, ratio, size
    found = [(each.size, each.corpus, each.bytes, each.tokens, each.gain, each.changed) for each in curve]
    assert [row[:4] for row in found] == [row[:4] for row in expected]
    for column in (4, 5):
        assert [row[column] for row in found] == [pytest.approx(row[column]) for row in expected]
    assert any(row[4] for row in found)
    assert len({row[5] for row in found}) == 3


POINTS = (
    CurvePoint(1000, "x", 300, 100), CurvePoint(2000, "x", 300, 60, 2.0, 0.25), CurvePoint(8000, "x", 300, 50, 0.5),
    CurvePoint(1000, "y", 500, 100), CurvePoint(2000, "y", 500, 90, 0.5), CurvePoint(8000, "y", 500, 40),
)  # fmt: skip


def test_the_table_of_a_curve() -> None:
    table = Curve("vocabulary size", POINTS).table()
    assert table.header == ("corpus", "vocabulary size", "tokens", "bytes/token", "gain", "tokens changed")
    assert table.rows[1] == ("x", "2,000", "60", "5.000", "2.0000", "25.0%")
    assert table.rows[3] == ("y", "1,000", "100", "5.000", "-", "-")


class Axes:
    """What is drawn, by the name of the call."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, tuple[Any, ...], dict[str, Any]]] = []

    def __getattr__(self, name: str) -> Any:
        return lambda *args, **options: self.calls.append((name, args, options))

    def of(self, name: str) -> list[tuple[tuple[Any, ...], dict[str, Any]]]:
        return [(args, options) for called, args, options in self.calls if called == name]


@pytest.fixture
def axes(monkeypatch: pytest.MonkeyPatch) -> Axes:
    drawn = Axes()

    @contextmanager
    def _axes(path: object, size: object) -> Iterator[Axes]:
        yield drawn

    monkeypatch.setattr(plots, "_axes", _axes)
    return drawn


def test_the_picture_of_a_curve(axes: Axes, monkeypatch: pytest.MonkeyPatch) -> None:
    """A line of sizes and bytes a token for each corpus, and a ring at the knee of each that has one."""
    monkeypatch.setattr("bbpe.report.curves._LEAST", 3)
    other = tuple(replace(point, corpus="z", tokens=point.tokens * 2) for point in POINTS[:3])
    curve = Curve("vocabulary size", POINTS + other)
    curve.plot("x.svg")
    lines = {options["label"]: args for args, options in axes.of("plot")}
    assert lines == {
        "x": ([1000, 2000, 8000], [3.0, 5.0, 6.0]),
        "y": ([1000, 2000, 8000], [5.0, 500 / 90, 12.5]),
        "z": ([1000, 2000, 8000], [1.5, 2.5, 3.0]),
    }
    assert (curve.knee("x"), curve.knee("y"), curve.knee("z")) == (2000, None, 2000)
    assert [args for args, _ in axes.of("scatter")] == [((2000, 2000), (5.0, 2.5))]
    assert [args for args, _ in axes.of("set_xticks")] == [([1000, 2000, 8000], ["1k", "2k", "8k"])]
    assert [args for args, _ in axes.of("set_xlabel")] == [("vocabulary size",)]
    assert [args for args, _ in axes.of("set_ylabel")] == [("bytes per token",)]
    below = [line.partition(":")[0] for line in str(curve).splitlines()]
    assert below[-4:] == ["", "bytes/token", "gain", "tokens changed"]
    assert [plots.short_number(size) for size in (500, 999, 1000, 1500, 16_000)] == ["500", "999", "1k", "1.5k", "16k"]


def test_the_picture_of_an_evaluation(axes: Axes) -> None:
    """A bar for each tokenizer beside the next one, a group for each corpus, from the low to the high end."""
    rows = []
    for place, (name, corpus) in enumerate((name, corpus) for corpus in ("c", "d") for name in ("t", "u")):
        tokens = 440 + 110 * place
        interval = 1100 / tokens - 0.25, 1100 / 440 + 0.5
        row = replace(ROW, tokenizer=name, corpus=corpus, tokens=tokens, bytes_per_token_interval=interval)
        rows.append(row)
    Evaluation(tuple(rows)).plot("x.svg")
    bars = {options["label"]: (args, options) for args, options in axes.of("bar")}
    heights = {"t": [1100 / 440, 1100 / 660], "u": [1100 / 550, 1100 / 770]}
    assert {name: args[1] for name, (args, _) in bars.items()} == heights
    for name, (_, options) in bars.items():
        below, above = options["yerr"]
        assert below == pytest.approx([0.25, 0.25])
        assert above == pytest.approx([1100 / 440 + 0.5 - height for height in heights[name]])
    places = {name: args[0] for name, (args, _) in bars.items()}
    assert places["t"] == pytest.approx([-0.2, 0.8])
    assert places["u"] == pytest.approx([0.2, 1.2])
    assert len({options["color"] for _, options in bars.values()}) == 2
    assert [tuple(map(list, args)) for args, _ in axes.of("set_xticks")] == [([0, 1], ["c", "d"])]


def test_curves_of_several_patterns_are_those_of_each() -> None:
    """One call gives the lines that a call for each pattern gives, and counts each text once."""
    texts = ["low lower lowest", "see my eyes", "newest widest", "世界 dogs and cats", "slow"] * 4
    held = {"x": ["see my lowest dogs"], "y": ["low"]}
    options: dict[str, Any] = {"held_out_texts": held, "shares": [0.2, 0.5, 1.0]}
    several = bbpe.corpus_curve(texts, 275, patterns={"a": "gpt2", "b": "none", "c": [r"\w", "s"]}, **options)
    for name, pattern in (("a", "gpt2"), ("b", "none"), ("c", [r"\w", "s"])):
        one = bbpe.corpus_curve(texts, 275, pattern=pattern, **options)
        assert [replace(point, tokenizer=name) for point in one] == [
            point for point in several if point.tokenizer == name
        ]
    assert {point.tokenizer for point in bbpe.corpus_curve(texts, 260, patterns=["gpt2", "o200k"], **options)} == {
        "gpt2", "o200k",
    }  # fmt: skip


def test_curves_of_several_tokenizers_are_those_of_each() -> None:
    texts = ["low lower lowest", "see my eyes", "newest widest"] * 3
    toks = {name: bbpe.train_from_iterator(texts, 275, pattern=name) for name in ("gpt2", "none")}
    held = {"x": texts, "y": ["see my lowest dogs"]}
    several = bbpe.learning_curve(toks, [260, 270, 275], texts=held)
    for name, tok in toks.items():
        one = bbpe.learning_curve(tok, [260, 270, 275], texts=held)
        assert [replace(point, tokenizer=name) for point in one] == [
            point for point in several if point.tokenizer == name
        ]
        assert several.knee("x", name) == one.knee("x")
    assert bbpe.learning_curve([*toks.values()], [260], texts=held).points[0].tokenizer == "tokenizer 1"
    with pytest.raises(ValueError, match=r"^corpus is 'x' and tokenizer is None; expected one of \('x', 'gpt2'\), "):
        several.knee("x")
    with pytest.raises(ValueError, match="corpus is 'z'"):
        several.knee("z", "gpt2")
    with pytest.raises(ValueError, match="at most 265 tokens"):
        bbpe.learning_curve([toks["gpt2"], bbpe.train_from_iterator(texts, 265)], [270], texts=held)


def test_lines_have_names_in_tables_and_pictures(axes: Axes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bbpe.report.curves._LEAST", 3)
    named = tuple(replace(point, tokenizer=name) for name in ("a", "b") for point in POINTS)
    curve = Curve("vocabulary size", named)
    assert list(curve.lines()) == ["a, x", "a, y", "b, x", "b, y"]
    assert list(Curve("", named[:3] + named[6:9]).lines()) == ["a", "b"]
    assert list(Curve("", named[:6]).lines()) == ["x", "y"]
    assert curve.table().header[:3] == ("tokenizer", "corpus", "vocabulary size")
    assert curve.table().rows[7][:3] == ("b", "x", "2,000")
    assert curve.as_dict()["knees"] == {"a, x": 2000, "a, y": None, "b, x": 2000, "b, y": None}
    curve.plot("x.svg")
    assert [options["label"] for _, options in axes.of("plot")] == ["a, x", "a, y", "b, x", "b, y"]
    assert len({options["color"] for _, options in axes.of("plot")}) == 4
    assert "<td" in curve.to_html()
    assert "<h1>Learning curve</h1>" in curve.to_html()
    assert curve.to_markdown().startswith("| tokenizer")


@pytest.mark.parametrize(
    ("given", "kind", "message"),
    [
        ({"pattern": "gpt2", "patterns": ["none"]}, ValueError, "pattern is 'gpt2' and patterns is"),
        ({"patterns": []}, ValueError, r"patterns is \[\]; expected at least one pattern"),
        ({"patterns": ["gpt2", "gpt2"]}, ValueError, "expected each pattern once"),
        ({"patterns": "gpt2"}, TypeError, "expected a list of patterns"),
    ],
)
def test_wrong_patterns_are_named(given: dict[str, Any], kind: type[Exception], message: str) -> None:
    with pytest.raises(kind, match=message):
        bbpe.corpus_curve(["low"] * 4, 260, held_out_texts=["low"], **given)
