"""Reports say how far they are, as training does; the bar of a short one never appears."""

from __future__ import annotations

import gzip
import io
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from options import train_options

import bbpe
from bbpe.cli import main
from bbpe.progress import Progress, ProgressBar

TOK = bbpe.train_from_iterator(["see my eyes first", "see my dogs"] * 9, 270)
SMALL = bbpe.train_from_iterator(["see my eyes first", "see my dogs"] * 9, 265)
REPORTS: dict[str, tuple[set[str], Callable[..., Any]]] = {
    "evaluate": ({"measure"}, lambda **how: bbpe.evaluate([SMALL, TOK], **how)),
    "lint": ({"check", "measure"}, lambda **how: bbpe.lint(TOK, **how)),
    "compare": ({"split", "compare"}, lambda **how: bbpe.compare(SMALL, TOK, **how)),
    "learning_curve": ({"prune", "measure"}, lambda **how: bbpe.learning_curve(TOK, [265, 270], **how)),
}


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("folder").mkdir()
    Path("folder/a.txt").write_text("see my dogs\n" * 3000)
    Path("folder/b.jsonl").write_text('{"text": "see my eyes"}\n{"text": null}\n' * 300)
    Path("folder/c.jsonl.gz").write_bytes(gzip.compress(b'{"text": "see my eyes"}\n' * 300))
    TOK.save("t.json")
    SMALL.save("s.json")


@pytest.mark.parametrize("name", REPORTS)
@pytest.mark.parametrize("batch", [100, 1 << 23])
def test_progress_of_files_goes_to_the_end(name: str, batch: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bbpe.report.texts._BATCH", batch)
    phases, report = REPORTS[name]
    size = sum(path.stat().st_size for path in Path("folder").iterdir())
    seen: list[Progress] = []
    files = {"corpus" if name in ("lint", "compare") else "corpora": "folder"}
    found = report(**files, progress=seen.append)
    assert found.as_dict() == report(**files).as_dict()
    assert {each.phase for each in seen} == phases
    for phase in phases:
        rows = [each for each in seen if each.phase == phase]
        assert [each.done for each in rows] == sorted(each.done for each in rows)
        assert (rows[0].done, rows[-1].done) == (0, rows[-1].total)
        if rows[0].unit == "bytes":
            assert rows[0].total == size
            assert len(rows) > (20 if batch == 100 else 1)


@pytest.mark.parametrize("name", REPORTS)
def test_progress_of_texts_has_no_total(name: str) -> None:
    seen: list[Progress] = []
    REPORTS[name][1](texts=["see", b"my dogs"], progress=seen.append)
    rows = [each for each in seen if each.unit == "bytes"]
    assert (rows[-1].done, {each.total for each in rows}) == (10, {None})


def test_progress_of_several_corpora_adds_up() -> None:
    seen: list[Progress] = []
    bbpe.evaluate(TOK, {"a": "folder/a.txt", "b": "folder/b.jsonl"}, progress=seen.append)
    sizes = [Path(f"folder/{name}").stat().st_size for name in ("a.txt", "b.jsonl")]
    assert {each.done for each in seen} >= {0, sizes[0], sum(sizes)}
    assert {each.total for each in seen} == {sum(sizes)}


def test_a_growing_corpus_reports_its_trainings() -> None:
    seen: list[Progress] = []
    bbpe.corpus_curve(["see my dogs"] * 9, 260, held_out_texts=["see"], progress=seen.append)
    assert {"count", "merge"} <= {each.phase for each in seen}


@pytest.mark.parametrize("name", [*REPORTS, "count_tokens", "shard"])
def test_what_is_no_progress(name: str) -> None:
    calls: dict[str, Callable[..., Any]] = {
        "count_tokens": lambda **how: bbpe.count_tokens("folder", TOK, **how),
        "shard": lambda **how: bbpe.shard("folder", "out", TOK, **how),
    }
    how: dict[str, Any] = {} if name in calls else {"texts": ["a"]}
    call = calls[name] if name in calls else REPORTS[name][1]
    with pytest.raises(TypeError, match=r"^progress is 'bar', a str; expected a bool, a callable or None"):
        call(**how, progress="bar")


@pytest.mark.parametrize(
    "command",
    [
        ["eval", "-t", "t.json", "folder"], ["eval", "-t", "t.json", "folder", "--sizes", "265,270"],
        ["lint", "-t", "t.json", "folder"], ["compare", "s.json", "t.json", "folder"],
    ],
    ids=["eval", "sizes", "lint", "compare"],
)  # fmt: skip
def test_the_commands(command: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(command) == 0
    plain = capsys.readouterr()
    assert plain.err == ""
    assert main([*command, "--quiet"]) == 0
    assert capsys.readouterr() == plain
    assert main([*command, "--progress", "json"]) == 0
    out, err = capsys.readouterr()
    assert out == plain.out
    rows = [json.loads(line) for line in err.splitlines()]
    assert {row["phase"] for row in rows} & {"measure", "split"}
    assert rows[-1]["done"] == rows[-1]["total"]


def test_a_bar_appears_after_its_delay(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = [0.0]
    monkeypatch.setattr("time.monotonic", lambda: clock[0])
    stream = io.StringIO()
    with ProgressBar(stream=stream, delay=2.0) as bar:
        for now in range(20):
            clock[0] = now / 10
            bar(Progress("read", now, 100, "bytes"))
        assert stream.getvalue() == ""
        bar(Progress("plan", 0, None, "bytes", "a note"))
    assert stream.getvalue() == ""
    clock[0] = 10.0
    with ProgressBar(stream=stream, delay=2.0) as bar:
        for now in range(11):
            clock[0] = 10 + now
            bar(Progress("read", now * 1_000_000, 10_000_000, "bytes"))
    assert stream.getvalue().splitlines()[-1] == "read  10.0 of 10.0 MB  1.0 MB/s  in 10.0 s"


def shown(text: str) -> str:
    """What a terminal shows, without the codes that hide the cursor."""
    return re.sub(r"\x1b\[[?\d;]*[a-zA-Z]", "", text).strip()


@pytest.mark.parametrize("name", [*REPORTS, "corpus_curve"])
def test_a_short_report_has_no_bar(
    name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """It would appear after two seconds; a training shows its notes at once."""
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    texts = ["see my dogs"] * 9
    if name == "corpus_curve":
        bbpe.corpus_curve(texts, 260, held_out_texts=["see"], progress=True)
    else:
        REPORTS[name][1](texts=texts, progress=True)
    assert shown(capsys.readouterr().err) == ""
    bbpe.train_from_iterator(texts, 260, **train_options(progress=True))
    told = shown(capsys.readouterr().err)
    assert "the longest token has" in told
    assert "merges/s" not in told


@pytest.mark.parametrize("batch", [1, 10, 1 << 23])
def test_progress_is_of_all_files_that_were_read(
    batch: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each report says how many bytes are read by then, of files one after another."""
    monkeypatch.setattr("bbpe.report.texts._BATCH", batch)
    texts = ["see my dogs", "low", "a longer text than these", "x"]
    for number, text in enumerate(texts):
        (tmp_path / f"{number}.txt").write_text(text)
    tok, seen = bbpe.train_from_iterator(texts, 260), list[Progress]()
    bbpe.evaluate(tok, [tmp_path / f"{number}.txt" for number in range(4)], progress=seen.append)
    ends = [11, 14, 38, 39]
    expected = {1: [0, *ends, 39], 10: [0, 11, 38, 39], 1 << 23: [0, 39]}[batch]
    assert [each.done for each in seen] == expected
    assert {each.total for each in seen} == {39}


@pytest.mark.parametrize("document", ["line", "file"])
def test_progress_goes_on_within_a_file_of_lines(
    document: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bbpe.report.texts._BATCH", 8)
    (tmp_path / "a.txt").write_text("low\nlower\nsee\nmy\neyes and dogs\n")
    (tmp_path / "b.txt").write_text("slow and lower\n")
    tok, seen = bbpe.train_from_iterator(["low lower"], 257), list[Progress]()
    bbpe.evaluate(tok, [tmp_path / "a.txt", tmp_path / "b.txt"], document=document, progress=seen.append)
    ends = {"line": [0, 10, 31, 46, 46], "file": [0, 31, 46, 46]}[document]
    assert [each.done for each in seen] == ends
