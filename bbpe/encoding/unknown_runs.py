"""Places of ids for a Unigram model whose characters do not tell where a run of unknown ones ends.

A token may begin with a character that is none by itself: it is in the run, or the token is after the run.  So the
bytes of unknown characters get an id each here, and a run of them becomes one id when its place is known.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from typing import TypeAlias

from ..core.aligned import AlignedCall, SpanTrims, TokenLengths
from ..core.offsets import map_spans
from ..lazy import np, npt
from ..pipeline.special_tokens import Matcher
from ..spec.models import UnigramModel
from ..spec.spec import TokenizerSpec
from ..spec.unigram import scored_pieces
from ..text import Text, text_bytes
from .aligned import AlignedTexts, token_lengths
from .piped import NOTHING_AROUND, PipedTexts

Spans: TypeAlias = "npt.NDArray[np.int64]"
#: An id, the start and the end of its place, and the number of its pretoken.
_Placed: TypeAlias = tuple[int, int, int, int]


def hides_ends(spec: TokenizerSpec) -> bool:
    """Return whether a token of a Unigram model that has unknown characters begins or goes on with one of these.

    The unknown token itself, where it is found in texts, joins the run that it is next to.
    """
    if not isinstance(spec.model, UnigramModel) or spec.characters is None or spec.characters.byte_ids:
        return False
    if spec.characters.unknown in spec.vocab and not spec.model.is_float:
        return True
    pieces = [piece.decode("utf-8", "replace") for piece in scored_pieces(spec)[0].values()]
    return not set().union(*pieces).issubset(piece for piece in pieces if len(piece) == 1)


class RunTexts(AlignedTexts):
    """Makes the calls of an encoder that gives the bytes of unknown characters the ids from `spec.vocab_size` on."""

    def __init__(self, piped: PipedTexts, spec: TokenizerSpec) -> None:
        lengths = np.append(token_lengths(spec), np.ones(256, np.uint32))
        super().__init__(piped, spec, lengths=TokenLengths(lengths, lengths))
        assert spec.characters is not None
        self._first_byte, self._unknown = spec.vocab_size, spec.characters.unknown
        self._byte_ids = dict(spec.characters.some_byte_ids)

    def call(self, matcher: Matcher | None, trims: SpanTrims | None) -> AlignedCall:
        """Return what encodes texts with the places of ids, by the tokens of a call."""
        call = RunCall(self._piped.piped, self._lengths, self._piped.call(matcher, NOTHING_AROUND))
        call.texts, call.span_trims = self, trims
        return call

    def _is_unknown(self, token_id: int) -> bool:
        return token_id >= self._first_byte or token_id == self._unknown

    def joined(self, ids: list[int], spans: Spans, words: list[int]) -> Iterator[_Placed]:
        """Yield ids with their places, and one for each run of unknown characters within a pretoken."""
        rows = zip(ids, *spans.T.tolist(), words, strict=True)
        for (is_run, word), group in groupby(rows, lambda row: (self._is_unknown(row[0]), row[3])):
            if not is_run:
                yield from group
                continue
            run = list(group)
            found = [self._byte_ids.get(token_id - self._first_byte) for token_id, *_ in run]
            if self._byte_ids and None not in found:
                yield from ((token_id, *rest) for token_id, (_, *rest) in zip(found, run, strict=True))
            elif self._unknown is not None:
                yield self._unknown, run[0][1], run[-1][2], word


class RunCall(AlignedCall):
    """A call of `RunTexts`."""

    texts: RunTexts
    span_trims: SpanTrims | None

    def encode(self, text: Text, unit: str) -> tuple[list[int], Spans]:
        """Return the ids of a text, and their starts and ends in it, int64[n, 2]."""
        return self.encode_words(text, unit)[:2]

    def encode_words(self, text: Text, unit: str) -> tuple[list[int], Spans, list[int]]:
        """Return the ids of a text, their starts and ends in it, int64[n, 2], and the numbers of their pretokens."""
        rows = list(self.texts.joined(*super().encode_words(text, "byte")))
        ids, words = [row[0] for row in rows], [row[3] for row in rows]
        spans = np.array([row[1:3] for row in rows], np.int64).reshape(-1, 2)
        if self.span_trims is not None:
            self.span_trims.trim(text_bytes(text), np.array(ids, np.uint32), spans)
        if unit != "byte":
            map_spans(text, spans, unit)
        return ids, spans, words
