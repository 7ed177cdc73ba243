"""What kind a file is: by what is asked, by its name, by its first bytes; the same for all that reads files."""

from __future__ import annotations

import bz2
import gzip
import io
import json
import lzma
import pickle
import sqlite3
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from options import counting_options, train_options

import bbpe
from bbpe.cli import main
from bbpe.corpus.files import kind_of

ROWS = ["see my eyes", "dogs\n"]
JSON_LINES = "".join(json.dumps({"id": 1, "text": text}) + "\n" for text in ROWS).encode()
TOKENIZER = bbpe.train_from_iterator(ROWS, 262)

Read = Callable[..., Any]


def count(path: Path, **options: Any) -> dict[bytes, int]:
    return dict(bbpe.count(path, pattern="gpt2", **options))


def train(path: Path, **options: Any) -> list[tuple[bytes, bytes]]:
    return bbpe.train(path, 260, **train_options(**options)).merges


def extend(path: Path, **options: Any) -> list[tuple[bytes, bytes]]:
    return bbpe.extend(TOKENIZER, path, 2, **counting_options(**options)).merges or []


def encode(path: Path, **options: Any) -> list[list[int]]:
    return [ids.tolist() for ids in TOKENIZER.encode_files(path, **options)]


READERS: list[Read] = [count, train, extend, encode]
by_reader = pytest.mark.parametrize("read", READERS, ids=lambda read: read.__name__)
NAMES = ["a.jsonl", "a.ndjson", "a.json", "c4-train.00000-of-01024.json", "A.JSON"]
PACKS = [None, gzip.compress, bz2.compress, lzma.compress]


def tar_of(data: bytes) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        info = tarfile.TarInfo("x.txt")
        info.size = len(data)
        archive.addfile(info, io.BytesIO(data))
    return out.getvalue()


def zip_of(data: bytes) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr("x.txt", data)
    return out.getvalue()


def npy_of(data: bytes) -> bytes:
    out = io.BytesIO()
    np.save(out, np.frombuffer(data, np.uint8))
    return out.getvalue()


def arrow_of(stream: bool) -> bytes:
    pa = pytest.importorskip("pyarrow")
    sink, schema = pa.BufferOutputStream(), pa.schema([("text", pa.string())])
    with (pa.ipc.new_stream if stream else pa.ipc.new_file)(sink, schema) as writer:
        writer.write_table(pa.table({"text": ROWS}))
    found: bytes = sink.getvalue().to_pybytes()
    return found


def sqlite_of(folder: Path) -> bytes:
    connection = sqlite3.connect(folder / "made")
    connection.execute("create table texts (text)")
    connection.commit()
    connection.close()
    return (folder / "made").read_bytes()


@pytest.mark.parametrize(
    ("read", "name", "pack"),
    [(read, name, PACKS[(row + at) % 4]) for row, read in enumerate(READERS) for at, name in enumerate(NAMES)],
)
def test_json_lines_are_rows_whatever_reads_them(
    read: Read, name: str, pack: Callable[[bytes], bytes] | None, tmp_path: Path
) -> None:
    suffix = {None: "", gzip.compress: ".gz", bz2.compress: ".bz2", lzma.compress: ".xz"}[pack]
    (tmp_path / "texts").mkdir()
    for number, text in enumerate(ROWS):
        (tmp_path / "texts" / f"{number}.txt").write_text(text)
    path = tmp_path / f"{name}{suffix}"
    path.write_bytes(JSON_LINES if pack is None else pack(JSON_LINES))
    assert read(path) == read(tmp_path / "texts")


@by_reader
@pytest.mark.parametrize(
    "document", [b'{\n  "text": "see"\n}\n', b'[{"text": "see"}, {"text": "my"}]', b'["see", "my"]\n', b'"see"', b"see"]
)
def test_one_json_document_is_refused_with_the_way_out(read: Read, document: bytes, tmp_path: Path) -> None:
    for name, data in {"config.json": document, "config.json.gz": gzip.compress(document)}.items():
        (tmp_path / name).write_bytes(data)
        with pytest.raises(bbpe.CorpusError, match=rf"{name}: line 1: .*as JSON lines.*jq.*format='text'"):
            read(tmp_path / name)
    assert read(tmp_path / "config.json", format="text")


NO_TEXT = (
    "a.zip b.tar c.tar.gz d.tgz e.7z f.rar g.arrow h.feather i.csv j.tsv.gz k.xlsx l.h5 m.npy n.npz o.bin p.pkl q.pdf "
    "r.docx s.safetensors t.pt u.parquet.gz v.lz4 w.sqlite x.png y.mp3 Z.ZIP"
).split()


@pytest.mark.parametrize(
    ("read", "name"),
    [(read, name) for row, read in enumerate(READERS) for at, name in enumerate(NO_TEXT) if (row + at) % 2 == 0],
)
def test_names_of_what_is_no_text_are_refused(read: Read, name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    data = b"see my eyes, or anything"
    path.write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    with pytest.raises(bbpe.CorpusError, match=rf"{name}: .*format='text'"):
        read(path)
    assert read(path, format="text")


def test_a_wrong_name_is_refused_before_anything_is_read(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text("no JSON")
    (tmp_path / "b.zip").write_bytes(b"")
    for read in READERS:
        with pytest.raises(bbpe.CorpusError, match=r"b\.zip"):
            read(tmp_path)


CONTENTS: dict[str, Callable[[Path], bytes]] = {
    "a zip archive": lambda _: zip_of(b"see my"),
    "a gzip file": lambda _: gzip.compress(b"see my"),
    "a bzip2 file": lambda _: bz2.compress(b"see my"),
    "an xz file": lambda _: lzma.compress(b"see my"),
    "a tar archive": lambda _: tar_of(b"see my"),
    "an array of numpy": lambda _: npy_of(b"see my"),
    "a pickle": lambda _: pickle.dumps(["see my"] * 3),
    "an SQLite database": sqlite_of,
    "an Arrow file": lambda _: arrow_of(stream=False),
    "an Arrow file ": lambda _: arrow_of(stream=True),
    "a zstandard file": lambda _: pytest.importorskip("zstandard").compress(b"see my"),
    "a 7z archive": lambda _: b"7z\xbc\xaf\x27\x1c\x00\x04",
    "a rar archive": lambda _: b"Rar!\x1a\x07\x01\x00",
    "a Parquet file": lambda _: b"PAR1\x15\x04\x15",
    "a PDF document": lambda _: b"%PDF-1.7\n",
    "an HDF5 file": lambda _: b"\x89HDF\r\n\x1a\n\x00",
    "an Avro file": lambda _: b"Obj\x01\x04",
    "a program": lambda _: b"\x7fELF\x02\x01",
}


@pytest.mark.parametrize(
    ("read", "what"),
    [(read, what) for row, read in enumerate(READERS) for at, what in enumerate(CONTENTS) if (row + at) % 2 == 0],
)
def test_contents_of_what_is_no_text_are_refused(read: Read, what: str, tmp_path: Path) -> None:
    data = CONTENTS[what](tmp_path)
    # a name without a suffix lets a Parquet file be read
    for name in ("data", "a.txt", "a.md.gz", "data.gz", "a.jsonl")[what == "a Parquet file" :]:
        path = tmp_path / name
        path.write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
        with pytest.raises(bbpe.CorpusError, match=rf"{name}: the file begins like {what.strip()}.*format='text'"):
            read(path)
    assert read(tmp_path / "a.txt", format="text")


@by_reader
@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be"])
@pytest.mark.parametrize("name", ["a.txt", "a.jsonl", "a.json", "a.txt.gz", "a.csv"])
def test_utf16_and_utf32_are_refused(read: Read, encoding: str, name: str, tmp_path: Path) -> None:
    data = ("\ufeff" + JSON_LINES.decode()).encode(encoding)
    (tmp_path / name).write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    options = {"format": "text"} if name == "a.csv" else {}
    named = f"{encoding[:6].upper()}, {'little' if encoding.endswith('le') else 'big'}-endian"
    with pytest.raises(bbpe.CorpusError, match=rf"{name}: .*{named}; expected UTF-8.*iconv -f {encoding[:6].upper()}"):
        read(tmp_path / name, **options)


def test_a_mark_of_utf8_belongs_to_a_text_and_not_to_json(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"\xef\xbb\xbfsee")
    (tmp_path / "a.jsonl").write_bytes(b'\xef\xbb\xbf{"text": "see"}\n')
    assert count(tmp_path / "a.txt") == {b"\xef\xbb\xbf": 1, b"see": 1}
    assert count(tmp_path / "a.jsonl") == {b"see": 1}


@by_reader
def test_a_format_that_is_asked_for_goes_before_names(read: Read, tmp_path: Path) -> None:
    (tmp_path / "rows").write_bytes(JSON_LINES)
    (tmp_path / "rows.jsonl").write_bytes(JSON_LINES)
    (tmp_path / "rows.txt").write_bytes(JSON_LINES)
    assert read(tmp_path / "rows", format="text") == read(tmp_path / "rows.txt")
    assert read(tmp_path / "rows", format="jsonl") == read(tmp_path / "rows.jsonl") != read(tmp_path / "rows.txt")
    assert read(tmp_path / "rows.jsonl", format="text") == read(tmp_path / "rows.txt")
    pa, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    parquet.write_table(pa.table({"text": ROWS}), tmp_path / "table")
    assert read(tmp_path / "table", format="parquet") == read(tmp_path / "rows.jsonl")
    with pytest.raises(ValueError, match="format is 'csv'; expected 'text', 'jsonl', 'parquet' or None"):
        read(tmp_path / "rows", format="csv")


def test_texts_that_only_look_like_something_else(tmp_path: Path) -> None:
    for text in ("PK is a name", "PAR1 golf", "ORC and elf", "BZh9 is no bzip2", "MZ", "%PDF", "7z", "Obj", "GGUF"):
        (tmp_path / "a.txt").write_text(text)
        assert sum(map(len, count(tmp_path / "a.txt"))) == len(text)


@pytest.mark.parametrize(
    ("name", "kind"),
    [("a", "text"), ("a.v2.txt", "text"), ("a.py.zst", "text"), ("b.JSONL.XZ", "jsonl"), ("c.parquet", "parquet"),
     ("d.json.gz", "json"), (".json", "text"), ("a.gz", "text"), ("zip", "text"), (".csv", "text"),
     ("a.jsonlines.gz", "jsonl"), ("a.jl", "text")],
)  # fmt: skip
def test_names(name: str, kind: str) -> None:
    assert kind_of(Path(name)) == kind


def test_the_command_line_asks_likewise(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    TOKENIZER.save(tmp_path / "t.json")
    (tmp_path / "rows").write_bytes(JSON_LINES * 9)
    (tmp_path / "a.csv").write_text("see,my")
    commands: dict[str, list[str]] = {
        "count": ["-o", str(tmp_path / "c.parquet"), "--quiet"],
        "train": ["--vocab-size", "260", "-o", str(tmp_path / "n.json"), "--quiet"],
        "extend": ["-t", str(tmp_path / "t.json"), "--add", "1", "-o", str(tmp_path / "n.json"), "--quiet"],
        "encode": ["-t", str(tmp_path / "t.json")],
        "bench": ["-t", str(tmp_path / "t.json"), "--runs", "1"],
    }
    for command, options in commands.items():
        assert main([command, str(tmp_path / "a.csv"), *options]) == 1, command
        assert "a.csv: a .csv file is a table" in capfd.readouterr().err, command
        assert main([command, str(tmp_path / "a.csv"), "--input-format", "text", *options]) == 0, command
        wrong = [command, str(tmp_path / "rows"), "--input-format", "jsonl", "--text-field", "body", *options]
        assert main(wrong) == 1, command
        assert "rows: line 1: expected an object with the field 'body'" in capfd.readouterr().err, command
