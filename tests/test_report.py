"""The suite's report: the README and the page say what the latest record says, and nothing that was not measured."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from benchmarks import plan, report
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
    area = {"title": report.SHOWN[0], "note": "a note", "job": "encode_flat", "rows": rows}
    return {
        "date": "2026-01-02", "machine": machine, "versions": {"python": "3.12"}, "areas": [area],
        "left_out": ["Memory ja"], "texts": texts, "repeat": 3, "seconds": 90,
    }


def test_tables() -> None:
    block = report.readme_block(record())
    cell = "800 MB/s"  # the figure of a row stands in it; ratios are of medians
    assert f"| {report.SHOWN[0]}: en | {cell} | gigatoken 2.5x | 20.0x | (8 MB/s) |" in block
    assert f"| {report.SHOWN[0]}: ja | 400 MB/s | - | - | - |" in block
    page = report.page(record())
    assert "| en | 800 MB/s | 20.0x | (8 MB/s) | 2.5x |" in page
    assert "There was no time for: Memory ja" in page
    assert "en.8 abababababab" in page
    assert path_of(record()).name == "a-r-cpu-2-cores-2026-01-02.json"


def test_the_readme_and_the_page_are_rendered() -> None:
    latest = report.latest()
    readme = (ROOT / "README.md").read_text("utf-8")
    assert report.BEGIN in readme
    assert report.with_block(readme, report.readme_block(latest)) == readme
    assert (ROOT / "docs" / "benchmarks.md").read_text("utf-8") == report.page(latest)


def test_publishing(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    (tmp_path / "docs").mkdir()
    (tmp_path / "README.md").write_text(f"before\n{report.BEGIN}\nstale\n{report.END}\nafter\n")
    report.publish(record(), tmp_path)
    written = (tmp_path / "README.md").read_text()
    assert written.startswith("before\n")
    assert written.endswith("\nafter\n")
    assert "stale" not in written
    plot = (tmp_path / "docs" / "benchmarks-encode.svg").read_bytes()
    assert b"gigatoken" in plot
    report.publish(record(), tmp_path)
    assert (tmp_path / "docs" / "benchmarks-encode.svg").read_bytes() == plot


@pytest.mark.parametrize("areas", [plan.FULL, plan.QUICK])
def test_plans_name_what_there_is(areas: tuple[plan.Area, ...]) -> None:
    for area in areas:
        assert set(area.libraries) <= JOBS[area.job].libraries.keys(), area.title
        assert area.libraries[0] == "bbpe"
        assert [*area.cases("1000", plan.ALL)], area.title
        assert [*area.cases("1000", ["stdlib", "docstrings"])], area.title
    assert set(plan.ENCODERS) <= PEERS.keys()
