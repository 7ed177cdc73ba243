"""Who removes a new folder and a new file, and who never does."""

from __future__ import annotations

import os
import stat
import sys
from pathlib import Path

import pytest

from bbpe.core.temporary import Folder, NewFile
from bbpe.files import temporary_folder


def test_a_kept_folder_stays(tmp_path: Path) -> None:
    # with files in it the folder could not be removed by accident unless it is removed as a whole
    folder = Folder(str(tmp_path / "new"), is_whole=True)
    (tmp_path / "new" / "file").write_text("kept")
    folder.keep()
    folder.discard()
    with folder:
        pass
    del folder
    assert (tmp_path / "new" / "file").read_text() == "kept"


def test_a_folder_is_removed_once(tmp_path: Path) -> None:
    folder = Folder(str(tmp_path / "new"), is_whole=True)
    folder.discard()
    assert not (tmp_path / "new").exists()
    (tmp_path / "new").mkdir()  # another one of the same name
    folder.discard()
    del folder
    assert (tmp_path / "new").exists()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")  # pyarrow has a thread from its import on
def test_a_child_removes_nothing_of_its_parent(tmp_path: Path) -> None:
    folder, file = Folder(str(tmp_path / "new"), is_whole=True), NewFile(str(tmp_path / "file"))
    child = os.fork()
    if child == 0:
        folder.discard()
        file.discard()
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    assert {path.name for path in tmp_path.iterdir()} == {"new", "file"}
    folder.discard()
    file.discard()
    assert not any(tmp_path.iterdir())


def test_a_temporary_folder_is_where_it_is_asked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    (tmp_path / "in").mkdir()
    for options, parent, begins in (
        ({}, tmp_path, "bbpe-"), ({"prefix": "x-"}, tmp_path, "x-"),
        ({"parent": tmp_path / "in"}, tmp_path / "in", "bbpe-"),
    ):  # fmt: skip
        with temporary_folder(**options) as name:  # type: ignore[arg-type]
            assert (Path(name).parent, Path(name).name[: len(begins)]) == (parent, begins)
            assert len(Path(name).name) == len(begins) + 16
            # Windows has no modes: the folder above decides
            assert sys.platform == "win32" or stat.S_IMODE(Path(name).stat().st_mode) == 0o700
        assert not Path(name).exists()
