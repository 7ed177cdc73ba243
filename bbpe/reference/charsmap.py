"""SentencePiece's compiled normalization table applied to texts, as HF's `tokenizers` and SentencePiece do."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from functools import lru_cache
from itertools import pairwise

from ..lazy import lazy_regex, regex
from ..pipeline.charsmap import LONGEST_KEY, read_charsmap

_GRAPHEME, _LEAST_APART = lazy_regex(r"\X"), 6


@lru_cache(maxsize=2)
def grapheme_function(data: bytes) -> Callable[[str], str]:
    """Return a function that applies a table as HF's `tokenizers` does.

    A grapheme cluster of up to 5 bytes that begins with a key becomes the value of its shortest key.  In any other
    cluster each character that is a key becomes its value.  Raises `VocabularyError` on a broken table.
    """
    table = read_charsmap(data) if data else {}
    several = _class({key[1] for key in table if len(key) > 1})
    ones = _class({key for key in table if len(key) == 1})

    def replaced(found: regex.Match[str]) -> str:
        return "".join(after for _, after in _parts(table, found[0]))

    def apply(text: str) -> str:
        if text.isascii() and "\r\n" not in text:  # each character is a grapheme cluster
            return ones.sub(lambda found: table.get(found[0], found[0]), text)
        if not (several.search(text) or ones.search(text)):
            return text
        done: str = _GRAPHEME.sub(replaced, text)
        return done

    return apply


def _parts(table: Mapping[str, str], grapheme: str) -> list[tuple[str, str]]:
    """Return the parts of a grapheme cluster that become something by themselves, and what they become."""
    if len(grapheme.encode("utf-8", "surrogatepass")) < _LEAST_APART:
        for end in range(1, len(grapheme) + 1):
            if grapheme[:end] in table:
                return [(grapheme, table[grapheme[:end]])]
    return [(char, table.get(char, char)) for char in grapheme]


def grapheme_parts(data: bytes, text: str) -> list[tuple[str, str]]:
    """Return all parts of a text that become something by themselves, and what they become."""
    table = read_charsmap(data) if data else {}
    return [part for grapheme in _GRAPHEME.findall(text) for part in _parts(table, grapheme)]


def are_blanks(data: bytes, kept: Collection[str], text: str) -> bool:
    """Return whether each of the longest keys in a text, and each character of no key, becomes one blank."""
    table = read_charsmap(data) if data else {}
    at = 0
    while at < len(text):
        starts = [text[at:end] for end in range(min(len(text), at + LONGEST_KEY), at, -1)]
        symbol = next((start for start in starts if start in kept), None)
        key = symbol or next((start for start in starts if start in table), text[at])
        if (symbol or table.get(key, key)) != " ":
            return False
        at += len(key)
    return True


def _class(characters: Collection[str]) -> re.Pattern[str]:
    """Return a regex that matches one of some characters, or all characters above U+FFFF if one is above it.

    `re` compares members above U+FFFF one by one at each position, which makes a search 30 times as slow.
    """
    has_astral = any(char > "\uffff" for char in characters)
    found = sorted(map(ord, characters))
    gaps: list[tuple[int, int]] = []
    for before, after in pairwise([-1, *(point for point in found if point <= 0xFFFF), 0x10000]):
        if after - before > 1:
            gaps.append((before + 1, after - 1))
    source = "".join(f"{re.escape(chr(first))}-{re.escape(chr(last))}" for first, last in gaps)
    return re.compile(f"[^{source}]" if has_astral else f"[^{source}\U00010000-\U0010ffff]")
