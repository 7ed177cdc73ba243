"""Merging, shuffling, verifying and counting."""

from __future__ import annotations

import errno
import hashlib
import json
from itertools import chain, pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import bbpe
from bbpe.shards import shuffle
from bbpe.shards.formats import FORMATS
from bbpe.shards.formats.format import Lengths
from bbpe.shards.formats.megatron import MegatronWriter, read_index
from bbpe.shards.outputs import Outputs

EOS = "<|endoftext|>"
TEXTS = [f"low {number} lower" * (number % 5) for number in range(150)]


@pytest.fixture(scope="module")
def tok() -> bbpe.Tokenizer:
    return bbpe.train_from_iterator(["low lower lowest slow"] * 3, 280, special_tokens=[EOS])


def write(path: Path, texts: list[str]) -> Path:
    path.write_text("".join(json.dumps({"text": text}) + "\n" for text in texts))
    return path


@pytest.fixture
def two(tmp_path: Path) -> list[Path]:
    return [write(tmp_path / "a.jsonl", TEXTS[:80]), write(tmp_path / "b.jsonl", TEXTS[80:])]


def test_row_groups_of_parquet_end_with_the_document_that_fills_them(
    two: list[Path], tmp_path: Path, tok: bbpe.Tokenizer, monkeypatch: pytest.MonkeyPatch
) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    right = [ids.tolist() for ids in bbpe.shard(two, tmp_path / "one", tok, eos=EOS, format="parquet")]
    for size in (1, 60, 500):
        monkeypatch.setattr("bbpe.shards.formats.parquet._GROUP", size)
        done = bbpe.shard(two, tmp_path / str(size), tok, eos=EOS, format="parquet")
        assert [ids.tolist() for ids in done] == right
        file = parquet.ParquetFile(tmp_path / str(size) / "part-00000.parquet")
        groups = [file.read_row_group(number).column(0).to_pylist() for number in range(file.num_row_groups)]
        assert all(sum(map(len, group[:-1])) < size <= sum(map(len, group)) for group in groups[:-1])
        assert list(chain.from_iterable(groups)) == right


OTHERS = [pytest.param(name, marks=pytest.mark.full) for name in FORMATS if name not in ("megatron", "parquet")]


@pytest.mark.parametrize("name", ["megatron", "parquet", *OTHERS])
def test_merged_in_order_is_one_part(name: str, two: list[Path], tmp_path: Path, tok: bbpe.Tokenizer) -> None:
    options: Any = {"format": name, "eos": EOS, "empty": "keep"}
    bbpe.shard(two[0], tmp_path / "a", tok, part_size=700, **options)
    bbpe.shard(two[1], tmp_path / "b", tok, part_size=400, **options)
    merged = bbpe.merge_shards([tmp_path / "a", tmp_path / "b"], tmp_path / "all")
    whole = bbpe.shard(two, tmp_path / "whole", tok, **options)
    assert (len(merged.plan), len(whole.plan)) == (1, 1)
    assert merged.totals == whole.totals
    assert [ids.tolist() for ids in merged] == [ids.tolist() for ids in whole]
    for suffix in FORMATS[name].suffixes:
        both = [(tmp_path / folder / f"part-00000{suffix}").read_bytes() for folder in ("all", "whole")]
        assert both[0] == both[1]
    assert bbpe.verify_shards(tmp_path / "all", tok) == []


@pytest.mark.parametrize("bucket", [1 << 25, 400])
def test_shuffling_is_a_permutation_that_the_seed_decides(
    bucket: int, two: list[Path], tmp_path: Path, tok: bbpe.Tokenizer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shuffle, "_BUCKET", bucket)
    for number, size in enumerate((300, 100_000)):
        bbpe.shard(two, tmp_path / str(number), tok, eos=EOS, part_size=size)
    rows = [ids.tolist() for ids in bbpe.load_shards(tmp_path / "0")]
    found = []
    for number in range(2):
        merged = bbpe.merge_shards([tmp_path / str(number)], tmp_path / f"m{number}", shuffle=7)
        found.append([ids.tolist() for ids in merged])
        assert bbpe.verify_shards(merged.plan.folder) == []
        assert not list(merged.plan.folder.glob(".*"))
    order = np.argsort(shuffle.keys_of(7, 0, len(rows)))
    assert found[0] == found[1] == [rows[number] for number in order]
    other = bbpe.merge_shards([tmp_path / "0"], tmp_path / "other", shuffle=8)
    assert [ids.tolist() for ids in other] != found[0]
    (other.plan.folder / "part-00000.json").unlink()
    with pytest.raises(bbpe.CorpusError, match="shuffled when shards were merged"):
        bbpe.shard_part(other.plan, 0)
    with pytest.raises(bbpe.CorpusError, match="merge them with a seed again"):
        bbpe.merge_shards([tmp_path / "m0"], tmp_path / "again")


@pytest.mark.parametrize(("name", "seed"), [("llmc", None), ("olmo", 5)])
def test_merged_into_parts_of_equal_size(
    name: str, seed: int | None, two: list[Path], tmp_path: Path, tok: bbpe.Tokenizer
) -> None:
    options: Any = {"format": name, "eos": EOS, "empty": "keep"}
    one = bbpe.merge_shards([bbpe.shard(two, tmp_path / "a", tok, **options).plan.folder], tmp_path / "b", shuffle=seed)
    rows, longest = [ids.tolist() for ids in one], max(map(len, one))
    for size in (one.tokens, 1000, "1k"):
        folder = tmp_path / str(size)
        done = bbpe.merge_shards([tmp_path / "a"], folder, shuffle=seed, shard_size=size)
        size = 1000 if size == "1k" else size
        sizes = [len(done.part(number)[0]) for number in range(len(done.plan))]
        assert len(sizes) == -(-one.tokens // size)
        assert all(one.tokens // len(sizes) - longest < n < size + longest for n in sizes)
        assert [ids.tolist() for ids in done] == rows
        assert done[70].tolist() == rows[70]
        assert done.totals == one.totals
        assert bbpe.verify_shards(folder, tok) == []
        (folder / "part-00000.json").unlink()
        assert bbpe.merge_shards([tmp_path / "a"], folder, shuffle=seed, shard_size=size).totals == one.totals
    again = bbpe.merge_shards([tmp_path / "1000"], tmp_path / "again", shuffle=seed)
    assert (len(again), again.tokens) == (len(one), one.tokens)
    with pytest.raises(bbpe.CorpusError, match="shard_size 1000 and None"):
        bbpe.merge_shards([tmp_path / "a"], tmp_path / "1000", shuffle=seed)
    with pytest.raises(ValueError, match=f"expected more than the {longest} that one document has"):
        bbpe.merge_shards([tmp_path / "a"], tmp_path / "small", shard_size=longest - 1)
    if seed is None:
        (tmp_path / "1000" / "part-00001.json").unlink()
        with pytest.raises(bbpe.CorpusError, match="documents were divided when shards were merged"):
            bbpe.shard_part(bbpe.load_shards(tmp_path / "1000").plan, 1)


def test_every_order_is_as_likely() -> None:
    """Each of 5 documents is at each place about as often, over many seeds."""
    places = np.zeros((5, 5), int)
    for seed in range(4000):
        places[np.arange(5), np.argsort(shuffle.keys_of(seed, 0, 5))] += 1
    assert abs(places - 800).max() < 120


def test_shards_that_differ_are_not_merged(two: list[Path], tmp_path: Path, tok: bbpe.Tokenizer) -> None:
    bbpe.shard(two[0], tmp_path / "a", tok, eos=EOS)
    bbpe.shard(two[1], tmp_path / "b", tok)
    with pytest.raises(bbpe.CorpusError, match=r"shards with eos \d+ and None cannot be merged"):
        bbpe.merge_shards([tmp_path / "a", tmp_path / "b"], tmp_path / "all")
    with pytest.raises(ValueError, match="expected a list of one folder or more"):
        bbpe.merge_shards([], tmp_path / "all")
    with pytest.raises(ValueError, match="shuffle is -1"):
        bbpe.merge_shards([tmp_path / "a"], tmp_path / "all", shuffle=-1)
    assert not (tmp_path / "all").exists()


def test_sources_that_were_read_in_other_ways_are_merged(tmp_path: Path, tok: bbpe.Tokenizer) -> None:
    """Fields, formats of files and what was left out change no ids that are there, so they keep nobody from merging."""
    pq = pytest.importorskip("pyarrow.parquet")
    import pyarrow as pa

    write(tmp_path / "a.jsonl", TEXTS[:40])
    pq.write_table(pa.table({"content": TEXTS[40:80]}), tmp_path / "b.parquet")
    (tmp_path / "c.log").write_text("".join(f"{text}\n" for text in TEXTS[80:]))
    with (tmp_path / "a.jsonl").open("a") as file:
        file.write("broken\n")
    ways: list[dict[str, Any]] = [
        {"on_error": "skip"},
        {"text_field": ["body", "content"], "input_format": "parquet"},
        {"document": "line", "input_format": "text", "empty": "keep"},
    ]
    for name, way in zip(("a.jsonl", "b.parquet", "c.log"), ways, strict=True):
        bbpe.shard(tmp_path / name, tmp_path / name[0], tok, eos=EOS, part_size=700, **way)
    folders = [tmp_path / name for name in "abc"]
    each = [[ids.tolist() for ids in bbpe.load_shards(folder)] for folder in folders]
    joined = bbpe.merge_shards(folders, tmp_path / "joined")
    assert [ids.tolist() for ids in joined] == list(chain.from_iterable(each))
    assert joined.totals.refused == 1
    again = bbpe.merge_shards([joined.plan.folder, tmp_path / "a"], tmp_path / "again")
    assert [ids.tolist() for ids in again] == list(chain.from_iterable([*each, each[0]]))
    for done in (joined, again, bbpe.merge_shards(folders, tmp_path / "shuffled", shuffle=1)):
        assert bbpe.verify_shards(done.plan, tok, sample=1) == []
        assert done.find(tmp_path / "b.parquet", 3) in range(len(done))
        for document in (0, 30, 60, len(done) - 1):
            found = done.source(document)
            assert done[done.find(found.path, found.record)].tolist() == done[document].tolist()
    mixed = bbpe.merge_shards([(folder, 1) for folder in folders], tmp_path / "mixed", tokens=90, exact=True)
    assert [source.tokens for source in mixed.mixture or ()] == [30, 30, 30]
    (joined.plan.folder / "part-00000.json").unlink()
    with pytest.raises(bbpe.CorpusError, match="documents were joined when shards were merged"):
        bbpe.shard_part(joined.plan, 0)


def test_faults_are_found(two: list[Path], tmp_path: Path, tok: bbpe.Tokenizer) -> None:
    folder = tmp_path / "out"
    bbpe.shard(two, folder, tok, eos=EOS, part_size=700)
    assert bbpe.verify_shards(folder, tok, sample=1.0) == []
    other = bbpe.train_from_iterator(["other"], 270)
    assert "the tokenizer is" in bbpe.verify_shards(folder, other)[0]
    data = bytearray((folder / "part-00001.bin").read_bytes())
    data[0] ^= 1
    (folder / "part-00001.bin").write_bytes(data)
    (faults,) = bbpe.verify_shards(folder, tok)
    assert "part-00001.bin: the file was changed" in faults
    (folder / "part-00001.bin").write_bytes(data[:-1])
    assert "the file has" in bbpe.verify_shards(folder, tok)[0]
    (folder / "part-00002.idx").unlink()
    for number in (3, 5, 6):
        (folder / f"part-0000{number}.json").unlink()
    faults_now = bbpe.verify_shards(folder, tok)
    assert f"{folder}/part-00002.idx: the file is gone" in faults_now
    assert f"{folder}: parts 3,5-6 are missing" in faults_now


@pytest.mark.parametrize(("part_size", "sample"), [(1 << 20, 0.001), (700, 1)])
def test_ids_that_encoding_does_not_give_are_found(
    part_size: int, sample: float, two: list[Path], tmp_path: Path, tok: bbpe.Tokenizer
) -> None:
    """Ids of another tokenizer may have the right number and, in the record, the right digest."""
    plan = bbpe.shard(two, tmp_path / "out", tok, eos=EOS, part_size=part_size).plan
    assert (len(plan) == 1) is (sample < 1)  # one part is encoded again, whatever the share
    stem = plan.stem(len(plan) - 1)
    path, record = stem.with_suffix(".bin"), stem.with_suffix(".json")
    ids = np.fromfile(path, np.uint16)
    at = int(np.flatnonzero(ids[1:] != ids[:-1])[0])
    ids[at : at + 2] = ids[at : at + 2][::-1]
    ids.tofile(path)
    known = json.loads(record.read_text())
    known["files"][path.name]["sha256"] = hashlib.sha256(path.read_bytes()).hexdigest()
    record.write_text(json.dumps(known))
    assert bbpe.verify_shards(plan.folder, tok, sample=0) == []
    (fault,) = bbpe.verify_shards(plan.folder, tok, sample=sample)
    assert fault == f"{path}: encoding the part again gives other bytes"


def test_tokens_are_counted_without_being_written(two: list[Path], tmp_path: Path, tok: bbpe.Tokenizer) -> None:
    found = bbpe.count_tokens(two, tok, threads=2)
    ids = [tok.encode(text) for text in TEXTS]
    assert (found.documents, found.tokens) == (150, sum(map(len, ids)))
    assert found.bytes == sum(map(len, TEXTS))
    assert found.bytes_per_token == found.bytes / found.tokens
    (tmp_path / "c.txt").write_text("low lower")
    assert bbpe.count_tokens(tmp_path / "c.txt", tok) == bbpe.TokenCounts(1, len(tok.encode("low lower")), 9)


def test_an_index_beyond_what_four_bytes_hold(tmp_path: Path) -> None:
    """Lengths that sum to 2**41 bytes: each place is what Python's integers say."""
    lengths: Lengths = np.array([2**31 - 1, 5, 0, 2**31 - 1] * 256, np.int64)
    with_idx = Outputs(tmp_path / "part")
    writer = MegatronWriter(with_idx, "int32", "")
    narrow = lengths.astype(np.int32)
    writer.finish(lambda: (narrow[at : at + 100] for at in range(0, len(narrow), 100)))
    with_idx.publish()
    _, dtype, sizes, begins, documents = read_index(tmp_path / "part.idx")
    right, place = [], 0
    for length in (length for length in lengths.tolist() if length):
        right.append(place)
        place += 4 * length
    assert (np.dtype(dtype).name, begins.tolist()) == ("int32", right)
    assert sizes.tolist() == [length for length in lengths.tolist() if length]
    assert place > 2**40
    assert [stop - start for start, stop in pairwise(documents.tolist())] == [int(n > 0) for n in lengths.tolist()]


def test_a_full_disk_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a write of temporary files raises names none of them."""
    path = tmp_path / "a.jsonl"
    path.write_text('{"text": "low"}\n' * 9)
    done = bbpe.shard(path, tmp_path / "one", bbpe.train_from_iterator(["low"], 257))

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(shuffle, "_write_buckets", full)
    with pytest.raises(OSError, match=r"No space left on device: '.*two'"):
        bbpe.merge_shards([done], tmp_path / "two", shuffle=3)
