"""The suite's report: the README, the page and the pictures show the latest record, and nothing else."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from benchmarks import plan, report, which_model
from benchmarks.jobs import JOBS
from benchmarks.peers import PEERS
from benchmarks.record import path_of

ROOT = Path(__file__).resolve().parent.parent


def row(library: str, costs: list[float], corpus: str = "en", right: bool = True, failed: str = "") -> dict[str, Any]:
    row = {"job": "encode_flat", "corpus": corpus, "options": {"passes": "1"}, "library": library, "costs": costs}
    figures = {"figure": 8 / costs[0], "unit": "MB/s"} if costs else {}
    return {**row, **figures, "right": right, "failed": failed}


def record() -> dict[str, Any]:
    rows = [
        row("bbpe", [0.01, 0.02, 0.03]), row("tiktoken", [0.4]), row("tokenizers", [1.0], right=False),
        row("gigatoken", [0.05]), row("bbpe", [0.02], "ja"), row("tiktoken", [], "ja", failed="more than 30 s"),
    ]
    machine = {"cpu": "A (R) CPU", "cores": 2, "memory_gb": 8, "system": "Linux", "load": 0.1}
    texts = {"en.8": {"bytes": 8, "sha256": "ab" * 32}}
    area = {"title": report.ENCODE, "note": "a note", "job": "encode_flat", "rows": rows}
    trained = {**area, "title": report.TRAIN, "rows": [row("bbpe", [0.1]), row("tokenizers", [0.8])]}
    return {
        "date": "2026-01-02", "machine": machine, "versions": {"python": "3.12"}, "areas": [area, trained],
        "left_out": ["Memory ja", "Start en tables=no", "Start en tables=yes"],
        "texts": texts, "repeat": 3, "seconds": 90,
    }


def test_tables() -> None:
    block = report.readme_block(record())
    cell = "800 MB/s"  # the figure of a row as recorded; ratios are of medians
    assert f"| Encode English, first pass | {cell} | 2.5x as fast as gigatoken | 20.0x | (8 MB/s) |" in block
    assert "| Encode Japanese, first pass | 400 MB/s | - | - | - |" in block
    assert "Load a vocabulary" not in block  # not in this record
    page = report.page(record())
    assert "| en | 800 MB/s | 20.0x | (8 MB/s) | 2.5x |" in page
    assert "no time for these cases:\n\n* Memory ja\n* Start en; tables: no, yes\n" in page
    assert "en.8 abababababab" in page
    assert path_of(record()).name == "a-r-cpu-2-cores-2026-01-02.json"


def test_the_sentence() -> None:
    sentence = report.sentence(record())
    assert "English at 800 MB/s" in sentence
    assert "2.5 times as fast as gigatoken, 20 times as fast as tiktoken, with identical ids" in sentence
    assert "trains at 80 MB/s: 8 times as fast as tokenizers" in sentence
    assert report.sentence(None) == report.NONE


def test_the_readme_the_page_and_the_pictures_are_rendered() -> None:
    latest = report.latest()
    readme = (ROOT / "README.md").read_text("utf-8")
    assert report.BEGIN in readme
    assert report.SENTENCE in readme
    assert report.rendered(readme, latest) == readme
    assert (ROOT / "docs" / "benchmarks.md").read_text("utf-8") == report.page(latest)
    assert latest is not None
    for name, svg in report.pictures(latest).items():
        assert (ROOT / "docs" / name).read_text("utf-8") == svg


def test_every_figure_of_the_readme_is_in_the_record() -> None:
    """Figures of speed appear only in what is rendered: nobody writes one down by hand."""
    readme = (ROOT / "README.md").read_text("utf-8")
    for marks in ((report.BEGIN, report.END), (report.SENTENCE, report.SENTENCE_END)):
        readme = report.with_block(readme, "", marks)
    assert re.findall(r"\d+(?:\.\d+)?x\b|[MG]B/s", readme) == []


def test_publishing(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "README.md").write_text(f"before\n{report.BEGIN}\nstale\n{report.END}\nafter\n")
    report.publish(record(), tmp_path)
    written = (tmp_path / "README.md").read_text()
    assert written.startswith("before\n")
    assert written.endswith("\nafter\n")
    assert "stale" not in written
    pictures = {path.name: path.read_bytes() for path in (tmp_path / "docs").glob("*.svg")}
    names = {"speed", "benchmarks-encode", "benchmarks-train"}
    assert pictures.keys() == {f"{name}{size}.svg" for name in names for size in ("", "-narrow")}
    report.publish(record(), tmp_path)
    assert {path.name: path.read_bytes() for path in (tmp_path / "docs").glob("*.svg")} == pictures


def test_a_picture() -> None:
    """Bars are sorted and labelled; a library with wrong answers, or without any, has none."""
    svg = report.pictures(record())["benchmarks-encode.svg"]
    texts = [text.text for text in ElementTree.fromstring(svg).iter("{http://www.w3.org/2000/svg}text")]
    assert texts[:7] == ["Encoding English", "bbpe", "800 MB/s", "gigatoken", "160 MB/s", "tiktoken", "20 MB/s"]
    assert texts[7:10] == ["Encoding Japanese", "bbpe", "400 MB/s"]
    assert "prefers-color-scheme:dark" in svg
    assert "tokenizers" not in texts
    narrow = report.pictures(record())["benchmarks-encode-narrow.svg"]
    same = [text.text for text in ElementTree.fromstring(narrow).iter("{http://www.w3.org/2000/svg}text")]
    assert same[:10] == texts[:10]
    assert 'width="340"' in narrow


@pytest.mark.parametrize("areas", [plan.FULL, plan.QUICK])
def test_plans_name_what_there_is(areas: tuple[plan.Area, ...]) -> None:
    for area in areas:
        assert set(area.libraries) <= JOBS[area.job].libraries.keys(), area.title
        assert area.libraries[0] == "bbpe"
        assert [*area.cases("1000", plan.ALL)], area.title
        assert [*area.cases("1000", ["stdlib", "docstrings"])], area.title
    assert set(plan.ENCODERS) <= PEERS.keys()


def test_the_pictures_of_models_show_their_table() -> None:
    page = (ROOT / "docs" / "which-model.md").read_text("utf-8")
    drawn = re.search(r"^\| \| en \|.*\n(?:\|.*\n)+", page, re.MULTILINE)
    assert drawn is not None
    head, _, *lines = drawn[0].splitlines()
    names = [cell.strip() for cell in head.strip("|").split("|")[1:]]
    rows = {}
    for line in lines:
        model, *cells = (cell.strip() for cell in line.strip("|").split("|"))
        figures = [re.fullmatch(r"([\d.]+) \(([\d.]+) s\)", cell).groups() for cell in cells]
        rows[model] = {name: (float(found), float(time)) for name, (found, time) in zip(names, figures, strict=True)}
    assert which_model.table(rows) == "\n".join([head, "|---|" + "---|" * len(names), *lines])
    for suffix, draw in {"": which_model.plot, "-narrow": which_model.narrow_plot}.items():
        assert (ROOT / "docs" / f"which-model{suffix}.svg").read_text("utf-8") == draw(rows)
