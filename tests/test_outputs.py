"""URLs as outputs: a file is uploaded as a whole, a folder of files is refused before work begins, by every writer."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, ClassVar

import pytest

import bbpe
import bbpe.tiktoken.load
from bbpe.cli import main
from bbpe.corpus.urls import path_of
from bbpe.files import (
    is_remote,
    is_url,
    local_path,
    path_of_local_url,
    replacing,
    write_atomic,
    write_folder_atomic,
)  # fmt: skip

fsspec = pytest.importorskip("fsspec")
from fsspec.implementations.memory import MemoryFileSystem  # noqa: E402 - it may be absent

TOK = bbpe.train_from_iterator(["see my eyes first"] * 3, 270, special_tokens=["</s>"])
CURVES: dict[str, Any] = {}


class Closed(MemoryFileSystem):  # type: ignore[misc]  # fsspec has no types
    """Says what it has, and takes nothing."""

    protocol = "closed"
    store: ClassVar[dict[str, Any]] = {}

    def put_file(self, *_: Any, **__: Any) -> None:
        raise RuntimeError("quota is used up")


fsspec.register_implementation("closed", Closed, clobber=True)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder with a corpus, in which no folder with the name of a scheme may be left, nor a temporary file."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    Path("a.txt").write_text("see my eyes first\n" * 9)
    Path("a.jsonl").write_text('{"text": "see my eyes first"}\n' * 9)
    TOK.save("tok.json")
    bbpe.count("a.txt", pattern="gpt2").save("counts.parquet")
    bbpe.shard("a.jsonl", "shards", TOK)
    MemoryFileSystem.store.clear()
    yield tmp_path
    assert [path.name for path in Path().iterdir() if ":" in path.name] == []
    assert list(Path("temporary").iterdir()) == []


def uploaded(name: str) -> bytes:
    data: bytes = fsspec.filesystem("memory").cat_file(f"/b/{name}")
    return data


FILES: dict[str, Callable[[str], Any]] = {
    "save": lambda url: TOK.save(url + ".json"),
    "save tiktoken": lambda url: TOK.save(url + ".tiktoken", drop=["special_tokens"]),
    "tokens": lambda url: bbpe.count_tokens("a.txt", [TOK]).save(url + ".json"),
    "counts": lambda url: bbpe.load_counts("counts.parquet").save(url + ".parquet"),
    "tokenizers": lambda url: TOK.as_tokenizers().save(url + ".json"),
    "classic": lambda url: bbpe.BBPETokenizer.train_tokenizer("see my eyes", 260, url + ".json", url + ".txt"),
    "dump": lambda url: bbpe.tiktoken.load.dump_tiktoken_bpe({b"a": 0}, url + ".tiktoken"),
    "replacing": lambda url: write_atomic(url + ".bin", b"x"),
}  # fmt: skip
COMMANDS = {
    "train": ["train", "a.txt", "--vocab-size", "260", "--quiet", "-o", "{}.json"],
    "extend": ["extend", "a.txt", "-t", "tok.json", "--add", "1", "--quiet", "-o", "{}.json"],
    "prune": ["prune", "-t", "tok.json", "--keep", "258", "-o", "{}.json", "--map", "{}.npy"],
    "count": ["count", "a.txt", "--quiet", "-o", "{}.parquet"],
    "merge": ["counts", "merge", "counts.parquet", "counts.parquet", "-o", "{}.parquet"],
    "convert": ["convert", "tok.json", "{}.json"],
    "encode": ["encode", "-t", "tok.json", "a.txt", "--numpy", "{}.npy"],
    "view": ["view", "-t", "tok.json", "a.txt", "-o", "{}.html"],
    "compare": ["compare", "tok.json", "tok.json", "a.txt", "--html", "{}.html"],
    "eval": ["eval", "-t", "tok.json", "a.txt", "--html", "{}.html"],
    "tokens": ["tokens", "-t", "tok.json", "a.txt", "--quiet", "-o", "{}.parquet"],
}
FOLDERS: dict[str, Callable[[str], Any]] = {
    "shard": lambda url: bbpe.shard("a.jsonl", url, TOK),
    "shard_from_iterator": lambda url: bbpe.shard_from_iterator(["a"], url, TOK),
    "plan_shards": lambda url: bbpe.plan_shards("a.jsonl", url, TOK),
    "merge_shards": lambda url: bbpe.merge_shards(["shards"], url),
    "retokenize": lambda url: bbpe.retokenize("shards", url, TOK),
    "plan_retokenizing": lambda url: bbpe.plan_retokenizing("shards", url, TOK),
    "mixture": lambda url: bbpe.merge_shards([("shards", 1)], url),
    "load_shards": lambda url: bbpe.load_shards(url),
    "shards_status": lambda url: bbpe.shards_status(url),
    "verify_shards": lambda url: bbpe.verify_shards(url),
    "plan_count": lambda url: bbpe.plan_count("a.txt", url, pattern="gpt2"),
    "sum_counts": lambda url: bbpe.sum_counts(url),
    "checkpoint": lambda url: bbpe.count("a.txt", pattern="gpt2", checkpoint=url),
    "checkpoint of texts": lambda url: bbpe.count_from_iterator(["a"], pattern="gpt2", checkpoint=url),
    "Counting": lambda url: bbpe.Counting(checkpoint=url),
    "train": lambda url: bbpe.train("a.txt", 260, counting=bbpe.Counting(checkpoint=url)),
    "save": lambda url: TOK.save(url),
    "save gpt2": lambda url: TOK.save(url, format="gpt2"),
    "files": lambda url: write_folder_atomic(url, {"a": b"", "b": b""}),
    "load": lambda url: bbpe.load(url),
    "load a file": lambda url: bbpe.load(url + "/tokenizer.json"),
    "tables": lambda url: bbpe.load("tok.json", cache=url),
    "vocabularies": lambda url: bbpe.get_encoding("gpt2", folder=url),
    "classic": lambda url: bbpe.BBPETokenizer(url + "/vocab.json", url + "/merges.txt"),
}
FOLDER_COMMANDS = {
    "shard": ["shard", "a.jsonl", "-t", "tok.json", "-o", "{}"],
    "plan": ["shard", "a.jsonl", "-t", "tok.json", "-o", "{}", "--plan-only"],
    "finish": ["shard", "--finish", "-o", "{}"],
    "merge": ["shards", "merge", "shards", "-o", "{}"],
    "show": ["shards", "show", "{}"],
    "verify": ["shards", "verify", "{}"],
    "train": ["train", "a.txt", "--vocab-size", "260", "--quiet", "-o", "{}"],
    "gpt2": ["train", "a.txt", "--vocab-size", "260", "--quiet", "-o", "{}", "--format", "gpt2"],
    "checkpoint": ["count", "a.txt", "-o", "c.parquet", "--checkpoint", "{}"],
    "convert": ["convert", "tok.json", "{}"],
    "inspect": ["inspect", "{}"],
    "demo": ["demo", "-o", "{}/tokenizer.json"],
    "decode": ["decode", "-t", "tok.json", "{}.npy"],
}


@pytest.mark.parametrize("name", FILES)
def test_a_file_is_uploaded_as_a_whole(name: str) -> None:
    FILES[name]("memory://b/x")
    local = Path("x")
    FILES[name](str(local))
    written = [path for path in Path().iterdir() if path.stem == "x"]
    assert written
    assert all(path.read_bytes() == uploaded(path.name) for path in written)


@pytest.mark.parametrize("name", COMMANDS)
def test_commands_upload_what_they_write_to_a_disk(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    for place in ("memory://b/x", "x"):
        assert main([argument.format(place) for argument in COMMANDS[name]]) == 0, capsys.readouterr().err
    written = [path for path in Path().iterdir() if path.stem == "x"]
    # a page of `view` has a nonce for its scripts
    assert written
    assert all(len(path.read_bytes()) == len(uploaded(path.name)) for path in written)


@pytest.mark.parametrize("url", ["gs://b/x", "s3://b/x", "memory://b/x", "closed://b/x"])
@pytest.mark.parametrize("name", FOLDERS)
def test_folders_and_models_are_refused_by_the_name_of_the_url(name: str, url: str) -> None:
    with pytest.raises(ValueError, match=rf"{url}.*: .*; .*(local folder|this machine)"):
        FOLDERS[name](url)
    assert MemoryFileSystem.store == {}


@pytest.mark.parametrize("name", FOLDER_COMMANDS)
def test_commands_refuse_folders_before_they_read(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([argument.format("s3://b/x") for argument in FOLDER_COMMANDS[name]]) == 1
    error = capsys.readouterr().err
    assert (error.count("\n") == 1 and "s3://b/x" in error and "local" in error) or "this machine" in error
    assert not Path("c.parquet").exists()


@pytest.mark.parametrize("name", [name for name in COMMANDS if name != "eval"])
def test_a_url_that_cannot_be_written_to_is_refused_before_work(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    for url, said in (
        ("https://example.org/x", "nothing can be written to https://"),
        ("simplecache::s3://b/x", "nothing can be written to a chain"),
        ("nosuch://b/x", "nosuch"),
    ):
        status = main([argument.format(url) for argument in COMMANDS[name]])
        error = capsys.readouterr().err
        assert status == 1, error
        assert said in error
        assert url in error


def test_what_could_not_be_uploaded_is_kept(folder: Path) -> None:
    with pytest.raises(OSError, match=r"quota is used up; what was to be uploaded is kept as .*: 'closed://b/x\.json'"):
        TOK.save("closed://b/x.json")
    (kept,) = Path("temporary").rglob("upload")
    assert kept.read_bytes() == Path("tok.json").read_bytes()
    kept.unlink()
    kept.parent.rmdir()


@pytest.mark.parametrize("error", [KeyboardInterrupt, ValueError])
def test_nothing_is_uploaded_after_an_error(error: type[BaseException]) -> None:
    def fail() -> None:
        with replacing("memory://b/x") as file:
            file.write(b"half")
            raise error

    with pytest.raises(error):
        fail()
    assert MemoryFileSystem.store == {}


def test_a_folder_at_a_url_is_no_file() -> None:
    write_atomic("memory://b/x/a", b"")
    for url in ("memory://b/x", "memory://b/y/"):
        with pytest.raises(IsADirectoryError):
            write_atomic(url, b"")


def test_counts_are_loaded_from_where_they_were_saved() -> None:
    counts = bbpe.count("a.txt", pattern="gpt2")
    counts.save("memory://b/c.parquet")
    assert list(bbpe.load_counts("memory://b/c.parquet")) == list(counts)


def test_a_local_url_is_a_path(folder: Path) -> None:
    TOK.save(f"file://{folder}/x.json")
    assert bbpe.load(f"file://{folder}/x.json") == TOK
    assert len(bbpe.shard(f"file://{folder}/a.jsonl", f"file://{folder}/out", TOK)) == 9
    assert (folder / "out" / "manifest.json").exists()
    assert main(["convert", "tok.json", f"file://{folder}/y.json"]) == 0
    assert (folder / "y.json").exists()


def test_a_local_url_of_windows_names_a_drive(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("file:///C:/a/b.txt", "file://C:/a/b.txt", "C:/a/b.txt"):
        monkeypatch.setattr(sys, "platform", "win32")
        assert local_path(name, "").as_posix() == path_of(name).as_posix() == "C:/a/b.txt"
    monkeypatch.setattr(sys, "platform", "linux")
    assert path_of_local_url("file:///C:/a").as_posix().endswith("/C:/a")


def test_what_a_path_makes_of_a_url_is_no_folder() -> None:
    for call in (lambda path: TOK.save(path / "x.json"), lambda path: bbpe.shard("a.jsonl", path, TOK), bbpe.load):
        with pytest.raises(ValueError, match=r"s3:[/\\]b.*: expected a path of this machine; if this is a URL"):
            call(Path("s3://b"))


def test_names_of_urls() -> None:
    for name in (
        "s3://b",
        "gs://b/x",
        "file:///x",
        "simplecache::s3://b",
        "zip://a::s3://b",
        "hf://datasets/a",
        "a+b.c-d://",
    ):
        assert is_url(name)
        assert is_remote(name) == (not name.startswith("file"))
    for name in ("C://x", "c:/x", "C:\\x", "a/b://c", "//x", "a:b", "a::b", "", "1a://b", "http:/x"):
        assert not is_url(name)
        assert not is_remote(name)
    assert local_path("C:/x", "") == Path("C:/x")


def test_a_package_that_is_missing_is_named_before_work() -> None:
    code = (
        "import sys; sys.modules['fsspec'] = sys.modules['fsspec.core'] = None; import bbpe\n"
        "bbpe.load_counts('counts.parquet').save('s3://b/c.parquet')"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "ImportError: s3://b/c.parquet: URLs need fsspec; install it with: pip install 'bbpe[fsspec]'" in run.stderr
