"""Counting in parts: by executors that finish in any order, and by stored plans."""

from __future__ import annotations

import json
import os
import pickle
import random
from collections.abc import Callable
from concurrent.futures import Executor, Future, ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import pytest
from processes import KILL

import bbpe
from bbpe.counting import count as count_module
from bbpe.counting import options as count_options
from bbpe.counting.counter import count_to_run
from bbpe.counting.handout import HandOut

pytest.importorskip("pyarrow")
WORDS = ["word", " Word", " 1", "'s", ".", "\n", "\u00e9", "\u6f22\u5b57", "<s>", "rare"]


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    import pyarrow as pa
    from pyarrow import parquet

    generator = random.Random(4)
    texts = ["".join(generator.choices(WORDS, k=generator.randrange(60))) + str(number) for number in range(400)]
    folder = tmp_path / "corpus"
    folder.mkdir()
    (folder / "a.jsonl").write_text("".join(json.dumps({"text": text}) + "\n" for text in texts[:200]))
    parquet.write_table(pa.table({"text": texts[200:350]}), folder / "b.parquet", row_group_size=10)
    (folder / "c.txt").write_text("".join(texts[350:]))
    return folder


class Shuffled(Executor):
    """Does what it is given when so much waits, in a random order."""

    _max_workers = 4

    def __init__(self) -> None:
        self._waiting: list[tuple[Callable[[], Any], Future[Any]]] = []
        self._random = random.Random(1)
        self.results: list[int] = []
        self.tasks: list[int] = []

    def submit(self, function: Callable[..., Any], /, *arguments: Any, **options: Any) -> Future[Any]:
        future: Future[Any] = Future()
        self.tasks.append(len(pickle.dumps((function, arguments))))
        self._waiting.append((partial(function, *arguments, **options), future))
        if len(self._waiting) >= 6:
            self.work()
        return future

    def work(self) -> None:
        if self._waiting:
            function, future = self._waiting.pop(self._random.randrange(len(self._waiting)))
            result = function()
            self.results.append(len(pickle.dumps(result)))
            future.set_result(result)


@pytest.mark.parametrize("checkpoint", [False, pytest.param(True, marks=pytest.mark.full)])
def test_parts_come_in_any_order(
    checkpoint: bool, corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    options: dict[str, Any] = {"pattern": "gpt2", "special_tokens": ["<s>"]}
    right = bbpe.count(corpus, **options)
    monkeypatch.setattr(count_options, "_BLOCK", 500)
    monkeypatch.setattr(count_module, "_FILES_PART", 900)
    executor = Shuffled()
    if checkpoint:
        options["checkpoint"] = tmp_path / "state"
    monkeypatch.setattr("bbpe.counting.handout.futures.wait", partial(wait_for, executor))
    found = bbpe.count(corpus, **options, executor=executor, in_flight=6)
    assert list(found) == list(right)
    assert found.summary == right.summary
    assert len(executor.tasks) > 15
    assert max(executor.results) < 1000
    assert max(executor.tasks) < 3000  # most of it the pattern


def wait_for(executor: Shuffled, flying: Any, **_: Any) -> tuple[set[Any], set[Any]]:
    while not (done := {future for future in flying if future.done()}):
        executor.work()
    return done, set(flying) - done


def killed_once(plan: bbpe.CountPlan, number: int) -> bbpe.Summary:
    mark = plan.folder / f"killed-{number}"
    if number == 2 and not mark.exists():
        mark.write_text("")
        os.kill(os.getpid(), KILL)
    return bbpe.count_part(plan, number)


@pytest.mark.parametrize("pool", [False, pytest.param(True, marks=pytest.mark.full)])
def test_a_plan_is_counted_in_any_order_by_a_pool_that_dies(pool: bool, corpus: Path, tmp_path: Path) -> None:
    right = bbpe.count(corpus, pattern="gpt2")
    plan = bbpe.plan_count(corpus, tmp_path / "counts", pattern="gpt2", part_size=2000)
    assert len(pickle.dumps(plan)) < 300
    if pool:
        with ProcessPoolExecutor(2, get_context("forkserver")) as executor:
            found = dict(HandOut(executor).results(partial(killed_once, plan), range(len(plan))))
    else:
        found = {number: bbpe.count_part(plan, number) for number in reversed(range(len(plan)))}
    assert len(plan) > 6
    assert sum(summary.pretokens for summary in found.values()) == right.total
    counts = bbpe.sum_counts(plan.folder)
    assert list(counts) == list(right)
    assert counts.summary == right.summary
    assert list(bbpe.sum_counts(plan, max_memory="8GB")) == list(right)
    assert counts.spec == right.spec
    assert not list(plan.folder.glob("sum-*"))


def test_what_does_not_fit_a_plan_is_refused(corpus: Path, tmp_path: Path) -> None:
    plan = bbpe.plan_count(corpus, tmp_path / "counts", pattern="gpt2", part_size=4000)
    assert bbpe.plan_count(corpus, tmp_path / "counts", pattern="gpt2", part_size=4000) == plan
    with pytest.raises(bbpe.CorpusError, match="another plan, with document 'file' and 'line'"):
        bbpe.plan_count(corpus, tmp_path / "counts", pattern="gpt2", part_size=4000, document="line")
    with pytest.raises(bbpe.CorpusError, match=rf"{len(plan)} of {len(plan)} parts are missing"):
        bbpe.sum_counts(plan.folder)
    with pytest.raises(ValueError, match=f"number is {len(plan)}"):
        bbpe.count_part(plan, len(plan))
    (corpus / "a.jsonl").write_text("")
    with pytest.raises(bbpe.CorpusError, match=r"a\.jsonl: the file has changed"):
        bbpe.count_part(plan, 0)
    (plan.folder / "plan.json").write_text("{}")
    with pytest.raises(bbpe.CorpusError, match=r"plan\.json: expected a plan of a count"):
        bbpe.sum_counts(plan.folder)


def test_runs_that_are_not_seen_are_named(corpus: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Elsewhere(Executor):
        def submit(self, function: Callable[..., Any], /, *arguments: Any, **options: Any) -> Future[Any]:
            future: Future[Any] = Future()
            task = arguments[0]
            future.set_result(function(task))
            task.path.unlink()
            return future

    with pytest.raises(bbpe.CorpusError, match="give checkpoint="):
        bbpe.count(corpus, pattern="gpt2", executor=Elsewhere())


def test_a_plan_has_its_folder_but_a_folder_is_no_plan(corpus: Path, tmp_path: Path) -> None:
    plan = bbpe.plan_count(corpus, tmp_path / "counts", pattern="gpt2")
    again = "must be what bbpe.plan_count returned, not .*: the same call again returns the plan that a folder has"
    for wrong in (plan.folder, str(plan.folder), None):
        with pytest.raises(TypeError, match=f"^plan {again}"):
            bbpe.count_part(wrong, 0)  # type: ignore[arg-type]
    bbpe.count_part(plan, 0)
    assert list(bbpe.sum_counts(plan)) == list(bbpe.sum_counts(str(plan.folder)))
    tok = bbpe.train_from_iterator(["low lower"], 258)
    other = bbpe.plan_shards(corpus / "a.jsonl", tmp_path / "shards", tok)
    with pytest.raises(TypeError, match=r"^folder must be the folder of a count, .* or its plan, not ShardPlan"):
        bbpe.sum_counts(other)  # type: ignore[arg-type]


def test_a_summary_of_a_part_has_its_pretokens_and_how_many_differ(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("a a b a a c")
    plan = bbpe.plan_count(tmp_path / "a.txt", tmp_path / "counts", pattern="gpt2")
    for found in (bbpe.count_part(plan, 0), bbpe.count_part(plan, 0)):
        assert (found.bytes, found.documents, found.pretokens, found.unique) == (11, 1, 6, 4)


def test_a_file_that_changes_while_its_part_is_counted_is_refused(
    corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = bbpe.plan_count(corpus / "c.txt", tmp_path / "counts", pattern="gpt2")
    data = (corpus / "c.txt").read_bytes()

    def counted_and_changed(*arguments: Any) -> Any:
        found = count_to_run(*arguments)
        (corpus / "c.txt").write_bytes(bytes([data[0] ^ 1]) + data[1:])
        return found

    with monkeypatch.context() as patch:
        patch.setattr("bbpe.counting.plan.count_to_run", counted_and_changed)
        with pytest.raises(bbpe.CorpusError, match=r"c\.txt: the file has changed since the plan was made"):
            bbpe.count_part(plan, 0)
    with pytest.raises(bbpe.CorpusError, match="1 of 1 part is missing"):
        bbpe.sum_counts(plan)
    (corpus / "c.txt").write_bytes(data)
    # the run that the failed attempt left does not stand in the way
    assert bbpe.count_part(plan, 0).bytes == len(data)
    assert list(bbpe.sum_counts(plan)) == list(bbpe.count(corpus / "c.txt", pattern="gpt2"))


def test_what_a_killed_worker_left_of_a_run_is_replaced(corpus: Path, tmp_path: Path) -> None:
    plan = bbpe.plan_count(corpus / "c.txt", tmp_path / "counts", pattern="gpt2")
    (plan.folder / "run-00000.parquet").write_bytes(b"half a run")
    bbpe.count_part(plan, 0)
    assert list(bbpe.sum_counts(plan)) == list(bbpe.count(corpus / "c.txt", pattern="gpt2"))


def test_a_plan_is_for_any_working_folder(corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(corpus)
    plan = bbpe.plan_count("c.txt", "../counts", pattern="gpt2")
    monkeypatch.chdir("/")
    bbpe.count_part(pickle.loads(pickle.dumps(plan)), 0)
    assert list(bbpe.sum_counts(tmp_path / "counts")) == list(bbpe.count(corpus / "c.txt", pattern="gpt2"))


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes with names here")
def test_a_pipe_has_no_plan(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "a.txt")
    with pytest.raises(bbpe.CorpusError, match="is a pipe or a device; expected files, which can be read again"):
        bbpe.plan_count(tmp_path / "a.txt", tmp_path / "counts", pattern="gpt2")
    assert not (tmp_path / "counts").exists()


@pytest.mark.parametrize("change", ["files", "special_tokens", "sample", "text_field", "format", "max_pretoken_bytes"])
def test_a_folder_keeps_to_one_plan(change: str, corpus: Path, tmp_path: Path) -> None:
    name = "a.jsonl" if change == "text_field" else "c.txt"  # which has no fields
    options: dict[str, Any] = {"files": corpus / name, "pattern": "gpt2"}
    others: dict[str, Any] = {
        "files": corpus / "a.jsonl", "special_tokens": ["<s>"], "sample": 0.5, "text_field": ("text", "body"),
        "format": "text", "max_pretoken_bytes": 7,
    }  # fmt: skip
    plan = bbpe.plan_count(folder=tmp_path / "counts", **options)
    kept = (tmp_path / "counts" / "plan.json").read_bytes()
    named = "other files" if change == "files" else change.replace("_tokens", " tokens")
    with pytest.raises(bbpe.CorpusError, match=f"the folder has another plan, with .*{named}"):
        bbpe.plan_count(folder=tmp_path / "counts", **{**options, change: others[change]})
    assert (tmp_path / "counts" / "plan.json").read_bytes() == kept
    assert bbpe.plan_count(folder=tmp_path / "counts", **options) == plan


def test_sums_within_memory_lie_in_a_file(corpus: Path, tmp_path: Path) -> None:
    plan = bbpe.plan_count(corpus, tmp_path / "counts", pattern="gpt2")
    summary = sum((bbpe.count_part(plan, number) for number in range(len(plan))), bbpe.Summary())
    bounded, whole = bbpe.sum_counts(plan, max_memory="8GB"), bbpe.sum_counts(plan)
    assert bounded.nbytes == 0 < whole.nbytes
    assert bounded.summary == whole.summary
    assert summary.pretokens == whole.total
