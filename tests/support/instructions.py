"""How many instructions a part of a Python program takes, counted by callgrind: no other program changes the number.

Valgrind knows no AVX-512, so the loops for AVX2 are counted.  It needs valgrind with its headers, and a C compiler.
"""

from __future__ import annotations

import os
import platform
import re
import shutil
import subprocess
import sys
from pathlib import Path

COMPILER = os.environ.get("CC") or shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
#: Calls of callgrind are instructions that do nothing elsewhere; Python cannot write them.
SOURCE = """
#include <valgrind/callgrind.h>
void begin(void) { CALLGRIND_START_INSTRUMENTATION; CALLGRIND_ZERO_STATS; }
void end(const char *name) { CALLGRIND_DUMP_STATS_AT(name); CALLGRIND_STOP_INSTRUMENTATION; }
"""
#: Comes before the program: what runs in `with counted(name)` is counted.
PRELUDE = """
import ctypes, sys
from contextlib import contextmanager
_calls = ctypes.CDLL(sys.argv.pop(1))
@contextmanager
def counted(name):
    _calls.begin()
    yield
    _calls.end(name.encode())
"""


def missing() -> str | None:
    """Why instructions cannot be counted here."""
    if platform.machine() not in {"x86_64", "AMD64"}:
        return "bounds are those of x86-64"
    if shutil.which("valgrind") is None:
        return "valgrind is not installed"
    if COMPILER is None:
        return "there is no C compiler"
    command = [*str(COMPILER).split(), "-fsyntax-only", "-x", "c", "-"]
    checked = subprocess.run(command, input=SOURCE, text=True, capture_output=True, check=False)
    return None if checked.returncode == 0 else "the headers of valgrind are not installed"


def instructions(program: str, *arguments: str, folder: Path) -> dict[str, int]:
    """Run a program under callgrind, with a folder for its files; returns the instructions by name."""
    source, library, output = folder / "calls.c", folder / "calls.so", folder / "counts"
    source.write_text(SOURCE)
    subprocess.run([*str(COMPILER).split(), "-shared", "-fPIC", "-o", library, source], check=True)
    command = ["valgrind", "--tool=callgrind", "--instr-atstart=no", f"--callgrind-out-file={output}", "-q"]
    command += [sys.executable, "-c", PRELUDE + program, str(library), *arguments]
    environment = {**os.environ, "PYTHONHASHSEED": "0", "PYTHONMALLOC": "malloc", "OPENBLAS_NUM_THREADS": "1"}
    run = subprocess.run(command, check=False, env=environment, text=True, capture_output=True)
    assert run.returncode == 0, run.stderr
    counts = {}
    for path in sorted(folder.glob("counts.*")):
        text = path.read_text("utf-8", "replace")
        name = re.search(r"^desc: Trigger: Client Request: (.*)$", text, re.MULTILINE)
        total = re.search(r"^totals: (\d+)", text, re.MULTILINE)
        if name is not None and total is not None:
            counts[name[1]] = int(total[1])
    return counts
