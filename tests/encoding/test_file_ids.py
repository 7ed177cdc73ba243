"""Files to ids: what a document is, in parts or whole, for every way to encode; files that change meanwhile."""

from __future__ import annotations

import gzip
import io
import json
import os
import random
import re
import subprocess
import sys
import threading
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from strings import adversarial_strings
from systems import system_has

import bbpe
from bbpe.cli import main
from bbpe.encoding import file_ids

NOT_UTF8 = b"caf\xe9 \xff\xfe\x00 \xf0\x9f\x98"
LONG = "".join(random.Random(5).choices(["word ", "  ", "\n", "é", "漢字", "12", "<s>", "<s", "'s "], k=2500))


def ids_of(tok: bbpe.Tokenizer, path: Path, **options: Any) -> list[list[int]]:
    return [ids.tolist() for ids in tok.encode_files(path, **options)]


@pytest.fixture(scope="module")
def tok() -> bbpe.Tokenizer:
    return bbpe.train_from_iterator([LONG], 400, special_tokens=["<s>"])


@pytest.mark.parametrize("pattern", ["gpt2", "cl100k", "o200k", r"\w+|\W", r"(?<=a)b|\s+|\S"])
@pytest.mark.parametrize("block", [40, 4096, 1 << 23])
def test_blocks_change_nothing(pattern: str, block: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(file_ids, "BLOCK", block)
    tok = bbpe.train_from_iterator([LONG], 400, special_tokens=["<s>"], pattern=pattern)
    for text in (LONG.encode(), NOT_UTF8, b"", b"x" * 9000, b" " * 9000 + b"a", b"<s>" * 3000):
        (tmp_path / "a.txt").write_bytes(text)
        (tmp_path / "a.txt.gz").write_bytes(gzip.compress(text))
        for allowed in ((), "all"):
            right = tok.encode(text, allowed_special=allowed)
            assert ids_of(tok, tmp_path, allowed_special=allowed) == [right, right]


@pytest.mark.parametrize("model", ["unigram", "wordpiece"])
def test_other_models(model: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(file_ids, "BLOCK", 500)
    tok = bbpe.train_from_iterator([LONG] * 2, 400, model=model)
    (tmp_path / "a.txt").write_text(LONG)
    (tmp_path / "b.jsonl").write_text(json.dumps({"text": LONG}))
    assert ids_of(tok, tmp_path) == [tok.encode(LONG)] * 2


@pytest.mark.parametrize("pattern", ["gpt2", r"(?<=a)b|\s+|\S"])
def test_counts_are_those_of_the_ids(pattern: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(file_ids, "BLOCK", 500)
    monkeypatch.setattr(file_ids, "_BATCH", 7)
    tok = bbpe.train_from_iterator([LONG], 300, special_tokens=["<s>"], pattern=pattern)
    (tmp_path / "a.txt").write_text(LONG)
    (tmp_path / "b.jsonl").write_text("".join(json.dumps({"text": text}) + "\n" for text in ("see <s>", "my", "e é")))
    parts = tok._parts
    for matcher, options in ((None, {}), (parts.specials.matcher("all"), {"allowed_special": "all"})):
        done: list[int] = []
        made = file_ids.FileEncoder(parts.encoder, matcher, parts.specials.texts, done=done.append)
        found = [pair for file in made.files(tmp_path) for pair in made.counts(file)]
        assert found == [(document.path, len(document.ids())) for document in made.corpus(tmp_path)]
        assert [count for _, count in found] == [len(ids) for ids in ids_of(tok, tmp_path, **options)]
        assert sum(done) == 2 * (len(LONG.encode()) + len("see <s>mye é".encode()))
        assert done[-2:] == [7, 6]  # records as soon as there are 7 bytes of them, and the last ones


@pytest.mark.parametrize("batch", [1, 100, 1 << 22])
def test_rows_are_documents(
    batch: int, tok: bbpe.Tokenizer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(file_ids, "_BATCH", batch)
    pa, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    texts = [*adversarial_strings(50, seed=3), None, "", LONG, None]
    (tmp_path / "a.jsonl").write_text("\n\n".join(json.dumps({"body": text}) for text in texts))
    table = pa.table({"body": pa.array(texts), "id": range(len(texts))})
    parquet.write_table(table, tmp_path / "b.parquet", row_group_size=20)
    parquet.write_table(pa.table({"body": table["body"].dictionary_encode()}), tmp_path / "c.parquet")
    right = [tok.encode(text, allowed_special="all") for text in texts if text is not None]
    for name in ("a.jsonl", "b.parquet", "c.parquet"):
        assert ids_of(tok, tmp_path / name, text_field="body", allowed_special="all") == right, name
    with pytest.raises(bbpe.CorpusError, match=r"a\.jsonl: line 1: .*'text'.*text_field="):
        ids_of(tok, tmp_path / "a.jsonl")


def test_the_place_of_a_disallowed_token_is_that_in_the_text(
    tok: bbpe.Tokenizer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(file_ids, "BLOCK", 100)
    (tmp_path / "a.txt").write_text("some words " * 100 + "<s>")
    with pytest.raises(bbpe.SpecialTokenError, match="'<s>' at byte 1100"):
        ids_of(tok, tmp_path, disallowed_special="all")


def test_an_array_is_independent_of_what_comes_after(tok: bbpe.Tokenizer, tmp_path: Path) -> None:
    texts = ["word", "12", "漢字 word"]
    (tmp_path / "a.jsonl").write_text("".join(json.dumps({"text": text}) + "\n" for text in texts))
    for number, text in enumerate(texts):
        (tmp_path / f"b{number}.txt").write_text(text * 1000)
    found = list(tok.encode_files(tmp_path))
    assert [ids.tolist() for ids in found] == [tok.encode(text) for text in (*texts, *(text * 1000 for text in texts))]
    assert all(ids.dtype == np.uint32 for ids in found)
    assert all(ids.base is None for ids in found[:3])


@pytest.mark.parametrize("texts", [[""], ["", ""], ["word", ""], ["", "word"]])
def test_documents_of_no_text_are_documents(texts: list[str], tok: bbpe.Tokenizer, tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text("".join(json.dumps({"text": text}) + "\n" for text in texts))
    assert ids_of(tok, tmp_path / "a.jsonl") == [tok.encode(text) for text in texts]
    for number, text in enumerate(texts):
        (tmp_path / f"{number}.txt").write_text(text)
    assert ids_of(tok, [*sorted(tmp_path.glob("*.txt"))]) == [tok.encode(text) for text in texts]  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["none.txt", "none.gz"])
def test_missing_files_are_named(name: str, tok: bbpe.Tokenizer, tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError) as caught:
        ids_of(tok, tmp_path / name)
    assert str(caught.value.filename) == str(tmp_path / name)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes with names here")
def test_a_pipe_is_read_to_its_end(tok: bbpe.Tokenizer, tmp_path: Path) -> None:
    pipe = tmp_path / "pipe.txt"
    for data in (NOT_UTF8, LONG.encode() * 100):
        os.mkfifo(pipe)
        writer = threading.Thread(target=pipe.write_bytes, args=(data,))
        writer.start()
        assert ids_of(tok, pipe) == [tok.encode(data)]
        writer.join()
        pipe.unlink()


@pytest.mark.skipif(not system_has("/proc/version"), reason="no /proc here")
def test_files_of_the_system_have_no_size(tok: bbpe.Tokenizer) -> None:
    path = Path("/proc/version")
    assert path.stat().st_size == 0
    assert tok.decode(next(tok.encode_files(path))).encode() == path.read_bytes()
    assert bbpe.count(path, pattern="gpt2").summary.bytes == len(path.read_bytes())


# -- files that change while they are read --------------------------------------------------------------

KINDS = ["a.txt", "a.txt.gz", "a.jsonl", "a.jsonl.gz", "a.parquet"]


@cache
def of_kind(name: str) -> bytes:
    """A file of more than one block."""
    words = random.Random(1).choices([*map(str, range(5000))], k=400_000)
    data = " ".join(words).encode()
    if name.startswith("a.jsonl"):
        data = b"".join(b'{"text": "%b"}\n' % data[start : start + 1000] for start in range(0, len(data), 1000))
    if name.endswith(".parquet"):
        pa, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
        rows, out = [data[start : start + 1000].decode() for start in range(0, len(data), 1000)], io.BytesIO()
        parquet.write_table(pa.table({"text": rows}), out, row_group_size=100)
        return out.getvalue()
    return gzip.compress(data, 1) if name.endswith(".gz") else data


def change(path: Path, size: int) -> None:
    if path.stat().st_size != size:
        with path.open("r+b") as file:
            file.truncate(size)


@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize("change_by", [-0.7, 0.3])
@pytest.mark.parametrize("threads", [1, 2])
def test_a_file_that_changes_while_it_is_counted(name: str, change_by: float, threads: int, tmp_path: Path) -> None:
    size = (tmp_path / name).write_bytes(of_kind(name))
    other = size + int(size * change_by)

    def report(_: object) -> None:
        change(tmp_path / name, other)

    said = rf"{name}: its size changed from {size} to {other} bytes while it was read"
    with pytest.raises(bbpe.CorpusError, match=said):
        bbpe.count(tmp_path / name, pattern="gpt2", threads=threads, progress=report)


@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize("change_by", [-0.7, 0.3])
def test_a_file_that_changes_while_it_is_encoded(
    name: str, change_by: float, tok: bbpe.Tokenizer, tmp_path: Path
) -> None:
    size = (tmp_path / name).write_bytes(of_kind(name))
    other = size + int(size * change_by)
    found = tok.encode_files(tmp_path / name)
    change(tmp_path / name, other)
    with pytest.raises(bbpe.CorpusError, match=rf"{name}: its size changed from {size} to {other} bytes"):
        list(found)


# -- memory -------------------------------------------------------------------------------------------

MEMORY = """
import re, sys
from pathlib import Path
import bbpe

def peak():
    return int(re.search(r"VmHWM:\\s*(\\d+)", Path("/proc/self/status").read_text())[1])

tok = bbpe.train_from_iterator(["word word"], 262)
list(tok.encode_files(sys.argv[1]))
before = peak()
print(sum(len(ids) for ids in tok.encode_files(sys.argv[2])), peak() - before)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.skipif("libasan" in os.environ.get("LD_PRELOAD", ""), reason="a sanitizer keeps memory of its own")
@pytest.mark.parametrize("suffix", ["", ".gz"])
def test_texts_are_never_read_whole(suffix: str, tmp_path: Path) -> None:
    write: Callable[[bytes], bytes] = gzip.compress if suffix else bytes
    part = write(b"word word\n" * 1_000_000)
    (tmp_path / f"small.txt{suffix}").write_bytes(part)
    (tmp_path / f"large.txt{suffix}").write_bytes(part * 14)
    paths = [str(tmp_path / f"{name}.txt{suffix}") for name in ("small", "large")]
    run = subprocess.run([sys.executable, "-c", MEMORY, *paths], capture_output=True, text=True, check=True)
    count, grown = map(int, run.stdout.split())
    # the ids take 4 bytes each, and an eighth more while they grow
    assert grown < 4 * count // 1024 * 9 // 8 + 60_000, f"{grown} kB more for {count} ids of 140 MB"


# -- the command line -----------------------------------------------------------------------------------


@pytest.fixture
def saved(tok: bbpe.Tokenizer, tmp_path: Path) -> str:
    tok.save(tmp_path / "t.json")
    return str(tmp_path / "t.json")


def test_rows_on_the_command_line(
    saved: str, tok: bbpe.Tokenizer, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    path, text = tmp_path / "a.jsonl", tmp_path / "b.txt"
    path.write_text('{"body": "word"}\n\n{"body": null}\n{"body": "12"}\n')
    text.write_text("word")
    options = ["-t", saved, "--text-field", "body"]
    assert main(["encode", *options, "--json", str(path), str(text)]) == 0
    assert [json.loads(line) for line in capfd.readouterr().out.splitlines()] == [
        {"file": str(path), "row": 0, "ids": tok.encode("word")},
        {"file": str(path), "row": 2, "ids": tok.encode("12")},
        {"file": str(text), "ids": tok.encode("word")},
    ]
    assert main(["encode", *options, str(path)]) == 0
    lines = capfd.readouterr().out.splitlines()
    assert [list(map(int, line.split())) for line in lines] == [tok.encode("word"), tok.encode("12")]
    assert main(["encode", *options, "--tokens", "--json", str(path)]) == 0
    assert json.loads(capfd.readouterr().out.splitlines()[1])["tokens"] == tok.tokenize("12")
    assert main(["encode", *options, "--numpy", str(tmp_path / "ids.npy"), str(path)]) == 0
    assert np.load(tmp_path / "ids.npy").tolist() == tok.encode("word") + tok.encode("12")


def test_names_are_looked_at_before_the_first_is_read(
    saved: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "a.txt").write_text("word")
    (tmp_path / "b.zip").write_bytes(b"")
    assert main(["encode", "-t", saved, str(tmp_path / "a.txt"), str(tmp_path / "b.zip")]) == 1
    out, err = capfd.readouterr()
    assert out == ""
    assert re.search(r"b\.zip: a \.zip file is an archive", err)
