"""Encoding: one text or many, to arrays or lists.

`passes=1` is cold, the first pass of a tokenizer that has encoded "hello" and nothing else; `passes=3` is warm, its
third over the same text.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.peers import PEERS, Peer
from benchmarks.texts import documents
from benchmarks.vocabularies import vocabulary

from .registry import MILLISECONDS_PER_MB, Timed, define, job


def load(library: str, options: dict[str, str]) -> Peer:
    """Return a fresh tokenizer of a library that has encoded one word: some put off half of their loading."""
    where = vocabulary(options["vocab"], Path(options["folder"]))
    PEERS[library].imported()
    tok = PEERS[library](where, int(options["threads"]))
    tok.flat("hello")
    return tok


def ids_as_bytes(ids: Any) -> bytes:
    return np.asarray(ids, dtype=np.uint32).tobytes()


def lists_as_bytes(lists: list[list[int]]) -> bytes:
    offsets = np.cumsum([0, *map(len, lists)], dtype=np.int64)
    ids = np.concatenate([np.asarray(ids, dtype=np.uint32) for ids in lists])
    return ids.tobytes() + offsets.tobytes()


def _ragged_as_bytes(ragged: tuple[Any, Any]) -> bytes:
    ids, offsets = ragged
    return np.asarray(ids, np.uint32).tobytes() + np.asarray(offsets).astype(np.int64).tobytes()


define("encode_flat", ids_as_bytes, vocab="cl100k")
define("encode_threads", ids_as_bytes, vocab="cl100k", threads="2")
define("worst", ids_as_bytes, MILLISECONDS_PER_MB, vocab="cl100k")
define("encode_lists", lists_as_bytes, vocab="cl100k", document="2000")
define("encode_batch_flat", _ragged_as_bytes, vocab="cl100k", document="2000")


@job("worst", PEERS)
@job("encode_threads", PEERS)
@job("encode_flat", PEERS)
def encode_flat(library: str, text: bytes, options: dict[str, str]) -> Timed:
    """One str -> ids; `worst` is the same over made-up texts, `encode_threads` the same with two threads.

    `Peer.flat` of each library: uint32 arrays, but a list from tokenizers, which has no arrays.
    """
    tok = load(library, options)
    decoded = text.decode()
    return lambda: tok.flat(decoded)


@job("encode_lists", PEERS)
def encode_lists(library: str, text: bytes, options: dict[str, str]) -> Timed:
    """A list of documents of `document` bytes or a little more, cut at line ends -> a list of lists of int."""
    tok = load(library, options)
    texts = documents(text.decode(), int(options["document"]))
    return lambda: tok.lists(texts)


@job("encode_batch_flat", PEERS)
def encode_batch_flat(library: str, text: bytes, options: dict[str, str]) -> Timed:
    """The same documents -> all ids in one array and where each document's begin.

    tiktoken gives an array a document and tokenizers a list; numpy joins them inside the clock.
    """
    tok = load(library, options)
    texts = documents(text.decode(), int(options["document"]))
    return lambda: tok.batch_flat(texts)
