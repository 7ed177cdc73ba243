"""latency: one short call, warm."""

from __future__ import annotations

import statistics
from collections import deque

from benchmarks.peers import PEERS

from .encoding import load
from .registry import CLOCKS, MICROSECONDS, Measured, Timed, define, job

_TEXTS = 2000
_BLOCK = 200
_BLOCKS = 51

define("latency", lambda ids: repr(ids).encode(), MICROSECONDS, vocab="cl100k", chars="100", texts="turn")


@job("latency", PEERS)
def latency(library: str, text: bytes, options: dict[str, str]) -> Timed:
    """A text of `chars` characters -> a list of int, by `Peer.one` of each library.

    `texts=turn`: 2000 different texts of the corpus in turn, all seen before; `texts=same`: one text again and again.
    51 blocks of 200 calls; the cost is the median block's mean, with some 20 ns of the loop.
    """
    tok = load(library, options)
    texts = _cut(text.decode(), int(options["chars"]), options["texts"] == "same")
    encode = tok.one()
    clock = CLOCKS[options["clock"]]

    def run() -> Measured:
        answer = [encode(each) for each in texts[:_BLOCK]]
        deque(map(encode, texts), maxlen=0)
        times = []
        for block in range(_BLOCKS):
            first = block * _BLOCK % _TEXTS
            part = texts[first : first + _BLOCK]
            start = clock()
            deque(map(encode, part), maxlen=0)
            times.append(clock() - start)
        return Measured(statistics.median(times) / _BLOCK, answer)

    return run


def _cut(text: str, chars: int, same: bool) -> list[str]:
    """2000 texts from all over the corpus; each one is a str of its own."""
    step = (len(text) - chars) // _TEXTS
    if step < 1:
        raise SystemExit(f"the corpus is too short for {_TEXTS} texts of {chars} characters")
    starts = [0 if same else index * step for index in range(_TEXTS)]
    return [text[start : start + chars] for start in starts]
