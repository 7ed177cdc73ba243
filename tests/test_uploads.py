"""URLs where a file is written: uploaded whole, kept here when that fails, and named by every error."""

from __future__ import annotations

import errno
import os
import re
import tempfile
from pathlib import Path
from typing import Any, ClassVar

import pytest

from bbpe.errors import CorpusError
from bbpe.files import is_remote, local_path, naming_url, replacing, write_atomic

fsspec = pytest.importorskip("fsspec")


def test_a_path_that_looks_like_a_url(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`Path` makes one slash of two: that is told, unless there is such a folder."""
    monkeypatch.chdir(tmp_path)
    for given in (Path("s3://bucket/a"), "s3:/bucket/a"):
        with pytest.raises(ValueError, match=r"^s3:/bucket/a: .* if this is a URL, it needs two slashes, as a str"):
            local_path(given, "")
    with pytest.raises(ValueError, match=r"^s3://bucket/a: no; use a local folder, and upload it"):
        local_path("s3://bucket/a", "no")
    Path("s3:", "bucket").mkdir(parents=True)
    assert local_path("s3:/bucket/a", "") == Path("s3:/bucket/a")
    assert local_path(f"file://{tmp_path}/a", "") == tmp_path / "a"
    assert [is_remote(path) for path in ("s3://a", "file:///a", "a/b", Path("s3:/a"))] == [True, False, False, False]
    write_atomic(f"file://{tmp_path}/a", b"new")
    assert (tmp_path / "a").read_bytes() == b"new"


class Store(fsspec.AbstractFileSystem):  # type: ignore[misc]  # fsspec has no types
    """Keeps what is uploaded; what it says of a file, and whether it takes one, is told by the test."""

    protocol = "store"
    cachable = False
    kept: ClassVar[dict[str, bytes]] = {}
    info_error: ClassVar[Exception | None] = None
    put_error: ClassVar[BaseException | None] = None
    said: ClassVar[int | None] = -1

    def info(self, path: str, **_: Any) -> dict[str, Any]:
        name = self._strip_protocol(path)
        if name in self.kept:
            size = len(self.kept[name]) if self.said == -1 else self.said
            return {"name": name, "size": size, "type": "file"}
        if self.info_error is not None:
            raise self.info_error
        raise FileNotFoundError(path)

    def put_file(self, local: str, path: str, **_: Any) -> None:
        if self.put_error is not None:
            raise self.put_error
        self.kept[self._strip_protocol(path)] = Path(local).read_bytes()


@pytest.fixture
def remote(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder for temporary files."""
    fsspec.register_implementation("store", Store, clobber=True)
    Store.kept.clear()
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


def test_an_upload_leaves_nothing_here(remote: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_atomic("store://bucket/a", b"new")
    assert Store.kept == {"bucket/a": b"new"}
    assert list(remote.iterdir()) == []
    # who may write need not be allowed to ask, and a server need not know the size
    for error in (PermissionError(errno.EACCES, "no"), FileNotFoundError("no")):
        monkeypatch.setattr(Store, "info_error", error)
        write_atomic(f"store://bucket/{type(error).__name__}", b"new")
    monkeypatch.setattr(Store, "said", None)
    write_atomic("store://bucket/b", b"new")
    assert len(Store.kept) == 4

    def stopped() -> None:
        with replacing("store://bucket/c") as file:
            file.write(b"half")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        stopped()
    assert len(Store.kept) == 4
    assert list(remote.iterdir()) == []


@pytest.mark.parametrize("error", [OSError(errno.ECONNRESET, "reset"), RuntimeError("no key"), None])
def test_an_upload_that_fails_keeps_the_bytes_here(
    error: Exception | None, remote: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Hours of work are in them."""
    monkeypatch.setattr(Store, "put_error", error)
    monkeypatch.setattr(Store, "said", 2)
    with pytest.raises(OSError, match="; what was to be uploaded is kept as ") as caught:
        write_atomic("store://bucket/a", b"new")
    (kept,) = remote.rglob("upload")
    assert kept.read_bytes() == b"new"
    assert str(kept) in str(caught.value)
    assert caught.value.filename == "store://bucket/a"
    assert caught.value.errno == (errno.ECONNRESET if isinstance(error, OSError) else errno.EIO)
    assert {None: "2 of 3 bytes"}.get(error, str(error.args[-1]) if error else "") in str(caught.value)


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("http://a/b", "nothing can be written to http://"),
        ("zip://a", "nothing can be written to zip://"),
        ("simplecache::store://bucket/a", "nothing can be written to a chain of URLs"),
    ],
)
def test_where_nothing_can_be_uploaded_to(url: str, said: str, remote: Path) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(url)}: {said}; write to a local file, and upload it"):
        write_atomic(url, b"new")
    with pytest.raises(IsADirectoryError):
        write_atomic("store://bucket/", b"new")
    assert Store.kept == {}


@pytest.mark.parametrize(
    ("error", "kind", "number", "said"),
    [
        (FileNotFoundError("bucket/a"), FileNotFoundError, errno.ENOENT, os.strerror(errno.ENOENT)),
        (PermissionError(errno.EACCES, "no key"), PermissionError, errno.EACCES, "no key"),
        (RuntimeError("connection\n reset"), OSError, errno.EIO, "connection reset"),
        (TimeoutError(), OSError, errno.EIO, "TimeoutError"),
        (MemoryError("full"), MemoryError, None, "full"),
        (ImportError("no s3fs"), ImportError, None, "no s3fs"),
        (CorpusError("no size"), CorpusError, None, "no size"),
    ],
)
def test_errors_of_servers_have_a_number_and_name_the_url(
    error: Exception, kind: type[Exception], number: int | None, said: str
) -> None:
    """So that they are not taken for damaged files; those that are about something else stay as they are."""
    with pytest.raises(kind, match=said) as caught, naming_url("store://bucket/a"):
        raise error
    assert (caught.value is error) is (number is None)
    if isinstance(caught.value, OSError):
        assert (caught.value.errno, caught.value.filename) == (number, "store://bucket/a")
