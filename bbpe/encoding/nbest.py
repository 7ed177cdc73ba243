"""Alternative segmentations of a text by a Unigram model (the n best, or random ones), and a test for canonical ids.

Source: Kudo, 2018, "Subword Regularization".
"""

from __future__ import annotations

import math
from heapq import nlargest
from typing import TYPE_CHECKING

from ..core.unigram import CompiledUnigram
from ..lazy import np, safe_import
from ..pipeline.special_tokens import SpecialTokens
from ..records import real, whole
from ..text import Text
from .engine import TextEncoder

if TYPE_CHECKING:
    from .decode import Decoder, Ids

#: The most segmentations that a call can ask for.
_MOST = 1 << 16


def is_canonical(encoder: TextEncoder, decoder: Decoder, specials: SpecialTokens, ids: Ids) -> bool:
    """Return whether encoding the text of ids gives the same ids; special tokens are encoded as special tokens."""
    decoder.data(ids, None)  # raises on an id out of range
    array = np.asarray(ids, dtype=np.uint32)
    if encoder.has_rules:
        text = decoder.text(array, "replace", None, False, "raise")
        return np.array_equal(encoder.to_array(text, specials.matcher("all")), array)
    special, plain = np.isin(array, decoder.special_array, kind="table"), specials.matcher()
    for stretch in np.split(array, np.flatnonzero(special)):
        # each stretch except the first begins with a special token
        rest = stretch[1:] if len(stretch) and stretch[0] in decoder.special_ids else stretch
        if not np.array_equal(encoder.to_array(decoder.data(rest, None), plain), rest):
            return False
    return True


class UnigramSampler:
    """Finds alternative segmentations by the model of an encoder; `TypeError` when that is not a Unigram model."""

    def __init__(self, encoder: TextEncoder) -> None:
        model = encoder.encoder.model
        if not isinstance(model, CompiledUnigram):
            raise TypeError(
                "this tokenizer has no scores for alternative segmentations; expected one whose model is Unigram"
            )
        self._encoder, self._model = encoder, model

    def pretokens(self, text: Text) -> list[bytes]:
        """Return the parts of a text that the model divides."""
        return self._encoder.pretokens(text)

    def nbest(self, text: Text, n: int) -> list[tuple[list[int], float]]:
        """Return the ids of the n best segmentations, each with the sum of its scores, the best first."""
        n = whole("n", n, 1, _MOST)
        found: list[tuple[float, list[int]]] = [(0.0, [])]
        for pretoken in self._encoder.pretokens(text):
            candidates = self._model.best_ways(pretoken, n)
            joined = ((before + score, [*ids, *more]) for before, ids in found for score, more in candidates)
            found = nlargest(n, joined, key=lambda scored: scored[0])
        return [(ids, score) for score, ids in found]

    def sample(self, text: Text, *, alpha: float, nbest: int | None, seed: int | None) -> list[int]:
        """Return the ids of a random segmentation, out of the `nbest` best ones or out of all."""
        alpha = real("alpha", alpha)
        if not math.isfinite(alpha) or alpha < 0:
            raise ValueError(f"alpha is {alpha}; expected 0 or more")
        safe_import("random")
        from random import Random

        random = Random(None if seed is None else whole("seed", seed, expected="an int or None"))
        if nbest is not None:
            nbest = whole("nbest", nbest, 1, _MOST, expected="an int or None")
            candidates = self.nbest(text, nbest)
            weights = [math.exp(alpha * (score - candidates[0][1])) for _, score in candidates]
            return random.choices([ids for ids, _ in candidates], weights)[0]
        state, sampled = random.getrandbits(64), list[int]()
        for pretoken in self._encoder.pretokens(text):
            ids, state = self._model.drawn_way(pretoken, alpha, state)
            sampled += ids
        return sampled
