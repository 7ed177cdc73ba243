"""Long documents of ids are copied in slices: each id once, and what is of the whole document with the last of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import bbpe
from bbpe.shards import ids as ids_module
from bbpe.shards.readers import IdBlock, IdReading, rows
from bbpe.shards.readers.rows import RowFile

EOS = 0


@pytest.mark.parametrize(("keys", "expected"), [
    (["a"], [(), (), ["a"]]), ([], [(), (), []]), (None, [None, None, None]),
])  # fmt: skip
@pytest.mark.parametrize("has_masks", [False, True])
def test_a_long_document_in_slices(
    keys: list[str] | None, expected: list[Any], has_masks: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ids_module, "_SLICE", 3)
    ids, masks = np.arange(10, 18, dtype=np.uint16), np.array([0, 1, 1, 0, 0, 1, 0, 1], np.uint8)
    block = IdBlock(ids, np.array([8]), 999, 40, 5, keys, masks if has_masks else None)
    found = list(ids_module._sliced(Path("a.bin"), block))
    assert [each.ids.tolist() for each in found] == [[10, 11, 12], [13, 14, 15], [16, 17]]
    assert [each.lengths.tolist() for each in found] == [[], [], [8]]
    assert [(each.read, each.at, each.document) for each in found] == [(6, 40, 5), (6, 43, 5), (4, 46, 5)]
    assert [each.keys for each in found] == expected
    if has_masks:
        assert [None if each.masks is None else each.masks.tolist() for each in found] == [[0, 1, 1], [0, 0, 1], [0, 1]]
    else:
        assert [each.masks for each in found] == [None] * 3
    assert [(each.is_slice, each.is_begun) for each in found] == [(True, False), (True, True), (True, True)]
    assert [each.place(1) for each in found] == ["a.bin: document 5"] * 3


@pytest.mark.parametrize("lengths", [[3], [2, 2], [4, 0], [0, 4], []])
def test_short_documents_are_not_sliced(lengths: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither one that is as long as a slice, nor several that are longer together."""
    monkeypatch.setattr(ids_module, "_SLICE", 3)
    ids, ends = np.arange(sum(lengths), dtype=np.uint16), np.array(lengths, np.int64)
    block = IdBlock(ids, ends, 8, 0, 0, ["k"] * len(lengths))
    (found,) = ids_module._sliced(Path("a.bin"), block)
    assert (found.ids.tolist(), found.lengths.tolist()) == (list(range(sum(lengths))), lengths)
    assert (found.read, found.keys, found.is_slice, found.is_begun) == (8, ["k"] * len(lengths), False, False)


def parquet_of(path: Path, docs: list[list[int]], keys: list[str], rows_of_group: int) -> Path:
    pa, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    table = pa.table({"input_ids": pa.array(docs, pa.list_(pa.uint16())), "id": keys})
    parquet.write_table(table, path, row_group_size=rows_of_group)
    return path


def test_a_long_document_keeps_its_one_id_of_the_corpus(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Between short ones, in a format that names documents: each has its own name, and once."""
    for name in ("reader", "rows"):
        monkeypatch.setattr(f"bbpe.shards.readers.{name}.BLOCK", 4)
    monkeypatch.setattr(ids_module, "_SLICE", 4)
    docs, keys = [[1, EOS], [*range(1, 30), EOS], [2, EOS], [*range(1, 9), EOS]], ["one", "long", "two", "last"]
    path = parquet_of(tmp_path / "a.parquet", docs, keys, 10)
    source = bbpe.open_shards(path, format="parquet", eos=EOS, id_field="id")
    targets: tuple[Any, ...] = ("olmo", "parquet")
    for target in targets:
        done = bbpe.convert_shards(source, tmp_path / target, format=target, threads=1)
        assert [ids.tolist() for ids in done] == docs
        assert [done.source(number).id for number in range(4)] == keys


@pytest.mark.parametrize("block", [1, 5, 8, 1 << 20])
def test_the_bytes_that_are_read_of_rows_are_those_of_the_file(
    block: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """For a progress bar: whatever comes at once, each row has about its share of its row group, and all have all."""
    monkeypatch.setattr(rows, "BLOCK", block)
    docs = [[1, 2, 3]] * 10 + [[1, 2, 3] * 40] * 5 + [[4]] * 3
    path = parquet_of(tmp_path / "a.parquet", docs, ["k"] * 18, 5)
    size = path.stat().st_size
    file = RowFile(path, IdReading(format="parquet", dtype="uint16", column="input_ids"))
    groups = [file._metadata.row_group(number).total_byte_size for number in range(4)]
    assert sum(each.read for each in file.blocks()) == size
    done, first = 0, 0
    for number, count in enumerate((5, 5, 5, 3)):
        found = list(file.blocks(number, number + 1))
        end = size * sum(groups[: number + 1]) // sum(groups)
        assert sum(each.read for each in found) == end - done
        share = (end - done) / count
        assert [each.read for each in found] == [pytest.approx(share * len(each.lengths), abs=1) for each in found]
        assert [each.document for each in found] == [first + sum(len(one.lengths) for one in found[:at])
                                                     for at in range(len(found))]  # fmt: skip
        done, first = end, first + count
    assert [ids for each in file.blocks() for ids in each.ids.tolist()] == [number for doc in docs for number in doc]
