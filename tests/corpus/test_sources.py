"""What files hold: text, jsonl and parquet, compressed or not, a block at a time."""

from __future__ import annotations

import bz2
import gzip
import json
import lzma
import os
import random
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import bbpe
from bbpe import reference
from bbpe.corpus.chunks import ChunkOptions, Cutter, Position
from bbpe.corpus.files import file_of, kind_of
from bbpe.corpus.sources import Reading
from bbpe.counting import options as count_options
from bbpe.counting.corpus_parts import Files
from bbpe.splitting.patterns import get_pattern

TEXT = "".join(random.Random(3).choices(["word ", "  ", "\n", "é", "漢字", "1", "<s>"], k=3000)).encode() + b"\xff"


def compress_zstd(data: bytes) -> bytes:
    zstandard = pytest.importorskip("zstandard")
    packed: bytes = zstandard.ZstdCompressor().compress(data)
    return packed


COMPRESSORS: dict[str, Callable[[bytes], bytes]] = {
    "": lambda data: data,
    ".gz": gzip.compress,
    ".bz2": bz2.compress,
    ".xz": lzma.compress,
    ".zst": compress_zstd,
}
by_suffix = pytest.mark.parametrize("suffix", COMPRESSORS)


def counted(path: Path, **options: Any) -> bbpe.PretokenCounts:
    return bbpe.count(path, **{"pattern": "gpt2", **options})


@by_suffix
@pytest.mark.parametrize("block", [1 << 20, 700])
def test_text(suffix: str, block: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(count_options, "_BLOCK", block)
    path = tmp_path / f"a.txt{suffix}"
    # two streams in one file are legal, and both count
    path.write_bytes(COMPRESSORS[suffix](TEXT) + COMPRESSORS[suffix](b" more"))
    found = counted(path, special_tokens=["<s>"])
    assert dict(found) == reference.count([TEXT + b" more"], special_tokens=["<s>"])
    assert found.summary.bytes == len(TEXT) + 5
    assert found.summary.documents == found.summary.files == 1


@by_suffix
def test_jsonl(suffix: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    texts = ["a b\n c", "", None, "é\ud83d\ude00", "long " * 500, "a\ud800"]
    lines = [json.dumps({"id": 1, "text": text}) for text in texts]
    path = tmp_path / f"a.jsonl{suffix}"
    path.write_bytes(COMPRESSORS[suffix](("\n".join(lines[:3]) + "\n\n \r\n" + "\n".join(lines[3:])).encode()))
    right = reference.count([text for text in texts if text is not None])
    for block in (1 << 20, 100, 1):
        monkeypatch.setattr(count_options, "_BLOCK", block)
        found = counted(path)
        assert dict(found) == right
        assert (found.summary.documents, found.summary.skipped) == (5, 1)
    lines = ["a b\n", " c", "é\U0001f600", "long " * 500, "a\ufffd"]
    assert dict(counted(path, document="line")) == reference.count(lines)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("{", "line 3: expected a JSON object"),
        ("[1]", "line 3: .*found list"),
        ('{"txt": "a"}', "line 3: .*'text'.*found one with 'txt'.*text_field="),
        ('{"text": 3}', "line 3: field 'text' is int"),
        ("\xff", "line 3"),
    ],
)
def test_broken_jsonl_is_named(line: str, said: str, tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_bytes(b'{"text": "a"}\n\n' + line.encode("latin-1") + b"\n")
    with pytest.raises(bbpe.CorpusError, match=rf"a\.jsonl: {said}"):
        counted(tmp_path / "a.jsonl")


@pytest.mark.parametrize("kind", ["string", "large_string", "binary", "large_binary"])
def test_parquet(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pa = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    texts = ["a b", None, "", "é 漢", *(f"text {number} " * 30 for number in range(200))]
    table = pa.table({"id": range(len(texts)), "body": pa.array(texts, pa.string()).cast(getattr(pa, kind)())})
    parquet.write_table(table, tmp_path / "a.parquet", row_group_size=80)
    right = reference.count([text for text in texts if text is not None])
    for block in (1 << 20, 100):
        monkeypatch.setattr(count_options, "_BLOCK", block)
        found = counted(tmp_path / "a.parquet", text_field="body")
        assert list(found) == list(right.items())
        assert (found.summary.documents, found.summary.skipped) == (203, 1)
    with pytest.raises(bbpe.CorpusError, match=r"a\.parquet: no column 'text', only 'id', 'body'; .*text_field="):
        counted(tmp_path / "a.parquet")
    with pytest.raises(bbpe.CorpusError, match=r"a\.parquet: column 'id' is int64"):
        counted(tmp_path / "a.parquet", text_field="id")
    (tmp_path / "b.parquet").write_bytes(b"text")
    with pytest.raises(bbpe.CorpusError, match=r"b\.parquet"):
        counted(tmp_path / "b.parquet")


@pytest.mark.parametrize("name", ["a.txt", "a.txt.gz", "a.txt.xz"])
@pytest.mark.parametrize("block", [3, 8, 1 << 20])
def test_a_text_is_read_from_any_byte_and_up_to_any(name: str, block: int, tmp_path: Path) -> None:
    """From its end, where a run was stopped there, nothing is left; of a packed text all that comes is read."""
    data = b"see my eyes first"
    (tmp_path / name).write_bytes(COMPRESSORS.get(Path(name).suffix, bytes)(data))
    file, reading = file_of(tmp_path / name), Reading(block=block)
    for start in range(len(data) + 1):
        for stop in (None, *range(start, len(data) + 1)) if file.is_plain else (None,):
            events = list(reading.texts(file, start=start, stop=stop))
            assert b"".join(bytes(event.data) for event in events) == data[start:stop]
            assert [event.last for event in events] == [False] * (len(events) - 1) + [True]


@pytest.mark.parametrize("suffix", [".gz", ".bz2", ".xz"])
@pytest.mark.parametrize("zeros", [4, 512, 1 << 17])
def test_zeros_between_and_after_streams_are_skipped(suffix: str, zeros: int, tmp_path: Path) -> None:
    """Tapes and disks fill blocks with them, and xz allows them."""
    path, pack = tmp_path / f"a.txt{suffix}", COMPRESSORS[suffix]
    path.write_bytes(pack(TEXT) + bytes(zeros) + pack(b" more") + bytes(zeros))
    found = counted(path, special_tokens=["<s>"])
    assert dict(found) == reference.count([TEXT + b" more"], special_tokens=["<s>"])


@pytest.mark.parametrize("suffix", [".gz", ".bz2", ".xz", ".zst"])
@pytest.mark.parametrize("kind", [".txt", ".jsonl"])
def test_broken_compressed_files_are_named(suffix: str, kind: str, tmp_path: Path) -> None:
    data = TEXT if kind == ".txt" else json.dumps({"text": TEXT.decode("latin-1")}).encode() * 3
    path = tmp_path / f"a{kind}{suffix}"
    for broken in (COMPRESSORS[suffix](data)[:-5], b"this is no compressed file"):
        path.write_bytes(broken)
        with pytest.raises(bbpe.CorpusError, match=path.name):
            counted(path)


@pytest.mark.parametrize("suffix", [".gz", ".bz2", ".xz"])
@pytest.mark.parametrize("kind", [".txt", ".jsonl"])
def test_an_empty_file_is_no_compressed_one(suffix: str, kind: str, tmp_path: Path) -> None:
    """A copy that failed leaves one; a stream of no text is something else."""
    path = tmp_path / f"a{kind}{suffix}"
    path.touch()
    with pytest.raises(bbpe.CorpusError, match=rf"{path.name}: expected a whole {suffix} file"):
        counted(path)
    path.write_bytes(COMPRESSORS[suffix](b""))
    assert list(counted(path)) == []


@pytest.mark.parametrize("name", ["a.txt", "a.jsonl"])
def test_a_file_that_ends_early_although_its_size_is_told_otherwise(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As file systems of a network do for a while."""
    path = tmp_path / name
    path.write_text('{"text": "see"}\n' * 100)
    file = file_of(path)
    path.write_text('{"text": "see"}\n' * 40)
    monkeypatch.setattr("bbpe.corpus.opened.Opened.check_size", lambda self: None)
    stop = 1600 if name == "a.jsonl" else None
    with pytest.raises(bbpe.CorpusError, match=rf"{name}: it ended after 640 of 1600 bytes; somebody writes to it"):
        list(Reading(block=256).texts(file, stop=stop))


@pytest.mark.parametrize("name", ["a.jsonl", "a.jsonl.gz"])
def test_a_file_that_grows_as_fast_as_it_is_read_comes_to_an_end(name: str, tmp_path: Path) -> None:
    """With an error, and soon after the place where it ended at first."""
    path, lines = tmp_path / name, b"".join(b'{"text": "%06d"}\n' % number for number in range(200))
    pack = gzip.compress if name.endswith(".gz") else bytes
    path.write_bytes(pack(lines))
    file, found = file_of(path), 0

    def read() -> None:
        nonlocal found
        for texts in Reading(block=512).texts(file):
            found += 0 if texts.ends is None else len(texts.ends)
            with path.open("ab") as more:
                more.write(pack(lines))

    with pytest.raises(bbpe.CorpusError, match=rf"{name}: its size changed from {file.size} to \d+ bytes while"):
        read()
    assert 150 < found < 300 or name.endswith(".gz")


@pytest.mark.parametrize("change", [1, -700_000])
def test_a_parquet_file_that_changes_while_it_is_read_is_refused(change: int, tmp_path: Path) -> None:
    """Its rows may be read to the end, and yet be those of two files; one that ends early is not called broken."""
    pa, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    path, digits = tmp_path / "a.parquet", random.Random(5)
    rows = [f"{digits.getrandbits(16_000):x}" for _ in range(300)]
    parquet.write_table(pa.table({"text": rows}), path, row_group_size=100, compression=None)
    file = file_of(path)
    size = path.stat().st_size
    texts = Reading().texts(file)
    next(texts)
    os.truncate(path, size + change)
    with pytest.raises(bbpe.CorpusError, match=rf"a\.parquet: its size changed from {size} to {size + change} bytes"):
        list(texts)


def test_kinds() -> None:
    names = {"a.txt": "text", "a.txt.gz": "text", "A.JSONL.GZ": "jsonl", "b.ndjson": "jsonl", "c.parquet": "parquet"}
    assert {name: kind_of(Path(name)) for name in names} == names
    assert kind_of(Path("noname")) == kind_of(Path("x.gz")) == kind_of(Path(".jsonl.d/x")) == "text"


def test_all_kinds_together_in_order(tmp_path: Path) -> None:
    (tmp_path / "1.txt").write_text("one two")
    (tmp_path / "2.jsonl").write_text('{"text": "two one"}\n{"text": "three"}')
    (tmp_path / "3.txt.gz").write_bytes(gzip.compress(b"four"))
    found = counted(tmp_path)
    assert list(found) == list(reference.count(["one two", "two one", "three", "four"]).items())
    assert found.summary.files == 3
    assert bbpe.train(tmp_path, 300).merges == bbpe.train_from_counts(found, 300).merges


def test_one_endless_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(count_options, "_BLOCK", 1000)
    path = tmp_path / "a.txt"
    for text in (b"x" * 60_000, b"word " * 12_000, b"\n" * 15_000, "漢".encode() * 10_000, b" " * 15_000 + b"a"):
        path.write_bytes(text)
        for document in ("file", "line"):
            lines = text.splitlines(keepends=True) if document == "line" else [text]
            assert dict(counted(path, document=document)) == reference.count(lines), text[:10]


@pytest.mark.parametrize("name", ["a.txt", "a.txt.gz", "a.jsonl", "a.parquet"])
def test_reading_goes_on_at_any_place(name: str, tmp_path: Path) -> None:
    """A second reader that starts at the place behind a chunk yields what the first one did from there on."""
    if name.endswith(".jsonl"):
        data = b"".join(json.dumps({"text": f"text {n}"}).encode() + b"\n" for n in range(300))
    else:
        data = b"some words, " * 400
    (tmp_path / name).write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    (tmp_path / "b.txt").write_bytes(b"the last one " * 30)
    if name == "a.parquet":
        pa, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
        parquet.write_table(pa.table({"text": [f"text {n}" for n in range(400)]}), tmp_path / name)
    options = ChunkOptions(get_pattern("gpt2"), (b"<s>",), reading=Reading(block=300))
    job = Files([file_of(tmp_path / name), file_of(tmp_path / "b.txt")], options)
    cutter = Cutter(options)
    chunks = list(cutter.chunks(job.sources(Position())))
    assert len(chunks) > 4
    for number, chunk in enumerate(chunks):
        assert chunk.place is not None
        rest = list(cutter.chunks(job.sources(chunk.place), chunk.place))
        after = chunks[number + 1 :]
        assert b"".join(bytes(one.data) for one in rest) == b"".join(bytes(one.data) for one in after)
        assert sum(one.texts for one in rest) == sum(one.texts for one in after)


def test_a_long_text_of_a_record_is_cut_into_chunks(tmp_path: Path) -> None:
    texts = ["a short one", "some words " * 2000, "in between", "other words\n" * 3000]
    (tmp_path / "a.jsonl").write_text("".join(json.dumps({"text": text}) + "\n" for text in texts))
    options = ChunkOptions(get_pattern("gpt2"), reading=Reading(block=1000))
    chunks = list(Cutter(options).chunks(Files([file_of(tmp_path / "a.jsonl")], options).sources(Position())))
    assert b"".join(bytes(chunk.data) for chunk in chunks).decode() == "".join(texts)
    assert sum(chunk.texts for chunk in chunks) == len(texts)
    assert max(len(chunk.data) for chunk in chunks) <= 2000


MEMORY = """
import re, sys
from pathlib import Path
import bbpe

def peak():
    return int(re.search(r"VmHWM:\\s*(\\d+)", Path("/proc/self/status").read_text())[1])

bbpe.count(sys.argv[1], pattern="gpt2")
before = peak()
counts = bbpe.count(sys.argv[2], pattern="gpt2", threads=2)
print(counts.total, peak() - before)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.parametrize("suffix", [".txt", ".txt.gz", ".txt.zst"])
def test_files_are_never_read_whole(suffix: str, tmp_path: Path) -> None:
    paths = [tmp_path / f"{name}{suffix}" for name in ("small", "large")]
    for path, times in zip(paths, (200_000, 6_000_000), strict=True):
        path.write_bytes(COMPRESSORS[Path(suffix).suffix if suffix != ".txt" else ""](b"word word\n" * times))
    command = [sys.executable, "-c", MEMORY, *map(str, paths)]
    total, grown = map(int, subprocess.run(command, capture_output=True, text=True, check=True).stdout.split())
    assert total == 3 * 6_000_000
    assert grown < 20_000, f"{grown} kB more for a text of 60 MB"
