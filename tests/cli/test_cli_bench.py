"""`bbpe bench`: figures of libraries that give the same ids, and errors when there is nothing to compare."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

import bbpe
from bbpe.cli import bench, main
from bbpe.cli.streams import Watch


def test_against_a_peer(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("tiktoken")
    path = tmp_path / "text.txt"
    path.write_text("see my eyes first, see my 12345 dogs\n" * 200)
    assert main(["bench", str(path), "--against", "tiktoken", "--runs", "1", "--json", "--pattern", "cl100k"]) == 0
    found = json.loads(capfd.readouterr().out)
    ours, theirs = found["speeds"]
    assert (ours["library"], theirs["library"], found["bytes"]) == ("bbpe", "tiktoken", path.stat().st_size)
    assert ours["tokens"] == theirs["tokens"] > 0
    assert min(value for speed in (ours, theirs) for key, value in speed.items() if "mb_per_second" in key) > 0


def test_as_a_table(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("tokenizers")
    path = tmp_path / "text.txt"
    path.write_text("see my eyes first, see my 12345 dogs\n" * 200)
    assert main(["bench", str(path), "--against", "tokenizers", "--runs", "1"]) == 0
    header, ours, theirs, tokens, last = capfd.readouterr().out.splitlines()
    assert header.split() == ["MB/s,", "one", "thread,", "lists", "cold", "warm", "decode"]
    assert (ours.split()[0], theirs.split()[0], "x" in theirs) == ("bbpe", "tokenizers", False)
    assert tokens.endswith("tokens, the same from all")
    ratios = r"bbpe is (\S+)x as fast as tokenizers; (\S+)x when it has seen the text before, (\S+)x in decoding"
    found = re.fullmatch(ratios, last)
    assert found is not None
    assert all(float(each.replace(",", "")) > 0 for each in found.groups())


@pytest.mark.parametrize(
    ("ratio", "shown"), [(0.5, "0.50x"), (1.0, "1.0x"), (9.94, "9.9x"), (12.4, "12x"), (1234.5, "1,234x")]
)
def test_ratios_have_two_digits(ratio: float, shown: str) -> None:
    assert bench.times(ratio) == shown


def test_other_ids_stop_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Libraries that differ are told of; here one that had another text."""
    runs = iter([bench._Run((1.0, 1.0, 1.0), [1, 2]), bench._Run((1.0, 1.0, 1.0), [1, 3])])

    class Done:
        def result(self) -> bench._Run:
            return next(runs)

    class Pool:
        def __init__(self, *_: object, **__: object) -> None: ...

        def __enter__(self) -> Pool:
            return self

        def __exit__(self, *_: object) -> None: ...

        def submit(self, *_: object) -> Done:
            return Done()

    monkeypatch.setattr(bench, "ProcessPoolExecutor", Pool)
    with pytest.raises(bench.DifferentIdsError, match="tiktoken gives other ids"):
        bench._all_runs(("bbpe", "tiktoken"), tmp_path, "text", 1, Watch(lambda _: None, "bench", 2, "runs"))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [(["empty.txt"], "is empty"), (["none.txt"], "No such file"), (["text.txt", "-t", "none.json"], "none.json")],
)
def test_errors(
    arguments: list[str],
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("empty.txt").write_text("")
    Path("text.txt").write_text("see my dogs")
    assert main(["bench", *arguments]) == 1
    assert message in capfd.readouterr().err


def test_a_peer_without_the_pattern(tmp_path: Path) -> None:
    tok = bbpe.train_from_iterator(["see my dogs"], 260, pattern="deepseek_v3")
    with pytest.raises(bbpe.VocabularyError, match="tiktoken splits by one regex"):
        bench._write_for("tiktoken", tok, tmp_path)
    with pytest.raises(SystemExit):
        main(["bench", "text.txt", "--against", "nobody"])
