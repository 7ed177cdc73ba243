"""Learning curves: how bytes a token grow with the vocabulary, from one training, and with the training text."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from ..corpus.fields import FieldName
from ..corpus.files import CorpusPaths, Format
from ..corpus.sources import Reading
from ..counting.corpus_parts import checked_texts
from ..counting.options import Counting, Report, reporting
from ..errors import described
from ..lazy import safe_import
from ..progress import Progress
from ..records import dataclass, kind, real, whole
from ..text import Text, text_bytes
from ..tokenizer import Tokenizer, checked_tokenizer
from ..training.prune import prune
from ..training.train import Model, train_from_iterator
from .plots import save_lines
from .tables import Table, number
from .terminal import terminal_columns
from .texts import DELAY, Meter, ReportCorpus, Texts, reading_of, sources_of


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
        safe_import("math")
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
        return self.table().text(terminal_columns())

    def _repr_html_(self) -> str:
        return self.table().html()


def learning_curve(
    tokenizer: Tokenizer, sizes: Sequence[int], corpora: CorpusPaths | Mapping[str, CorpusPaths] | None = None, *,
    texts: Texts | Mapping[str, Texts] | None = None, text_field: FieldName = "text",
    format: Format | None = None,  # noqa: A002
    progress: bool | Report | None = None,
) -> Curve:  # fmt: skip
    """Return the bytes a token of smaller vocabularies, which are the first merges of a trained one.

    Training at a size gives the same vocabulary, so one training of the largest size gives the whole curve.

    Args:
        tokenizer: A tokenizer of bytes with the largest vocabulary.
        sizes: The sizes, at most that of the tokenizer.
        corpora: Files, or a mapping of names to files, as in `evaluate`: text that was not trained on.
        texts: Texts, or a mapping of names to texts, as in `evaluate`.
        text_field: The field of JSON lines, or the column of Parquet, with the text, as in `shard`.
        format: The kind of all files; None determines it from their names.
        progress: True for a bar on stderr, or a function that is called with `bbpe.progress.Progress`.

    Returns:
        The curve; `gain` is by a thousand tokens.

    Raises:
        ValueError: A size is too small or too large.
        VocabularyError: The tokenizer's symbols are characters.

    Example:
        >>> tok = bbpe.train_from_iterator(["low lower lowest"], 262)
        >>> [point.tokens for point in bbpe.learning_curve(tok, [257, 262], texts=["lowest"])]
        [5, 3]

    """
    chosen, reading = _checked_sizes(sizes, len(checked_tokenizer(tokenizer))), reading_of(text_field, format)
    sources = sources_of(corpora, texts, reading)
    points: list[CurvePoint] = []
    with reporting(progress, delay=DELAY) as report:
        toks: dict[int, Tokenizer] = {}
        for size in chosen:
            report(Progress("prune", len(toks), len(chosen), "sizes"))
            toks[size] = tokenizer if size == len(tokenizer) else prune(tokenizer, keep=size)[0]
        report(Progress("prune", len(toks), len(chosen), "sizes"))
        meter = Meter(report, "measure", sources.values())
        for name, source in sources.items():
            points += _points(toks, name, source.documents(reading, meter=meter))
    return Curve("vocabulary size", tuple(points))


def _points(toks: Mapping[int, Tokenizer], name: str, batches: Iterable[list[Text]]) -> Iterator[CurvePoint]:
    """Yield the points of a corpus, from the smallest vocabulary on."""
    sums, total = dict.fromkeys(toks, 0), 0
    for batch in batches:
        total += sum(len(text_bytes(text)) for text in batch)
        for size, tok in toks.items():
            sums[size] += int(tok.count_tokens_batch(batch).sum())
    last: CurvePoint | None = None
    for size, tokens in sums.items():
        point = CurvePoint(size, name, total, tokens)
        if last is not None:
            gain = (point.bytes_per_token - last.bytes_per_token) / (size - last.size) * 1000
            point = CurvePoint(size, name, total, tokens, gain)
        yield point
        last = point


def _checked_sizes(sizes: object, most: int) -> list[int]:
    """Return different sizes of vocabularies in order; `TypeError` or `ValueError` for anything else."""
    if isinstance(sizes, str | bytes | Mapping) or not isinstance(sizes, Iterable):
        problem = "expected a list of sizes, such as [8000, 16000], before the corpora"
        raise TypeError(f"sizes is {described(sizes)}; {problem}")
    given = list(sizes)
    for place, size in enumerate(given):
        whole(f"sizes[{place}]", size, 1)
    chosen = sorted({int(size) for size in given})
    if not chosen or chosen[-1] > most:
        raise ValueError(f"sizes is {given!r}; expected sizes of at most {most:,} tokens")
    return chosen


def corpus_curve(
    texts: Sequence[Text], vocab_size: int, held_out: CorpusPaths | Mapping[str, CorpusPaths] | None = None, *,
    held_out_texts: Texts | Mapping[str, Texts] | None = None,
    shares: Sequence[float] = (0.125, 0.25, 0.5, 1.0), model: Model = "bpe", pattern: str | None = None,
    progress: bool | Report | None = None,
) -> Curve:  # fmt: skip
    """Return the bytes a token on held-out text, of tokenizers that are trained on growing parts of a corpus.

    Args:
        texts: The texts to train on, in random order.
        vocab_size: The number of tokens of each tokenizer.
        held_out: Files that were not trained on, or a mapping of names to files, as `corpora` of `evaluate`.
        held_out_texts: Texts in place of files, or a mapping of names to texts, as `texts` of `evaluate`.
        shares: The shares of the texts that are trained on.
        model: What to train, as in `train`.
        pattern: How to split texts, as in `train`.
        progress: True for a bar on stderr, or a function that is called with `bbpe.progress.Progress`.

    Returns:
        The curve; `gain` is by doubling, and `changed` the share of tokens that a smaller corpus did not give.

    Raises:
        ValueError: A share is not more than 0 and at most 1.

    Example:
        >>> curve = bbpe.corpus_curve(["low lower"] * 8, 258, held_out_texts=["lower"])
        >>> [point.changed for point in curve]
        [None, 0.0, 0.0, 0.0]

    """
    safe_import("math")
    from math import log2

    kind("texts", texts, Sequence, "a list of texts")
    kind("shares", shares, Sequence, "a list of numbers")
    shares = [real("shares", part) for part in shares]
    if not shares or any(not 0 < part <= 1 for part in shares):
        raise ValueError(f"shares is {list(shares)!r}; expected numbers more than 0 and at most 1")
    listed, sources = _listed(texts), sources_of(held_out, held_out_texts, Reading(), ("held_out", "held_out_texts"))
    sets = {name: [text for batch in source.documents(Reading()) for text in batch]
            for name, source in sources.items()}  # fmt: skip
    points: dict[str, list[CurvePoint]] = {name: [] for name in sets}
    before: set[bytes] | None = None
    with reporting(progress, delay=DELAY) as report:
        for part in sorted(set(shares)):
            chosen = listed[: max(1, round(part * len(listed)))]
            counting = Counting(progress=report)
            tok = train_from_iterator(chosen, vocab_size, model=model, pattern=pattern, counting=counting)
            known, size = set(tok.spec.vocab.values()), sum(len(text_bytes(text)) for text in chosen)
            changed = None if before is None else len(known - before) / max(len(known), 1)
            before = known
            for name, held in sets.items():
                total, tokens = sum(len(text_bytes(text)) for text in held), int(tok.count_tokens_batch(held).sum())
                gain = None
                if points[name]:
                    last, now = points[name][-1], CurvePoint(size, name, total, tokens)
                    gain = (now.bytes_per_token - last.bytes_per_token) / (log2(size / last.size) or 1.0)
                points[name].append(CurvePoint(size, name, total, tokens, gain, changed))
    return Curve("bytes of training text", tuple(point for row in points.values() for point in row))


def _listed(texts: object) -> list[Text]:
    """Return all texts of the argument `texts`; `TypeError` for anything else."""
    source = ReportCorpus("texts", (), checked_texts(texts))
    return [text for batch in source.documents(Reading()) for text in batch]
