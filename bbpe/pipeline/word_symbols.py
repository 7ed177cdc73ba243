"""Words whose symbols are characters that know where in a word they stand, as models of bytes.

There a character that ends a word is another symbol than the same within it (`Characters.end_of_word`: "a</w>"), and so
is one that goes on with a word (`Characters.prefix`: "##a").  The engine finds words with bytes for marks, as
csrc/models/word_bpe/word_bpe.h says, which its first merges join with the characters beside them.

A token is known by its id: merges do not ask how it was made.  "a</w>" may be the end of a word, or four characters and
two that were merged.  So a token has a form for each place that it can be made at, and a merge one for each two forms.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from ..core.bpe import BPE
from ..spec.characters import ByteModel
from ..spec.rules import Characters

BEGIN, UNKNOWN, END = 0xFD, 0xFE, 0xFF
#: Where a token stands in its word, as a set.
FIRST, LAST = 1, 2


class WordSymbols:
    """The symbols that words begin as, and what merges make of them."""

    def __init__(
        self, vocab: Mapping[int, bytes], merges: Iterable[tuple[int, int, int]], characters: Characters
    ) -> None:
        self._characters = characters
        self._prefix, self._end = characters.prefix.encode(), characters.end_of_word.encode()
        self._places = [0, *(place for place in (FIRST, LAST, FIRST | LAST) if self._has_marks(place))]
        unknown = (0 if characters.unknown is None else characters.unknown,)
        self._bytes = ByteModel([unknown] * 256)
        self._forms: dict[int, dict[int, int]] = {token_id: {} for token_id in vocab}
        self._add_singles(self._singles(vocab), unknown)
        self._fixed = len(self._bytes.merges)
        self._add_merges(list(merges))

    @property
    def model(self) -> BPE:
        """The model of bytes."""
        return self._bytes.model(fixed_merges=self._fixed)

    def _has_marks(self, place: int) -> bool:
        return bool((self._prefix or not place & FIRST) and (self._end or not place & LAST))

    def _singles(self, vocab: Mapping[int, bytes]) -> dict[bytes, dict[int, int]]:
        """Return the characters of symbols, and the ids of these by the place in a word."""
        singles: dict[bytes, dict[int, int]] = {}
        if self._characters.are_bytes:  # all of them stand anywhere, with a token or without
            singles = {bytes((byte,)): {} for byte in range(256)}
        for token_id, token in vocab.items():
            for place in self._places:
                char = self._unmarked(token, place)
                if char and self._is_character(char):
                    singles.setdefault(char, {})[place] = token_id
        return singles

    def _unmarked(self, token: bytes, place: int) -> bytes | None:
        """Return the characters of a token at a place of a word; `None` when it is not written as there."""
        start = 0 if place & FIRST or not self._prefix else len(self._prefix)
        stop = len(token) - (len(self._end) if place & LAST else 0)
        if token[:start] != self._prefix[:start] or (place & LAST and not token.endswith(self._end)):
            return None
        return token[start:stop] if start < stop else None

    def _is_character(self, data: bytes) -> bool:
        if self._characters.are_bytes:
            return len(data) == 1
        try:
            return len(data) <= 4 and len(data.decode("utf-8")) == 1
        except UnicodeDecodeError:
            return False

    def _add_singles(self, singles: Mapping[bytes, Mapping[int, int]], unknown: tuple[int, ...]) -> None:
        """Add the merges that build characters, then those that join them with the marks of their places."""
        built = {}
        for char, ids in singles.items():
            built[char, 0] = self._bytes.character(char, (ids[0],) if 0 in ids else unknown)
        for place, mark in ((FIRST, BEGIN), (LAST, END), (FIRST | LAST, END)):
            for char, ids in singles.items():
                is_used = place in ids or (place == FIRST and FIRST | LAST in ids) or self._characters.are_bytes
                if place not in self._places or not is_used:
                    continue
                inner = built[char, place & ~LAST if mark == END else 0]
                parts = (BEGIN, inner) if mark == BEGIN else (inner, END)
                built[char, place] = self._bytes.merge(*parts, (ids[place],) if place in ids else unknown)
        for char, ids in singles.items():
            for place, token_id in ids.items():
                self._forms[token_id][place] = built[char, place]
        #: By code point the places at which a character is a symbol, a bit for each; `None`: any byte at any place.
        self.symbols = None if self._characters.are_bytes else {
            ord(char.decode()): sum(1 << place for place in ids) for char, ids in singles.items()
        }

    def _add_merges(self, merges: Sequence[tuple[int, int, int]]) -> None:
        """Add the forms of merges: those further to the left in a word first, as if they were one."""
        is_complete = False
        while not is_complete:  # once more when a token is made by a merge behind one that has it as a part
            is_complete = True
            parts: set[int] = set()
            for left, right, made in merges:
                known = self._forms[made]
                for place, pair in self._pairs(left, right):
                    if place not in known:
                        known[place] = self._bytes.joined(*pair, (made,))
                        is_complete = is_complete and made not in parts
                parts.update((left, right))
        for left, right, made in merges:
            for place, pair in self._pairs(left, right):
                self._bytes.merges.append((*pair, self._forms[made][place]))

    def _pairs(self, left: int, right: int) -> Iterable[tuple[int, tuple[int, int]]]:
        """Yield the places that two tokens side by side may have together, and their forms."""
        lefts, rights = self._forms[left], self._forms[right]
        for before in (FIRST, 0):
            for behind in (0, LAST):
                if before in lefts and behind in rights:
                    yield before | behind, (lefts[before], rights[behind])
