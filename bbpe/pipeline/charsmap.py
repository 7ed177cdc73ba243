"""SentencePiece's compiled table of normalisation: the longest key at each place of a text becomes its value.

Its bytes are a double-array trie (Aoe, 1989, "An Efficient Digital Search by Using a Double-Array Structure", in the
layout of darts-clone) whose values are places in the text of the results behind it, each of which a zero byte ends.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping
from functools import lru_cache
from itertools import pairwise

import numpy as np
import numpy.typing as npt
import regex

from ..core.charsmap import SentencePieceNormalizer
from ..errors import VocabularyError

# keys are a few characters; NFKC's table has 225,000 of them
_LONGEST_KEY, _MOST_STEPS, _MOST_BYTES, _MOST_KEY_BYTES = 256, 2_000_000, 1 << 22, 1 << 26
_GRAPHEME, _LEAST_APART = regex.compile(r"\X"), 6


def grapheme_function(data: bytes) -> Callable[[str], str]:
    """Return the function that replaces as HF's `tokenizers` does.

    What begins with a key and is one grapheme, of up to 5 bytes, becomes the value of its shortest key; of any other
    each character that is a key becomes its value.  Raises `VocabularyError` on a table that is no such trie.
    """
    table = read_charsmap(data) if data else {}
    several = _class({key[1] for key in table if len(key) > 1})
    ones = _class({key for key in table if len(key) == 1})

    def replaced(found: regex.Match[str]) -> str:
        grapheme: str = found[0]
        if len(grapheme.encode("utf-8", "surrogatepass")) < _LEAST_APART:
            for end in range(1, len(grapheme) + 1):
                if grapheme[:end] in table:
                    return table[grapheme[:end]]
        return "".join(table.get(char, char) for char in grapheme)

    def apply(text: str) -> str:
        if text.isascii() and "\r\n" not in text:  # each is a grapheme
            return ones.sub(lambda found: table.get(found[0], found[0]), text)
        if not (several.search(text) or ones.search(text)):
            return text
        done: str = _GRAPHEME.sub(replaced, text)
        return done

    return apply


def _class(characters: Collection[str]) -> re.Pattern[str]:
    """Return a regex of one of some characters, or of any beyond U+FFFF if some are.

    These, re would compare with one by one, wherever it looks: 30 times as slow.
    """
    beyond = any(char > "\uffff" for char in characters)
    found = sorted(map(ord, characters))
    left_out: list[tuple[int, int]] = []
    for before, after in pairwise([-1, *(point for point in found if point <= 0xFFFF), 0x10000]):
        if after - before > 1:
            left_out.append((before + 1, after - 1))
    source = "".join(f"{re.escape(chr(first))}-{re.escape(chr(last))}" for first, last in left_out)
    return re.compile(f"[^{source}]" if beyond else f"[^{source}\U00010000-\U0010ffff]")


def check_charsmap(data: bytes) -> None:
    """Raise `VocabularyError` on what `read_charsmap` does, in C: 5 ms where that takes 0.3 s."""
    _units_of(data)
    SentencePieceNormalizer(data, None, (), unmarks=False)


def _units_of(data: bytes) -> npt.NDArray[np.uint32]:
    """Return the units of the trie."""
    if len(data) > _MOST_BYTES:
        problem = f"the table of the normalizer has {len(data)} bytes; expected at most {_MOST_BYTES}"
        raise VocabularyError(problem)
    size = int.from_bytes(data[:4], "little")
    if size % 4 or len(data) < 4 + size or not size:
        raise VocabularyError("the table of the normalizer is cut off; expected its size, a trie and texts")
    return np.frombuffer(data[4 : 4 + size], dtype="<u4")


@lru_cache(maxsize=2)  # 0.3 s to read
def read_charsmap(data: bytes) -> Mapping[str, str]:
    """Return the keys and values of a table; `VocabularyError` when it is no such trie."""
    units = _units_of(data)
    texts = data[4 + 4 * len(units) :]
    table: dict[str, str] = {}
    values: dict[int, str] = {}  # by their places, which keys share
    try:
        for key, place in _keys(units):
            if place not in values:
                values[place] = texts[place : texts.index(b"\0", place)].decode("utf-8")
            table[key.decode("utf-8")] = values[place]
    except (IndexError, ValueError):
        problem = "the table of the normalizer is broken; expected a double-array trie of UTF-8 and the texts it names"
        raise VocabularyError(problem) from None
    return table


def _keys(units: npt.NDArray[np.uint32]) -> Iterator[tuple[bytes, int]]:
    """Yield the keys of a double array and their values, the shorter ones first; `ValueError` when they do not end."""
    # a unit whose highest bit is set is a value; any other stands at its parent's base, exclusive-or its label
    places = np.flatnonzero((units >> 31 == 0) & (units & 0xFF != 0))
    bases = places ^ (units[places] & 0xFF)
    order = np.argsort(bases, kind="stable")
    places, bases = places[order], bases[order]
    after = np.arange(len(units)) ^ (units >> 10 << ((units & 0x200) >> 6))
    keys, at, steps = np.zeros((1, 0), np.uint8), after[:1], 1
    # all keys of one length at a time: a table of NFKC, 225,000 of them, is read in 0.28 s, one by one in 0.64
    for _ in range(_LONGEST_KEY + 1):
        first = np.searchsorted(bases, at, "left")
        counts = np.searchsorted(bases, at, "right") - first
        more = int(counts.sum())
        steps += more
        if steps > _MOST_STEPS or more * (keys.shape[1] + 1) > _MOST_KEY_BYTES:
            raise ValueError("the trie has a cycle")
        if not more:
            return
        parents = np.repeat(np.arange(len(at)), counts)
        found = places[np.arange(len(parents)) + np.repeat(first + counts - np.cumsum(counts), counts)]
        keys = np.column_stack([keys[parents], (units[found] & 0xFF).astype(np.uint8)])
        at = after[found]
        ends = units[found] >> 8 & 1 == 1
        data, length = keys[ends].tobytes(), keys.shape[1]
        rows = (data[start : start + length] for start in range(0, len(data), length))
        yield from zip(rows, (units[at[ends]] & 0x7FFFFFFF).tolist(), strict=True)
