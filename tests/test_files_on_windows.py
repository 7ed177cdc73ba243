"""What files do on Windows, which this system plays where it is another."""

from __future__ import annotations

import errno
import mmap
import os
import sys
from pathlib import Path

import pytest

import bbpe
from bbpe.files import remove_left_over, write_atomic


@pytest.mark.parametrize("busy", [0, 3, 99])
def test_on_windows_a_file_that_is_open_elsewhere_is_replaced_later(
    busy: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A scanner of files or another reader has it open for a moment; a program that keeps it open is an error."""
    path, tries, slept = tmp_path / "a.bin", list[str](), list[float]()
    path.write_bytes(b"old")
    replace = os.replace

    def refused(source: str, target: str) -> None:
        tries.append(target)
        if len(tries) <= busy:
            raise PermissionError(errno.EACCES, "The process cannot access the file", source, None, target)
        replace(source, target)

    monkeypatch.setattr(sys, "platform", "win32")
    monkeypatch.setattr(os, "replace", refused)
    monkeypatch.setattr("time.sleep", slept.append)
    if busy < 99:
        write_atomic(path, b"new")
        assert (path.read_bytes(), len(tries)) == (b"new", busy + 1)
    else:
        with pytest.raises(PermissionError, match="cannot access"):
            write_atomic(path, b"new")
        assert path.read_bytes() == b"old"
        assert 1 < sum(slept) < 3
    assert [each.name for each in tmp_path.iterdir()] == ["a.bin"]
    monkeypatch.setattr(sys, "platform", "linux")
    del tries[:]
    if busy:  # elsewhere the first answer counts
        with pytest.raises(PermissionError):
            write_atomic(path, b"newer")
        assert len(tries) == 1


def test_a_file_that_is_mapped_is_left_whole(tmp_path: Path) -> None:
    """Windows replaces no file that is mapped: an error says so, and the old file stays. Elsewhere the map has it."""
    path = tmp_path / "a.bin"
    path.write_bytes(b"old" * 1000)
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as mapped:
        if sys.platform == "win32":
            with pytest.raises(PermissionError) as caught:
                write_atomic(path, b"new")
            assert caught.value.filename == str(path)
            assert path.read_bytes() == b"old" * 1000
        else:
            write_atomic(path, b"new")
        assert mapped[:] == b"old" * 1000
    assert [each.name for each in tmp_path.iterdir()] == ["a.bin"]
    write_atomic(path, b"newer")
    assert path.read_bytes() == b"newer"


def test_a_tokenizer_that_is_in_use_is_saved_over(tmp_path: Path) -> None:
    """Its file is read and not mapped, whatever the shards of it are."""
    path = tmp_path / "tok.json"
    bbpe.train_from_iterator(["see my eyes"] * 9, 262).save(path)
    loaded = bbpe.load(path)
    done = bbpe.shard_from_iterator(["see my eyes"], tmp_path / "out", loaded)
    loaded.save(path)
    assert bbpe.load(path) == loaded
    assert loaded.decode(done[0]) == "see my eyes"


def test_what_is_left_over_and_open_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A thread of a count that was stopped may still write it; elsewhere an open file loses its name."""
    path = tmp_path / "a.tmp"
    with path.open("wb"):
        remove_left_over(path)
        assert path.exists() is (sys.platform == "win32")
    remove_left_over(path)
    assert not path.exists()
    remove_left_over(path)

    def refused(self: Path, missing_ok: bool) -> None:
        raise PermissionError(errno.EACCES, "The process cannot access the file", str(self))

    monkeypatch.setattr(Path, "unlink", refused)
    monkeypatch.setattr(sys, "platform", "win32")
    remove_left_over(path)
    monkeypatch.setattr(sys, "platform", "linux")
    with pytest.raises(PermissionError, match="cannot access"):
        remove_left_over(path)
