"""What a folder of shards shows while parts are written, fail, and are killed; and when its plan may be replaced."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import time
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from processes import KILL
from shard_lines import lines

import bbpe
from bbpe.cli import main
from bbpe.records import asdict, replace
from bbpe.shards import status
from bbpe.shards.part import PartRecord, record_path
from bbpe.shards.state import listing, numbers_of, numbers_text
from bbpe.shards.status import Lookout

EOS = "</s>"
#: Writes parts until it is killed, the first of them quickly, and says when it is within the third one.
KILLED = """
import sys, time, bbpe
from bbpe.shards.part import PartWriter
plan = bbpe.shards.plan.open_plan(sys.argv[1])
bbpe.shard_part(plan, 0)
bbpe.shard_part(plan, 1)
finish = PartWriter.finish
def slow(self):
    print("within", flush=True)
    time.sleep(60)
PartWriter.finish = slow
bbpe.shard_part(plan, 2)
"""


@pytest.fixture
def plan(tmp_path: Path, tok: bbpe.Tokenizer) -> bbpe.ShardPlan:
    """A plan of six parts, of which none is done."""
    path = lines(tmp_path / "a.jsonl", [f"low {number:03} lower" for number in range(60)])
    made = bbpe.plan_shards(path, tmp_path / "out", tok, eos=EOS, part_size=path.stat().st_size // 6)
    assert len(made) == 6
    return made


def temporary(plan: bbpe.ShardPlan, number: int, age: float = 0.0, suffix: str = ".bin") -> Path:
    """A file of a part that somebody writes, or wrote when it was killed."""
    path = plan.folder / f".part-{number:05d}{suffix}.0123456789ab.tmp"
    path.write_bytes(b"ids")
    os.utime(path, (time.time() - age,) * 2)
    return path


def failing(plan: bbpe.ShardPlan, number: int, monkeypatch: pytest.MonkeyPatch, message: str = "no") -> None:
    """Have a part fail once."""

    def fails(*_: Any, **__: Any) -> Any:
        raise OSError(5, message)

    with monkeypatch.context() as patched:
        patched.setattr("bbpe.shards.part.encode_part", fails)
        with pytest.raises(OSError, match=message):
            bbpe.shard_part(plan, number)


def test_each_part_is_in_one_state(plan: bbpe.ShardPlan, monkeypatch: pytest.MonkeyPatch) -> None:
    empty = bbpe.shards_status(plan.folder)
    assert (empty.done, empty.missing, empty.again, empty.totals.tokens) == (0, (0, 1, 2, 3, 4, 5), "0-5", 0)
    first = bbpe.shard_part(plan, 0)
    failing(plan, 1, monkeypatch)
    temporary(plan, 3)
    temporary(plan, 4, age=300)
    found = bbpe.shards_status(plan)
    assert (found.parts, found.done, found.running, found.missing) == (6, 1, (3,), (2, 4, 5))
    (failed,) = found.failed
    assert (failed.part, failed.error, failed.host) == (1, "OSError", os.uname().nodename)
    assert abs(failed.time - time.time()) < 60
    assert (found.totals, found.size, found.summed) == (first.totals, plan.size, False)
    assert found.again == "1-2,4-5"
    assert found.command == f"bbpe shard -o {plan.folder} --part 1-2,4-5"
    text = str(found)
    assert "1 of 6 parts done (16 %), 1 running, 1 failed, 3 missing" in text
    assert "failed: part 1 on " in text
    assert text.endswith(f"next: {found.command}")
    assert json.loads(json.dumps(found.as_dict()))["failed"][0]["message"] == "[Errno 5] no"


@pytest.mark.parametrize(("most", "more"), [(2, ["failed: 2 more"]), (3, ["failed: 1 more"]), (4, []), (5, [])])
def test_of_many_failures_the_first_ones_are_shown_and_the_rest_counted(
    most: int, more: list[str], plan: bbpe.ShardPlan, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(status, "_SHOWN", most)
    for number in range(4):
        failing(plan, number, monkeypatch)
    found = bbpe.shards_status(plan)
    shown = [line for line in str(found).splitlines() if line.startswith("failed: ")]
    assert shown == [f"failed: {each}" for each in found.failed[:most]] + more
    assert len(found.failed) == 4


@pytest.mark.parametrize("suffix", [".bin", ".idx", ".lens"])
@pytest.mark.parametrize("is_gone", [False, True])
def test_a_part_without_its_files_is_written_again(plan: bbpe.ShardPlan, suffix: str, is_gone: bool) -> None:
    """A record alone does not make a part done: its files may be lost when a disk fills up, or in a copy."""
    for number in range(len(plan)):
        bbpe.shard_part(plan, number)
    right = {path.name: path.read_bytes() for path in plan.folder.iterdir()}
    path = plan.folder / f"part-00002{suffix}"
    path.unlink() if is_gone else path.write_bytes(path.read_bytes()[:-1])
    found = bbpe.shards_status(plan.folder)
    assert (found.done, [each.part for each in found.failed], found.again) == (5, [2], "2")
    assert f"failed: part 2: CorpusError: {path}: the file {'is gone' if is_gone else 'has'}" in str(found)
    with pytest.raises(bbpe.CorpusError, match=r"1 of 6 parts are missing, or lack files; `bbpe shard -o .* --part 2`"):
        bbpe.finish_shards(plan)
    assert str(path) in bbpe.verify_shards(plan, sample=0)[0]
    bbpe.shard_part(plan, 2)
    assert {path.name: path.read_bytes() for path in plan.folder.iterdir()} == right
    assert bbpe.finish_shards(plan).documents == 60


def test_a_merge_without_its_files_is_made_again(plan: bbpe.ShardPlan, tmp_path: Path) -> None:
    for number in range(len(plan)):
        bbpe.shard_part(plan, number)
    bbpe.finish_shards(plan)
    merged = bbpe.merge_shards([plan], tmp_path / "all", shuffle=1)
    path = merged.plan.folder / "part-00000.bin"
    data = path.read_bytes()
    path.unlink()
    status = bbpe.shards_status(merged)
    assert (status.done, status.command) == (0, "")
    with pytest.raises(bbpe.CorpusError, match="lack files; merge them again"):
        bbpe.finish_shards(merged.plan)
    bbpe.merge_shards([plan], tmp_path / "all", shuffle=1)
    assert path.read_bytes() == data


def test_success_and_the_sum_remove_notes(plan: bbpe.ShardPlan, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in (0, 1):
        failing(plan, number, monkeypatch)
    assert listing(plan.folder).failed == {0, 1}
    bbpe.shard_part(plan, 0)
    assert listing(plan.folder).failed == {1}
    note = (plan.folder / "part-00001.failed").read_bytes()
    for number in range(1, 6):
        bbpe.shard_part(plan, number)
    # one that another worker has written after the part was done
    (plan.folder / "part-00001.failed").write_bytes(note)
    done = bbpe.shards_status(plan)
    assert (done.done, done.failed, done.summed) == (6, (), False)
    assert done.command == f"bbpe shard -o {plan.folder} --finish"
    bbpe.finish_shards(plan)
    assert listing(plan.folder).failed == set()
    assert (bbpe.shards_status(plan).summed, bbpe.shards_status(plan).command) == (True, "")


def test_notes_change_no_other_file(plan: bbpe.ShardPlan, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    failing(plan, 2, monkeypatch, message="x" * 9999)
    assert (plan.folder / "part-00002.failed").stat().st_size < 3000
    size = (tmp_path / "a.jsonl").stat().st_size // 6
    folders = [
        bbpe.shard(tmp_path / "a.jsonl", folder, plan.tokenizer, eos=EOS, part_size=size).plan.folder
        for folder in (plan.folder, tmp_path / "undisturbed")
    ]
    one, other = ({path.name: path.read_bytes() for path in folder.iterdir()} for folder in folders)
    assert one == other


def test_an_interrupt_is_no_failure(plan: bbpe.ShardPlan, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: Any, **__: Any) -> Any:
        raise KeyboardInterrupt

    monkeypatch.setattr("bbpe.shards.part.encode_part", interrupted)
    with pytest.raises(KeyboardInterrupt):
        bbpe.shard_part(plan, 0)
    assert listing(plan.folder).failed == set()


def test_damaged_and_foreign_files(plan: bbpe.ShardPlan, monkeypatch: pytest.MonkeyPatch) -> None:
    """A damaged record is a failure whose command removes it first; notes of another plan and other names are none."""
    for number in range(3):
        bbpe.shard_part(plan, number)
    (plan.folder / "part-00001.json").write_text("{")
    failing(plan, 4, monkeypatch)
    note = json.loads((plan.folder / "part-00004.failed").read_text())
    (plan.folder / "part-00004.failed").write_text(json.dumps({**note, "plan": "0" * 64}))
    (plan.folder / "part-00005.failed").write_text("no JSON")
    for name in ("part-00009.json", "part-1.json", "part-00003.json.bak", ".part-00003.bin.tmp", "notes.failed"):
        (plan.folder / name).touch()
    found = bbpe.shards_status(plan)
    assert (found.done, [each.part for each in found.failed], found.missing) == (2, [1, 5], (3, 4))
    assert "expected the record of a part" in found.failed[0].message
    assert "expected the note on a failed part" in found.failed[1].message
    assert found.command == f"rm {plan.folder}/part-00001.json && bbpe shard -o {plan.folder} --part 1,3-5"
    subprocess.run(["rm", str(plan.folder / "part-00001.json")], check=True)
    assert main(found.command.partition("&& bbpe ")[2].split()) == 0
    assert bbpe.shards_status(plan).done == 6


@pytest.mark.parametrize(("age", "idle", "runs"), [(0, 120, True), (100, 120, True), (130, 120, False), (5, 3, False)])
def test_a_part_is_running_while_its_files_are_young(plan: bbpe.ShardPlan, age: int, idle: float, runs: bool) -> None:
    temporary(plan, 2, age)
    assert bbpe.shards_status(plan, idle=idle).running == ((2,) if runs else ())


def test_a_file_that_grows_is_written_whatever_its_time(plan: bbpe.ShardPlan) -> None:
    """The clock of the disk may be far behind."""
    lookout, path = Lookout(plan), temporary(plan, 2, age=9999)
    assert lookout.look().running == ()
    with path.open("ab") as file:
        file.write(b"more")
    os.utime(path, (time.time() - 9999,) * 2)
    assert lookout.look().running == (2,)
    assert lookout.look().running == ()


def test_notes_being_written_are_no_parts(plan: bbpe.ShardPlan) -> None:
    temporary(plan, 2, suffix=".failed")
    assert bbpe.shards_status(plan).running == ()


def test_a_killed_run(plan: bbpe.ShardPlan, capsys: pytest.CaptureFixture[str]) -> None:
    """While it runs and after the kill; the command that is printed does the rest."""
    with subprocess.Popen([sys.executable, "-c", KILLED, plan.folder], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        found = bbpe.shards_status(plan)
        assert (found.done, found.running, found.again) == (2, (2,), "3-5")
        process.send_signal(KILL)
    found = bbpe.shards_status(plan, idle=0)
    assert (found.done, found.running, found.missing, found.again) == (2, (), (2, 3, 4, 5), "2-5")
    assert main(["shards", "status", str(plan.folder), "--idle", "0"]) == 1
    _, _, command = capsys.readouterr().out.partition("next: bbpe ")
    assert main([*command.split(), "--quiet"]) == 0
    assert main(["shards", "status", str(plan.folder)]) == 1
    _, _, command = capsys.readouterr().out.partition("next: bbpe ")
    assert main(command.split()) == 0
    assert main(["shards", "status", str(plan.folder)]) == 0
    assert bbpe.verify_shards(plan, sample=1) == []
    assert not list(plan.folder.glob(".part-*"))


def aged(plan: bbpe.ShardPlan, ages: dict[int, float]) -> None:
    for number, age in ages.items():
        bbpe.shard_part(plan, number)
        os.utime(plan.folder / f"part-{number:05d}.json", (time.time() - age,) * 2)


def test_the_rate_is_that_of_the_parts_after_the_first_of_each_worker(plan: bbpe.ShardPlan) -> None:
    """Two workers: parts 0 and 1 end at about the same time, and a rate by them alone would be far too high."""
    aged(plan, {0: 100, 1: 99})
    for number in (4, 5):
        temporary(plan, number)
    assert bbpe.shards_status(plan).rate is None
    aged(plan, {2: 50, 3: 49})
    found = bbpe.shards_status(plan)
    sizes = [sum(source.read for source in part) for part in plan.parts]
    assert found.rate == pytest.approx((sizes[2] + sizes[3]) / 99, rel=0.05)
    assert found.seconds_left == pytest.approx((sizes[4] + sizes[5]) / found.rate)
    assert "of input per second lately, about 1:3" in str(found)


def test_there_is_no_rate_when_nothing_runs_and_none_from_long_ago(plan: bbpe.ShardPlan) -> None:
    aged(plan, {0: 90_000, 1: 89_000, 2: 20, 3: 10})
    assert bbpe.shards_status(plan).rate is None
    temporary(plan, 4)
    found = bbpe.shards_status(plan)
    size = sum(source.read for source in plan.parts[3])
    assert found.rate == pytest.approx(size / 20, rel=0.2)


def test_records_are_read_once(plan: bbpe.ShardPlan, monkeypatch: pytest.MonkeyPatch) -> None:
    lookout, read = Lookout(plan), []
    record = status.read_record
    monkeypatch.setattr(status, "read_record", lambda plan, number: read.append(number) or record(plan, number))
    for number in (0, 1, 0):
        bbpe.shard_part(plan, number)
        assert lookout.look().totals.documents == 10 * lookout.look().done
    assert read == [0, 1]
    (plan.folder / "part-00000.json").unlink()
    assert (lookout.look().done, lookout.look().missing[0]) == (1, 0)


def test_merged_shards_have_no_parts_to_write_again(plan: bbpe.ShardPlan, tmp_path: Path) -> None:
    for number in range(6):
        bbpe.shard_part(plan, number)
    bbpe.finish_shards(plan)
    merged = bbpe.merge_shards([plan.folder], tmp_path / "all", shuffle=1)
    assert bbpe.shards_status(merged).summed
    (tmp_path / "all" / "part-00000.json").unlink()
    found = bbpe.shards_status(tmp_path / "all")
    assert (found.summed, found.again, found.command) == (False, "0", "")


def test_lists_of_parts() -> None:
    generator = random.Random(4)
    for _ in range(200):
        numbers = sorted(generator.sample(range(30), generator.randrange(1, 30)))
        text = numbers_text(numbers)
        assert numbers_of(text) == numbers
        assert text.count(",") == sum(after - before > 1 for before, after in pairwise(numbers))
    assert numbers_of("5,1-3") == [1, 2, 3, 5]
    for wrong in ("", "3-1", "1,1", "1-3,2", "a", "-1", "1-", "1 2", "\u0663", "99999999"):
        with pytest.raises(ValueError, match="expected"):
            numbers_of(wrong)


def test_a_plan_is_not_replaced_while_a_part_is_written(plan: bbpe.ShardPlan, tmp_path: Path) -> None:
    """Unless it is asked for; no more when the run that wrote it is long dead, and never when a part is done."""
    files, tok, out = tmp_path / "a.jsonl", plan.tokenizer, plan.folder
    path = temporary(plan, 1)
    for call in (bbpe.plan_shards, bbpe.shard):
        with pytest.raises(bbpe.CorpusError, match=r"another plan, with eos .*; 1 part is being written now, so wait"):
            call(files, out, tok)
    assert len(bbpe.plan_shards(files, out, tok, eos=EOS, part_size=files.stat().st_size // 6)) == 6
    assert len(bbpe.plan_shards(files, out, tok, replan=True)) == 1
    os.utime(path, (time.time() - 9999,) * 2)
    assert bbpe.plan_shards(files, out, tok, eos=EOS).policy.eos is not None
    path.touch()
    assert bbpe.shard(files, out, tok, replan=True).plan.policy.eos is None
    with pytest.raises(bbpe.CorpusError, match="use another folder, or the same arguments"):
        bbpe.plan_shards(files, out, tok, eos=EOS, replan=True)
    with pytest.raises(TypeError, match="replan must be a bool, not int"):
        bbpe.plan_shards(files, out, tok, replan=1)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["convert_shards", "plan_conversion", "retokenize", "plan_retokenizing"])
def test_a_plan_of_ids_is_replaced_only_if_it_is_asked_for(name: str, tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"text": "low lower"}\n' * 20)
    tok = bbpe.train_from_iterator(["low lower"], 260)
    source, out = bbpe.shard(tmp_path / "a.jsonl", tmp_path / "old", tok), tmp_path / "new"
    given = {"tokenizer": tok} if "retok" in name else {}
    make: Any = bbpe.plan_retokenizing if given else bbpe.plan_conversion
    plan = make(source, out, format="olmo", **given)
    temporary(plan, 0)
    call = getattr(bbpe, name)
    with pytest.raises(bbpe.CorpusError, match="1 part is being written now, so wait, or give replan=True"):
        call(source, out, format="parquet", **given)
    call(source, out, format="parquet", replan=True, **given)
    assert make(source, out, format="parquet", **given).policy.format == "parquet"
    with pytest.raises(TypeError, match="replan must be a bool, not int"):
        call(source, out, format="parquet", replan=1, **given)


def test_a_merge_does_not_replace_one_that_is_written(plan: bbpe.ShardPlan, tmp_path: Path) -> None:
    """Merging has no option for it, so none is named; a merge that is long dead is replaced."""
    for number in range(len(plan)):
        bbpe.shard_part(plan, number)
    bbpe.finish_shards(plan)
    merged = bbpe.merge_shards([plan], tmp_path / "all", shuffle=1)
    for name in ("part-00000.json", "manifest.json"):
        (merged.plan.folder / name).unlink()
    path = temporary(merged.plan, 0)
    with pytest.raises(bbpe.CorpusError, match=r"1 part is being written now, so wait, or use another folder$"):
        bbpe.merge_shards([plan], tmp_path / "all", shuffle=2)
    os.utime(path, (time.time() - 9999,) * 2)
    assert bbpe.merge_shards([plan], tmp_path / "all", shuffle=2).documents == 60


def test_a_new_plan_has_no_notes_of_the_old_one(
    plan: bbpe.ShardPlan, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    failing(plan, 3, monkeypatch)
    bbpe.plan_shards(tmp_path / "a.jsonl", plan.folder, plan.tokenizer)
    assert listing(plan.folder).failed == set()


def test_a_worker_of_a_replaced_plan_ends_and_leaves_no_failure(plan: bbpe.ShardPlan, tmp_path: Path) -> None:
    bbpe.plan_shards(tmp_path / "a.jsonl", plan.folder, plan.tokenizer)
    with pytest.raises(bbpe.CorpusError, match="another call has replaced the plan"):
        bbpe.shard_part(plan, 0)
    found = bbpe.shards_status(plan.folder)
    assert (found.failed, found.missing) == ((), (0,))


@pytest.mark.full
def test_ten_thousand_parts(tmp_path: Path, tok: bbpe.Tokenizer, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each record is read once, and of a second look only those that are new."""
    path = lines(tmp_path / "a.jsonl", [f"low {number:05}" for number in range(40_000)])
    plan = bbpe.plan_shards(path, tmp_path / "out", tok, part_size=path.stat().st_size // 10_000)
    assert len(plan) == 10_000
    for number, sources in enumerate(plan.parts):
        made = PartRecord(records=4, documents=4, input=sum(each.read for each in sources), part=number)
        record_path(plan, number).write_text(json.dumps(asdict(replace(made, plan=plan.digest))))
    gone = [5, 7, 8, 9_999]
    for number in gone:
        record_path(plan, number).unlink()
    read: list[int] = []
    record = status.read_record
    monkeypatch.setattr(status, "read_record", lambda plan, number: read.append(number) or record(plan, number))
    lookout = Lookout(plan)
    done = [number for number in range(10_000) if number not in gone]
    for _ in range(2):
        found = lookout.look()
        assert (found.done, found.again, found.totals.documents) == (9_996, "5,7-8,9999", 4 * 9_996)
        assert sorted(read) == done
    record_path(plan, 5).write_text(json.dumps(asdict(replace(made, plan=plan.digest, part=5))))
    assert lookout.look().done == 9_997
    assert sorted(read) == [*done[:5], 5, *done[5:]]
