"""Compile pre-tokenizers to C; `pre_tokenizers.py` has their slow definitions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from ..core.automaton import Automaton
from ..core.pre_tokenizer import PreTokenizer as CompiledPreTokenizer
from ..spec.rules import Behavior, ByteLevel, Metaspace, PreTokenizer, Split
from ..splitting.automaton import automaton_of
from ..splitting.patterns import Pattern
from .pre_tokenizers import splits_of

if TYPE_CHECKING:
    from ..core.pre_tokenizer import Step


class NotCompiledError(Exception):
    """A rule cannot be compiled; the message says why."""


def compiled_pre_tokenizer(rules: Sequence[PreTokenizer]) -> CompiledPreTokenizer | None:
    """Return a chain of steps that splits as rules do; `None` when one of them cannot be compiled.

    >>> compiled_pre_tokenizer([Metaspace("always", True)]).split(b"a b")[0].decode()
    '▁a▁b'
    """
    try:
        return CompiledPreTokenizer(list(_steps(rules)))
    except NotCompiledError:
        return None


def compiled_pattern(pattern: Pattern) -> CompiledPreTokenizer | None:
    """Return a chain of steps that splits as a pattern does; `None` when one of its regexes cannot be compiled."""
    behavior: Behavior = "Removed" if pattern.drops_gaps else "Isolated"
    return compiled_pre_tokenizer([Split(source, behavior, invert=pattern.drops_gaps) for source in pattern.steps])


def _steps(rules: Sequence[PreTokenizer]) -> Iterator[Step]:
    of_alphabet = False  # the rules after a ByteLevel see the byte alphabet
    for rule in rules:
        match rule:
            case Metaspace(scheme):
                if of_alphabet:
                    raise NotCompiledError("Metaspace after ByteLevel")
                mark = rule.mark.encode()
                yield "rewrite", b"" if scheme == "never" else mark, scheme == "first", mark
            case ByteLevel(add_prefix_space=True):
                if of_alphabet:
                    raise NotCompiledError("ByteLevel after ByteLevel")
                yield "rewrite", b" ", False, b""
        for split in splits_of(rule):
            found = automaton_of(split.regex, of_alphabet=of_alphabet)
            if found.tables is None:
                raise NotCompiledError(f"{split.regex!r} has {found.reason}")
            yield "split", Automaton(found.tables), split.behavior, split.invert
        of_alphabet = of_alphabet or isinstance(rule, ByteLevel)
