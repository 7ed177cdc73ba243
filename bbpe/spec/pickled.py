"""A spec as one block of bytes: equal specs have equal bytes, in every process."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TypeVar

from .merges import Merges
from .plain import plain_fields, spec_of_fields
from .spec import TokenizerSpec
from .vocab import Vocab

S = TypeVar("S")

_NUMBER = 8


def spec_bytes(spec: TokenizerSpec) -> bytes:
    """Return a spec as bytes: its data as JSON, its vocabulary, and its merges if it has any, each after its length."""
    assert isinstance(spec.vocab, Vocab)
    parts = [json.dumps(plain_fields(spec)).encode(), spec.vocab.data()]
    if isinstance(spec.merges, Merges):
        parts.append(spec.merges.data())
    return b"".join(len(part).to_bytes(_NUMBER, "little") + part for part in parts)


def spec_of_bytes(data: bytes) -> TokenizerSpec:
    """Return the spec of `spec_bytes`; `ValueError` or `TypeError` on anything else."""
    parts, start = [], 0
    while start < len(data):
        size = int.from_bytes(data[start : start + _NUMBER], "little")
        start += _NUMBER + size
        if start > len(data):
            raise ValueError(f"found {len(data)} bytes; expected {start} or more")
        parts.append(data[start - size : start])
    fields, vocab, *merges = parts
    return spec_of_fields(
        Vocab.of_data(vocab), Merges.of_data(*merges) if merges else None, json.loads(fields)
    )


def unpickled(kind: Callable[[TokenizerSpec], S], data: bytes) -> S:
    """Return the tokenizer of a pickle, which has it as one block of bytes, so that equal ones have equal pickles."""
    return kind(spec_of_bytes(data))
