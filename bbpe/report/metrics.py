"""The figures of an evaluation: what each is called, what it means, and which of two is better."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from ..records import choice, dataclass, kind
from ..text import first_few
from .measures import Measures
from .tables import NOTHING, number, share

#: Corpora that a note names.
_SHOWN = 3
#: What a cell shows where a figure means nothing.
MEANINGLESS = "n/a"


@dataclass(frozen=True)
class Metric:
    """A figure of a tokenizer on a corpus.

    `name` is its attribute of `Measures`, and its key in JSON and CSV. `better` says which of two is better: "more",
    "less", "nearer to 1", or "" where neither is. `needs_words` is whether it means nothing for text without words.
    """

    name: str
    title: str
    definition: str
    better: str = ""
    form: Callable[[Any], str] = number
    interval: str = ""
    needs_words: bool = False

    @property
    def label(self) -> str:
        """The title in words, for headings and axes."""
        return self.title.replace("/", " per ")

    def of(self, row: Measures) -> float | None:
        """Return the figure of a row; None if it has none."""
        value: float | None = getattr(row, self.name)
        return value

    def shown(self, row: Measures, *, spread: bool = False) -> str:
        """Return the figure of a row for people; `spread` adds half of its interval."""
        value = self.of(row)
        if value is None:
            return MEANINGLESS if self.needs_words and not row.text.has_words else NOTHING
        found = self.interval_of(row) if spread else None
        return self.form(value) + ("" if found is None else f" ±{self.form((found[1] - found[0]) / 2)}")

    def interval_of(self, row: Measures) -> tuple[float, float] | None:
        """Return the 95 % interval of the figure; None if it has none."""
        found: tuple[float, float] | None = getattr(row, self.interval) if self.interval else None
        return found

    def best(self, rows: Sequence[Measures]) -> list[bool]:
        """Return which rows have the best figure, all of them if they are equal; none if there is no best one.

        Text that becomes an unknown token, or is left out, is lost.  A tokenizer that loses text needs few tokens for
        it, so that its other figures compete with none.
        """
        badness = [self._badness(row) for row in rows]
        least, known = min(badness, default=math.inf), sum(self.of(row) is not None for row in rows)
        return [bool(self.better) and known > 1 and each == least < math.inf for each in badness]

    def _badness(self, row: Measures) -> float:
        value = self.of(row)
        if value is None or row.lost or (row.unknown and self.name != "unknown_share"):
            return math.inf
        if self.better == "nearer to 1":
            return abs(math.log(value)) if value > 0 else math.inf
        return -value if self.better == "more" else value

    def explained(self) -> str:
        """Return what the figure is, and which is better."""
        tail = {"": "", "more": "; more is better", "less": "; less is better"}
        return f"{self.label}: {self.definition}{tail.get(self.better, '; best near 1')}"


_WORD = "a word is a run of letters and marks; n/a where most letters are of scripts without blanks between words"
_METRICS = (
    Metric("tokens", "tokens", "the tokens of all documents, without special tokens", "less"),
    Metric(
        "bytes_per_token", "bytes/token", "the UTF-8 bytes of all documents over their tokens", "more",
        interval="bytes_per_token_interval",
    ),
    Metric("characters_per_token", "characters/token", "the characters of all documents over their tokens", "more"),
    Metric("fertility", "tokens/word", f"the tokens over the words; {_WORD}", "less", needs_words=True),
    Metric(
        "split_share", "words split", f"the share of words of several tokens in the first megabyte; {_WORD}", "less",
        share, needs_words=True,
    ),
    Metric("single_byte_share", "single bytes", "the share of tokens that are one byte of a longer character", "less",
           share),
    Metric("unknown_share", "unknown", "the share of unknown tokens", "less", share),
    Metric("used_share", "vocabulary used", "the share of the vocabulary that occurs", form=share),
    Metric(
        "renyi_efficiency", "Renyi 2.5",
        "the Renyi entropy of order 2.5 of the tokens over the logarithm of the vocabulary, from 0 to 1: how evenly "
        "tokens occur", "more",
    ),
    Metric(
        "parity", "parity", "the premium of a language: its tokens over those of the reference corpus, which has the "
        "same content", "nearer to 1",
    ),
    Metric(
        "cost_ratio", "cost", "the tokens over those of the first tokenizer", "less", interval="cost_ratio_interval"
    ),
    Metric(
        "changed_share", "ids changed", "the share of documents with other ids than of the first tokenizer", form=share
    ),
)  # fmt: skip
#: All figures by their names.
METRICS = {metric.name: metric for metric in _METRICS}
#: What an interval is, and the half of it that stands after a figure.
INTERVAL = "95 % interval: holds the figure of 95 % of 1,000 resampled sets of documents"
SPREAD = "±: half the width of the 95 % interval, which holds the figure of 95 % of 1,000 resampled sets of documents"


def lost_text(rows: Sequence[Measures]) -> Iterator[str]:
    """Yield a note for each tokenizer that loses text: where it does, most first."""
    losing: dict[str, list[Measures]] = {}
    for row in rows:
        if row.loses_text:
            losing.setdefault(row.tokenizer, []).append(row)
    for name, found in losing.items():
        found.sort(key=lambda row: (-row.lost, -(row.unknown_share or 0.0)))
        if found[0].lost:
            what, parts = "leaves out what has no token", [f"{row.corpus} {number(row.lost)}" for row in found]
        else:
            what = "has unknown tokens"
            parts = [f"{row.corpus} {number(row.unknown)} of {number(row.tokens)}" for row in found]
        shown = first_few(parts, _SHOWN)
        yield f"note: {name} {what} ({shown}), whose text is lost; these figures are never marked as the best"


def metric_of(name: object, rows: Sequence[Measures]) -> Metric:
    """Return a figure by its name; for None parity if rows have it, and else bytes a token.

    Raises `ValueError` for any other name, and for parity without a reference corpus.
    """
    kind("metric", name, str | None, "the name of a figure, a str, or None")
    has_parity = any(row.parity is not None for row in rows)
    if name is None:
        return METRICS["parity" if has_parity else "bytes_per_token"]
    choice("metric", name, METRICS)
    if name == "parity" and not has_parity:
        raise ValueError("metric is 'parity', and there is no reference corpus; name one by parity=")
    return METRICS[str(name)]


def gini(values: Sequence[float]) -> float | None:
    """Return the Gini coefficient: 0 if all values are equal, nearly 1 if one of many has everything.

    >>> gini([5, 5, 5]), gini([1, 3]), gini([])
    (0.0, 0.25, None)
    """
    total, count = sum(values), len(values)
    if not total:
        return None
    return sum((2 * place - count - 1) * value for place, value in enumerate(sorted(values), 1)) / (count * total)
