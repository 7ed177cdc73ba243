"""Files that take the place of others: whole, on the disk, with the mode and the owner of what was there."""

from __future__ import annotations

import errno
import os
import stat
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from systems import link, needs_modes, system_has

import bbpe
from bbpe.cli import encode
from bbpe.core.temporary import Folder
from bbpe.files import (
    write_atomic,
    write_folder_atomic,
)  # fmt: skip

#: What is told when a folder is flushed; Windows opens no folders.
FOLDER = [] if sys.platform == "win32" else ["folder"]
TOK = bbpe.train_from_iterator(["see my dogs"], 258)


def write_ids(path: Path) -> None:
    with encode.array_writer(str(path)) as write:
        write(np.arange(3, dtype=np.uint32))


def save_counts(path: Path) -> None:
    pytest.importorskip("pyarrow")
    bbpe.count_from_iterator(["see my dogs"], pattern="gpt2").save(path)


#: Everything that replaces a file: its name below a folder, and what writes it.
WAYS: dict[str, tuple[str, Callable[[Path], Any]]] = {
    "bytes": ("a.bin", lambda path: write_atomic(path, b"new")),
    "huggingface": ("t.json", TOK.save),
    "tiktoken": ("t.tiktoken", TOK.save),
    "a folder": ("merges.txt", lambda path: TOK.save(path.parent, format="gpt2")),
    "several files": ("x", lambda path: write_folder_atomic(path.parent, {"w": b"1", "x": b"2"})),
    "ids": ("ids.npy", write_ids),
    "counts": ("c.parquet", save_counts),
}


@pytest.fixture(autouse=True)
def usual_umask() -> Iterator[None]:
    before = os.umask(0o022)
    yield
    os.umask(before)


@pytest.fixture(params=WAYS)
def way(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Path, Callable[[Path], Any]]:
    """A file that is there, and what replaces it."""
    name, write = WAYS[request.param]
    (tmp_path / name).write_bytes(b"old")
    return tmp_path / name, write


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@needs_modes
@pytest.mark.parametrize("mode", [0o600, 0o640, 0o664, 0o755, 0o200])
def test_the_mode_is_kept_and_nobody_else_may_read_meanwhile(
    mode: int, way: tuple[Path, Callable[[Path], Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    path, write = way
    path.chmod(mode)
    seen: list[int] = []
    fsync = os.fsync

    def watched(handle: int) -> None:
        seen.extend(mode_of(file) for file in path.parent.glob(f".{path.name}.*.tmp"))
        fsync(handle)

    monkeypatch.setattr(os, "fsync", watched)
    write(path)
    assert mode_of(path) == mode
    assert seen
    assert [oct(other) for other in seen if other & ~mode] == []
    assert path.stat().st_size != 3 or path.read_bytes() == b"new"


@needs_modes
def test_a_new_file_has_the_mode_that_the_umask_leaves(tmp_path: Path) -> None:
    for name, (file, write) in WAYS.items():
        for mask, mode in ((0, 0o666), (0o027, 0o640)):
            folder = tmp_path / f"{name}-{mask}"
            folder.mkdir()
            os.umask(mask)
            write(folder / file)
            assert mode_of(folder / file) == mode, name


@pytest.mark.parametrize("mode", [0o444, 0o400, 0o000])
def test_a_read_only_file_is_refused(mode: int, way: tuple[Path, Callable[[Path], Any]]) -> None:
    path, write = way
    path.chmod(mode)
    before = sorted(path.parent.iterdir())
    with pytest.raises(PermissionError, match=r"read-only; make it writable, or choose another name") as caught:
        write(path)
    assert caught.value.filename == str(path)
    path.chmod(0o600)
    assert path.read_bytes() == b"old"
    assert sorted(path.parent.iterdir()) == before


def test_a_file_with_other_names_is_refused(way: tuple[Path, Callable[[Path], Any]]) -> None:
    """Replaced, it would leave the other name with the old content."""
    path, write = way
    other = path.with_name("other-name")
    other.hardlink_to(path)
    before = sorted(path.parent.iterdir())
    with pytest.raises(OSError, match=r"2 names \(hard links\); delete this one first") as caught:
        write(path)
    assert (caught.value.errno, caught.value.filename) == (errno.EMLINK, str(path))
    assert (path.read_bytes(), other.read_bytes()) == (b"old", b"old")
    assert sorted(path.parent.iterdir()) == before


def test_a_link_is_followed_and_stays(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "real" / "a").write_bytes(b"old")
    (tmp_path / "real" / "a").chmod(0o600)
    link((tmp_path / "link"), tmp_path / "real" / "a")
    write_atomic(tmp_path / "link", b"new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real" / "a").read_bytes() == b"new"
    assert mode_of(tmp_path / "real" / "a") == (0o600 if os.name == "posix" else 0o666)
    assert len(list((tmp_path / "real").iterdir())) == 1


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="needs root, who may give files away")
def test_the_owner_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"old")
    os.chown(path, 12345, 23456)
    path.chmod(0o640)
    write_atomic(path, b"new")
    assert (path.stat().st_uid, path.stat().st_gid, mode_of(path)) == (12345, 23456, 0o640)


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="needs root, who may give files away")
@pytest.mark.parametrize(("mode", "kept"), [(0o660, 0o600), (0o664, 0o644), (0o4750, 0o700)])
def test_another_group_gets_what_everybody_has(
    mode: int, kept: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"old")
    os.chown(path, 12345, 23456)
    path.chmod(mode)

    chown = os.chown

    def refused(where: Path, owner: int, group: int, permitted: tuple[int, ...] = ()) -> None:
        if owner not in permitted:
            raise PermissionError(errno.EPERM, os.strerror(errno.EPERM))
        chown(where, owner, group)

    monkeypatch.setattr(os, "chown", refused)
    write_atomic(path, b"new")
    assert (path.read_bytes(), oct(mode_of(path))) == (b"new", oct(kept))
    # who may give a file to a group alone keeps the rights of the group
    chown(path, 12345, 23456)
    path.chmod(mode)
    monkeypatch.setattr(os, "chown", partial(refused, permitted=(-1,)))
    write_atomic(path, b"newer")
    status = path.stat()
    assert (status.st_uid, status.st_gid, oct(mode_of(path))) == (os.geteuid(), 23456, oct(mode & 0o777))


def test_a_replaced_file_is_as_old_as_its_content(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"old")
    os.utime(path, (1e9, 1e9))
    write_atomic(path, b"")
    assert path.stat().st_mtime > 1.5e9


LONG = ["語" * 80 + ".json", "語" * 85, "é" * 120 + ".json", "a" * 250 + ".json", "x" * 255, "\udcff" * 200]


@pytest.mark.parametrize("name", LONG, ids=range(len(LONG)))
def test_every_name_that_the_file_system_allows(name: str, tmp_path: Path) -> None:
    try:
        (tmp_path / name).write_bytes(b"old")
    except OSError:
        pytest.skip("the file system does not allow this name")
    write_atomic(tmp_path / name, b"new")
    assert [file.name for file in tmp_path.iterdir()] == [name]
    assert (tmp_path / name).read_bytes() == b"new"
    if name.endswith(".json"):
        TOK.save(tmp_path / name)
        assert bbpe.load(tmp_path / name) == TOK


@pytest.fixture
def events(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What is flushed to the disk and renamed, in order."""
    seen: list[str] = []
    fsync, replace = os.fsync, os.replace

    def flushed(handle: int) -> None:
        seen.append("folder" if stat.S_ISDIR(os.fstat(handle).st_mode) else f"file of {os.fstat(handle).st_size}")
        fsync(handle)

    def renamed(path: str, target: str) -> None:
        seen.append(f"rename to {Path(target).name}")
        replace(path, target)

    monkeypatch.setattr(os, "fsync", flushed)
    monkeypatch.setattr(os, "replace", renamed)
    return seen


def test_a_file_is_on_the_disk_before_its_name_is(events: list[str], tmp_path: Path) -> None:
    write_atomic(tmp_path / "a", b"12345")
    assert events == ["file of 5", "rename to a", *FOLDER]


def test_all_files_of_a_folder_are_on_the_disk_before_the_first_name_is(events: list[str], tmp_path: Path) -> None:
    write_folder_atomic(tmp_path / "new", {"a": b"1", "b": b"22"})
    assert events == ["file of 1", "file of 2", "rename to a", "rename to b", *FOLDER, *FOLDER]


def test_a_folder_of_no_files_is_made(tmp_path: Path) -> None:
    write_folder_atomic(tmp_path / "new" / "inner", {})
    assert (tmp_path / "new/inner").is_dir()
    write_folder_atomic(tmp_path / "new" / "inner", {})
    assert list((tmp_path / "new/inner").iterdir()) == []


def test_a_folder_that_cannot_be_flushed_is_no_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fsync = os.fsync

    def some(handle: int) -> None:
        if stat.S_ISDIR(os.fstat(handle).st_mode):
            raise OSError(errno.EINVAL, os.strerror(errno.EINVAL))
        fsync(handle)

    monkeypatch.setattr(os, "fsync", some)
    write_atomic(tmp_path / "a", b"new")
    assert (tmp_path / "a").read_bytes() == b"new"


def test_a_disk_that_fails_is_named_and_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"old")

    def failed(_: int) -> None:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    monkeypatch.setattr(os, "fsync", failed)
    for write in (lambda: write_atomic(path, b"new"), lambda: write_folder_atomic(tmp_path, {"a": b"new"})):
        with pytest.raises(OSError, match=os.strerror(errno.EIO)) as caught:
            write()
        assert caught.value.filename == str(path)
        assert path.read_bytes() == b"old"
        assert [file.name for file in tmp_path.iterdir()] == ["a"]


def failing(monkeypatch: pytest.MonkeyPatch, is_failing: Callable[[int], bool]) -> None:
    """Flush nothing of which `is_failing` says, by its mode, that the disk fails."""
    fsync = os.fsync

    def some(handle: int) -> None:
        if is_failing(os.fstat(handle).st_mode):
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        fsync(handle)

    monkeypatch.setattr(os, "fsync", some)


@pytest.mark.skipif(not FOLDER, reason="needs POSIX folders, which can be flushed")
def test_a_folder_whose_flush_fails_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The name of a new file may be lost, which nobody may take for a success."""
    failing(monkeypatch, stat.S_ISDIR)
    for write in (lambda: write_atomic(tmp_path / "a", b"new"), lambda: write_folder_atomic(tmp_path, {"a": b"new"})):
        with pytest.raises(OSError, match=os.strerror(errno.EIO)) as caught:
            write()
        assert (caught.value.errno, caught.value.filename) == (errno.EIO, str(tmp_path))


def test_a_folder_that_a_failed_write_has_made_goes_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    failing(monkeypatch, stat.S_ISREG)
    (tmp_path / "old").mkdir()
    for folder in ("new", "deep/within", "old"):
        with pytest.raises(OSError, match=os.strerror(errno.EIO)):
            write_folder_atomic(tmp_path / folder, {"a": b"1", "b/c": b"2"})
        assert [path.name for path in tmp_path.rglob("*")] == ["old"]


@pytest.mark.parametrize("at", [0, 1, 2])
def test_of_several_files_none_is_left_when_one_fails(at: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    flushed: list[int] = []
    failing(monkeypatch, lambda mode: stat.S_ISREG(mode) and (flushed.append(mode) or len(flushed) == at + 1))
    with pytest.raises(OSError, match=os.strerror(errno.EIO)) as caught:
        write_folder_atomic(tmp_path, {"a": b"1", "b": b"2", "c": b"3"})
    assert caught.value.filename == str(tmp_path / "abc"[at])
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes with names here")
def test_what_is_no_file_is_not_replaced(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "x")
    with pytest.raises(FileExistsError, match="expected a file or a new name") as caught:
        write_folder_atomic(tmp_path, {"x": b"1"})
    assert caught.value.filename == str(tmp_path / "x")
    with pytest.raises(IsADirectoryError):
        write_atomic(tmp_path, b"1")


def test_a_folder_within_is_made_with_its_files_or_not_at_all(tmp_path: Path) -> None:
    target = tmp_path / "model"
    write_folder_atomic(target, {"a": b"1", "within/b": b"2", "within/c": b"3"})
    assert sorted(path.relative_to(target).as_posix() for path in target.rglob("*")) == [
        "a", "within", "within/b", "within/c",
    ]  # fmt: skip
    write_folder_atomic(target, {"within/b": b"4"})
    assert [(target / name).read_bytes() for name in ("a", "within/b", "within/c")] == [b"1", b"4", b"3"]
    with pytest.raises(OSError, match="within"):
        write_folder_atomic(tmp_path / "other", {"a": b"1", "within/b": b"2", "within/b/c": b"3"})
    assert not (tmp_path / "other").exists()


def test_the_folders_of_new_names_are_flushed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of every file that was written, and of every folder that was made."""
    flushed: list[Path] = []
    monkeypatch.setattr("bbpe.files.sync_folder", flushed.append)
    write_atomic(tmp_path / "a", b"1")
    assert flushed == [tmp_path]
    flushed.clear()
    write_folder_atomic(tmp_path / "new" / "deep", {"a": b"1", "within/b": b"2"})
    new = tmp_path / "new"
    assert set(flushed) == {tmp_path, new, new / "deep", new / "deep" / "within"}
    # what is within a folder comes before the folder's own name
    assert flushed.index(new / "deep" / "within") < flushed.index(new / "deep")
    flushed.clear()
    write_folder_atomic(new / "deep", {"a": b"2"})
    assert flushed == [new / "deep"]


def test_a_folder_that_may_not_be_listed_is_no_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(_: str) -> None:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))

    monkeypatch.setattr("bbpe.core.temporary.sync_folder", refused)
    write_atomic(tmp_path / "a", b"new")
    assert (tmp_path / "a").read_bytes() == b"new"


def test_a_folder_that_another_program_makes_meanwhile_is_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def late(path: str) -> Folder:
        Path(path).mkdir()
        return Folder(path)

    monkeypatch.setattr("bbpe.files.Folder", late)
    write_folder_atomic(tmp_path / "new" / "deep", {"a": b"1"})
    assert (tmp_path / "new" / "deep" / "a").read_bytes() == b"1"
    # it stays, for it is not ours, when writing fails
    failing(monkeypatch, stat.S_ISREG)
    with pytest.raises(OSError, match=os.strerror(errno.EIO)):
        write_folder_atomic(tmp_path / "other", {"a": b"1"})
    assert (tmp_path / "other").is_dir()


@needs_modes
def test_a_file_that_replaces_another_is_private_at_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who opens it before its mode is that of the old one would read what is written later."""
    (tmp_path / "a").write_bytes(b"old")
    seen: list[int] = []
    monkeypatch.setattr("bbpe.files._copy_status", lambda target, old, new: seen.append(mode_of(new)))
    write_atomic(tmp_path / "a", b"new")
    assert seen == [0o600]


def test_a_status_that_cannot_be_copied_leaves_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"old")

    def failed(*_: object) -> None:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    monkeypatch.setattr("bbpe.files._copy_status", failed)
    with pytest.raises(OSError, match=os.strerror(errno.EIO)) as caught:
        write_atomic(path, b"new")
    assert caught.value.filename == str(path)
    assert [(file.name, file.read_bytes()) for file in tmp_path.iterdir()] == [("a", b"old")]


@pytest.mark.skipif(not system_has("/dev/full"), reason="needs /dev/full")
def test_a_device_that_is_full_is_named(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("/dev/full")
    for path in ("/dev/full", tmp_path / "link"):
        with pytest.raises(OSError, match=os.strerror(errno.ENOSPC)) as caught:
            write_atomic(path, bytes(1 << 20))
        assert caught.value.filename == str(path)
    write_atomic("/dev/null", b"new")


def test_a_file_in_place_of_a_folder_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a").write_bytes(b"old")
    for folder in (tmp_path / "a", tmp_path / "a" / "b"):
        with pytest.raises((FileExistsError, NotADirectoryError)) as caught:
            write_folder_atomic(folder, {"c": b"new"})
        assert caught.value.filename == str(tmp_path / "a")
        assert [path.name for path in tmp_path.iterdir()] == ["a"]
    assert (tmp_path / "a").read_bytes() == b"old"

    def refused(path: str) -> None:
        raise FileExistsError(errno.EEXIST, "exists", path)

    monkeypatch.setattr("bbpe.files.Folder", refused)
    with pytest.raises(FileExistsError, match="exists"):
        write_folder_atomic(tmp_path / "new", {"c": b"new"})
