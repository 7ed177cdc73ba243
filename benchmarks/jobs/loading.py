"""load: a vocabulary's file -> a tokenizer that has encoded a word."""

from __future__ import annotations

from benchmarks.peers import PEERS

from .encoding import ids_as_bytes, load
from .registry import MILLISECONDS, Timed, define, job

define("load", ids_as_bytes, MILLISECONDS, vocab="cl100k")


@job("load", PEERS)
def load_library(library: str, _text: bytes, options: dict[str, str]) -> Timed:
    """Importing the library is not timed.  The file is the rank file for bbpe, gigatoken and tiktoken, and
    tokenizer.json for fastokens, snaptokens and tokenizers; quicktok and toktok have no choice but their own
    binary data, which is less work.
    """
    PEERS[library].imported()
    return lambda: load(library, options).flat("hello")
