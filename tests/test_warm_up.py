"""Programs that give up the path, the root folder or their rights, and archives: an answer or the way out."""

from __future__ import annotations

import os
from zipfile import ZipFile

import first_calls
import pytest
from test_lazy import SUPPORT, needs_fork, run


@pytest.fixture
def folder(tmp_path):
    first_calls.prepare(tmp_path)
    return tmp_path


#: A child process that gives up the path, the root folder or its rights makes calls, and tells what it got.
GIVEN_UP = """
    import os, sys, traceback
    from pathlib import Path
    import bbpe, first_calls
    tok = first_calls.load(Path())
    if sys.argv[2] == "warm":
        tok.warm_up()
    if sys.argv[1] == "path":
        sys.path[:] = []
        sys.meta_path[:] = [each for each in sys.meta_path if "Path" not in str(each)]
    else:
        os.chroot(".")
        os.setgid(65534), os.setuid(65534)
    for name in ("encode", "decode", "encode_with_offsets", "fingerprint", "count_messages", "as_tiktoken"):
        try:
            assert first_calls.METHODS[name](tok, Path()) is not None
        except ImportError as error:
            note = error.__notes__[0] if hasattr(error, "__notes__") else "nothing"
            print(name, note)
"""


@needs_fork
@pytest.mark.parametrize("lost", ["path", "root"])
def test_without_a_path_or_rights_late_imports_name_the_way_out(lost, folder):
    if lost == "root" and os.geteuid():
        pytest.skip("only root may change the root folder")
    lines = run(GIVEN_UP, folder, lost, "cold").splitlines()
    assert lines
    assert all("call tok.warm_up() before" in line for line in lines), lines
    assert not run(GIVEN_UP, folder, lost, "warm")


def test_an_archive_is_refused_with_the_way_out(folder):
    archive = folder / "package.zip"
    with ZipFile(archive, "w") as made:
        for path in sorted((SUPPORT.parents[1] / "bbpe").rglob("*.py")):
            made.write(path, path.relative_to(SUPPORT.parents[1]))
    code = """
        import sys
        sys.path.insert(0, "package.zip")
        try:
            import bbpe
            bbpe.load("t.json")
        except ImportError as error:
            print(error)
    """
    out = run(code, folder)
    assert "compiled modules, which Python cannot import from an archive" in out
    assert "package.zip" in out
    assert "install it with pip" in out
