"""Loading, encoding and freeing again and again: memory does not grow, and valgrind finds nothing lost."""

from __future__ import annotations

import gc
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import bbpe
from bbpe.budget import resident_bytes

TEXT = "see my eyes first, 12345 dogs: 東京都に住む。 Übermut " * 200

ROUND = """
import bbpe
text = {text!r}
def around(path):
    tok = bbpe.load(path)
    ids = tok.encode(text)
    assert tok.encode_to_numpy(text, threads=2).tolist() == ids
    assert tok.decode(ids) == text
    rows = tok.encode_batch_to_numpy([text, "", "see"])
    assert tok.decode_batch(rows)[2] == "see"
    bbpe.train_from_counts(bbpe.count_from_iterator([text], pattern="gpt2"), 300)
"""


def rounds_in_process(path: Path, count: int) -> None:
    space: dict[str, object] = {}
    exec(ROUND.format(text=TEXT), space)
    around = space["around"]
    assert callable(around)
    for _ in range(count):
        around(path)
    gc.collect()


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    path = tmp_path / "tokenizer.json"
    bbpe.train_from_iterator([TEXT], 400, pattern="cl100k", special_tokens=["<s>"]).save(path)
    return path


@pytest.mark.parametrize("count", [40, pytest.param(3_000, marks=pytest.mark.long)])
def test_memory_does_not_grow(saved: Path, count: int) -> None:
    rounds_in_process(saved, max(10, count // 4))
    before = resident_bytes()
    rounds_in_process(saved, count)
    # a leak of one cache or table a round would be far more; what allocators keep is not
    assert resident_bytes() - before < 16e6


@pytest.mark.long
@pytest.mark.skipif(shutil.which("valgrind") is None, reason="valgrind is not installed")
def test_valgrind_finds_nothing_lost(saved: Path, tmp_path: Path) -> None:
    code = f"{ROUND.format(text=TEXT[:2000])}\nfor _ in range(3): around({str(saved)!r})\n"
    log = tmp_path / "valgrind.log"
    command = ["valgrind", "--leak-check=full", "--show-leak-kinds=definite", "--num-callers=30", f"--log-file={log}"]
    environment = {**os.environ, "PYTHONMALLOC": "malloc", "PYTHONPATH": str(Path(bbpe.__file__).parent.parent)}
    subprocess.run([*command, sys.executable, "-c", code], check=True, env=environment)
    report = log.read_text("utf-8")
    assert "LEAK SUMMARY" in report
    # the interpreter and numpy lose memory of their own; what counts is where a frame of our modules is
    frames = [line for line in report.splitlines() if re.match(r"==\d+== +(?:at|by) 0x", line)]
    assert [line for line in frames if "bbpe_" in line or "/bbpe/core/" in line] == []
