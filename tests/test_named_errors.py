"""Errors of systems and servers get the name of the file or the URL, a number, and one line of text."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import Any

import pytest

from bbpe import threads
from bbpe.errors import CorpusError
from bbpe.files import check_upload, file_system, naming_unnamed, naming_url

URL = "store://bucket/a"


class LateError(Exception):
    """An error of a package, with a number."""

    errno = errno.ETIMEDOUT


SERVERS: list[tuple[Exception, int, str]] = [
    (FileNotFoundError("bucket/a"), errno.ENOENT, os.strerror(errno.ENOENT)),
    (OSError(errno.EACCES, "Forbidden"), errno.EACCES, "Forbidden"),
    (OSError("no number"), errno.EIO, "no number"),
    (RuntimeError("some\n  lines of\ttext "), errno.EIO, "some lines of text"),
    (RuntimeError(), errno.EIO, "RuntimeError"),
    (LateError("too late"), errno.ETIMEDOUT, "too late"),
    (KeyError("a"), errno.EIO, "'a'"),
]


@pytest.mark.parametrize(("error", "number", "text"), SERVERS)
def test_errors_of_servers_name_the_url(error: Exception, number: int, text: str) -> None:
    with pytest.raises(OSError, match=URL) as caught, naming_url(URL):
        raise error
    assert (caught.value.errno, caught.value.strerror, caught.value.filename) == (number, text, URL)
    assert caught.value.__cause__ is error


@pytest.mark.parametrize("error", [CorpusError("a"), ImportError("a"), MemoryError(), KeyboardInterrupt()])
def test_other_errors_stay_what_they_are(error: BaseException) -> None:
    with pytest.raises(type(error)) as caught, naming_url(URL):
        raise error
    assert caught.value is error


@pytest.mark.parametrize(
    ("error", "name"),
    [
        (OSError(errno.ENOSPC, "full"), "/b/file"), (OSError(errno.ENOSPC, "full", "/b/.file.tmp"), "/b/file"),
        (OSError(errno.ENOSPC, "full", "/c"), "/c"), (OSError("without a number"), None),
    ],
)  # fmt: skip
def test_errors_that_name_nothing_name_the_file(error: OSError, name: str | None) -> None:
    with pytest.raises(OSError, match=r"full|without") as caught, naming_unnamed("/b/file", Path("/b/.file.tmp")):
        raise error
    assert caught.value.filename == name
    assert (caught.value is error) == (name != "/b/file")


def test_packages_that_a_protocol_needs_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    core = pytest.importorskip("fsspec.core")

    def missing(url: str) -> Any:
        raise ImportError("Install s3fs\n  to access S3")

    with pytest.raises(CorpusError, match=r"^nosuch://b/x: Protocol not known: nosuch"):
        file_system("nosuch://b/x")
    monkeypatch.setattr(core, "url_to_fs", missing)
    with pytest.raises(ImportError, match=r"^s3://b/x: Install s3fs to access S3$"):
        file_system("s3://b/x")


class Store:
    """A server that says of a path what a test says."""

    def __init__(self, told: Any) -> None:
        self.told = told

    def info(self, path: str) -> Any:
        if isinstance(self.told, Exception):
            raise self.told
        return {"type": self.told}


@pytest.mark.parametrize("told", ["file", FileNotFoundError("b/x"), PermissionError(errno.EACCES, "no")])
def test_a_file_may_be_uploaded_where_nobody_may_read(told: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    store = Store(told)
    monkeypatch.setattr("bbpe.files.file_system", lambda url: (store, "b/x"))
    assert check_upload("s3://b/x") == (store, "b/x")


@pytest.mark.parametrize(("url", "told"), [("s3://b/x", "directory"), ("s3://b/x/", "file")])
def test_a_folder_is_no_place_for_a_file(url: str, told: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bbpe.files.file_system", lambda url: (Store(told), "b/x"))
    with pytest.raises(IsADirectoryError, match="this is a folder; expected the URL of a file") as caught:
        check_upload(url)
    assert (caught.value.errno, caught.value.filename) == (errno.EISDIR, url)


def test_a_server_that_fails_is_no_place_for_a_file(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bbpe.files.file_system", lambda url: (Store(RuntimeError("down")), "b/x"))
    with pytest.raises(OSError, match="down") as caught:
        check_upload("s3://b/x")
    assert (caught.value.errno, caught.value.filename) == (errno.EIO, "s3://b/x")


@pytest.mark.parametrize(
    "url", ["http://a/b", "https://a/b", "data://a", "git://a/b", "github://a/b", "zip://a", "tar://a", "a::s3://b"]
)
def test_what_cannot_be_written_to_is_said_without_asking(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bbpe.files.file_system", lambda url: pytest.fail("asked"))
    kind = "a chain of URLs" if "::" in url else f"{url.partition('://')[0]}://"
    with pytest.raises(ValueError, match=f"^{url}: nothing can be written to {kind}; write to a local file, and uploa"):
        check_upload(url)


@pytest.mark.parametrize(
    ("processors", "cores", "count"), [({0, 3}, 8, 2), (set(), 8, 8), (set(), None, 1), ({5}, None, 1)]
)
def test_threads_are_one_for_each_processor_of_the_process(
    processors: set[int], cores: int | None, count: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(threads, "_processors", lambda: processors)
    monkeypatch.setattr(os, "cpu_count", lambda: cores)
    assert (threads.thread_count(None), threads.thread_count(7), threads.thread_count(1 << 16)) == (count, 7, 1 << 16)
    for wrong in (0, (1 << 16) + 1):
        for call in (threads.thread_count, threads.check_threads):
            with pytest.raises(ValueError, match=f"threads is {wrong}; expected 1 to 65536"):
                call(wrong)
    threads.check_threads(None)
