"""memory: what encoding a large text takes besides the ids, and whether it grows."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from benchmarks.peers import PEERS
from benchmarks.texts import WORST

from .encoding import ids_as_bytes, load
from .registry import MEGABYTES, Measured, Timed, define, job

_STATUS = Path("/proc/self/status")
_GROWTH_PASSES = 20
_FRESH_BYTES = 4_000_000

define("memory", ids_as_bytes, MEGABYTES, vocab="cl100k", bytes="100000000", growth="same")


def resident(field: str) -> int:
    """Return VmRSS or VmHWM of this process in bytes."""
    line = next(line for line in _STATUS.read_text().splitlines() if line.startswith(field))
    return int(line.split()[1]) * 1024


@job("memory", PEERS)
def memory(library: str, text: bytes, options: dict[str, str]) -> Timed:
    """The corpus, repeated up to `bytes`, -> ids: the peak of the resident size over what it was before, less 4
    bytes an id.  What a library leaves in the str (its UTF-8) counts: it is there because of the call.

    Then 20 passes more over the corpus itself, or with `growth=fresh` over random Chinese that is new each time;
    `growth_mb` is what the resident size has grown by from the end of the first to the end of the last.
    """
    tok = load(library, options)
    size = int(options["bytes"])
    decoded = (text * (size // len(text) + 1))[:size].decode("utf-8", "ignore")
    once = text.decode()
    fresh = options["growth"] == "fresh"

    def one_pass(seed: int) -> None:
        tok.flat(_shuffled(seed) if fresh else once)

    def run() -> Measured:
        before = resident("VmRSS")
        Path("/proc/self/clear_refs").write_text("5")
        ids = tok.flat(decoded)
        peak = resident("VmHWM") - before - 4 * len(ids)
        answer = np.asarray(ids, dtype=np.uint32)
        del ids
        one_pass(0)
        first = resident("VmRSS")
        for seed in range(1, _GROWTH_PASSES + 1):
            one_pass(seed)
        return Measured(peak, answer, {"growth_mb": (resident("VmRSS") - first) / 1e6})

    return run


def _shuffled(seed: int) -> str:
    characters = np.array(list(WORST["random-cjk"](_FRESH_BYTES).decode("utf-8", "ignore")))
    return "".join(np.random.default_rng(seed).permutation(characters))
