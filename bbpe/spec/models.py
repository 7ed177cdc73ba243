"""The data that encodes a pretoken: a vocabulary, with merges or with the options of a model other than BPE."""

from __future__ import annotations

from array import array
from collections.abc import ItemsView, Iterator, Mapping, Sequence, ValuesView
from typing import TypeAlias, overload

from ..core.merge_list import MergeList
from ..core.token_table import TokenTable
from ..records import dataclass

#: The ids of two tokens and of the token that they make.
Merge = tuple[int, int, int]


class Vocab(TokenTable, Mapping[int, bytes]):
    """Ids to bytes, in the order of a file or mapping; immutable, and equal to any mapping of the same items.

    All tokens are in one block of memory, and `bytes` objects are made on access, so a vocabulary of 100,000 tokens
    loads without making 100,000 objects.

    Raises `TypeError` on an id that is not an int and a token that is not bytes; `VocabularyError` on an id out of
    range and on two ids of one token.

    >>> vocab = Vocab({7: b"the", 2: b"a"})
    >>> vocab[7], list(vocab), vocab == {2: b"a", 7: b"the"}, vocab.id_of(b"a")
    (b'the', [7, 2], True, 2)
    """

    __slots__ = ()

    def items(self) -> ItemsView[int, bytes]:
        """Return a view of the ids and their bytes, in order."""
        return _Items(self)

    def values(self) -> ValuesView[bytes]:
        """Return a view of the bytes, in order."""
        return _Values(self)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Vocab) and self.data() == other.data():
            return True
        if not isinstance(other, Mapping):
            return NotImplemented
        return len(self) == len(other) and dict(self.pairs()) == dict(other.items())

    __hash__ = None  # type: ignore[assignment]

    def __reduce__(self) -> tuple[object, ...]:
        return _vocab_of_data, (self.data(),)

    def __repr__(self) -> str:
        return f"Vocab({dict(self.pairs())!r})"


def _vocab_of_data(data: bytes) -> Vocab:
    """Return the vocabulary of a pickle, which has it as one block of bytes."""
    return Vocab.of_data(data)


class _Items(ItemsView[int, bytes]):
    """A view that makes all items in one call instead of looking up each id."""

    def __init__(self, vocab: Vocab) -> None:
        super().__init__(vocab)
        self._vocab = vocab

    def __iter__(self) -> Iterator[tuple[int, bytes]]:
        return iter(self._vocab.pairs())


class _Values(ValuesView[bytes]):
    """A view that makes all values in one call instead of looking up each id."""

    def __init__(self, vocab: Vocab) -> None:
        super().__init__(vocab)
        self._vocab = vocab

    def __iter__(self) -> Iterator[bytes]:
        return iter([token for _, token in self._vocab.pairs()])


class Merges(MergeList, Sequence[Merge]):
    """Merges as `(left id, right id, id)` in order of priority; immutable, and equal to a tuple of the same merges.

    All ids are in one block of memory, and tuples are made on access, so a list of 300,000 merges loads without making
    300,000 objects.

    Raises `VocabularyError` on a number that is not an id.

    >>> merges = Merges([(97, 98, 256), (256, 99, 257)])
    >>> merges[1], len(merges), merges == ((97, 98, 256), (256, 99, 257))
    ((256, 99, 257), 2, True)
    """

    __slots__ = ()

    @overload
    def __getitem__(self, key: int) -> Merge: ...
    @overload
    def __getitem__(self, key: slice) -> tuple[Merge, ...]: ...
    def __getitem__(self, key: int | slice) -> Merge | tuple[Merge, ...]:
        return tuple(self.rows()[key]) if isinstance(key, slice) else MergeList.__getitem__(self, key)

    def __iter__(self) -> Iterator[Merge]:
        return iter(self.rows())

    def __eq__(self, other: object) -> bool:
        if isinstance(other, MergeList):
            return self.is_same(other)
        return tuple(self.rows()) == other if isinstance(other, tuple) else NotImplemented

    def __hash__(self) -> int:
        return hash(tuple(self.rows()))

    def __reduce__(self) -> tuple[object, ...]:
        return _merges_of_data, (self.data(),)

    def __repr__(self) -> str:
        return f"Merges({self.rows()!r})"


def _merges_of_data(data: bytes) -> Merges:
    """Return the merges of a pickle, which has them as one block of bytes."""
    return Merges.of_data(data)


@dataclass(frozen=True)
class WordPieceModel:
    """Greedy longest match from left to right: each step takes the longest token that the rest of a word begins with.

    Tokens with `prefix` continue a word; all others begin one.  A word that cannot be matched to its end, or that has
    more than `max_characters` characters, becomes the single id `unknown`, or is left out if that is `None`.
    """

    unknown: int | None
    prefix: str = "##"
    max_characters: int = 100

    def identity(self) -> bytes:
        """Return everything that ids depend on, for the fingerprint."""
        # fingerprints of saved models do not change with the name of the class
        return f"WordPiece{repr(self).removeprefix(type(self).__name__)}".encode("utf-8", "surrogatepass")


@dataclass(frozen=True)
class WordLevelModel:
    """Each pretoken that is a token becomes its id; any other becomes `unknown`, or is left out if that is `None`.

    `fuses`: unknown pretokens in a row become one id, as in SentencePiece.
    """

    unknown: int | None
    fuses: bool = False

    def identity(self) -> bytes:
        """Return everything that ids depend on, for the fingerprint."""
        return f"WordLevel {self.unknown} {self.fuses}".encode()


@dataclass(frozen=True)
class LongestMatchModel:
    """The longest token that fits at each position, from left to right; tokens are of bytes (RWKV)."""

    def identity(self) -> bytes:
        """Return everything that ids depend on, for the fingerprint."""
        return b"LongestMatch"


@dataclass(frozen=True)
class UnigramModel:
    """The segmentation of a pretoken into tokens with the highest sum of scores, found by the Viterbi algorithm.

    `Characters` describes the ids of characters without a token; each scores 10 less than the lowest token.

    `scores` is indexed by id; the scores of ids that are not ordinary tokens have no effect.  With `is_float`, sums are
    rounded to float32 from the beginning of a text and the text of a byte token ("<0x0A>") is not found in texts, as in
    SentencePiece.  Otherwise sums are doubles and the text of a byte token is found, as in HF's `tokenizers`.
    `user_defined` has the ids of tokens that score by their length, as in SentencePiece.

    `unnamed` has the bytes and scores of pieces without an id: each is written as the unknown token.  With `finds_runs`
    a run of unknown characters becomes the token of its text, if there is one (Marian).
    """

    scores: tuple[float, ...]
    is_float: bool = True
    user_defined: tuple[int, ...] = ()
    unnamed: tuple[tuple[bytes, float], ...] = ()
    finds_runs: bool = False

    def identity(self) -> bytes:
        """Return everything that ids depend on, for the fingerprint."""
        scores = list(self.scores)
        for token_id in self.user_defined:
            scores[token_id] = 0.0
        kind = "f" if self.is_float else "d"
        own = b"Unigram " + repr((self.is_float, self.user_defined)).encode() + array(kind, scores).tobytes()
        more = (self.unnamed, self.finds_runs)
        return own + repr(more).encode() if any(more) else own


@dataclass(frozen=True)
class SymbolModel:
    """BPE of the characters of words by merges of symbols that need not be tokens (PhoBERT, CTRL).

    `symbols` has the texts of all symbols with blanks between; a symbol at the end of a word ends with `end_of_word`.
    `ids` has the id that each is written as, which is `unknown` for symbols without a token, as for each character that
    is no symbol.  `merges` has the numbers of two symbols and of the one that they make, in order of priority.
    """

    unknown: int
    symbols: str
    ids: tuple[int, ...]
    merges: Merges
    end_of_word: str = "</w>"

    def identity(self) -> bytes:
        """Return everything that ids depend on, for the fingerprint."""
        shown = repr((self.unknown, self.end_of_word, self.symbols, self.ids))
        return f"Symbols {shown}".encode() + self.merges.data()


#: The models other than BPE whose symbols are tokens.
OtherModel: TypeAlias = WordPieceModel | WordLevelModel | LongestMatchModel | UnigramModel | SymbolModel
