"""Rows of masks, and of files that other programs wrote, are those of slow definitions."""

from __future__ import annotations

import pickle
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from id_files import WRITERS, parquet
from test_open_shards import EOS, documents, source_of
from test_row_sets import ALL, as_lists, row_of, slow_bins, slow_windows

import bbpe
from bbpe.shards import file_ids


def masked_files(folder: Path, count: int = 90) -> tuple[bbpe.ShardFiles, list[list[int]], list[list[int]]]:
    """Documents of a file of Parquet, and random masks."""
    pa, draw = pytest.importorskip("pyarrow"), random.Random(4)
    docs = [[draw.randrange(200) for _ in range(draw.randrange(1, 40))] for _ in range(count)]
    masks = [[draw.randrange(2) for _ in ids] for ids in docs]
    parquet(folder / "a", docs, m=pa.array(masks, pa.list_(pa.uint8())))
    return bbpe.open_shards(folder / "a.parquet", format="parquet", masks="m"), docs, masks


def labels_of(docs: list[list[int]], masks: list[list[int]], n: int, shift: bool) -> list[list[int]]:
    """Labels of windows."""
    flat = [
        token if learned else -100
        for ids, mask in zip(docs, masks, strict=True) for token, learned in zip(ids, mask, strict=True)
    ]  # fmt: skip
    return [flat[start + shift : start + shift + n] for start in range(0, len(flat) - n - shift + 1, n)]


@pytest.mark.parametrize("form", ["parquet", "megatron", "olmo", "datatrove"])
def test_what_masks_leave_out_is_ignored(form: Any, tmp_path: Path) -> None:
    source, docs, masks = masked_files(tmp_path)
    done = bbpe.convert_shards(source, tmp_path / "out", format=form, part_size=900)
    assert len(done.plan) > 1 or form == "parquet"
    for rows_of in (source, done, bbpe.open_shards(done, format="bbpe")):
        for n in (5, 64):
            for labels, shift in (("shift", True), ("same", False)):
                rows: Any = rows_of.windows(n, labels=labels)
                assert [row["labels"].tolist() for row in rows] == labels_of(docs, masks, n, shift)
                plain = slow_windows(docs, n, labels)
                assert [row["input_ids"].tolist() for row in rows] == [row["input_ids"] for row in plain]
                learned = rows_of.windows(n, labels=labels, masks=False)
                assert [row["labels"].tolist() for row in learned] == [row["labels"] for row in plain]
                bins = rows_of.bins(n, labels=labels, pad=7)
                assert [row["labels"].tolist() for row in bins] == [
                    masked_bin(docs, masks, spans, n, shift) for spans in slow_bins(docs, n, "best_fit", "cut", 1 << 16)
                ]
        with pytest.raises(ValueError, match=r"dtype is 'uint32'; labels are -100"):
            rows_of.windows(5, dtype="uint32")
        assert rows_of.windows(5, dtype="uint32", masks=False)[0]["labels"].dtype == np.uint32


def masked_bin(docs: list[list[int]], masks: list[list[int]], spans: list[Any], n: int, shift: bool) -> list[int]:
    found: list[int] = []
    for document, start, stop in spans:
        pairs = zip(docs[document], masks[document], strict=True)
        ids = [*(token if learned else -100 for token, learned in pairs), -100]
        found += ids[start + shift : stop + shift]
    return found + [-100] * (n - len(found))


@pytest.mark.parametrize("form", WRITERS)
def test_files_of_others_give_rows(form: str, tmp_path: Path) -> None:
    docs = documents(3, empty=WRITERS[form][2])
    source = source_of(tmp_path / "in", form, docs, eos=EOS)
    for n in (9, 40):
        assert [as_lists(row) for row in source.windows(n, columns=ALL)] == slow_windows(docs, n, "shift")
        spans = slow_bins(docs, n, "best_fit", "cut", 1 << 16)
        bins = source.bins(n, pad=3, columns=ALL)
        assert [as_lists(row) for row in bins] == [row_of(docs, row, n, 3) for row in spans]
    rows = source.windows(9, shuffle=5)
    again = pickle.loads(pickle.dumps(rows))
    assert [as_lists(row) for row in again] == [as_lists(row) for row in rows]
    state = rows.stream().state_dict()
    again.stream().load_state_dict(state)


def test_a_changed_file_is_another_source(tmp_path: Path) -> None:
    path = tmp_path / "a.bin"
    np.array([5, 6, 0] * 5000, np.uint16).tofile(path)

    def rows() -> bbpe.Windows:
        return bbpe.open_shards(path, format="nanogpt", dtype="uint16", eos=0).windows(4)

    before, digest = pickle.dumps(rows()), rows().digest
    (tmp_path / "b").mkdir()
    moved = path.rename(tmp_path / "b/a.bin")
    again = bbpe.open_shards(moved, format="nanogpt", dtype="uint16", eos=0)
    assert again.windows(4).digest == digest
    assert bbpe.open_shards(moved, format="nanogpt", dtype="uint16", eos=0, bos=5).windows(4).digest != digest
    for at in (0, -4):
        data = bytearray(moved.read_bytes())
        data[at] ^= 2
        path.write_bytes(data)
        assert rows().digest != digest
    with pytest.raises(bbpe.CorpusError, match=r"a\.bin: the shards are not those that were pickled"):
        pickle.loads(before)


@pytest.mark.parametrize("many", [1, 2, 1 << 16])
def test_a_wrong_id_far_on_is_named_by_its_place(many: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """However many documents are checked at once."""
    monkeypatch.setattr(file_ids, "DOCUMENTS", many)
    np.array([5, 0, 6, 0, 7, 8, 0, 300, 0], np.uint16).tofile(tmp_path / "a.bin")
    source = bbpe.open_shards(tmp_path / "a.bin", format="nanogpt", dtype="uint16", eos=0, vocab_size=300)
    with pytest.raises(bbpe.CorpusError, match=r"a\.bin: the document that begins at id 7 has the id 300; the vocab"):
        source.windows(2)[0]


def test_a_document_of_files_may_be_as_long_as_a_length_holds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert file_ids._MOST == 2**31 - 1
    np.array([5, 6, 7, 0, 5, 0], np.uint16).tofile(tmp_path / "a.bin")
    source = bbpe.open_shards(tmp_path / "a.bin", format="nanogpt", dtype="uint16", eos=0)
    monkeypatch.setattr(file_ids, "_MOST", 4)
    assert len(source.bins(4, ragged=True)) == 2
    monkeypatch.setattr(file_ids, "_MOST", 3)
    with pytest.raises(bbpe.CorpusError, match=r"a\.bin: a document has 4 ids; expected at most 3$"):
        source.bins(4, ragged=True)


def test_ids_beyond_the_vocabulary_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    np.array([5, 6, 0, 300, 0], np.uint32).tofile(tmp_path / "a.bin")
    options: dict[str, Any] = {"format": "nanogpt", "dtype": "uint32", "eos": 0}
    source = bbpe.open_shards(tmp_path / "a.bin", vocab_size=300, **options)
    for rows in (source.windows(2), source.bins(3, pad=0)):
        with pytest.raises(bbpe.CorpusError, match=r"a\.bin: .* at id 3 has the id 300; the vocabulary has 300 ids"):
            rows[0]
    # nobody said how many ids there are: as many as the dtype holds
    unknown = bbpe.open_shards(tmp_path / "a.bin", **options)
    assert unknown.bins(3, pad=0)[0]["input_ids"].dtype == np.int64
    with pytest.raises(ValueError, match=r"dtype is 'int32', which holds 2147483648 ids|2,147,483,648 ids"):
        unknown.windows(2, dtype="int32")
    done = bbpe.convert_shards(unknown, tmp_path / "out", format="olmo")
    assert done.bins(3, pad=0)[0]["input_ids"].dtype == np.int64
    monkeypatch.setattr(file_ids, "_MOST", 2)
    with pytest.raises(bbpe.CorpusError, match=r"a\.bin: a document has 3 ids; expected at most 2"):
        unknown.bins(3, pad=0)


def test_without_a_tokenizer_pad_is_an_id(tmp_path: Path, tok: bbpe.Tokenizer) -> None:
    np.array([5, 6, 0], np.uint16).tofile(tmp_path / "a.bin")
    options: dict[str, Any] = {"format": "nanogpt", "dtype": "uint16", "eos": 0}
    source = bbpe.open_shards(tmp_path / "a.bin", **options)
    for rows_of in (source, bbpe.convert_shards(source, tmp_path / "out", format="megatron")):
        assert rows_of.bins(4, pad=9)[0]["input_ids"].tolist() == [5, 6, 0, 9]
        assert rows_of.bins(4, ragged=True)[0]["input_ids"].tolist() == [5, 6, 0]
        for pad, message in (
            (None, r"pad is None, and .* has no tokenizer; give pad=, its id, or ragged=True"),
            ("</s>", r"pad is '</s>', and .* has no tokenizer, which knows its id; give the id"),
            (1 << 40, r"pad is 1099511627776; expected 0 to "),
        ):
            with pytest.raises(ValueError, match=message):
                rows_of.bins(4, pad=pad)
    named = bbpe.open_shards(tmp_path / "a.bin", tokenizer=tok, **options)
    assert named.bins(4, pad="</s>")[0]["input_ids"].tolist() == [5, 6, 0, tok.token_to_id("</s>")]
