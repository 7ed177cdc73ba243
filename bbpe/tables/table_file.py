"""A tokenizer in a file: its spec as JSON, and the tables of its vocabulary, merges and model as they are in memory.

The file begins with `_MAGIC` and two numbers of 64 bits: the length of the JSON and its checksum.  The JSON has the key
of the file, the data of the spec, and the length and the checksum of each block.  The blocks follow in order, each at a
multiple of `ALIGNMENT`.  So whatever was damaged is found out before it is used.
"""

from __future__ import annotations

import json
from typing import Any

from ..core.bpe import BPE
from ..core.image import ALIGNMENT, checksum
from ..spec.models import Merges, Vocab
from ..spec.pickled import plain_fields, spec_of_fields
from ..tokenizer import Tokenizer

#: The number is that of the layout of files and tables: another layout needs another one.
_MAGIC = b"bbpe tables 1\r\n\0"
_HEAD = len(_MAGIC) + 16


def table_file(tokenizer: Tokenizer, key: str) -> list[bytes]:
    """Return the content of the file of a tokenizer, in parts; `key` is what it will be found by."""
    spec, model = tokenizer.spec, tokenizer._parts.encoder.encoder.model
    assert isinstance(spec.vocab, Vocab)
    blocks = {"vocab": spec.vocab.image()}
    if isinstance(spec.merges, Merges):
        blocks["merges"] = spec.merges.image()
    if isinstance(model, BPE):
        blocks["model"] = model.image()
    rows = {name: [len(block), checksum(block)] for name, block in blocks.items()}
    head = json.dumps({"key": key, "spec": plain_fields(spec), "blocks": rows}).encode()
    numbers = len(head).to_bytes(8, "little") + checksum(head).to_bytes(8, "little")
    return [_MAGIC, numbers, head, bytes(-(_HEAD + len(head)) % ALIGNMENT), *blocks.values()]


def tokenizer_of(data: memoryview, key: str) -> Tokenizer:
    """Return the tokenizer of a file with this key, which uses the tables where they are and keeps `data`.

    Raises `ValueError` when this is not such a file, all of it as it was written.
    """
    size = int.from_bytes(data[len(_MAGIC) : len(_MAGIC) + 8], "little")
    head = data[_HEAD : _HEAD + size]
    digest = int.from_bytes(data[_HEAD - 8 : _HEAD], "little")
    if data[: len(_MAGIC)] != _MAGIC or len(head) != size or checksum(head) != digest:
        raise ValueError("the file is not one of finished tables, or is damaged")
    found = json.loads(bytes(head))
    if found["key"] != key:
        raise ValueError(f"the tables are those of {found['key']}")
    blocks = _blocks(data, _HEAD + size, found["blocks"])
    merges = Merges.of_image(blocks["merges"]) if "merges" in blocks else None
    tokenizer = Tokenizer(spec_of_fields(Vocab.of_image(blocks["vocab"]), merges, found["spec"]))
    if "model" in blocks:
        tokenizer._parts.model = BPE({}, None, image=blocks["model"])
    return tokenizer


def _blocks(data: memoryview, start: int, rows: dict[str, Any]) -> dict[str, memoryview]:
    """Return the blocks after `start` by name, all of whose checksums are right."""
    blocks = {}
    for name, (size, digest) in rows.items():
        start += -start % ALIGNMENT
        blocks[name] = data[start : start + size]
        if len(blocks[name]) != size or checksum(blocks[name]) != digest:
            raise ValueError(f"the tables {name!r} are damaged")
        start += size
    if start != len(data):
        raise ValueError(f"the file has {len(data)} bytes; expected {start}")
    return blocks
