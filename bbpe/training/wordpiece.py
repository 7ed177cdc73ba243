"""WordPiece: its options.  How it is learned: `words`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..lazy import safe_import
from ..records import dataclass, whole
from ..splitting.patterns import get_pattern
from .bpe import check_vocabulary

if TYPE_CHECKING:
    from .words import Score, WordPlan


@dataclass(frozen=True, kw_only=True)
class WordPiece:
    """WordPiece over BERT's words, or those of `pattern`: what continues a word is marked with "##".

    Ids: `unk_token` and the special tokens, then characters, then what merges make.  Of equal scores the lowest pair
    of ids is merged.

    Attributes:
        score: Which pair is merged: "pmi" (the default), that of the greatest count(ab) / (count(a) * count(b)), or
            "frequency", the most frequent one, as HF tokenizers.
        lowercase: Lowercase texts first and, over BERT's words, take accents off; on by default.
        unk_token: The token of words that the vocabulary cannot make up.
        max_alphabet: How many characters to keep, the most frequent ones; all by default.
        min_frequency: The least count of a pair that is merged.

    Raises:
        TypeError: A field has the wrong type.
        ValueError: A field has a wrong value.

    Example:
        >>> import bbpe
        >>> tok = bbpe.train_from_iterator(["low lower"], 13, model=bbpe.WordPiece(score="frequency"))
        >>> tok.tokenize("lower")
        ['low', '##er']

    """

    score: Score = "pmi"
    lowercase: bool = True
    unk_token: str = "[UNK]"
    max_alphabet: int | None = None
    min_frequency: int = 1

    def __post_init__(self) -> None:
        if self.score not in ("frequency", "pmi"):
            raise ValueError(f"WordPiece.score is {self.score!r}; expected 'pmi' or 'frequency'")
        if not isinstance(self.lowercase, bool):
            raise TypeError(f"WordPiece.lowercase must be a bool, not {type(self.lowercase).__name__}")
        if not isinstance(self.unk_token, str):
            raise TypeError(f"WordPiece.unk_token must be a str, not {type(self.unk_token).__name__}")
        if self.max_alphabet is not None:
            most = whole("WordPiece.max_alphabet", self.max_alphabet, 1, expected="an int or None")
            object.__setattr__(self, "max_alphabet", most)
        object.__setattr__(self, "min_frequency", whole("WordPiece.min_frequency", self.min_frequency, 0))

    def plan(self, vocab_size: int, special_tokens: Sequence[str], pattern: str | Sequence[str] | None) -> WordPlan:
        """Return what is done to train such a model, checked against the other arguments of `train`."""
        # imported here, because training on bytes needs none of it
        safe_import("bbpe.training.words")
        from .words import WordPlan

        return WordPlan(
            "wordpiece",
            int(vocab_size),
            check_vocabulary(vocab_size, special_tokens),
            self.unk_token,
            None if pattern is None else get_pattern(pattern),
            min_frequency=int(self.min_frequency),
            lowercase=self.lowercase,
            score=self.score,
            max_alphabet=self.max_alphabet,
        )
