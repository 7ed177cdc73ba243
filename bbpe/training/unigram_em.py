"""Learning a Unigram vocabulary from counted pretokens: many frequent substrings, of which the least useful go.

Source: Kudo, 2018, "Subword Regularization: Improving Neural Network Translation Models with Multiple Subword
Candidates"; the steps and constants are those of SentencePiece (`unigram_model_trainer.cc`).  Scores are expected
counts through the digamma function, which lets rare tokens fade out (Liang and Klein, 2007, "Structured Bayesian
Nonparametric Models with Variational Inference"), and at last as they are and one half.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import islice, pairwise
from typing import TypeAlias

from ..core.unigram_train import Pieces, substrings
from ..corpus.rowfiles import Rows
from ..errors import CorpusError
from ..lazy import np, npt
from ..progress import Progress
from ..records import dataclass
from ..spec.rules import SPACE_MARK
from ..spec.unigram import UNKNOWN_PENALTY
from ..text import counted
from ..threads import imap, thread_count

Floats: TypeAlias = "npt.NDArray[np.float64]"
Points: TypeAlias = "npt.NDArray[np.uint32]"
Counts: TypeAlias = "npt.NDArray[np.uint64]"

#: Substrings that are begun with, the characters of one, and what share of tokens stays at a time.
SEEDS, CHARACTERS, SHRINKING = 1_000_000, 16, 0.75
#: Rounds of expectation between two prunings, and of the last tokens; tokens expected less often go.
_ROUNDS, _LAST_ROUNDS, _LEAST = 2, 2, 0.5
#: How much more often each token is expected at last (Krichevsky and Trofimov, 1981, "The Performance of Universal
#: Encoding"): text held back is about 1 % more likely than with none, and with 1/4 or 1 it differs by 0.1 to 0.4 %.
_HALF = 0.5
#: What share of all is spread evenly over the characters at last (Jelinek and Mercer, 1980, "Interpolated Estimation of
#: Markov Source Parameters from Sparse Data"): the lowest score is mostly a character's, and from it follows that of
#: unknown ones.  Multilingual text held back, a fifth of it such, is 7 % more likely than with none.
_SPREAD = 0.001
#: Pretokens that a thread takes at a time.
_TASK = 1 << 14


@dataclass(frozen=True)
class ScoredTokens:
    """The result of training: tokens of text and their scores, the highest first."""

    tokens: list[bytes]
    scores: list[float]


def learn(
    words: Rows,
    size: int,
    *,
    kinds: Counts | None = None,
    coverage: float = 0.9995,
    longest: int | None = None,
    needs_blank: bool = False,
    taken: frozenset[bytes] = frozenset(),
    seeds: int = SEEDS,
    threads: int | None = None,
    report: Callable[[Progress], None] = lambda _: None,
) -> ScoredTokens:
    """Learn up to `size` tokens; the most frequent characters are among them, so many that they cover the text.

    `kinds`: in how many different surroundings each word was found, if that is known; `longest`: the bytes of a token,
    of at most 16 characters; `needs_blank`: it is among the characters in any case; `taken`: what is no token, for it
    is one already.

    Raises `CorpusError` when there is no text, or these characters alone are more than `size`.
    """
    wanted = int(size * 1.1)
    required, started = _seeds(words, np.ones_like(words.counts) if kinds is None else kinds, coverage, seeds, wanted)
    required = [token for token in required if token not in taken]
    if needs_blank and b" " not in required and b" " not in taken:
        required.append(b" ")
    sizes = np.diff(started.offsets)
    allowed = sizes <= (np.iinfo(np.int64).max if longest is None else longest)
    if taken:
        data = started.data.tobytes()
        allowed &= [data[start:end] not in taken for start, end in pairwise(started.offsets.tolist())]
    started = started.take(np.flatnonzero(allowed))
    if len(required) > size:
        raise CorpusError(
            f"{counted(len(required), 'character', 'makes', 'make')} up {coverage:.2%} of the text, and there is room "
            f"for {counted(size, 'token')}; "
            f"expected a larger vocab_size, by {len(required) - size:,} or more, or a smaller character_coverage"
        )
    trainer = _Trainer(words, threads)
    rows = started
    scores = np.log(rows.counts.astype(np.float64)) - np.log(float(rows.counts.sum(dtype=np.float64)))
    begun = len(rows)
    while True:
        for _ in range(_ROUNDS):
            rows, scores = trainer.round(rows, scores)
            report(Progress("prune", begun - len(rows), max(begun - wanted, begun - len(rows)), "tokens"))
        if len(rows) <= wanted:
            break
        rows, scores = trainer.pruned(rows, scores, max(wanted, int(SHRINKING * len(rows))))
    return trainer.last(*_final(rows, scores, required, size), len(required))


def _seeds(words: Rows, kinds: Counts, coverage: float, seeds: int, least: int) -> tuple[list[bytes], Rows]:
    """Return the characters that have to be tokens, and all characters and frequent substrings with their counts.

    Substrings are counted by the kinds of words they stand in, not by how often these occur, so that what only ever
    stands in one and the same surroundings is none: a frequent name would take the place of what new names are made of
    (Goldwater, Griffiths and Johnson, 2006, "Interpolating Between Types and Tokens by Estimating Power-Law
    Generators").  Where these with the characters are less than `least`, they are counted by occurrences.
    """
    bounds = words.offsets.tolist()
    data = words.data.tobytes()
    texts = [data[start:end].decode("utf-8", "surrogateescape") for start, end in pairwise(bounds)]
    lengths = np.fromiter(map(len, texts), np.int64, len(texts))
    points = np.frombuffer("".join(texts).encode("utf-32-le", "surrogatepass"), np.uint32)
    if not len(points):
        raise CorpusError("there is no text to train on: no pretoken was found")
    found, kept = _characters(points, np.repeat(words.counts, lengths), coverage)
    ranks = np.zeros(len(found), np.uint32)
    ranks[kept] = np.arange(1, len(kept) + 1, dtype=np.uint32)
    # an end behind each text, and where a blank follows what is no white space: no token goes over these
    begins = np.zeros(len(points), np.bool_)
    begins[1:] = (points[1:] == 32) & (points[:-1] > 32)
    begins[np.cumsum(lengths)[:-1][lengths[1:] > 0]] = True
    places = np.flatnonzero(begins)
    marked = np.append(np.insert(ranks[points], places, 0), np.uint32(0))
    for weights in (kinds, words.counts):
        spread = np.repeat(weights, lengths)
        with_ends = np.append(np.insert(spread, places, spread[places - 1]), spread[-1])
        starts, sizes, totals = substrings(marked, with_ends[marked == 0], CHARACTERS)
        if len(kept) + len(starts) >= least:
            break
    best = np.argsort(-(totals.astype(np.float64) * sizes), kind="stable")[:seeds]
    characters_of = np.append(np.uint32(0), kept.astype(np.uint32))[marked]
    required = [chr(point).encode() for point in kept.tolist()]
    pieces = [*required, *_strings(characters_of, starts[best], sizes[best])]
    counts = np.concatenate([found[kept].astype(np.uint64), totals[best] * sizes[best].astype(np.uint64)])
    ends = np.cumsum([0, *map(len, pieces)], dtype=np.int64)
    return required, Rows(np.frombuffer(b"".join(pieces), np.uint8), ends, counts)


def _characters(points: Points, weights: Counts, coverage: float) -> tuple[Floats, npt.NDArray[np.int64]]:
    """Return how often each character occurs, by code point, and those that cover a text, the most frequent first."""
    found: Floats = np.bincount(points, weights=weights.astype(np.float64)).astype(np.float64, copy=False)
    # bytes that are not UTF-8; the mark between texts; what files write for a blank
    found[0xD800:0xE000] = found[0] = found[ord(SPACE_MARK) : ord(SPACE_MARK) + 1] = 0
    order = np.argsort(-found, kind="stable")
    order = order[: np.count_nonzero(found)]
    covered = np.cumsum(found[order])
    return found, order[: int(np.searchsorted(covered, coverage * covered[-1])) + 1] if len(order) else order


def _strings(points: Points, starts: Points, sizes: Points) -> list[bytes]:
    # 0 is an end, and not text
    text = points.astype("<u4").tobytes().decode("utf-32-le")
    return [text[start : start + n].encode() for start, n in zip(starts.tolist(), sizes.tolist(), strict=True)]


class _Trainer:
    """The steps over all pretokens, by threads."""

    def __init__(self, words: Rows, threads: int | None) -> None:
        self._words = (np.ascontiguousarray(words.data), words.offsets, words.counts)
        self._threads = thread_count(threads)
        # not one range a thread: long pretokens stand together
        self._ranges = [(start, min(start + _TASK, len(words))) for start in range(0, len(words), _TASK)]

    def _sum(self, size: int, step: Callable[[int, int, Floats], object]) -> Floats:
        """Return the sum of what a step adds for all pretokens; each thread has its own array."""
        share = -(-len(self._ranges) // self._threads)
        groups = [self._ranges[first :: self._threads] for first in range(min(self._threads, len(self._ranges)))]
        assert all(len(group) <= share for group in groups)

        def run(group: list[tuple[int, int]]) -> Floats:
            out = np.zeros(size + 1, np.float64)
            for first, end in group:
                step(first, end, out)
            return out

        total = np.zeros(size + 1, np.float64)
        for part in imap(run, groups, self._threads):
            total += part
        return total

    def _pieces(self, rows: Rows, scores: Floats) -> Pieces:
        return Pieces(
            np.ascontiguousarray(rows.data), rows.offsets, scores, unknown_score=float(scores.min()) - UNKNOWN_PENALTY
        )

    def round(self, rows: Rows, scores: Floats) -> tuple[Rows, Floats]:
        """Return the tokens that are expected often enough, and their new scores."""
        pieces = self._pieces(rows, scores)
        expected = self._sum(len(rows), partial(pieces.expect, *self._words))[:-1]
        kept = np.flatnonzero(expected >= _LEAST)
        return rows.take(kept), digamma(expected[kept]) - float(digamma(np.array([expected[kept].sum()]))[0])

    def pruned(self, rows: Rows, scores: Floats, size: int) -> tuple[Rows, Floats]:
        """Return the tokens without which most is lost."""
        pieces = self._pieces(rows, scores)
        times = self._sum(len(rows), partial(pieces.count, *self._words))
        ranges = [(start, min(start + _TASK, len(rows))) for start in range(0, len(rows), _TASK)]
        found = list(imap(lambda span: pieces.losses(times, *span), ranges, self._threads))
        losses = np.concatenate(found)
        order = np.argsort(-losses, kind="stable")[:size]
        kept = np.sort(order[losses[order] > -np.inf])
        return rows.take(kept), scores[kept]

    def last(self, rows: Rows, scores: Floats, characters: int) -> ScoredTokens:
        """Return the vocabulary, the highest score first; so many tokens at the beginning of `rows` are characters."""
        for _ in range(_LAST_ROUNDS):
            pieces = self._pieces(rows, scores)
            expected = self._sum(len(rows), partial(pieces.expect, *self._words))[:-1]
            expected += _HALF
            scores = np.log(expected) - np.log(expected.sum())
        if characters:
            share = (1 - _SPREAD) * np.exp(scores)
            share[:characters] += _SPREAD / characters
            scores = np.log(share)
        order = np.argsort(-scores, kind="stable")
        chosen = rows.take(order.astype(np.int64))
        data = chosen.data.tobytes()
        tokens = [data[start:end] for start, end in pairwise(chosen.offsets.tolist())]
        return ScoredTokens(tokens, scores[order].astype(np.float32).astype(np.float64).tolist())


def _final(rows: Rows, scores: Floats, required: list[bytes], size: int) -> tuple[Rows, Floats]:
    """Return the characters that have to be tokens, and besides those of the highest scores."""
    data = rows.data.tobytes()
    tokens = [data[start:end] for start, end in pairwise(rows.offsets.tolist())]
    score_of = dict(zip(tokens, scores.tolist(), strict=True))
    lowest = float(scores.min())
    chosen = {token: score_of.get(token, lowest) for token in required}
    others = (token for token in sorted(score_of, key=lambda token: -score_of[token]) if token not in chosen)
    chosen |= {token: score_of[token] for token in islice(others, max(size - len(chosen), 0))}
    ends = np.cumsum([0, *map(len, chosen)], dtype=np.int64)
    counts = np.zeros(len(chosen), np.uint64)
    return Rows(np.frombuffer(b"".join(chosen), np.uint8), ends, counts), np.array(list(chosen.values()), np.float64)


def digamma(x: Floats) -> Floats:
    """Return the logarithmic derivative of the gamma function, for positive numbers.

    By its recurrence up to 6, and from there its asymptotic series (Abramowitz and Stegun, 6.3.5 and 6.3.18).

    >>> digamma(np.array([1.0])).round(6).tolist()
    [-0.577216]
    """
    found: Floats = np.zeros(x.shape, np.float64)
    at = x.astype(np.float64, copy=True)
    for _ in range(6):
        low = at < 6
        found[low] -= 1 / at[low]
        at[low] += 1
    square = 1 / (at * at)
    series = square * (1 / 12 - square * (1 / 120 - square * (1 / 252 - square / 240)))
    found += np.log(at) - 0.5 / at - series
    return found
