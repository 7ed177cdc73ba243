"""Whole files that are read: no more than allowed, no pipes, and noted with what they held."""

from __future__ import annotations

import hashlib
import io
import os
import sys
from pathlib import Path

import pytest
from systems import system_has

import bbpe
from bbpe import files
from bbpe.files import ReadFile, digest_of, is_covered, noting_reads, open_file, read_bytes
from bbpe.published import find


def test_exactly_as_many_bytes_as_are_allowed_are_read(tmp_path: Path) -> None:
    path = tmp_path / "a"
    for data in (b"", b"123", bytes(3 << 20)):
        path.write_bytes(data)
        for given in (path, str(path), ReadFile(path, data)):
            assert read_bytes(given, most=len(data)) == read_bytes(given, most=len(data) + 1) == data
            if data:
                with pytest.raises(bbpe.VocabularyError, match=f"{len(data)} bytes or more; expected") as caught:
                    read_bytes(given, most=len(data) - 1)
                assert str(path) in str(caught.value)


@pytest.mark.skipif(not system_has("/proc/self/status"), reason="reads /proc")
def test_a_file_whose_size_is_not_told_is_read_whole() -> None:
    assert b"VmRSS" in read_bytes("/proc/self/status", most=1 << 20)
    with pytest.raises(bbpe.VocabularyError, match="expected at most 10"):
        read_bytes("/proc/self/status", most=10)


def test_a_pipe_is_refused_and_closed(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "a")
    before = len(os.listdir("/dev/fd"))  # noqa: PTH208 - the folder of this very process
    for read in (lambda path: read_bytes(path, most=9), digest_of, open_file):
        with pytest.raises(bbpe.VocabularyError, match="a pipe or a device") as caught:
            read(tmp_path / "a")
        assert str(tmp_path / "a") in str(caught.value)
    del caught
    assert len(os.listdir("/dev/fd")) == before  # noqa: PTH208


def test_what_is_read_is_noted_with_its_content(tmp_path: Path) -> None:
    """Of a file that was only opened by what it was then, of one that was read or hashed by its bytes."""
    path = tmp_path / "a"
    path.write_bytes(b"old")
    with noting_reads() as hashed:
        digest_of(path)
    with noting_reads() as read:
        read_bytes(path, most=9)
    assert is_covered(read, hashed)
    assert is_covered({}, hashed)
    assert not is_covered(read, {})
    status = path.stat()
    path.write_bytes(b"new")
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    with noting_reads() as later:
        read_bytes(path, most=9)
    assert not is_covered(later, hashed)
    with noting_reads() as both:
        read_bytes(path, most=9)
        path.write_bytes(b"another")
        digest_of(path)
    assert not is_covered(both, later), "all that was read counts"
    with noting_reads() as digests:
        digest_of(path)
    path.write_bytes(b"newer")
    with noting_reads() as other:
        digest_of(path)
    (key,) = digests
    assert not {fact for fact in digests[key] if isinstance(fact, bytes)} & other[key]


def test_facts_are_of_what_was_read_within_the_context(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"abc")
    status, digest = path.stat(), hashlib.sha256(b"abc").digest()
    identity = (status.st_dev, status.st_ino, 3, status.st_mtime_ns, status.st_ctime_ns)
    with noting_reads() as outer:
        with noting_reads() as opened:
            open_file(path).close()
        with noting_reads() as read:
            assert read_bytes(path, most=3) == b"abc"
        with noting_reads() as hashed:
            assert digest_of(path) == digest
        with noting_reads() as held:
            read_bytes(ReadFile(path, b"abc"), most=3)
        assert outer == {}
        open_file(path).close()
    read_bytes(path, most=3)
    name = os.path.realpath(path)
    assert (opened, outer, read, hashed) == (*[{name: {identity}}] * 2, *[{name: {identity, digest}}] * 2)
    assert held == {}  # nothing was read
    assert "abc" not in repr(ReadFile(path, b"abc"))


def test_no_more_is_read_than_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that has more than its size says is read block by block, up to a byte more than is allowed."""
    monkeypatch.setattr(files, "_BLOCK", 4)

    class Counted(io.BytesIO):
        asked: list[int]

        def read(self, size: int | None = -1) -> bytes:
            self.asked.append(size or 0)
            return super().read(size)

    for size, most, asked, length in (
        (10, 10, [11], 10), (3, 10, [4, 4, 3, 1], 10), (3, 8, [4, 4, 1], 9), (0, 9, [1, 4, 4, 1], 10),
        (3, 4, [4, 1], 5),
    ):  # fmt: skip
        file = Counted(b"0123456789")
        file.asked = []
        assert files._read(file, size, most) == b"0123456789"[:length]
        assert file.asked == asked


def test_the_folder_of_caches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    for given, folder in (("/x/cache", "/x/cache"), ("", f"{tmp_path}/home/.cache"), (None, f"{tmp_path}/home/.cache")):
        if given is None:
            monkeypatch.delenv("XDG_CACHE_HOME")
        else:
            monkeypatch.setenv("XDG_CACHE_HOME", given)
        assert files.user_cache() == Path(folder)


@pytest.mark.parametrize(
    ("system", "local", "folder"),
    [
        ("win32", "C:/Users/me/AppData/Local", "C:/Users/me/AppData/Local"), ("win32", "", "{home}/AppData/Local"),
        ("darwin", "C:/other", "{home}/Library/Caches"), ("linux", "C:/other", "{home}/.cache"),
        ("freebsd", "", "{home}/.cache"),
    ],
)  # fmt: skip
def test_each_system_has_its_folder_of_caches(
    system: str, local: str, folder: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in {"HOME": str(tmp_path), "LOCALAPPDATA": local, "XDG_CACHE_HOME": "", "HF_HOME": ""}.items():
        monkeypatch.setenv(name, value)
    for name in ("HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(sys, "platform", system)
    assert files.user_cache() == Path(folder.format(home=tmp_path))
    # the one of huggingface_hub is the same everywhere
    assert find.hub_cache() == tmp_path / ".cache" / "huggingface" / "hub"
    monkeypatch.setenv("XDG_CACHE_HOME", "/x")
    assert files.user_cache() == Path("/x")
