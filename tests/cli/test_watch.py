"""Progress of commands: on standard error, after two seconds or as asked, and never among results."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

import bbpe
from bbpe.cli import COMMANDS, main, streams
from bbpe.progress import Progress

#: What takes no longer than a user waits, shows what it does itself, or goes on until it is stopped; of `shards`, the
#: actions that do more have it.
WITHOUT = {"counts", "shards", "inspect", "show", "serve", "completion"}
#: The phase of a command, its unit, the total and what is done in the end; `--verify` makes more texts.
WATCHED = [
    ("encode -t t.json a.txt", "encode", "bytes", 1800, 1800),
    ("encode -t t.json a.txt a.jsonl --numpy o.npy", "encode", "bytes", None, 1800 + 9 * len("see my dogs")),
    ("encode -t t.json --lines a.txt", "convert", "lines", None, 100),
    ("tokens -t t.json a.txt", "count", "bytes", 1800, 1800),
    ("tokens -t t.json --per-line a.txt", "count", "lines", None, 100),
    ("tokens -t t.json --truncate 5 a.txt", "truncate", "bytes", None, 1800),
    ("tokens -t t.json --chunk 50 a.txt", "chunk", "characters", None, 1800),
    ("decode -t t.json ids.txt", "decode", "ids", None, 3),
    ("convert t.json u.json --verify a.txt", "verify", "bytes", None, None),
]


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.txt").write_text("see my eyes first\n" * 100)
    Path("a.jsonl").write_text('{"text": "see my dogs"}\n' * 9)
    tok = bbpe.train_from_iterator(["see my eyes first"] * 9, 270)
    tok.save("t.json")
    Path("ids.txt").write_text(" ".join(map(str, tok.encode("see my eyes"))))


def test_every_long_command_has_progress(capsys: pytest.CaptureFixture[str]) -> None:
    for name in COMMANDS.keys() - WITHOUT:
        with pytest.raises(SystemExit, match="0"):
            main([name, "--help"])
        shown = capsys.readouterr().out
        assert "--progress {bar,json,none}" in shown, name
        assert "--quiet" in shown, name


@pytest.mark.parametrize(("words", "phase", "unit", "total"), [row[:4] for row in WATCHED])
def test_json_lines_and_silence(
    words: str, phase: str, unit: str, total: int | None, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    assert main(words.split()) == 0
    out, err = capfdbinary.readouterr()
    assert err == b""  # within two seconds
    for more in (["--quiet"], ["--progress", "none"]):
        assert main([*words.split(), *more]) == 0
        assert capfdbinary.readouterr() == (out, b"")
    assert main([*words.split(), "--progress", "json"]) == 0
    shown = capfdbinary.readouterr()
    assert shown.out == out
    lines = [json.loads(line) for line in shown.err.splitlines()]
    assert lines
    assert {(line["phase"], line["unit"], line["total"]) for line in lines} == {(phase, unit, total)}
    if total is not None:
        assert lines[-1]["done"] == total


@pytest.mark.parametrize(("words", "phase", "unit", "total", "done"), WATCHED)
def test_all_that_a_command_did_is_counted_once(
    words: str, phase: str, unit: str, total: int | None, done: int | None, monkeypatch: pytest.MonkeyPatch,
    capfdbinary: pytest.CaptureFixture[bytes],
) -> None:  # fmt: skip
    """From nothing to the end, and never back."""
    seen: list[Progress] = []
    monkeypatch.setattr(streams, "progress_of", lambda args: seen.append)
    assert main([*words.split(), *(["--json"] if phase == "verify" else [])]) == 0
    steps = [each.done for each in seen]
    expected = json.loads(capfdbinary.readouterr().out)["bytes"] if phase == "verify" else done
    assert steps == sorted(steps)
    assert (steps[0], steps[-1]) == (0, expected)
    assert {(each.phase, each.unit, each.total) for each in seen} == {(phase, unit, total)}


@pytest.mark.parametrize("words", [words for words, *_ in WATCHED])
def test_a_bar_stands_on_standard_error_and_not_among_results_on_a_terminal(
    words: str, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(streams, "DELAY", 0.0)
    assert main(words.split()) == 0
    out, err = capfd.readouterr()
    assert " in " in err
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    assert main(words.split()) == 0
    again = capfd.readouterr()
    assert again.out.removesuffix("\n") == out.removesuffix("\n")  # decoded text ends its line there
    writes = "--numpy" not in words and not words.startswith(("tokens -t t.json a", "convert"))
    assert bool(again.err) is not writes


@pytest.mark.parametrize("action", ["verify", "merge", "convert"])
def test_actions_on_shards_have_progress(action: str, capfd: pytest.CaptureFixture[str]) -> None:
    tok = bbpe.load("t.json")
    for name in ("one", "two"):
        bbpe.shard("a.jsonl", name, tok)
    words = {"verify": "one", "merge": "one two --shuffle 1 -o out", "convert": "one --from bbpe --to olmo -o out"}
    assert main(["shards", action, *words[action].split(), "--progress", "json"]) == 0
    lines = [json.loads(line) for line in capfd.readouterr().err.splitlines()]
    last = lines[-1]
    assert last["done"] == last["total"] > 0
    assert {line["phase"] for line in lines} == {
        "verify": {"verify"}, "merge": {"read", "merge"}, "convert": {"shard"}
    }[action]  # fmt: skip
    if action != "convert":
        for name in ("one", "two"):
            bbpe.shard("a.jsonl", f"more-{name}", tok)
        again = {"verify": "more-one", "merge": "more-one more-two -o more"}[action]
        assert main(["shards", action, *again.split()]) == 0
        assert capfd.readouterr().err == ""  # within two seconds


def test_runs_of_bench_are_counted(capfd: pytest.CaptureFixture[str]) -> None:
    assert main("bench -t t.json a.txt --runs 2 --progress json".split()) == 0
    lines = [json.loads(line) for line in capfd.readouterr().err.splitlines()]
    assert [(line["done"], line["total"], line["unit"]) for line in lines] == [(0, 2, "runs"), (2, 2, "runs")]
