"""SentencePiece's compiled normalization table applied to texts, as HF's `tokenizers` and SentencePiece do."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping
from functools import lru_cache
from itertools import pairwise

from ..errors import VocabularyError
from ..lazy import lazy_regex, np, npt, regex

# keys have a few characters; NFKC's table has 225,000 keys
LONGEST_KEY, _MOST_STEPS, _MOST_KEY_BYTES = 256, 2_000_000, 1 << 26
_GRAPHEME, _LEAST_APART = lazy_regex(r"\X"), 6


@lru_cache(maxsize=2)  # 0.3 s to read
def read_charsmap(data: bytes) -> Mapping[str, str]:
    """Return the keys and values of a table; `VocabularyError` when it is broken.

    Its layout is that of `bbpe.pipeline.compiled_normalizers`.
    """
    size = int.from_bytes(data[:4], "little")
    if size % 4 or len(data) < 4 + size or not size:
        raise VocabularyError("the table of the normalizer is truncated; expected its size, a trie and texts")
    units = np.frombuffer(data[4 : 4 + size], dtype="<u4")
    texts = data[4 + 4 * len(units) :]
    table: dict[str, str] = {}
    values: dict[int, str] = {}  # by offset; several keys can have the same offset
    try:
        for key, offset in _keys(units):
            if offset not in values:
                values[offset] = texts[offset : texts.index(b"\0", offset)].decode("utf-8")
            table[key.decode("utf-8")] = values[offset]
    except (IndexError, ValueError):
        problem = "the table of the normalizer is broken; expected a double-array trie of UTF-8 and the texts it names"
        raise VocabularyError(problem) from None
    return table


def _keys(units: npt.NDArray[np.uint32]) -> Iterator[tuple[bytes, int]]:
    """Yield the keys of a double array and their values, shorter keys first; `ValueError` when the trie has a cycle.

    Layout of a unit: bit 31 marks a value in bits 0-30.  In other units bits 0-7 are the label, bit 8 says that a key
    ends here, and bits 10-30 are the base offset, shifted left by 8 if bit 9 is set.
    """
    # a node is at index `base of its parent ^ label`
    nodes = np.flatnonzero((units >> 31 == 0) & (units & 0xFF != 0))
    bases = nodes ^ (units[nodes] & 0xFF)
    order = np.argsort(bases, kind="stable")
    nodes, bases = nodes[order], bases[order]
    child_bases = np.arange(len(units)) ^ (units >> 10 << ((units & 0x200) >> 6))
    keys, at, steps = np.zeros((1, 0), np.uint8), child_bases[:1], 1
    # all keys of one length at once: the 225,000 keys of NFKC's table take 0.28 s, one by one 0.64 s
    for _ in range(LONGEST_KEY + 1):
        first = np.searchsorted(bases, at, "left")
        counts = np.searchsorted(bases, at, "right") - first
        more = int(counts.sum())
        steps += more
        if steps > _MOST_STEPS or more * (keys.shape[1] + 1) > _MOST_KEY_BYTES:
            raise ValueError("the trie has a cycle")
        if not more:
            return
        parents = np.repeat(np.arange(len(at)), counts)
        found = nodes[np.arange(len(parents)) + np.repeat(first + counts - np.cumsum(counts), counts)]
        keys = np.column_stack([keys[parents], (units[found] & 0xFF).astype(np.uint8)])
        at = child_bases[found]
        ends = units[found] >> 8 & 1 == 1
        data, length = keys[ends].tobytes(), keys.shape[1]
        rows = (data[start : start + length] for start in range(0, len(data), length))
        yield from zip(rows, (units[at[ends]] & 0x7FFFFFFF).tolist(), strict=True)


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
