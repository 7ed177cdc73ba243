"""No memory is lost: what is made, used and dropped again and again leaves no more allocated than before."""

from __future__ import annotations

import ctypes
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import bbpe

SCRIPT = Path(__file__).resolve().parents[1] / "support/lost_memory.py"

pytestmark = pytest.mark.skipif(
    sys.platform != "linux" or not hasattr(ctypes.CDLL(None), "mallinfo2"),
    reason="the allocator does not count what is allocated",
)


def growths(*kinds: str) -> dict[str, list[int]]:
    """By how many bytes each round grows, of the kinds or of all, in a process of their own."""
    environment = {**os.environ, "PYTHONPATH": str(Path(bbpe.__file__).parents[1])}
    # blocks that a thread keeps for itself count as allocated
    environment["GLIBC_TUNABLES"] = "glibc.malloc.tcache_count=0"
    command = [sys.executable, str(SCRIPT), *kinds]
    done = subprocess.run(command, env=environment, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    found: dict[str, list[int]] = json.loads(done.stdout.splitlines()[-1])
    return found


def test_nothing_is_lost() -> None:
    found = growths()
    assert len(found) >= 19
    assert {name: rounds for name, rounds in found.items() if rounds[-1] > 0} == {}


def test_a_small_block_that_is_lost_is_seen() -> None:
    rounds = growths("lost")["lost"]
    assert len(rounds) == 24
    assert min(rounds) >= 40
