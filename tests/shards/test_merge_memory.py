"""Merging takes no more memory for more documents, in order and shuffled."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from processes import package_env
from systems import system_has

import bbpe
from bbpe.shards.formats.format import forget, mapped

pytestmark = pytest.mark.skipif(not system_has("/proc/self/status"), reason="needs Linux's figures of memory")

#: Merges a folder several times, and prints by how many MB that has raised the peak.
CHILD = """
import resource, sys
import bbpe
folder, small, out, seed = sys.argv[1:4] + [int(sys.argv[4]) or None]
peak = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10
bbpe.merge_shards([small], out + ".small", shuffle=seed)
before = peak()
merged = bbpe.merge_shards([folder] * 10, out, shuffle=seed)
print(len(merged), peak() - before)
"""


@pytest.fixture(scope="module")
def sources(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Shards of many documents and of few."""
    folder, tok = tmp_path_factory.mktemp("sources"), bbpe.train_from_iterator(["low lower"], 257)
    for name, count in (("many", 200_000), ("few", 10)):
        (folder / f"{name}.jsonl").write_text('{"text": "a"}\n' * count)
        bbpe.shard(folder / f"{name}.jsonl", folder / name, tok)
    return [folder / "many", folder / "few"]


@pytest.mark.parametrize("seed", [0, 7])
def test_millions_of_short_documents(seed: int, sources: list[Path], tmp_path: Path) -> None:
    arguments = [*map(str, sources), str(tmp_path / "out")]
    environment = package_env()
    command = [sys.executable, "-c", CHILD, *arguments, str(seed)]
    done = subprocess.run(command, check=True, capture_output=True, text=True, env=environment)
    documents, grown = map(int, done.stdout.split())
    assert documents == 2_000_000
    # all of them at once would take 140 MB when they are shuffled
    assert grown < 70


def test_pages_of_a_mapped_file_are_given_back(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(np.arange(4 << 20, dtype="<u4").tobytes())

    def mapped_mb() -> int:
        lines = Path("/proc/self/status").read_text().splitlines()
        return next(int(line.split()[1]) for line in lines if line.startswith("RssFile")) >> 10

    numbers = mapped(tmp_path / "x", "<u4")
    before = mapped_mb()
    total = int(numbers.sum(dtype=np.int64))
    assert mapped_mb() - before >= 12
    forget(numbers)
    assert mapped_mb() - before <= 4
    assert int(numbers.sum(dtype=np.int64)) == total
    forget(numbers[5:])
    forget(np.arange(3))
