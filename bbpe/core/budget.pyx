"""What all tokenizers of a process share: the limit of their caches, turns at the interpreter's lock, a random number, and
the instructions that they use."""
from bbpe.core.c_base cimport (
    BBPE_ATOMIC_STORE, BBPE_CPU_AVX2, BBPE_CPU_BASE, bbpe_cpu_level, bbpe_cpu_level_lower, bbpe_cpu_level_name,
)

import sys
from os import cpu_count, urandom

BUDGET.limit = 64 << 20
BUDGET.used = 0
# a thread that looks takes a core; builds of Python without a lock have no turns
TURNS.most_looking = max((cpu_count() or 1) - 1, 0) if getattr(sys, "_is_gil_enabled", lambda: True)() else 0
#: "base", "avx2", "avx512" or "neon".
CPU: str = bbpe_cpu_level_name().decode("ascii")
SALT = int.from_bytes(urandom(8), "little")


def lower_cpu(level: str) -> str:
    """Have what is made from now on in this process use no more than "base" or "avx2", so that the results of several
    processors can be compared on one of them; returns what it uses.  `CPU` stays what this one has."""
    cdef dict levels = {"base": BBPE_CPU_BASE, "avx2": BBPE_CPU_AVX2}
    bbpe_cpu_level_lower(<bbpe_cpu_level>levels[level])
    return bbpe_cpu_level_name().decode("ascii")


def set_cache_limit(limit: int):
    """Set how many bytes the caches of all tokenizers of this process may take together; 64 MiB at first.

    As much again may be kept of the memory of the last large array of ids that was dropped, for the next one.
    Caches that exist stay, until `states.free_beyond_limit`.  With 0 there are none but a few kilobytes of each call's
    own, and encoding is slower.  Raises `ValueError` on a negative limit.

    >>> bbpe.set_cache_limit(64 << 20)
    """
    if limit < 0:
        raise ValueError(f"the cache limit is {limit} bytes; expected 0 or more")
    BBPE_ATOMIC_STORE(&BUDGET.limit, limit)
