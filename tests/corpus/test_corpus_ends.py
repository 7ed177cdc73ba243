"""Readers of corpora where little is there: no last line feed, no such folder, no package, headers that are cut off."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import bbpe
from bbpe.corpus import compressed, opened, records, rowfiles, urls
from bbpe.corpus.chunks import _line_ends, _line_feeds
from bbpe.corpus.files import File, check_apart, corpus_paths, file_of
from bbpe.corpus.parquet_pages import largest_window, pages


@pytest.mark.parametrize(
    ("data", "ends"),
    [(b"", []), (b"a", [1]), (b"a\n", [2]), (b"a\nb", [2, 3]), (b"\n\n", [1, 2]), (b"\r\na", [2, 3])],
)
def test_where_lines_end(data: bytes, ends: list[int]) -> None:
    assert _line_ends(data).tolist() == ends
    feeds = [at for at, byte in enumerate(data) if byte == 0x0A]
    for first in range(len(data) + 1):
        for limit in range(len(data) + 1):
            assert [*_line_feeds(data, first, limit)] == [at for at in feeds[::-1] if first <= at < limit]


def test_line_feeds_that_are_far_apart() -> None:
    data = bytes(10) + b"\n" + bytes(200_000) + b"\n" + bytes(30_000)
    assert [*_line_feeds(data, 0, len(data))] == [200_011, 10]
    assert [*_line_feeds(data, 10, 200_011)] == [10]
    assert [*_line_feeds(data, 11, 200_011)] == []


@pytest.mark.parametrize(
    ("pattern", "names"),
    [
        ("**/*.txt", ["a/b/y.txt", "a/x.txt"]), ("**/b/*", ["a/b/y.txt"]), ("**/.h/*", ["a/.h/z.txt"]),
        ("**/.h/.*", ["a/.h/.i.txt"]), ("a/**/b/y.txt", ["a/b/y.txt"]), ("**/a/**/x.txt", ["a/x.txt"]),
        ("a/**", ["a/b/y.txt", "a/x.txt"]), ("**/a/b/c/*", []), ("none/**/*.txt", []), ("**/x", []),
    ],
)  # fmt: skip
def test_what_a_pattern_of_any_depth_matches(
    pattern: str, names: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("a/x.txt", "a/b/y.txt", "a/.h/z.txt", "a/.h/.i.txt"):
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        Path(name).write_text("a")
    if names:
        assert [str(path) for path in corpus_paths(pattern)] == names
    else:
        with pytest.raises(bbpe.CorpusError, match="matches no file; expected at least one that is not hidden"):
            corpus_paths(pattern)


def test_results_are_kept_out_of_the_corpus(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the corpus is called: a folder, a pattern, a pattern with a scheme or with dots."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "in").mkdir()
    (tmp_path / "in/a.txt").write_text("a")
    found = [tmp_path / "in/a.txt"]
    for given in ("in", "in/*.bin", f"file://{tmp_path}/in/*.bin", "in/../in/*.bin", "**/*.bin", tmp_path / "in"):
        with pytest.raises(bbpe.CorpusError, match=r"in: the shards is in the corpus, .*; use another folder"):
            check_apart(tmp_path / "in", "the shards", [given], found, ["b.bin"])
    for given in ("in/*.txt", "in/a.txt", f"file://{tmp_path}/in/*.txt", "memory://in"):
        check_apart(tmp_path / "out", "the shards", [given], found, ["b.bin"])
    check_apart(tmp_path / "in/.out", "the shards", ["in"], found, ["b.bin"])
    with pytest.raises(bbpe.CorpusError, match=r"in: the shards holds .*a\.txt of the corpus"):
        check_apart(tmp_path / "in", "the shards", ["in/a.txt"], found, ["b.bin"])
    check_apart(tmp_path / "in", "the shards", ["memory://a"], [urls.Url("memory://a")], ["b.bin"])


def test_a_missing_package_and_a_damaged_file_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "zstandard", None)
    with pytest.raises(ImportError, match=r"\.zst files need zstandard; .* pip install 'bbpe\[data\]'"):
        compressed.COMPRESSIONS[".zst"](io.BytesIO(b""), 0)
    (tmp_path / "a.gz").write_bytes(b"not compressed")
    with pytest.raises(bbpe.CorpusError, match=r"a\.gz: expected a whole \.gz file: "):
        file_of(tmp_path / "a.gz")


@pytest.mark.parametrize(("suffix", "pack"), [(".gz", gzip.compress), (".bz2", bz2.compress), (".xz", lzma.compress)])
def test_no_bytes_are_asked_for_and_none_are_taken(suffix: str, pack: Callable[[bytes], bytes]) -> None:
    stream: Any = compressed.COMPRESSIONS[suffix](io.BytesIO(pack(b"abc")), 0)
    buffer = bytearray(2)
    assert (stream.readinto(bytearray()), stream.readinto(buffer), bytes(buffer)) == (0, 2, b"ab")
    assert (stream.readinto(buffer), buffer[:1], stream.readinto(buffer)) == (1, b"c", 0)


def test_errors_get_the_name_of_the_file_and_keep_the_one_they_have(tmp_path: Path) -> None:
    for convert in (opened.naming, rowfiles._naming_errors):
        for given, named in ((None, "a.txt"), ("b.txt", "b.txt")):
            error = OSError(5, "damaged", *([given] if given else []))
            with pytest.raises(OSError, match="damaged") as caught, convert(Path("a.txt")):
                raise error
            assert (caught.value, caught.value.filename) == (error, named)
    for wrong, kind, said in (
        (OSError("no\n magic"), bbpe.CorpusError, r"a\.txt: expected a Parquet file: no magic"),
        (MemoryError(), bbpe.MemoryLimitError, r"a\.txt: there is too little memory to read the file, or"),
    ):
        with pytest.raises(kind, match=said), rowfiles._naming_errors("a.txt"):
            raise wrong
    pipe = File(tmp_path / "a.txt", "text")
    assert (opened.digest_of_ends(pipe), opened.version_of(pipe)) == ("", "")
    assert opened.digest_of_ends(File(urls.Url("memory://a"), "text", 5)) == ""


# -- Parquet -------------------------------------------------------------------------------------------


def unsigned(value: int) -> bytes:
    """A length in Thrift's compact protocol."""
    made = b""
    while value > 0x7F:
        made, value = made + bytes([value & 0x7F | 0x80]), value >> 7
    return made + bytes([value])


def number(value: int) -> bytes:
    """A number, in zigzag."""
    return unsigned(value << 1 if value >= 0 else (-value << 1) - 1)


def header(*fields: tuple[int, int], more: bytes = b"") -> bytes:
    """A header with some integers at its top, each with its id written out, and other fields behind."""
    return b"".join(b"\x05" + number(field) + number(value) for field, value in fields) + more + b"\0"


#: Fields of every kind behind field 3: true, false, a byte, a double, 200 bytes of text, a struct in itself.
EVERY = b"\x11\x12\x13\x07\x17" + bytes(8) + b"\x18\xc8\x01" + b"\xff" * 200 + b"\x1c\x15\x06\x00"


def test_headers_of_pages() -> None:
    data_page = b"\x2c\x15\x0c\x00"  # field 5, a struct whose field 1 is 6
    rows = [
        header((1, 0), (2, 300), (3, 20), more=data_page), bytes(20),
        header((2, 7), (3, 0), more=EVERY), header((2, 9), (3, 1), more=b"\x5c\x15\x08\x00"), b"x",
    ]  # fmt: skip
    data = b"front" + b"".join(rows)
    assert list(pages(io.BytesIO(data), 5, len(data) - 5)) == [(300, 6), (7, 0), (9, 4)]
    assert list(pages(io.BytesIO(data), 5, 0)) == []
    for size in (4095, 4096, 4097, 70_000):  # a header as long as what is read at once, and longer
        text = b"\x18" + unsigned(size - 20) + bytes(size - 20)
        long = header((2, 5), (3, 0), more=text)
        assert list(pages(io.BytesIO(long), 0, len(long))) == [(5, 0)]


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"\0", "expected the header of a page"),
        (header((2, 5)), "expected the header of a page"),
        (header((3, 5)), "expected the header of a page"),
        (header((2, -1), (3, 5)), "expected the header of a page"),
        (header((2, 5), (3, -1)), "expected the header of a page"),
        (header((2, 5), (3, 0))[:-1], "the header of a page does not end"),
        (b"\x18\x05ab", "the header of a page does not end"),
        (b"\x1c" * 9 + bytes(10), "the header of a page is nested too deeply"),
        (header((2, 5), (3, 0), more=b"\x19"), "the header of a page has a field of type 9"),
    ],
)
def test_headers_of_pages_that_are_broken(data: bytes, said: str) -> None:
    with pytest.raises(ValueError, match=rf"^{said}$"):
        list(pages(io.BytesIO(data), 0, len(data)))
    deep = header((2, 5), (3, 0), more=b"\x1c" * 8 + bytes(8))
    assert list(pages(io.BytesIO(deep), 0, len(deep))) == [(5, 0)]


def test_the_pages_that_rows_touch() -> None:
    found = [(10, 2), (50, 2), (20, 3), (5, 1)]
    # four rows touch three pages of which the middle one has two rows
    assert [largest_window(found, rows) for rows in (1, 2, 3, 4, 5, 6, 7)] == [50, 70, 70, 80, 80, 80, 85]
    assert largest_window([(10, 2), (50, 1), (20, 2)], 3) == 80
    assert (largest_window([], 3), largest_window([(7, 9)], 1)) == (0, 7)


def test_columns_that_are_missing_and_pages_that_are_broken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pa, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    path = tmp_path / "a.parquet"
    parquet.write_table(pa.table({"text": ["low", "lower"], "key": ["a", "b"]}), path)
    file = file_of(path)
    with opened.opened(file) as source, pytest.raises(bbpe.CorpusError, match=r"no column 'id', as id_field= names it"):
        list(records.parquet_columns(source, "text", 0, id_field="id"))
    with opened.opened(file) as source:
        ((texts, keys, _),) = records.parquet_columns(source, "text", 0, id_field="key")
        assert (texts.to_pylist(), [key.to_pylist() for key in keys]) == (["low", "lower"], [["a", "b"]])

    def broken(*_: object) -> None:
        raise ValueError("the header of a page does not end")

    monkeypatch.setattr(records, "pages", broken)
    said = r"a\.parquet: row group 0: expected a Parquet file: the header of a page does not end"
    with opened.opened(file) as source, pytest.raises(bbpe.CorpusError, match=said):
        list(records.parquet_columns(source, "text", 1000))


# -- URLs ----------------------------------------------------------------------------------------------


def test_a_url_is_a_name_and_its_file_has_a_size() -> None:
    url = urls.Url("memory://a/b.txt")
    assert (str(url), url.__fspath__(), url.absolute()) == ("memory://a/b.txt", "memory://a/b.txt", url)
    with pytest.raises(bbpe.CorpusError, match=r"memory://a/b\.txt: the server does not report the size of the file"):
        urls._status("memory://a/b.txt", {"size": None})
    assert urls._status("a", {"size": 0}).st_size == 0
    system: Any = SimpleNamespace(unstrip_protocol=lambda path: f"s3://{path}")
    assert urls._url_of(system, "https", "https://host/a", "") == "https://host/a"
    assert urls._url_of(system, "s3", "bucket/a", "") == "s3://bucket/a"
    assert urls._url_of(system, "zip", "a.txt", "::s3://b.zip") == "zip://a.txt::s3://b.zip"
