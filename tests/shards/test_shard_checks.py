"""What is noticed of shards: other texts, plans, records and totals than those that were written."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from shard_lines import lines

import bbpe
from bbpe.shards import part, run
from bbpe.shards.part import PartRecord
from bbpe.shards.plan import open_plan

EOS, BOS = "</s>", "<s>"


def moved_on(path: Path, old: str, new: str, *, seconds: int = 5) -> None:
    """Replace a text by another of equal size; the time of change is another."""
    data = path.read_text()
    assert data.count(old) == 1
    assert len(old) == len(new)
    before = path.stat().st_mtime_ns
    path.write_text(data.replace(old, new))
    os.utime(path, ns=(before, before + seconds * 10**9))


@pytest.mark.parametrize(("old", "new"), [
    ("texta", "textb"),  # another text
    ('"key5"', '"key6"'),  # another id
    ('"lo"}\n{"text": "wlow"', '"low"}\n{"text": "low"'),  # another border
])  # fmt: skip
def test_what_a_done_part_has_read_is_compared(old: str, new: str, tmp_path: Path, tok: bbpe.Tokenizer) -> None:
    """Texts, where each ends, and ids; a file whose time alone is another is taken for what it was."""
    # a file is not known by its first and last bytes alone where others are changed
    around = '{"id": "i", "text": "%s"}\n' % ("x" * 1000) * 130
    path = tmp_path / "a.jsonl"
    path.write_text(f'''{around}{{"id": "key5", "text": "texta"}}\n{{"id": "a", "text": "lo"}}
{{"text": "wlow", "id": "b"}}\n{around}''')
    options: Any = {"format": "olmo", "id_field": "id"} if "key" in old else {}
    done = bbpe.shard(path, tmp_path / "out", tok, **options)
    os.utime(path, ns=(0, path.stat().st_mtime_ns - 10**9))
    assert bbpe.shard(path, tmp_path / "out", tok, **options).totals == done.totals
    moved_on(path, old, new)
    with pytest.raises(bbpe.CorpusError, match=r"a\.jsonl: the file was written to since part 0 was made"):
        bbpe.shard(path, tmp_path / "out", tok, **options)


@pytest.mark.parametrize("seconds", [-5, 5])
def test_what_was_proved_is_not_proved_again(
    seconds: int, tmp_path: Path, tok: bbpe.Tokenizer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file that was copied, with an older time or a newer one, is read once more and then known."""
    path = lines(tmp_path / "a.jsonl", ["low"] * 9)
    bbpe.shard(path, tmp_path / "out", tok)
    os.utime(path, ns=(0, path.stat().st_mtime_ns + seconds * 10**9))
    proved: list[set[str]] = []
    check = run.check_texts
    monkeypatch.setattr(run, "check_texts", lambda plan, touched: proved.append(touched) or check(plan, touched))
    for _ in range(3):
        bbpe.shard(path, tmp_path / "out", tok)
    assert proved == [{str(path)}]
    assert open_plan(tmp_path / "out").parts[0][0].mtime_ns == path.stat().st_mtime_ns


def test_a_tokenizer_of_another_name_is_the_same(tmp_path: Path, tok: bbpe.Tokenizer) -> None:
    path = lines(tmp_path / "a.jsonl", ["low"])
    one = bbpe.shard(path, tmp_path / "out", tok)
    named = bbpe.Tokenizer(replace(tok.spec, name="other"))
    assert bbpe.shard(path, tmp_path / "out", named).totals == one.totals


def test_special_tokens_are_a_set_in_any_order(tmp_path: Path, tok: bbpe.Tokenizer) -> None:
    path = lines(tmp_path / "a.jsonl", [f"low{EOS}"])
    plans = [bbpe.plan_shards(path, tmp_path / "out", tok, allowed_special=each)
             for each in ([BOS, EOS], [EOS, BOS], {EOS, BOS})]  # fmt: skip
    assert len({plan.digest for plan in plans}) == 1
    assert plans[0].policy.allowed_special == tuple(sorted((EOS, BOS)))


def test_folders_without_shards_and_files_in_their_place(tmp_path: Path, tok: bbpe.Tokenizer) -> None:
    path = lines(tmp_path / "a.jsonl", ["low"])
    for name, said in (("none", "no such folder"), (".", r"has no plan\.json, so no shards"), ("a.jsonl", "is a file")):
        message = rf"{said}; expected a folder that bbpe\.shard wrote; bbpe\.open_shards reads files of other programs"
        for call in (bbpe.load_shards, bbpe.shards_status, bbpe.verify_shards):
            with pytest.raises(FileNotFoundError, match=message):
                call(tmp_path / name)
    with pytest.raises(NotADirectoryError, match="the path is a file; expected a folder for shards"):
        bbpe.shard(path, path, tok)


def test_other_plans_are_named_with_what_differs(tmp_path: Path, tok: bbpe.Tokenizer) -> None:
    done = bbpe.shard(lines(tmp_path / "a.jsonl", ["low"]), tmp_path / "texts", tok, eos=EOS)
    bbpe.convert_shards(done, tmp_path / "ids", format="megatron")
    other = bbpe.shard(tmp_path / "a.jsonl", tmp_path / "olmo", tok, eos=EOS, format="olmo")
    with pytest.raises(bbpe.CorpusError, match=r"with reading\.own 'megatron' and 'olmo', file "):
        bbpe.convert_shards(other, tmp_path / "ids", format="megatron")
    with pytest.raises(bbpe.CorpusError, match=r"reading None and \{'format': .{1,30}\.\.\..{1,20}\}, file "):
        bbpe.convert_shards(done, other.plan.folder, format="olmo")


@pytest.mark.parametrize(("change", "said"), [
    ({"version": 2}, "the plan has version 2; expected 4"), ({"version": 5}, "the plan has version 5; expected 4"),
    ({"sha256": "0" * 64}, "the plan was changed"), ({"parts": []}, "the plan was changed"),
    ({"policy": 3}, "expected a plan of shards"),
])  # fmt: skip
def test_a_plan_that_is_not_ours(change: dict[str, Any], said: str, tmp_path: Path, tok: bbpe.Tokenizer) -> None:
    bbpe.plan_shards(lines(tmp_path / "a.jsonl", ["low"]), tmp_path / "out", tok)
    path = tmp_path / "out" / "plan.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **change}))
    with pytest.raises(bbpe.CorpusError, match=rf"plan\.json: {said}"):
        open_plan(tmp_path / "out")


def test_the_tokenizer_of_another_plan_is_refused(tmp_path: Path, tok: bbpe.Tokenizer) -> None:
    """One of as many ids, too."""
    other = bbpe.train_from_iterator(["other text of the same size"] * 3, tok.vocab_size, special_tokens=[EOS, BOS])
    assert other.vocab_size == tok.vocab_size
    path = lines(tmp_path / "a.jsonl", ["low"])
    for name, each in (("one", tok), ("two", other)):
        bbpe.plan_shards(path, tmp_path / name, each)
    (tmp_path / "one" / "tokenizer.bbpe").write_bytes((tmp_path / "two" / "tokenizer.bbpe").read_bytes())
    with pytest.raises(bbpe.CorpusError, match=r"tokenizer\.bbpe: the tokenizer was changed since the plan was made"):
        open_plan(tmp_path / "one").tokenizer  # noqa: B018


@pytest.mark.parametrize("change", [{"plan": "0" * 64}, {"part": 1}])
def test_the_record_of_another_plan_is_refused(change: dict[str, Any], tmp_path: Path, tok: bbpe.Tokenizer) -> None:
    done = bbpe.shard(lines(tmp_path / "a.jsonl", ["low"]), tmp_path / "out", tok)
    path = tmp_path / "out" / "part-00000.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **change}))
    for call in (lambda: bbpe.shard_part(done.plan, 0), lambda: bbpe.finish_shards(done.plan)):
        with pytest.raises(bbpe.CorpusError, match=r"part-00000\.json: the record is of another plan"):
            call()
    assert "the record is of another plan" in bbpe.verify_shards(tmp_path / "out")[0]


@pytest.mark.parametrize(("change", "said"), [
    ({"parts": 2}, "the totals are of another plan"), ({"plan": "0" * 64}, "the totals are of another plan"),
    ({"more": 1}, "expected the totals of shards"),
])  # fmt: skip
def test_the_totals_of_another_plan_are_refused(
    change: dict[str, Any], said: str, tmp_path: Path, tok: bbpe.Tokenizer
) -> None:
    bbpe.shard(lines(tmp_path / "a.jsonl", ["low"]), tmp_path / "out", tok)
    path = tmp_path / "out" / "manifest.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **change}))
    with pytest.raises(bbpe.CorpusError, match=rf"manifest\.json: {said}"):
        bbpe.load_shards(tmp_path / "out")


@pytest.mark.parametrize("name", ["documents", "empty", "null", "refused", "records", "input"])
def test_every_document_and_byte_is_accounted_for(name: str, tmp_path: Path, tok: bbpe.Tokenizer) -> None:
    done = bbpe.shard(lines(tmp_path / "a.jsonl", ["low", "", None]), tmp_path / "out", tok)
    path = tmp_path / "out" / "part-00000.json"
    record = json.loads(path.read_text())
    path.write_text(json.dumps({**record, name: record[name] + 1}))
    with pytest.raises(bbpe.CorpusError, match="were read, but"):
        bbpe.finish_shards(done.plan)
    assert any("were read, but" in fault for fault in bbpe.verify_shards(tmp_path / "out", sample=0))


@pytest.mark.parametrize(("change", "faults"), [
    ({"tokens": 4}, ["found 2 documents of 3 tokens; expected 2 of 4"]),
    ({"documents": 3, "records": 3}, ["found 2 documents of 3 tokens; expected 3 of 3"]),
])  # fmt: skip
def test_a_record_that_does_not_fit_its_files(
    change: dict[str, int], faults: list[str], tmp_path: Path, tok: bbpe.Tokenizer
) -> None:
    bbpe.shard(lines(tmp_path / "a.jsonl", ["low", "low low"]), tmp_path / "out", tok)
    path = tmp_path / "out" / "part-00000.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **change}))
    found = bbpe.verify_shards(tmp_path / "out", sample=0)
    assert [fault.partition("part-00000: ")[2] for fault in found] == faults
    with pytest.raises(bbpe.CorpusError, match="the files are not those of the record; verify the shards"):
        bbpe.merge_shards([tmp_path / "out"], tmp_path / "all")


def test_ids_that_the_tokenizer_does_not_have(tmp_path: Path, tok: bbpe.Tokenizer) -> None:
    for last, ok in ((tok.vocab_size - 1, True), (tok.vocab_size, False)):
        folder = tmp_path / f"out{last}"
        done = bbpe.shard(lines(tmp_path / "a.jsonl", ["low low"]), folder, tok)
        ids = np.fromfile(folder / "part-00000.bin", np.uint16)
        ids[-1] = last
        ids.tofile(folder / "part-00000.bin")
        faults = bbpe.verify_shards(folder, sample=0)
        assert any(f"there is an id of {last}; the tokenizer has {tok.vocab_size}" in each for each in faults) is not ok
        assert done.documents == 1


@pytest.mark.parametrize("sample", [0.001, 0.26, 0.5, 1.0])
def test_the_share_of_parts_that_are_encoded_again(
    sample: float, tmp_path: Path, tok: bbpe.Tokenizer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At least one; others with another seed."""
    done = bbpe.shard(lines(tmp_path / "a.jsonl", ["low"] * 80), tmp_path / "out", tok, part_size=300)
    parts, chosen = len(done.plan), []
    encode = part.encode_part

    def again(plan: bbpe.ShardPlan, number: int, *args: Any, **options: Any) -> PartRecord:
        chosen.append(number)
        return encode(plan, number, *args, **options)

    monkeypatch.setattr("bbpe.shards.verify.encode_part", again)
    found = []
    for seed in range(4):
        chosen.clear()
        assert bbpe.verify_shards(tmp_path / "out", sample=sample, seed=seed) == []
        assert len(chosen) == max(1, round(sample * parts))
        found.append(tuple(chosen))
    assert (len(set(found)) > 1) == (sample < 1)


def test_a_document_of_more_ids_than_a_length_holds(
    tmp_path: Path, tok: bbpe.Tokenizer, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = lines(tmp_path / "a.jsonl", ["low", "low" * 9])
    longest = len(tok.encode("low" * 9))
    assert part._MOST_IDS == 2**31 - 1
    monkeypatch.setattr(part, "_MOST_IDS", longest)
    assert bbpe.shard(path, tmp_path / "right", tok).documents == 2
    monkeypatch.setattr(part, "_MOST_IDS", longest - 1)
    with pytest.raises(bbpe.CorpusError, match=rf"a\.jsonl: a document has {longest} tokens; expected at most"):
        bbpe.shard(path, tmp_path / "long", tok)


def test_files_that_one_of_two_plans_has_are_named(tmp_path: Path, tok: bbpe.Tokenizer) -> None:
    a, b = lines(tmp_path / "a.jsonl", ["low"]), lines(tmp_path / "b.jsonl", ["low"])
    for stored, given, other in (([a], [a, b], b), ([a, b], [a], b), ([a, b], [b], a)):
        folder = tmp_path / f"{len(stored)}{len(given)}{other.stem}"
        bbpe.shard(stored, folder, tok)
        with pytest.raises(bbpe.CorpusError, match=rf"another plan, with file {other} in one of them alone; use"):
            bbpe.shard(given, folder, tok)


def test_what_killed_runs_left_is_removed_and_nothing_else(tmp_path: Path, tok: bbpe.Tokenizer) -> None:
    done = bbpe.shard(lines(tmp_path / "a.jsonl", ["low"]), tmp_path / "out", tok)
    left = [".part-00000.bin.abc.tmp", ".plan.json.abc.tmp", ".tokenizer.bbpe.abc.tmp"]
    kept = [".other.abc.tmp", ".part-00000.bin", "notes.tmp"]
    for name in (*left, *kept):
        (tmp_path / "out" / name).touch()
    bbpe.finish_shards(done.plan)
    assert not [name for name in left if (tmp_path / "out" / name).exists()]
    assert all((tmp_path / "out" / name).exists() for name in kept)


def test_each_file_of_a_part_is_compared_with_the_one_that_is_encoded_again(
    tmp_path: Path, tok: bbpe.Tokenizer
) -> None:
    """The record may fit files that were never written from the corpus."""
    (tmp_path / "a.txt").write_text("low lower")
    bbpe.shard(tmp_path / "a.txt", tmp_path / "out", tok)
    path = tmp_path / "out" / "part-00000.json"
    record = json.loads(path.read_text())
    for known in record["files"].values():
        known["sha256"] = "0" * 64
    path.write_text(json.dumps(record))
    again = [fault for fault in bbpe.verify_shards(tmp_path / "out", sample=1.0) if "again gives other bytes" in fault]
    said = "encoding the part again gives other bytes"
    assert again == [f"{path.with_name(name)}: {said}" for name in sorted(record["files"])]
    assert len(again) > 1
