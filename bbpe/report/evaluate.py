"""Evaluate tokenizers on corpora: a table of exact figures, with intervals from resampled documents."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from ..corpus.fields import FieldName
from ..corpus.files import CorpusPaths, Format
from ..counting.counts import Document
from ..counting.options import Report, reporting
from ..lazy import np, npt
from ..records import choice, kind, replace, whole
from ..shards.source_tokens import named_tokenizers
from ..text import counted
from ..threads import check_threads, imap
from ..tokenizer import Tokenizer
from ..types import Ragged
from .evaluation import Evaluation
from .measures import CorpusCount, DocumentBatch, Head, Measures, TokenizerCount, changed_documents
from .texts import Meter, Texts, reading_of, sources_of

#: Resampled corpora for an interval, and the most groups of documents that are resampled.
_SAMPLES, _GROUPS = 1000, 2000


def evaluate(
    tokenizers: Tokenizer | Sequence[Tokenizer] | Mapping[str, Tokenizer],
    corpora: CorpusPaths | Mapping[str, CorpusPaths] | None = None, *, texts: Texts | Mapping[str, Texts] | None = None,
    parity: str | None = None, document: Document = "file", text_field: FieldName = "text",
    format: Format | None = None,  # noqa: A002
    threads: int | None = None, seed: int = 0, progress: bool | Report | None = None,
) -> Evaluation:  # fmt: skip
    """Return the figures of tokenizers on corpora: bytes a token, fertility, vocabulary used, cost and more.

    Use text that no tokenizer was trained on. All figures are exact totals over the corpus; `encode` is called without
    special tokens. Intervals come from 1,000 resampled sets of documents, the same ones for all tokenizers; more than
    2,000 documents are resampled in 2,000 random groups.

    Args:
        tokenizers: A tokenizer, several, or a mapping of names to tokenizers. Ratios are to the first one.
        corpora: Files, as in `train`: a path, glob, folder or URL, or a list of them, which is one corpus; or a mapping
            of names to these, each a corpus.
        texts: Texts, as in `train_from_iterator`, which are one corpus; or a mapping of names to these.
        parity: The name of the reference corpus, such as the English side of parallel texts: `parity` compares the
            tokens of the other corpora with its tokens.
        document: What is one document: "file" (a file, or a row of JSON lines or Parquet), or each "line" of these.
        text_field: The field of JSON lines, or the column of Parquet, with the text, as in `shard`.
        format: The kind of all files; None determines it from their names.
        threads: The number of threads; None uses every core.
        seed: The seed of the intervals.
        progress: True for a bar on stderr, or a function that is called with `bbpe.progress.Progress`.

    Returns:
        The figures, a row for each corpus and tokenizer.

    Raises:
        ValueError: There is no tokenizer or no corpus, or `parity` is not the name of a corpus with tokens.
        TypeError: An argument has a wrong type.
        CorpusError: A file cannot be read as text.
        OSError: A file cannot be read.

    Example:
        >>> small = bbpe.train_from_iterator(["low lower lowest"], 257)
        >>> large = bbpe.train_from_iterator(["low lower lowest"], 262)
        >>> result = evaluate({"small": small, "large": large}, texts={"test": ["slow", "lowest"]})
        >>> [row.tokens for row in result], [row.cost_ratio for row in result]
        ([8, 5], [1.0, 0.625])

    """
    named, reading = named_tokenizers(tokenizers), reading_of(text_field, format)
    sources = sources_of(corpora, texts, reading)
    check_threads(threads)
    seed = whole("seed", seed, 0)
    kind("parity", parity, str | None, "the name of a corpus, a str, or None")
    if parity is not None and parity not in sources:
        raise ValueError(f"parity is {parity!r}; expected the name of a corpus: {', '.join(map(repr, sources))}")
    choice("document", document, ("file", "line"))
    found, resampler = dict[str, list[Measures]](), Resampler(seed)
    with reporting(progress) as report:
        meter = Meter(report, "measure", sources.values())
        # a reference without tokens is an error before the other corpora are read
        for name in sorted(sources, key=lambda name: name != parity):
            found[name] = _of_corpus(named, name, sources[name].documents(reading, document, meter), threads, resampler)
            if name == parity:
                _check_reference(found[name])
    rows = [row for name in sources for row in found[name]]
    if parity is not None:
        base = {row.tokenizer: row.tokens for row in found[parity]}
        rows = [replace(row, parity=row.tokens / base[row.tokenizer]) for row in rows]
    return Evaluation(tuple(rows), parity)


def _check_reference(rows: Sequence[Measures]) -> None:
    """Check that each tokenizer has tokens of the reference corpus; `ValueError` names it."""
    for row in rows:
        if not row.tokens:
            problem = f"but {row.tokenizer} makes no tokens of this corpus of {counted(row.text.bytes, 'byte')}"
            raise ValueError(f"parity is {row.corpus!r}, {problem}; expected one with text, to divide by its tokens")


def _of_corpus(
    named: Mapping[str, Tokenizer], name: str, batches: Iterator[list[Any]], threads: int | None, resampler: Resampler,
) -> list[Measures]:  # fmt: skip
    """Return the measures of all tokenizers on a corpus, which is read once."""
    total = CorpusCount()
    counts = {key: TokenizerCount(tok) for key, tok in named.items()}
    # one thread for each tokenizer where there are several
    inner = threads if len(counts) == 1 else 1
    for texts in batches:
        batch = DocumentBatch(texts)
        added = partial(_added, batch=batch, head=total.add(batch), threads=inner)
        found = list(imap(added, list(counts.values()), threads))
        for count, rows in zip(counts.values(), found, strict=True):
            count.changed += changed_documents(rows, found[0])
    text = total.totals()
    drawn = resampler.sums([total.sizes, *(count.tokens for count in counts.values())])
    base = next(iter(counts.values()))
    rows_of = []
    for place, (key, count) in enumerate(counts.items(), 1):
        row = count.measures(key, name, text)
        cost = sum(count.tokens) / sum(base.tokens) if sum(base.tokens) else None
        if drawn is not None and drawn[:, 1:].all():
            row = replace(
                row, bytes_per_token_interval=_quantiles(drawn[:, 0] / drawn[:, place]),
                cost_ratio_interval=_quantiles(drawn[:, place] / drawn[:, 1]) if place > 1 else None,
            )  # fmt: skip
        rows_of.append(replace(row, cost_ratio=cost))
    return rows_of


def _added(count: TokenizerCount, *, batch: DocumentBatch, head: Head, threads: int | None) -> Ragged:
    return count.add(batch, head, threads)


class Resampler:
    """Draws sets of documents with replacement; corpora of equally many documents get the same sets."""

    def __init__(self, seed: int) -> None:
        self._seed, self._count = seed, 0
        self._group: npt.NDArray[np.int64] | None = None
        self._times = np.zeros((0, 0))

    def sums(self, columns: Sequence[Sequence[int]]) -> npt.NDArray[np.float64] | None:
        """Return the sums of the columns over each set, float64[sets, columns]; None for fewer than two documents.

        A row of the columns is a document.  Many documents are drawn in random groups.
        """
        table = np.array(columns, np.float64).T
        if len(table) < 2:
            return None
        if len(table) != self._count:
            self._draw(len(table))
        groups = table
        if self._group is not None:
            groups = np.stack([np.bincount(self._group, column, _GROUPS) for column in table.T], axis=1)
        return self._times @ groups  # sums of whole numbers are exact in floats

    def _draw(self, count: int) -> None:
        """Draw how often each set has each of `count` documents, or each group of them."""
        rng = np.random.default_rng(self._seed)
        self._count, self._group = count, rng.permutation(count) % _GROUPS if count > _GROUPS else None
        groups = min(count, _GROUPS)
        drawn = rng.integers(0, groups, (_SAMPLES, groups), np.int32)
        self._times = np.stack([np.bincount(sample, minlength=groups) for sample in drawn]).astype(np.float64)


def _quantiles(values: npt.NDArray[np.float64]) -> tuple[float, float]:
    low, high = np.quantile(values, (0.025, 0.975))
    return float(low), float(high)
