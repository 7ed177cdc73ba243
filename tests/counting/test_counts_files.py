"""Counts files that were damaged or changed, and sums that pass 64 bits."""

from __future__ import annotations

import hashlib
import json
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import bbpe
from bbpe.corpus.rowfiles import RowDigest, Rows, regrouped

pa = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")


@pytest.fixture(scope="module")
def counts() -> bbpe.PretokenCounts:
    rng = random.Random(4)
    text = " ".join(f"w{int(rng.paretovariate(0.5)):x}" for _ in range(5000))
    return bbpe.count_from_iterator([text], pattern="gpt2", special_tokens=["<s>"], document="line")


@pytest.fixture
def saved(counts: bbpe.PretokenCounts, tmp_path: Path) -> Path:
    counts.save(tmp_path / "c.parquet")
    return tmp_path / "c.parquet"


def facts_of(counts: bbpe.PretokenCounts) -> tuple[Any, ...]:
    return list(counts), counts.spec, counts.summary


@pytest.mark.parametrize("flips", [300, pytest.param(20_000, marks=pytest.mark.long)])
def test_flipped_bits_change_no_count(flips: int, counts: bbpe.PretokenCounts, saved: Path) -> None:
    rng, data, refused = random.Random(flips), saved.read_bytes(), 0
    # the metadata at the end takes the place of one flip in three
    end = 8 * len(data) - 8 * 1500
    for number in range(flips):
        changed, bit = bytearray(data), rng.randrange(end if number % 3 == 0 else 0, 8 * len(data))
        changed[bit // 8] ^= 1 << bit % 8
        saved.write_bytes(changed)
        try:
            found = facts_of(bbpe.load_counts(saved))
        except (ValueError, bbpe.MemoryLimitError) as error:
            refused += str(saved) in str(error)
            found = facts_of(counts) if str(saved) in str(error) else (error,)
        assert found == facts_of(counts), bit
    assert refused > flips * 0.8


def test_a_file_that_is_cut_off_anywhere_is_named(saved: Path) -> None:
    data = saved.read_bytes()
    for size in [*range(0, 60, 7), *range(60, len(data), 997), *range(len(data) - 30, len(data))]:
        saved.write_bytes(data[:size])
        with pytest.raises(bbpe.CorpusError, match=r"c\.parquet: expected a Parquet file"):
            bbpe.load_counts(saved)


def rewritten(path: Path, table: Any, metadata: dict[bytes, bytes] | None) -> None:
    parquet.write_table(table.replace_schema_metadata(metadata), path)


def test_rows_that_are_not_those_that_were_saved_are_refused(saved: Path, counts: bbpe.PretokenCounts) -> None:
    """By another program, say, which kept the metadata: what it did on purpose is told how to go on."""
    table, metadata = parquet.read_table(saved), parquet.read_table(saved).schema.metadata
    rewritten(saved, table, metadata)
    assert bbpe.load_counts(saved) == counts
    changed = pa.array([9, *table["count"].to_pylist()[1:]], pa.uint64())
    more = table.set_column(1, table.schema.field("count"), [changed])
    for other in (table.slice(1), table.slice(0, 100), table.take(list(range(len(table)))[::-1]), more):
        rewritten(saved, other, metadata)
        with pytest.raises(bbpe.CorpusError, match=r"c\.parquet: the counts are not those .* saved.*pass pattern="):
            bbpe.load_counts(saved)
    rewritten(saved, more, None)
    assert bbpe.load_counts(saved, pattern="gpt2").total == counts.total + 9 - table["count"][0].as_py()


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda record: record["summary"].update(bytes=1), "not those that were saved"),
        (lambda record: record.update(document="file"), "not those that were saved"),
        (lambda record: record.update(special_tokens=[]), "not those that were saved"),
        (lambda record: record.update(digest="0" * 32), "not those that were saved"),
        (lambda record: record.update(digest=None), "not those that were saved"),
        (lambda record: record.pop("digest"), "'bbpe' is broken"),
        (lambda record: record["summary"].update(bytes=True), "'bbpe' is broken"),
        (lambda record: record.update(unicode=[]), "'bbpe' is broken"),
        (lambda record: record.update(pattern={"name": {}, "steps": [], "drops_gaps": False}), "'bbpe' is broken"),
        (lambda record: record.update(version=1), "counts of version 1; this bbpe reads version 2"),
    ],
)
def test_metadata_that_were_changed_are_refused(change: Any, said: str, saved: Path) -> None:
    table = parquet.read_table(saved)
    record = json.loads(table.schema.metadata[b"bbpe"])
    change(record)
    rewritten(saved, table, {b"bbpe": json.dumps(record).encode()})
    with pytest.raises(bbpe.CorpusError, match=rf"c\.parquet: .*{said}"):
        bbpe.load_counts(saved)


def test_nested_metadata_are_refused(saved: Path) -> None:
    rewritten(saved, parquet.read_table(saved), {b"bbpe": b"[" * 5_000})
    with pytest.raises(bbpe.CorpusError, match=r"c\.parquet: the metadata 'bbpe' is broken: RecursionError"):
        bbpe.load_counts(saved)


def test_a_file_of_ours_without_its_metadata_is_no_other_engine_s(saved: Path) -> None:
    rewritten(saved, parquet.read_table(saved), {b"bbpf": b"{}", b"writer": b"bbpe"})
    with pytest.raises(bbpe.CorpusError, match=r"c\.parquet: the file was changed, its metadata 'bbpe' is gone"):
        bbpe.load_counts(saved, pattern="gpt2")


def test_a_damaged_file_that_asks_for_all_memory_is_named(saved: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def asks(*_: object, **__: object) -> None:
        raise pa.ArrowMemoryError("malloc of size 9223372036854775807 failed")

    monkeypatch.setattr(parquet, "ParquetFile", asks)
    with pytest.raises(bbpe.MemoryLimitError, match=r"c\.parquet: there is too little memory.*or the file is damaged"):
        bbpe.load_counts(saved)


def test_a_digest_does_not_depend_on_batches(counts: bbpe.PretokenCounts) -> None:
    whole = Rows.join(list(counts.batches()))
    digests = set()
    for size in (1, 7, 100, len(whole)):
        digest = RowDigest()
        for start in range(0, len(whole), size):
            digest.add(whole.slice(start, min(start + size, len(whole))))
        digests.add(digest.hex("text"))
    assert len(digests) == 1
    empty = RowDigest()
    empty.add(whole.slice(0, 0))
    assert empty.hex("text") == RowDigest().hex("text") not in digests
    assert RowDigest().hex("text") != RowDigest().hex("other")


def test_digests_of_rows_are_those_that_stored_files_have() -> None:
    """Of the bytes, the lengths and the counts, each for itself; another digest would refuse files of before."""
    lengths, counts = np.array([5, 3, 0], "<i8"), np.array([3, 2, 1], "<u8")
    digest = RowDigest()
    digest.add(Rows(np.frombuffer(b"-lowerlow", np.uint8), np.cumsum([1, *lengths]), counts))
    columns = [hashlib.blake2b(data, digest_size=16).digest() for data in (b"lowerlow", lengths, counts)]
    assert digest.hex("{}") == hashlib.blake2b(b"".join(columns) + b"{}", digest_size=16).hexdigest()
    assert digest.hex("{}") == "81262dfe7e485088d4a69e7e9be15d9f"


def test_borders_of_pretokens_are_in_the_digest() -> None:
    a, b = (bbpe.count_from_iterator(texts, pattern=r"\S+", document="line") for texts in (["ab c"], ["a bc"]))
    digests = [RowDigest(), RowDigest()]
    for digest, counts in zip(digests, (a, b), strict=True):
        digest.add(Rows.join(list(counts.batches())))
    assert digests[0].hex("") != digests[1].hex("")


# -- sums ----------------------------------------------------------------------------------------------


def of(*texts: str) -> bbpe.PretokenCounts:
    return bbpe.count_from_iterator(texts, pattern="gpt2")


def test_counts_are_summed() -> None:
    parts = [of("see my dogs"), of("see"), of("dogs bark")]
    assert sum(parts) == parts[0] + parts[1] + parts[2] == of("see my dogs", "see", "dogs bark")
    assert list(sum(parts)) == [(b"see", 2), (b" my", 1), (b" dogs", 1), (b"dogs", 1), (b" bark", 1)]
    assert sum(parts).summary == (parts[0] + parts[1] + parts[2]).summary
    assert sum(iter(parts[:1])) == parts[0]
    assert sum(parts[1:], parts[0]) == sum(parts)
    for wrong in (1, "", None, 0.5):
        with pytest.raises(TypeError):
            wrong + parts[0]
    with pytest.raises(ValueError, match="'gpt2' and 'cl100k'"):
        sum([parts[0], bbpe.count_from_iterator(["a"], pattern="cl100k")])


def test_a_sum_beyond_64_bits_says_so(tmp_path: Path) -> None:
    big = of("see my dogs").scale(2.0**62)
    fits = big + big + big
    assert list(fits) == [(b"see", 3 << 62), (b" my", 3 << 62), (b" dogs", 3 << 62)]
    told = "^the sum of the counts of a pretoken passes 64 bits$"
    for add in (lambda: fits + big, lambda: sum([big] * 4), lambda: fits + fits):
        with pytest.raises(OverflowError, match=told):
            add()
    with pytest.raises(OverflowError, match=r"a count times 2\.0 is .*expected less than 2\*\*64"):
        fits.scale(2)
    table = pa.table({"pretoken": ["a", "b", "a"], "count": pa.array([2**63, 1, 2**63], pa.uint64())})
    parquet.write_table(table, tmp_path / "c.parquet")
    with pytest.raises(OverflowError, match=r"c\.parquet: the sum of the counts of a pretoken passes 64 bits"):
        bbpe.load_counts(tmp_path / "c.parquet", pattern="gpt2")
    with pytest.raises(OverflowError, match=r"by its counts; expected less than 2\*\*63"):
        bbpe.train_from_counts(fits, 260)
    # all of them together may pass 64 bits
    fits.save(tmp_path / "big.parquet")
    assert bbpe.load_counts(tmp_path / "big.parquet").total == fits.total == 9 << 62 > 2**64


def test_groups_of_rows_have_one_size_but_for_the_last() -> None:
    rng = random.Random(3)
    for size in (1, 4, 7):
        lengths = [rng.choice([0, 1, size - 1, size, size + 1, 3 * size]) for _ in range(12)]
        numbers = iter(range(sum(lengths)))
        batches = []
        for length in lengths:
            own = [next(numbers) for _ in range(length)]
            texts = [b"x" * (number % 3) + b"%d" % number for number in own]
            offsets = np.cumsum([0, *map(len, texts)], dtype=np.int64)
            data, counts = np.frombuffer(b"".join(texts), np.uint8), np.array(own, np.uint64)
            batches.append(Rows(data, offsets, counts, counts + 5))
        groups, whole = list(regrouped(iter(batches), size)), Rows.join(batches)
        sizes = [size] * (len(whole) // size) + [len(whole) % size] * (len(whole) % size > 0)
        assert [len(group) for group in groups] == sizes
        joined = Rows.join(groups)
        for name in ("data", "offsets", "counts", "places"):
            assert getattr(joined, name).tolist() == getattr(whole, name).tolist()


@pytest.mark.parametrize("name", ["c.csv", "c.JSON", "c.parquet.gz", "memory://c.csv"])
def test_no_counts_are_written_under_the_name_of_another_kind(
    name: str, counts: bbpe.PretokenCounts, tmp_path: Path
) -> None:
    path = name if "://" in name else tmp_path / name
    with pytest.raises(ValueError, match=rf"{name}: counts cannot have the suffix '\.\w+'; expected \.parquet"):
        counts.save(path)
    assert not [*tmp_path.iterdir()]


@pytest.mark.parametrize("name", ["c.parquet", "c.PARQUET", "c", "c-1.5", "c.v2"])
def test_any_other_name_of_counts(name: str, counts: bbpe.PretokenCounts, tmp_path: Path) -> None:
    counts.save(tmp_path / name)
    assert [*bbpe.load_counts(tmp_path / name)] == [*counts]
