"""Models other than BPE, as plain data: what a vocabulary needs beside its tokens to encode a pretoken."""

from __future__ import annotations

from array import array
from dataclasses import dataclass


@dataclass(frozen=True)
class WordPieceModel:
    """Greedy longest match: the longest token that a word begins with, then what continues it.

    Tokens with `prefix` continue a word, all others begin one.  A word that cannot be matched to its end, or has more
    than `max_characters` characters, is the one id `unknown`.  Decoding puts a blank before each token that begins a
    word, and with `cleanup` takes away those before some punctuation and contractions, as HF's `tokenizers` does.
    """

    unknown: int
    prefix: str = "##"
    max_characters: int = 100
    cleanup: bool = True

    def identity(self) -> bytes:
        """Return what ids depend on, for the fingerprint."""
        # fingerprints of saved models do not change with the name of the class
        return f"WordPiece{repr(self).removeprefix(type(self).__name__)}".encode("utf-8", "surrogatepass")


@dataclass(frozen=True)
class UnigramModel:
    """The tokens that make up a pretoken with the highest sum of scores; what is no token is as in `Characters`.

    `scores`: by id, for each id of the vocabulary; those of ids that are no token of text do not matter.  A character
    without a token scores 10 less than the lowest of all.  `is_float`: sums are those of SentencePiece, rounded to
    float32 from the beginning of a text, and the tokens of bytes are no text; else they are those of HF's `tokenizers`,
    doubles, and the tokens of bytes are found as they are written.  `user_defined`: ids of tokens that score by their
    length, as SentencePiece has it.
    """

    scores: tuple[float, ...]
    is_float: bool = True
    user_defined: tuple[int, ...] = ()

    def identity(self) -> bytes:
        """Return what ids depend on, for the fingerprint."""
        scores = list(self.scores)
        for token_id in self.user_defined:
            scores[token_id] = 0.0
        kind = "f" if self.is_float else "d"
        return b"Unigram " + repr((self.is_float, self.user_defined)).encode() + array(kind, scores).tobytes()
