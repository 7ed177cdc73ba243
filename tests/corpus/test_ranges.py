"""Where files of records are cut, what is checked before a long job, and how much of a text may wait for a cut."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import bbpe
from bbpe.corpus.ranges import line_cuts, row_group_cuts
from bbpe.corpus.sources import Pending, Texts

pa, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")


@pytest.mark.parametrize("start", [0, 20])
def test_lines_of_one_length_are_cut_into_equal_ranges(start: int, tmp_path: Path) -> None:
    """A line that begins where a range should end begins the next one."""
    (tmp_path / "a").write_bytes(b"123456789\n" * 22)
    cuts = list(line_cuts(tmp_path / "a", start, 220, 50))
    assert cuts == {0: [50, 90, 140, 180], 20: [70, 120, 170]}[start]
    assert list(line_cuts(tmp_path / "a", 0, 220, 220)) == []


@pytest.mark.parametrize("window", [1, 7, 1 << 16])
def test_no_range_is_empty_around_a_long_line(window: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bbpe.corpus.ranges._WINDOW", window)
    for last in (b"e" * 50, b"e" * 90 + b"\n", b"e\n"):
        lines = [b"a\n", b"b" * 300 + b"\n", b"c\n", b"d\n", last]
        (tmp_path / "a").write_bytes(b"".join(lines))
        begins = [sum(map(len, lines[:number])) for number in range(len(lines) + 1)]
        for end in begins[2:]:
            cuts = list(line_cuts(tmp_path / "a", 0, end, 20))
            assert cuts == sorted(set(cuts))
            assert cuts or end < begins[-1]
            assert set(cuts) <= set(begins[1 : begins.index(end)]), "none is at the end, or behind it"


@pytest.mark.parametrize("first", [0, 1, 7])
def test_row_groups_are_cut_behind_the_place_where_reading_begins(first: int, tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    parquet.write_table(pa.table({"text": [f"text {n}" * 9 for n in range(100)]}), path, row_group_size=10)
    size = path.stat().st_size
    found = list(row_group_cuts(path, first, size, size // 5))
    groups, before = [group for group, _ in found], [at for _, at in found]
    assert groups == sorted(set(groups)) != []
    assert min(groups) > first
    assert before == sorted(before)
    # ten groups of one size
    assert before == pytest.approx([size * group / 10 for group in groups], rel=0.1)


@pytest.mark.parametrize("scheme", ["", "memory://ranges/"])
def test_a_column_that_is_missing_is_named_before_anything_is_counted(scheme: str, tmp_path: Path) -> None:
    """Of files elsewhere only the first one is asked."""
    names = [f"{scheme or tmp_path}/{name}.parquet".replace("//ranges//", "//ranges/") for name in "ab"]
    for name, column in zip(names, ("text", "body"), strict=True):
        if scheme:
            with pytest.importorskip("fsspec").open(name, "wb") as file:
                parquet.write_table(pa.table({column: ["see"]}), file)
        else:
            parquet.write_table(pa.table({column: ["see"]}), name)
    seen: list[Any] = []
    wrong = names[::-1] if scheme else names
    with pytest.raises(bbpe.CorpusError, match=r"b\.parquet: no column 'text', only 'body'"):
        bbpe.count(wrong, pattern="gpt2", progress=seen.append)
    assert seen == []
    with pytest.raises(bbpe.CorpusError, match=r"b\.parquet: no column 'text', only 'body'"):
        bbpe.plan_count(wrong, tmp_path / "plan", pattern="gpt2")
    assert not (tmp_path / "plan").exists()
    assert list(bbpe.count(names[:1], pattern="gpt2")) == [(b"see", 1)]


def test_the_first_lines_are_looked_at_before_a_plan_is_made(tmp_path: Path) -> None:
    for name, row in {"a": {"text": "see"}, "b": {"body": "see"}}.items():
        (tmp_path / f"{name}.jsonl").write_text(json.dumps(row) + "\n")
    with pytest.raises(bbpe.CorpusError, match=r"b\.jsonl: line 1: expected an object with the field 'text'"):
        bbpe.plan_count([tmp_path / "a.jsonl", tmp_path / "b.jsonl"], tmp_path / "plan", pattern="gpt2")
    assert not (tmp_path / "plan").exists()


def part(size: int, *, last: bool = False) -> Texts:
    return Texts(b"x" * size, None, last)


def test_what_waits_for_a_cut_doubles_before_the_next_search() -> None:
    """So an endless word takes linear time; after a cut the next block is searched."""
    pending = Pending()
    assert pending.add(part(60))
    pending.keep(0)
    assert [pending.add(part(30)), pending.add(part(29)), pending.add(part(1))] == [False, False, True]
    pending.keep(0)
    assert not pending.add(part(100))
    assert pending.add(part(1, last=True))  # the end of a text is its last chance
    pending.keep(200)
    assert len(pending) == 21
    assert pending.add(part(1))
    assert bytes(pending.data) == b"x" * 22


def test_what_waits_for_a_cut_is_searched_at_each_block_when_memory_is_short() -> None:
    pending = Pending(100)
    assert pending.add(part(60))
    pending.keep(0)
    assert [pending.add(part(40)), pending.add(part(1))] == [False, True]
    pending.keep(0)
    assert pending.add(part(1))
    pending.keep(0)
    assert pending.add(part(7))
