"""The options of counting, checked before anything is read."""

from __future__ import annotations

import os
from collections.abc import Sequence
from concurrent.futures import Executor
from dataclasses import dataclass

from .budget import parse_bytes
from .chunks import Rules
from .counts import Document, Kind, kind_of
from .parallel import thread_count
from .patterns import Pattern
from .sources import BLOCK

#: Bytes of text that a worker counts at once.
_BLOCK = BLOCK


@dataclass(frozen=True)
class Settings:
    """The checked arguments of one count."""

    kind: Kind
    sample: float = 1.0
    max_memory: int | str | None = None
    threads: int = 1
    executor: Executor | None = None
    checkpoint: str | os.PathLike[str] | None = None
    text_field: str = "text"

    def rules(self) -> Rules:
        """Return what workers need to know."""
        specials = tuple(token.encode("utf-8", "surrogatepass") for token in self.kind.special_tokens)
        return Rules(
            self.kind.pattern,
            specials,
            self.kind.document == "line",
            self.kind.max_pretoken_bytes or 0,
            self.sample,
            _BLOCK,
        )


def settings_of(
    pattern: str | Sequence[str] | Pattern,
    special_tokens: Sequence[str] = (),
    document: Document = "file",
    *,
    max_memory: int | str | None = None,
    threads: int | None = None,
    executor: Executor | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    max_pretoken_bytes: int | None = None,
    sample: float = 1.0,
    text_field: str = "text",
) -> Settings:
    """Check arguments before anything is read."""
    if isinstance(special_tokens, str) or not all(isinstance(token, str) for token in special_tokens):
        raise TypeError(f"special_tokens must be a sequence of strings, not {special_tokens!r}")
    specials = tuple(special_tokens)
    if "" in specials or len(set(specials)) != len(specials):
        raise ValueError(f"special_tokens must be different and not empty: {specials!r}")
    if document not in ("file", "line"):
        raise ValueError(f"document is {document!r}; expected 'file' or 'line'")
    if isinstance(sample, bool) or not isinstance(sample, (int, float)):
        raise TypeError(f"sample must be a number, not {type(sample).__name__}")
    if not 0 < sample <= 1:
        raise ValueError(f"sample is {sample}; expected more than 0 and at most 1")
    if max_pretoken_bytes is not None:
        if isinstance(max_pretoken_bytes, bool) or not isinstance(max_pretoken_bytes, int):
            raise TypeError(f"max_pretoken_bytes must be an int or None, not {type(max_pretoken_bytes).__name__}")
        if max_pretoken_bytes < 1:
            raise ValueError(f"max_pretoken_bytes is {max_pretoken_bytes}; expected at least 1")
    if executor is not None and not isinstance(executor, Executor):
        raise TypeError(f"executor must be a concurrent.futures.Executor, not {type(executor).__name__}")
    if not isinstance(text_field, str):
        raise TypeError(f"text_field must be a str, not {type(text_field).__name__}")
    kind = kind_of(pattern, specials, document, max_pretoken_bytes)
    if max_memory is not None:
        parse_bytes(max_memory)
    return Settings(kind, sample, max_memory, thread_count(threads), executor, checkpoint, text_field)
