"""What holds for each wheel before it is published: `python tests/wheels.py FOLDER`."""

from __future__ import annotations

import sys
import zipfile
from pathlib import Path

#: The most bytes that a wheel may have; docs/platforms.md says so.
LIMIT = 2_700_000
#: Sources of the compiled modules, which are no use without the C core.
_SOURCES = {".c", ".h", ".pyx", ".pxd"}


def faults(wheel: Path) -> list[str]:
    """What is wrong with a wheel."""
    size = wheel.stat().st_size
    found = [f"has {size:,} bytes, more than {LIMIT:,}"] if size > LIMIT else []
    with zipfile.ZipFile(wheel) as archive:
        names = [Path(name) for name in archive.namelist()]
    compiled = [name for name in names if name.suffix in (".so", ".pyd")]
    if len(compiled) != 1 or not compiled[0].match("bbpe/core/_compiled.*"):
        found.append(f"has not one compiled file, but {', '.join(map(str, compiled)) or 'none'}")
    return found + [f"has {name}" for name in names if name.suffix in _SOURCES or name.parts[0] == "tests"]


def main(folder: str) -> int:
    wheels = sorted(Path(folder).glob("*.whl"))
    failed = 0 if wheels else 1
    for wheel in wheels:
        wrong = faults(wheel)
        failed += len(wrong)
        print(f"{wheel.name}: {'; '.join(wrong) or f'{wheel.stat().st_size:,} bytes'}")
    if not wheels:
        print(f"no wheel in {folder}")
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
