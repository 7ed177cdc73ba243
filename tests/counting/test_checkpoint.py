"""A count that is killed goes on where it was, and comes to the same end."""

from __future__ import annotations

import json
import random
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from processes import KILLED, kill, package_env

import bbpe
from bbpe import budget
from bbpe.counting import count as count_module
from bbpe.counting import options as count_options
from bbpe.progress import Progress

pytest.importorskip("pyarrow")


class KilledError(Exception):
    """Stands for the end of the process."""


def text(seed: int, words: int = 2800) -> str:
    rng = random.Random(seed)
    return "".join(rng.choices([" w", " x", "y", "é", "\n", ".", *(f" z{n}" for n in range(400))], k=words))


@pytest.fixture
def corpus_folder(tmp_path: Path) -> Path:
    folder = tmp_path / "corpus"
    folder.mkdir()
    for seed in range(3):
        (folder / f"{seed}.txt").write_text(text(seed))
        lines = [json.dumps({"text": line}) for line in text(seed + 10).splitlines()]
        (folder / f"{seed}.jsonl").write_text("\n".join(lines))
    return folder


@pytest.fixture(autouse=True)
def states_in_quick_succession(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(count_options, "_BLOCK", 3000)
    monkeypatch.setattr(count_module, "_FILES_PART", 5000)
    monkeypatch.setattr(count_module, "_CHECKPOINT_SECONDS", -1e9)


def killed_after(reports: int) -> Any:
    left = reports

    def report(progress: Progress) -> None:
        nonlocal left
        left -= 1
        if left < 0:
            raise KilledError

    return report


def until_done(count: Any) -> tuple[bbpe.PretokenCounts, int]:
    """Kill a count after 3, 24, 45, ... reports until it is done; also how often it was killed."""
    for reports in range(3, 500, 21):
        try:
            return count(killed_after(reports)), (reports - 3) // 21
        except KilledError:
            pass
    raise AssertionError("it never ends")


@pytest.mark.parametrize("options", [{"threads": 1}, {"threads": 3}, {"max_memory": "4GB"}, {"executor": 2}], ids=str)
def test_a_count_of_files_goes_on(options: dict[str, Any], corpus_folder: Path, tmp_path: Path) -> None:
    right = bbpe.count(corpus_folder, pattern="gpt2", special_tokens=["<s>"])
    with ThreadPoolExecutor(2) as executor:
        ways = {**options, "executor": executor} if "executor" in options else options

        def count(progress: Any) -> bbpe.PretokenCounts:
            folder = tmp_path / "c"
            return bbpe.count(
                corpus_folder, pattern="gpt2", special_tokens=["<s>"], checkpoint=folder, progress=progress, **ways
            )

        found, killed = until_done(count)
        assert killed > 1
        assert found == right
        assert list(found) == list(right)
        assert found.summary == right.summary
        # all is counted: once more costs no reading
        assert list(count(None)) == list(right)


def test_a_count_of_texts_goes_on(tmp_path: Path) -> None:
    texts = [text(seed, 150) for seed in range(25)]
    right = bbpe.count_from_iterator(texts, pattern="o200k", document="line")

    def generated() -> Iterator[str]:
        yield from texts

    def count(progress: Any) -> bbpe.PretokenCounts:
        return bbpe.count_from_iterator(
            generated(), pattern="o200k", document="line", checkpoint=tmp_path / "c", progress=progress
        )

    found, killed = until_done(count)
    assert killed > 1
    assert found == right
    assert found.summary == right.summary


def test_a_count_by_regex_goes_on(corpus_folder: Path, tmp_path: Path) -> None:
    for pattern in ("whitespace", r"\w+|\W"):
        right = bbpe.count(corpus_folder, pattern=pattern)

        def count(progress: Any, pattern: str = pattern) -> bbpe.PretokenCounts:
            folder = tmp_path / f"c{len(pattern)}"
            return bbpe.count(corpus_folder, pattern=pattern, checkpoint=folder, progress=progress)

        found, killed = until_done(count)
        assert killed > 1
        assert found == right
        assert found.summary == right.summary


def test_a_count_by_regex_goes_on_after_the_last_whole_file(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    for seed in range(4):
        (tmp_path / "in" / f"{seed}.txt").write_text(text(seed))
    right = bbpe.count(tmp_path / "in", pattern=r"\w+|\W")

    def count(progress: Any) -> bbpe.PretokenCounts:
        return bbpe.count(tmp_path / "in", pattern=r"\w+|\W", checkpoint=tmp_path / "c", progress=progress, threads=1)

    found, killed = until_done(count)
    assert killed > 1
    assert found == right
    assert found.summary == right.summary


def test_another_way_may_go_on(corpus_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Threads, memory and executors may change from one start to the next."""
    right = bbpe.count(corpus_folder, pattern="gpt2")
    options: dict[str, Any] = {"pattern": "gpt2", "checkpoint": tmp_path / "c"}
    with pytest.raises(KilledError):
        bbpe.count(corpus_folder, **options, progress=killed_after(3))
    monkeypatch.setattr(budget.Budget, "of", classmethod(lambda cls, limit, buffers: cls(1 << 40, 2000)))
    with pytest.raises(KilledError):
        bbpe.count(corpus_folder, **options, max_memory="4GB", threads=2, progress=killed_after(4))
    place = json.loads((tmp_path / "c" / "state.json").read_bytes())["state"]["place"]
    assert place["text"] > 0  # within a file of records
    with ThreadPoolExecutor(2) as executor:
        found = bbpe.count(corpus_folder, **options, executor=executor)
    assert found == right
    assert found.summary == right.summary


def test_a_checkpoint_of_something_else_is_refused(corpus_folder: Path, tmp_path: Path) -> None:
    options: dict[str, Any] = {"pattern": "gpt2", "checkpoint": tmp_path / "c"}
    bbpe.count(corpus_folder, **options)
    for other, said in (
        ({"pattern": "o200k"}, "pattern was"),
        ({"document": "line"}, "document was 'file', now 'line'"),
        ({"sample": 0.5}, "sample was 1.0, now 0.5"),
    ):
        with pytest.raises(bbpe.CorpusError, match=rf"state\.json.*{said}"):
            bbpe.count(corpus_folder, **{**options, **other})
    (corpus_folder / "1.txt").write_text("changed")
    with pytest.raises(bbpe.CorpusError, match=r"files: number \d was .*1\.txt"):
        bbpe.count(corpus_folder, **options)


@pytest.mark.parametrize(
    "content", [b"", b"{", b"[]", b"{}", b'{"version": 1}', b'{"version": 9, "identity": {}, "state": {}}']
)
def test_a_broken_state_is_named(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("see my eyes")
    bbpe.count(tmp_path / "a.txt", pattern="gpt2", checkpoint=tmp_path / "c")
    (tmp_path / "c" / "state.json").write_bytes(content)
    with pytest.raises(bbpe.CorpusError, match=r"state\.json: expected the state of a count.*delete the folder"):
        bbpe.count(tmp_path / "a.txt", pattern="gpt2", checkpoint=tmp_path / "c")


def test_a_run_that_is_gone_is_named(corpus_folder: Path, tmp_path: Path) -> None:
    bbpe.count(corpus_folder, pattern="gpt2", checkpoint=tmp_path / "c")
    next((tmp_path / "c").glob("bbpe-run-*")).unlink()
    with pytest.raises(bbpe.CorpusError, match=r"run-.*is gone"):
        bbpe.count(corpus_folder, pattern="gpt2", checkpoint=tmp_path / "c")


CHILD = """
import sys
import bbpe
from bbpe.counting import count, options

options._BLOCK = 1 << 16
count._CHECKPOINT_SECONDS = 0.005
files, folder, output, memory = sys.argv[1:]
print("begins", flush=True)
counts = bbpe.count(files, pattern="gpt2", checkpoint=folder, max_memory=memory or None, threads=2)
counts.save(output)
"""


@pytest.mark.parametrize(
    ("memory", "kills"), [("", 4), *(pytest.param(size, 10, marks=pytest.mark.full) for size in ("", "400MB"))]
)
def test_kill_at_random_moments(memory: str, kills: int, tmp_path: Path) -> None:
    rng = random.Random(f"kill {memory}")
    (tmp_path / "a.txt").write_text(text(1, 500_000 * kills))
    right = tmp_path / "right.parquet"
    bbpe.count(tmp_path / "a.txt", pattern="gpt2").save(right)
    output = tmp_path / "found.parquet"
    command = [sys.executable, "-c", CHILD, str(tmp_path / "a.txt"), str(tmp_path / "c"), str(output), memory]
    killed = 0
    for _ in range(60):
        pipes: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
        with subprocess.Popen(command, env=package_env(), **pipes) as child:
            assert child.stdout is not None
            child.stdout.readline()
            if killed < kills:
                time.sleep(rng.uniform(0, 0.2))
                kill(child)
            _, errors = child.communicate(timeout=60)
            assert child.returncode in (0, KILLED), errors
            if child.returncode == 0:
                break
        killed += 1
    assert killed >= 1
    assert output.read_bytes() == right.read_bytes()
    runs = [run["name"] for run in json.loads((tmp_path / "c" / "state.json").read_bytes())["state"]["runs"]]
    found = sorted(path.name for path in (tmp_path / "c").iterdir())
    assert found == sorted([*runs, "state.json", "bbpe-checkpoint.json"])


def test_processes_count_the_same(corpus_folder: Path, processes: ProcessPoolExecutor) -> None:
    options: dict[str, Any] = {"pattern": "gpt2", "special_tokens": ["<s>"]}
    right = bbpe.count(corpus_folder, **options)
    assert bbpe.count(corpus_folder, **options, executor=processes) == right
    texts = [text(seed, 300) for seed in range(40)]
    of_texts = bbpe.count_from_iterator(texts, **options)
    assert list(bbpe.count_from_iterator(texts, **options, executor=processes)) == list(of_texts)
    tok = bbpe.train(corpus_folder, 400, special_tokens=["<s>"])
    assert (
        bbpe.train(corpus_folder, 400, special_tokens=["<s>"], counting=bbpe.Counting(executor=processes)).merges
        == tok.merges
    )
