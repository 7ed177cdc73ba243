"""What a processor with fewer instructions gives: the same ids, places, counts and merges."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import bbpe
from bbpe.core.budget import CPU, lower_cpu

SCRIPT = Path(__file__).resolve().parents[1] / "support/cpu_levels.py"


def results(folder: Path, level: str) -> dict[str, str]:
    """Digests by name, of a process that has used no instructions beyond a level."""
    environment = {**os.environ, "PYTHONPATH": str(Path(bbpe.__file__).parents[1])}
    command = [sys.executable, str(SCRIPT), str(folder), level]
    done = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
    found = json.loads(done.stdout)
    assert found["level"] == (CPU if level == "own" else level)
    digests: dict[str, str] = found["results"]
    return digests


@pytest.mark.skipif(CPU not in ("avx2", "avx512"), reason="there is one level of instructions")
def test_all_levels_give_the_same(tmp_path: Path) -> None:
    own = results(tmp_path, "own")
    assert len(own) >= 36
    assert len(set(own.values())) == len(own)
    for level in ("avx2", "base")[CPU == "avx2" :]:
        assert results(tmp_path, level) == own


def test_a_level_has_a_name() -> None:
    with pytest.raises(KeyError):
        lower_cpu("avx1024")
