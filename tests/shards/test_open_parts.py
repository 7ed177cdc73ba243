"""Random access to shards: slices, copies for other processes, and the same cost whatever the number of parts."""

from __future__ import annotations

import copy
import json
import multiprocessing
import pickle
import random
import sys
import time
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import bbpe
from bbpe.shards import open_parts
from bbpe.shards.formats import FORMATS

EOS = "</s>"
TEXTS = ["see my eyes first", "", "low", "lower lowest", "x" * 40] * 40


@pytest.fixture(scope="module")
def tok() -> bbpe.Tokenizer:
    return bbpe.train_from_iterator(["see my eyes first low lower lowest"] * 3, 280, special_tokens=[EOS])


def shards_of(folder: Path, tok: bbpe.Tokenizer, **options: Any) -> bbpe.Shards:
    path = folder / "a.jsonl"
    path.write_text("".join(json.dumps({"text": text}) + "\n" for text in TEXTS))
    return bbpe.shard(path, folder / "out", tok, **{"eos": EOS, "part_size": 300, "threads": 1, **options})


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("empty", ["skip", "keep"])
def test_documents_are_those_of_the_corpus_in_any_order(
    name: Any, empty: Any, tmp_path: Path, tok: bbpe.Tokenizer
) -> None:
    done = shards_of(tmp_path, tok, format=name, empty=empty)
    expected = [[*tok.encode(text), tok.token_to_id(EOS)] if text else [] for text in TEXTS if text or empty == "keep"]
    assert len(done.plan) > 9
    assert [done[number].tolist() for number in range(len(done))] == expected
    for number in random.Random(1).sample(range(len(done)), 50):
        assert done[number].tolist() == done[number - len(done)].tolist() == expected[number]
        assert done[np.int64(number)].tolist() == expected[number]


def test_slices_are_lists_of_documents(tmp_path: Path, tok: bbpe.Tokenizer) -> None:
    done = shards_of(tmp_path, tok)
    rows = [ids.tolist() for ids in done]
    for part in (slice(2, 5), slice(None, None, -7), slice(-3, None), slice(500, 600), slice(5, 2), slice(-9999, 3)):
        assert [ids.tolist() for ids in done[part]] == rows[part]
    assert [ids.tolist() for ids in reversed(done)] == rows[::-1]
    for number in (len(done), -len(done) - 1):
        with pytest.raises(IndexError, match=f"document {number} of {len(done)}"):
            done[number]
    with pytest.raises(TypeError):
        done["1"]  # type: ignore[call-overload]


def last_of(shards: bbpe.Shards) -> list[int]:
    ids: list[int] = shards[-1].tolist()
    return ids


@pytest.mark.parametrize("method", multiprocessing.get_all_start_methods())
def test_shards_go_to_other_processes_at_any_time(method: str, tmp_path: Path, tok: bbpe.Tokenizer) -> None:
    done = shards_of(tmp_path, tok)
    last = [*tok.encode(TEXTS[-1]), tok.token_to_id(EOS)]
    for use in (lambda: None, lambda: done[0], lambda: done[3:9], lambda: list(done), lambda: done.tokenizer):
        use()
        assert len(pickle.dumps(done)) < 400
        for again in (pickle.loads(pickle.dumps(done)), copy.deepcopy(done), copy.copy(done)):
            assert (last_of(again), len(again), again.totals) == (last, len(done), done.totals)
    with multiprocessing.get_context(method).Pool(1) as pool:
        assert pool.map(last_of, [done]) == [last]


def test_a_relative_folder_is_found_after_a_change_of_folder(
    tmp_path: Path, tok: bbpe.Tokenizer, monkeypatch: pytest.MonkeyPatch
) -> None:
    shards_of(tmp_path, tok)
    monkeypatch.chdir(tmp_path)
    data = pickle.dumps(bbpe.load_shards("out"))
    monkeypatch.chdir("/")
    assert last_of(pickle.loads(data))


@pytest.mark.skipif(sys.platform != "linux", reason="descriptors are counted in /proc")
@pytest.mark.parametrize("name", ["megatron", "nanogpt", "numpy"])
def test_open_parts_keep_no_descriptor(name: Any, tmp_path: Path, tok: bbpe.Tokenizer) -> None:
    done = shards_of(tmp_path, tok, format=name)
    before = len(list(Path("/proc/self/fd").iterdir()))
    held = [done[number] for number in range(len(done))]
    assert len(held) > 100
    assert len(list(Path("/proc/self/fd").iterdir())) == before


@pytest.mark.parametrize(("limit", "name"), [("_MOST_OPEN", "megatron"), ("_MOST_HELD", "parquet")])
def test_parts_are_closed_when_there_are_too_many(
    limit: str, name: Any, tmp_path: Path, tok: bbpe.Tokenizer, monkeypatch: pytest.MonkeyPatch
) -> None:
    done = shards_of(tmp_path, tok, format=name)
    rows = [ids.tolist() for ids in done]
    monkeypatch.setattr(open_parts, limit, 3 if limit == "_MOST_OPEN" else 2000)
    kept = [(done[number], rows[number], len(done._parts._open)) for number in range(0, len(done), 5)]
    # views of parts that were closed stay whole
    assert all(ids.tolist() == row for ids, row, _ in kept)
    assert 1 < max(count for _, _, count in kept) < len(done.plan) // 2


def test_a_document_costs_the_same_in_one_part_and_in_many(
    tmp_path: Path, tok: bbpe.Tokenizer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(open_parts, "_MOST_OPEN", 1 << 14)
    for name, size in (("one", "1GB"), ("many", 300)):
        (tmp_path / name).mkdir()
        shards_of(tmp_path / name, tok, part_size=size)
    one, many = (bbpe.load_shards(tmp_path / name / "out") for name in ("one", "many"))
    order = [random.Random(at).randrange(len(one)) for at in range(3000)]

    def cost(shards: bbpe.Shards) -> float:
        begin = time.process_time()
        for at in order:
            shards[at]
        return time.process_time() - begin

    rounds = [(cost(one), cost(many)) for _ in range(5)]
    # 1.3 with 4,000 parts on a quiet machine; opening them again took 100 times as long
    assert min(several for _, several in rounds) < 3 * min(single for single, _ in rounds)


def test_a_part_of_another_length_is_named(tmp_path: Path, tok: bbpe.Tokenizer) -> None:
    done = shards_of(tmp_path, tok)
    path = tmp_path / "out" / "part-00003.lens"
    total = int(np.fromfile(path, "<i4").sum())
    path.write_bytes((np.fromfile(path, "<i4") + 1).tobytes())
    found = total + path.stat().st_size // 4
    first = next(at for at in range(len(done)) if done._firsts[3] == at)
    assert done[first - 1].size
    message = rf"part-00003\.lens: the documents have {found} ids together; expected {total}$"
    with pytest.raises(bbpe.CorpusError, match=message):
        done[first]
    path.write_bytes(path.read_bytes()[:-4])
    with pytest.raises(bbpe.CorpusError, match=rf"out: parts have {len(done) - 1} documents; expected {len(done)}$"):
        bbpe.load_shards(tmp_path / "out")[0]
    assert all(left < right for left, right in pairwise(done._firsts))


def test_a_plan_and_shards_have_their_folder_but_a_folder_is_no_plan(tmp_path: Path, tok: bbpe.Tokenizer) -> None:
    done = shards_of(tmp_path, tok)
    plan = done.plan
    for given in (plan, done, plan.folder, str(plan.folder)):
        assert bbpe.verify_shards(given) == []
        assert bbpe.load_shards(given).totals == done.totals
    joined = bbpe.merge_shards([done, plan, plan.folder], tmp_path / "all")
    assert len(joined) == 3 * len(done)
    again = "must be what plan_shards returns, not .*: the same call again returns the plan that a folder has"
    for wrong in (plan.folder, str(plan.folder), done, None):
        with pytest.raises(TypeError, match=f"^plan {again}; shards have it as shards.plan"):
            bbpe.shard_part(wrong, 0)  # type: ignore[arg-type]
        with pytest.raises(TypeError, match=f"^plan {again}"):
            bbpe.finish_shards(wrong)  # type: ignore[arg-type]
    counting = bbpe.plan_count(tmp_path / "a.jsonl", tmp_path / "counts", pattern="gpt2")
    for call in (bbpe.verify_shards, bbpe.load_shards):
        with pytest.raises(TypeError, match=r"^folder must be a folder of shards, .* or their plan, .* not CountPlan"):
            call(counting)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"^folders\[0\] must be a folder, not CountPlan"):
        bbpe.merge_shards([counting], tmp_path / "more")  # type: ignore[list-item]
    for one in (plan, done):
        with pytest.raises(TypeError, match=r"^folders must be a list of folders in order, not .*: give \[shards\]"):
            bbpe.merge_shards(one, tmp_path / "more")  # type: ignore[arg-type]
