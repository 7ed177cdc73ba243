"""Models other than BPE, as plain data: what a vocabulary needs beside its tokens to encode a pretoken."""

from __future__ import annotations

from array import array
from dataclasses import dataclass


@dataclass(frozen=True)
class WordPiece:
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
        return repr(self).encode("utf-8", "surrogatepass")


@dataclass(frozen=True)
class Unigram:
    """The tokens that make up a pretoken with the highest sum of scores.

    `scores`: by id, for each id up to the highest of the vocabulary; those of ids without a token do not matter.  A
    character that no token holds is `unknown`, or the tokens of its bytes when there are 256 `byte_ids`; with
    `fuse_unknown` one for a run of them.
    """

    scores: tuple[float, ...]
    unknown: int | None
    byte_ids: tuple[int, ...] = ()
    fuse_unknown: bool = True

    def identity(self) -> bytes:
        """Return what ids depend on, for the fingerprint."""
        rest = repr((self.unknown, self.byte_ids, self.fuse_unknown)).encode()
        return b"Unigram " + rest + array("d", self.scores).tobytes()
