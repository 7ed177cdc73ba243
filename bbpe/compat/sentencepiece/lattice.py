"""All segmentations of a text by a Unigram model: how uncertain they are, and random ones with their probabilities.

Sources: Kudo, 2018, "Subword Regularization"; Kool et al., 2019, "Stochastic Beams and Where to Find Them", for samples
without replacement.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from heapq import heappop, heappush
from math import exp, expm1, inf, log, log1p
from random import Random

from ...spec.spec import TokenizerSpec
from ...spec.unigram import scored_pieces

#: A segmentation, and the logarithm of its probability, or of the probability that it is among the samples.
Sample = tuple[list[int], float]


class PieceTable:
    """The pieces of a Unigram model by their bytes, with their scores."""

    def __init__(self, spec: TokenizerSpec) -> None:
        assert spec.characters is not None
        pieces, scores, self._unknown_score = scored_pieces(spec)
        self._pieces = {token: token_id for token_id, token in pieces.items()}
        self._scores = dict(zip(pieces, scores.tolist(), strict=True))
        self._longest = max(map(len, self._pieces), default=1)
        self._byte_ids = spec.characters.byte_ids
        self.unknown = spec.characters.unknown

    def steps(self, text: bytes, start: int) -> Iterator[tuple[int, tuple[int, ...], float]]:
        """Yield the end, the ids and the score of each piece that begins at a character of a text."""
        size = 1
        while start + size < len(text) and text[start + size] & 0xC0 == 0x80:
            size += 1
        found = False
        for end in range(start + size, min(len(text), start + self._longest) + 1):
            token_id = self._pieces.get(text[start:end])
            if token_id is not None:
                found = found or end == start + size
                yield end, (token_id,), self._scores[token_id]
        if not found:
            data = text[start : start + size]
            if self._byte_ids:
                ids = tuple(self._byte_ids[byte] for byte in data)
            else:
                ids = () if self.unknown is None else (self.unknown,)
            yield start + size, ids, self._unknown_score


class Lattice:
    """The segmentations of one text, each with a probability proportional to e^(alpha * sum of its scores)."""

    def __init__(self, table: PieceTable, pretokens: Sequence[bytes], alpha: float) -> None:
        #: The pieces that end at each byte: where they begin, their ids, and alpha times their score.
        self._ending: list[list[tuple[int, tuple[int, ...], float]]] = [[]]
        self._unknown = table.unknown
        base = 0
        for text in pretokens:
            self._ending += [[] for _ in text]
            for start in range(len(text)):
                if text[start] & 0xC0 != 0x80:
                    for end, ids, score in table.steps(text, start):
                        self._ending[base + end].append((base + start, ids, alpha * score))
            base += len(text)
        #: The logarithm of the sum over all ways to each byte.
        self._sums = [0.0]
        for row in self._ending[1:]:
            self._sums.append(_log_sum([self._sums[start] + score for start, _, score in row]))

    def entropy(self) -> float:
        """Return the entropy of the segmentations, in nats."""
        found = [0.0] * len(self._sums)
        for end, row in enumerate(self._ending):
            for start, _, score in row:
                each = score + self._sums[start] - self._sums[end]
                found[end] += exp(each) * (found[start] + each)
        return -found[-1]

    def sample(self, random: Random) -> Sample:
        """Return a random segmentation, and the logarithm of its probability."""
        at, parts, total = len(self._sums) - 1, list[tuple[int, ...]](), -self._sums[-1]
        while at > 0:
            row = self._ending[at]
            weights = [exp(score + self._sums[start] - self._sums[at]) for start, _, score in row]
            start, ids, score = random.choices(row, weights)[0]
            at, total = start, total + score
            parts.append(ids)
        return self._fused([token_id for ids in reversed(parts) for token_id in ids]), total

    def samples_without_replacement(self, count: int, random: Random) -> list[Sample]:
        """Return distinct random segmentations, and the logarithm of the probability that each is among them.

        Each segmentation gets Gumbel noise, and those with the greatest sums of it and of their log-probability are
        the samples.  A partial segmentation, from the end, has the greatest sum of all that complete it.
        """
        waiting: list[tuple[float, int, int, float, tuple[int, ...]]] = []
        heappush(waiting, (-_gumbel(random), 0, len(self._sums) - 1, 0.0, ()))
        done: list[tuple[list[int], float]] = []
        least, number = -inf, 0
        while waiting:
            noisy, _, at, total, ids = heappop(waiting)
            if at == 0:
                if len(done) == count:
                    least = -noisy
                    break
                done.append((list(ids), total))
                continue
            # of each piece: the log-probability of the segmentations that end with it and what follows
            row = self._ending[at]
            totals = [total + score + self._sums[start] - self._sums[at] for start, _, score in row]
            for (start, its_ids, _), each, sum_of in zip(row, totals, _noise(totals, -noisy, random), strict=True):
                number += 1
                heappush(waiting, (-sum_of, number, start, each, (*its_ids, *ids)))
        return [(self._fused(ids), _included(total, least)) for ids, total in done]

    def _fused(self, ids: list[int]) -> list[int]:
        """Return ids in which unknown characters in a row are one id, as in all other results."""
        unknown = self._unknown
        return [each for before, each in zip([None, *ids], ids, strict=False) if not before == each == unknown]


def _log_sum(values: Sequence[float]) -> float:
    most = max(values, default=-inf)
    return most if most == -inf else most + log(sum(exp(value - most) for value in values))


def _gumbel(random: Random) -> float:
    return -log(-log(random.random() or 1e-300))


def _noise(values: Sequence[float], most: float, random: Random) -> list[float]:
    """Return values with Gumbel noise, of which `most` is the greatest."""
    noisy = [value + _gumbel(random) for value in values]
    greatest = max(noisy)
    found = []
    for value in noisy:
        if value == greatest:
            found.append(most)
            continue
        gap = most - value + log1p(-exp(value - greatest))
        found.append(most - max(gap, 0.0) - log1p(exp(-abs(gap))))
    return found


def _included(total: float, least: float) -> float:
    """Return the logarithm of the probability that noise lifts a log-probability above `least`."""
    if least == -inf:
        return 0.0
    gap = total - least
    return gap if gap < -30 else log(-expm1(-exp(gap)))
