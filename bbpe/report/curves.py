"""Learning curves: how bytes a token grow with the vocabulary, from one training, and with the training text."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from ..corpus.fields import FieldName
from ..corpus.files import CorpusPaths, Format
from ..corpus.sources import Reading
from ..counting.corpus_parts import checked_texts
from ..counting.count import count_texts
from ..counting.counts import PretokenCounts
from ..counting.options import Counting, Report, reporting
from ..errors import VocabularyError, described
from ..lazy import safe_import
from ..progress import Progress
from ..records import dataclass, kind, real, replace, whole
from ..shards.source_tokens import named_tokenizers
from ..text import Text, counted, text_bytes
from ..tokenizer import Tokenizer
from ..training.prune import prune, smallest
from ..training.train import Model, model_of
from .figures import STYLE, definitions, lines
from .plots import save_lines
from .tables import Table, csv_of, number, page
from .terminal import line_columns, wrapped
from .texts import Meter, ReportCorpus, Texts, reading_of, sources_of

#: What grows along a curve.
VOCABULARY, CORPUS = "vocabulary size", "bytes of training text"
#: The fewest points of a curve that has a knee.
_LEAST = 8


@dataclass(frozen=True)
class CurvePoint:
    """A point of a learning curve.

    Attributes:
        size: The tokens of the vocabulary, or the bytes of the training text.
        corpus: The name of the corpus that was encoded.
        bytes: Its bytes.
        tokens: Its tokens.
        gain: The gain in bytes per token for each further thousand tokens, or for twice the text; None at first, and
            without tokens.
        changed: The share of tokens that training on the next smaller text did not give; None for vocabularies.
        tokenizer: The name of the tokenizer, or of the pattern that it was trained with; empty if there is only one.

    """

    size: int
    corpus: str
    bytes: int
    tokens: int
    gain: float | None = None
    changed: float | None = None
    tokenizer: str = ""

    @property
    def bytes_per_token(self) -> float | None:
        """The bytes over the tokens; None of a corpus without tokens."""
        return self.bytes / self.tokens if self.tokens else None

    def gained(self, last: CurvePoint, steps: float) -> CurvePoint:
        """Return the point with its gain over the last point for each of the steps between them."""
        now, before = self.bytes_per_token, last.bytes_per_token
        return self if now is None or before is None else replace(self, gain=(now - before) / steps)


@dataclass(frozen=True)
class Curve:
    """A learning curve; `str` is a table for a terminal, and a notebook shows it as HTML.

    Attributes:
        across: What grows: "vocabulary size" or "bytes of training text".
        points: The points, corpus by corpus and tokenizer by tokenizer, from the smallest size.

    """

    across: str
    points: tuple[CurvePoint, ...]

    def __iter__(self) -> Iterator[CurvePoint]:
        return iter(self.points)

    def lines(self) -> dict[str, list[CurvePoint]]:
        """Return the points of each line, of a corpus and a tokenizer, by the names that distinguish it."""
        several = len({point.tokenizer for point in self.points}) > 1
        is_one = len({point.corpus for point in self.points}) == 1
        found: dict[str, list[CurvePoint]] = {}
        for point in self.points:
            name = point.corpus if not several else point.tokenizer if is_one else f"{point.tokenizer}, {point.corpus}"
            found.setdefault(name, []).append(point)
        return found

    def knee(self, corpus: str, tokenizer: str | None = None) -> int | None:
        """Return the size of the point that is highest above the line between the first and the last one.

        Sizes count by their logarithms. Beyond this size, a larger vocabulary gains less. A curve that bends
        upwards has no such point, and one of fewer than eight points is too coarse to show it: the knee is `None`.

        Args:
            corpus: The name of a corpus.
            tokenizer: The name of a tokenizer, or of a pattern, if there are several.

        Raises:
            ValueError: There is no such line, or several.

        """
        points = [point for point in self.points if point.corpus == corpus and tokenizer in (None, point.tokenizer)]
        names = list(dict.fromkeys((point.corpus, point.tokenizer) for point in self.points))
        if len({point.tokenizer for point in points}) != 1:
            known = ", ".join(f"({name!r}, {own!r})" if own else repr(name) for name, own in names)
            raise ValueError(f"corpus is {corpus!r} and tokenizer is {tokenizer!r}; expected one of {known}")
        return self._knee(points)

    def _knee(self, points: Sequence[CurvePoint]) -> int | None:
        heights = [point.bytes_per_token for point in points if point.bytes_per_token is not None]
        if len(heights) < max(len(points), _LEAST):
            return None
        safe_import("math")
        from math import log2

        sizes = [point.size for point in points]
        wide, high = log2(sizes[-1] / sizes[0]) or 1.0, (heights[-1] - heights[0]) or 1.0

        def above(at: int) -> float:
            return (heights[at] - heights[0]) / high - log2(sizes[at] / sizes[0]) / wide

        highest = max(range(len(points)), key=above)
        return sizes[highest] if above(highest) > 0 else None

    def table(self) -> Table:
        """Return the table of the points."""
        has_changes = any(point.changed is not None for point in self.points)
        several = len({point.tokenizer for point in self.points}) > 1
        first, last = ("tokenizer",) * several, ("tokens changed",) * has_changes
        header = (*first, "corpus", self.across, "tokens", "bytes/token", "gain", *last)
        rows = tuple(
            (
                *(point.tokenizer,) * several, point.corpus, number(point.size), number(point.tokens),
                number(point.bytes_per_token), number(point.gain, 4),
                *(("-" if point.changed is None else f"{point.changed:.1%}",) if has_changes else ()),
            )
            for point in self.points
        )  # fmt: skip
        return Table(header, rows, 1 + several)

    def as_dict(self) -> dict[str, Any]:
        """Return the points as data for JSON, and the knee of each line by the name that it has in the figure."""
        names = ("size", "corpus", "tokenizer", "bytes", "tokens", "bytes_per_token", "gain", "changed")
        points = [{name: getattr(point, name) for name in names} for point in self.points]
        knees = {name: self._knee(line) for name, line in self.lines().items()}
        return {"across": self.across, "points": points, "knees": knees}

    def to_markdown(self) -> str:
        """Return the table in Markdown."""
        return self.table().markdown()

    def to_latex(self) -> str:
        """Return the table for LaTeX, with the package booktabs, below comments that define its figures."""
        return self.table().latex(self._notes())

    def to_csv(self) -> str:
        """Return the points as CSV."""
        return csv_of(self.as_dict()["points"])

    def to_html(self) -> str:
        """Return a page of HTML with a figure, the table and definitions, which needs no other file."""
        drawn, knees = self._drawn()
        figure = lines("bytes/token", drawn, across=self.across, up="bytes/token", knees=knees)
        notes = list(self._notes())
        if knees:
            notes.append("knee (a ring): beyond this size, a larger one gains less")
        text = f"{figure}{self.table().html()}{definitions(notes)}"
        return page("Learning curve", f"<main><h1>Learning curve</h1>{text}</main>", style=STYLE)

    def _notes(self) -> Iterator[str]:
        yield "bytes/token: the UTF-8 bytes of all texts over their tokens; more is better"
        further = "thousand tokens" if self.across == VOCABULARY else "doubling of the training text"
        yield f"gain: the bytes per token that each further {further} adds"
        if any(point.changed is not None for point in self.points):
            yield "tokens changed: the share of the tokens that the next smaller training text did not give"

    def plot(self, path: str | os.PathLike[str]) -> None:
        """Write a figure of the curve, with a ring around each knee.

        Args:
            path: The file, .svg, .pdf or .png.

        Raises:
            ImportError: `matplotlib` (the extra `plot`) is not installed.
            ValueError: The path has another suffix.

        """
        drawn, knees = self._drawn()
        save_lines(drawn, path, across=self.across, up="bytes per token", knees=knees)

    def _drawn(self) -> tuple[list[tuple[str, list[float], list[float]]], list[tuple[float, float]]]:
        """Return the name, the sizes and the heights of each line, and the places of knees."""
        drawn, knees = list[Any](), list[Any]()
        for name, points in self.lines().items():
            chosen = [(point.size, each) for point in points if (each := point.bytes_per_token) is not None]
            drawn += [(name, *map(list, zip(*chosen, strict=True)))] if chosen else []
            knee = self._knee(points)
            knees += [place for place in chosen if place[0] == knee]
        return drawn, knees

    def __str__(self) -> str:
        most = line_columns()
        notes = [part for note in self._notes() for part in wrapped(note, most, 2)]
        return "\n".join([self.table().text(most), "", *notes])

    def _repr_html_(self) -> str:
        return f"{self.table().html()}{definitions(self._notes())}"


def learning_curve(
    tokenizers: Tokenizer | Sequence[Tokenizer] | Mapping[str, Tokenizer], sizes: Sequence[int],
    corpora: CorpusPaths | Mapping[str, CorpusPaths] | None = None, *,
    texts: Texts | Mapping[str, Texts] | None = None, text_field: FieldName = "text",
    format: Format | None = None,  # noqa: A002
    progress: bool | Report | None = None,
) -> Curve:  # fmt: skip
    """Return the bytes a token of smaller vocabularies, which are the first merges of a trained one.

    Training at a size gives the same vocabulary, so one training of the largest size gives the whole curve.  Several
    tokenizers, such as one for each of several patterns, have a line each, and the text is read once for all of them.

    Args:
        tokenizers: A tokenizer of bytes with the largest vocabulary, several, or a mapping of names to tokenizers.
        sizes: The sizes, at most that of the smallest tokenizer.
        corpora: Files, or a mapping of names to files, as in `evaluate`: text that was not trained on.
        texts: Texts, or a mapping of names to texts, as in `evaluate`.
        text_field: The field of JSON lines, or the column of Parquet, with the text, as in `shard`.
        format: The kind of all files; None determines it from their names.
        progress: True for a bar on stderr, or a function that is called with `bbpe.progress.Progress`.

    Returns:
        The curve; `gain` is by a thousand tokens.

    Raises:
        ValueError: A size is too small or too large, or there is no tokenizer.
        VocabularyError: A tokenizer's symbols are characters.

    Example:
        >>> tok = bbpe.train_from_iterator(["low lower lowest"], 262)
        >>> [point.tokens for point in bbpe.learning_curve(tok, [257, 262], texts=["lowest"])]
        [5, 3]

    """
    named = {"": tokenizers} if isinstance(tokenizers, Tokenizer) else named_tokenizers(tokenizers)
    chosen, reading = _checked_sizes(sizes, list(named.values())), reading_of(text_field, format)
    sources = sources_of(corpora, texts, reading)
    points: list[CurvePoint] = []
    with reporting(progress) as report:
        toks: dict[tuple[str, int], Tokenizer] = {}
        steps = len(named) * len(chosen)
        for name, tokenizer in named.items():
            for size in chosen:
                report(Progress("prune", len(toks), steps, "sizes"))
                toks[name, size] = tokenizer if size == len(tokenizer) else _smaller(name, tokenizer, size)
        report(Progress("prune", len(toks), steps, "sizes"))
        meter = Meter(report, "measure", sources.values())
        for name, source in sources.items():
            points += _points(toks, name, source.documents(reading, meter=meter))
    return Curve(VOCABULARY, tuple(points))


def _smaller(name: str, tokenizer: Tokenizer, size: int) -> Tokenizer:
    """Return the tokenizer of the first merges; `VocabularyError` names one that cannot be made smaller."""
    try:
        return prune(tokenizer, keep=size)[0]
    except VocabularyError:
        which = f"{name}: the tokenizer" if name else "the tokenizer"
        raise VocabularyError(
            f"{which} has no smaller vocabularies, as its symbols are characters; train one at each size, and compare "
            "them by bbpe.evaluate"
        ) from None


def _points(
    toks: Mapping[tuple[str, int], Tokenizer], corpus: str, batches: Iterable[list[Text]]
) -> Iterator[CurvePoint]:
    """Yield the points of a corpus, of each tokenizer from the smallest vocabulary on."""
    sums, total = dict.fromkeys(toks, 0), 0
    for batch in batches:
        total += sum(len(text_bytes(text)) for text in batch)
        for key, tok in toks.items():
            sums[key] += int(tok.count_tokens_batch(batch).sum())
    last: CurvePoint | None = None
    for (name, size), tokens in sums.items():
        point = CurvePoint(size, corpus, total, tokens, tokenizer=name)
        if last is not None and last.tokenizer == name:
            point = point.gained(last, (size - last.size) / 1000)
        yield point
        last = point


def _checked_sizes(sizes: object, tokenizers: Sequence[Tokenizer]) -> list[int]:
    """Return different sizes of vocabularies in order; `TypeError` or `ValueError` for anything else."""
    if isinstance(sizes, str | bytes | Mapping) or not isinstance(sizes, Iterable):
        problem = "expected a list of sizes, such as [8000, 16000], before the corpora"
        raise TypeError(f"sizes is {described(sizes)}; {problem}")
    given = list(sizes)
    for place, size in enumerate(given):
        whole(f"sizes[{place}]", size)
    chosen, most = sorted({int(size) for size in given}), min(map(len, tokenizers))
    if not chosen or chosen[-1] > most:
        raise ValueError(f"sizes is {given!r}; expected sizes of at most {most:,} tokens")
    least = max([1, *(smallest(tok) for tok in tokenizers if tok.spec.characters is None)])
    if chosen[0] < least:
        raise ValueError(f"sizes is {given!r}; expected sizes of at least {least:,} tokens: bytes and special tokens")
    return chosen


def corpus_curve(
    texts: Sequence[Text], vocab_size: int, held_out: CorpusPaths | Mapping[str, CorpusPaths] | None = None, *,
    held_out_texts: Texts | Mapping[str, Texts] | None = None,
    shares: Sequence[float] = (0.125, 0.25, 0.5, 1.0), model: Model = "bpe", pattern: str | None = None,
    patterns: Sequence[str] | Mapping[str, str | Sequence[str]] | None = None,
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
        patterns: Several patterns, or a mapping of names to patterns, in place of `pattern`: each has a line.
        progress: True for a bar on stderr, or a function that is called with `bbpe.progress.Progress`.

    Returns:
        The curve; `gain` is by doubling, and `changed` the share of tokens that a smaller corpus did not give.

    Raises:
        ValueError: A share is not more than 0 and at most 1, two shares have the same texts, or both `pattern` and
            `patterns` are given.

    Example:
        >>> curve = bbpe.corpus_curve(["low lower"] * 8, 258, held_out_texts=["lower"])
        >>> [point.changed for point in curve]
        [None, 0.0, 0.0, 0.0]

    """
    safe_import("math")
    from math import log2

    kind("texts", texts, Sequence, "a list of texts")
    shares = _checked_shares(shares)
    listed, sources = _listed(texts), sources_of(held_out, held_out_texts, Reading(), ("held_out", "held_out_texts"))
    sets = {name: [text for batch in source.documents(Reading()) for text in batch]
            for name, source in sources.items()}  # fmt: skip
    plans = {
        name: model_of(model).plan(vocab_size, (), each) for name, each in _named_patterns(pattern, patterns).items()
    }
    stops = _stops(shares, len(listed))
    points: dict[tuple[str, str], list[CurvePoint]] = {(name, held): [] for held in sets for name in plans}
    how, known, done, size = Counting(), dict[str, tuple[PretokenCounts, set[bytes]]](), 0, 0
    with reporting(progress) as report:
        for stop in stops:
            # a text is counted once: a larger share adds to the counts of the smaller one
            more, done = listed[done:stop], stop
            size += sum(len(text_bytes(text)) for text in more)
            for name, plan in plans.items():
                counts = count_texts(more, how.task(plan.counted, plan.separators), report)
                before = known.get(name)
                counts = counts if before is None else before[0] + counts
                tok = Tokenizer(plan.learn(counts, how, report))
                tokens = set(tok.spec.vocab.values())
                changed = None if before is None else len(tokens - before[1]) / max(len(tokens), 1)
                known[name] = counts, tokens
                for corpus, held in sets.items():
                    total, found = sum(len(text_bytes(text)) for text in held), int(tok.count_tokens_batch(held).sum())
                    point, line = CurvePoint(size, corpus, total, found, None, changed, name), points[name, corpus]
                    if line:
                        point = point.gained(line[-1], log2(size / line[-1].size) or 1.0)
                    line.append(point)
    return Curve(CORPUS, tuple(point for line in points.values() for point in line))


def _checked_shares(shares: Sequence[float]) -> list[float]:
    """Return different shares in order; `TypeError` or `ValueError` for anything else."""
    kind("shares", shares, Sequence, "a list of numbers")
    found = [real("shares", part) for part in shares]
    if not found or any(not 0 < part <= 1 for part in found):
        raise ValueError(f"shares is {found!r}; expected numbers more than 0 and at most 1")
    return sorted(set(found))


def _stops(shares: Sequence[float], count: int) -> list[int]:
    """Return how many of all texts each share has; `ValueError` if two have as many, which would be a point twice."""
    stops = [max(1, round(part * count)) for part in shares]
    if len(set(stops)) < len(stops):
        problem = f"shares is {list(shares)}, and two of them are equally many of {counted(count, 'text')}"
        raise ValueError(f"{problem}; expected more texts, or other shares")
    return stops


def _named_patterns(pattern: str | None, patterns: object) -> dict[str, str | Sequence[str] | None]:
    """Return patterns by the names of their lines; the only one has no name."""
    if patterns is None:
        return {"": pattern}
    if pattern is not None:
        raise ValueError(f"pattern is {pattern!r} and patterns is {patterns!r}; expected one of them")
    if isinstance(patterns, Mapping):
        named = {str(name): each for name, each in patterns.items()}
    elif isinstance(patterns, list | tuple):
        named = {each if isinstance(each, str) else repr(each): each for each in patterns}
        if len(named) < len(patterns):
            raise ValueError(f"patterns is {patterns!r}; expected each pattern once")
    else:
        raise TypeError(f"patterns is {described(patterns)}; expected a list of patterns, or a mapping of names")
    if not named:
        raise ValueError(f"patterns is {patterns!r}; expected at least one pattern")
    return named


def _listed(texts: object) -> list[Text]:
    """Return all texts of the argument `texts`; `TypeError` for anything else."""
    source = ReportCorpus("texts", (), checked_texts(texts))
    return [text for batch in source.documents(Reading()) for text in batch]
