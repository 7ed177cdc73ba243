"""The tables of an evaluation: one figure a cell, the best one marked, definitions below, and every form of them."""

from __future__ import annotations

import csv
import io
import json
import re
from argparse import Namespace
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import bbpe
from bbpe.cli import main
from bbpe.cli.streams import EVAL, painted
from bbpe.report.evaluation import Evaluation
from bbpe.report.figures import Bar, bars, lines
from bbpe.report.measures import Measures, TextTotals
from bbpe.report.metrics import METRICS, gini
from bbpe.report.plots import COLOURS
from bbpe.report.tables import Table

TEXTS = ["see my eyes first, see my dogs\n", "low lower lowest slow\n", "hello é\n", "newest 123 dogs"] * 4
SMALL = bbpe.train_from_iterator(TEXTS, 270)
LARGE = bbpe.train_from_iterator(TEXTS, 290)
ENGLISH, CHINESE = TextTotals(7, 1100, 900, 130, 800, 0, 7), TextTotals(7, 1200, 400, 20, 380, 300, 7)


def row(tokenizer: str, corpus: str, tokens: int, **given: Any) -> Measures:
    text = CHINESE if corpus == "zh" else ENGLISH
    return Measures(tokenizer, corpus, text, tokens, 11, 101, 13, None, 300, 210, 0.625, **given)


ROWS = (
    row("a", "en", 500, bytes_per_token_interval=(2.0, 2.5)), row("b", "en", 400, bytes_per_token_interval=(2.7, 2.9)),
    row("a", "zh", 600), row("b", "zh", 600),
)  # fmt: skip
PLAIN = Evaluation(ROWS)
PARALLEL = Evaluation(
    tuple(replace(each, parity=parity) for each, parity in zip(ROWS, (1.0, 1.0, 1.2, 1.5), strict=True)), "en"
)


def test_a_table_has_one_figure_a_cell_and_marks_the_best() -> None:
    """More bytes a token and fewer tokens a word are better; equal ones are all the best."""
    assert PLAIN.table().text().splitlines() == [
        "corpus             a              b",
        "en      2.200 ±0.250   2.750 ±0.100*",
        "zh             2.000*         2.000*",
    ]  # fmt: skip
    assert PLAIN.table("fertility").text().splitlines()[1:] == ["en      3.846  3.077*", "zh        n/a    n/a"]
    assert PLAIN.table("used_share").best == frozenset()
    assert Evaluation(ROWS[::2]).table().best == frozenset()


def test_a_tokenizer_that_loses_text_is_not_the_best() -> None:
    """An unknown token stands for any text, so a tokenizer with many of them needs the fewest tokens."""
    found = Evaluation((*ROWS, replace(ROWS[0], tokenizer="c", tokens=90, unknown=40), *(
        replace(row, tokenizer="c", unknown=0) for row in ROWS[2:3]
    )))  # fmt: skip
    for name in ("tokens", "bytes_per_token", "fertility"):
        assert 3 not in {at for line, at in found.table(name).best if line == 0}
    assert (1, 3) in found.table("tokens").best  # none is unknown there
    note = "note: c has unknown tokens (en 40 of 90), whose text is lost; these figures are never marked as the best"
    assert note in found.notes()
    assert note in found.notes(wide=True)
    assert f"% {note}" in found.to_latex()
    assert not [note for note in PLAIN.notes() if "unknown" in note]
    # the only figure of a line is not the best of several
    assert found.table("unknown_share").best == frozenset()
    many = [replace(ROWS[0], corpus=f"t{at}", unknown=at) for at in range(6)]
    assert any("t5 5 of 500, t4 4 of 500, t3 3 of 500 and 2 more)" in note for note in Evaluation(tuple(many)).notes())


def test_a_tokenizer_that_leaves_out_text_is_not_the_best() -> None:
    left = replace(ROWS[0], tokenizer="c", tokens=90, unknown=None, lost=70)
    found = Evaluation((*ROWS, left, *(replace(row, tokenizer="c", lost=0) for row in ROWS[2:3])))
    for name in ("tokens", "bytes_per_token", "fertility"):
        assert 3 not in {at for line, at in found.table(name).best if line == 0}
    assert (1, 3) in found.table("tokens").best  # nothing is left out there
    note = "note: c leaves out what has no token (en 70), whose text is lost; these figures are never marked as"
    assert [each for each in found.notes() if "lost" in each] == [f"{note} the best"]
    assert found.as_dict()["rows"][4]["lost"] == 70


@pytest.mark.parametrize("change", [{"lost": 1}, {"unknown": 1}])
def test_the_least_gini_is_not_that_of_lost_text(change: dict[str, int]) -> None:
    found = Evaluation((
        *(row("a", name, 500, parity=1.0) for name in ("en", "de")),
        *(row("b", name, tokens, parity=1.0) for name, tokens in (("en", 500), ("de", 700))),
    ), "en")  # fmt: skip
    assert {at for line, at in found.table().best if line == 2} == {1}
    losing = Evaluation((replace(found.rows[0], **change), *found.rows[1:]), "en")
    assert {at for line, at in losing.table().best if line == 2} == {2}


@pytest.mark.parametrize("name", METRICS)
def test_each_figure_is_that_of_its_row(name: str) -> None:
    found = bbpe.evaluate({"a": SMALL, "b": LARGE}, texts={"x": TEXTS, "y": TEXTS[:2]}, parity="x")
    metric, table = METRICS[name], found.table(name)
    assert hasattr(found.rows[0], name)
    for line, (corpus, *cells) in enumerate(table.rows[:2]):
        values = [getattr(found.row(tokenizer, corpus), name) for tokenizer in "ab"]
        shown = [cell.partition(" ±")[0] for cell in cells]
        assert shown == [metric.form(value) if value is not None else "-" for value in values]
        best = {"more": max, "less": min}.get(metric.better)
        if best and None not in values:
            marked = [values[at - 1] for number, at in table.best if number == line]
            assert marked == [best(values)] * values.count(best(values))
    assert found.notes(name)[0].startswith(f"{metric.label}: ")


def test_a_ranking_of_languages() -> None:
    found = Evaluation((*PARALLEL.rows, row("a", "de", 400, parity=0.5), row("b", "de", 500, parity=2.0)), "en")
    table = found.table()
    assert [line[0] for line in table.rows] == ["de", "en", "zh", "Gini"]
    assert found.ginis() == {"a": gini([500, 600, 400]), "b": gini([400, 600, 500])}
    # 0.5 and 2 are as far from 1, and the reference has no best one
    assert {at for at in table.best if at[0] < 2} == {(0, 1), (0, 2)}
    assert {at for at in table.best if at[0] >= 2} == {(2, 1), (3, 1), (3, 2)}
    assert found.table("tokens").rows[0][0] == "en"
    assert found.as_dict()["gini"] == found.ginis()
    assert "gini" not in PLAIN.as_dict()
    with pytest.raises(ValueError, match="there is no reference corpus; name one by parity="):
        PLAIN.table("parity")


@pytest.mark.parametrize(
    ("counts", "shown", "best"), [((0, 400), "-", {2}), ((400, 0), "0.100", {1}), ((0, 0), "-", set())]
)
def test_who_has_no_tokens_at_all_has_no_gini(counts: tuple[int, int], shown: str, best: set[int]) -> None:
    """And is not the one that treats the languages most alike."""
    found = Evaluation(tuple(
        row(name, corpus, count and count + more, parity=1.0) for corpus, more in (("en", 0), ("de", 200))
        for name, count in zip("ab", counts, strict=True)
    ), "en")  # fmt: skip
    table = found.table()
    assert (table.rows[-1][:2], {at for line, at in table.best if line == 2}) == (("Gini", shown), best)


def test_corpora_of_other_lines_are_noted() -> None:
    assert not [note for note in PARALLEL.notes() if note.startswith("note")]
    found = bbpe.evaluate(SMALL, texts={"en": ["a\nb\n", "c"], "zh": ["a\nb"], "ja": ["a\n\nb\n"]}, parity="en")
    assert [each.text.lines for each in found] == [3, 2, 3]
    assert found.notes()[-1] == "note: en has 3 lines, zh 2 lines; parity needs the same content in each corpus"


@pytest.mark.parametrize(("values", "expected"), [
    ([], None), ([0, 0], None), ([7], 0.0), ([4, 4, 4], 0.0), ([0, 0, 0, 8], 0.75), ([1, 2, 3], 2 / 9),
])  # fmt: skip
def test_the_gini_coefficient(values: list[float], expected: float | None) -> None:
    """The mean difference of all pairs over twice the mean."""
    assert gini(values) == (None if expected is None else pytest.approx(expected))
    if expected is not None:
        pairs = sum(abs(one - other) for one in values for other in values)
        assert gini(values[::-1]) == pytest.approx(pairs / (2 * len(values) * sum(values)))


def test_definitions_stand_below() -> None:
    lines_below = str(PLAIN).splitlines()
    assert lines_below[0] == "bytes per token"
    assert lines_below[6] == "bytes per token: the UTF-8 bytes of all documents over their tokens; more is better"
    assert any(line.startswith("±: half the width of the 95 % interval") for line in lines_below)
    assert lines_below[-1] == "*: the best of its line"
    wide = PLAIN.to_text(wide=True)
    assert "95 % interval: " in wide
    assert "unknown: " not in wide
    assert "tokens per word: " in wide


def test_the_page_has_all_figures() -> None:
    page = Path(__file__).parents[2].joinpath("docs", "reference", "measure.md").read_text("utf-8")
    rows = [f"| `{each.name}` | {each.definition} | {each.better or '-'} |" for each in METRICS.values()]
    assert "\n".join(rows) in page


@pytest.mark.parametrize(("call", "message"), [
    (lambda: PLAIN.table("fertilit"), "metric is 'fertilit'; expected 'tokens', .*; did you mean 'fertility'"),
    (lambda: PLAIN.to_html("x"), "metric is 'x'; expected 'tokens', "),
    (lambda: PLAIN.table("tokens", wide=True), "metric is 'tokens' and wide is True; expected one of them"),
])  # fmt: skip
def test_wrong_figures_are_named(call: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()
    with pytest.raises(TypeError, match="metric must be the name of a figure"):
        PLAIN.table(5)  # type: ignore[arg-type]


def test_figures_as_csv() -> None:
    """All counts and figures; intervals are two numbers."""
    found = list(csv.DictReader(io.StringIO(PLAIN.to_csv())))
    assert [each["tokens"] for each in found] == ["500", "400", "600", "600"]
    assert (found[0]["bytes_per_token_interval_low"], found[0]["bytes_per_token_interval_high"]) == ("2.0", "2.5")
    assert (found[2]["fertility"], found[2]["bytes_per_token_interval_low"]) == ("", "")
    keys = {key for key in PLAIN.as_dict()["rows"][0] if not key.endswith("_interval")}
    assert keys <= found[0].keys()
    curve = bbpe.learning_curve(LARGE, [270, 290], texts={"x,y": TEXTS})
    assert [each["size"] for each in csv.DictReader(io.StringIO(curve.to_csv()))] == ["270", "290"]


def test_a_table_for_latex() -> None:
    table = Table(("a_b", "c%"), (("x&y", "1 ±2"), ("{~^\\}", "#$")), 1, frozenset({(0, 1)}))
    assert table.latex().splitlines() == [
        r"% needs \usepackage{booktabs}", r"\begin{tabular}{lr}", r"\toprule", r"a\_b & c\% \\", r"\midrule",
        r"x\&y & \textbf{1 $\pm$2} \\", r"\{\textasciitilde{}\textasciicircum{}\textbackslash{}\} & \#\$ \\",
        r"\bottomrule", r"\end{tabular}",
    ]  # fmt: skip
    assert PLAIN.to_latex("tokens").endswith(PLAIN.table("tokens").latex())
    assert PLAIN.to_latex("tokens").splitlines()[:2] == [
        "% tokens: the tokens of all documents, without special tokens; less is better", "% bold: the best of its line"
    ]  # fmt: skip
    assert "& tokens per word" not in PLAIN.to_latex(wide=True)
    assert "tokens/word" in PLAIN.to_latex(wide=True)


def test_markdown_and_html_have_the_best_in_bold() -> None:
    assert PLAIN.to_markdown("tokens").splitlines()[2] == "| en | 500 | **400** |"
    assert "<strong>400</strong>" in PLAIN.table("tokens").html()
    assert "tokens/word" in PLAIN.to_markdown(wide=True)


@pytest.mark.parametrize("columns", [30, 60, 80, 100])
def test_names_across_are_shortened_where_they_do_not_fit(columns: int) -> None:
    names = [f"{number}-a-very-long-name-of-a-tokenizer" for number in range(5)]
    table = Table(("corpus", *names), (("en", *["1.234"] * 5),), 1, across=True)
    found = table.text(columns)
    assert max(map(len, found.splitlines())) <= columns or columns == 30
    assert (len(found.splitlines()) == 2) is (columns > 50)
    names = [f"aaaaaaaaaaaaaaaa{number}bbbbbbbbbbbbbbbb" for number in range(3)]
    alike = Table(("corpus", *names), (("x", *"123"),), 1, across=True)
    assert all(f"aaa{number}bbb" in alike.text(40) for number in range(3))  # shortened they would be equal


def test_a_page_has_bars_tables_and_definitions() -> None:
    page = PLAIN.to_html("tokens")
    assert page.count("<rect") == 4
    assert page.count('class="best"') == 2 * 3  # the name and the figure of each best bar, of which two are equal
    assert "<dt>tokens per word</dt>" in page
    assert "<dt>bold</dt>" in page
    assert "width=\"100.00\"" in page
    intervals = PLAIN.to_html()
    assert intervals.count('stroke="var(--ink)"') == 2
    found = bars("t", [("g", [Bar("<n>", 1.0, "1"), Bar("m", None, "-"), Bar("o", 4.0, "4", (3.0, 5.0), True)])])
    assert [f'width="{width}"' in found for width in ("20.00", "0.00", "80.00")] == [True] * 3
    assert "M60.00 6H100.00" in found
    assert "&lt;n&gt;" in found


def test_a_curve_has_lines_and_rings() -> None:
    series = [("a", [1000, 2000, 4000], [1, 2, 3]), ("b", [1000, 4000], [2, 3])]
    found = lines("c", series, across="x", up="y", knees=[(2000, 2)])
    assert (found.count("<polyline"), found.count('r="3"'), found.count('r="8"')) == (2, 5, 1)
    assert [f">{size}</text>" in found for size in ("1k", "2k", "4k")] == [True] * 3
    assert lines("c", [], across="x", up="y") == ""
    one = lines("c", [("a", [1000], [2.0])], across="x", up="y")
    assert "nan" not in one
    assert lines("c", [("a", [0, 4], [0.0, 2.0])], across="x", up="y").count('r="3"') == 2
    page = bbpe.learning_curve({"a": LARGE, "b": LARGE}, [260, 270, 290], texts={"x": TEXTS}).to_html()
    assert (page.count("<polyline"), "<dt>gain</dt>" in page) == (2, True)


def test_lines_of_a_curve_differ_in_colour_and_then_in_dashes() -> None:
    count = len(COLOURS)
    found = lines("c", [(f"n{number}", [1, 2], [3, 4]) for number in range(count + 2)], across="x", up="y")
    drawn = re.findall(r'<polyline [^>]* stroke="([^"]+)" stroke-width="2"([^>]*)/>', found)
    marks = re.findall(r'<path d="M0 5H26" stroke="([^"]+)" stroke-width="3"([^>]*)/>', found)
    assert marks == drawn
    assert [bool(dash) for _, dash in drawn] == [False] * count + [True] * 2
    assert len({*drawn}) == count + 2
    assert [colour for colour, _ in drawn[count:]] == [colour for colour, _ in drawn[:2]]
    assert re.findall(r"</svg>(n\d+)</span>", found) == [f"n{number}" for number in range(count + 2)]


def test_a_curve_defines_its_figures() -> None:
    curve = bbpe.learning_curve(LARGE, [270, 280], texts={"x": TEXTS})
    notes = ["bytes/token: the UTF-8 bytes of all texts over their tokens; more is better",
             "gain: the bytes per token that each further thousand tokens adds"]  # fmt: skip
    assert str(curve).splitlines()[-3:] == ["", *notes]
    assert curve.to_latex().splitlines()[:2] == [f"% {note}" for note in notes]
    pieces = bbpe.train_from_iterator(TEXTS, 290, model="unigram")
    with pytest.raises(bbpe.VocabularyError, match="p: the tokenizer has no smaller vocabularies"):
        bbpe.learning_curve({"p": pieces}, [270], texts={"x": TEXTS})


def test_the_figure_that_is_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn: list[str] = []
    monkeypatch.setattr("bbpe.report.evaluation.save_evaluation", lambda rows, path, metric: drawn.append(metric.name))
    for metric in (None, "fertility"):
        PLAIN.plot("x.svg", metric)
    PARALLEL.plot("x.svg")
    assert drawn == ["bytes_per_token", "fertility", "parity"]


def test_the_page_of_a_comparison_has_bars() -> None:
    page = bbpe.compare(SMALL, LARGE, texts=TEXTS, names=("<s>", "l")).to_html()
    small, large = (sum(tok.count_tokens_batch(TEXTS)) for tok in (SMALL, LARGE))
    assert f'<b>{small:,}</b>' in page
    assert f'<b class="best">{large:,}</b>' in page
    assert "Pretokens that differ most" in page
    assert "<rect" not in bbpe.compare(SMALL, LARGE).to_html()


# -- the command line ---------------------------------------------------------------------------------


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    SMALL.save("a.json")
    LARGE.save("b.json")
    Path("flores").mkdir()
    texts = {"eng_Latn": "see my dogs\nlow\n", "zho_Hans": "世界世界\n世界\n", "deu_Latn": "eyes lower\nx\n"}
    for name, text in texts.items():
        Path("flores", f"{name}.devtest").write_text(text, "utf-8")
    return tmp_path


def printed(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    assert main(["eval", *words, "-t", "a.json", "-t", "b.json", "--quiet"]) == 0
    return capsys.readouterr().out


def test_the_best_figure_has_a_colour_with_its_interval() -> None:
    shown = painted(PLAIN.table().text(), EVAL, Namespace(color="always"))
    assert "\x1b[32m2.750 ±0.100*\x1b[0m" in shown
    assert shown.count("\x1b[32m") == 3
    assert "\x1b[32m3.0%*" in painted("en  3.0%*  4.0%", EVAL, Namespace(color="always"))


def test_options_choose_the_figure_and_its_form(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = "flores/eng_Latn.devtest"
    found = bbpe.evaluate({"a.json": SMALL, "b.json": LARGE}, {"eng_Latn": file})
    names = {"eng_Latn.devtest": "eng_Latn"}

    def shown(*words: str) -> str:
        text = printed(capsys, file, *words)
        for name, other in names.items():
            text = text.replace(name, other)
        return text.rstrip("\n")

    assert shown("--markdown", "--metric", "fertility") == found.to_markdown("fertility")
    assert shown("--markdown", "--wide") == found.to_markdown(wide=True)
    assert shown("--latex").replace("eng\\_Latn.devtest", "eng\\_Latn") == found.to_latex()
    assert shown("--csv") == found.to_csv().rstrip("\n")
    assert shown("--metric", "tokens").splitlines()[0] == "tokens"
    assert "tokens/word" in shown("--wide")
    printed(capsys, file, "--json", "--html", "t.html", "--metric", "tokens")
    assert "<figcaption>tokens</figcaption>" in Path("t.html").read_text("utf-8")


def test_a_folder_with_a_file_for_each_language(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["flores", "--each-file", "--parity", "eng_Latn", "--document", "line"]
    found = json.loads(printed(capsys, *words, "--json"))
    assert {each["corpus"] for each in found["rows"]} == {"eng_Latn", "zho_Hans", "deu_Latn"}
    assert found["reference"] == "eng_Latn"
    lines_of = printed(capsys, *words).splitlines()
    assert lines_of[0] == "parity"
    names = [line.split()[0] for line in lines_of[3:7]]
    assert sorted(names[:3]) == ["deu_Latn", "eng_Latn", "zho_Hans"]
    assert names[2:] == ["zho_Hans", "Gini"]
    for name in ("x.txt", "x.jsonl"):
        Path("flores", name).write_text('{"text": "x"}\n' * 2)
    printed(capsys, "flores", "--each-file", "--json")


@pytest.mark.parametrize(("words", "message"), [
    ("--metric tokens --json", "--metric does not go with --json, which has all figures; expected it without"),
    ("--wide --csv", "--wide does not go with --csv, which has all figures; expected it without"),
    ("--metric parity", "--metric parity needs --parity NAME, the corpus to compare with"),
    ("--parity en", "--parity is 'en', and all files of flores are one corpus; give --each-file"),
    ("--metric token", "--metric: unknown value 'token' (did you mean 'tokens'?)"),
    ("--sizes 260 --wide", "--wide does not go with --sizes; expected it without"),
    ("--sizes 260 --metric tokens", "--metric does not go with --sizes; expected it without"),
])  # fmt: skip
def test_options_that_would_change_nothing(
    words: str, message: str, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    try:
        status = main(["eval", "flores", "-t", "a.json", *words.split()])
    except SystemExit as found:
        status = int(found.code or 0)
    assert (status, message in capsys.readouterr().err) == (2, True)
