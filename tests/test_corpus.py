"""From names to files, and from files to bytes."""

from __future__ import annotations

import bz2
import gzip
import lzma
import mmap
import os
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from bbpe.corpus import open_text, paths
from bbpe.errors import CorpusError


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name in ("b.txt", "a.txt", "c.md", ".hidden", "sub/d.txt", "sub/deep/e.txt", ".git/f.txt", "x[1].txt"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(name)
    (tmp_path / "empty").mkdir()
    return tmp_path


def names(files: object) -> list[str]:
    return [path.as_posix() for path in paths(files)]  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ("a.txt", ["a.txt"]),
        (Path("a.txt"), ["a.txt"]),
        (["b.txt", "a.txt"], ["b.txt", "a.txt"]),
        (("c.md", Path("sub")), ["c.md", "sub/d.txt", "sub/deep/e.txt"]),
        ("*.txt", ["a.txt", "b.txt", "x[1].txt"]),
        ("**/*.txt", ["a.txt", "b.txt", "sub/d.txt", "sub/deep/e.txt", "x[1].txt"]),
        ("sub/**", ["sub/d.txt", "sub/deep/e.txt"]),
        ("[ab].txt", ["a.txt", "b.txt"]),
        ("x[1].txt", ["x[1].txt"]),
        (".", ["a.txt", "b.txt", "c.md", "sub/d.txt", "sub/deep/e.txt", "x[1].txt"]),
        (["b.txt", "*.txt", "./a.txt"], ["b.txt", "a.txt", "x[1].txt"]),
        (["sub/../a.txt", "a.txt"], ["sub/../a.txt"]),
        ((name for name in ("a.txt", "b.txt")), ["a.txt", "b.txt"]),
    ],
    ids=lambda value: repr(value).partition(" at 0x")[0],
)
def test_names_stand_for_files_in_a_fixed_order(tree: Path, files: object, expected: list[str]) -> None:
    assert names(files) == expected


def test_a_link_to_a_file_is_the_same_file(tree: Path) -> None:
    (tree / "link.txt").symlink_to("a.txt")
    assert names(["link.txt", "a.txt"]) == ["link.txt"]


def test_links_to_folders_are_not_followed_into_a_circle(tree: Path) -> None:
    (tree / "sub" / "circle").symlink_to(tree / "sub", target_is_directory=True)
    assert names("sub") == ["sub/d.txt", "sub/deep/e.txt"]


@pytest.mark.parametrize("files", ["none.txt", ["a.txt", "none.txt"], ""])
def test_a_missing_file_is_named(tree: Path, files: object) -> None:
    with pytest.raises(FileNotFoundError) as caught:
        names(files)
    assert caught.value.filename == ("" if files == "" else "none.txt")


@pytest.mark.parametrize(("files", "named"), [("*.rst", r"\*.rst"), ("empty", "empty"), ([], "no files")])
def test_what_yields_no_file_is_named(tree: Path, files: object, named: str) -> None:
    with pytest.raises(CorpusError, match=named):
        names(files)


def test_a_text_is_no_name() -> None:
    text = "some words * and [others]\n" * 2000
    for files in (text, [text]):
        with pytest.raises(CorpusError, match=r"52000 characters.*count_from_iterator"):
            paths(files)


@pytest.mark.parametrize("files", [None, 3, b"a.txt", [b"a.txt"], [None], {"a.txt"}, {"a.txt": 1}, [["a"]]], ids=repr)
def test_other_types_are_refused(tree: Path, files: object) -> None:
    with pytest.raises(TypeError):
        names(files)


NOT_UTF8 = b"caf\xe9 \xff\xfe\x00 \xf0\x9f\x98"


def test_a_plain_file_is_mapped_and_its_bytes_kept(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(NOT_UTF8)
    with open_text(path) as text:
        assert isinstance(text, mmap.mmap)
        assert bytes(text) == NOT_UTF8
    assert text.closed


def test_an_empty_file_is_empty(tmp_path: Path) -> None:
    (tmp_path / "a.txt").touch()
    with open_text(tmp_path / "a.txt") as text:
        assert text == b""


def zstandard_compress(data: bytes) -> bytes:
    packed: bytes = pytest.importorskip("zstandard").compress(data)
    return packed


@pytest.mark.parametrize(
    ("suffix", "compress"),
    [
        (".gz", gzip.compress), (".bz2", bz2.compress), (".xz", lzma.compress), (".zst", zstandard_compress),
        (".GZ", gzip.compress),
    ],
)
def test_compressed_files_are_decompressed(tmp_path: Path, suffix: str, compress: Callable[[bytes], bytes]) -> None:
    path = tmp_path / f"a.txt{suffix}"
    # two streams in one file are legal, and both count
    path.write_bytes(compress(NOT_UTF8) + compress(b"more"))
    with open_text(path) as text:
        assert text == NOT_UTF8 + b"more"
    path.write_bytes(compress(NOT_UTF8 * 100)[:-5])
    with pytest.raises(CorpusError, match=path.name), open_text(path):
        pass
    path.write_bytes(b"this is no compressed file")
    with pytest.raises(CorpusError, match=path.name), open_text(path):
        pass


def test_parquet_files_are_refused_by_name(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    path.write_bytes(b"text")
    with pytest.raises(CorpusError, match=r"a\.parquet: .*a text in each row"), open_text(path):
        pass


@pytest.mark.parametrize("name", ["none.txt", "none.gz", "folder"])
def test_unreadable_files_raise_the_error_of_the_system(tmp_path: Path, name: str) -> None:
    (tmp_path / "folder").mkdir()
    with pytest.raises(OSError, match=name) as caught, open_text(tmp_path / name):
        pass
    assert str(caught.value.filename) == str(tmp_path / name)


def test_a_view_may_outlive_the_block(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"text")
    with open_text(tmp_path / "a.txt") as text:
        view = memoryview(text)
    assert bytes(view) == b"text"


def test_an_error_in_the_block_is_not_hidden_by_a_view(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"text")

    def fail(view: memoryview) -> None:
        raise KeyError(len(view))

    with pytest.raises(KeyError), open_text(tmp_path / "a.txt") as text:
        fail(memoryview(text))


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes with names here")
def test_a_pipe_is_read_to_its_end(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_bytes, args=(NOT_UTF8,))
    writer.start()
    with open_text(pipe) as text:
        assert text == NOT_UTF8
    writer.join()
