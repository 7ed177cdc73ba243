"""Apply pre-tokenizers: split pieces of text into pretokens as HF's `tokenizers` does.

This module is for chains of rules that cannot be expressed as a `Pattern`, which is faster.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import accumulate, pairwise
from typing import TypeAlias

from ..lazy import lazy_re, regex, safe_import
from ..spec.rules import (
    Behavior,
    BertPreTokenizer,
    ByteAlphabet,
    ByteLevel,
    CharDelimiterSplit,
    Digits,
    FixedLength,
    Metaspace,
    Prefix,
    PreTokenizer,
    Punctuation,
    Split,
    UnicodeScripts,
    Whitespace,
    WhitespaceSplit,
)
from ..splitting.patterns import PATTERNS
from ..splitting.regexes import TimeLimit, compiled
from ..text import alphabet_to_bytes, bytes_to_alphabet
from .unicode_ages import NUMBERS_OF_17, PUNCTUATION_NEWER, PUNCTUATION_OLDER, character_class

_PUNCTUATION = (
    rf"(?!{character_class(PUNCTUATION_NEWER)})[!-/:-@\[-`{{-~\p{{P}}]|{character_class(PUNCTUATION_OLDER)}"
)
_WORD = r"[\p{Alphabetic}\p{M}\p{Nd}\p{Pc}\p{Join_Control}]"
_NUMBER = rf"(?:\p{{N}}|{character_class(NUMBERS_OF_17)})"
_GPT2 = PATTERNS["gpt2"].steps[0]


#: Where a part of a text begins and ends in it.
_Span: TypeAlias = tuple[int, int]


def prefixed(prefix: Prefix | None, text: str, head: int) -> str:
    """Return a piece of text with the prefix of a rule; `head` is that of `pretokens`."""
    if prefix is None or not text or (prefix.first and head == 0):
        return text
    return text if text.startswith(prefix.text) else prefix.text + text


def pretokens(rules: Sequence[PreTokenizer], text: str, *, head: int = 1) -> list[bytes]:
    """Return the pretokens of a piece of text, whose first `head` characters come from the first one of the whole text.

    >>> pretokens([WhitespaceSplit(), Punctuation("Isolated")], "a, b")
    [b'a', b',', b'b']
    """
    pieces, limit = [(text, head)] if text else [], TimeLimit(len(text))
    for rule in rules:
        pieces = [done for piece in pieces for done in _apply(rule, *piece, limit) if done[0]]
    if any(isinstance(rule, ByteLevel) for rule in rules) and not isinstance(rules[-1], ByteAlphabet):
        return [alphabet_to_bytes(piece) for piece, _ in pieces]
    return [piece.encode("utf-8", "surrogateescape") for piece, _ in pieces]


def _apply(rule: PreTokenizer, text: str, head: int, limit: TimeLimit) -> Iterator[tuple[str, int]]:
    """Yield the parts into which a rule splits a piece, each with its head."""
    given = len(text)
    if isinstance(rule, Metaspace):
        text = text.replace(" ", rule.mark)
        if rule.prepend_scheme != "never":
            text = prefixed(Prefix(rule.mark, first=rule.prepend_scheme == "first"), text, head)
    elif isinstance(rule, ByteLevel) and rule.add_prefix_space:
        text = prefixed(Prefix(" "), text, head)
    if head > 0:
        head += len(text) - given
    for start, end in _spans(rule, text, limit):
        part, its_head = text[start:end], max(min(head, end) - start, 0)
        if isinstance(rule, ByteLevel):
            its_head = len(part[:its_head].encode("utf-8", "surrogateescape"))
            part = bytes_to_alphabet(part.encode("utf-8", "surrogateescape"))
        yield part, its_head


def _spans(rule: PreTokenizer, text: str, limit: TimeLimit) -> list[_Span]:
    if isinstance(rule, FixedLength):
        return [(start, min(start + rule.length, len(text))) for start in range(0, len(text), rule.length)]
    if isinstance(rule, UnicodeScripts):
        safe_import("bbpe.pipeline.scripts")
        from .scripts import split_by_script

        sizes = [len(piece) for piece in split_by_script(text)]  # they leave out only a beginning
        return list(pairwise(accumulate(sizes, initial=len(text) - sum(sizes))))
    spans = [(0, len(text))]
    for each in splits_of(rule):
        spans = [
            (start + first, start + last)
            for start, end in spans
            for first, last in _split_spans(each, text[start:end], limit)
        ]
    return spans


def splits_of(rule: PreTokenizer) -> tuple[Split, ...]:
    """Return the splits by regexes that a rule is made of, in order; none for the others."""
    match rule:
        case Split():
            return (rule,)
        case Digits(individual):
            return (Split(_NUMBER if individual else f"{_NUMBER}+", "Isolated"),)
        case Punctuation(behavior):
            return (Split(_PUNCTUATION, behavior),)
        case Whitespace():
            return (Split(rf"{_WORD}+|(?:(?!{_WORD})\S)+", "Removed", invert=True),)
        case WhitespaceSplit():
            return (Split(r"\s", "Removed"),)
        case BertPreTokenizer():
            return (Split(r"\s", "Removed"), Split(_PUNCTUATION, "Isolated"))
        case CharDelimiterSplit(delimiter):
            return (Split(regex.escape(delimiter), "Removed"),)
        case Metaspace():
            return (Split(regex.escape(rule.mark), "MergedWithNext"),) if rule.split else ()
        case ByteLevel():
            return (Split(_GPT2, "Isolated"),) if rule.use_regex else ()
        case UnicodeScripts() | FixedLength() | ByteAlphabet():
            return ()


# str.split splits at these, but \s does not match them
_SEPARATORS = lazy_re("[\x1c-\x1f]")


def split_at_blanks(text: str) -> list[str]:
    """Return the pretokens of the pattern "whitespace".

    >>> split_at_blanks(" a  b ")
    ['a', 'b']
    """
    return regex.findall(r"\S+", text) if _SEPARATORS.search(text) else text.split()


def split_text(rule: Split, text: str, limit: TimeLimit | None = None) -> list[str]:
    """Split a text by a rule; `limit` is the time limit of the whole text if this text is a part of one.

    >>> split_text(Split(",", "MergedWithPrevious"), "a,b,,c")
    ['a,', 'b,', ',', 'c']
    """
    return [text[start:end] for start, end in _split_spans(rule, text, limit)]


def _split_spans(rule: Split, text: str, limit: TimeLimit | None) -> list[_Span]:
    """Return the spans of the parts of a text that are not empty, in order."""
    return [span for span in _BEHAVIORS[rule.behavior](_matches(rule, text, limit)) if span[0] < span[1]]


def _matches(rule: Split, text: str, limit: TimeLimit | None) -> list[tuple[_Span, bool]]:
    """Split a text into matches, which may be empty, and the text between, each with whether the rule cuts it."""
    parts: list[tuple[_Span, bool]] = []
    done = 0
    for first, last in compiled(rule.regex).as_oniguruma(text, limit):
        if first > done:
            parts.append(((done, first), rule.invert))
        parts.append(((first, last), not rule.invert))
        done = last
    if done < len(text):
        parts.append(((done, len(text)), rule.invert))
    return parts


def _removed(parts: list[tuple[_Span, bool]]) -> list[_Span]:
    return [part for part, is_cut in parts if not is_cut]


def _isolated(parts: list[tuple[_Span, bool]]) -> list[_Span]:
    return [part for part, _ in parts]


def _contiguous(parts: list[tuple[_Span, bool]]) -> list[_Span]:
    joined: list[_Span] = []
    before: bool | None = None
    for part, is_cut in parts:
        if is_cut == before:
            joined[-1] = joined[-1][0], part[1]
        else:
            joined.append(part)
        before = is_cut
    return joined


def _merged(parts: Iterable[tuple[_Span, bool]]) -> list[_Span]:
    """Join each match to the part before it in the order of `parts`, unless that part is a match too."""
    joined: list[_Span] = []
    after_cut = False
    for part, is_cut in parts:
        if is_cut and not after_cut and joined:
            joined[-1] = min(joined[-1][0], part[0]), max(joined[-1][1], part[1])
        else:
            joined.append(part)
        after_cut = is_cut
    return joined


_BEHAVIORS: dict[Behavior, Callable[[list[tuple[_Span, bool]]], list[_Span]]] = {
    "Removed": _removed,
    "Isolated": _isolated,
    "Contiguous": _contiguous,
    "MergedWithPrevious": _merged,
    "MergedWithNext": lambda parts: _merged(reversed(parts))[::-1],
}
