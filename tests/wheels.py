"""What holds for each wheel before it is published: `python tests/wheels.py FOLDER`."""

from __future__ import annotations

import sys
import zipfile
from pathlib import Path

#: The most bytes that a wheel may have, by what the name of its platform begins with; docs/platforms.md says so.
#: Clang, which compiles those for macOS and Windows, makes larger code of the same sources than GCC.
LIMITS = {"manylinux": 2_700_000, "musllinux": 2_700_000, "linux": 2_700_000, "macosx": 3_000_000, "win": 3_000_000}
#: Sources of the compiled modules, which are no use without the C core.
_SOURCES = {".c", ".h", ".pyx", ".pxd"}


def limit(wheel: Path) -> int:
    """The most bytes that a wheel of this name may have: none if its platform is not one of ours."""
    platform = wheel.stem.rpartition("-")[2]
    return next((size for system, size in LIMITS.items() if platform.startswith(system)), 0)


def faults(wheel: Path) -> list[str]:
    """What is wrong with a wheel."""
    size, most = wheel.stat().st_size, limit(wheel)
    found = [f"has {size:,} bytes, more than {most:,}"] if size > most else []
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
