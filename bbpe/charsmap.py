"""SentencePiece's compiled table of normalisation: the longest key at each place of a text becomes its value.

Its bytes are a double-array trie (Aoe, 1989, "An Efficient Digital Search by Using a Double-Array Structure", in the
layout of darts-clone) whose values are places in the text of the results behind it, each of which a zero byte ends.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence

import numpy as np
import numpy.typing as npt

from .errors import VocabularyError

# keys are a few characters; the largest tables have 100,000 nodes
_LONGEST_KEY, _MOST_STEPS = 256, 2_000_000


def charsmap_function(data: bytes, kept: Sequence[str] = ()) -> Callable[[str], str]:
    """Return the function that replaces every key of a table, the longest first; `kept` strings stay as they are.

    Raises `VocabularyError` on a table that is no such trie.
    """
    values = read_charsmap(data)
    table = {**values, **{text: text for text in kept}}
    if not table:
        return lambda text: text
    # a string kept goes before any key
    first = "|".join(map(re.escape, sorted(kept, key=len, reverse=True)))
    keys = _alternation(list(values))
    pattern = re.compile("|".join(part for part in (first, keys) if part))
    return lambda text: pattern.sub(lambda found: table[found[0]], text)


def read_charsmap(data: bytes) -> dict[str, str]:
    """Return the keys and values of a table; `VocabularyError` when it is no such trie."""
    size = int.from_bytes(data[:4], "little")
    if size % 4 or len(data) < 4 + size or not size:
        raise VocabularyError("the table of the normalizer is cut off; expected its size, a trie and texts")
    units = np.frombuffer(data[4 : 4 + size], dtype="<u4")
    texts = data[4 + size :]
    table: dict[str, str] = {}
    try:
        for key, place in _keys(units):
            table[key.decode("utf-8")] = texts[place : texts.index(b"\0", place)].decode("utf-8")
    except (IndexError, ValueError):
        problem = "the table of the normalizer is broken; expected a double-array trie of UTF-8 and the texts it names"
        raise VocabularyError(problem) from None
    return table


def _keys(units: npt.NDArray[np.uint32]) -> Iterator[tuple[bytes, int]]:
    """Yield the keys of a double array and their values; `ValueError` when they do not end."""
    # a unit whose highest bit is set is a value; any other stands at its parent's base, exclusive-or its label
    inner = np.flatnonzero(units >> 31 == 0)
    labels = units[inner] & 0xFF
    children: dict[int, list[tuple[int, int]]] = {}
    for base, label, place in zip((inner ^ labels).tolist(), labels.tolist(), inner.tolist(), strict=True):
        children.setdefault(base, []).append((label, place))
    stack = [(b"", _offset(int(units[0])))]
    for _ in range(_MOST_STEPS):
        if not stack:
            return
        key, base = stack.pop()
        for label, place in children.get(base, ()):
            if label == 0 or len(key) > _LONGEST_KEY:
                continue
            unit, longer = int(units[place]), key + bytes((label,))
            after = place ^ _offset(unit)
            if unit >> 8 & 1:
                yield longer, int(units[after]) & 0x7FFFFFFF
            stack.append((longer, after))
    raise ValueError("the trie has a cycle")


def _offset(unit: int) -> int:
    return unit >> 10 << ((unit & 0x200) >> 6)


def _alternation(keys: list[str]) -> str:
    """Return a regex of the longest key: by first characters, as most keys are single ones."""
    single = [key for key in keys if len(key) == 1]
    longer = sorted((key for key in keys if len(key) > 1), key=len, reverse=True)
    parts = []
    if longer:
        first = "".join(map(re.escape, sorted({key[0] for key in longer})))
        parts.append(f"(?=[{first}])(?:{'|'.join(map(re.escape, longer))})")
    if single:
        parts.append(f"[{''.join(map(re.escape, single))}]")
    return "|".join(parts)
