"""The C files that one text with misses goes through: `python tests/support/c_journey.py` prints them in order.

The core is compiled with calls of a recorder in every function, inlined ones included, and `tests/c/journey_driver.c`
encodes one text.  Inline functions of a header belong to the file that calls them.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
FLAGS = ["-std=c11", "-g", "-O1", "-mno-avx512f", "-Icsrc", "-no-pie", "-fno-pie"]


@dataclass(frozen=True)
class CJourney:
    """The `.c` files of a journey, in the order of the first calls, and the calls back to a file that waits."""

    files: tuple[str, ...]
    returns: tuple[tuple[str, str], ...]


def c_journey() -> CJourney:
    """Return the files that a text with misses goes through.

    A return is a call into a file that has called the caller's file, directly or by others, and still waits for it.
    """
    with tempfile.TemporaryDirectory() as folder:
        driver = Path(folder, "driver")
        with ThreadPoolExecutor(os.cpu_count()) as threads:
            objects = threads.map(lambda source: _compiled(source, Path(folder)), sorted(ROOT.glob("csrc/**/*.c")))
            _run("gcc", *FLAGS, "tests/c/journey_driver.c", *objects, "-lm", "-pthread", "-o", str(driver))
        events = [line.split() for line in _run(str(driver)).splitlines()]
        files = _run("addr2line", "-e", str(driver), *(address for _, address in events)).splitlines()
    names = (Path(line.rsplit(":", 1)[0]).resolve().relative_to(ROOT / "csrc").as_posix() for line in files)
    return _journey([(kind == ">", name) for (kind, _), name in zip(events, names, strict=True)])


def _journey(events: list[tuple[bool, str]]) -> CJourney:
    files: dict[str, None] = {}
    returns: dict[tuple[str, str], None] = {}
    waiting: list[str] = []  # one entry per function that runs: the `.c` file that it serves
    for is_call, name in events:
        if not is_call:
            waiting.pop()
            continue
        caller = waiting[-1] if waiting else name
        file = name if name.endswith(".c") else caller
        files[file] = None
        if file != caller and file in waiting:
            returns[caller, file] = None
        waiting.append(file)
    return CJourney(tuple(files), tuple(returns))


def _compiled(source: Path, folder: Path) -> str:
    made = folder / ("_".join(source.relative_to(ROOT).parts) + ".o")
    _run("gcc", *FLAGS, "-finstrument-functions", "-c", str(source), "-o", str(made))
    return str(made)


def _run(*command: str) -> str:
    return subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout


def main() -> None:
    """Print the journey."""
    journey = c_journey()
    lines = [f"{len(journey.files)} C files, {len(journey.returns)} returns", *(f"  {name}" for name in journey.files)]
    lines += [f"  from {before} to {name}" for before, name in journey.returns]
    sys.stdout.write("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
