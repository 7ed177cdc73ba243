"""Decoding: ids -> the text, as bytes where the library has them, else as str.

The ids are the library's own.  A text that is cut at the end of a character has one answer in both.
"""

from __future__ import annotations

import numpy as np

from benchmarks.peers import PEERS

from .encoding import load
from .registry import Timed, define, job


def _text_as_bytes(text: bytes | str) -> bytes:
    return text.encode() if isinstance(text, str) else text


define("decode_array", _text_as_bytes, vocab="cl100k", passes="3")
define("decode_list", _text_as_bytes, vocab="cl100k", passes="3")


@job("decode_array", PEERS)
def decode_array(library: str, text: bytes, options: dict[str, str]) -> Timed:
    """From uint32[n]: bbpe and gigatoken take it; for others `tolist` is inside the clock, which is faster than
    letting those that accept an array iterate over it.
    """
    tok = load(library, options)
    ids = np.array(tok.flat(text.decode()), dtype=np.uint32)
    return lambda: tok.decode_array(ids)


@job("decode_list", PEERS)
def decode_list(library: str, text: bytes, options: dict[str, str]) -> Timed:
    """From a list of int."""
    tok = load(library, options)
    ids = np.asarray(tok.flat(text.decode()), dtype=np.uint32).tolist()
    return lambda: tok.decode_list(ids)
