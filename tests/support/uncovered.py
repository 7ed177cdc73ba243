"""The lines that no test runs: `python tests/support/uncovered.py BUILD [coverage.json]`, as `make coverage` runs it.

BUILD holds what gcc's `--coverage` wrote beside the objects, of C and of Cython; a line counts as run when any object
that has it ran it.  The JSON is that of coverage.py.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections import defaultdict
from itertools import groupby
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
#: Lines by number, and whether each was run.
Lines = dict[int, bool]
_OWN = re.compile(r"(csrc/[\w/]+\.[ch]|bbpe/core/\w+\.p(yx|xd))\Z")
_LINE = re.compile(r" *([^:]+): *(\d+):(?:Source:(.*))?")


def read_gcov(text: str, found: dict[str, Lines]) -> None:
    """Add what `gcov --stdout` printed of one object: its sources one after another."""
    lines: Lines | None = None
    for row in text.splitlines():
        match = _LINE.match(row)
        if match is None:
            continue
        count, number, source = match[1], int(match[2]), match[3]
        if source is not None:
            lines = found[source] if _OWN.match(source) else None
        elif lines is not None and count != "-" and number:
            lines[number] = lines.get(number, False) or not count.startswith(("#", "="))


def of_objects(build: Path) -> dict[str, Lines]:
    found: dict[str, Lines] = defaultdict(dict)
    for notes in sorted(build.rglob("*.gcno")):
        command = ["gcov", "--stdout", str(notes.resolve())]
        read_gcov(subprocess.run(command, check=True, capture_output=True, text=True, cwd=ROOT).stdout, found)
    return found


def of_python(path: Path) -> dict[str, Lines]:
    files = json.loads(path.read_text("utf-8"))["files"]
    return {
        f"bbpe{name.rpartition('bbpe')[2]}": dict.fromkeys(file["executed_lines"], True)
        | dict.fromkeys(file["missing_lines"], False)
        for name, file in files.items()
    }


def spans(numbers: list[int]) -> str:
    """Numbers in order as `3, 5-7`."""
    shown = []
    for _, run in groupby(enumerate(numbers), lambda pair: pair[1] - pair[0]):
        first, *rest = [number for _, number in run]
        shown.append(f"{first}-{rest[-1]}" if rest else str(first))
    return ", ".join(shown)


def main() -> int:
    found = of_objects(Path(sys.argv[1]))
    for path in sys.argv[2:]:
        found |= of_python(Path(path))
    total = sum(map(len, found.values()))
    run = sum(sum(lines.values()) for lines in found.values())
    for name, lines in sorted(found.items()):
        missing = sorted(number for number, was_run in lines.items() if not was_run)
        if missing:
            print(f"{name:36} {1 - len(missing) / len(lines):4.0%} of {len(lines):4}; not run: {spans(missing)}")
    print(f"{run} of {total} lines in {len(found)} files are run")
    return 0


if __name__ == "__main__":
    sys.exit(main())
