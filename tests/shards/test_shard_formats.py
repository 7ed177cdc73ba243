"""Formats of shards at their limits, which no test can reach by writing so much."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import bbpe
from bbpe.shards.formats import FORMATS
from bbpe.shards.outputs import Output, outputs


@pytest.mark.parametrize("name", ["llmc", "automodel"])
def test_files_stay_below_two_gibibytes(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ids = np.zeros(20, np.uint8)
    for at, fits in ((2**31 - 22, True), (2**31 - 21, True), (2**31 - 20, False), (2**31 - 10, False)):
        with outputs(tmp_path / "part") as files:
            writer = FORMATS[name].writer(files, "uint16", "")
            monkeypatch.setattr(Output, "tell", lambda self, at=at: at)
            if fits:
                writer.add(ids)
            else:
                with pytest.raises(bbpe.CorpusError, match=f"part.bin: {name} has files of less than 2 GiB; give a"):
                    writer.add(ids)
        monkeypatch.undo()


@pytest.mark.parametrize(
    ("name", "count", "dtype"),
    [
        ("megatron", 65499, "uint16"),  # Megatron takes two bytes for fewer than 65,500 ids
        ("megatron", 65500, "int32"),
        ("datatrove", 65536, "uint16"),
        ("datatrove", 65537, "uint32"),
        ("llmc", 65536, "uint16"),
        ("llmc", 65537, "uint32"),
    ],
)
def test_the_narrowest_numbers_that_hold_all_ids(name: str, count: int, dtype: str) -> None:
    assert FORMATS[name].dtype("auto", count) == dtype
    assert FORMATS[name].dtype(dtype, count) == dtype
    with pytest.raises(ValueError, match="dtype is 'uint16', which holds 65,536 ids; the tokenizer has 65,537"):
        FORMATS[name].dtype("uint16", 65537)


def test_columns_of_parquet_are_compressed(tmp_path: Path, tok: bbpe.Tokenizer) -> None:
    """By zstandard: ids of 32 bits are half zeros."""
    parquet = pytest.importorskip("pyarrow.parquet")
    rows = [{"text": "low lower", "id": str(number)} for number in range(9)]
    bbpe.shard_from_iterator(rows, tmp_path / "out", tok, format="parquet", id_field="id")
    group = parquet.ParquetFile(tmp_path / "out" / "part-00000.parquet").metadata.row_group(0)
    assert [group.column(number).compression for number in range(group.num_columns)] == ["ZSTD", "ZSTD"]
