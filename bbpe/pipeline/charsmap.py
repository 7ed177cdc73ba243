"""SentencePiece's compiled normalization table: the longest key at each position of a text becomes its value.

The bytes are the size of a double-array trie (4 bytes, little-endian), the trie (Aoe, 1989, "An Efficient Digital
Search by Using a Double-Array Structure", in the layout of darts-clone), and the replacement texts.  The values of the
trie are offsets into the replacement texts; a zero byte ends each text.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache

from ..core.charsmap import SentencePieceNormalizer
from ..errors import VocabularyError
from ..lazy import np, npt

# keys have a few characters; NFKC's table has 225,000 keys
LONGEST_KEY, _MOST_STEPS, _MOST_BYTES, _MOST_KEY_BYTES = 256, 2_000_000, 1 << 22, 1 << 26


def check_charsmap(data: bytes) -> None:
    """Raise `VocabularyError` on a broken table; the check runs in C and takes 5 ms, `read_charsmap` 0.3 s."""
    _units_of(data)
    SentencePieceNormalizer(data, None, (), unmarks=False)


def _units_of(data: bytes) -> npt.NDArray[np.uint32]:
    """Return the units of the trie, uint32[n]."""
    if len(data) > _MOST_BYTES:
        problem = f"the table of the normalizer has {len(data)} bytes; expected at most {_MOST_BYTES}"
        raise VocabularyError(problem)
    size = int.from_bytes(data[:4], "little")
    if size % 4 or len(data) < 4 + size or not size:
        raise VocabularyError("the table of the normalizer is truncated; expected its size, a trie and texts")
    return np.frombuffer(data[4 : 4 + size], dtype="<u4")


@lru_cache(maxsize=2)  # 0.3 s to read
def read_charsmap(data: bytes) -> Mapping[str, str]:
    """Return the keys and values of a table; `VocabularyError` when the table is broken."""
    units = _units_of(data)
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


@lru_cache(maxsize=8)
def _begun(data: bytes) -> frozenset[str]:
    """Return the texts that longer keys begin with."""
    return frozenset(key[:end] for key in read_charsmap(data) for end in range(1, len(key)))


def mapped_parts(data: bytes, text: str, *, is_whole: bool = True) -> Iterator[tuple[str, str]]:
    """Yield the longest key at each position of a text, or a character of no key, and what it becomes.

    Unless the text `is_whole`, the end that more text may change is left out.
    """
    table, begun, at = read_charsmap(data), _begun(data), 0
    while at < len(text):
        found = text[at]
        for end in range(at + 1, len(text) + 1):
            part = text[at:end]
            if part in table:
                found = part
            if part not in begun:
                break
        else:
            if not is_whole:
                return
        yield found, table.get(found, found)
        at += len(found)


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
