"""Contents decide where the name of a file says nothing, for all that reads files: JSON lines, Parquet, binary."""

from __future__ import annotations

import bz2
import gzip
import io
import json
import lzma
import struct
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from options import counting_options, train_options

import bbpe
from bbpe.cli import main

TEXTS = ["see my eyes first", 'see my "dogs"\n', "naïve"] * 3
LINES = "".join(json.dumps({"id": number, "text": text}) + "\n" for number, text in enumerate(TEXTS)).encode()
TOK = bbpe.train_from_iterator(TEXTS, 270)

Read = Callable[..., Any]


def count(path: Path | str, **options: Any) -> Any:
    return list(bbpe.count(path, pattern="gpt2", **options))


def count_in_memory(path: Path | str, **options: Any) -> Any:
    return list(bbpe.count(path, pattern="gpt2", max_memory="4GB", threads=2, **options))


def count_in_parts(path: Path | str, **options: Any) -> Any:
    folder = _empty_folder()
    plan = bbpe.plan_count(path, folder, pattern="gpt2", part_size=100, **options)
    for number in range(len(plan)):
        bbpe.count_part(plan, number)
    return list(bbpe.sum_counts(folder))


def train(path: Path | str, **options: Any) -> Any:
    return bbpe.train(path, 265, **train_options(**options)).merges


def extend(path: Path | str, **options: Any) -> Any:
    return bbpe.extend(TOK, path, 2, **counting_options(**options)).merges


def encode(path: Path | str, **options: Any) -> Any:
    return [ids.tolist() for ids in TOK.encode_files(path, **options)]


def shard(path: Path | str, **options: Any) -> Any:
    options["input_format"] = options.pop("format", None)
    return [ids.tolist() for ids in bbpe.shard(path, _empty_folder(), TOK, eos=None, part_size=100, **options)]


def tokens(path: Path | str, **options: Any) -> Any:
    options["input_format"] = options.pop("format", None)
    return bbpe.count_tokens(path, TOK, **options)


@cache
def as_lines(read: Read) -> Any:
    path = _empty_folder() / "right.jsonl"
    path.write_bytes(LINES)
    return read(path)


def _empty_folder() -> Path:
    import tempfile

    return Path(tempfile.mkdtemp())


READERS: list[Read] = [count, count_in_memory, count_in_parts, train, extend, encode, shard, tokens]
by_reader = pytest.mark.parametrize("read", READERS, ids=lambda read: read.__name__)


NAMES = [
    "wiki_00", "part-00000", "a.jl", "a.jsonlines", "a.jsonl.txt", "a.jsonl_1", "a.jsonl.1", "a.log", "0f3a9c",
    "c4.json-00000-of-00512", "part-00000.gz", "a.jl.bz2", "a.json.bak",
]  # fmt: skip


@pytest.mark.parametrize(
    ("read", "name"),
    [(read, name) for row, read in enumerate(READERS) for at, name in enumerate(NAMES) if (row + at) % 3 == 0],
)
def test_json_lines_are_read_as_such(read: Read, name: str, tmp_path: Path) -> None:
    data = {".gz": gzip.compress(LINES), ".bz2": bz2.compress(LINES)}.get(Path(name).suffix, LINES)
    (tmp_path / name).write_bytes(data)
    assert read(tmp_path / name) == as_lines(read)
    assert read(tmp_path / name, format="text") != as_lines(read)


BEGINNINGS = {
    "a mark of UTF-8": b"\xef\xbb\xbf" + LINES,
    "an empty line": b"\n\n" + LINES,
    "one line": b'{"text": "see"}',
    "one line without its end": b'{"text": "see my"}\n{"text": "see',
    "a wrong line": b'{"text": broken\n' + LINES,
    "a long first line": json.dumps({"url": "a" * 100_000, "text": "see"}).encode() + b"\n" + LINES,
    "a long second line": b'{"url": "a"}\n' + json.dumps({"url": "a" * 100_000, "text": "see"}).encode(),
    "other fields": b'{"body": "see"}\n{"body": "my"}\n',
    "blanks": b' { "text" : "see" } \r\n',
}


def test_the_way_out_is_an_argument_of_the_function(tmp_path: Path) -> None:
    """`format` is that of the shards, where there are any."""
    binary, lines = tmp_path / "a", tmp_path / "b"
    binary.write_bytes(b"see\0my")
    lines.write_bytes(b'{"body": "see"}\n{"body": "my"}\n')
    tok = bbpe.train_from_iterator(["see my eyes"], 258)
    calls = {
        "shard": lambda path, **way: bbpe.shard(path, tmp_path / f"{len(way)}{path.name}", tok, **way),
        "plan_shards": lambda path, **way: bbpe.plan_shards(path, tmp_path / f"plan{len(way)}{path.name}", tok, **way),
        "count_tokens": lambda path, **way: bbpe.count_tokens(path, tok, **way),
        "count": lambda path, **way: bbpe.count(path, pattern="gpt2", **way),
        "evaluate": lambda path, **way: bbpe.evaluate(tok, path, **way),
        "encode_files": lambda path, **way: list(tok.encode_files(path, **way)),
    }
    for name, call in calls.items():
        option = "input_format" if "shard" in name or name == "count_tokens" else "format"
        for path in (binary, lines):
            with pytest.raises(bbpe.CorpusError, match=rf"[ ;]{option}='text'"):
                call(path)
            call(path, **{option: "text"})
        with pytest.raises(ValueError, match=f"^{option} is 'x'; expected 'text'|^Counting.{option} is 'x'"):
            call(binary, **{option: "x"})


@pytest.mark.parametrize("what", BEGINNINGS)
def test_beginnings_of_json_lines(what: str, tmp_path: Path) -> None:
    """The answer, or the error, is that of a name that says so, with the way out."""
    (tmp_path / "a.jsonl").write_bytes(BEGINNINGS[what])
    (tmp_path / "a").write_bytes(BEGINNINGS[what])
    results = []
    for name in ("a.jsonl", "a"):
        try:
            results.append(count(tmp_path / name))
        except bbpe.CorpusError as error:
            message, _, way = str(error).partition("; the file is read as JSON lines because")
            results.append(message.replace(name + ":", "it:"))
            assert name == "a.jsonl" or "format='text' reads it as text" in way
    assert results[0] == results[1]


TEXT = [
    b"{ see my dogs }\n" * 5, b'{"see"}\n', b'{"a": 1', b'{"a": 1}\n', b'{\n "a": "see"\n}\n', b'[{"a": "see"}]',
    b'{\n "text": ["see"]\n}\n', b'[{see}] "text": "my"', b"version 1\n",
    b'{"a": 1}\nsee my dogs\n', b'"text": "see"\n', b"{'text': 'see'}\n", b"", b"see my dogs\n" * 99 + b"\0",
    b"PAR1 golf", b"WARC/1.0 is a format", b"see " + LINES, b'{"a": ' + b"[" * 20_000 + b"\n",
    b'{"a": 1}\n5\n', b'{"a": 1}\n"text"\n', b'{"a": 1}\n["text"]\n{"a": 1}\n',
]  # fmt: skip


@pytest.mark.parametrize("data", TEXT, ids=range(len(TEXT)))
def test_texts_that_only_look_like_something_else(data: bytes, tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(data)
    assert sum(len(pretoken) * often for pretoken, often in count(tmp_path / "a")) == len(data)


DOCUMENTS = {
    "an array": b'[{"text": "see"}]',
    "an array of lines": b'\xef\xbb\xbf[\n{"id": "' + b"a" * 2000 + b'", "text": "see"},\n{"text": "my"}\n]\n',
    "fields on lines": b'{\r\n "id": 1,\r\n "text" : "see"\r\n}\r\n',
}


@by_reader
@pytest.mark.parametrize("what", DOCUMENTS)
def test_json_that_is_no_lines_is_refused(read: Read, what: str, tmp_path: Path) -> None:
    for name in ("a", "b.gz"):
        path = tmp_path / name
        path.write_bytes(gzip.compress(DOCUMENTS[what]) if name == "b.gz" else DOCUMENTS[what])
        with pytest.raises(bbpe.CorpusError, match=rf"{name}: the file begins like JSON whose.*format='text'"):
            read(path)
        assert read(path, format="text")


@by_reader
def test_a_pointer_is_not_its_file(read: Read, tmp_path: Path) -> None:
    """Git LFS leaves one where a file was not downloaded, whatever its name."""
    for name in ("a", "a.txt", "a.jsonl"):
        (tmp_path / name).write_bytes(b"version https://git-lfs.github.com/spec/v1\noid sha256:17\nsize 5\n")
        with pytest.raises(bbpe.CorpusError, match=rf"{name}: the file begins like a pointer of Git LFS.*lfs pull"):
            read(tmp_path / name)


def test_a_name_of_a_text_says_enough(tmp_path: Path) -> None:
    for name in ("a.txt", "a.md", "a.py", "a.txt.gz"):
        for data in (LINES, b"see\0my"):
            (tmp_path / name).write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
            assert count(tmp_path / name) == count(tmp_path / name, format="text")


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be"])
@pytest.mark.parametrize("name", ["a.txt", "a.md", "a.txt.gz"])
def test_wide_text_without_a_mark_is_refused(encoding: str, name: str, tmp_path: Path) -> None:
    """Whatever the name says: at least half of it would be bytes 0.  A few of them are no reason."""
    data = "low lower, caf\u00e9 \u201d".encode(encoding)
    path = tmp_path / name
    path.write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    with pytest.raises(bbpe.CorpusError, match=rf"begins like {encoding[:6].upper()} without a byte order mark; "):
        bbpe.count(path, pattern="gpt2")
    assert bbpe.count(path, pattern="gpt2", format="text").summary.bytes == len(data)
    for text in (b"\0" * 20, b"a\0b\0", b"\0a\0\0a\0b\0lowe", b"low\0lower\0lowest\0"):
        (tmp_path / "b.txt").write_bytes(text)
        assert bbpe.count(tmp_path / "b.txt", pattern="gpt2").summary.bytes == len(text)


@by_reader
def test_parquet_is_read_as_such(read: Read, tmp_path: Path) -> None:
    pa, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    (tmp_path / "right.jsonl").write_bytes(LINES)
    for name in ("part-00000", "0f3a9c", "a.parq"):
        parquet.write_table(pa.table({"text": TEXTS}), tmp_path / name)
        assert read(tmp_path / name) == read(tmp_path / "right.jsonl")


def mds() -> bytes:
    return struct.pack("<I3I", 2, 100, 120, 140) + b'{"format":"mds"}' + struct.pack("<2I", 11, 4) + b"see my eyes"


BINARY = {
    "shard.00000.mds": mds(),
    "shard": mds(),
    "data.mdb": bytes(16) + b"\xde\xc0\xef\xbe" + bytes(400) + b"see my dogs",
    "x.tfrecord-00000-of-00001": struct.pack("<QI", 14, 7) + b"see my eyes" * 50,
    "a.lance": b"see my eyes first",
    "a.vortex": b"VTXF see my eyes",
    "0001.ds": struct.pack("<3H", 17, 300, 5),
    "model": struct.pack("<Q", 20) + b'{"__metadata__":{}}' + b"see my eyes",
    "packed.gz": gzip.compress(mds()),
    "a.v2": b"see\0my",
    "a": b"see" * 100 + b"\0",
}


@pytest.mark.parametrize(
    ("read", "name"),
    [(read, name) for row, read in enumerate(READERS) for at, name in enumerate(BINARY) if (row + at) % 3 == 0],
)
def test_binary_files_are_refused(read: Read, name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(BINARY[name])
    with pytest.raises(bbpe.CorpusError, match=rf"{name}: .*(a binary file|is a table|is numbers).*format='text'"):
        read(tmp_path / name)
    assert read(tmp_path / name, format="text")


WARC = b"WARC/1.0\r\nWARC-Type: conversion\r\nContent-Length: 11\r\n\r\nsee my eyes\r\n\r\n"


@by_reader
@pytest.mark.parametrize("name", ["a.warc.wet.gz", "a.warc.gz", "a.warc", "a", "a.txt", "segment.gz"])
def test_web_pages_with_headers_are_refused(read: Read, name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(gzip.compress(WARC) if name.endswith(".gz") else WARC)
    with pytest.raises(bbpe.CorpusError, match=rf"{name}: .*web pages with their headers.*format='text'"):
        read(tmp_path / name)


def test_all_names_are_looked_at_before_a_file_is_read(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_bytes(b"no JSON")
    (tmp_path / "b").write_bytes(b"see\0")
    for read in READERS:
        with pytest.raises(bbpe.CorpusError, match="b: the file begins like a binary file"):
            read(tmp_path)


@pytest.mark.parametrize("name", ["a.gz", "a.bz2", "a.xz", "a.zst", "a.jsonl.gz", "a.txt.xz"])
@pytest.mark.parametrize("harm", ["cut off", "another file"])
def test_packed_files_that_are_damaged_are_named(name: str, harm: str, tmp_path: Path) -> None:
    """Whether they are looked at first or not: the name, or `format`, says what is in them."""
    packed = {".gz": gzip.compress, ".bz2": bz2.compress, ".xz": lzma.compress}
    if name.endswith(".zst"):
        packed[".zst"] = pytest.importorskip("zstandard").ZstdCompressor().compress
    data = packed[Path(name).suffix](LINES)
    (tmp_path / name).write_bytes(data[:-9] if harm == "cut off" else LINES)
    for read in (count, encode):
        for options in ({}, {"format": "text"}, {"format": "jsonl"}):
            with pytest.raises(bbpe.CorpusError, match=rf"{name}: expected a whole {Path(name).suffix} file: \S"):
                read(tmp_path / name, **options)


def test_a_window_larger_than_looking_may_take_is_no_guess(tmp_path: Path) -> None:
    """A file that is not looked at before it is read is not read as text, if it is none."""
    zstandard = pytest.importorskip("zstandard")
    options = zstandard.ZstdCompressionParameters(window_log=27, enable_ldm=True)
    writer = zstandard.ZstdCompressor(compression_params=options).compressobj()
    (tmp_path / "a.zst").write_bytes(writer.compress(LINES) + writer.flush())
    with pytest.raises(bbpe.CorpusError, match=r"a\.zst: its first lines are JSON; .* with format='jsonl'"):
        count(tmp_path / "a.zst")
    (tmp_path / "right.jsonl").write_bytes(LINES)
    assert count(tmp_path / "a.zst", format="jsonl") == count(tmp_path / "right.jsonl")


def test_urls_are_looked_at(tmp_path: Path) -> None:
    fsspec = pytest.importorskip("fsspec")
    (tmp_path / "right.jsonl").write_bytes(LINES)
    for name, data in {"contents/part-0": LINES, "contents/wet": WARC, "contents/shard": mds()}.items():
        with fsspec.open(f"memory://{name}", "wb") as file:
            file.write(data)
    for read in READERS:
        assert read("memory://contents/part-0") == read(tmp_path / "right.jsonl")
        for name in ("wet", "shard"):
            with pytest.raises(bbpe.CorpusError, match=f"contents/{name}: the file begins like"):
                read(f"memory://contents/{name}")


def test_lines_of_urls_are_texts(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    fsspec = pytest.importorskip("fsspec")
    commands(tmp_path, "")
    with fsspec.open("memory://lines/a.txt", "wb") as file:
        file.write(b"see\nmy eyes\n")
    for command in by_line(tmp_path, "memory://lines/a.txt"):
        assert main(command) == 0, command
        assert capfd.readouterr().out


@pytest.fixture
def stdin(monkeypatch: pytest.MonkeyPatch) -> Callable[[bytes], None]:
    return lambda data: monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BufferedReader(io.BytesIO(data))))


def commands(tmp_path: Path, name: str) -> list[list[str]]:
    TOK.save(tmp_path / "t.json")
    tokenizer = ["-t", str(tmp_path / "t.json")]
    return [
        ["count", name, "-o", str(tmp_path / "c.parquet"), "--quiet"],
        ["count", name, "-o", str(tmp_path / "c.parquet"), "--quiet", "--document", "line"],
        ["train", name, "--vocab-size", "260", "-o", str(tmp_path / "n.json"), "--quiet"],
        ["encode", name, *tokenizer],
        ["tokens", name, *tokenizer],
    ]


def by_line(tmp_path: Path, name: str) -> list[list[str]]:
    tokenizer = ["-t", str(tmp_path / "t.json")]
    return [
        ["encode", name, *tokenizer, "--lines"],
        ["tokens", name, *tokenizer, "--per-line"],
        ["tokens", name, *tokenizer, "--truncate", "3"],
        ["tokens", name, *tokenizer, "--chunk", "3"],
    ]


@pytest.mark.parametrize("data", [LINES, WARC, mds(), "see".encode("utf-16")], ids=["lines", "warc", "mds", "utf-16"])
def test_standard_input_is_looked_at(
    data: bytes, tmp_path: Path, stdin: Callable[[bytes], None], capfd: pytest.CaptureFixture[str]
) -> None:
    for command in (*commands(tmp_path, "-"), *by_line(tmp_path, "-")):
        stdin(data)
        assert main(command) == 1, command
        assert "standard input: " in capfd.readouterr().err, command
        if data[:2] != b"\xff\xfe":
            stdin(data)
            assert main([*command, "--input-format", "text"]) == 0, command
            capfd.readouterr()


def test_what_takes_texts_takes_no_records(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    commands(tmp_path, "")
    for name in ("wiki_00", "a.jsonl"):
        (tmp_path / name).write_bytes(LINES)
        for command in by_line(tmp_path, str(tmp_path / name)):
            assert main(command) == 1, command
            assert f"{name}: a file of JSON lines; expected text, or --input-format text" in capfd.readouterr().err
            assert main([*command, "--input-format", "text"]) == 0, command
            capfd.readouterr()
