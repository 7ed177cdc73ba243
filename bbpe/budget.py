"""How much memory a job may take, and how much it has."""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass
from pathlib import Path

#: What pyarrow's libraries take once they are imported, in bytes; measured.
_PYARROW = 64 << 20
#: What an interpreter with numpy and this package takes where the system does not tell; measured.
_INTERPRETER = 40 << 20
#: What allocators keep besides, and huge pages round up, in bytes; measured.
_SLACK = 16 << 20
_UNITS = {"": 0, "k": 1, "m": 2, "g": 3, "t": 4}
_SIZE = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([kmgt]?)(i?)b?\s*", re.IGNORECASE)


def parse_bytes(size: int | str) -> int:
    """Read a size in bytes: an int, or a number and a unit; kB, MB, GB, TB are powers of 1000, and KiB, ... of 1024.

    Raises `ValueError` on what is no size or not positive, `TypeError` on other types.

    >>> parse_bytes("4GB"), parse_bytes("1.5 MiB"), parse_bytes(1000)
    (4000000000, 1572864, 1000)
    """
    if isinstance(size, bool) or not isinstance(size, (int, str)):
        raise TypeError(f"a size is an int or a string such as '4GB', not {type(size).__name__}")
    if isinstance(size, str):
        found = _SIZE.fullmatch(size)
        if found is None or (found[3] and not found[2]):
            raise ValueError(f"{size!r} is no size; expected a number of bytes, or one with a unit, such as '4GB'")
        size = int(float(found[1]) * (1024 if found[3] else 1000) ** _UNITS[found[2].lower()])
    if size <= 0:
        raise ValueError(f"a size is {size} bytes; expected more than 0")
    return size


def shown(size: float) -> str:
    """Write a size for people.

    >>> shown(2_340_000_000), shown(1_000)
    ('2.3 GB', '1.0 kB')
    """
    for unit, power in (("TB", 4), ("GB", 3), ("MB", 2), ("kB", 1)):
        if size >= 1000**power:
            return f"{size / 1000**power:.1f} {unit}"
    return f"{size:.0f} bytes"


def resident_bytes() -> int:
    """Return how much memory this process has now."""
    try:
        import resource

        pages = int(Path("/proc/self/statm").read_text("ascii").split()[1])
        return pages * resource.getpagesize()
    except (ImportError, OSError, ValueError, IndexError):
        return _INTERPRETER


def _base() -> int:
    """Return what the process takes before anything is counted."""
    return resident_bytes() + (0 if "pyarrow" in sys.modules else _PYARROW) + _SLACK


def affordable_threads(max_memory: int | str, threads: int, each: int) -> int:
    """Return how many of the threads, each with `each` bytes for texts, leave most of the memory to tables; at least 1.

    >>> affordable_threads("100GB", 8, 1 << 20), affordable_threads("1MB", 8, 1 << 20)
    (8, 1)
    """
    return max(1, min(threads, (parse_bytes(max_memory) - _base()) // 4 // each))


@dataclass(frozen=True)
class Budget:
    """The memory that counting may take: `limit` for the whole process, `tables` for counts before they are spilled."""

    limit: int
    tables: int

    @classmethod
    def of(cls, max_memory: int | str, *, buffers: int) -> Budget:
        """Divide what the process may take, of which `buffers` bytes are for texts.

        Raises `ValueError` when less is left than counting needs.
        """
        limit = parse_bytes(max_memory)
        base = _base()
        room = limit - base - buffers
        # spilling copies the rows once, and a table grows by doubling: a third of the room is what it may hold
        tables = room // 3
        if tables < 1 << 20:
            raise ValueError(
                f"max_memory is {shown(limit)}; Python, pyarrow and buffers take {shown(base + buffers)} of it, "
                f"expected at least {shown(base + buffers + (8 << 20))}"
            )
        return cls(limit, tables)
