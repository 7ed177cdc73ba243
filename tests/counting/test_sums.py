"""Counts that are equal, that add up, that other engines wrote, and the digest of their rows."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import bbpe
from bbpe.corpus.rowfiles import RowDigest, Rows
from bbpe.counting.counts import CountingSpec

pa, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")


def counts_of(texts: list[str], **options: Any) -> bbpe.PretokenCounts:
    return bbpe.count_from_iterator(texts, **{"pattern": "gpt2", **options})


def rows_of(words: list[bytes], counts: list[int]) -> Rows:
    offsets = np.cumsum([0, *map(len, words)], dtype=np.int64)
    return Rows(np.frombuffer(b"".join(words), np.uint8), offsets, np.array(counts, np.uint64))


def test_counts_are_equal_with_equal_numbers_in_one_order() -> None:
    counts = counts_of(["a", "a", "b"])
    assert counts == counts_of(["a", "b", "a"])
    for other in (["a", "b", "b"], ["b", "a", "a"], ["a", "a"], ["a", "a", "b", "c"], ["a", "a", "c"]):
        assert counts != counts_of(other), other
    assert counts != counts_of(["a", "a", "b"], document="line")


def test_a_sum_is_of_all_that_was_read() -> None:
    some, more = counts_of(["a b", "c"]), counts_of(["b<s>", "c", "d"], special_tokens=["<s>"])
    with pytest.raises(ValueError, match="cannot be added up"):
        some + more
    some = counts_of(["a<s> b", "c"], special_tokens=["<s>"])
    both = some + more
    assert (both.summary.documents, both.summary.bytes, both.summary.special_tokens_found) == (5, 13, 2)
    assert (both.total, len(both)) == (6, 5) == (both.summary.pretokens, both.summary.unique)
    assert sum([some, more]) == both
    assert sum([some, more]).summary == both.summary
    for start in (1, 0.0, None):
        with pytest.raises(TypeError):
            start + some


def test_scaled_counts_are_of_the_same_texts() -> None:
    counts = counts_of(["a b<s>", "c c"], special_tokens=["<s>"])
    scaled = counts.scale(3)
    told = ("files", "documents", "bytes", "special_tokens_found", "unique")
    assert [getattr(scaled.summary, name) for name in told] == [getattr(counts.summary, name) for name in told]
    assert (scaled.total, scaled.summary.pretokens, scaled.spec) == (12, 12, counts.spec)
    assert counts.total == 4


def test_a_name_that_stood_for_other_regexes_does_not_hide_them() -> None:
    """What a file says of its pattern counts, not what the name means here."""
    spec = counts_of(["a"]).spec
    record = json.loads(json.dumps(spec.as_json()))
    assert CountingSpec.from_json(record) == spec
    for change in ({"steps": [r"\w+|\W"]}, {"drops_gaps": True}, {"name": None, "steps": [r"\w+|\W"]}):
        other = CountingSpec.from_json({**record, "pattern": {**record["pattern"], **change}})
        assert [*spec.differences(other)] != []
        assert list(other.pattern.steps) == change.get("steps", list(spec.pattern.steps))
        assert other.pattern.drops_gaps is change.get("drops_gaps", False)


def test_what_a_foreign_file_does_not_say_is_an_argument(tmp_path: Path) -> None:
    """Its counts then add up with those of the same kind, and with no others."""
    path = tmp_path / "c.parquet"
    parquet.write_table(pa.table({"pretoken": ["a", " b"], "count": [2, 1]}), path)
    given: dict[str, Any] = {"pattern": r"\w+|\W+", "special_tokens": ["<s>", "<t>"], "document": "line"}
    counts, ours = bbpe.load_counts(path, **given), counts_of(["a\na"], **given)
    assert (counts.pattern, counts.special_tokens, counts.document) == (r"\w+|\W+", ("<s>", "<t>"), "line")
    assert counts.spec == ours.spec
    assert dict(counts + ours)[b"a"] == 4
    for name, value in (("pattern", "gpt2"), ("special_tokens", ["<s>"]), ("document", "file")):
        with pytest.raises(ValueError, match="cannot be added up"):
            _ = bbpe.load_counts(path, **{**given, name: value}) + ours
    assert (bbpe.load_counts(path, pattern="gpt2").spec) == counts_of(["a"]).spec


def test_sums_of_a_file_that_pass_64_bits_name_it(tmp_path: Path) -> None:
    path = tmp_path / "c.parquet"
    parquet.write_table(pa.table({"pretoken": ["a", "a"], "count": pa.array([2**63, 2**63], pa.uint64())}), path)
    with pytest.raises(OverflowError, match=r"c\.parquet: the sum of the counts of a pretoken passes 64 bits"):
        bbpe.load_counts(path, pattern="gpt2")


def test_a_digest_is_of_every_column_however_rows_come() -> None:
    def digest(words: list[bytes], counts: list[int], text: str = "", size: int = 99) -> str:
        rows, made = rows_of(words, counts), RowDigest()
        for start in range(0, len(words), size):
            made.add(rows.slice(start, min(start + size, len(words))))
        return made.hex(text)

    right = digest([b"ab", b"c", b"d"], [1, 2, 3])
    assert {digest([b"ab", b"c", b"d"], [1, 2, 3], size=size) for size in (1, 2, 3)} == {right}
    others = {
        digest([b"a", b"bc", b"d"], [1, 2, 3]), digest([b"ab", b"c", b"e"], [1, 2, 3]),
        digest([b"ab", b"c", b"d"], [1, 3, 2]), digest([b"ab", b"c"], [1, 2]),
        digest([b"ab", b"c", b"d"], [1, 2, 3], "x"), digest([b"c", b"ab", b"d"], [1, 2, 3]),
    }  # fmt: skip
    assert len(others | {right}) == 7
