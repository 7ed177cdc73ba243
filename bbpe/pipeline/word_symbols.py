"""Vocabularies whose symbols have marks of positions in words, or are not all tokens, translated to models of bytes.

In a vocabulary with marks the character at the end of a word is a different symbol from the same character within a
word (`Characters.end_of_word`: "a</w>"), and so is a character that continues a word (`Characters.prefix`: "##a").  The
compiled model marks words with extra bytes, as csrc/models/word_bpe/word_bpe.h describes, and its first merges join
these marks with the adjacent characters.

A merge depends on the ids of two tokens, not on how the tokens were made.  The token "a</w>" may be the end of a word,
or it may be merged from the characters of its text.  So a token has one form for each position at which it can be made,
and a merge becomes one merge for each pair of forms.

Where the end of a word is a symbol of its own (`Characters.end_apart`), the mark 0xFF is it, and written as nothing.

A vocabulary without marks has one form of each token.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from ..core.bpe import CompiledBPE
from ..spec.characters import ByteModel
from ..spec.rules import Characters

BEGIN, UNKNOWN, END = 0xFD, 0xFE, 0xFF
#: The position of a token in its word, as bit flags.
FIRST, LAST = 1, 2


class WordSymbols:
    """The symbols that words begin as, and the forms of the tokens that merges make."""

    def __init__(
        self,
        vocab: Mapping[int, bytes],
        merges: Iterable[tuple[int, int, int]],
        characters: Characters,
        *,
        whole_pretokens: bool = False,
        levels: Sequence[int] = (),
        written: Mapping[int, int] | None = None,
    ) -> None:
        """Make the symbols; those of tokens in `written` are written as other ids."""
        self._characters, self._whole = characters, whole_pretokens
        self._prefix, self._end = characters.prefix.encode(), characters.end_of_word.encode()
        self._positions = [0, *(position for position in (FIRST, LAST, FIRST | LAST) if self._has_marks(position))]
        #: The bytes that mark words, which no text in UTF-8 has; vocabularies of bytes may have keys of these.
        self._marks = {bytes((mark,)) for mark in (BEGIN, UNKNOWN, END)} if len(self._positions) > 1 else set()
        unknown = () if characters.unknown is None else (characters.unknown,)
        spelled = dict(characters.some_byte_ids)
        self._bytes = ByteModel([(spelled[byte],) if byte in spelled else () for byte in range(256)])
        self._forms: dict[int, dict[int, int]] = {token_id: {} for token_id in vocab}
        singles = self._singles(vocab)
        for token_id in [each for each, token in vocab.items() if token == self._end and characters.end_apart]:
            self._forms[token_id][LAST] = END
        #: The byte that the compiled model writes for an unknown symbol; `None`: it leaves unknown symbols out.
        self.unknown: int | None = None
        self._add_singles(singles)
        if unknown:
            self.unknown = self._free_byte(singles)
            self._bytes.outputs[self.unknown] = unknown
        self._fixed = len(self._bytes.merges)
        self._levels: list[int] = []
        self._add_merges(list(merges), levels)
        if whole_pretokens:
            self._add_wholes(vocab)
        if written:
            self._bytes.outputs = [tuple(written.get(each, each) for each in row) for row in self._bytes.outputs]

    @property
    def model(self) -> CompiledBPE:
        """The model of bytes."""
        unused = [form for token_id in self._characters.unused for form in self._forms.get(token_id, {}).values()]
        return self._bytes.model(
            whole_pretokens=self._whole, fixed_merges=self._fixed, levels=self._levels, unused=unused
        )

    def _free_byte(self, singles: Mapping[bytes, Mapping[int, int]]) -> int:
        """Return a byte that no symbol has; any byte if all bytes are symbols, because then none is unknown."""
        if self._characters.marks_words or not self._characters.are_bytes:
            return UNKNOWN
        return next((char[0] for char, ids in singles.items() if not ids), UNKNOWN)

    def _has_marks(self, position: int) -> bool:
        return bool((self._prefix or not position & FIRST) and (self._end or not position & LAST))

    def _singles(self, vocab: Mapping[int, bytes]) -> dict[bytes, dict[int, int]]:
        """Return for each character the ids of its symbols, by the position in a word."""
        singles: dict[bytes, dict[int, int]] = {}
        if self._characters.are_bytes:
            singles = {bytes((byte,)): {} for byte in range(256)}
        unused = frozenset(self._characters.unused)
        positions = self._positions[:1] if self._characters.end_apart else self._positions
        for token_id, token in vocab.items():
            for position in () if token_id in unused else positions:
                char = self._unmarked(token, position)
                if char and self._is_character(char) and char not in self._marks:
                    singles.setdefault(char, {})[position] = token_id
        return singles

    def _unmarked(self, token: bytes, position: int) -> bytes | None:
        """Return a token without the marks of a position in a word; `None` when it does not have these marks."""
        start = 0 if position & FIRST or not self._prefix else len(self._prefix)
        stop = len(token) - (len(self._end) if position & LAST else 0)
        if token[:start] != self._prefix[:start] or (position & LAST and not token.endswith(self._end)):
            return None
        return token[start:stop] if start < stop else None

    def _is_character(self, data: bytes) -> bool:
        if self._characters.are_bytes:
            return len(data) == 1
        try:
            return len(data) <= 4 and len(data.decode("utf-8")) == 1
        except UnicodeDecodeError:
            return False

    def _add_singles(self, singles: Mapping[bytes, Mapping[int, int]]) -> None:
        """Add the merges that build characters, then the merges that join characters with the marks of positions."""
        built = {}
        for char, ids in singles.items():
            built[char, 0] = self._bytes.character(char, (ids[0],) if 0 in ids else ())
        for position, mark in ((FIRST, BEGIN), (LAST, END), (FIRST | LAST, END)):
            for char, ids in singles.items():
                is_used = position in ids or (position == FIRST and FIRST | LAST in ids)
                if position not in self._positions or not is_used:
                    continue
                inner = built[char, position & ~LAST if mark == END else 0]
                parts = (BEGIN, inner) if mark == BEGIN else (inner, END)
                built[char, position] = self._bytes.merge(*parts, (ids[position],) if position in ids else ())
        for char, ids in singles.items():
            for position, token_id in ids.items():
                self._forms[token_id][position] = built[char, position]
        rows = {char: sum(1 << position for position in ids) for char, ids in singles.items()}
        if self._characters.end_apart:
            rows = {char: bits | bits << LAST for char, bits in rows.items()}
        #: By code point or byte, the positions at which it is a symbol, one bit each; `None`: any byte anywhere.
        self.symbols: dict[int, int] | None = None
        if not self._characters.are_bytes:
            self.symbols = {ord(char.decode()): bits for char, bits in rows.items()}
        elif any(len(ids) < len(self._positions) for ids in singles.values()):
            self.symbols = {char[0]: bits for char, bits in rows.items()}

    def _add_wholes(self, vocab: Mapping[int, bytes]) -> None:
        """Add the tokens that are found only as whole pretokens."""
        for token_id, forms in self._forms.items():
            if 0 not in forms and vocab[token_id] and vocab[token_id] not in self._marks:
                self._bytes.add(vocab[token_id], (token_id,))

    def _add_merges(self, merges: Sequence[tuple[int, int, int]], levels: Sequence[int]) -> None:
        """Add the forms of merges; the forms of one merge are in the order of positions from left to right."""
        is_complete = False
        while not is_complete:  # repeat if a merge made a new form of a token that an earlier merge has as a part
            is_complete = True
            parts: set[int] = set()
            for left, right, made in merges:
                known = self._forms[made]
                for position, pair in self._pairs(left, right):
                    if position not in known:
                        known[position] = self._bytes.joined(*pair, (made,))
                        is_complete = is_complete and made not in parts
                parts.update((left, right))
        for number, (left, right, made) in enumerate(merges):
            for position, pair in self._pairs(left, right):
                self._bytes.merges.append((*pair, self._forms[made][position]))
                self._levels += levels[number : number + 1]

    def _pairs(self, left: int, right: int) -> Iterable[tuple[int, tuple[int, int]]]:
        """Yield the positions of the concatenation of two tokens, each with the pair of forms that makes it."""
        lefts, rights = self._forms[left], self._forms[right]
        for start in (FIRST, 0):
            for end in (0, LAST):
                if start in lefts and end in rights:
                    yield start | end, (lefts[start], rights[end])
