"""The search for published files where little is there: files of another size, no cache, no blob id of git."""

from __future__ import annotations

import gzip
import hashlib
from pathlib import Path

import pytest

from bbpe.published import find
from bbpe.published.table import PublishedFile

URL = "https://example.org/a.tiktoken"
DATA = b"YQ== 0\n"


def file(**changes: object) -> PublishedFile:
    given: dict[str, object] = {"name": "a.tiktoken", "size": len(DATA), "sha256": hashlib.sha256(DATA).hexdigest()}
    return PublishedFile(**{**given, **changes})  # type: ignore[arg-type]


@pytest.fixture
def bare(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that has all places."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tmp_path / "tiktoken"))
    for name in ("BBPE_VOCABS", "DATA_GYM_CACHE_DIR", "HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE", "HF_HOME"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


@pytest.mark.parametrize(
    ("name", "data", "is_found"),
    [
        ("a.tiktoken", DATA, True), ("a.tiktoken", DATA + b"x", False), ("a.tiktoken", DATA[:-1], False),
        ("a.tiktoken", DATA[::-1], False), ("a.tiktoken.gz", gzip.compress(DATA, mtime=0), True),
        ("a.tiktoken.gz", gzip.compress(DATA + b"x", mtime=0), False), ("a.tiktoken.gz", DATA, False),
        ("a.tiktoken.gz", gzip.compress(DATA, mtime=0)[:-9], False), ("b.tiktoken", DATA, None),
    ],
)  # fmt: skip
def test_a_file_counts_by_its_content(name: str, data: bytes, is_found: bool | None, bare: Path) -> None:
    """One of another content is named as wrong, however large it is, and one of another name is not looked at."""
    path = bare / "own" / name
    path.parent.mkdir()
    path.write_bytes(data)
    wrong: list[str] = []
    found = find._find(file(), bare / "own", wrong)
    assert (found is not None and (found.path, found.data) == (path, DATA)) is bool(is_found)
    assert wrong == ([str(path)] if is_found is False else [])


def test_the_places_of_a_file_in_their_order(bare: Path) -> None:
    key = hashlib.sha1(URL.encode()).hexdigest()
    repository = bare / "cache/huggingface/hub/models--a--b"
    repository.mkdir(parents=True)
    names = ["a.tiktoken", "a.tiktoken.gz"]
    own = [bare / "own", bare / "cache/bbpe"]
    blobs = repository / "blobs"
    plain, known = file(), file(url=URL, git="0123", packages=("nowhere/a.tiktoken",))
    assert list(find._candidates(plain, bare / "own")) == [
        *(folder / name for folder in own for name in names), blobs / plain.sha256,
    ]  # fmt: skip
    assert list(find._candidates(known, None)) == [
        *(own[1] / name for name in (*names, key)), bare / "tiktoken" / key, blobs / known.sha256, blobs / "0123",
    ]  # fmt: skip
    repository.rename(bare / "gone")
    (bare / "cache/huggingface/hub").rmdir()
    assert list(find._candidates(plain, None)) == [own[1] / name for name in names]


def test_a_file_in_the_cache_of_tiktoken(bare: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = bare / "tiktoken" / hashlib.sha1(URL.encode()).hexdigest()
    assert find.cached_by_tiktoken(URL) is None
    path.mkdir(parents=True)
    assert find.cached_by_tiktoken(URL) is None
    path.rmdir()
    path.write_bytes(DATA)
    assert find.cached_by_tiktoken(URL) == path
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", "")
    monkeypatch.setenv("DATA_GYM_CACHE_DIR", str(bare / "tiktoken"))
    assert find.cached_by_tiktoken(URL) is None  # the first variable counts, also where it is empty
    monkeypatch.delenv("TIKTOKEN_CACHE_DIR")
    assert find.cached_by_tiktoken(URL) == path
    # without either, a folder of the system's temporary one
    monkeypatch.delenv("DATA_GYM_CACHE_DIR")
    monkeypatch.setattr(find, "system_folder", lambda: str(bare / "tmp"))
    assert find.cached_by_tiktoken(URL) is None
    (bare / "tmp").mkdir()
    path.parent.rename(bare / "tmp/data-gym-cache")
    assert find.cached_by_tiktoken(URL) == bare / "tmp/data-gym-cache" / path.name


def test_the_cache_of_the_hub(bare: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert find.hub_cache() == bare / "cache/huggingface/hub"
    for name, value, folder in (
        ("HF_HOME", "/x", "/x/hub"), ("HUGGINGFACE_HUB_CACHE", "/y", "/y"), ("HF_HUB_CACHE", "/z", "/z"),
    ):  # fmt: skip
        monkeypatch.setenv(name, "")
        before = find.hub_cache()
        monkeypatch.setenv(name, value)
        assert find.hub_cache() == Path(folder) != before
