"""Other ids than the best ones for a text: the n best and random ways of a Unigram model (Kudo, 2018), any model's."""

from __future__ import annotations

import math
from heapq import nlargest
from random import Random

import numpy as np

from ..core.unigram import UnigramModel
from ..pipeline.special_tokens import SpecialTokens
from ..text import Text
from .decode import Decoder, Ids
from .engine import TextEncoder
from .rule_encoder import RuleEncoder

#: The most ways that are looked for.
_MOST = 1 << 16


def is_canonical(encoder: TextEncoder, decoder: Decoder, specials: SpecialTokens, ids: Ids) -> bool:
    """Say whether ids are those that encoding gives to their text; special tokens are themselves."""
    decoder.token_bytes.join(ids)
    given = np.asarray(ids, dtype=np.uint32)
    if isinstance(encoder, RuleEncoder):
        text = decoder.text(given, "replace", None, False, "raise")
        return np.array_equal(encoder.to_array(text, specials.matcher("all")), given)
    special, plain = np.isin(given, list(decoder.special_ids)), specials.matcher()
    for stretch in np.split(given, np.flatnonzero(special)):
        # each but the first begins with a special token
        rest = stretch[1:] if len(stretch) and stretch[0] in decoder.special_ids else stretch
        if not np.array_equal(encoder.to_array(decoder.token_bytes.join(rest), plain), rest):
            return False
    return True


class UnigramWays:
    """What samples the texts of an encoder; `TypeError` when its model is not Unigram."""

    def __init__(self, encoder: TextEncoder) -> None:
        model = encoder.encoder.model
        if not isinstance(encoder, RuleEncoder) or not isinstance(model, UnigramModel):
            raise TypeError("only a Unigram model has several ways to encode a text; this tokenizer has another model")
        self._encoder, self._model = encoder, model

    def best(self, text: Text, n: int) -> list[tuple[list[int], float]]:
        """Return the n best ways, the best first: ids and the sum of their scores."""
        if isinstance(n, bool) or not isinstance(n, int) or not 1 <= n <= _MOST:
            raise ValueError(f"n is {n}; expected 1 to {_MOST}")
        found: list[tuple[float, list[int]]] = [(0.0, [])]
        for pretoken in self._encoder.pretokens(text):
            ways = self._model.best_ways(pretoken, n)
            joined = ((before + score, [*ids, *more]) for before, ids in found for score, more in ways)
            found = nlargest(n, joined, key=lambda way: way[0])
        return [(ids, score) for score, ids in found]

    def drawn(self, text: Text, *, alpha: float, nbest: int | None, seed: int | None) -> list[int]:
        """Return the ids of one way at random, of the `nbest` best or of all."""
        if not math.isfinite(alpha) or alpha < 0:
            raise ValueError(f"alpha is {alpha}; expected 0 or more")
        random = Random(seed)
        if nbest is not None:
            ways = self.best(text, nbest)
            weights = [math.exp(alpha * (score - ways[0][1])) for _, score in ways]
            return random.choices([ids for ids, _ in ways], weights)[0]
        state, drawn = random.getrandbits(64), list[int]()
        for pretoken in self._encoder.pretokens(text):
            ids, state = self._model.drawn_way(pretoken, alpha, state)
            drawn += ids
        return drawn
