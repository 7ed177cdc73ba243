"""Compile a chain of pre-tokenizer rules into steps that C runs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache, lru_cache
from typing import Any

from ..core.automaton import Automaton
from ..core.pre_tokenizer import PreTokenizer
from ..records import dataclass
from ..spec import rules
from ..spec.rules import ByteLevel, FixedLength, Metaspace, UnicodeScripts
from ..splitting.automaton import automaton_of, tables_of
from ..splitting.automaton_tables import Tables
from .pre_tokenizers import splits_of
from .scripts import script_pieces


@dataclass(frozen=True)
class CompiledRules:
    """A chain of rules in C, or the reason why it has none."""

    steps: PreTokenizer | None
    reason: str = ""


class _NoStepsError(Exception):
    """A rule cannot be compiled; the message is the reason."""


@lru_cache(maxsize=64)
def compiled_rules(chain: tuple[rules.PreTokenizer, ...]) -> CompiledRules:
    """Return the steps that split texts as `pretokens` does by a chain of rules, from a cache.

    The spans are in the original bytes: the steps do not write the byte alphabet of `ByteLevel`.

    >>> compiled_rules((rules.WhitespaceSplit(),)).steps.split(b"a bc")[2].tolist()
    [1, 4]
    >>> compiled_rules((rules.Split("(?=ab)", "Isolated"),)).reason
    "pattern '(?=ab)': a lookaround of more than one character"
    """
    try:
        return CompiledRules(PreTokenizer(list(_steps(chain))))
    except _NoStepsError as error:
        return CompiledRules(None, str(error))


@cache
def _script_tables(of_alphabet: bool) -> Tables:
    return tables_of(script_pieces(), of_alphabet=of_alphabet)


def _steps(chain: Sequence[rules.PreTokenizer]) -> Iterator[tuple[Any, ...]]:
    in_alphabet = False
    for rule in chain:
        if in_alphabet and isinstance(rule, ByteLevel | Metaspace):
            raise _NoStepsError(f"{type(rule).__name__} after ByteLevel")
        if isinstance(rule, FixedLength):
            yield "length", rule.length, in_alphabet
        elif isinstance(rule, UnicodeScripts):
            yield "split", Automaton(_script_tables(in_alphabet)), "Removed", True
        elif isinstance(rule, Metaspace):
            mark = rule.mark.encode()
            yield "rewrite", b"" if rule.prepend_scheme == "never" else mark, rule.prepend_scheme == "first", mark
        elif isinstance(rule, ByteLevel) and rule.add_prefix_space:
            yield "rewrite", b" ", False, b""
        for split in splits_of(rule):
            found = automaton_of(split.regex, of_alphabet=in_alphabet)
            if found.tables is None:
                raise _NoStepsError(f"pattern {split.regex!r}: {found.reason}")
            yield "split", Automaton(found.tables), split.behavior, split.invert
        in_alphabet |= isinstance(rule, ByteLevel)
