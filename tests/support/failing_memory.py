"""Runs one usage after another with each of its allocations failing in turn, and prints what went wrong, as JSON.

`tests/c/failing_malloc.c` is preloaded, and fails what the compiled modules ask for, not what Python or NumPy do.  An
allocation that fails must end in `MemoryError`, or in the same result by another way.
"""

from __future__ import annotations

import ctypes
import json
import os
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import usages

import bbpe
from bbpe.core import _compiled


def lost() -> object:
    """A result that has less without memory, to show that it is seen."""
    try:
        return bbpe.load(usages.FOLDER[0] + "/usual.json", cache=False).encode(usages.TEXT)
    except MemoryError:
        return []


def faults(function: Callable[[], object]) -> list[str]:
    """How many allocations a usage has, and what went wrong where one of them failed."""
    expected = usages.plain(function())
    NEXT(0)
    assert usages.plain(function()) == expected
    count = NEXT(0)
    found = [str(count)]
    for number in range(1, count + 1):
        NEXT(number)
        try:
            given = usages.plain(function())
        except MemoryError:
            continue
        except Exception as error:
            found.append(f"allocation {number}: {error!r}")
            continue
        finally:
            NEXT(0)
        if given != expected:
            found.append(f"allocation {number}: another result")
    return found


if __name__ == "__main__":
    library = ctypes.CDLL(os.environ["LD_PRELOAD"])
    NEXT = library.failing_malloc_next
    NEXT.argtypes, NEXT.restype = [ctypes.c_uint64], ctypes.c_uint64
    lines = [line.split(maxsplit=5) for line in Path("/proc/self/maps").read_text("utf-8").splitlines()]
    ranges = [int(end, 16) for line in lines if line[5:] == [_compiled.__file__] for end in line[0].split("-")]
    library.failing_malloc_watch(ctypes.c_size_t(min(ranges)), ctypes.c_size_t(max(ranges)))
    known = {**usages.USAGES, "lost": lost}
    with tempfile.TemporaryDirectory() as folder:
        usages.prepare(folder)
        for name in sys.argv[1:] or usages.USAGES:
            print(json.dumps({name: faults(known[name])}), flush=True)
