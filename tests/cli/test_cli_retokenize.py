"""`bbpe shards convert --retokenize`: the ids of another tokenizer; each option is what `plan_retokenizing` gets."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import bbpe
from bbpe.cli import main

END, SEP = "<|end|>", "<|sep|>"


@pytest.fixture
def made(tmp_path: Path) -> list[str]:
    """Arguments that name shards of an old tokenizer, a format and a new tokenizer."""
    old = bbpe.train_from_iterator(["low lower lowest"] * 3, 262, special_tokens=[END, SEP])
    new = bbpe.train_from_iterator(["low lower slow"] * 3, 264, special_tokens=["</s>", "<s>"])
    new.save(tmp_path / "new.json")
    lines = [json.dumps({"text": f"low {number}{SEP} lower"}) + "\n" for number in range(60)]
    (tmp_path / "a.jsonl").write_text("".join(lines))
    bbpe.shard(tmp_path / "a.jsonl", tmp_path / "old", old, eos=END, allowed_special="all")
    return ["shards", "convert", str(tmp_path / "old"), "--from", "bbpe", "--to", "olmo", "--quiet"]


def test_options_are_heeded(made: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    new, out = bbpe.load(tmp_path / "new.json"), tmp_path / "out"
    options = ["--retokenize", str(tmp_path / "new.json"), "--new-eos", "</s>", "--new-bos", "<s>", "-o", str(out)]
    more = ["--special", f"{SEP}=<s>", "--check", "0", "--part-size", "200"]
    assert main([*made, *options, *more, "--plan-only"]) == 0
    for part in range(2):
        assert main(["shards", "convert", "-o", str(out), "--part", f"{part}/2", "--quiet"]) == 0
    assert main(["shards", "convert", "-o", str(out), "--finish"]) == 0
    done = bbpe.load_shards(out)
    assert len(done.plan) > 1
    assert done.totals.checked == 0
    for number, ids in enumerate(done):
        assert new.decode(ids) == f"<s>low {number}<s> lower</s>"
    capsys.readouterr()
    assert main([*made, *options[:2], "--special", f"{SEP}=", "-o", str(tmp_path / "two"), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["checked"] == 60
    assert new.decode(bbpe.load_shards(tmp_path / "two")[3]) == f"low 3{SEP} lower"


@pytest.mark.parametrize(
    ("given", "status", "shown"),
    [
        (["--check", "0.5"], 2, "--check is about another vocabulary; expected --retokenize with it"),
        (["--new-eos", "</s>"], 2, "--new-eos is about another vocabulary"),
        (["--special", "x"], 2, "expected OLD=NEW"),
        (["--retokenize", "new.json"], 1, f"has the special token {SEP!r}"),
        (["--retokenize", "new.json", "--special", "<x>="], 1, "special names '<x>', which is no"),
        (["--retokenize", "new.json", "--special", f"{SEP}=", "--to-dtype", "int7"], 2, "--to-dtype is 'int7'"),
        (["--retokenize", "new.json", "--special", f"{SEP}=", "--new-eos", "<x>"], 2, "--new-eos is '<x>'"),
    ],
)
def test_wrong_options_are_named(
    given: list[str], status: int, shown: str, made: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    try:
        found: object = main([*made, "-o", "out", *given])
    except SystemExit as left:
        found = left.code
    assert found == status
    assert shown in capsys.readouterr().err
