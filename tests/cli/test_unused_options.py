"""Options of commands of reports that would change nothing are errors that name them, and so are files of records."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import bbpe
from bbpe.cli import main

TOK = bbpe.train_from_iterator(["see my eyes first, see my dogs"] * 9, 270)
UNIGRAM = bbpe.train_from_iterator(["see my eyes first, see my dogs"] * 9, 280, model="unigram")
ANY: Any = bbpe
Call = Callable[[str], tuple[int, str, str]]


@pytest.fixture
def call(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Call:
    monkeypatch.chdir(tmp_path)
    TOK.save("t.json")
    UNIGRAM.save("u.json")
    Path("a.txt").write_text("see my eyes")
    Path("a.jsonl").write_text('{"text": "see"}\n')
    Path("part-00000").write_text('{"text": "see"}\n')

    def run(line: str) -> tuple[int, str, str]:
        status = main(line.split())
        return status, *capsys.readouterr()

    return run


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("lint -t t.json --json --examples 1", "--examples does not go with --json"),
        ("lint -t t.json --json --details", "--details does not go with --json"),
        ("lint -t t.json --min-count 3", "--min-count is 3; expected it only with files or texts"),
        ("compare t.json u.json --most 1", "--most is 1; expected it only with files or texts"),
        ("show see -t t.json --ids --json", "--ids does not go with --json, which has the ids"),
        ("show see -t t.json --ids --trace", "--ids does not go with --trace, which has the ids"),
    ],
)
def test_options_that_change_nothing(line: str, message: str, call: Call) -> None:
    status, out, err = call(line)
    assert (status, out) == (2, "")
    assert err.startswith(f"bbpe: error: {message}")


@pytest.mark.parametrize(
    "line",
    ["lint a.txt -t t.json --min-count 3", "lint -t t.json --min-count 10", "compare t.json u.json a.txt --most 1"],
)
def test_options_that_mean_something(line: str, call: Call) -> None:
    assert call(line)[0] in (0, 1)
    assert not call(line)[2]


def test_arguments_that_need_a_corpus() -> None:
    with pytest.raises(ValueError, match=r"^min_count is 3; expected it only with files or texts"):
        ANY.lint(TOK, min_count=3)
    with pytest.raises(ValueError, match=r"^most is 0; expected it only with files or texts"):
        ANY.compare(TOK, UNIGRAM, most=0)


def test_traces_as_json(call: Call) -> None:
    """One object per line, for each tokenizer, of which a lattice is one too."""
    status, out, _ = call("show eyes -t t.json -t u.json --trace --json")
    rows = [json.loads(line) for line in out.splitlines()]
    assert status == 0
    assert [row.pop("name") for row in rows] == ["t.json", "u.json"]
    assert rows == [json.loads(json.dumps(tok.trace("eyes").as_dict())) for tok in (TOK, UNIGRAM)]


@pytest.mark.parametrize("name", ["a.jsonl", "part-00000", "a.txt a.jsonl"])
def test_a_page_of_records_is_refused(name: str, call: Call) -> None:
    status, out, err = call(f"view {name} -t t.json -o v.html")
    assert (status, out) == (1, "")
    assert f"{name.split()[-1]}: a file of JSON lines; expected text, or --input-format text" in err
    assert not Path("v.html").exists()
    assert call(f"view {name} -t t.json -o v.html --input-format text")[1] == "saved v.html\n"
    assert "&quot;" in Path("v.html").read_text() or "text" in Path("v.html").read_text()


def test_a_page_of_a_table_is_refused(call: Call) -> None:
    pa, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    parquet.write_table(pa.table({"text": ["see"]}), "a.parquet")
    status, _, err = call("view a.parquet -t t.json -o v.html")
    assert status == 1
    assert "a.parquet: a file of Parquet; expected text" in err
