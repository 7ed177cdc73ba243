"""`bbpe shard` and `bbpe shards`."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

import bbpe
from bbpe.cli import main

EOS = "<|endoftext|>"


@pytest.fixture
def made(tmp_path: Path) -> list[str]:
    """Arguments that name a corpus, a tokenizer and an end of documents."""
    bbpe.train_from_iterator(["low lower lowest"] * 3, 270, special_tokens=[EOS]).save(tmp_path / "tok.json")
    lines = [json.dumps({"text": f"low {number} lower"}) + "\n" for number in range(60)]
    (tmp_path / "a.jsonl").write_text("".join(lines))
    return [str(tmp_path / "a.jsonl"), "-t", str(tmp_path / "tok.json"), "--eos", EOS, "--part-size", "400"]


def test_standard_input_is_refused_with_the_way_out(made: list[str], tmp_path: Path) -> None:
    for files in (["-"], ["-", made[0]]):
        error = refused(*files, *made[1:], "-o", tmp_path / "out")
        assert "- is standard input, which cannot be read again" in error
        assert "save it to a file first" in error


def refused(*arguments: object) -> str:
    command = [sys.executable, "-m", "bbpe", "shard", *map(str, arguments)]
    run = subprocess.run(command, input="", capture_output=True, text=True, check=False)
    assert (run.returncode, run.stdout) == (2, "")
    return run.stderr


def test_a_single_part_is_spelled_as_one(made: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["shard", *made[:-1], "1MB", "-o", tmp_path / "out"]
    assert say(capsys, *arguments, "--plan-only").startswith("1 part: ")
    assert "; 1 of 1 part: " in say(capsys, *arguments, "--part", "0/1")
    assert "; 1 part of megatron: " in say(capsys, *arguments)
    Path(made[0]).unlink()
    assert say(capsys, "shards", "verify", tmp_path / "out", "--sample", "0").startswith("no faults")
    assert "--sample 0 checks without it" in say(capsys, "shards", "verify", tmp_path / "out", status=1)


def say(capsys: pytest.CaptureFixture[str], *arguments: object, status: int = 0) -> str:
    assert main(list(map(str, arguments))) == status
    captured = capsys.readouterr()
    return captured.out if not status else captured.out + captured.err


def test_at_once_or_in_parts(made: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    record = json.loads(say(capsys, "shard", *made, "-o", tmp_path / "one", "--json", "--quiet"))
    assert (record["documents"], record["output"]) == (60, str(tmp_path / "one"))
    parts = json.loads(say(capsys, "shard", *made, "-o", tmp_path / "two", "--plan-only", "--json"))["parts"]
    assert parts > 3
    sums = [0]
    assert "parts are missing" in say(capsys, "shard", "-o", tmp_path / "two", "--finish", status=1)
    for number in (2, 0, 1):
        out = say(capsys, "shard", "-o", tmp_path / "two", "--part", f"{number}/3", "--quiet")
        assert f" of {parts} parts" in out
        written = [json.loads(path.read_text()) for path in (tmp_path / "two").glob("part-*.json")]
        sums.append(sum(record["documents"] for record in written))
        assert out.startswith(f"{sums[-1] - sums[-2]} documents")
    assert "60 documents" in say(capsys, "shard", "-o", tmp_path / "two", "--finish")
    for path in (tmp_path / "one").glob("part-*"):
        assert path.read_bytes() == (tmp_path / "two" / path.name).read_bytes()
    assert "60 documents" in say(capsys, "shard", *made, "-o", tmp_path / "two", "--quiet")
    differs = say(capsys, "shard", *made, "--format", "llmc", "-o", tmp_path / "two", status=1)
    assert "format 'megatron' and 'llmc'" in differs


def test_progress_is_in_bytes(made: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["shard", *made, "-o", str(tmp_path / "one"), "--progress", "json", "--threads", "1"]) == 0
    steps = [json.loads(line) for line in capsys.readouterr().err.splitlines()]
    size = (tmp_path / "a.jsonl").stat().st_size
    assert steps[-1]["done"] == steps[-1]["total"] == size
    assert {step["phase"] for step in steps} == {"shard"}


def test_verify_merge_and_show(made: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    say(capsys, "shard", *made, "-o", tmp_path / "one", "--quiet")
    assert "no faults" in say(capsys, "shards", "verify", tmp_path / "one", "-t", tmp_path / "tok.json")
    merged = say(capsys, "shards", "merge", tmp_path / "one", "-o", tmp_path / "all", "--shuffle", "7")
    assert "60 documents" in merged
    say(capsys, "shards", "merge", tmp_path / "one", "-o", tmp_path / "equal", "--shard-size", "100")
    assert len(bbpe.load_shards(tmp_path / "equal").plan) > 2
    ids, text = say(capsys, "shards", "show", tmp_path / "one", "3").splitlines()
    assert text == f"low 3 lower{EOS}"
    assert bbpe.load(tmp_path / "tok.json").decode(list(map(int, ids.split()))) == text
    facts = json.loads(say(capsys, "shards", "show", tmp_path / "all", "--json"))
    assert (facts["documents"], facts["format"], facts["shuffle"], facts["parts"]) == (60, "megatron", 7, 1)
    (tmp_path / "one" / "part-00000.lens").write_bytes(b"")
    assert "part-00000.lens: the file has 0 bytes" in say(capsys, "shards", "verify", tmp_path / "one", status=1)


def test_wrong_usage_is_named(made: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "expected files and a tokenizer" in say(capsys, "shard", "-o", tmp_path / "one", status=2)
    for wrong in ("3/3", "a/b", "-1/4", "3-1", "3,3", "1,2-4,3", "", "2-", "1,,2", "9" * 9):
        with pytest.raises(SystemExit):
            main(["shard", "-o", str(tmp_path / "one"), f"--part={wrong}"])
        assert "--part: expected" in capsys.readouterr().err
    say(capsys, "shard", *made, "-o", tmp_path / "one", "--plan-only")
    error = say(capsys, "shard", "-o", tmp_path / "one", "--part", "1,99", status=2)
    assert "--part names part 99; the plan has " in error
