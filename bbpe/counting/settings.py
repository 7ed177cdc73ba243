"""The options of counting, checked before anything is read."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping, Sequence, Set
from concurrent.futures import Executor
from dataclasses import dataclass

from ..budget import Budget, parse_bytes
from ..corpus.chunks import Rules
from ..corpus.kinds import Format, check_format
from ..corpus.sources import BLOCK, Reading
from ..splitting.patterns import Pattern
from ..threads import thread_count
from .counts import Document, Kind, kind_of

#: Bytes of text that a worker counts at once.
_BLOCK = BLOCK
#: Blocks that reading and one thread take.
_BUFFERS = 16


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
    format: Format | None = None

    @property
    def most(self) -> int:
        """Bytes that one text may take before it is cut, within what memory is left for; 0: any number."""
        if self.max_memory is None:
            return 0
        try:
            tables = Budget.of(self.max_memory, buffers=_BUFFERS * _BLOCK).tables
        except ValueError:  # too little for counting at all, which says so itself
            tables = 0
        return max(2 * _BLOCK, tables // 4)

    def reading(self) -> Reading:
        """Return how files are read."""
        return Reading(self.text_field, _BLOCK, self.format, self.most)

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
            self.most,
        )


def checked_specials(tokens: Sequence[str]) -> tuple[str, ...]:
    """Return special tokens in their order; `TypeError` when they have none, `ValueError` naming a wrong one."""
    if isinstance(tokens, Mapping):
        raise TypeError(
            f"special_tokens must be a sequence of strings, not {type(tokens).__name__}: new tokens get ids in the "
            "order of the sequence; give list(special_tokens), and read the ids from the tokenizer's special_tokens"
        )
    if isinstance(tokens, Set):
        raise TypeError(
            f"special_tokens must be a sequence of strings, not {type(tokens).__name__}, whose order, which their ids "
            "have, is another one in each run; give sorted(special_tokens), or a list"
        )
    if isinstance(tokens, str) or not isinstance(tokens, Sequence):
        raise TypeError(f"special_tokens must be a sequence of strings, such as a list, not {type(tokens).__name__}")
    for number, token in enumerate(tokens):
        if not isinstance(token, str):
            raise TypeError(f"special_tokens[{number}] must be a str, not {type(token).__name__}")
        if not token:
            raise ValueError(f"special_tokens[{number}] is empty; expected at least one character")
    twice = next((token for token, often in Counter(tokens).items() if often > 1), None)
    if twice is not None:
        raise ValueError(f"special_tokens: {twice!r} is given twice; expected each token once")
    return tuple(tokens)


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
    format: Format | None = None,  # noqa: A002
) -> Settings:
    """Check arguments before anything is read."""
    specials = checked_specials(special_tokens)
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
    check_format(format)
    kind = kind_of(pattern, specials, document, max_pretoken_bytes)
    if max_memory is not None:
        parse_bytes(max_memory)
    return Settings(kind, sample, max_memory, thread_count(threads), executor, checkpoint, text_field, format)
