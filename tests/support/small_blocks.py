"""Small blocks and small caches for all tests of a process: what takes a second block of real size needs none here.

Processes that tests start have the real sizes.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module

import pytest

#: By module: how much is read, written or computed at once, and how much is remembered.
SIZES = {
    "cli.decode": {"_BLOCK": 11},
    "cli.encode": {"_WORDS": 11},
    "cli.operators": {"_BLOCK": 101},
    "compat.sentencepiece.model": {"_CHARACTERS": 5},
    "compat.sentencepiece.results": {"_FIELDS": 5},
    "corpus.ranges": {"_WINDOW": 7},
    "corpus.records": {"_ROWS": 5, "_PARQUET_BUFFER": 1 << 12},
    "corpus.rowfiles": {"ROWS": 101},
    "corpus.urls": {"_BUFFER": 1 << 10},
    "counting.corpus_parts": {"_WINDOW": 211},
    "encoding.chunks": {"_PARTS": 3},
    "encoding.decode": {"_GROUP": 53},
    "encoding.engine": {"_MOST_CALLS": 3},
    "encoding.file_ids": {"BLOCK": 1009, "_SLICE": 307, "_BATCH": 4099, "_MOST_RECORDS": 7},
    "encoding.rows": {"_MOST_RULES": 3},
    "files": {"_BLOCK": 101},
    "pipeline.special_tokens": {"_BATCH": 23, "_MOST_POLICIES": 3},
    "published.fetch": {"_BLOCK": 1009},
    "report.measures": {"_FOLLOWED": 1009, "_WORDS_AT_ONCE": 53, "_IDS_AT_ONCE": 101},
    "report.texts": {"_BATCH": 1009},
    "report.verify": {"_BATCH": 7},
    "shards.formats.parquet": {"_GROUP": 53},
    "shards.iterated": {"_BLOCK": 307},
    "shards.open_parts": {"_MOST_OPEN": 2, "_MOST_HELD": 1009},
    "shards.origins": {"_DOCUMENTS": 7, "_MOST_MAPS": 2, "_MOST_BLOCKS": 2},
    "shards.outputs": {"_BLOCK": 1 << 10},
    "shards.part": {"_BLOCK": 7},
    "shards.passes": {"_DOCUMENTS": 7},
    "shards.readers.reader": {"BLOCK": 1 << 10, "DOCUMENTS": 7},
    "shards.row_set": {"_MOST_OPEN": 2, "_MOST_HELD": 1009},
    "shards.row_stream": {"_AT_ONCE": 3},
    "shards.shuffle": {"_AT_ONCE": 7},
    "shards.streams": {"_BLOCK": 1009, "_DOCUMENTS": 7},
    "shards.texts": {"_IDS": 23},
    "splitting.regexes": {"_MATCHES": 53},
    "splitting.splitter": {"_BATCH": 53},
    "tiktoken.core": {"_FEW": 3},
    "training.bpe": {"VISITS": 1 << 12},
    "training.words": {"_STEP": 3, "_VISITS": 1 << 12},
}


@contextmanager
def small_blocks() -> Iterator[None]:
    """Give each module its small sizes, and those that have taken a public one from it, for the time of the context."""
    with pytest.MonkeyPatch.context() as patch:
        for module, sizes in SIZES.items():
            owner = import_module(f"bbpe.{module}")
            for name, size in sizes.items():
                real = getattr(owner, name)
                assert size < real
                takers = [each for key, each in sys.modules.items() if key.startswith("bbpe.") and name[0] != "_"]
                for taker in takers or [owner]:
                    if getattr(taker, name, None) == real:
                        patch.setattr(taker, name, size)
        yield
