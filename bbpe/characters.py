"""Vocabularies whose symbols are characters (SentencePiece's, HF's `byte_fallback`), as models of bytes.

There a text is first cut into characters; one that is a token is a symbol, any other becomes the tokens of its bytes,
which merge with nothing.  The engine's symbols are bytes, so its model first builds the characters that are tokens,
byte by byte, by merges that come before all others.  In UTF-8 no such merge can cross from one character into the
next, so all characters stand before the first real merge, and ids are the same.  What was begun of a character that is
no token is written as the tokens of its bytes.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

import numpy as np

from .core.bpe import BPE
from .rules import Characters


class CharacterModel:
    """The model of bytes for tokens and merges of characters, and what its ids are written as.

    `order`: the ids of the tokens of several characters that merge, in any order that names each once.
    """

    def __init__(self, vocab: Mapping[int, bytes], characters: Characters, order: Iterable[int]) -> None:
        singles = {token: token_id for token_id, token in vocab.items() if _is_character(token)}
        self._tokens = [bytes((byte,)) for byte in range(256)]
        self._outputs = [self._of_byte(byte, singles, characters) for byte in range(256)]
        self._assembly: list[tuple[int, int, int]] = []
        self._begun: dict[bytes, int] = {}
        self._internal: dict[int, int] = {}
        for token, token_id in singles.items():
            self._internal[token_id] = token[0] if len(token) == 1 else self._character(token, (token_id,), characters)
        for token_id in order:
            self._internal[token_id] = self._add(vocab[token_id], (token_id,))

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


def _is_character(token: bytes) -> bool:
    try:
        return len(token.decode("utf-8")) == 1
    except UnicodeDecodeError:
        return False
