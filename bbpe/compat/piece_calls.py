"""The common part of the methods of SentencePiece's processor: two names each, and offsets of bytes."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import accumulate
from typing import TypeVar

_T = TypeVar("_T")


def snake_case(cls: type[_T]) -> type[_T]:
    """Give each method of a class its name in snake_case, too."""
    for name, value in list(vars(cls).items()):
        if name[:1].isupper():
            snake = re.sub(r"(?<!^)(?=[A-Z])", "_", name).lower().replace("n_best", "nbest")
            setattr(cls, snake, value)
    return cls


def of_bytes(text: str, normalized: str, sources: Sequence[int]) -> tuple[bytes, list[int]]:
    """Return a normalized text as bytes, and the byte of a text that each byte and the end come from.

    `sources` has the characters.  If no byte is left SentencePiece has no offset of the end.
    """
    starts = list(accumulate((len(char.encode()) for char in text), initial=0))
    found = [starts[source] for char, source in zip(normalized, sources, strict=False) for _ in char.encode()]
    return normalized.encode(), [*found, starts[sources[-1]]] if found else []
