"""`on_error="skip"`: lines that cannot be read are left out and counted, however the corpus is counted."""

from __future__ import annotations

import gzip
import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import bbpe
from bbpe.cli import main
from bbpe.counting import count as counting

WRONG = [b'{"text": broken', b"", b'["see"]', b'{"body": "see"}', b'{"text": 3}', b'{"text": "\xff"}', b'{"text": "a\0']
REFUSED = len(WRONG) - 1  # an empty line is no record


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    """Files with wrong lines at the beginning, in between, at the end, and alone; the texts are `texts_of`."""
    folder = tmp_path / "corpus"
    folder.mkdir()
    right = [json.dumps({"text": text}).encode() for text in texts_of()]
    null = b'{"text": null}'
    half = len(right) // 2
    (folder / "a.jsonl").write_bytes(b"\n".join([*WRONG, *right[:half], *WRONG, null, *WRONG]))
    (folder / "b.jsonl.gz").write_bytes(gzip.compress(b"\n".join([*right[half:], *WRONG, *WRONG])))
    (folder / "c.json").write_bytes(b"\n".join(WRONG))
    return folder


def texts_of() -> list[str]:
    return [f"see my eyes {number} " * (number % 40) for number in range(2000)]


def found(counts: bbpe.PretokenCounts) -> tuple[Any, ...]:
    return list(counts), counts.summary.documents, counts.summary.skipped, counts.summary.refused


def right() -> tuple[Any, ...]:
    return list(bbpe.count_from_iterator(texts_of(), pattern="gpt2")), len(texts_of()), 1, 6 * REFUSED


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("memory", [None, "4GB"])
def test_lines_are_left_out_and_counted(corpus: Path, threads: int, memory: str | None) -> None:
    options: Any = {"pattern": "gpt2", "threads": threads, "max_memory": memory}
    counts = bbpe.count(corpus, on_error="skip", **options)
    assert found(counts) == right()
    assert f"{6 * REFUSED} records that cannot be read skipped" in str(counts.summary)
    with pytest.raises(bbpe.CorpusError, match=r"a\.jsonl: line 1: expected a JSON object"):
        bbpe.count(corpus, **options)


def test_workers_and_parts_leave_them_out_too(corpus: Path, tmp_path: Path) -> None:
    with ThreadPoolExecutor(2) as executor:
        assert found(bbpe.count(corpus, pattern="gpt2", on_error="skip", executor=executor)) == right()
    plan = bbpe.plan_count(corpus, tmp_path / "plan", pattern="gpt2", part_size=50_000, on_error="skip")
    assert len(plan) > 3
    for number in range(len(plan)):
        bbpe.count_part(plan, number)
    assert found(bbpe.sum_counts(tmp_path / "plan")) == right()
    with pytest.raises(bbpe.CorpusError, match=r"a\.jsonl: line 1: expected a JSON object"):
        bbpe.plan_count(corpus, tmp_path / "plan", pattern="gpt2", part_size=50_000)
    (tmp_path / "good.jsonl").write_text('{"text": "see"}\n')
    bbpe.plan_count(tmp_path / "good.jsonl", tmp_path / "other", pattern="gpt2", on_error="skip")
    with pytest.raises(bbpe.CorpusError, match="another plan, with on_error 'skip' and 'raise'"):
        bbpe.plan_count(tmp_path / "good.jsonl", tmp_path / "other", pattern="gpt2")


@pytest.mark.parametrize("stop", range(2, 20, 8))
def test_a_count_that_goes_on_counts_each_line_once(
    corpus: Path, stop: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(counting, "_CHECKPOINT_SECONDS", -1000.0)
    monkeypatch.setattr("bbpe.counting.options._BLOCK", 1 << 15)
    states = 0

    def interrupt(progress: bbpe.progress.Progress) -> None:
        nonlocal states
        states += progress.phase == "count"
        if states > stop:
            raise KeyboardInterrupt

    options: Any = {"pattern": "gpt2", "on_error": "skip", "checkpoint": tmp_path / "state", "threads": 1}
    with pytest.raises(KeyboardInterrupt):
        bbpe.count(corpus, progress=interrupt, **options)
    with pytest.raises(bbpe.CorpusError, match="another count: on_error was 'skip', now 'raise'"):
        bbpe.count(corpus, **{**options, "on_error": "raise"})
    assert found(bbpe.count(corpus, **options)) == right()


@pytest.mark.parametrize("model", [bbpe.BPE(), bbpe.WordPiece(), bbpe.Unigram()])
def test_training_leaves_them_out_and_says_so(corpus: Path, model: Any) -> None:
    notes: list[str] = []
    how = bbpe.Counting(on_error="skip", progress=lambda progress: notes.append(progress.note))
    tokenizer = bbpe.train(corpus, 300, model=model, counting=how)
    assert tokenizer == bbpe.train_from_iterator(texts_of(), 300, model=model)
    assert any(f"{6 * REFUSED} records that cannot be read skipped" in note for note in notes)


def test_extending_leaves_them_out(corpus: Path) -> None:
    tokenizer = bbpe.train_from_iterator(["see my eyes"], 258)
    more = bbpe.extend(tokenizer, corpus, 5, counting=bbpe.Counting(on_error="skip"))
    assert len(more) == len(tokenizer) + 5


def test_the_option_is_checked(corpus: Path) -> None:
    with pytest.raises(ValueError, match=r"Counting\.on_error is 'ignore'; expected 'raise' or 'skip'"):
        bbpe.count(corpus, pattern="gpt2", on_error="ignore")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"Counting\.on_error is 'skip'; expected it only with files"):
        bbpe.train_from_iterator(["see"], 257, counting=bbpe.Counting(on_error="skip"))


def test_the_command_line_has_it(corpus: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    command = ["count", str(corpus), "-o", str(tmp_path / "c.parquet"), "--quiet"]
    assert main(command) == 1
    assert "line 1: expected a JSON object" in capfd.readouterr().err
    assert main([*command, "--on-error", "skip"]) == 0
    assert f"{6 * REFUSED} records that cannot be read skipped" in capfd.readouterr().out
    assert found(bbpe.load_counts(tmp_path / "c.parquet"))[2:] == (1, 6 * REFUSED)
    train = ["train", str(corpus), "--vocab-size", "260", "-o", str(tmp_path / "t.json"), "--quiet"]
    assert [main(train), main([*train, "--on-error", "skip"])] == [1, 0]
