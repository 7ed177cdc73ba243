"""Vocabularies whose symbols are characters (SentencePiece's, HF's `byte_fallback`), translated to models of bytes.

A vocabulary of characters splits a text into characters.  A character that is a token is a symbol; any other becomes
the tokens of its bytes, which never merge.  The symbols of the engine are bytes, so the translated model first builds
the characters that are tokens, byte by byte, by merges that precede all others.  In UTF-8 no such merge can cross from
one character into the next, so every character is complete before the first real merge, and ids are the same.  A
partly built character that is not a token is written as the tokens of its bytes.  The module `word_symbols` translates
words whose characters are marked by their position.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

from ..core.bpe import BPE
from ..lazy import np, npt
from .rules import Characters


class ByteModel:
    """A builder for a model of bytes: 256 bytes, then merged tokens, each with the ids that it is written as."""

    def __init__(self, outputs: Iterable[tuple[int, ...]]) -> None:
        self.tokens = [bytes((byte,)) for byte in range(256)]
        self.outputs = list(outputs)
        self.merges: list[tuple[int, int, int]] = []
        self._begun: dict[bytes, int] = {}

    def add(self, token: bytes, output: tuple[int, ...]) -> int:
        """Add a token, and return its id in the model."""
        self.tokens.append(token)
        self.outputs.append(output)
        return len(self.tokens) - 1

    def joined(self, left: int, right: int, output: tuple[int, ...]) -> int:
        """Add the concatenation of two tokens, and return its id in the model."""
        return self.add(self.tokens[left] + self.tokens[right], output)

    def merge(self, left: int, right: int, output: tuple[int, ...]) -> int:
        """Add the concatenation of two tokens and the merge that makes it, and return its id in the model."""
        made = self.joined(left, right, output)
        self.merges.append((left, right, made))
        return made

    def character(self, char: bytes, output: tuple[int, ...]) -> int:
        """Add a character and the merges that build it, and return its id in the model."""
        if len(char) == 1:
            self.outputs[char[0]] = output
            return char[0]
        left = char[0]
        for end in range(2, len(char)):
            begun = char[:end]
            if begun not in self._begun:
                self._begun[begun] = self.merge(left, begun[-1], tuple(i for byte in begun for i in self.outputs[byte]))
            left = self._begun[begun]
        return self.merge(left, char[-1], output)

    def model(
        self,
        merges: Iterable[tuple[int, int, int]] = (),
        *,
        whole_pretokens: bool = False,
        fixed_merges: int,
        levels: Sequence[int] = (),
    ) -> BPE:
        """Return the model, with more merges after its own; `levels` are those of all but the fixed merges."""
        return BPE(
            dict(enumerate(self.tokens)),
            [*self.merges, *merges],
            whole_pretokens=whole_pretokens,
            outputs=self.outputs,
            fixed_merges=fixed_merges,
            levels=after(fixed_merges, levels),
        )


def after(count: int, levels: Sequence[int]) -> npt.NDArray[np.int64] | None:
    """Return levels after `count` levels that all differ; `None` if there are no levels."""
    return np.append(np.arange(count), np.asarray(levels, np.int64) + count) if len(levels) else None


class CharacterModel:
    """The model of bytes for tokens and merges of characters, and the ids that its ids are written as.

    `order`: the ids of the tokens of several characters that merging makes, in any order, each once.
    """

    def __init__(self, vocab: Mapping[int, bytes], characters: Characters, order: Iterable[int]) -> None:
        singles = {token: token_id for token_id, token in vocab.items() if is_single(token)}
        self._bytes = ByteModel(_of_byte(byte, singles, characters) for byte in range(256))
        self._internal = {
            token_id: self._bytes.character(token, (token_id,)) for token, token_id in singles.items()
        }
        for token_id in order:
            self._internal[token_id] = self._bytes.add(vocab[token_id], (token_id,))

    def by_list(
        self,
        merges: Iterable[tuple[int, int, int]],
        *,
        whole_pretokens: bool = False,
        levels: Sequence[int] = (),
    ) -> BPE:
        """Return a model that applies listed merges in order, or by `TokenizerSpec.merge_levels`."""
        inner = self._internal
        listed = [(inner[left], inner[right], inner[made]) for left, right, made in merges]
        fixed = len(self._bytes.merges)
        return self._bytes.model(listed, whole_pretokens=whole_pretokens, fixed_merges=fixed, levels=levels)

    def merges_by_rank(self, levels: Sequence[int] = ()) -> list[tuple[int, int, int]]:
        """Return the merges that can apply when any two neighbours merge whose concatenation is a token.

        The first token of `order` merges first, or the leftmost of those that have one of `levels`; the result has one
        merge for each token that merging can make.
        """
        tokens = self._bytes.tokens
        model = BPE(dict(enumerate(tokens)), None, levels=after(len(tokens) - len(levels), levels))
        return self._outer(model.live_merges()[0])

    def live_merges(
        self, merges: Iterable[tuple[int, int, int]], levels: Sequence[int] = ()
    ) -> list[tuple[int, int, int]]:
        """Return the listed merges that can apply, in order."""
        return self._outer(self.by_list(merges, levels=levels).live_merges()[0])

    def _outer(self, live: Iterable[tuple[int, int, int]]) -> list[tuple[int, int, int]]:
        """Translate merges of the model to merges of tokens, leaving out the merges that build characters."""
        outer = {inner: token_id for token_id, inner in self._internal.items()}
        building = {made for _, _, made in self._bytes.merges}
        return [
            (outer[left], outer[right], outer[made])
            for left, right, made in live
            if made not in building and left in outer and right in outer
        ]


def _of_byte(byte: int, singles: Mapping[bytes, int], characters: Characters) -> tuple[int, ...]:
    token_id = singles.get(bytes((byte,)))
    if token_id is None:
        token_id = characters.byte_ids[byte] if characters.byte_ids else characters.unknown
    return (0 if token_id is None else token_id,)


def joined_pairs(tokens: Collection[bytes]) -> bytes:
    """Return the pairs of adjacent bytes that occur in tokens, as `Scheme.joins`.

    A merge can join two adjacent bytes only in a token that has both of them in a row.  So splitting a text at a pair
    that no token has does not change its ids.  Borders within a character are excluded from splitting.
    """
    bits = np.zeros(1 << 16, dtype=np.bool_)
    bits.reshape(256, 256)[:, 0x80:0xC0] = True
    joined = np.frombuffer(b"".join(tokens), dtype=np.uint8).astype(np.uint32)
    ends = np.cumsum([len(token) for token in tokens])
    pairs = joined[:-1] << 8 | joined[1:]
    bits[np.delete(pairs, ends[:-1] - 1)] = True
    return np.packbits(bits, bitorder="little").tobytes()


def ordered_by_score(scores: Sequence[tuple[float, int, bytes]]) -> tuple[list[int], dict[int, int]]:
    """Return the ids of `(score, id, token)` in the order in which SentencePiece merges, and their levels by id.

    The highest score merges first.  SentencePiece merges the leftmost of several pairs with equal scores, whichever
    token that makes: these tokens have one level (`TokenizerSpec.merge_levels`).  Runs of one character need none if
    the longer runs come first.  With both rules the leftmost run grows to the right, and then joins a run on its left
    first, because that makes the longest token.
    """
    groups: dict[float, list[tuple[bytes, int]]] = {}
    for score, token_id, token in scores:
        groups.setdefault(score, []).append((token, token_id))
    order: list[int] = []
    levels: dict[int, int] = {}
    for score in sorted(groups, reverse=True):
        group = sorted(groups[score], key=lambda item: -len(item[0]))
        is_run = len(set("".join(token.decode("utf-8") for token, _ in group))) == 1
        for number, (_, token_id) in enumerate(group):
            levels[token_id] = len(order) + (number if is_run else 0)
        order += [token_id for _, token_id in group]
    return order, levels


def is_single(token: bytes) -> bool:
    """Return whether a token is one character."""
    try:
        return len(token.decode("utf-8")) == 1
    except UnicodeDecodeError:
        return False
