"""The options of models other than BPE: the data that encodes a pretoken together with the vocabulary."""

from __future__ import annotations

from array import array
from typing import TypeAlias

from ..records import dataclass


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
    """

    scores: tuple[float, ...]
    is_float: bool = True
    user_defined: tuple[int, ...] = ()

    def identity(self) -> bytes:
        """Return everything that ids depend on, for the fingerprint."""
        scores = list(self.scores)
        for token_id in self.user_defined:
            scores[token_id] = 0.0
        kind = "f" if self.is_float else "d"
        return b"Unigram " + repr((self.is_float, self.user_defined)).encode() + array(kind, scores).tobytes()


#: The models other than BPE.
OtherModel: TypeAlias = WordPieceModel | WordLevelModel | LongestMatchModel | UnigramModel
