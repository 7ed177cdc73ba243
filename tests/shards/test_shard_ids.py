"""Ids of documents: in the formats that have a place for them, through merging and shuffling."""

from __future__ import annotations

import csv
import gzip
import itertools
import json
from pathlib import Path
from typing import Any

import pytest

import bbpe
from bbpe.shards.formats import FORMATS

EOS = "<|endoftext|>"
TEXTS = ["low", "", "slow lower\n", "\u00e9\u6f22\u5b57", f"a{EOS}b", None, "lowest " * 30, "x"] * 12


@pytest.fixture(scope="module")
def tok() -> bbpe.Tokenizer:
    return bbpe.train_from_iterator(["low lower lowest slow"] * 3, 280, special_tokens=[EOS])


def ids_of(folder: Path, stem: str, name: str) -> list[str]:
    if name == "olmo":
        with gzip.open(folder / f"{stem}.csv.gz", "rt", newline="") as file:
            return [row[2] for row in csv.reader(file)]
    found: list[str] = pytest.importorskip("pyarrow.parquet").read_table(folder / f"{stem}.parquet")["id"].to_pylist()
    return found


@pytest.mark.parametrize("name", ["olmo", "parquet"])
def test_ids_of_documents(name: str, tmp_path: Path, tok: bbpe.Tokenizer) -> None:
    pa, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    keys: list[Any] = ["a", 'b,"\n', "\u00e9", None, 17, [1, "x"], "\ud800", ""] * 12
    right = ["a", 'b,"\n', "\u00e9", "", "17", '[1, "x"]', "\ufffd", ""] * 12
    rows = list(zip(TEXTS, keys, right, strict=True))
    (tmp_path / "a.jsonl").write_text("\n".join(json.dumps({"uid": key, "text": text}) for text, key, _ in rows))
    parquet.write_table(pa.table({"uid": right, "n": range(len(rows)), "text": TEXTS}), tmp_path / "b.parquet")
    (tmp_path / "c.txt").write_text("low")
    options: Any = {"format": name, "eos": EOS, "part_size": 1500}
    done = bbpe.shard(tmp_path / "a.jsonl", tmp_path / "lines", tok, id_field="uid", **options)
    found = [ids_of(done.plan.folder, f"part-{number:05d}", name) for number in range(len(done.plan))]
    kept = [key for text, _, key in rows if text]
    assert list(itertools.chain.from_iterable(found)) == kept
    assert len(found) > 2
    files = [tmp_path / "a.jsonl", tmp_path / "b.parquet", tmp_path / "c.txt"]
    other = bbpe.shard(files, tmp_path / "all", tok, id_field="uid", **options)
    assert bbpe.verify_shards(other.plan.folder, tok, sample=1.0) == []
    merged = bbpe.merge_shards([other.plan.folder], tmp_path / "merged")
    assert ids_of(merged.plan.folder, "part-00000", name) == kept + kept + [""]
    one = bbpe.shard(files, tmp_path / "one", tok, id_field="uid", format=name, eos=EOS)
    for suffix in FORMATS[name].suffixes:
        paths = [shards.plan.folder / f"part-00000{suffix}" for shards in (merged, one)]
        assert paths[0].read_bytes() == paths[1].read_bytes()
    numbered = bbpe.shard(tmp_path / "b.parquet", tmp_path / "numbered", tok, id_field="n", format=name, eos=EOS)
    mixed = bbpe.merge_shards([numbered.plan.folder], tmp_path / "mixed", shuffle=3)
    order = ids_of(mixed.plan.folder, "part-00000", name)
    assert order != sorted(order, key=int)
    assert [ids.tolist() for ids in mixed] == [[*tok.encode(TEXTS[int(n)] or ""), tok.token_to_id(EOS)] for n in order]


def test_an_id_that_is_missing_is_an_error_or_empty(tmp_path: Path, tok: bbpe.Tokenizer) -> None:
    lines = [json.dumps({"id": f"i{number}", "text": "low"}) for number in range(40)]
    lines[7], lines[9] = '{"text": "low"}', "{"
    (tmp_path / "a.jsonl").write_text("\n\n".join(lines))
    for size in (200, 1 << 20):
        options: Any = {"format": "olmo", "id_field": "id", "part_size": size}
        with pytest.raises(bbpe.CorpusError, match="line 15: expected an object with the field 'id'"):
            bbpe.shard(tmp_path / "a.jsonl", tmp_path / f"raise{size}", tok, **options)
        done = bbpe.shard(tmp_path / "a.jsonl", tmp_path / f"skip{size}", tok, on_error="skip", **options)
        found = [ids_of(done.plan.folder, f"part-{number:05d}", "olmo") for number in range(len(done.plan))]
        right = ["" if number == 7 else f"i{number}" for number in range(40) if number != 9]
        assert list(itertools.chain.from_iterable(found)) == right
    parquet = pytest.importorskip("pyarrow.parquet")
    parquet.write_table(pytest.importorskip("pyarrow").table({"text": ["low"]}), tmp_path / "b.parquet")
    with pytest.raises(bbpe.CorpusError, match=r"b\.parquet: no column 'id', as id_field= names it"):
        bbpe.shard(tmp_path / "b.parquet", tmp_path / "column", tok, format="olmo", id_field="id")


def test_formats_without_a_place_for_ids_refuse_them(tmp_path: Path, tok: bbpe.Tokenizer) -> None:
    (tmp_path / "a.jsonl").write_text('{"id": 1, "text": "low"}')
    with pytest.raises(ValueError, match="format 'megatron' has no ids of documents, 'olmo' and 'parquet' have"):
        bbpe.shard(tmp_path / "a.jsonl", tmp_path / "out", tok, id_field="id")
    with pytest.raises(TypeError, match="id_field must be a str or None, or a list of them, not int"):
        bbpe.plan_shards(tmp_path / "a.jsonl", tmp_path / "out", tok, format="olmo", id_field=1)  # type: ignore[arg-type]
