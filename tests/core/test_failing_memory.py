"""Each allocation of the compiled modules fails in turn: that is `MemoryError`, or the same result by another way."""

from __future__ import annotations

import ctypes
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import bbpe

TESTS = Path(__file__).resolve().parents[1]
COMPILER = os.environ.get("CC") or shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")

pytestmark = [
    pytest.mark.skipif(COMPILER is None, reason="there is no C compiler"),
    pytest.mark.skipif(
        sys.platform != "linux" or not hasattr(ctypes.CDLL(None), "mallinfo2"),
        reason="the allocator cannot be replaced: it is not that of glibc",
    ),
]


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("malloc") / "failing_malloc.so"
    command = [*str(COMPILER).split(), "-std=c11", "-O1", "-shared", "-fPIC", str(TESTS / "c/failing_malloc.c")]
    subprocess.run([*command, "-o", str(path)], check=True)
    return path


def faults(library: Path, *usages: str) -> dict[str, list[str]]:
    """By usage: the number of allocations, and what went wrong where one failed; in a process of its own."""
    # a path with blanks would be several libraries
    preloaded = {"LD_PRELOAD": f"./{library.name}"}
    environment = {**os.environ, "PYTHONPATH": str(Path(bbpe.__file__).parents[1]), **preloaded}
    command = [sys.executable, str(TESTS / "support/failing_memory.py"), *usages]
    done = subprocess.run(command, env=environment, cwd=library.parent, check=False, capture_output=True, text=True)
    assert done.returncode == 0, (done.stdout, done.stderr)
    found: dict[str, list[str]] = {}
    for line in done.stdout.splitlines():
        found |= json.loads(line)
    return found


def test_no_failure_goes_unnoticed(library: Path) -> None:
    found = faults(library)
    assert len(found) >= 16
    assert {name: rows[1:] for name, rows in found.items() if rows[1:]} == {}
    assert min(int(rows[0]) for rows in found.values()) >= 10
    assert sum(int(rows[0]) for rows in found.values()) >= 1000


def test_a_result_without_memory_is_seen(library: Path) -> None:
    assert len(faults(library, "lost")["lost"]) > 20
