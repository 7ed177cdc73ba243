"""Vocabularies whose symbols are characters (SentencePiece's, HF's `byte_fallback`), as models of bytes.

There a text is first cut into characters; one that is a token is a symbol, any other becomes the tokens of its bytes,
which merge with nothing.  The engine's symbols are bytes, so its model first builds the characters that are tokens,
byte by byte, by merges that come before all others.  In UTF-8 no such merge can cross from one character into the
next, so all characters stand before the first real merge, and ids are the same.  What was begun of a character that is
no token is written as the tokens of its bytes.

Where words have ends (`Characters.end_of_word`) the engine finds each word with the byte WORD_END behind it, and
tokens that end a word have that byte too; a character and this byte merge before all others.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

import numpy as np

from .core.bpe import BPE
from .rules import Characters

#: What stands behind the last byte of a word for the engine, where words have ends; no UTF-8 has it.
WORD_END = 0xFF
#: What stands for a character without a token in such a vocabulary.
UNKNOWN = 0xFE


class CharacterModel:
    """The model of bytes for tokens and merges of characters, and what its ids are written as.

    `order`: the ids of the tokens of several characters that merge, in any order that names each once.
    """

    def __init__(self, vocab: Mapping[int, bytes], characters: Characters, order: Iterable[int]) -> None:
        end = characters.end_of_word.encode()
        ended = {token_id: inner_token(token, end) for token_id, token in vocab.items()} if end else vocab
        singles = {token: token_id for token_id, token in ended.items() if is_single(token, characters)}
        self._tokens = [bytes((byte,)) for byte in range(256)]
        self._outputs = [self._of_byte(byte, singles, characters) for byte in range(256)]
        self._assembly: list[tuple[int, int, int]] = []
        self._begun: dict[bytes, int] = {}
        self._internal: dict[int, int] = {}
        last = bytes((WORD_END,)) if end else b""
        stems = dict.fromkeys(token.removesuffix(last) if len(token) > 1 else token for token in singles)
        for token in stems:
            self._add_single(token, last, singles, characters)
        if end and not characters.are_bytes:
            self._add_single(bytes((UNKNOWN,)), last, singles, characters)
        for token_id in order:
            self._internal[token_id] = self._add(ended[token_id], (token_id,))

    def _add_single(self, token: bytes, last: bytes, singles: Mapping[bytes, int], characters: Characters) -> None:
        """Add a character, and where words have ends what it is at the end of one; either may have no token."""
        unknown = self._of_byte(UNKNOWN, {}, characters) if last else ()
        token_id = singles.get(token)
        output = unknown if token_id is None else (token_id,)
        inner = token[0] if len(token) == 1 else self._character(token, output, characters)
        if token_id is not None:
            self._internal[token_id] = inner
        if not last:
            return
        ended_id = singles.get(token + last)
        ended = self._add(token + last, unknown if ended_id is None else (ended_id,))
        self._assembly.append((inner, WORD_END, ended))
        if ended_id is not None:
            self._internal[ended_id] = ended

    def by_list(self, merges: Iterable[tuple[int, int, int]], *, whole_pretokens: bool = False) -> BPE:
        """Return a model in which listed pairs merge, in order."""
        place = self._internal
        listed = [(place[left], place[right], place[made]) for left, right, made in merges]
        return BPE(
            dict(enumerate(self._tokens)),
            [*self._assembly, *listed],
            whole_pretokens=whole_pretokens,
            outputs=self._outputs,
            fixed_merges=len(self._assembly),
        )

    def merges_by_rank(self) -> list[tuple[int, int, int]]:
        """Return the merges that happen when any two neighbours merge whose concatenation is a token.

        The first of `order` merges first; there is one merge for each token that merging makes.
        """
        return self._outer(BPE(dict(enumerate(self._tokens)), None).live_merges()[0])

    def live_merges(self, merges: Iterable[tuple[int, int, int]]) -> list[tuple[int, int, int]]:
        """Return those of listed merges that happen, in order."""
        return self._outer(self.by_list(merges).live_merges()[0])

    def _outer(self, live: Iterable[tuple[int, int, int]]) -> list[tuple[int, int, int]]:
        """Return merges of the model as merges of tokens, without those that build characters."""
        outer = {inner: token_id for token_id, inner in self._internal.items()}
        first = len(self._tokens) - sum(inner >= 256 for inner in outer)
        return [
            (outer[left], outer[right], outer[made])
            for left, right, made in live
            if made >= first and left in outer and right in outer
        ]

    def _of_byte(self, byte: int, singles: Mapping[bytes, int], characters: Characters) -> tuple[int, ...]:
        token_id = singles.get(bytes((byte,)))
        if token_id is None:
            token_id = characters.byte_ids[byte] if characters.byte_ids else characters.unknown
        return (0 if token_id is None else token_id,)

    def _add(self, token: bytes, output: tuple[int, ...]) -> int:
        self._tokens.append(token)
        self._outputs.append(output)
        return len(self._tokens) - 1

    def _character(self, token: bytes, output: tuple[int, ...], characters: Characters) -> int:
        """Add a character of several bytes, and what it is built of."""
        left = token[0]
        for end in range(2, len(token)):
            begun = token[:end]
            if begun not in self._begun:
                rest = tuple(self._outputs[byte][0] for byte in begun)
                self._begun[begun] = self._add(begun, rest)
                self._assembly.append((left, token[end - 1], self._begun[begun]))
            left = self._begun[begun]
        made = self._add(token, output)
        self._assembly.append((left, token[-1], made))
        return made


def joined_pairs(tokens: Collection[bytes]) -> bytes:
    """Return the pairs of neighbouring bytes that tokens hold, as `Scheme.joins`.

    Merging crosses the border between two bytes only into a token that holds both.  So where no token does, a text may
    be cut, and the ids are those of the text in one piece.  A border within a character is never one to cut at.
    """
    bits = np.zeros(1 << 16, dtype=np.bool_)
    bits.reshape(256, 256)[:, 0x80:0xC0] = True
    joined = np.frombuffer(b"".join(tokens), dtype=np.uint8).astype(np.uint32)
    ends = np.cumsum([len(token) for token in tokens])
    pairs = joined[:-1] << 8 | joined[1:]
    bits[np.delete(pairs, ends[:-1] - 1)] = True
    return np.packbits(bits, bitorder="little").tobytes()


def ordered_by_score(scores: Sequence[tuple[float, int, bytes]]) -> list[int]:
    """Return ids in the order in which SentencePiece merges their tokens: `(score, id, token)`, the highest first.

    Of equal scores it takes the leftmost pair, whichever token that makes.  A list of merges cannot say this, but for
    runs of one character it can, the longer ones first: in both ways the leftmost run grows by what stands behind it,
    and once it has grown what stands before it is tried first, as that makes the longest.

    Raises `ValueError` naming two other tokens of equal score.
    """
    groups: dict[float, list[tuple[bytes, int]]] = {}
    for score, token_id, token in scores:
        groups.setdefault(score, []).append((token, token_id))
    order: list[int] = []
    for score in sorted(groups, reverse=True):
        group = sorted(groups[score], key=lambda item: -len(item[0]))
        tokens = [token.decode("utf-8") for token, _ in group]
        if len(group) > 1 and len(set("".join(tokens))) > 1:
            raise ValueError(f"tokens {tokens[-1]!r} and {tokens[-2]!r} have the same score {score}; expected one each")
        order += [token_id for _, token_id in group]
    return order


def inner_token(token: bytes, end: bytes) -> bytes:
    """Return a token as the engine has it, where words have ends."""
    if not end or not token.endswith(end) or len(token) == len(end):
        return token
    return token[: -len(end)] + bytes((WORD_END,))


def is_single(token: bytes, characters: Characters) -> bool:
    """Whether a token, as the engine has it, is one character."""
    if characters.end_of_word and len(token) > 1 and token[-1] == WORD_END:
        token = token[:-1]
    if characters.are_bytes:
        return len(token) == 1
    try:
        return len(token.decode("utf-8")) == 1
    except UnicodeDecodeError:
        return False
