"""The memory that a job may take, and the memory that it has."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

from .core import budget as core
from .errors import MemoryLimitError
from .lazy import lazy_re, safe_import
from .records import dataclass, whole

#: The memory of pyarrow's libraries once they are imported, in bytes; measured.
_PYARROW = 64 << 20
#: The memory of an interpreter with numpy and this package, where the system does not report it; measured.
_INTERPRETER = 40 << 20
#: What allocators keep and huge pages round up, in bytes; measured.
_SLACK = 16 << 20
#: Limits of control groups from here on mean that there is no limit.
_NO_LIMIT = 1 << 60
_CGROUPS_OF, _CGROUPS = Path("/proc/self/cgroup"), Path("/sys/fs/cgroup")
_UNITS = {"": 0, "k": 1, "m": 2, "g": 3, "t": 4}
_COUNTS = {"": 0, "k": 1, "m": 2, "b": 3, "t": 4}
_COUNT = lazy_re(r"([0-9]+)(?:\.([0-9]+))?([kmbt]?)", re.IGNORECASE)
_SIZE = lazy_re(r"\s*(\d+(?:\.\d+)?)\s*([kmgt]?)(i?)b?\s*", re.IGNORECASE)


def parse_bytes(size: int | str, name: str = "") -> int:
    """Read a size in bytes: an int, or a number and a unit; kB, MB, GB, TB are powers of 1000, and KiB, ... of 1024.

    Errors name the argument if it is given.

    Raises `ValueError` for a string that is no size and for a size that is not positive, `TypeError` for other types.

    Example:
        >>> parse_bytes("4GB"), parse_bytes("1.5 MiB"), parse_bytes(1000)
        (4000000000, 1572864, 1000)
    """
    of = f"{name}: " if name else ""
    if not isinstance(size, str):
        size = whole(name or "a size", size, expected="an int or a string such as '4GB'")
    else:
        found = _SIZE.fullmatch(size)
        if found is None or (found[3] and not found[2]):
            raise ValueError(f"{of}{size!r} is no size; expected a number of bytes, or one with a unit, such as '4GB'")
        size = int(float(found[1]) * (1024 if found[3] else 1000) ** _UNITS[found[2].lower()])
    if size <= 0:
        raise ValueError(f"{name or 'a size'} is {size} bytes; expected more than 0")
    return size


def parse_count(count: int | str, name: str) -> int:
    """Read a number of tokens: an int, or a number and k, M, B or T, the powers of 1000.

    Raises `ValueError` naming the argument for a string that is no whole number of tokens, and for a number that is not
    positive; `TypeError` for other types.

    Example:
        >>> parse_count("100B", "tokens"), parse_count("1.5M", "tokens"), parse_count(1000, "tokens")
        (100000000000, 1500000, 1000)
    """
    if not isinstance(count, str):
        return whole(name, count, 1, expected="an int or a string such as '100B'")
    found = _COUNT.fullmatch(count)
    if found is None:
        raise ValueError(f"{name} is {count!r}; expected a number such as 1000000, '1.5M' or '100B'")
    # in whole numbers: a float would round from 2**53 on
    digits, decimals = found[1], found[2] or ""
    number: int = int(digits + decimals) * 1000 ** _COUNTS[found[3].lower()]
    number, rest = divmod(number, 10 ** len(decimals))
    if rest or not number:
        raise ValueError(f"{name} is {count!r}; expected a whole number of at least 1")
    return number


def shown(size: float) -> str:
    """Write a size for people.

    Example:
        >>> shown(2_340_000_000), shown(1_000)
        ('2.3 GB', '1.0 kB')
    """
    for unit, power in (("TB", 4), ("GB", 3), ("MB", 2), ("kB", 1)):
        if size >= 1000**power:
            return f"{size / 1000**power:.1f} {unit}"
    return f"{size:.0f} bytes"


def set_cache_limit(limit: int | str) -> None:
    """Set how much memory the caches of all tokenizers in this process may take together; the default is 64 MiB.

    At the limit, caches that no call has used for a second are freed first, then caches at least twice as large as the
    new one. So each tokenizer gets a share, even if others came first. If you lower the limit, bbpe frees idle caches
    at once.

    bbpe may also keep the memory of the last large array of ids that you freed for the next one, up to the same limit.

    Args:
        limit: A number of bytes, or a string with a unit, such as "1GB" or "64 MiB".  With 0 each call has only a few
            kilobytes of its own, and encoding is slower.

    Raises:
        ValueError: The limit is negative, at least 2**63, or not a size.
        TypeError: The limit is neither an int nor a string.

    Example:
        >>> import bbpe
        >>> bbpe.set_cache_limit("64 MiB")
    """
    given: object = parse_bytes(limit, "limit") if isinstance(limit, str) else limit
    size = whole("limit", given, 0, expected="an int or a string such as '4GB'")
    if size >= 2**63:
        raise ValueError(f"the cache limit is {size} bytes; expected less than 2**63")
    safe_import("bbpe.core.states")
    from .core.states import free_beyond_limit

    core.set_cache_limit(size)
    free_beyond_limit()


def resident_bytes() -> int:
    """Return the memory of this process in bytes; without psutil the highest that it has had."""
    try:
        safe_import("psutil")
        import psutil

        return int(psutil.Process().memory_info().rss)
    except ImportError:
        pass
    try:
        safe_import("resource")
        import resource
    except ImportError:
        return _INTERPRETER
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak << 10


@dataclass(frozen=True)
class Limit:
    """The number of bytes that the process may have, and the name of the limit."""

    size: int
    name: str

    def __str__(self) -> str:
        return f"{self.name} is {shown(self.size)}"


def limit_of(max_memory: int | str) -> Limit:
    """Return the lowest limit that applies: `max_memory`, or one that the system has set for this process.

    Example:
        >>> limit_of("1MB")
        Limit(size=1000000, name='max_memory')
    """
    return min((Limit(parse_bytes(max_memory), "max_memory"), *_system_limits()), key=lambda limit: limit.size)


def check_resident(max_memory: int | str) -> None:
    """Raise `MemoryLimitError` when the process takes more than a limit already."""
    taken, limit = resident_bytes(), limit_of(max_memory)
    if taken > limit.size:
        raise MemoryLimitError(f"the process takes {shown(taken)} already, and {limit}; expected more")


def system_limit() -> Limit | None:
    """Return the lowest limit that the system has set for this process; `None` where it has set none."""
    return min(_system_limits(), key=lambda limit: limit.size, default=None)


def _system_limits() -> Iterator[Limit]:
    """Yield the limits of control groups (v1 and v2), and the limit of address space less what is mapped already."""
    for path in _cgroup_files():
        try:
            text = path.read_text("ascii").strip()
        except (OSError, ValueError):
            continue
        # "max", and in v1 a number of pages that no machine has
        if text.isdigit() and int(text) < _NO_LIMIT:
            yield Limit(int(text), f"the memory limit of the control group ({path})")
    try:
        safe_import("resource")
        import resource
    except ImportError:
        return
    space = resource.getrlimit(resource.RLIMIT_AS)[0]
    if space != resource.RLIM_INFINITY:
        more = space - _mapped_bytes()
        yield Limit(max(resident_bytes() + more, 1), "what the limit of address space (ulimit -v) allows")


def _cgroup_files() -> Iterator[Path]:
    """Yield the files of limits of this process's control groups and of those above them."""
    try:
        lines = _CGROUPS_OF.read_text("utf-8").splitlines()
    except (OSError, ValueError):
        return
    for line in lines:
        _, _, rest = line.partition(":")
        controllers, _, group = rest.partition(":")
        if controllers and "memory" not in controllers.split(","):
            continue
        name = "memory.limit_in_bytes" if controllers else "memory.max"
        root = _CGROUPS / "memory" if controllers else _CGROUPS
        # a container sees the files of its own group at the root, whatever path it is told
        folder = root / group.strip("/")
        yield from (parent / name for parent in (folder, *folder.parents) if parent.is_relative_to(root))


def _mapped_bytes() -> int:
    try:
        safe_import("psutil")
        import psutil

        return int(psutil.Process().memory_info().vms)
    except ImportError:
        return resident_bytes()


def _base() -> int:
    """Return the memory that the process takes before anything is counted."""
    return resident_bytes() + (0 if "pyarrow" in sys.modules else _PYARROW) + _SLACK


def affordable_threads(max_memory: int | str, threads: int, each: int) -> int:
    """Return how many of the threads, each with `each` bytes for texts, leave most of the memory to tables; at least 1.

    Example:
        >>> affordable_threads("100GB", 8, 1 << 20), affordable_threads("1MB", 8, 1 << 20)
        (8, 1)
    """
    return max(1, min(threads, (limit_of(max_memory).size - _base()) // 4 // each))


@dataclass(frozen=True)
class Budget:
    """The memory that counting may take: `limit` for the whole process, `tables` for counts before they are spilled.

    `name` is the name of the limit.
    """

    limit: int
    tables: int
    name: str = "max_memory"

    @classmethod
    def of(cls, max_memory: int | str, *, buffers: int) -> Budget:
        """Divide the memory that the process may take, of which `buffers` bytes are for texts.

        Raises `ValueError` when less is left than counting needs.
        """
        limit, base = limit_of(max_memory), _base()
        room = limit.size - base - buffers
        # spilling copies the rows once, and a table grows by doubling: a third of the room is what it may hold
        tables = room // 3
        if tables < 1 << 20:
            raise ValueError(
                f"{limit}; Python, pyarrow and buffers take {shown(base + buffers)} of it, "
                f"expected at least {shown(base + buffers + (8 << 20))}"
            )
        return cls(limit.size, tables, limit.name)
