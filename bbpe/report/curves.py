"""Learning curves: how bytes a token grow with the vocabulary, from one training, and with the training text."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ..corpus.files import Format
from ..corpus.sources import Reading
from ..records import dataclass
from ..text import Text, text_bytes
from ..tokenizer import Tokenizer
from ..training.prune import prune
from ..training.train import Model, train_from_iterator
from .evaluate import named_corpora
from .plots import save_lines
from .tables import Table, number
from .texts import Corpus, documents


@dataclass(frozen=True)
class CurvePoint:
    """A point of a learning curve.

    Attributes:
        size: The tokens of the vocabulary, or the bytes of the training text.
        corpus: The name of the corpus that was encoded.
        bytes: Its bytes.
        tokens: Its tokens.
        gain: The bytes a token that each further thousand tokens, or doubling of the text, brought; None at first.
        changed: The share of the tokens that the next smaller training text did not give; None for vocabularies.

    """

    size: int
    corpus: str
    bytes: int
    tokens: int
    gain: float | None = None
    changed: float | None = None

    @property
    def bytes_per_token(self) -> float:
        """The bytes over the tokens."""
        return self.bytes / self.tokens if self.tokens else 0.0


@dataclass(frozen=True)
class Curve:
    """A learning curve; `str` is a table for a terminal, and a notebook shows it as HTML.

    Attributes:
        across: What grows: "vocabulary size" or "bytes of training text".
        points: The points, corpus by corpus, from the smallest size.

    """

    across: str
    points: tuple[CurvePoint, ...]

    def __iter__(self) -> Iterator[CurvePoint]:
        return iter(self.points)

    def knee(self, corpus: str) -> int | None:
        """Return the size of the point that is highest above the line between the first and the last one.

        Sizes count by their logarithms. A larger vocabulary gains less for its size from there on. A curve that bends
        upwards has no such point, and the knee is `None`.

        Args:
            corpus: The name of a corpus.

        """
        from math import log2

        points = [point for point in self.points if point.corpus == corpus]
        first, last = points[0], points[-1]
        wide, high = log2(last.size / first.size) or 1.0, (last.bytes_per_token - first.bytes_per_token) or 1.0

        def above(point: CurvePoint) -> float:
            return (point.bytes_per_token - first.bytes_per_token) / high - log2(point.size / first.size) / wide

        highest = max(points, key=above)
        return highest.size if above(highest) > 0 else None

    def table(self) -> Table:
        """Return the table of the points."""
        has_changes = any(point.changed is not None for point in self.points)
        header = ("corpus", self.across, "tokens", "bytes/token", "gain", *(("tokens changed",) if has_changes else ()))
        rows = tuple(
            (
                point.corpus, number(point.size), number(point.tokens), number(point.bytes_per_token),
                number(point.gain, 4),
                *(("-" if point.changed is None else f"{point.changed:.1%}",) if has_changes else ()),
            )
            for point in self.points
        )  # fmt: skip
        return Table(header, rows, 1)

    def as_dict(self) -> dict[str, Any]:
        """Return the points as data for JSON."""
        names = ("size", "corpus", "bytes", "tokens", "bytes_per_token", "gain", "changed")
        corpora = dict.fromkeys(point.corpus for point in self.points)
        points = [{name: getattr(point, name) for name in names} for point in self.points]
        return {"across": self.across, "points": points, "knees": {name: self.knee(name) for name in corpora}}

    def plot(self, path: str | os.PathLike[str]) -> None:
        """Write a figure of the curve, with a ring around each knee.

        Args:
            path: The file, .svg, .pdf or .png.

        Raises:
            ImportError: `matplotlib` (the extra `plot`) is not installed.

        """
        lines, knees = [], []
        for corpus in dict.fromkeys(point.corpus for point in self.points):
            chosen = [point for point in self.points if point.corpus == corpus]
            lines.append((corpus, [point.size for point in chosen], [point.bytes_per_token for point in chosen]))
            knee = self.knee(corpus)
            knees += [(point.size, point.bytes_per_token) for point in chosen if point.size == knee]
        save_lines(lines, path, across=self.across, up="bytes per token", knees=knees)

    def __str__(self) -> str:
        return self.table().text()

    def _repr_html_(self) -> str:
        return self.table().html()


def learning_curve(
    tokenizer: Tokenizer, sizes: Sequence[int], corpora: Corpus | Mapping[str, Corpus], *, text_field: str = "text",
    format: Format | None = None,  # noqa: A002
) -> Curve:  # fmt: skip
    """Return the bytes a token of smaller vocabularies, which are the first merges of a trained one.

    Training at a size gives the same vocabulary, so one training of the largest size gives the whole curve.

    Args:
        tokenizer: A tokenizer of bytes with the largest vocabulary.
        sizes: The sizes, at most that of the tokenizer.
        corpora: A mapping of names to corpora, or one corpus, as in `evaluate`: text that was not trained on.
        text_field: The field of JSON lines, or the column of Parquet, with the text.
        format: The kind of all files; None determines it from their names.

    Returns:
        The curve; `gain` is by a thousand tokens.

    Raises:
        ValueError: A size is too small or too large.
        VocabularyError: The tokenizer's symbols are characters.

    Example:
        >>> tok = bbpe.train_from_iterator(["low lower lowest"], 262)
        >>> [point.tokens for point in bbpe.learning_curve(tok, [257, 262], ["lowest"])]
        [5, 3]

    """
    chosen = sorted(set(sizes))
    if not chosen or chosen[-1] > len(tokenizer):
        raise ValueError(f"sizes is {list(sizes)!r}; expected sizes of at most {len(tokenizer):,} tokens")
    toks = {size: tokenizer if size == len(tokenizer) else prune(tokenizer, keep=size)[0] for size in chosen}
    points: list[CurvePoint] = []
    for name, corpus in named_corpora(corpora).items():
        sums = dict.fromkeys(chosen, 0)
        total = 0
        for batch in documents(corpus, Reading(text_field, format=format)):
            total += sum(len(text_bytes(text)) for text in batch)
            for size, tok in toks.items():
                sums[size] += int(tok.count_tokens_batch(batch).sum())
        last: CurvePoint | None = None
        for size in chosen:
            point = CurvePoint(size, name, total, sums[size])
            if last is not None:
                gain = (point.bytes_per_token - last.bytes_per_token) / (size - last.size) * 1000
                point = CurvePoint(size, name, total, sums[size], gain)
            points.append(point)
            last = point
    return Curve("vocabulary size", tuple(points))


def corpus_curve(
    texts: Sequence[Text], vocab_size: int, held_out: Corpus | Mapping[str, Corpus], *,
    shares: Sequence[float] = (0.125, 0.25, 0.5, 1.0), model: Model = "bpe", pattern: str | None = None,
) -> Curve:  # fmt: skip
    """Return the bytes a token on held-out text, of tokenizers that are trained on growing parts of a corpus.

    Args:
        texts: The texts to train on, in random order.
        vocab_size: The number of tokens of each tokenizer.
        held_out: A mapping of names to corpora, or one corpus, as in `evaluate`.
        shares: The shares of the texts that are trained on.
        model: What to train, as in `train`.
        pattern: How to split texts, as in `train`.

    Returns:
        The curve; `gain` is by doubling, and `changed` the share of tokens that a smaller corpus did not give.

    Raises:
        ValueError: A share is not more than 0 and at most 1.

    Example:
        >>> curve = bbpe.corpus_curve(["low lower"] * 8, 258, ["lower"])
        >>> [point.changed for point in curve]
        [None, 0.0, 0.0, 0.0]

    """
    from math import log2

    if not shares or any(not 0 < part <= 1 for part in shares):
        raise ValueError(f"shares is {list(shares)!r}; expected numbers more than 0 and at most 1")
    sets = {name: [text for batch in documents(each, Reading()) for text in batch]
            for name, each in named_corpora(held_out).items()}  # fmt: skip
    points: dict[str, list[CurvePoint]] = {name: [] for name in sets}
    before: set[bytes] | None = None
    for part in sorted(set(shares)):
        chosen = texts[: max(1, round(part * len(texts)))]
        tok = train_from_iterator(chosen, vocab_size, model=model, pattern=pattern)
        known, size = set(tok.spec.vocab.values()), sum(len(text_bytes(text)) for text in chosen)
        changed = None if before is None else len(known - before) / max(len(known), 1)
        before = known
        for name, held in sets.items():
            total, tokens = sum(len(text_bytes(text)) for text in held), int(tok.count_tokens_batch(held).sum())
            point = CurvePoint(size, name, total, tokens, None, changed)
            if points[name]:
                last = points[name][-1]
                gain = (point.bytes_per_token - last.bytes_per_token) / (log2(size / last.size) or 1.0)
                point = CurvePoint(size, name, total, tokens, gain, changed)
            points[name].append(point)
    return Curve("bytes of training text", tuple(point for row in points.values() for point in row))
