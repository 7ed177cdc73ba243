"""`verify_shards` looks at every file of a folder, blames the one at fault, and repairs by commands that work."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from shard_lines import lines

import bbpe
from bbpe.cli import main
from bbpe.shards.verify import verified


@pytest.fixture
def folder(tmp_path: Path, tok: bbpe.Tokenizer) -> Path:
    """Shards of two parts, with a line that was left out."""
    (tmp_path / "a.jsonl").write_text('{"text": "low lower"}\n' * 40 + '{"text": 5}\n' + '{"text": "low"}\n' * 40)
    done = bbpe.shard(tmp_path / "a.jsonl", tmp_path / "out", tok, eos="</s>", on_error="skip", part_size=800)
    assert len(done.plan) == 2
    return tmp_path / "out"


@pytest.mark.parametrize("sample", [0, 1.0])
@pytest.mark.parametrize("change", ["gone", "empty", "other"])
def test_each_file_is_looked_at(change: str, sample: float, folder: Path) -> None:
    names = {path.name for path in folder.iterdir()} - {"plan.json"}
    assert {"manifest.json", "skipped.jsonl", "tokenizer.bbpe", "part-00001.json", "part-00001.lens"} < names
    assert bbpe.verify_shards(folder, sample=sample) == []
    for name in sorted(names):
        path = folder / name
        data = path.read_bytes()
        path.unlink()
        if change != "gone":
            path.write_bytes(b"" if change == "empty" else data[::-1])
        faults = bbpe.verify_shards(folder, sample=sample)
        assert faults, name
        assert all(name in fault or change == "gone" for fault in faults[:1])
        path.write_bytes(data)
    assert bbpe.verify_shards(folder, sample=sample) == []


@pytest.mark.parametrize("name", ["records", "documents", "refused", "input", "text", "tokens", "unknown"])
def test_the_sums_are_those_of_the_parts(name: str, folder: Path) -> None:
    path = folder / "manifest.json"
    right = path.read_bytes()
    record = json.loads(right)
    path.write_text(json.dumps({**record, name: 777}))
    found = verified(folder, None, sample=0, seed=0)
    assert found.faults == [f"{path}: {name} is 777; the parts have {record[name]}"]
    assert found.repairs == [found.repair] == [f"bbpe shard -o {folder} --finish"]
    assert main(found.repair.split()[1:]) == 0
    assert path.read_bytes() == right
    assert bbpe.verify_shards(folder, sample=0) == []


@pytest.mark.parametrize("text", ["", "[]", "5", "null", '{"plan": 1}'])
def test_a_manifest_that_is_none(text: str, folder: Path) -> None:
    (folder / "manifest.json").write_text(text)
    (fault,) = bbpe.verify_shards(folder, sample=0)
    assert "manifest.json: expected the totals of shards" in fault


def test_the_sums_of_a_mixture(folder: Path, tmp_path: Path) -> None:
    bbpe.merge_shards([(folder, 1.0)], tmp_path / "all", shuffle=1)
    path = tmp_path / "all" / "manifest.json"
    right = path.read_bytes()
    record = json.loads(right)
    record["mixture"]["sources"][0]["documents"] += 1
    path.write_text(json.dumps(record))
    found = verified(tmp_path / "all", None, sample=0, seed=0)
    assert found.faults == [f"{path}: the mixture is not that of the parts"]
    assert main(found.repair.split()[1:]) == 0
    assert path.read_bytes() == right


@pytest.mark.parametrize("data", [None, b"", b"\xff" * 40])
def test_a_tokenizer_that_is_lost_is_no_fault_of_parts(data: bytes | None, folder: Path, tmp_path: Path) -> None:
    """No command is printed, as each needs the tokenizer; that of the user's own call restores it."""
    path, tok = folder / "tokenizer.bbpe", bbpe.load_shards(folder).tokenizer
    right = path.read_bytes()
    path.unlink()
    if data is not None:
        path.write_bytes(data)
    found = verified(folder, None, sample=1.0, seed=0)
    (fault,) = found.faults
    assert re.search(r"tokenizer\.bbpe: .*; put the right file back, or remove it and make the call", fault)
    assert (found.repairs, found.repair, found.checked.again) == ([""], "", [])
    (folder / "part-00000.lens").unlink()
    assert verified(folder, None, sample=0, seed=0).repair == ""
    path.unlink(missing_ok=True)
    bbpe.shard(tmp_path / "a.jsonl", folder, tok, eos="</s>", on_error="skip", part_size=800)
    assert path.read_bytes() == right
    assert bbpe.verify_shards(folder, sample=1.0) == []


def test_a_corpus_that_was_changed_is_no_fault_of_parts(tmp_path: Path, tok: bbpe.Tokenizer) -> None:
    path = lines(tmp_path / "a.jsonl", ["low"])
    bbpe.shard(path, tmp_path / "out", tok)
    lines(path, ["wol"])
    found = verified(tmp_path / "out", None, sample=1.0, seed=0)
    (fault,) = found.faults
    assert "part-00000: the part cannot be encoded again: " in fault
    assert "a.jsonl: the file has other contents" in fault
    assert (found.repairs, found.repair, found.checked.again) == ([""], "", [])


def test_parts_are_written_again_before_they_are_summed_up(folder: Path) -> None:
    """One command for all faults, whatever the sum is like."""
    right = (folder / "manifest.json").read_bytes()
    for text in (None, "{}"):
        (folder / "part-00000.lens").unlink()
        (folder / "manifest.json").unlink()
        if text is not None:
            (folder / "manifest.json").write_text(text)
        found = verified(folder, None, sample=0, seed=0)
        again = f"rm {folder / 'part-00000.json'} && bbpe shard -o {folder} --part 0"
        assert found.repairs == [again, f"bbpe shard -o {folder} --finish"]
        assert found.repair == f"{again} && bbpe shard -o {folder} --finish"
        (folder / "part-00000.json").unlink()
        assert main(again.partition("&& ")[2].split()[1:]) == main(found.repairs[1].split()[1:]) == 0
        assert (folder / "manifest.json").read_bytes() == right
