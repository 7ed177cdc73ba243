"""Unigram by its definition (Kudo, 2018): every way to make up a text, one by one."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping


def ways(text: str, scores: Mapping[str, float]) -> Iterator[list[str]]:
    """Yield every way to cut a text into tokens; a character that is none may stand alone."""
    if not text:
        yield []
    for end in range(1, len(text) + 1):
        if text[:end] in scores or end == 1:
            for rest in ways(text[end:], scores):
                yield [text[:end], *rest]


def sum_of(way: list[str], scores: Mapping[str, float]) -> float:
    unknown = min(scores.values()) - 10
    return math.fsum(scores.get(token, unknown) for token in way)


def best(text: str, scores: Mapping[str, float]) -> tuple[list[str], float]:
    """Return the way with the highest sum, and by how much it is better than the next."""
    ranked = sorted(((sum_of(way, scores), way) for way in ways(text, scores)), reverse=True)
    return ranked[0][1], ranked[0][0] - ranked[1][0] if len(ranked) > 1 else math.inf


def expected(counts: Mapping[str, int], scores: Mapping[str, float]) -> tuple[dict[str, float], float]:
    """Return how often each token is expected in counted pretokens, and the logarithm of their probability."""
    times, likelihood = dict.fromkeys(scores, 0.0), 0.0
    for text, count in counts.items():
        weighted = [(math.exp(sum_of(way, scores)), way) for way in ways(text, scores)]
        total = math.fsum(weight for weight, _ in weighted)
        likelihood += count * math.log(total)
        for weight, way in weighted:
            for token in way:
                if token in scores:
                    times[token] += count * weight / total
    return times, likelihood
