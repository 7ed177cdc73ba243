"""Whole files that are read: no more than allowed, no pipes, and noted with what they held."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import bbpe
from bbpe.files import ReadFile, digest_of, is_covered, noting_reads, open_file, read_bytes


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


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="reads /proc")
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
