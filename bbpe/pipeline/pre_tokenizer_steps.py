"""Compile a chain of pre-tokenizer rules into steps that C runs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache, lru_cache
from typing import Any

from ..core.automaton import Automaton
from ..core.pre_tokenizer import PreTokenizer
from ..errors import VocabularyError
from ..lazy import regex, safe_import
from ..records import dataclass
from ..spec import rules
from ..spec.rules import (
    SPACE_MARK,
    BertPreTokenizer,
    ByteAlphabet,
    ByteLevel,
    CharDelimiterSplit,
    Digits,
    FixedLength,
    Metaspace,
    Punctuation,
    Split,
    UnicodeScripts,
    Whitespace,
    WhitespaceSplit,
)
from ..splitting.patterns import PATTERNS
from ..text import alphabet_to_bytes

_WORD = r"[\p{Alphabetic}\p{M}\p{Nd}\p{Pc}\p{Join_Control}]"
_GPT2 = PATTERNS["gpt2"].steps[0]


@dataclass(frozen=True)
class CompiledRules:
    """A chain of rules in C; `unmarks`: it leaves blanks in place of U+2581."""

    steps: PreTokenizer
    unmarks: bool = False


@lru_cache(maxsize=64)
def compiled_rules(chain: tuple[rules.PreTokenizer, ...], *, unmarks: bool = False) -> CompiledRules:
    """Return the steps that split texts as `pretokens` does by a chain of rules, from a cache.

    The spans are in the original bytes unless a step writes others: `ByteLevel` leaves its alphabet to `ByteAlphabet`.
    With `unmarks` they leave blanks in place of U+2581 where that is no work.

    >>> compiled_rules((rules.WhitespaceSplit(),)).steps.split(b"a bc")[2].tolist()
    [1, 4]
    """
    last = chain[-1] if unmarks and chain else None
    does_unmark = isinstance(last, Metaspace) and last.split and last.mark == SPACE_MARK
    return CompiledRules(PreTokenizer(list(_steps(chain, unmarks=does_unmark))), unmarks=does_unmark)


def splits_of(rule: rules.PreTokenizer) -> tuple[Split, ...]:
    """Return the splits by regexes that a rule is made of, in order; none for the others."""
    match rule:
        case Split():
            return (rule,)
        case Digits(individual):
            return (Split(_classes().number if individual else f"{_classes().number}+", "Isolated"),)
        case Punctuation(behavior):
            return (Split(_classes().punctuation, behavior),)
        case Whitespace():
            return (Split(rf"{_WORD}+|(?:(?!{_WORD})\S)+", "Removed", invert=True),)
        case WhitespaceSplit():
            return (Split(r"\s", "Removed"),)
        case BertPreTokenizer():
            return (Split(r"\s", "Removed"), Split(_classes().punctuation, "Isolated"))
        case CharDelimiterSplit(delimiter):
            return (Split(regex.escape(delimiter), "Removed"),)
        case Metaspace():
            return (Split(regex.escape(rule.mark), "MergedWithNext"),) if rule.split else ()
        case ByteLevel():
            return (Split(_GPT2, "Isolated"),) if rule.use_regex else ()
        case UnicodeScripts() | FixedLength() | ByteAlphabet():
            return ()


# -- what few chains of rules need ---------------------------------------------------------------------------


@dataclass(frozen=True)
class _Classes:
    """Regexes of characters as `tokenizers` knows them."""

    punctuation: str
    number: str


@cache
def _classes() -> _Classes:
    safe_import("bbpe.pipeline.unicode_ages")
    from .unicode_ages import NUMBERS_OF_17, PUNCTUATION_NEWER, PUNCTUATION_OLDER, character_class

    newer, older = character_class(PUNCTUATION_NEWER), character_class(PUNCTUATION_OLDER)
    punctuation = rf"(?!{newer})[!-/:-@\[-`{{-~\p{{P}}]|{older}"
    return _Classes(punctuation, rf"(?:\p{{N}}|{character_class(NUMBERS_OF_17)})")


@cache
def _script_matcher(of_alphabet: bool) -> Automaton:
    safe_import("bbpe.pipeline.scripts")
    from .scripts import script_pieces
    safe_import("bbpe.splitting.automaton")
    from ..splitting.automaton import tables_of

    return Automaton(tables_of(script_pieces(), of_alphabet=of_alphabet))


def _matcher(source: str, of_alphabet: bool) -> Automaton:
    safe_import("bbpe.splitting.automaton")
    from ..splitting.automaton import matcher_of

    return matcher_of(source, of_alphabet=of_alphabet)


# -- chains of rules -----------------------------------------------------------------------------------------


def _steps(chain: Sequence[rules.PreTokenizer], *, unmarks: bool) -> Iterator[tuple[Any, ...]]:
    in_alphabet = False
    for number, rule in enumerate(chain):
        is_mark = isinstance(rule, Metaspace) and isinstance(chain[-1], ByteAlphabet)
        if in_alphabet and (isinstance(rule, ByteLevel) or is_mark):
            yield ("alphabet",)  # which is written in the alphabet once more, or gets marks
            in_alphabet = False
        after = chain[number + 1] if number + 1 < len(chain) else None
        if isinstance(rule, WhitespaceSplit) and isinstance(after, Metaspace) and after.split and not in_alphabet:
            continue
        if isinstance(rule, ByteAlphabet):
            if in_alphabet:
                yield ("alphabet",)
        elif isinstance(rule, FixedLength):
            yield "length", rule.length, in_alphabet
        elif isinstance(rule, UnicodeScripts):
            yield "split", _script_matcher(in_alphabet), "Removed", True
        elif isinstance(rule, Metaspace):
            if in_alphabet:  # which has no blanks
                yield from _metaspace_in_alphabet(rule)
                continue
            mark = rule.mark.encode()
            rewriting = b"" if rule.prepend_scheme == "never" else mark, rule.prepend_scheme == "first", mark
            if rule.split:
                drops_space = number > 0 and isinstance(chain[number - 1], WhitespaceSplit)
                yield "mark", *rewriting, drops_space, unmarks and after is None
                continue
            yield "rewrite", *rewriting
        elif isinstance(rule, ByteLevel) and rule.add_prefix_space:
            yield "rewrite", b" ", False, b""
        for split in splits_of(rule):
            yield "split", _matcher(split.regex, in_alphabet), split.behavior, split.invert
        in_alphabet |= isinstance(rule, ByteLevel)


def _metaspace_in_alphabet(rule: Metaspace) -> Iterator[tuple[Any, ...]]:
    if rule.prepend_scheme != "never":
        try:
            yield "rewrite", alphabet_to_bytes(rule.mark), rule.prepend_scheme == "first", b""
        except ValueError as error:
            raise VocabularyError(f"the mark of {rule} comes after ByteLevel, and {error}") from None
    for split in splits_of(rule):
        yield "split", _matcher(split.regex, True), split.behavior, split.invert
