"""Apply pre-tokenizers: split pieces of text into pretokens as HF's `tokenizers` does."""

from __future__ import annotations

from bisect import bisect
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import accumulate, pairwise
from typing import TypeAlias

from ..lazy import lazy_re, regex
from ..pipeline.pre_tokenizer_steps import splits_of
from ..pipeline.scripts import script_partition
from ..spec.rules import (
    Behavior,
    ByteAlphabet,
    ByteLevel,
    FixedLength,
    Metaspace,
    Prefix,
    PreTokenizer,
    Split,
    UnicodeScripts,
)
from ..splitting.regexes import TimeLimit, compiled
from ..text import alphabet_to_bytes, bytes_to_alphabet

#: Where a part of a text begins and ends in it.
_Span: TypeAlias = tuple[int, int]


def prefixed(prefix: Prefix | None, text: str, head: int) -> str:
    """Return a piece of text with the prefix of a rule; `head` is that of `pretokens`."""
    if prefix is None or not text or (prefix.first and head == 0):
        return text
    return text if text.startswith(prefix.text) else prefix.text + text


def pretokens(rules: Sequence[PreTokenizer], text: str, *, head: int = 1) -> list[bytes]:
    """Return the pretokens of a piece of text, whose first `head` characters come from the first one of the whole text.

    >>> from bbpe.spec.rules import Punctuation, WhitespaceSplit
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


def split_by_script(text: str) -> list[str]:
    """Return the pieces of a text: runs of one script and of characters without one, from the first script on.

    >>> split_by_script(" a бc ")
    ['a ', 'б', 'c ']
    """
    parts = script_partition()
    starts: list[int] = []
    last = none = next(number for number, within in enumerate(zip(*parts.within, strict=True)) if not any(within))
    for at, char in enumerate(text):
        script = parts.classes[bisect(parts.points, ord(char)) - 1]
        if script not in (none, last):
            starts.append(at)
            last = script
    return [text[start:end] for start, end in pairwise([*starts, len(text)])]
