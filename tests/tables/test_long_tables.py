"""Tables that only long texts need: whoever makes them, ids are the same; a damaged file is made anew."""

from __future__ import annotations

import random
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from trained_pieces import trained

import bbpe
from bbpe.core.image import ALIGNMENT
from bbpe.tables import store

LINES = ["tokens, of the lowest; naïve 한국어 123 ...", "see my eyes first, 中文字"] * 4
#: With borders of characters of three bytes, and long pieces.
LONG = "中文字的大小, naïve 한국어 see. " * 700 + "esee" * 2_250 + " see " + "ab中" * 4_000 + "x" * 900 + " the lowest"


@pytest.fixture(scope="module")
def file_of(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    def made(kind: str) -> Path:
        folder = tmp_path_factory.mktemp("vocabulary")
        if kind == "sentencepiece bpe":
            return trained(folder / "a.model", LINES, 420, model_type="bpe", byte_fallback=True)
        tok = bbpe.train_from_iterator(LINES, 330, pattern="cl100k")
        path = folder / ("a.tiktoken" if kind == "ranks" else "tokenizer.json")
        tok.save(path, drop=["pattern"] if kind == "ranks" else [])
        return path

    return cache(made)


@pytest.fixture(autouse=True)
def _small_ones_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bbpe.tables.sources._LEAST", 1)


def aligned(data: bytes) -> memoryview:
    """A copy of bytes that begins at a multiple of `ALIGNMENT`."""
    memory = np.zeros(len(data) + ALIGNMENT, np.uint8)
    start = -memory.ctypes.data % ALIGNMENT
    memory[start : start + len(data)] = np.frombuffer(data, np.uint8)
    return memoryview(memory)[start : start + len(data)]


class Kept:
    """Tables for long texts in memory."""

    def __init__(self, **images: bytes) -> None:
        self.images, self.written = images, list[str]()

    def read(self, name: str) -> memoryview | None:
        return aligned(self.images[name]) if name in self.images else None

    def write(self, name: str, image: bytes) -> None:
        self.images[name] = image
        self.written.append(name)


def with_tables(path: Path, tables: Any) -> bbpe.Tokenizer:
    tok = bbpe.load(path, cache=False)
    tok._parts.encoder.encoder.model.keep_long_tables(tables)
    return tok


@pytest.mark.parametrize("name", ["merges", "ranks", "sentencepiece bpe"])
def test_what_long_texts_need(name: str, file_of: Callable[[str], Path], tmp_path: Path) -> None:
    """It is made by the first long text, the same in every process, and then read; short texts do without."""
    options = {"pattern": "gpt2"} if name == "ranks" else {}
    path, folders = file_of(name), [tmp_path / "one", tmp_path / "other"]
    expected = bbpe.load(path, cache=False, **options).encode(LONG)
    for folder in folders:
        for text in ("short", LONG, LONG, LONG):  # processes, one after another
            tok = bbpe.load(path, cache=folder, **options)
            assert tok.encode(text) == (expected if text is LONG else tok.encode(text))
            assert len(list(folder.iterdir())) == (3 if text is LONG else 1)
    names = sorted(file.name for file in folders[0].iterdir())
    assert names == sorted(file.name for file in folders[1].iterdir())
    for file in names:
        assert (folders[0] / file).read_bytes() == (folders[1] / file).read_bytes()


def test_text_without_long_pieces_needs_no_matching(file_of: Callable[[str], Path]) -> None:
    tables = Kept()
    with_tables(file_of("merges"), tables).encode("see the lowest tokens 中文 " * 2_000)
    assert tables.written == ["cuts"]
    again = with_tables(file_of("merges"), tables)
    assert again.encode(LONG) == bbpe.load(file_of("merges"), cache=False).encode(LONG)
    assert tables.written == ["cuts", "match"]


def test_warm_up_leaves_no_table_to_make(file_of: Callable[[str], Path]) -> None:
    tables = Kept()
    tok = with_tables(file_of("merges"), tables)
    tok.warm_up()
    assert tables.written == ["cuts", "match"]
    tok.encode(LONG)
    assert tables.written == ["cuts", "match"]


@pytest.mark.parametrize("name", ["cuts", "match"])
def test_those_of_other_sizes_are_made_anew(name: str, file_of: Callable[[str], Path]) -> None:
    good = Kept()
    expected = with_tables(file_of("merges"), good).encode(LONG)
    assert expected == bbpe.load(file_of("merges"), cache=False).encode(LONG)
    image = good.images[name]
    wrong = [image[:-ALIGNMENT], image + bytes(ALIGNMENT), b"", image[:8], bytes(len(image)), b"\xff" * len(image)]
    for place in (0, 16) if name == "match" else (0,):
        for value in (1, 1 << 20, (1 << 64) - 1):
            wrong.append(image[:place] + value.to_bytes(8, "little") + image[place + 8 :])
    for data in wrong:
        tables = Kept(**{**good.images, name: data})
        assert with_tables(file_of("merges"), tables).encode(LONG) == expected
        assert tables.written == [name]
        assert tables.images == good.images
    tables = Kept(**good.images)
    assert with_tables(file_of("merges"), tables).encode(LONG) == expected
    assert tables.written == []


@pytest.mark.parametrize("name", ["cuts", "match"])
def test_an_interrupt_while_tables_are_read(name: str, file_of: Callable[[str], Path]) -> None:
    class Interrupted(Kept):
        def read(self, asked: str) -> memoryview | None:
            if asked == name and "asked" not in self.images:
                self.images["asked"] = b""
                raise KeyboardInterrupt
            return None

    tok = with_tables(file_of("merges"), Interrupted())
    with pytest.raises(KeyboardInterrupt):
        tok.encode(LONG)
    assert tok.encode(LONG) == bbpe.load(file_of("merges"), cache=False).encode(LONG)


def test_tries_have_few_holes(file_of: Callable[[str], Path]) -> None:
    """A trie has a slot for each of its nodes, which are the beginnings of tokens, and few more."""
    tables = Kept()
    tok = with_tables(file_of("merges"), tables)
    tok.encode(LONG)
    ids, _, slots = (int.from_bytes(tables.images["match"][at : at + 8], "little") for at in (0, 8, 16))
    tokens = tok.ranks if tok.spec.merges is None else tok.spec.vocab.values()
    nodes = {token[:n] for token in tokens for n in range(len(token) + 1)}
    assert ids == max(tok.spec.vocab) + 1
    assert len(nodes) <= slots < 1.1 * len(nodes) + 512


def test_damaged_ones_are_written_anew(file_of: Callable[[str], Path], tmp_path: Path) -> None:
    folder, text = tmp_path / "tables", "中文 see " * 3_000 + "-=" * 4_500
    path = file_of("merges")
    bbpe.load(path, cache=folder)
    (main,) = folder.iterdir()
    expected = bbpe.load(path, cache=folder).encode(text)
    tables, rng = store.LongTables(folder, main.stem), random.Random(45)
    for name in ("cuts", "match"):
        file = folder / (tables._key(name) + ".tables")
        good = file.read_bytes()
        head = 32 + int.from_bytes(good[16:24], "little")
        for at in (*range(0, 40, 3), head - 1, *(rng.randrange(head + 64, len(good)) for _ in range(60))):
            file.write_bytes(good[:at] + bytes([good[at] ^ 1 << rng.randrange(8)]) + good[at + 1 :])
            assert tables.read(name) is None, at
        for size in (0, 31, head, head + 64, len(good) - 1):
            file.write_bytes(good[:size])
            assert tables.read(name) is None, size
        assert bbpe.load(path, cache=folder).encode(text) == expected
        assert file.read_bytes() == good
    for stored in folder.iterdir():
        stored.unlink()
    folder.rmdir()
    assert tables.read("cuts") is None
    tables.write("cuts", b"")  # a folder that has gone is no error
    assert not folder.exists()
