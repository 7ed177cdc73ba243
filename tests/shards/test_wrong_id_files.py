"""`open_shards`: arguments that do not fit a format, and columns, tables and lists that do not fit the ids."""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pytest
from id_files import datatrove, litdata, mds, megatron, nanogpt, olmo, parquet

import bbpe
from bbpe import CorpusError

DOCS = [[1, 2, 0], [3, 0]]
#: Writes files into a folder, and returns the arguments that open them.
Make: TypeAlias = "Callable[[Path], dict[str, Any]]"


def given(writer: Any, **options: Any) -> Make:
    def make(folder: Path) -> dict[str, Any]:
        writer(folder / "a", DOCS)
        return {"files": folder, **options}

    return make


def rows(**columns: Any) -> Make:
    """Two documents of Parquet, of three ids and of two, with other columns beside them."""

    def make(folder: Path) -> dict[str, Any]:
        import pyarrow as pa

        parquet(folder / "a", DOCS, **{name: pa.array(values) for name, values in columns.items()})
        asked = {"masks": "m"} if "m" in columns else {"id_field": "key"}
        return {"files": folder, "format": "parquet", **asked}

    return make


def listed(text: str) -> Make:
    """Chunks of litdata whose index is another text."""

    def make(folder: Path) -> dict[str, Any]:
        litdata(folder / "a", DOCS)
        (folder / "index.json").write_text(text)
        return {"files": folder / "a.bin", "format": "litdata"}

    return make


def config(**values: Any) -> str:
    return json.dumps({"config": {"data_format": ["no_header_tensor:20"], **values}})


def cut_table(folder: Path) -> dict[str, Any]:
    olmo(folder / "a", DOCS * 50)
    data = (folder / "a.csv.gz").read_bytes()
    (folder / "a.csv.gz").write_bytes(data[:-9])
    return {"files": folder, "format": "olmo", "dtype": "uint16"}


def bare_datatrove(folder: Path) -> dict[str, Any]:
    datatrove(folder / "a", DOCS)
    (folder / "a.ds.metadata").unlink()
    return {"files": folder, "format": "datatrove"}


def other_files(folder: Path) -> dict[str, Any]:
    (folder / "a.txt").write_text("ids")
    return {"files": folder, "format": "megatron"}


WRONG: dict[str, tuple[Make, type[Exception], str]] = {
    "field of a table": (given(olmo, format="olmo", dtype="uint16", id_field="key"), ValueError,
        "id_field is 'key'; the table of 'olmo' has only 'id'"),
    "kind of a field": (given(olmo, format="olmo", dtype="uint16", id_field=1), TypeError,
        "id_field must be a str or None, not int"),
    "masks without a column": (given(parquet, format="parquet", masks=True), TypeError,
        "masks is True; expected the column of 'parquet' with the masks, or None"),
    "number of masks": (given(parquet, format="parquet", masks=1), TypeError, "masks is 1; expected the column of"),
    "masks of MDS": (given(mds, format="mds", masks="m"), ValueError,
        "masks is 'm'; only files of 'parquet' have columns of masks"),
    "column of masks": (given(megatron, format="megatron", masks="m"), TypeError,
        "masks is 'm'; expected True, False or None: files of 'megatron' have no columns"),
    "no files": (lambda folder: {"files": [], "format": "megatron"}, ValueError,
        "files is empty; expected a path, a glob, a folder, or a list of these"),
    "a set of files": (lambda folder: {"files": {folder}, "format": "megatron"}, TypeError,
        "files is set; expected a path, a glob, a folder, or a list of these"),
    "a number for a file": (lambda folder: {"files": [5], "format": "megatron"}, TypeError,
        "files[0] must be a str or a path, not int"),
    "files of other programs": (other_files, CorpusError, "there is no .bin file, as 'megatron' has them"),
    "size of a vocabulary": (given(megatron, format="megatron", vocab_size=0), ValueError, "vocab_size is 0; expected"),
    "token below zero": (given(megatron, format="megatron", eos=-1), ValueError, "eos is -1; expected"),
    "width that nothing says": (bare_datatrove, CorpusError, "nothing says how wide ids are; give dtype=, such as"),
    "index that is no JSON": (listed("{"), CorpusError, "index.json: expected the index of litdata: JSONDecodeError("),
    "index without a config": (listed("{}"), CorpusError, "index.json: expected the index of litdata: KeyError("),
    "index that is a list": (listed("[]"), CorpusError, "index.json: expected the index of litdata: TypeError("),
    "index of numbers": (listed('{"config": {"data_format": [5]}}'), CorpusError, "the index of litdata: AttributeErr"),
    "kinds of two items": (listed(config(data_format=["no_header_tensor:20"] * 2)), CorpusError,
        "items are ['no_header_tensor:20', 'no_header_tensor:20']; expected one tensor"),
    "items of floats": (listed(config(data_format=["no_header_tensor:1"])), CorpusError,
        "the numbers are float64; expected integers"),
    "mask that is shorter": (rows(m=[[1, 1], [0, 0]]), CorpusError,
        "row 0 has 3 ids and 2 numbers in the column 'm'"),
    "mask that is longer": (rows(m=[[1, 1, 0], [0, 0, 0]]), CorpusError,
        "row 1 has 2 ids and 3 numbers in the column 'm'"),
    "mask above one": (rows(m=[[1, 1, 0], [0, 2]]), CorpusError, "the column 'm' has other numbers than 0 and 1"),
    "mask below zero": (rows(m=[[-1, 1, 0], [0, 1]]), CorpusError, "the column 'm' has other numbers than 0 and 1"),
    "no id": (rows(key=["a", None]), CorpusError, "row 1 has null in the column 'key'; expected the id of a document"),
    "id of bytes": (rows(key=[b"a", b"b"]), CorpusError, "row 0 has bytes in the column 'key'; expected the id"),
    "id that is a fraction": (rows(key=[0.5, 1.5]), CorpusError, "row 0 has float in the column 'key'; expected"),
    "table that is cut": (cut_table, CorpusError, "a.csv.gz: expected a table of documents, start,end,id,src,loc: "),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_what_does_not_fit_is_named(tmp_path: Path, name: str) -> None:
    make, kind, message = WRONG[name]
    options = make(tmp_path)
    with pytest.raises(kind, match=re.escape(message)):
        list(bbpe.open_shards(options.pop("files"), **options)._open(0).blocks())


@pytest.mark.parametrize("form", ["olmo", "datatrove"])
@pytest.mark.parametrize("mark", ["eos", "bos"])
def test_without_a_list_of_documents_a_mark_divides_the_ids(tmp_path: Path, form: Any, mark: str) -> None:
    docs = [[7, 1, 2], [7], [7, 3]] if mark == "bos" else [[1, 2, 7], [7], [3, 7]]
    writer, suffixes = {"olmo": (olmo, [".csv.gz"]), "datatrove": (datatrove, [".ds.index", ".ds.metadata"])}[form]
    writer(tmp_path / "a", docs)
    for suffix in suffixes:
        Path(f"{tmp_path / 'a'}{suffix}").unlink()
    marks: dict[str, Any] = {mark: 7}
    source = bbpe.open_shards(tmp_path, format=form, dtype="uint16", **marks)
    assert [ids.tolist() for ids in source] == docs
    assert (source.documents, source.tokens) == (3, 6)


#: The numbers that litdata gives to the dtypes of torch and of numpy.
TORCH = {11: "uint8", 12: "int8", 13: "int16", 14: "int16", 15: "int32", 16: "int32", 17: "int64", 18: "int64",
         20: "uint16"}  # fmt: skip
NUMPY = dict(enumerate(("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")))


@pytest.mark.parametrize(("kind", "codes"), [("tensor", TORCH), ("numpy", NUMPY)])
def test_items_of_litdata_have_the_dtypes_of_their_numbers(tmp_path: Path, kind: str, codes: dict[int, str]) -> None:
    for code, dtype in codes.items():
        ids = np.array([1, 2, 0, 3, 0], dtype)
        ends = 16 + ids.itemsize * np.array([0, 3, 5])
        (tmp_path / "a.bin").write_bytes(np.array([2, *ends], "<u4").tobytes() + ids.tobytes())
        (tmp_path / "index.json").write_text(config(data_format=[f"no_header_{kind}:{code}"]))
        source = bbpe.open_shards(tmp_path / "a.bin", format="litdata")
        assert ([each.tolist() for each in source], source[0].dtype.name) == (DOCS, dtype)


def test_rows_of_parquet_are_packed_and_cut(tmp_path: Path) -> None:
    """A window and a bin need the lengths of all rows, which Parquet has only in its rows."""
    docs = [[number, number + 1, 0][number % 2 :] for number in range(1, 40)]
    parquet(tmp_path / "a", docs)
    source = bbpe.open_shards(tmp_path, format="parquet", eos=0)
    flat = [token for doc in docs for token in doc]
    found = source.windows(5, labels="same", columns=["input_ids", "position_ids"])
    assert [row["input_ids"].tolist() for row in found] == [flat[at : at + 5] for at in range(0, len(flat) // 5 * 5, 5)]
    positions = [place for doc in docs for place in range(len(doc))]
    assert [place for row in found for place in row["position_ids"].tolist()] == positions[: 5 * len(found)]
    assert source.part(0)[1].tolist() == [len(doc) for doc in docs]
    assert sum(len(row["input_ids"]) for row in source.bins(6, ragged=True)) == len(flat)


def test_names_with_a_suffix_beside_them_are_the_files(tmp_path: Path) -> None:
    """`a` is the file a.bin, also where a glob would match more; what is a folder, too, is no name of a file."""
    nanogpt(tmp_path / "a", [[5, 0]])
    (tmp_path / "a").mkdir()
    nanogpt(tmp_path / "a" / "b", [[6, 0]])
    nanogpt(tmp_path / "a[1]", [[7, 0]])
    options: dict[str, Any] = {"format": "nanogpt", "dtype": "uint16", "eos": 0}
    with pytest.raises(bbpe.CorpusError, match=r"a\.bin, too"):
        bbpe.open_shards(tmp_path / "a", **options)
    named = {"a.bin": 5, "a/": 6, "a/b": 6, "a[1]": 7, "a[1].bin": 7}
    for name, first in named.items():
        source = bbpe.open_shards(f"{tmp_path}/{name}", **options)
        assert [ids.tolist() for ids in source] == [[first, 0]], name


def test_a_table_keeps_bytes_that_are_no_text(tmp_path: Path) -> None:
    """Names of files need not be UTF-8, whatever the locale of the process is."""
    olmo(tmp_path / "a", DOCS)
    rows = b"0,3,\xff\xe9,src,0\n3,5,\xe8\xaf\xad,src,1\n"
    (tmp_path / "a.csv.gz").write_bytes(gzip.compress(rows))
    source = bbpe.open_shards(tmp_path, format="olmo", dtype="uint16", id_field="id")
    keys = [key for block in source._open(0).blocks() for key in block.keys or ()]
    assert keys == ["\udcff\udce9", "\u8bed"]
    done = bbpe.convert_shards(source, tmp_path / "out", format="olmo")
    read: Any = done.plan.policy.files.keys
    written = [key.encode("utf-8", "surrogateescape") for key in read(done.plan.stem(0))]
    assert written == [b"\xff\xe9", "\u8bed".encode()]
