"""Apply pre-tokenizers: split pieces of text into pretokens as HF's `tokenizers` does.

This module is for chains of rules that cannot be expressed as a `Pattern`, which is faster.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from ..lazy import lazy_re, regex
from ..spec.rules import (
    Behavior,
    BertPreTokenizer,
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
from .unicode_ages import PUNCTUATION_NEWER, PUNCTUATION_OLDER, character_class

_PUNCTUATION = (
    rf"(?!{character_class(PUNCTUATION_NEWER)})[!-/:-@\[-`{{-~\p{{P}}]|{character_class(PUNCTUATION_OLDER)}"
)
_WORD = r"[\p{Alphabetic}\p{M}\p{Nd}\p{Pc}\p{Join_Control}]"
_GPT2 = PATTERNS["gpt2"].steps[0]


def prefixed(prefix: Prefix | None, text: str, is_first: bool) -> str:
    """Return a piece of text with the prefix of a rule; `is_first`: the piece is at the beginning of the text."""
    if prefix is None or not text or (prefix.first and not is_first):
        return text
    return text if text.startswith(prefix.text) else prefix.text + text


def pretokens(rules: Sequence[PreTokenizer], text: str, *, is_first: bool = True) -> list[bytes]:
    """Return the pretokens of a piece of text; `is_first`: the piece is at the beginning of the text.

    >>> pretokens([WhitespaceSplit(), Punctuation("Isolated")], "a, b")
    [b'a', b',', b'b']
    """
    pieces, limit = [(text, is_first)] if text else [], TimeLimit(len(text))
    for rule in rules:
        pieces = [done for piece in pieces for done in _apply(rule, *piece, limit) if done[0]]
    if any(isinstance(rule, ByteLevel) for rule in rules):
        return [alphabet_to_bytes(piece) for piece, _ in pieces]
    return [piece.encode("utf-8", "surrogateescape") for piece, _ in pieces]


def _apply(rule: PreTokenizer, text: str, is_first: bool, limit: TimeLimit) -> Iterator[tuple[str, bool]]:
    """Yield the parts into which a rule splits a piece, each with whether it is at the beginning of the text."""
    if isinstance(rule, Metaspace):
        text = text.replace(" ", rule.mark)
        if rule.prepend_scheme != "never":
            text = prefixed(Prefix(rule.mark, first=rule.prepend_scheme == "first"), text, is_first)
    elif isinstance(rule, ByteLevel) and rule.add_prefix_space:
        text = prefixed(Prefix(" "), text, is_first)
    parts = _parts(rule, text, limit)
    if isinstance(rule, ByteLevel):
        parts = [bytes_to_alphabet(part.encode("utf-8", "surrogateescape")) for part in parts]
    at_start = is_first and (not parts or text.startswith(parts[0]))
    for number, part in enumerate(parts):
        yield part, at_start and number == 0


def _parts(rule: PreTokenizer, text: str, limit: TimeLimit) -> list[str]:
    if isinstance(rule, FixedLength):
        return [text[start : start + rule.length] for start in range(0, len(text), rule.length)]
    if isinstance(rule, UnicodeScripts):
        from .scripts import split_by_script

        return split_by_script(text)
    parts = [text]
    for each in splits_of(rule):
        parts = [piece for part in parts for piece in split_text(each, part, limit)]
    return parts


def splits_of(rule: PreTokenizer) -> tuple[Split, ...]:
    """Return the splits by regexes that a rule is made of, in order; none for `FixedLength` and `UnicodeScripts`."""
    match rule:
        case Split():
            return (rule,)
        case Digits(individual):
            return (Split(r"\p{N}" if individual else r"\p{N}+", "Isolated"),)
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
        case UnicodeScripts() | FixedLength():
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
    parts = _matches(rule, text, limit)
    return [part for part in _BEHAVIORS[rule.behavior](parts) if part]


def _matches(rule: Split, text: str, limit: TimeLimit | None) -> list[tuple[str, bool]]:
    """Split a text into matches and the text between, each with whether it is a separator for the rule."""
    parts: list[tuple[str, bool]] = []
    done = 0
    for first, last in compiled(rule.regex).spans(text, limit):
        if first > done:
            parts.append((text[done:first], rule.invert))
        if last > first:
            parts.append((text[first:last], not rule.invert))
        done = last
    if done < len(text):
        parts.append((text[done:], rule.invert))
    return parts


def _removed(parts: list[tuple[str, bool]]) -> list[str]:
    return [part for part, is_cut in parts if not is_cut]


def _isolated(parts: list[tuple[str, bool]]) -> list[str]:
    return [part for part, _ in parts]


def _contiguous(parts: list[tuple[str, bool]]) -> list[str]:
    joined: list[str] = []
    before: bool | None = None
    for part, is_cut in parts:
        if is_cut == before:
            joined[-1] += part
        else:
            joined.append(part)
        before = is_cut
    return joined


def _merged(parts: Iterable[tuple[str, bool]], join: Callable[[str, str], str]) -> list[str]:
    """Join each match to the part before it in the order of `parts`, unless that part is a match too."""
    joined: list[str] = []
    after_cut = False
    for part, is_cut in parts:
        if is_cut and not after_cut and joined:
            joined[-1] = join(joined[-1], part)
        else:
            joined.append(part)
        after_cut = is_cut
    return joined


_BEHAVIORS: dict[Behavior, Callable[[list[tuple[str, bool]]], list[str]]] = {
    "Removed": _removed,
    "Isolated": _isolated,
    "Contiguous": _contiguous,
    "MergedWithPrevious": lambda parts: _merged(parts, lambda before, part: before + part),
    "MergedWithNext": lambda parts: _merged(reversed(parts), lambda before, part: part + before)[::-1],
}
