"""A fixture: counting and sharding leave no temporary file and no process behind, whatever happens in a test."""

from __future__ import annotations

import gc
import tempfile
import time
from collections.abc import Iterator
from multiprocessing.util import get_temp_dir
from pathlib import Path

import pytest

_TASKS = Path("/proc/self/task")
#: Processes of Python itself, one for each process that starts others.
_PYTHONS_OWN = ("multiprocessing.resource_tracker", "multiprocessing.forkserver")


def children() -> set[int]:
    """The processes that this one has started, and that have not ended; none where the system does not say."""
    found: set[int] = set()
    for path in _TASKS.glob("*/children"):
        for child in map(int, _read(path).split()):
            words = _read(Path(f"/proc/{child}/cmdline"))
            if words and not any(own in words for own in _PYTHONS_OWN):  # one that has ended has no words
                found.add(child)
    return found


def _read(path: Path) -> str:
    """Return what a file of a thread or a process says, nothing if that ends meanwhile."""
    try:
        return path.read_bytes().decode("utf-8", "replace")
    except (FileNotFoundError, ProcessLookupError):
        return ""


@pytest.fixture(autouse=True)
def nothing_is_left(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Path]:
    """The folder for temporary files of a test and of the processes that it starts."""
    get_temp_dir()  # Python's own, for its sockets: made once for the whole process, elsewhere
    folder = tmp_path_factory.mktemp("temporary")
    monkeypatch.setenv("TMPDIR", str(folder))
    monkeypatch.setattr(tempfile, "tempdir", None)
    before = children()
    yield folder
    end = time.monotonic() + 5
    while (left := sorted(folder.iterdir())) or (children() - before and "processes" not in request.fixturenames):
        gc.collect()
        if time.monotonic() > end:
            break
        time.sleep(0.01)
    assert left == [], f"temporary files are left: {left}"
    # the pool that all tests share stays
    own = set() if "processes" in request.fixturenames else children() - before
    assert not own, f"processes are left: {own}"
