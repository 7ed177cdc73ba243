"""An evaluation as text, LaTeX, CSV, data and pages: which notes stand below which table, and in which order."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import pytest

from bbpe.report import evaluation
from bbpe.report.evaluation import Evaluation
from bbpe.report.measures import Measures, TextTotals
from bbpe.report.metrics import INTERVAL, METRICS, SPREAD
from bbpe.report.tables import NOTHING, Table, csv_of, of_rows

TEXT = TextTotals(7, 1100, 900, 130, 800, 0, 7)


def row(tokenizer: str, corpus: str, tokens: int, **given: Any) -> Measures:
    return Measures(tokenizer, corpus, given.pop("text", TEXT), tokens, 11, 101, 13, None, 300, 210, 0.625, **given)


PLAIN = Evaluation((
    row("a", "en", 500, bytes_per_token_interval=(2.0, 2.5)), row("b", "en", 400), row("a", "de", 550),
    row("b", "de", 440),
))  # fmt: skip
RANKED = Evaluation((
    row("a", "en", 500, parity=1.0), row("a", "fr", 750, parity=1.5), row("a", "de", 600, parity=1.2),
), "en")  # fmt: skip
BYTES = "bytes per token: the UTF-8 bytes of all documents over their tokens; more is better"
PARITY = ("parity: the premium of a language: its tokens over those of the reference corpus, which has the same "
          "content; best near 1")  # fmt: skip
GINI = "Gini: how unequal the tokens of all corpora are; 0 if each needs as many, at most 1"


@pytest.fixture(autouse=True)
def _wide(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(evaluation, "line_columns", lambda: 400)


def test_a_table_stands_between_its_title_and_its_notes() -> None:
    shown = ["bytes per token", "", *PLAIN.table().text().splitlines(), "", BYTES, SPREAD, "*: the best of its line"]
    assert str(PLAIN).splitlines() == PLAIN.to_text().splitlines() == shown
    tokens = "tokens: the tokens of all documents, without special tokens; less is better"
    assert PLAIN.to_text("tokens").splitlines() == [
        "tokens", "", "corpus    a    b", "en      500  400*", "de      550  440*", "", tokens,
        "*: the best of its line",
    ]  # fmt: skip
    used = "vocabulary used: the share of the vocabulary that occurs"
    assert PLAIN.to_text("used_share").splitlines()[-2:] == ["", used]
    assert PLAIN.to_latex("tokens") == PLAIN.table("tokens").latex([tokens, "bold: the best of its line"])
    assert PLAIN.to_markdown("tokens") == PLAIN.table("tokens").markdown()
    assert PLAIN._repr_html_("tokens").startswith(f"<p>tokens</p>{PLAIN.table('tokens').html()}<dl><dt>tokens</dt>")
    assert PLAIN._repr_html_("tokens").endswith("<dt>bold</dt><dd>the best of its line.</dd></dl>")


def test_all_figures_have_their_notes() -> None:
    """Those without a figure have none, and no mark is explained that is not there."""
    shown = [METRICS[name].explained() for name in (
        "tokens", "bytes_per_token", "characters_per_token", "fertility", "split_share", "single_byte_share",
        "used_share", "renyi_efficiency",
    )]  # fmt: skip
    assert PLAIN.notes(wide=True) == [*shown, INTERVAL]
    assert PLAIN.to_text(wide=True).splitlines() == [
        *PLAIN.table(wide=True).text().splitlines(), "", *shown, INTERVAL,
    ]  # fmt: skip
    assert PLAIN.to_latex(wide=True) == PLAIN.table(wide=True).latex([*shown, INTERVAL])
    without = Evaluation(tuple(replace(each, bytes_per_token_interval=None) for each in PLAIN.rows))
    assert without.notes(wide=True) == shown
    assert without.notes() == [BYTES, "*: the best of its line"]


def test_a_ranking_explains_its_reference() -> None:
    assert RANKED.notes() == [PARITY, "reference: en", GINI]
    assert RANKED.to_text().splitlines() == [
        "parity", "", "corpus      a", "en      1.000", "de      1.200", "fr      1.500", "Gini    0.090", "", PARITY,
        "reference: en", GINI,
    ]  # fmt: skip
    assert [line[0] for line in RANKED.table("tokens").rows] == ["en", "fr", "de"]
    assert RANKED.as_dict() == {
        "rows": [each.as_dict() for each in RANKED.rows], "reference": "en",
        "gini": {"a": pytest.approx(2 * (500 * 1 + 600 * 2 + 750 * 3) / (3 * 1850) - 4 / 3)},
    }  # fmt: skip
    assert PLAIN.as_dict() == {"rows": [each.as_dict() for each in PLAIN.rows]}


@pytest.mark.parametrize(("lines", "note"), [
    ({}, None), ({"de": 8}, "note: en has 7 lines, de 8 lines; parity needs the same content in each corpus"),
    ({"en": 1}, "note: en has 1 line, fr 7 lines, de 7 lines; parity needs the same content in each corpus"),
    ({"fr": 1, "de": 0}, "note: en has 7 lines, fr 1 line, de 0 lines; parity needs the same content in each corpus"),
])  # fmt: skip
def test_corpora_with_other_lines_than_the_reference(lines: dict[str, int], note: str | None) -> None:
    found = Evaluation(tuple(
        replace(each, text=replace(TEXT, lines=lines.get(each.corpus, 7))) for each in RANKED.rows
    ), "en")  # fmt: skip
    assert [each for each in found.notes() if each.startswith("note")] == ([note] if note else [])
    assert not [each for each in found.notes("tokens") + found.notes(wide=True) if each.startswith("note")]
    five = [row("a", f"c{at}", 500, parity=1.0, text=replace(TEXT, lines=at)) for at in range(5)]
    assert Evaluation((RANKED.rows[0], *five), "en").notes()[-1] == (
        "note: en has 7 lines, c0 0 lines, c1 1 line, c2 2 lines and 2 more; parity needs the same content in each "
        "corpus"
    )


def test_a_page_has_the_figure_then_tables_then_notes() -> None:
    page = PLAIN.to_html("tokens")
    parts = [
        "<main><h1>Evaluation</h1><figure><figcaption>tokens</figcaption>", PLAIN.table("tokens").html(),
        "<h2>All figures</h2>", PLAIN.table(wide=True).html(),
        "<p>Totals are divided, not averaged over documents.</p>", "<dl><dt>tokens</dt>", "<dt>bold</dt>",
        "<dt>bytes per token</dt>", "<dt>95 % interval</dt>", "</dl></main>",
    ]  # fmt: skip
    places = [page.index(part) for part in parts]
    assert places == sorted(places)
    # what stands below both tables is explained once
    assert len(re.findall("<dt>tokens</dt>", page)) == 1
    assert re.findall('<span class="group">(.*?)</span>', page) == ["en", "de"]
    names = re.findall(r'<span( class="best")?>([ab])</span>', page)
    assert names == [("", "a"), (' class="best"', "b")] * 2
    ranked = RANKED.to_html()
    assert re.findall('<span class="group">(.*?)</span>', ranked) == ["en", "de", "fr"]
    assert 'class="best"' not in ranked


def test_a_line_of_csv_begins_with_its_names() -> None:
    lines = PLAIN.to_csv().splitlines()
    assert lines[0].split(",")[:4] == ["corpus", "tokenizer", "documents", "bytes"]
    values = [dict(zip(lines[0].split(","), line.split(","), strict=True)) for line in lines[1:]]
    assert [(each["corpus"], each["tokenizer"], each["tokens"]) for each in values] == [
        ("en", "a", "500"), ("en", "b", "400"), ("de", "a", "550"), ("de", "b", "440"),
    ]  # fmt: skip
    ends = ["bytes_per_token_interval_low", "bytes_per_token_interval_high", "cost_ratio_interval_low"]
    assert [[each[name] for name in ends] for each in values[:2]] == [["2.0", "2.5", ""], ["", "", ""]]
    assert "bytes_per_token_interval" not in values[0]
    assert csv_of([]) == "\n"


def test_columns_that_say_nothing_are_left_out() -> None:
    """A column of names stays, and so does one with a single figure."""
    rows = [("x", "", "0", "0.0%", NOTHING, "0"), ("y", "", "0", "0.0%", NOTHING, "7")]
    columns: Any = [(f"c{at}", lambda row, at=at: row[at]) for at in range(6)]
    assert of_rows(rows, columns, left=1) == Table(("c0", "c5"), (("x", "0"), ("y", "7")), 1)
    assert of_rows(rows, columns, left=2) == Table(("c0", "c1", "c5"), (("x", "", "0"), ("y", "", "7")), 2)


def test_the_best_figures_of_a_table_are_marked() -> None:
    table = Table(("", "of", "a", "b"), (("x", "", "1", "2"), ("y", "z", "3", "4|")), 2, frozenset({(0, 3)}), True)
    assert table.text() == "   of  a   b\nx      1   2*\ny  z   3  4|"
    assert table.markdown().splitlines() == [
        "|  | of | a | b |", "| --- | --- | ---: | ---: |", "| x |  | 1 | **2** |", "| y | z | 3 | 4\\| |",
    ]  # fmt: skip
    assert table.latex(["n"]).splitlines() == [
        "% n", r"% needs \usepackage{booktabs}", r"\begin{tabular}{llrr}", r"\toprule", r" & of & a & b \\",
        r"\midrule", r"x &  & 1 & \textbf{2} \\", r"y & z & 3 & 4$|$ \\", r"\bottomrule", r"\end{tabular}",
    ]  # fmt: skip
    name, wide = "text-align: left; white-space: normal", "white-space: normal; overflow-wrap: anywhere"
    assert table.html() == (
        '<div role="region" aria-label="table of of" tabindex="0" style="overflow-x: auto"><table><thead><tr>'
        f'<td style="{name}"></td><th scope="col" style="{name}">of</th><th scope="col" style="{wide}">a</th>'
        f'<th scope="col" style="{wide}">b</th></tr></thead><tbody><tr><th scope="row" style="{name}">x</th>'
        f'<td style="{name}"></td><td>1</td><td><strong>2</strong></td></tr><tr><th scope="row" style="{name}">y</th>'
        f'<td style="{name}">z</td><td>3</td><td>4|</td></tr></tbody></table></div>'
    )
