"""What a command writes is never what it reads, by whatever name."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from processes import package_env
from systems import MAKES_LINKS

import bbpe
from bbpe.cli import main

pytest.importorskip("pyarrow")

Call = Callable[..., tuple[int, str, str]]
TEXT = "see my dogs\n" * 50


@pytest.fixture
def call(capfd: pytest.CaptureFixture[str]) -> Call:
    def invoke(*arguments: object) -> tuple[int, str, str]:
        status = main(list(map(str, arguments)))
        return status, *capfd.readouterr()

    return invoke


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Texts, counts and tokenizers by many names."""
    monkeypatch.chdir(tmp_path)
    for name in ("a.txt", "b.txt", "c.json", "d/e.txt", "d/vocab.json", "d/f/g.txt"):
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        Path(name).write_text(TEXT)
    if MAKES_LINKS:
        Path("link.txt").symlink_to("a.txt")
        Path("folder-link").symlink_to("d")
    Path("hard.txt").hardlink_to("b.txt")
    tok = bbpe.train(["a.txt"], 262)
    tok.save("t.json")
    for name in ("model", "pair"):
        Path(name).mkdir()
    tok.save("model/tokenizer.json")
    tok.save("pair", format="gpt2")
    bbpe.count("a.txt", pattern="gpt2").save("x.parquet")
    shutil.copy("x.parquet", "y.parquet")
    return tmp_path


def content(folder: Path) -> dict[str, bytes | None]:
    return {str(path): path.read_bytes() if path.is_file() else None for path in sorted(folder.rglob("*"))}


COUNT, TRAIN = ["count", "--pattern", "gpt2", "--quiet"], ["train", "--vocab-size", "262", "--quiet"]
EXTEND, PRUNE = ["extend", "-t", "t.json", "--add", "2", "--quiet"], ["prune", "-t", "t.json", "--keep", "258"]
PAIR = ["--pattern", "gpt2", "--format"]
ENCODE = ["encode", "-t", "t.json", "--numpy"]


@pytest.mark.parametrize(
    ("arguments", "written"),
    [
        # what a shell makes of `-o *.txt`
        ([*COUNT, "-o", "a.txt", "a.txt", "b.txt"], "a.txt"),
        ([*COUNT, "b.txt", "a.txt", "-o", "a.txt"], "a.txt"),
        ([*COUNT, "a.txt", "-o", "./a.txt"], "a.txt"),
        ([*COUNT, "a.txt", "-o", "d/../a.txt"], "d/../a.txt"),
        ([*COUNT, "a.txt", "-o", "link.txt"], "link.txt"),
        ([*COUNT, "link.txt", "-o", "a.txt"], "a.txt"),
        ([*COUNT, "b.txt", "-o", "hard.txt"], "hard.txt"),
        ([*COUNT, "hard.txt", "-o", "b.txt"], "b.txt"),
        ([*COUNT, "*.txt", "-o", "b.txt"], "b.txt"),
        ([*COUNT, "**/*.txt", "-o", "d/f/g.txt"], "d/f/g.txt"),
        ([*COUNT, "d", "-o", "d/f/g.txt"], "d/f/g.txt"),
        ([*COUNT, "d", "-o", "folder-link/e.txt"], "folder-link/e.txt"),
        ([*COUNT, "folder-link", "-o", "d/e.txt"], "d/e.txt"),
        (["counts", "merge", "x.parquet", "y.parquet", "-o", "x.parquet"], "x.parquet"),
        (["counts", "merge", "x.parquet", "y.parquet", "-o", "./y.parquet"], "y.parquet"),
        ([*TRAIN, "c.json", "-o", "c.json"], "c.json"),
        ([*TRAIN, "a.txt", "c.json", "-o", "d/../c.json"], "d/../c.json"),
        ([*TRAIN, "a.txt", "-o", "link.txt", "--format", "huggingface"], "link.txt"),
        ([*TRAIN, "d", "-o", "d", "--format", "gpt2"], "d"),
        ([*TRAIN, "d/*.json", "-o", "d", "--format", "gpt2"], "d/vocab.json"),
        ([*TRAIN, "d/vocab.json", "-o", "folder-link", "--format", "gpt2"], "folder-link/vocab.json"),
        ([*TRAIN, "--counts", "x.parquet", "-o", "x.parquet", "--format", "tiktoken"], "x.parquet"),
        ([*PRUNE, "--used-in", "pair/merges.txt", "-o", "pair", "--format", "gpt2"], "pair/merges.txt"),
        (["convert", "t.json", "pair", "--format", "gpt2", "--verify", "pair/merges.txt"], "pair/merges.txt"),
        ([*EXTEND, "c.json", "-o", "c.json"], "c.json"),
        ([*EXTEND, "a.txt", "-o", "t.json"], "t.json"),
        ([*EXTEND, "a.txt", "-o", "t.json", "--format", "tiktoken"], "t.json"),
        ([*EXTEND, "--counts", "x.parquet", "-o", "x.parquet", "--format", "tiktoken"], "x.parquet"),
        (["extend", "-t", "model", "a.txt", "--add", "2", "-o", "model"], "model"),
        (["extend", "-t", "model/tokenizer.json", "a.txt", "-o", "model", "--format", "huggingface"],
         "model/tokenizer.json"),
        (["extend", "-t", "model", "a.txt", "-o", "model/tokenizer.json"], "model/tokenizer.json"),
        (["extend", "-t", "pair/vocab.json", "a.txt", "-o", "pair", *PAIR, "gpt2"], "pair/merges.txt"),
        ([*PRUNE, "-o", "t.json"], "t.json"),
        ([*PRUNE, "--used-in", "c.json", "-o", "c.json"], "c.json"),
        ([*PRUNE, "-o", "new.json", "--map", "t.json"], "t.json"),
        ([*PRUNE, "-o", "new.json", "--map", "./new.json"], "new.json"),
        ([*PRUNE, "--used-in", "a.txt", "-o", "new.json", "--map", "a.txt"], "a.txt"),
        ([*ENCODE, "a.txt", "a.txt"], "a.txt"),
        ([*ENCODE, "hard.txt", "a.txt", "b.txt"], "hard.txt"),
        ([*ENCODE, "t.json", "a.txt"], "t.json"),
        (["convert", "t.json", "t.json"], "t.json"),
        (["convert", "t.json", "./t.json", "--format", "tiktoken"], "t.json"),
        (["convert", "model", "model", "--format", "gpt2"], "model"),
        (["convert", "pair", "pair/merges.txt", *PAIR, "tiktoken"], "pair/merges.txt"),
        (["convert", "pair/vocab.json", "pair/merges.txt", *PAIR, "tiktoken"], "pair/merges.txt"),
        (["convert", "t.json", "c.json", "--verify", "a.txt", "c.json"], "c.json"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)  # fmt: skip
def test_an_output_that_is_an_input_is_refused(arguments: list[str], written: str, call: Call, folder: Path) -> None:
    if not MAKES_LINKS and any("link" in each for each in arguments):
        pytest.skip("needs links")
    before = content(folder)
    status, out, errors = call(*arguments)
    assert (status, out) == (1, "")
    assert errors.startswith(f"bbpe: error: {Path(written)}: ")
    assert "would replace an input of this command" in errors
    assert "choose another output" in errors
    assert errors.count("\n") == 1
    assert content(folder) == before


@pytest.mark.parametrize(
    "arguments",
    [
        [*COUNT, "a.txt", "-o", "new.parquet"],
        [*COUNT, "a.txt", "b.txt", "-o", "y.parquet"],
        [*COUNT, "d", "--input-format", "text", "-o", "d/new.parquet"],
        [*COUNT, "a.txt", "-o", "a"],
        ["counts", "merge", "x.parquet", "y.parquet", "-o", "z.parquet"],
        # a file beside what is written is no reason to refuse
        [*TRAIN, "c.json", "--input-format", "text", "-o", "tokenizer.json"],
        [*TRAIN, "d/e.txt", "-o", "d", "--format", "gpt2"],
        [*EXTEND, "a.txt", "-o", "model"],
        [*PRUNE, "-o", "c.json", "--map", "b.npy"],
        ["convert", "t.json", "c.json"],
        ["convert", "model/tokenizer.json", "model", "--format", "gpt2"],
        [*ENCODE, "ids.npy", "a.txt", "b.txt"],
    ],
    ids=" ".join,
)  # fmt: skip
def test_other_outputs_are_written(arguments: list[str], call: Call, folder: Path) -> None:
    before = content(folder)
    assert call(*arguments)[::2] == (0, "")
    after = content(folder)
    assert after != before
    for name in ("a.txt", "t.json"):
        assert after[str(folder / name)] == before[str(folder / name)]


def test_standard_input_may_be_the_output_file(folder: Path) -> None:
    environment, output = package_env(), "link.txt" if MAKES_LINKS else "a.txt"
    with Path("a.txt").open("rb") as source:
        command = [sys.executable, "-m", "bbpe", *COUNT, "-", "-o", output]
        done = subprocess.run(command, stdin=source, env=environment, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (1, "")
    assert f"{output}: the counts would replace an input of this command, as standard input" in done.stderr
    assert Path("a.txt").read_text() == TEXT


@pytest.mark.parametrize("arguments", [[*COUNT, "a.txt"], [*TRAIN, "a.txt"], PRUNE, [*EXTEND, "a.txt"]], ids=" ".join)
def test_what_cannot_be_replaced_is_refused_before_anything_is_read(
    arguments: list[str], call: Call, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def read(*_: object, **__: object) -> None:
        raise AssertionError("something was read")

    for name in ("count", "train", "load", "get_encoding"):
        monkeypatch.setattr(bbpe, name, read)
    suffix = ".parquet" if "count" in arguments else ".json"
    for name in ("read-only", "two-names"):
        Path(name + suffix).write_text("old")
    Path("read-only" + suffix).chmod(0o444)
    Path("other-name").hardlink_to("two-names" + suffix)
    for output, said in {"read-only": "read-only", "two-names": "hard links", "none/x": "no such folder"}.items():
        status, _, errors = call(*arguments, "-o", output + suffix)
        assert status == 1
        assert said in errors


def test_a_folder_is_no_place_for_counts(call: Call, folder: Path) -> None:
    for arguments in ([*COUNT, "a.txt"], ["counts", "merge", "x.parquet"]):
        status, _, errors = call(*arguments, "-o", "d")
        assert (status, "d: this is a folder; expected the name of a file" in errors) == (1, True)
