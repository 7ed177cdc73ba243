"""Vocabularies whose symbols are characters (SentencePiece's, HF's `byte_fallback`), translated to models of bytes.

A vocabulary of characters splits a text into characters.  A character that is a token is a symbol; any other becomes
the tokens of its bytes, which never merge.  The symbols of a compiled model are bytes, so it first builds
the characters that are tokens, byte by byte, by merges that precede all others.  In UTF-8 no such merge can cross from
one character into the next, so every character is complete before the first real merge, and ids are the same.  A
partly built character that is not a token is written as the tokens of its bytes.  The module `word_symbols` translates
words whose characters are marked by their position.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Mapping, Sequence
from itertools import accumulate, chain, pairwise
from typing import NamedTuple, TypeAlias

from ..core.bpe import CompiledBPE
from ..core.character_tokens import character_tokens
from ..core.merge_list import NO_ID
from ..core.piece_list import PieceList
from ..core.token_table import TokenTable
from ..lazy import np, npt
from .models import Merges, Vocab
from .rules import Characters

#: Where the ids begin that each token is written as, for one more than there are; and these, and one more.
Outputs: TypeAlias = tuple["array[int]", "array[int]"]


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
        *,
        whole_pretokens: bool = False,
        fixed_merges: int,
        levels: Sequence[int] = (),
        unused: Iterable[int] = (),
    ) -> CompiledBPE:
        """Return the model; see `model_of_bytes`."""
        return model_of_bytes(
            dict(enumerate(self.tokens)),
            self.merges,
            _flat(self.outputs),
            whole_pretokens=whole_pretokens,
            fixed_merges=fixed_merges,
            levels=levels,
            unused=unused,
        )


def model_of_bytes(
    tokens: Mapping[int, bytes] | TokenTable,
    merges: Sequence[tuple[int, int, int]],
    outputs: Outputs,
    *,
    whole_pretokens: bool,
    fixed_merges: int,
    levels: Sequence[int],
    unused: Iterable[int],
) -> CompiledBPE:
    """Return a model whose tokens are written as other ids; `levels` are those of all but the fixed merges.

    A merged token of `unused` is written as the two tokens that its merge joins.
    """

    def made(outputs: Outputs) -> CompiledBPE:
        return CompiledBPE(
            tokens,
            merges,
            whole_pretokens=whole_pretokens,
            outputs=outputs,
            fixed_merges=fixed_merges,
            levels=after(fixed_merges, levels),
        )

    model, chosen = made(outputs), sorted(unused, key=lambda token_id: len(tokens[token_id]))
    if not chosen:
        return model
    starts, written = outputs
    rows = [tuple(written[start:end]) for start, end in pairwise(starts)]
    parts = {inner: (left, right) for left, right, inner in model.live_merges()[0]}
    for inner in chosen:
        if inner in parts:
            left, right = parts[inner]
            rows[inner] = rows[left] + rows[right]
    return made(_flat(rows))


def _flat(rows: Sequence[tuple[int, ...]]) -> Outputs:
    return array("I", accumulate(map(len, rows), initial=0)), array("I", (*chain.from_iterable(rows), 0))


def after(count: int, levels: Sequence[int]) -> npt.NDArray[np.int64] | None:
    """Return levels after `count` levels that all differ; `None` if there are no levels."""
    return np.append(np.arange(count), np.asarray(levels, np.int64) + count) if len(levels) else None


class CharacterModel:
    """The model of bytes for tokens and merges of characters, and the ids that its ids are written as.

    `order`: the ids of the tokens of several characters that merging makes, in any order, each once; by default that
    of the vocabulary.
    """

    def __init__(self, vocab: Mapping[int, bytes], characters: Characters, order: Sequence[int] | None = None) -> None:
        vocab, unused = vocab if isinstance(vocab, Vocab) else Vocab(vocab), frozenset(characters.unused)
        of_bytes = array("I", (_of_byte(byte, vocab, unused, characters) for byte in range(256)))
        ids = None if order is None else memoryview(order if isinstance(order, array) else array("I", order))
        #: The ids in the model by id, and the ids by id in the model; and the first one of a token of `order`.
        self._tokens, self._fixed, self._inner, self._outer, self._outputs, self._first = character_tokens(
            vocab, memoryview(of_bytes), unused, ids
        )
        self._unused = characters.unused

    def by_list(
        self,
        merges: Iterable[tuple[int, int, int]],
        *,
        whole_pretokens: bool = False,
        levels: Sequence[int] = (),
    ) -> CompiledBPE:
        """Return a model that applies listed merges in order, or by `TokenizerSpec.merge_levels`."""
        listed = merges if isinstance(merges, Merges) else Merges(merges)
        fixed = self._fixed
        inner = Merges.mapped(listed, self._inner, fixed)
        assert len(inner) == len(fixed) + len(listed)
        unused = [made for made in map(self._inner.__getitem__, self._unused) if self._first <= made < NO_ID]
        return model_of_bytes(
            self._tokens,
            inner,
            self._outputs,
            whole_pretokens=whole_pretokens,
            fixed_merges=len(fixed),
            levels=levels,
            unused=unused,
        )

    def merges_by_rank(self, levels: Sequence[int]) -> Merges:
        """Return the merges that can apply when any two neighbours merge whose concatenation is a token.

        The first token of `order` merges first, or the leftmost of those that have one of `levels`; the result has one
        merge for each token that merging can make.
        """
        return self._of(CompiledBPE(self._tokens, None, levels=after(len(self._tokens) - len(levels), levels)))

    def live_merges(self, merges: Iterable[tuple[int, int, int]], levels: Sequence[int] = ()) -> Merges:
        """Return the listed merges that can apply, in order."""
        return self._of(self.by_list(merges, levels=levels))

    def _of(self, model: CompiledBPE) -> Merges:
        """Return the live merges of a model as merges of tokens, leaving out the merges that build characters."""
        return Merges.mapped(model.live_list(), self._outer, least=self._first)


def single_characters(vocab: Mapping[int, bytes]) -> list[tuple[int, bytes]]:
    """Return the ids and bytes of the tokens that are one character, in order."""
    return (vocab if isinstance(vocab, Vocab) else Vocab(vocab)).characters()


def _of_byte(byte: int, vocab: Vocab, unused: frozenset[int], characters: Characters) -> int:
    """Return the id that a byte is written as by itself."""
    token = bytes((byte,))
    if byte < 0x80 and vocab.has_token(token) and vocab.id_of(token) not in unused:
        return vocab.id_of(token)
    token_id = characters.byte_ids[byte] if characters.byte_ids else characters.unknown
    return 0 if token_id is None else token_id


def joined_pairs(vocab: Mapping[int, bytes]) -> bytes:
    """Return the pairs of adjacent bytes that occur in the tokens of a vocabulary, as `Scheme.joins`.

    A merge can join two adjacent bytes only in a token that has both of them in a row.  So splitting a text at a pair
    that no token has does not change its ids.  Borders within a character are excluded from splitting.
    """
    return (vocab if isinstance(vocab, Vocab) else Vocab(vocab)).joined_bytes()


class MergeOrder(NamedTuple):
    """The ids of tokens of several characters in the order in which SentencePiece merges.

    The highest score merges first, and the leftmost of several pairs with equal scores, whichever token that makes:
    these have one of `levels`, the longest first (`TokenizerSpec.merge_levels`).  `runs`: the ids of tokens that are
    one character several times.
    """

    vocab: Vocab
    ids: array[int]
    levels: tuple[int, ...]
    runs: Sequence[int]

    @classmethod
    def of(cls, pieces: PieceList, vocab: Vocab) -> MergeOrder:
        """Return the order of the pieces of a vocabulary."""
        ids, equal, runs = pieces.order(vocab)
        return cls(vocab, ids, _levels(vocab, ids, equal, runs), [ids[place] for place in runs])

    def levels_of(self, merges: Merges) -> tuple[int, ...]:
        """Return the levels of the merges that can apply in this order: fewer tokens need one than all together."""
        if not self.levels:
            return ()
        made = np.frombuffer(merges.data(), np.uint32)[2::3]
        level_of = np.zeros(self.vocab.id_count, np.int64)
        level_of[self.ids] = self.levels
        borders = np.flatnonzero(np.diff(level_of[made], prepend=-1, append=-1)).tolist()
        equal = [(start, stop) for start, stop in pairwise(borders) if stop - start > 1]
        return _levels(self.vocab, made.tolist(), equal, np.flatnonzero(np.isin(made, self.runs)).tolist())


def _levels(
    vocab: Vocab, ids: Sequence[int], equal: Iterable[tuple[int, int]], runs: Iterable[int]
) -> tuple[int, ...]:
    """Return the levels of ids that are `equal` from one place to another; `()` if none needs one.

    `runs` are the places of runs of one character.  They need no level if no run of it comes before them.  With one,
    the leftmost run grows to the right, and joins a run on its left first; without one the longest merges first, which
    is the same, as a run on the left makes a longer token than one more character.
    """
    first_run: dict[str, int] = {}
    for place in runs:
        first_run.setdefault(vocab[ids[place]].decode()[0], place)
    is_first = [1] * len(ids)
    for start, stop in equal:
        characters = set().union(*(vocab[token_id].decode() for token_id in ids[start:stop]))
        if len(characters) > 1 or first_run[characters.pop()] < start:
            is_first[start + 1 : stop] = [0] * (stop - start - 1)
    return tuple(number - 1 for number in accumulate(is_first)) if 0 in is_first else ()
