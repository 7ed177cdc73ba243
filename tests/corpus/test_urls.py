"""URLs: what they stand for, that they are read as files are, and in ranges; by file systems in memory."""

from __future__ import annotations

import errno
import gzip
import io
import json
import pickle
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

import pytest

import bbpe
from bbpe.corpus.files import corpus_paths
from bbpe.corpus.urls import Url, is_url, path_of
from bbpe.counting.handout import HandOut
from bbpe.shards.run import Work, run_parts, totals_of_part

fsspec = pytest.importorskip("fsspec")
from fsspec.spec import AbstractFileSystem  # noqa: E402 - it may be absent

TEXTS = ["low", "slow lower\n", "\u00e9\u6f22\u5b57", "lowest " * 30, "x"] * 40
LINES = "".join(json.dumps({"text": text}) + "\n" for text in TEXTS).encode()
TOK = bbpe.train_from_iterator(TEXTS, 270, special_tokens=["</s>"])


class Server(AbstractFileSystem):  # type: ignore[misc]  # fsspec has no types
    """Files of a dictionary, with a version each, which are read in ranges; the next reads may fail."""

    protocol = "server"
    cachable = False
    files: ClassVar[dict[str, bytes]] = {}
    ranges: ClassVar[list[tuple[str, int, int]]] = []
    failures: ClassVar[list[Exception]] = []
    #: How many bytes the next answers lack.
    missing: ClassVar[list[int]] = []
    denied: ClassVar[str] = ""

    def ls(self, path: str, detail: bool = True, **_: Any) -> Any:
        below = self._strip_protocol(path)
        found = [self.info(name) for name in self.files if name == below or name.startswith(below + "/")]
        return found if detail else [info["name"] for info in found]

    def info(self, path: str, **_: Any) -> dict[str, Any]:
        name = self._strip_protocol(path)
        if name == self.denied:
            raise PermissionError(13, "no key")
        if name in self.files:
            data = self.files[name]
            return {"name": name, "size": len(data), "type": "file", "ETag": f"{hash(data):x}"}
        if any(other.startswith(name + "/") for other in self.files):
            return {"name": name, "size": 0, "type": "directory"}
        raise FileNotFoundError(path)

    def find(self, path: str, maxdepth: Any = None, withdirs: bool = False, detail: bool = False, **_: Any) -> Any:
        found = {info["name"]: info for info in self.ls(path)}
        return found if detail else list(found)

    def cat_file(self, path: str, start: int, end: int, **_: Any) -> bytes:
        Server.ranges.append((path, start, end))
        if Server.failures:
            raise Server.failures.pop()
        return Server.files[path][start : end - (Server.missing.pop() if Server.missing else 0)]


class Keeping(Server):
    """Keeps what it has once said of a file, until it is told not to."""

    protocol = "keeping"
    kept: ClassVar[dict[str, dict[str, Any]]] = {}

    def info(self, path: str, **options: Any) -> dict[str, Any]:
        name = self._strip_protocol(path)
        if name not in self.kept:
            self.kept[name] = super().info(path, **options)
        return self.kept[name]

    def invalidate_cache(self, path: str | None = None) -> None:
        for name in [name for name in self.kept if path is None or name.startswith(path.strip("/"))]:
            del self.kept[name]


class Quoting(Server):
    """Lists versions bare, and quotes them in an answer about one file, as servers do by HTTP."""

    protocol = "quoting"

    def ls(self, path: str, detail: bool = True, **_: Any) -> Any:
        below = self._strip_protocol(path)
        found = [super(Quoting, self).info(name) for name in self.files if name.startswith(below)]
        return found if detail else [info["name"] for info in found]

    def info(self, path: str, **options: Any) -> dict[str, Any]:
        found = super().info(path, **options)
        return {**found, "ETag": f'"{found["ETag"]}"'} if "ETag" in found else found


class Whole(Server):
    """Names files by their whole URLs, as servers do by HTTP."""

    protocol = "whole"

    @classmethod
    def _strip_protocol(cls, path: str) -> str:
        return path.rstrip("/")


for kind in (Server, Keeping, Quoting, Whole):
    fsspec.register_implementation(kind.protocol, kind, clobber=True)


@pytest.fixture(autouse=True)
def server() -> dict[str, bytes]:
    for known in (Server.files, Server.ranges, Server.failures, Server.missing, Keeping.kept):
        known.clear()
    return Server.files


def packed(suffix: str) -> bytes:
    if suffix == ".parquet":
        pa, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
        sink = io.BytesIO()
        parquet.write_table(pa.table({"text": TEXTS}), sink, row_group_size=20)
        return sink.getvalue()
    if suffix == ".jsonl.zst":
        found: bytes = pytest.importorskip("zstandard").ZstdCompressor().compress(LINES)
        return found
    return {".txt": "".join(TEXTS).encode(), ".jsonl": LINES, ".jsonl.gz": gzip.compress(LINES)}[suffix]


def ids_of(done: Any) -> list[list[int]]:
    return [ids.tolist() for ids in done]


OTHERS = [pytest.param(suffix, marks=pytest.mark.full) for suffix in (".txt", ".jsonl.gz", ".jsonl.zst")]


@pytest.mark.parametrize("suffix", [".jsonl", ".parquet", *OTHERS])
def test_all_that_reads_files_reads_urls(suffix: str, tmp_path: Path, server: dict[str, bytes]) -> None:
    local, url = tmp_path / f"a{suffix}", f"server://bucket/a{suffix}"
    server[f"bucket/a{suffix}"] = packed(suffix)
    local.write_bytes(packed(suffix))
    right = list(bbpe.count(local, pattern="gpt2"))
    assert list(bbpe.count(url, pattern="gpt2")) == list(bbpe.count(url, pattern="gpt2", threads=2)) == right
    with ThreadPoolExecutor(2) as executor:
        assert list(bbpe.count(url, pattern="gpt2", executor=executor, checkpoint=tmp_path / "counts")) == right
    plan = bbpe.plan_count(url, tmp_path / "plan", pattern="gpt2", part_size=900)
    for number in range(len(plan)):
        bbpe.count_part(plan, number)
    assert list(bbpe.sum_counts(plan.folder)) == right
    assert bbpe.train(url, 265) == bbpe.train(local, 265)
    assert ids_of(TOK.encode_files(url)) == ids_of(TOK.encode_files(local))
    assert bbpe.count_tokens(url, TOK) == bbpe.count_tokens(local, TOK)
    done = bbpe.shard(url, tmp_path / "out", TOK, eos="</s>", part_size=900)
    assert ids_of(done) == ids_of(bbpe.shard(local, tmp_path / "right", TOK, eos="</s>"))
    assert len(done.plan) > 2 or suffix in (".txt", ".jsonl.gz", ".jsonl.zst")
    assert bbpe.verify_shards(tmp_path / "out", TOK, sample=1.0) == []
    assert "server://bucket/a" in (tmp_path / "out" / "plan.json").read_text()


def test_what_urls_stand_for(tmp_path: Path, server: dict[str, bytes]) -> None:
    for name in ("b.txt", "a.txt", "deep/c.jsonl", ".hidden/d.txt", ".e.txt", "f.bin"):
        server[f"bucket/{name}"] = b"{}"
    listed = corpus_paths("server://bucket")
    urls = [f"server://bucket/{name}" for name in ("a.txt", "b.txt", "deep/c.jsonl", "f.bin")]
    assert list(map(str, listed)) == urls
    assert list(map(str, corpus_paths(["server://bucket/a.txt", "server://bucket/*.txt"]))) == [urls[0], *urls[:2]]
    for name in ("_SUCCESS", "_metadata", "deep/_c.jsonl", "README.md", "dataset_infos.json"):
        server[f"bucket/{name}"] = b"{}"
        assert list(map(str, corpus_paths("server://bucket"))) == urls
        assert list(map(str, corpus_paths(f"server://bucket/{name}"))) == [f"server://bucket/{name}"]
    named = ["server://bucket/_SUCCESS", "server://bucket/_metadata"]
    assert list(map(str, corpus_paths("server://bucket/_*"))) == named
    assert list(map(str, corpus_paths("server://bucket/**/*.jsonl"))) == urls[2:3]
    assert pickle.loads(pickle.dumps(listed[0])) == Url("server://bucket/a.txt") == listed[0]
    with pytest.raises(FileNotFoundError, match="server://bucket/none"):
        corpus_paths("server://bucket/none.txt")
    Server.denied = "bucket/secret.txt"
    with pytest.raises(PermissionError, match="no key"):
        corpus_paths("server://bucket/secret.txt")
    assert Url("https://host/a.jsonl.gz?download=1").suffixes == [".jsonl", ".gz"]
    with pytest.raises(bbpe.CorpusError, match=r"'server://bucket/\*.csv' has no files"):
        corpus_paths("server://bucket/*.csv")
    with pytest.raises(bbpe.CorpusError, match=r"server://bucket/f.bin: a .bin file is numbers"):
        bbpe.count("server://bucket/f.bin", pattern="gpt2")
    with pytest.raises(bbpe.CorpusError, match="nothing://a: Protocol not known"):
        corpus_paths("nothing://a")
    (tmp_path / "a b.txt").write_text("low")
    assert corpus_paths(f"file://{tmp_path}") == corpus_paths(f"file://{tmp_path}/*.txt") == [tmp_path / "a b.txt"]
    assert path_of("file:///a%20b") == Path("/a%20b")
    assert [is_url(name) for name in ("C://a", "s3://a", "a/s3://b", "gs://b::c")] == [False, True, False, True]


@pytest.mark.parametrize("name", ["", "/a.txt", "/*.txt", "/?.txt"])
def test_files_that_are_named_by_their_urls(name: str, server: dict[str, bytes]) -> None:
    server["whole://host/a.txt"] = b"see my eyes"
    (found,) = corpus_paths(f"whole://host{name}")
    assert (str(found), found.stat().st_size) == ("whole://host/a.txt", 11)
    assert list(bbpe.count(f"whole://host{name}", pattern="gpt2")) == [(b"see", 1), (b" my", 1), (b" eyes", 1)]


def test_without_fsspec_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "fsspec.core", None)
    with pytest.raises(ImportError, match=r"server://a: URLs need fsspec; .* pip install 'bbpe\[fsspec\]'"):
        corpus_paths("server://a")


def test_memory_of_fsspec(tmp_path: Path) -> None:
    with fsspec.open("memory://corpus/a.jsonl", "wb") as file:
        file.write(LINES)
    done = bbpe.shard("memory://corpus", tmp_path / "out", TOK, eos="</s>", part_size=900, threads=2)
    assert ids_of(done) == [[*TOK.encode(text), TOK.token_to_id("</s>")] for text in TEXTS]
    plan = done.plan
    (plan.folder / "part-00001.json").unlink()
    with fsspec.open("memory://corpus/a.jsonl", "wb") as file:
        file.write(LINES)
    with pytest.raises(bbpe.CorpusError, match=r"memory:/.*a\.jsonl: the file was written to since the plan was made"):
        bbpe.shard_part(plan, 1)


def test_a_part_reads_its_range(tmp_path: Path, server: dict[str, bytes]) -> None:
    line = json.dumps({"text": "low lower slow " * 60}).encode() + b"\n"
    server["bucket/a.jsonl"] = line * 16_000
    size = len(server["bucket/a.jsonl"])
    plan = bbpe.plan_shards("server://bucket/a.jsonl", tmp_path / "out", TOK, eos="</s>", part_size=size // 3)
    Server.ranges.clear()
    bbpe.shard_part(plan, 1)
    (source,) = plan.parts[1]
    assert source.start > 3_000_000
    assert min(start for _, start, _ in Server.ranges) >= source.start - (1 << 20)
    assert max(end for _, _, end in Server.ranges) <= (source.stop or 0) + (4 << 20)


@pytest.mark.parametrize("suffix", [".jsonl", ".jsonl.gz", ".parquet"])
def test_a_server_that_fails_is_asked_again(suffix: str, tmp_path: Path, server: dict[str, bytes]) -> None:
    """An error of a server, of any type, is no damaged file: another attempt may end well."""
    server[f"bucket/a{suffix}"] = packed(suffix)
    url = f"server://bucket/a{suffix}"
    plan = bbpe.plan_shards(url, tmp_path / "out", TOK, eos="</s>", part_size=900)
    Server.failures.append(RuntimeError("connection reset"))
    with pytest.raises(OSError, match="connection reset") as caught:
        bbpe.shard_part(plan, 0)
    assert caught.value.filename == url
    Server.failures += [RuntimeError("connection reset"), OSError("timed out"), TimeoutError()]
    with ThreadPoolExecutor(1) as executor:
        parts = HandOut(executor, attempts=4).results(partial(totals_of_part, plan), range(len(plan)))
        assert len(list(parts)) == len(plan)
    done = bbpe.finish_shards(plan)
    assert not Server.failures
    assert ids_of(done) == [[*TOK.encode(text), TOK.token_to_id("</s>")] for text in TEXTS]


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("suffix", [".jsonl", ".parquet"])
def test_a_server_that_fails_is_asked_again_without_an_executor(
    suffix: str, threads: int, tmp_path: Path, server: dict[str, bytes]
) -> None:
    """As often as the caller says; what is read again is counted once."""
    server[f"bucket/a{suffix}"] = packed(suffix)
    seen = []
    plan = bbpe.plan_shards(f"server://bucket/a{suffix}", tmp_path / "out", TOK, part_size=900)
    for attempts in (1, 3):
        Server.failures[:] = [OSError("503")] * attempts
        with pytest.raises(OSError, match="503") as caught:
            list(run_parts(plan, [0], threads=threads, attempts=attempts, report=lambda _: None))
        notes = [f"part 0 failed {attempts} times"] if attempts > 1 else []
        assert (Server.failures, getattr(caught.value, "__notes__", [])) == ([], notes)
    Server.failures[:] = [OSError("503")] * 3
    done = Work(threads, None, None, 4, lambda progress: seen.append((progress.done, progress.total))).done(plan)
    assert not Server.failures
    assert ids_of(done) == [TOK.encode(text) for text in TEXTS]
    assert seen[-1] == (plan.size, plan.size)
    assert max(read for read, _ in seen) == plan.size


@pytest.mark.parametrize("error", [
    bbpe.CorpusError("damaged"), OSError(errno.ENOSPC, "the disk is full", "out/part-00000.bin"), OSError("no name"),
])  # fmt: skip
def test_an_error_that_another_attempt_does_not_change(
    error: Exception, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a.txt").write_text("low")
    calls = []

    def fails(*_: Any, **__: Any) -> Any:
        calls.append(1)
        raise error

    monkeypatch.setattr("bbpe.shards.run.write_part", fails)
    for threads in (1, 2):
        with pytest.raises(type(error)):
            bbpe.shard(tmp_path / "a.txt", tmp_path / "out", TOK, threads=threads, attempts=5)
    assert len(calls) == 2


def test_options_of_executors_need_one(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("low")
    shards = bbpe.shard(tmp_path / "a.txt", tmp_path / "texts", TOK)
    for call in (
        lambda **more: bbpe.shard(tmp_path / "a.txt", tmp_path / "out", TOK, **more),
        lambda **more: bbpe.convert_shards(shards, tmp_path / "out", format="parquet", **more),
        lambda **more: bbpe.retokenize(shards, tmp_path / "out", TOK, special={"</s>": "</s>"}, **more),
        bbpe.Counting,
        lambda **more: bbpe.count(tmp_path / "a.txt", pattern="gpt2", **more),
        lambda **more: bbpe.count_from_iterator(["low"], pattern="gpt2", **more),
    ):
        with pytest.raises(ValueError, match=r"^(Counting\.)?in_flight is 2; expected it only with an executor$"):
            call(in_flight=2)
    with pytest.raises(ValueError, match=r"^Counting\.attempts is 5; expected it only with an executor$"):
        bbpe.Counting(attempts=5)
    with ThreadPoolExecutor(1) as executor:
        bbpe.count(tmp_path / "a.txt", pattern="gpt2", executor=executor, in_flight=2, attempts=5)


@pytest.mark.parametrize("suffix", [".txt", ".jsonl", ".jsonl.gz", ".parquet"])
def test_an_answer_that_is_too_short_is_no_end_of_the_file(
    suffix: str, tmp_path: Path, server: dict[str, bytes]
) -> None:
    """It would be a shorter text, whose counts and ids look right; asked again, the server may send all of it."""
    server[f"bucket/a{suffix}"] = packed(suffix)
    url = f"server://bucket/a{suffix}"
    right, ids = list(bbpe.count(url, pattern="gpt2")), ids_of(TOK.encode_files(url))
    plan = bbpe.plan_shards(url, tmp_path / "out", TOK, eos="</s>")
    for work in (
        lambda: bbpe.count(url, pattern="gpt2"),
        lambda: list(TOK.encode_files(url)),
        lambda: bbpe.shard_part(plan, 0),
    ):
        for missing in (1, 20):
            Server.missing.append(missing)
            with pytest.raises(OSError, match=r"the server sent \d+ bytes from byte \d+; expected \d+") as caught:
                work()
            assert (caught.value.errno, caught.value.filename) == (errno.EIO, url)
            assert Server.missing == []
    assert list(bbpe.count(url, pattern="gpt2")) == right
    assert ids_of(TOK.encode_files(url)) == ids
    if suffix == ".parquet":  # whose columns this process looks at before others count
        return
    Server.missing.append(1)
    with ThreadPoolExecutor(1) as executor:
        assert list(bbpe.count(url, pattern="gpt2", executor=executor)) == right
    assert Server.missing == []


def test_a_listing_that_is_kept_is_not_asked(tmp_path: Path, server: dict[str, bytes]) -> None:
    """What changed since a listing is refused; the listing would be read up to the old end."""
    url = "keeping://bucket/a.jsonl"
    server["bucket/a.jsonl"] = LINES
    assert Url(url).stat_now() == Url(url).stat_now()
    plan = bbpe.plan_shards("keeping://bucket/*.jsonl", tmp_path / "out", TOK)
    server["bucket/a.jsonl"] = LINES + b'{"text": "low"}\n'
    assert Url(url).stat_now().st_size == len(LINES) + 16
    Keeping.kept["bucket/a.jsonl"] = {"name": "bucket/a.jsonl", "size": len(LINES), "type": "file", "ETag": "old"}
    sizes = f"the file has {len(LINES) + 16:,} bytes, and had {len(LINES):,} since"
    with pytest.raises(bbpe.CorpusError, match=sizes):
        bbpe.shard_part(plan, 0)


def test_a_version_is_the_same_with_quotes_and_without(tmp_path: Path, server: dict[str, bytes]) -> None:
    server["bucket/a.jsonl"] = LINES
    (listed,) = corpus_paths("quoting://bucket/*.jsonl")
    assert isinstance(listed, Url)
    assert listed.listed == listed.stat_now()
    plan = bbpe.plan_shards("quoting://bucket/*.jsonl", tmp_path / "out", TOK)
    assert bbpe.shard_part(plan, 0).documents == len(TEXTS)
    server["bucket/a.jsonl"] = LINES[:-3] + b'z"}'
    assert listed.listed != listed.stat_now()


def test_a_pattern_does_not_stand_for_folders(
    server: dict[str, bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("a.txt", "b.txt/part-0", "c/d.txt"):
        server[f"bucket/{name}"] = b"low"
    assert list(map(str, corpus_paths("server://bucket/*"))) == ["server://bucket/a.txt"]
    assert list(map(str, corpus_paths("server://bucket/**"))) == [
        f"server://bucket/{name}" for name in ("a.txt", "b.txt/part-0", "c/d.txt")
    ]
    # a system may list folders among what matches
    names = ("bucket/a.txt", "bucket/b.txt", "bucket/c")
    monkeypatch.setattr(Server, "glob", lambda self, path, detail: {name: self.info(name) for name in names})
    assert list(map(str, corpus_paths("server://bucket/*"))) == ["server://bucket/a.txt"]


@pytest.mark.parametrize("buffering", [0, -1])
def test_a_file_of_a_url_is_read_as_any_other(buffering: int, server: dict[str, bytes]) -> None:
    """From any place on, wherever that is told from."""
    data = server["bucket/a.bin"] = bytes(range(256)) * 30
    with Url("server://bucket/a.bin").open(buffering=buffering) as file:
        peer = io.BytesIO(data)
        for offset, whence, size in (
            (5, 0, 10), (7, 1, 300), (-20, 1, 5), (0, 1, 1), (-50, 2, 100), (0, 2, 9), (9, 2, 9), (-7680, 2, 3),
            (1, 1, 7677),
        ):  # fmt: skip
            assert file.seek(offset, whence) == peer.seek(offset, whence) == file.tell()
            assert file.read(size) == peer.read(size), (offset, whence)
            assert file.tell() == peer.tell()
        assert (file.readable(), file.seekable()) == (True, True)


def test_ranges_grow_while_reading_goes_on_and_begin_small_elsewhere(server: dict[str, bytes]) -> None:
    """Whoever looks at the end of a large file does not load megabytes for it."""
    megabyte = 1 << 20
    server["bucket/a.bin"] = bytes(40 * megabyte)
    with Url("server://bucket/a.bin").open() as file:
        for _ in range(20):
            assert len(file.read(megabyte)) == megabyte
        file.seek(-10, io.SEEK_END)
        assert len(file.read()) == 10
        file.seek(5 * megabyte)
        assert len(file.read(100)) == 100
    sizes = [end - start for _, start, end in Server.ranges]
    assert sizes[0] <= 2 * megabyte
    assert max(sizes) == 4 * megabyte
    assert sizes[-2:] == [10, megabyte]
    starts = [start for _, start, _ in Server.ranges]
    assert starts[:-2] == [sum(sizes[:number]) for number in range(len(sizes) - 2)], "no byte is asked for twice"
