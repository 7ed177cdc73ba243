"""Programs in C alone: what threads share without a lock, tables that strangers fill, and code for other processors."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
COMPILER = os.environ.get("CC") or shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")

_NORMALIZING = (
    *(f"pipeline/{name}" for name in ("automaton", "character_map", "charsmap", "charsmap_keys", "mark_step")),
    *(f"pipeline/{name}" for name in ("normalizer", "precompiled", "replace", "sources", "state_maker")),
    *(f"text/{name}" for name in ("characters", "graphemes", "search", "search_avx2", "search_avx512", "search_neon")),
    *("pipeline/unicode_form", "tables/image", "tables/pretoken_table", "tables/trie", "simd/avx2", "simd/cpu_level"),
    "models/normalise/bert",
)


@pytest.mark.skipif(COMPILER is None, reason="there is no C compiler")
@pytest.mark.skipif(os.name == "nt", reason="the drivers use POSIX threads")
@pytest.mark.parametrize(
    ("name", "leaves", "options"),
    [
        # a table without its salt fails at once
        ("count_driver", ("count/table", "count/sum"), (4, 30)),
        # a state must know the shorter strings that end in it
        ("stops_driver", ("decode/stop_strings",), (5000,)),
        # searches without vectors find what those of this processor find
        ("normalizer_driver", _NORMALIZING, (3000,)),
    ],
)
def test_driver(name: str, leaves: tuple[str, ...], options: tuple[int, ...], tmp_path: Path) -> None:
    below = ("tables/short_key", "memory/memory", "memory/pages")
    sources = [f"tests/c/{name}.c", *(f"csrc/{leaf}.c" for leaf in (*leaves, *below))]
    command = [*str(COMPILER).split(), "-std=c11", "-O1", "-Icsrc", *sources, "-pthread", "-o", str(tmp_path / name)]
    subprocess.run(command, cwd=ROOT, check=True)
    run = subprocess.run([tmp_path / name, *map(str, options)], capture_output=True, text=True, timeout=300)
    assert (run.returncode, run.stderr) == (0, "")
