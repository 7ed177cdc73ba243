"""`bbpe count`, `bbpe counts` and `bbpe train --counts`."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import bbpe
from bbpe.cli import main

pa = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")

Call = Callable[..., tuple[int, str, str]]


@pytest.fixture
def call(capfd: pytest.CaptureFixture[str]) -> Call:
    def invoke(*arguments: object) -> tuple[int, str, str]:
        status = main(list(map(str, arguments)))
        return status, *capfd.readouterr()

    return invoke


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("a.txt").write_text("low lower <s> lowest\nnew newer\n")
    Path("b.txt").write_text("newest low\n")
    Path("c.jsonl").write_text('{"body": "low"}\n{"body": null}\n')
    return tmp_path


def test_count_merge_train(call: Call, folder: Path) -> None:
    options = ["--special-token", "<s>", "--document", "line", "--pattern", "cl100k"]
    for name in "ab":
        status, out, errors = call("count", f"{name}.txt", "-o", f"{name}.parquet", *options, "--quiet")
        assert (status, errors) == (0, "")
        assert f"saved {name}.parquet" in out
    status, out, _ = call("counts", "merge", "a.parquet", "b.parquet", "-o", "ab.parquet", "--json")
    right = bbpe.count(["a.txt", "b.txt"], pattern="cl100k", special_tokens=["<s>"], document="line")
    assert json.loads(out)["pretokens"] == right.total
    assert list(bbpe.load_counts("ab.parquet")) == list(right)
    status, out, _ = call("train", "--counts", "ab.parquet", "--vocab-size", 270, "-o", "t.json", "--quiet", "--json")
    assert status == 0
    tok = bbpe.train(
        ["a.txt", "b.txt"], 270, pattern="cl100k", special_tokens=["<s>"], counting=bbpe.Counting(document="line")
    )
    assert bbpe.load("t.json") == tok
    assert json.loads(out)["fingerprint"] == tok.fingerprint


def test_extend_and_prune_by_counts(call: Call, folder: Path) -> None:
    tok = bbpe.train(["a.txt"], 265)
    tok.save("t.json")
    assert call("count", "b.txt", "-o", "b.parquet", "--quiet")[0] == 0
    counts = bbpe.load_counts("b.parquet")
    status, out, _ = call("extend", "-t", "t.json", "--counts", "b.parquet", "--add", 3, "-o", "more.json", "--json")
    assert (status, json.loads(out)["added"]) == (0, 3)
    assert bbpe.load("more.json") == bbpe.extend(tok, counts, 3)
    assert call("prune", "-t", "t.json", "--counts", "b.parquet", "-o", "less.json")[0] == 0
    assert len(bbpe.load("less.json")) < len(tok)


def test_counts_of_other_programs_have_the_pattern_of_the_tokenizer(call: Call, folder: Path) -> None:
    """Where a file has no pattern, that of the tokenizer counts, or the one that --pattern names."""
    tok = bbpe.train(["a.txt"], 265)
    tok.save("t.json")
    pretokens = pa.array([b"new", b"est", b" low"], pa.binary())
    parquet.write_table(pa.table({"pretoken": pretokens, "count": pa.array([1, 1, 1], pa.int64())}), "b.parquet")
    counts = bbpe.load_counts("b.parquet", pattern=tok.spec.pattern.steps)
    quiet = ["--counts", "b.parquet", "--quiet"]
    assert call("extend", "-t", "t.json", *quiet, "--add", 3, "-o", "more.json")[::2] == (0, "")
    assert bbpe.load("more.json") == bbpe.extend(tok, counts, 3)
    assert call("prune", "-t", "t.json", *quiet, "-o", "less.json")[::2] == (0, "")
    assert bbpe.load("less.json") == bbpe.prune(tok, used_in=counts)[0]
    assert call("train", *quiet, "--vocab-size", 258, "--pattern", "gpt2", "-o", "new.json")[::2] == (0, "")
    assert bbpe.load("new.json") == bbpe.train_from_counts(bbpe.load_counts("b.parquet", pattern="gpt2"), 258)
    status, _, errors = call("train", *quiet, "--vocab-size", 258, "-o", "none.json")
    assert (status, "the file does not say the pattern of its pretokens; pass --pattern" in errors) == (2, True)


def test_every_option_of_counting(call: Call, folder: Path) -> None:
    arguments: list[Any] = ["c.jsonl", "-o", "c.parquet", "--text-field", "body", "--max-memory", "4GB", "--threads", 2]
    arguments += ["--max-pretoken-bytes", 2, "--sample", 1, "--checkpoint", "state", "--json"]
    status, out, errors = call("count", *arguments, "--progress", "json")
    assert status == 0
    facts = json.loads(out)
    assert (facts["documents"], facts["skipped"], facts["cut"], facts["files"]) == (1, 1, 1, 1)
    assert list(bbpe.load_counts("c.parquet")) == [(b"lo", 1), (b"w", 1)]
    phases = [json.loads(line)["phase"] for line in errors.splitlines()]
    assert phases[0] == "plan"
    assert phases[-1] == "count"
    arguments = ["c.jsonl", "--vocab-size", 260, "-o", "t.json", "--text-field", "body", "--pad-vocab-to", 128]
    assert call("train", *arguments, "--max-memory", "4GB", "--quiet")[0] == 0
    assert bbpe.load("t.json").vocab_size == 384


def test_weights(call: Call, folder: Path) -> None:
    bbpe.count("a.txt", pattern="gpt2").save("a.parquet")
    bbpe.count("b.txt", pattern="gpt2").save("b.parquet")
    files = ["a.parquet", "b.parquet", "-o", "m.parquet"]
    assert call("counts", "merge", *files, "--weight", "3", "--weight", "0.5")[0] == 0
    right = bbpe.load_counts("a.parquet").scale(3) + bbpe.load_counts("b.parquet").scale(0.5)
    assert bbpe.load_counts("m.parquet") == right
    status, _, errors = call("counts", "merge", *files, "--weight", "3")
    said = "bbpe: error: --weight is given once for 2 files; expected one for each\nsee `bbpe counts merge --help`\n"
    assert (status, errors) == (2, said)


def test_show(call: Call, folder: Path) -> None:
    bbpe.count("a.txt", pattern="gpt2", special_tokens=["<s>"]).save("a.parquet")
    status, out, _ = call("counts", "show", "a.parquet", "--json", "--top", 1)
    facts = json.loads(out)
    assert (status, facts["pattern"], facts["special_tokens"], facts["document"]) == (0, "gpt2", ["<s>"], "file")
    assert len(facts["most_common"]) == 1
    status, out, _ = call("counts", "show", "a.parquet")
    assert "' lower'" in out


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["count", "none.txt", "-o", "x.parquet"], "none.txt"),
        (["count", "c.jsonl", "-o", "x.parquet"], "line 1"),
        (["count", "a.txt", "-o", "none/x.parquet"], "none"),
        (["count", "a.txt", "-", "-o", "x.parquet"], "standard input"),
        (["count", "a.txt", "-o", "x.parquet", "--max-memory", "4 lots"], "4 lots"),
        (["counts", "show", "a.txt"], "a.txt"),
        (["counts", "merge", "none.parquet", "-o", "x.parquet"], "none.parquet"),
        (["train", "--vocab-size", "300", "-o", "x.json"], "--counts"),
        (["train", "a.txt", "--counts", "x.parquet", "--vocab-size", "300", "-o", "x.json"], "--counts"),
        (["train", "--counts", "none.parquet", "--vocab-size", "300", "-o", "x.json"], "none.parquet"),
    ],
)
def test_refusals_are_one_line_and_write_nothing(call: Call, folder: Path, arguments: list[str], said: str) -> None:
    before = sorted(folder.iterdir())
    quiet = [] if arguments[0] == "counts" else ["--quiet"]
    status, out, errors = call(*arguments, *quiet)
    assert (out, said in errors, errors.count("\n")) == ("", True, status)
    assert status == (2 if said in ("standard input", "4 lots", "--counts") else 1)
    assert sorted(folder.iterdir()) == before
