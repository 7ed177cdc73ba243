"""Training: text -> counted pretokens -> merges -> a tokenizer."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Literal, TypeAlias

from . import corpus
from .core.count import PretokenTable
from .core.split import Splitter
from .core.train import TIE_RULES, Trainer
from .errors import CorpusError
from .normalize import BYTE_ORDER, Buffer, Text, text_bytes
from .parallel import imap, thread_count
from .patterns import Pattern, get_pattern
from .progress import Progress, resolve
from .spec import MAX_ID, TokenizerSpec
from .specials import any_of
from .splitting import TextSplitter
from .tokenizer import Tokenizer

TieBreak: TypeAlias = Literal["ids", "bytes", "first"]
Document: TypeAlias = Literal["file", "line"]
Report: TypeAlias = Callable[[Progress], None]

#: Texts larger than this are counted in regions of about this size, in threads.
_REGION = 8 << 20
#: Positions that the merge loop visits between two looks at progress and signals; about 0.1 s.
_VISITS = 1 << 20
_NO_LIMIT = 2**32 - 1


@dataclass(frozen=True)
class _Plan:
    """The checked arguments of one training."""

    vocab_size: int
    pattern: Pattern
    special_tokens: tuple[str, ...]
    min_frequency: int
    max_token_length: int
    tie_break: TieBreak
    document: Document
    threads: int


def train(
    files: corpus.Files,
    vocab_size: int,
    *,
    pattern: str | Sequence[str] = "gpt2",
    special_tokens: Sequence[str] = (),
    min_frequency: int = 1,
    max_token_length: int | None = None,
    tie_break: TieBreak = "ids",
    document: Document = "file",
    threads: int | None = None,
    progress: bool | Report | None = None,
) -> Tokenizer:
    """Train a tokenizer on files.

    `files`: a path, glob or folder, or a list of them; text is read as bytes, whatever its encoding.
    `vocab_size` counts the 256 bytes, the merges and the special tokens, which get ids in that order;
    training stops early, with fewer merges, when no pair occurs `min_frequency` times.  Special tokens in
    the text separate it.  `max_token_length` is in bytes.  `tie_break` chooses among pairs of equal count:
    "ids" the lowest pair of ids (as HF tokenizers), "bytes" the greatest pair of byte strings, "first" the
    pair that occurs first in the text.  `document="line"` makes each line, with its end, a text of its own.
    `progress`: True for a bar on stderr, or a function of `bbpe.progress.Progress`.

    Raises `ValueError` on bad arguments (`PatternError` on an unknown pattern), `CorpusError` when there is
    no text, `OSError` naming a file that cannot be read.

    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     _ = Path(folder, "a.txt").write_text("low lower lowest")
    ...     train(folder, 258).merges
    [(b'l', b'o'), (b'lo', b'w')]
    """
    plan = _plan(
        vocab_size, pattern, special_tokens, min_frequency, max_token_length, tie_break, document, threads
    )
    paths = corpus.paths(files)
    with resolve(progress) as chosen:
        report = chosen or _silent
        total = sum(path.stat().st_size for path in paths)
        counter, done = _Counter(plan), 0
        for path in paths:
            with corpus.open_text(path) as text:
                for counted in counter.add(text):
                    report(Progress("count", min(done + counted, total), total, "bytes"))
            done += path.stat().st_size
        return _learn(plan, counter.table, report)


def train_from_iterator(
    texts: Iterable[Text],
    vocab_size: int,
    *,
    pattern: str | Sequence[str] = "gpt2",
    special_tokens: Sequence[str] = (),
    min_frequency: int = 1,
    max_token_length: int | None = None,
    tie_break: TieBreak = "ids",
    document: Document = "file",
    threads: int | None = None,
    progress: bool | Report | None = None,
) -> Tokenizer:
    """Train a tokenizer on texts, each `str` or bytes-like; no merge crosses from one into the next.

    Options and errors are those of `train`.

    >>> train_from_iterator(["low lower lowest"], 257).merges
    [(b'l', b'o')]
    """
    plan = _plan(
        vocab_size, pattern, special_tokens, min_frequency, max_token_length, tie_break, document, threads
    )
    if isinstance(texts, (str, bytes, bytearray, memoryview)):
        raise TypeError(f"train_from_iterator takes an iterable of texts, not one {type(texts).__name__}")
    with resolve(progress) as chosen:
        report = chosen or _silent
        counter, done = _Counter(plan), 0
        for text in texts:
            data = text_bytes(text)
            for counted in counter.add(data):
                report(Progress("count", done + counted, None, "bytes"))
            done += len(data)
        return _learn(plan, counter.table, report)


def train_from_counts(
    counts: Mapping[bytes, int] | Mapping[str, int],
    vocab_size: int,
    *,
    pattern: str | Sequence[str] = "gpt2",
    special_tokens: Sequence[str] = (),
    min_frequency: int = 1,
    max_token_length: int | None = None,
    tie_break: TieBreak = "ids",
    progress: bool | Report | None = None,
) -> Tokenizer:
    """Train a tokenizer on counted pretokens, in the order of their first appearance.

    `counts` maps pretokens, as `pattern` cuts them, to how often they occur, 0 to 2**63 - 1.  Other options
    and errors are those of `train`.

    >>> train_from_counts({"low": 5, " lower": 2}, 257).merges
    [(b'l', b'o')]
    """
    plan = _plan(vocab_size, pattern, special_tokens, min_frequency, max_token_length, tie_break, "file", 1)
    if not isinstance(counts, Mapping):
        raise TypeError(f"counts must be a mapping of pretokens to counts, not {type(counts).__name__}")
    table = PretokenTable()
    for pretoken, count in counts.items():
        if isinstance(count, bool) or not isinstance(count, int):
            raise TypeError(f"the count of {pretoken!r} must be an int, not {type(count).__name__}")
        if not 0 <= count < 2**63:
            raise ValueError(f"the count of {pretoken!r} is {count}; expected 0 to {2**63 - 1}")
        table.add(bytes(text_bytes(pretoken)), count)
    with resolve(progress) as report:
        return _learn(plan, table, report or _silent)


def _plan(
    vocab_size: int,
    pattern: str | Sequence[str],
    special_tokens: Sequence[str],
    min_frequency: int,
    max_token_length: int | None,
    tie_break: TieBreak,
    document: Document,
    threads: int | None,
) -> _Plan:
    """Check arguments before anything is read."""
    if isinstance(special_tokens, str) or not all(isinstance(token, str) for token in special_tokens):
        raise TypeError(f"special_tokens must be a sequence of strings, not {special_tokens!r}")
    specials = tuple(special_tokens)
    if "" in specials or len(set(specials)) != len(specials):
        raise ValueError(f"special_tokens must be different and not empty: {specials!r}")
    for name, value, least in (
        ("vocab_size", vocab_size, 256 + len(specials)),
        ("min_frequency", min_frequency, 0),
        ("max_token_length", _NO_LIMIT if max_token_length is None else max_token_length, 1),
    ):
        if isinstance(value, bool) or not isinstance(value, int):
            raise TypeError(f"{name} must be an int, not {type(value).__name__}")
        if value < least:
            detail = f", the 256 bytes and {len(specials)} special tokens" if name == "vocab_size" else ""
            raise ValueError(f"{name} is {value}; expected at least {least}{detail}")
    if vocab_size > MAX_ID + 1:
        raise ValueError(f"vocab_size is {vocab_size}; expected at most {MAX_ID + 1}")
    if tie_break not in TIE_RULES:
        raise ValueError(f"tie_break is {tie_break!r}; expected one of {', '.join(map(repr, TIE_RULES))}")
    if document not in ("file", "line"):
        raise ValueError(f"document is {document!r}; expected 'file' or 'line'")
    longest = _NO_LIMIT if max_token_length is None else min(max_token_length, _NO_LIMIT)
    return _Plan(
        vocab_size, get_pattern(pattern), specials, min_frequency, longest, tie_break, document, thread_count(threads)
    )


def _silent(progress: Progress) -> None:
    """Report nothing."""


def _learn(plan: _Plan, table: PretokenTable, report: Report) -> Tokenizer:
    if len(table) == 0:
        raise CorpusError("there is no text to train on: no pretoken was found")
    limit = plan.vocab_size - 256 - len(plan.special_tokens)
    trainer = Trainer(
        table,
        BYTE_ORDER,
        merge_limit=limit,
        tie_break=plan.tie_break,
        min_frequency=plan.min_frequency,
        max_token_length=plan.max_token_length,
    )
    done = False
    while not done:
        done = trainer.step(_VISITS)
        report(Progress("merge", trainer.merge_count, trainer.merge_count if done else limit, "merges"))
    tokens = [bytes((byte,)) for byte in BYTE_ORDER]
    merges: list[tuple[int, int, int]] = []
    for left, right in trainer.merges().tolist():
        merges.append((left, right, len(tokens)))
        tokens.append(tokens[left] + tokens[right])
    specials = {text: len(tokens) + i for i, text in enumerate(plan.special_tokens)}
    return Tokenizer(TokenizerSpec(dict(enumerate(tokens)), tuple(merges), plan.pattern, specials))


class _Counter:
    """Counts texts into one table, in their order."""

    def __init__(self, plan: _Plan) -> None:
        self.table = PretokenTable()
        self._by_line, self._threads = plan.document == "line", plan.threads
        self._splitter = TextSplitter(plan.pattern)
        self._separators = any_of(token.encode("utf-8", "surrogatepass") for token in plan.special_tokens)

    def add(self, text: Buffer) -> Iterator[int]:
        """Count a text, and yield now and then how many of its bytes are done."""
        regions = self._regions(text)
        compiled = self._splitter.compiled
        if compiled is None:
            for start, stop in regions:
                yield from self._count_regex(text, start, stop)
        elif self._threads == 1 or len(text) <= 2 * _REGION:
            for start, stop in regions:
                yield from _count_compiled(self.table, text, start, stop, compiled, self._by_line)
        else:
            count = partial(_count_apart, text, compiled, self._by_line)
            for table, stop in imap(count, regions, self._threads):
                self.table.update(table)
                yield stop

    def _regions(self, text: Buffer) -> Iterator[tuple[int, int]]:
        """Cut a text into parts that may be counted apart: at special tokens, and where no pretoken changes."""
        start = 0
        for found in self._separators.finditer(text) if self._separators else ():
            yield from self._safe_regions(text, start, found.start())
            start = found.end()
        yield from self._safe_regions(text, start, len(text))

    def _safe_regions(self, text: Buffer, start: int, stop: int) -> Iterator[tuple[int, int]]:
        compiled = self._splitter.compiled
        while stop - start > 2 * _REGION and compiled is not None:
            if self._by_line:
                line = _LINE.search(text, start + _REGION, stop)
                cut = line.end() if line else stop
            else:
                cut = compiled.safe_cut(text, start + _REGION, _REGION)
            if not start < cut < stop:
                break
            yield start, cut
            start = cut
        if start < stop:
            yield start, stop

    def _count_regex(self, text: Buffer, start: int, stop: int) -> Iterator[int]:
        for first, last in _line_spans(text, start, stop) if self._by_line else ((start, stop),):
            for pretokens, ends in self._splitter.batches(memoryview(text)[first:last]):
                self.table.count_given(pretokens, ends)
                first += len(pretokens)
                yield first


def _count_compiled(
    table: PretokenTable, text: Buffer, start: int, stop: int, splitter: Splitter, by_line: bool
) -> Iterator[int]:
    while start < stop:
        start = table.count_text(text, start, stop, splitter, by_line)
        yield start


def _count_apart(
    text: Buffer, splitter: Splitter, by_line: bool, region: tuple[int, int]
) -> tuple[PretokenTable, int]:
    table = PretokenTable()
    for _ in _count_compiled(table, text, *region, splitter, by_line):
        pass
    return table, region[1]


_LINE = re.compile(rb"[^\n]*\n|[^\n]+")


def _line_spans(text: Buffer, start: int, stop: int) -> Iterator[tuple[int, int]]:
    """Yield where each line and its end stand."""
    for found in _LINE.finditer(text, start, stop):
        yield found.span()
