"""How fast regexes compile and split.

    python -m benchmarks.regexes REGEXES TEXT

REGEXES is a file with one regex a line.  The slowest come first, with the speed of splitting the first megabyte of TEXT
and the time of compiling, by the least CPU time of five runs.  Regexes that need Python come last, with the reason.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from bbpe.splitting.automaton import automaton_of
from bbpe.splitting.patterns import Pattern
from bbpe.splitting.splitter import compiled_steps

#: Bytes of the text.
SIZE = 1_000_000


def least(work: Callable[[], object]) -> float:
    """Return the least CPU time of five calls, in seconds."""
    times = []
    for _ in range(5):
        began = time.thread_time()
        work()
        times.append(time.thread_time() - began)
    return min(times)


def compiling(source: str) -> float:
    """Return the time of compiling a regex whose sets of characters are known."""

    def anew() -> None:
        automaton_of.cache_clear()
        automaton_of(source)

    anew()
    return least(anew)


def main(regexes: str, path: str) -> None:
    """Print the regexes of a file, the slowest first."""
    text = Path(path).read_bytes()[:SIZE]
    rows, others = [], []
    for source in Path(regexes).read_text("utf-8").splitlines():
        found = automaton_of(source)
        if found.tables is None:
            others.append(f"{found.reason}: {source}")
            continue
        chain = compiled_steps(Pattern(None, (source,)))
        rows.append((len(text) / 1e6 / least(partial(chain.split, text)), compiling(source) * 1e3, source))
    for speed, taken, source in sorted(rows):
        print(f"{speed:8.1f} MB/s {taken:7.1f} ms  {source}")
    print(*others, sep="\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
