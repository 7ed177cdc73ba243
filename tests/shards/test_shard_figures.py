"""Figures of shards, parts of merged ones, and what files say of themselves."""

from __future__ import annotations

import csv
import gzip
from collections.abc import Callable
from concurrent.futures import Executor, Future
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from shard_lines import lines

import bbpe
from bbpe.files import Replacement
from bbpe.progress import Progress
from bbpe.shards import merge, open_parts, outputs, run, shuffle, streams
from bbpe.shards.formats import FORMATS
from bbpe.shards.formats.datatrove import _for_people
from bbpe.shards.formats.format import mapped
from bbpe.shards.part import Totals, read_record

EOS, BOS = "</s>", "<s>"


# -- figures ------------------------------------------------------------------------------------------


def test_totals_in_words() -> None:
    assert str(Totals(9, 2, 3, 4, 5, 100, 1200, 13, 1)) == (
        "2 documents, 13 tokens of 1,200 bytes of text; 1 unknown token; 3 empty documents left out; "
        "4 records without text; 5 records that cannot be read"
    )
    assert str(Totals(1, 1, text=1, tokens=1)) == "1 document, 1 token of 1 byte of text"
    both = Totals(1, 2, 3, 4, 5, 6, 7, 8, 9) + Totals(10, 20, 30, 40, 50, 60, 70, 80, 90)
    assert both == Totals(11, 22, 33, 44, 55, 66, 77, 88, 99)


def test_figures_of_each_source(tmp_path: Path) -> None:
    """Documents of each file, and unknown tokens of all; texts have fewer bytes than their files."""
    tok = bbpe.train_from_iterator(["see my dogs"] * 3, 40, model="wordpiece", special_tokens=[])
    a = lines(tmp_path / "a.jsonl", ["see", "", None, "\u6771\u6771", "my"])
    b = lines(tmp_path / "b.jsonl", ["\u6771", "dogs"])
    done = bbpe.shard([a, b], tmp_path / "out", tok, format="parquet", threads=1)
    record = read_record(done.plan, 0)
    assert record is not None
    assert record.sources == [3, 2]
    assert record.totals == Totals(7, 5, 1, 1, 0, a.stat().st_size + b.stat().st_size, 3 + 6 + 2 + 3 + 4, 6, 3)
    assert bbpe.count_tokens([a, b], tok) == bbpe.TokenCounts(6, 6, 18, 3)
    assert str(bbpe.count_tokens([a, b], tok)) == "6 documents, 6 tokens, 3 of them unknown, 3.00 bytes each"


@pytest.mark.parametrize("around", [{"bos": BOS}, {"eos": EOS}, {"bos": BOS, "eos": EOS}, {}])
def test_a_text_file_has_its_tokens_before_and_after(
    around: dict[str, str], tmp_path: Path, tok: bbpe.Tokenizer
) -> None:
    for name, text in (("a", "low lower"), ("b", ""), ("c", "lowest")):
        (tmp_path / f"{name}.txt").write_text(text)
    ids = {name: [tok.token_to_id(token)] for name, token in around.items()}
    expected = [[*ids.get("bos", []), *tok.encode(text), *ids.get("eos", [])] if text else []
                for text in ("low lower", "", "lowest")]  # fmt: skip
    done = bbpe.shard(tmp_path / "*.txt", tmp_path / "out", tok, empty="keep", **around)  # type: ignore[arg-type]
    assert [found.tolist() for found in done] == expected
    assert done.tokens == sum(map(len, expected))


def test_progress_of_an_executor_is_of_the_input(tmp_path: Path, tok: bbpe.Tokenizer) -> None:
    seen: list[Progress] = []
    path = lines(tmp_path / "a.jsonl", ["low"] * 60)
    bbpe.shard(path, tmp_path / "out", tok, part_size=300, executor=Now(), progress=seen.append)
    size = path.stat().st_size
    assert (seen[-1].done, seen[-1].total, seen[-1].unit) == (size, size, "bytes")
    assert [each.done for each in seen] == sorted(each.done for each in seen)


class Now(Executor):
    """Does work at once, or fails as often as it is told to."""

    _max_workers = 2

    def __init__(self, failures: int = 0) -> None:
        self.failures, self.calls = failures, 0

    def submit(self, function: Callable[..., Any], /, *args: Any, **options: Any) -> Future[Any]:
        self.calls += 1
        future: Future[Any] = Future()
        if self.calls <= self.failures:
            future.set_exception(OSError("a worker failed"))
        else:
            future.set_result(function(*args, **options))
        return future


def test_a_part_is_tried_as_often_as_the_caller_says(tmp_path: Path, tok: bbpe.Tokenizer) -> None:
    path = lines(tmp_path / "a.jsonl", ["low"])
    for attempts in (1, 2, 5):
        executor = Now(attempts)
        with pytest.raises(OSError, match="a worker failed"):
            bbpe.shard(path, tmp_path / "out", tok, executor=executor, attempts=attempts)
        assert executor.calls == attempts
        assert bbpe.shard(path, tmp_path / f"{attempts}", tok, executor=Now(attempts - 1), attempts=attempts).documents


def test_a_caller_says_how_many_parts_are_in_flight(
    tmp_path: Path, tok: bbpe.Tokenizer, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = []

    class Kept(run.HandOut):
        def __init__(self, *args: Any, **options: Any) -> None:
            given.append(args)
            super().__init__(*args, **options)

    monkeypatch.setattr(run, "HandOut", Kept)
    path, executor = lines(tmp_path / "a.jsonl", ["low"]), Now()
    for number, in_flight in enumerate((None, 1, 7)):
        bbpe.shard(path, tmp_path / str(number), tok, executor=executor, in_flight=in_flight, attempts=number + 1)
    assert given == [(executor, None, 1), (executor, 1, 2), (executor, 7, 3)]


# -- merging and shuffling ----------------------------------------------------------------------------


@pytest.mark.parametrize("block", [1, 7, 1000])
@pytest.mark.parametrize("bits", [0, 1, 3])
def test_documents_of_many_blocks_are_shuffled_by_their_numbers(
    block: int, bits: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    count = 300
    rows = [bytes([number % 251]) * (number % 5) for number in range(count)]
    size = sum(map(len, rows))
    monkeypatch.setattr(shuffle, "_BUCKET", (size + 64 * count) // (1 << bits) + 1 if bits else 1 << 30)
    blocks = ((np.frombuffer(b"".join(some), np.uint8), np.array(list(map(len, some)), np.int64))
              for some in (rows[at : at + block] for at in range(0, count, block)))  # fmt: skip
    found: list[bytes] = []
    for data, sizes in shuffle.shuffled(blocks, 5, count, size, tmp_path):
        ends = np.cumsum(sizes)
        found += [data[end - n : end].tobytes() for end, n in zip(ends.tolist(), sizes.tolist(), strict=True)]
    assert found == [rows[number] for number in np.argsort(shuffle.keys_of(5, 0, count), kind="stable")]
    assert not list(tmp_path.iterdir())


def test_shuffled_shards_are_merged_with_a_seed_wherever_they_stand(tmp_path: Path, tok: bbpe.Tokenizer) -> None:
    for name in "ab":
        bbpe.shard(lines(tmp_path / f"{name}.jsonl", ["low", "lower"]), tmp_path / name, tok, part_size=30)
    bbpe.merge_shards([tmp_path / "b"], tmp_path / "mixed", shuffle=1)
    for folders in (["mixed"], ["a", "mixed"], ["mixed", "a"]):
        with pytest.raises(bbpe.CorpusError, match="shards"):
            bbpe.merge_shards([tmp_path / name for name in folders], tmp_path / "out")


@pytest.mark.parametrize(("size", "lengths"), [
    *((size, [1, 3, 2] * 2) for size in (1, 3, 4, 5, 6, 7, 12, 13)), (5, [5, 1]), (4, [4, 1, 1, 4]), (6, [5, 1]),
])  # fmt: skip
def test_parts_of_a_size(size: int, lengths: list[int], tmp_path: Path, tok: bbpe.Tokenizer) -> None:
    """As few parts as have at most so many ids each, or an error where a document is longer than they would be."""
    path = lines(tmp_path / "a.jsonl", [" ".join(["low"] * length) for length in lengths])
    bbpe.shard(path, tmp_path / "a", tok)
    count = -(-sum(lengths) // size)
    if count > 1 and max(lengths) > sum(lengths) // count:
        with pytest.raises(ValueError, match=f"shard_size is {size}, so that parts have about"):
            bbpe.merge_shards([tmp_path / "a"], tmp_path / "out", shard_size=size)
        return
    done = bbpe.merge_shards([tmp_path / "a"], tmp_path / "out", shard_size=size)
    assert len(done.plan) == count
    assert [len(ids) for ids in done] == lengths
    records = [read_record(done.plan, number) for number in range(count)]
    assert sum(record.documents for record in records if record) == len(lengths)
    assert [record.records for record in records if record] == [len(lengths), *[0] * (count - 1)]


@pytest.mark.parametrize("block", [1, 2, 5, 100])
def test_lengths_in_blocks(block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streams, "_BLOCK", block)
    monkeypatch.setattr(streams, "_DOCUMENTS", 4)
    lengths = np.array([3, 0, 1, 1, 9, 0, 0, 2, 1], np.int32)
    found = [some.tolist() for some in streams._some(lengths)]
    assert [length for some in found for length in some] == lengths.tolist()
    assert all(len(some) <= 4 and (len(some) == 1 or sum(some) <= block) for some in found)


# -- what files say of themselves ---------------------------------------------------------------------


def test_files_are_published_before_the_folder_is_flushed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All of them are on the disk before one has its name; a header that is written last counts in the digest."""
    steps: list[str] = []
    finish, move = Replacement.finish, Replacement.move
    monkeypatch.setattr(Replacement, "finish", lambda self: steps.append("finish") or finish(self))
    monkeypatch.setattr(Replacement, "move", lambda self: steps.append("move") or move(self))
    monkeypatch.setattr(outputs, "sync_folder", lambda folder: steps.append(f"flush {folder.name}"))
    with outputs.outputs(tmp_path / "p") as files:
        first, second = files.open(".a"), files.open(".b")
        first.write(b"0123")
        first.patch(b"45")
        second.write(b"x")
        found = files.publish()
    assert steps == ["finish", "finish", "move", "move", f"flush {tmp_path.name}"]
    assert (tmp_path / "p.a").read_bytes() == b"4523"
    for name, size in (("p.a", 4), ("p.b", 1)):
        assert found[name] == {"size": size, "sha256": outputs.digest_of(tmp_path / name)}


@pytest.mark.parametrize(("count", "shown"), [
    (0, "0.00 T"), (7, "7.00 T"), (99, "99.0 T"), (100, "100 T"), (999, "999 T"), (1000, "1.00 kT"),
    (999_499, "999 kT"), (1_000_000, "1.00 MT"), (2_500_000_000, "2.50 GT"), (10**12, "1.00 TT"), (10**15, "1.00 PT"),
])  # fmt: skip
def test_numbers_for_people(count: int, shown: str) -> None:
    assert _for_people(count) == shown


def test_the_metadata_of_datatrove(tmp_path: Path, tok: bbpe.Tokenizer) -> None:
    path = lines(tmp_path / "a.jsonl", ["low"] * 5)
    for dtype, size in (("uint16", 2), ("uint32", 4)):
        bbpe.shard(path, tmp_path / dtype, tok, format="datatrove", eos=EOS, dtype=dtype)
        text = (tmp_path / dtype / "part-00000.ds.metadata").read_text()
        assert text == f"{tok.name or 'Unknown Tokenizer'}|{size}\n10\n10.0 T"


def test_rows_of_olmo(tmp_path: Path, tok: bbpe.Tokenizer) -> None:
    """Where a document lies, its number in the part, its file, and its number among those of the file."""
    paths = [lines(tmp_path / "a.jsonl", ["low", "", "low low"]), lines(tmp_path / "b.jsonl", ["low"])]
    bbpe.shard(paths, tmp_path / "out", tok, format="olmo", empty="keep")
    with gzip.open(tmp_path / "out" / "part-00000.csv.gz", "rt", newline="") as file:
        rows = list(csv.reader(file))
    a, b = map(str, paths)
    assert rows == [["0", "1", "0", a, "0"], ["1", "1", "1", a, "1"], ["1", "3", "2", a, "2"], ["3", "4", "3", b, "0"]]


def flipped(path: Path, at: int, data: bytes) -> None:
    with path.open("r+b") as file:
        file.seek(at)
        file.write(data)


NUMBER, WIDE = (7).to_bytes(4, "little"), (7).to_bytes(8, "little")
#: A format, one of its files, a place in it and other bytes.
DAMAGES = [
    ("megatron", ".idx", 9, WIDE), ("megatron", ".idx", 17, b"\x04"), ("megatron", ".idx", 34, NUMBER),
    ("megatron", ".idx", 34 + 12 + 8, WIDE), ("megatron", ".idx", 34 + 36 + 24, WIDE),
    ("datatrove", ".ds.index", 0, WIDE), ("datatrove", ".ds.index", 16, WIDE),
    ("llmc", ".bin", 0, NUMBER), ("llmc", ".bin", 8, NUMBER), ("automodel", ".bin", 4, NUMBER),
    ("automodel", ".bin", 12, NUMBER), ("nanogpt", ".lens", 0, NUMBER), ("numpy", ".lens", 8, NUMBER),
    ("numpy", ".npy", 0, b"x"), ("numpy", ".npy", 22, b"i"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "suffix", "at", "data"), DAMAGES)
def test_lists_that_contradict_each_other(
    name: str, suffix: str, at: int, data: bytes, tmp_path: Path, tok: bbpe.Tokenizer
) -> None:
    path = lines(tmp_path / "a.jsonl", ["low", "low low", "low low low"])
    done = bbpe.shard(path, tmp_path / "out", tok, format=name, bos=None, eos=EOS)  # type: ignore[arg-type]
    assert [len(ids) for ids in done] == [2, 3, 4]
    file = tmp_path / "out" / f"part-00000{suffix}"
    before = file.read_bytes()
    flipped(file, at, data)
    assert file.read_bytes() != before
    with pytest.raises(bbpe.CorpusError, match=r"part-00000\."):
        done.part(0)


def test_numbers_of_a_file_are_whole(tmp_path: Path) -> None:
    path = tmp_path / "x.bin"
    for size in range(9):
        path.write_bytes(bytes(range(size)))
        for offset in (0, 2):
            if size >= offset and (size - offset) % 4 == 0:
                assert mapped(path, "<u4", offset=offset).tobytes() == bytes(range(offset, size))
                continue
            with pytest.raises(bbpe.CorpusError, match=f"the file has {size} byte"):
                mapped(path, "<u4", offset=offset)
    with pytest.raises(bbpe.CorpusError, match="expected whole numbers of 4 bytes"):
        mapped(path, "<u4", count=3)
    assert mapped(path, "<u4", count=1).tobytes() == bytes(range(4))


def test_parts_that_are_held_in_memory_are_let_go(
    tmp_path: Path, tok: bbpe.Tokenizer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ids of formats that cannot be mapped count together."""
    path = lines(tmp_path / "a.jsonl", ["low low low"] * 60)
    done = bbpe.shard(path, tmp_path / "out", tok, format="parquet", part_size=300)
    size = len(done.part(0)[0]) * 4
    monkeypatch.setattr(open_parts, "_MOST_HELD", 2 * size)
    for number in range(len(done)):
        assert done[number].tolist() == [done[0][0]] * 3 or done[number].tolist() == tok.encode("low low low")
        assert done._parts._held <= 2 * size
        assert len(done._parts._open) <= 2
    assert len(done.plan) > 3


def test_masks_of_many_parts_are_let_go(tmp_path: Path, tok: bbpe.Tokenizer, monkeypatch: pytest.MonkeyPatch) -> None:
    path = lines(tmp_path / "a.jsonl", ["low low low"] * 60)
    plan = bbpe.shard(path, tmp_path / "out", tok, part_size=300).plan
    assert len(plan) > 3
    monkeypatch.setattr(open_parts, "_MOST_OPEN", 2)
    monkeypatch.setattr(open_parts, "read_masks", lambda plan, number: np.full(999, number, np.uint8))
    opened = open_parts.OpenParts(plan)
    for number in range(len(plan)):
        length = len(opened.document(number, 1))
        assert opened.mask(number, 1).tolist() == [number] * length
        assert len(opened._masks) <= 2


def test_formats_name_their_files(tmp_path: Path, tok: bbpe.Tokenizer) -> None:
    """The record of a part lists each of them, and no other."""
    path = lines(tmp_path / "a.jsonl", ["low"])
    for name, chosen in FORMATS.items():
        done = bbpe.shard(path, tmp_path / name, tok, format=name, eos=EOS)  # type: ignore[arg-type]
        record = read_record(done.plan, 0)
        assert record is not None
        names = {f"part-00000{suffix}" for suffix in (*chosen.suffixes, ".lens")}
        assert set(record.files) == names
        assert {each.name for each in (tmp_path / name).glob("part-*")} == names | {"part-00000.json"}


@pytest.mark.parametrize("seed", [0, 1, 2**32, 2**32 + 1, 2**63, 2**64 - 1])
def test_keys_by_integers_of_python(seed: int) -> None:
    """Splitmix64 of the seed and the number of a document; all bits of the seed count."""

    def key(number: int) -> int:
        mask = (1 << 64) - 1
        found = ((number + 1) * 0x9E3779B97F4A7C15 + seed) & mask
        found = ((found ^ found >> 30) * 0xBF58476D1CE4E5B9) & mask
        found = ((found ^ found >> 27) * 0x94D049BB133111EB) & mask
        return found ^ found >> 31

    assert shuffle.keys_of(seed, 5, 4).tolist() == [key(number) for number in range(5, 9)]


def test_documents_are_divided_by_where_they_begin() -> None:
    """The part of a document is that in which its first id would be if parts were of equal size."""
    sizes = [4, 2, 6, 0, 8, 2, 2]
    blocks = [((np.arange(sum(some), dtype=np.uint8), np.array(some, np.int64)), name)
              for some, name in ((sizes[:3], "a"), ([], "b"), (sizes[3:], "c"))]  # fmt: skip
    for count in (1, 2, 3, 4):
        found = list(merge._divided(iter(blocks), 2, 12, count))
        at, expected = 0, []
        for size in sizes:
            expected.append(min(at * count // 12, count - 1))
            at += size // 2
        assert [number for number, _, lengths, _ in found for _ in lengths] == expected
        assert [length for _, _, lengths, _ in found for length in lengths.tolist()] == [size // 2 for size in sizes]
        assert [path for _, _, lengths, path in found for _ in lengths] == ["a"] * 3 + ["c"] * 4
        assert b"".join(ids.tobytes() for _, ids, _, _ in found) == bytes(range(12)) + bytes(range(12))


def test_small_files_share_a_part_until_it_is_full(tmp_path: Path, tok: bbpe.Tokenizer) -> None:
    for number in range(7):
        (tmp_path / f"{number}.txt").write_text("l" * 400)
    plan = bbpe.plan_shards(tmp_path / "*.txt", tmp_path / "out", tok, part_size=1000)
    assert [len(sources) for sources in plan.parts] == [2, 2, 3]
