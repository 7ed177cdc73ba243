"""Compare two tokenizers: what their vocabularies share, and the pretokens that they split most differently."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from html import escape
from typing import Any

from ..corpus.fields import FieldName
from ..corpus.files import CorpusPaths, Format
from ..corpus.sources import Reading
from ..counting.options import Report, reporting
from ..errors import described
from ..lazy import np
from ..records import dataclass, kind, whole
from ..spec.rules import Prepend
from ..spec.spec import other_tokens
from ..splitting.patterns import Pattern
from ..splitting.splitter import TextSplitter
from ..text import counted, readable, shortened, text_bytes
from ..tokenizer import Tokenizer, checked_tokenizer
from .figures import STYLE, Bar, bars
from .tables import Table, number, page
from .terminal import line_columns, wrapped
from .texts import Meter, ReportCorpus, Texts, check_unused, reading_of, source_of
from .verify import Difference, PlacedTexts, agreement, hard_texts

#: Blanks with the word after them, where the patterns of the two differ.
_WORDS = Pattern(None, (r"\s*\S+|\s+",))
_PAIRS, _MOST = 2_000, 20
#: What words of a corpus have before them: some tokenizers put a blank in front of what begins a text.
_BEFORE = b"x"
_DIFFER_MOST = "Pretokens that differ most, each with the tokens of both"


@dataclass(frozen=True)
class SplitPair:
    """A pretoken that two tokenizers split differently: how often it occurs, and the tokens of each."""

    pretoken: bytes
    count: int
    left: tuple[bytes, ...]
    right: tuple[bytes, ...]

    @property
    def more(self) -> int:
        """How many more tokens the second tokenizer needs for all occurrences; negative if it needs fewer."""
        return self.count * (len(self.right) - len(self.left))


@dataclass(frozen=True)
class Comparison:
    """How two tokenizers differ; `str` is a text for a terminal, and a notebook shows it as HTML.

    Attributes:
        names: The names of the two.
        shared: The number of tokens that both have, with any id.
        same_ids: The number of tokens that both have with the same id.
        only: The number of tokens that only the first has, and only the second.
        differences: The parts of the definitions that differ, such as "pattern" and "special tokens".
        texts: The number of different pretokens that were compared, or of hard texts without a corpus.
        equal: The number of these whose tokens begin at the same places; None if one of the two changes texts in a way
            that leaves its tokens no places.
        equal_ids: The number of these with the same ids.
        first: The first text whose tokens have other places, or else other ids; None if all are equal.
        tokens: The tokens of the corpus by each, as `encode` gives them; None without a corpus.
        pairs: The pretokens whose tokens have other places, as within a text, those with the largest difference in
            tokens first.

    Example:
        >>> small = bbpe.train_from_iterator(["low lower lowest"], 257)
        >>> large = bbpe.train_from_iterator(["low lower lowest"], 259)
        >>> result = bbpe.compare(small, large, texts=["lower"])
        >>> result.shared, result.only, result.pairs[0].left
        (257, (0, 2), (b'lo', b'w', b'e', b'r'))

    """

    names: tuple[str, str]
    shared: int
    same_ids: int
    only: tuple[int, int]
    differences: tuple[str, ...]
    texts: int
    equal: int | None
    equal_ids: int
    first: Difference | None
    tokens: tuple[int, int] | None
    pairs: tuple[SplitPair, ...]

    def as_dict(self) -> dict[str, Any]:
        """Return the comparison as data for JSON."""
        pairs = [
            {
                "pretoken": readable(pair.pretoken), "count": pair.count, "more": pair.more,
                "left": list(map(readable, pair.left)), "right": list(map(readable, pair.right)),
            }
            for pair in self.pairs
        ]  # fmt: skip
        first = None
        if self.first is not None:
            sides = (self.first.left, self.first.right)
            tokens = [[[token_id, readable(token)] for token_id, token in side] for side in sides]
            first = {"text": readable(self.first.text), "byte": self.first.byte, "left": tokens[0], "right": tokens[1]}
        names = ("names", "shared", "same_ids", "only", "differences", "texts", "equal", "equal_ids", "tokens")
        return {**{name: getattr(self, name) for name in names}, "first": first, "pairs": pairs}

    def table(self) -> Table:
        """Return the table of the pretokens that differ most."""
        rows = tuple(
            (
                shortened(pair.pretoken, quoted=True), _joined(pair.left), _joined(pair.right), number(pair.count),
                _more(pair.more),
            )
            for pair in self.pairs
        )  # fmt: skip
        left, right = map(shortened, self.names)
        return Table(("pretoken", left, right, "occurs", f"{right} needs"), rows, 3)

    def lines(self) -> Iterator[str]:
        """Yield the lines of the comparison as text."""
        left, right = map(shortened, self.names)
        all_texts = counted(self.texts, "hard text" if self.tokens is None else "different pretoken") \
            + ("" if self.tokens is None else " of the corpus")  # fmt: skip
        if not self.differences and self.equal_ids == self.texts:
            yield f"{left} and {right} are identical: {counted(self.shared, 'token')}, and the same ids for {all_texts}"
            return
        are = "is" if self.only[0] == 1 else "are"
        yield f"{left} and {right} share {counted(self.shared, 'token')}, {self.same_ids:,} of them with the same " \
            f"id; {self.only[0]:,} {are} only in {left}, {self.only[1]:,} only in {right}"  # fmt: skip
        yield f"their definitions differ in: {', '.join(self.differences) or 'nothing'}"
        if self.equal is not None:
            yield f"both cut {self.equal:,} of {all_texts} at the same places"
        # ids of vocabularies that number tokens differently are never the same
        if self.same_ids == self.shared or self.equal is None:
            yield f"both give {self.equal_ids:,} of {all_texts} the same ids"
        if self.tokens is not None:
            yield f"{_needs(right, left, *self.tokens)}: {self.tokens[1]:,}, not {self.tokens[0]:,}" \
                if self.tokens[0] != self.tokens[1] else f"both need {counted(self.tokens[0], 'token')}"  # fmt: skip
        if self.first is not None:
            sides = [" ".join(f"{token_id} {shortened(token, 20, quoted=True)}" for token_id, token in side)
                     for side in (self.first.left, self.first.right)]  # fmt: skip
            text = shortened(self.first.text, quoted=True)
            yield f"first difference: {text} at byte {self.first.byte}: {sides[0]} | {sides[1]}"

    def to_markdown(self) -> str:
        """Return the comparison in Markdown."""
        return "\n\n".join([*self.lines(), *([self.table().markdown()] if self.pairs else [])])

    def to_html(self) -> str:
        """Return a page of HTML with a figure and the comparison, which needs no other file."""
        title = " and ".join(self.names)
        figure = ""
        if self.tokens is not None:
            sides = zip(self.names, self.tokens, strict=True)
            fewest = min(self.tokens)
            figure = bars("tokens of the corpus", [("", [
                Bar(name, tokens, number(tokens), None, tokens == fewest) for name, tokens in sides
            ])])  # fmt: skip
        text = "".join(f"<p>{escape(line)}</p>" for line in self.lines())
        pairs = f"<h2>{_DIFFER_MOST}</h2>{self.table().html()}" if self.pairs else ""
        return page(title, f"<main><h1>{escape(title)}</h1>{figure}{text}{pairs}</main>", style=STYLE)

    def __str__(self) -> str:
        most = line_columns()
        lines = [part for line in self.lines() for part in wrapped(line, most, 2)]
        return "\n".join([*lines, *([self.table().text(most)] if self.pairs else [])])

    def _repr_html_(self) -> str:
        lines = "".join(f"<p>{escape(line)}</p>" for line in self.lines())
        return lines + (self.table().html() if self.pairs else "")


def compare(
    left: Tokenizer, right: Tokenizer, corpus: CorpusPaths | None = None, *, texts: Texts | None = None,
    names: tuple[str, str] | None = None, most: int = _MOST, text_field: FieldName = "text",
    format: Format | None = None,  # noqa: A002
    progress: bool | Report | None = None,
) -> Comparison:  # fmt: skip
    """Return how two tokenizers differ: their tokens, their definitions, and how they split a corpus.

    Args:
        left: The first tokenizer.
        right: The second tokenizer.
        corpus: A path, glob, folder or URL, or a list of them, as in `train`. Without files and texts, both encode
            every token of the other and other hard texts.
        texts: Texts in place of files, as in `train_from_iterator`.
        names: Names for display; None takes those of the tokenizers.
        most: The most pretokens to list; only with `corpus` or `texts`.
        text_field: The field of JSON lines, or the column of Parquet, with the text, as in `shard`.
        format: The kind of all files; None determines it from their names.
        progress: True for a bar on stderr, or a function that is called with `bbpe.progress.Progress`.

    Returns:
        The comparison.

    Raises:
        TypeError: An argument has a wrong type.
        ValueError: Both `corpus` and `texts` are given, or `most` without either.
        CorpusError: A file cannot be read as text.
        OSError: A file cannot be read.

    Example:
        >>> tok = bbpe.train_from_iterator(["low lower lowest"], 260)
        >>> same = compare(tok, bbpe.prune(tok, keep=260)[0])
        >>> same.first is None, same.equal == same.texts
        (True, True)

    """
    for tok, argument in ((left, "left"), (right, "right")):
        checked_tokenizer(tok, argument)
    reading = reading_of(text_field, format)
    source = source_of(corpus, texts, reading)
    most = whole("most", most, 0)
    check_unused("most", most, _MOST, source)
    kind("names", names, Sequence | None, "two names, of the first and the second tokenizer")
    if names is not None and (isinstance(names, str) or len(names) != 2):
        raise ValueError(f"names is {described(names)}; expected two names, of the first and the second tokenizer")
    shown = names or (left.name or "left", right.name or "right")
    ids = [_ids(left), _ids(right)]
    shared = ids[0].keys() & ids[1].keys()
    with reporting(progress) as report:
        counts, totals = (None, None) if source is None else _counted(left, right, source, reading, report)
        before = b"" if counts is None else _BEFORE
        hard = () if counts is not None else (*hard_texts(left, pairs=_PAIRS), *hard_texts(right, pairs=_PAIRS))
        samples = list(hard if counts is None else counts)
        found = agreement(left, right, samples, report, before)
    differing = np.flatnonzero(~(found.same_cuts if found.same_cuts is not None else found.same_ids)).tolist()
    chosen = list[int]()
    if counts is not None:
        times = np.array(list(counts.values()), np.int64)
        more = np.abs(found.counts[1] - found.counts[0]) * times
        chosen = sorted(differing, key=lambda number: (-more[number], -times[number]))[:most]
    unlike = [*differing[:1], *np.flatnonzero(~found.same_ids)[:1].tolist()][:1]
    words = PlacedTexts(left, right, [samples[number] for number in (*chosen, *unlike)], before)
    pairs = [SplitPair(text, counts[text], *words.tokens(at)) for at, text in enumerate(words.texts[: len(chosen)])] \
        if counts is not None else []  # fmt: skip
    return Comparison(
        shown, len(shared), sum(ids[0][token] == ids[1][token] for token in shared),
        (len(ids[0]) - len(shared), len(ids[1]) - len(shared)), _definitions(left, right),
        len(samples), None if found.same_cuts is None else len(samples) - len(differing), int(found.same_ids.sum()),
        words.difference(len(chosen)) if unlike else None, totals, tuple(pairs),
    )  # fmt: skip


def _ids(tok: Tokenizer) -> dict[bytes, int]:
    return {token: token_id for token_id, token in (*tok.spec.vocab.items(), *other_tokens(tok.spec).items())}


def _definitions(left: Tokenizer, right: Tokenizer) -> tuple[str, ...]:
    one, two = left.spec, right.spec
    parts = {
        "model": (type(one.model), one.merges is None, one.whole_pretokens) != (
            type(two.model), two.merges is None, two.whole_pretokens
        ),
        "tokens or their ids": one.vocab != two.vocab,
        "merges": one.merges != two.merges,
        "pattern": one.pattern != two.pattern,
        "normalizers or pre-tokenizers": one.rules != two.rules,
        "special tokens": dict(one.special_tokens) != dict(two.special_tokens),
        "added tokens": dict(one.added_tokens) != dict(two.added_tokens),
        "template": one.template != two.template,
        "decoder": one.decoder != two.decoder,
    }  # fmt: skip
    return tuple(name for name, differs in parts.items() if differs)


def _counted(
    left: Tokenizer, right: Tokenizer, source: ReportCorpus, reading: Reading, report: Report
) -> tuple[Counter[bytes], tuple[int, int]]:
    """Return the pretokens of a corpus with their counts, and its tokens by each tokenizer.

    Where the same pattern does not cut the text of both, pretokens are words with their blanks.
    """
    same = left.spec.pattern == right.spec.pattern and _is_cut_by_pattern(left) and _is_cut_by_pattern(right)
    splitter = TextSplitter(left.spec.pattern if same else _WORDS)
    counts: Counter[bytes] = Counter()
    totals = [0, 0]
    for batch in source.documents(reading, meter=Meter(report, "split", [source])):
        for side, tok in enumerate((left, right)):
            totals[side] += int(tok.count_tokens_batch(batch).sum())
        for text in batch:
            data, ends, _ = splitter.cut(bytes(text_bytes(text)))
            start = 0
            for end in ends.tolist():
                counts[data[start:end]] += 1
                start = end
    return counts, (totals[0], totals[1])


def _is_cut_by_pattern(tok: Tokenizer) -> bool:
    """Return whether a pattern cuts texts, keeps all of them, and each pretoken is encoded as it is alone."""
    rules, pattern = tok.spec.rules, tok.spec.pattern
    is_prefixed = rules.prefix is not None or any(isinstance(rule, Prepend) for rule in rules.normalizers)
    return bool(pattern.steps) and not (pattern.drops_gaps or is_prefixed or rules.pre_tokenizers)


def _joined(tokens: tuple[bytes, ...]) -> str:
    return shortened("|".join(map(readable, tokens)))


def _more(tokens: int) -> str:
    return f"{abs(tokens):,} {'more' if tokens > 0 else 'fewer'}" if tokens else "as many"


def _needs(name: str, other: str, base: int, tokens: int) -> str:
    """Return how many more or fewer tokens `name` needs than `other`, in per cent."""
    percent = 100 * abs(tokens - base) / max(base, 1)
    shown = f"{percent:,.0f}" if percent >= 10 else f"{max(percent, 0.01):.2g}"
    more = "more tokens" if tokens > base else "fewer tokens"
    return f"{name} needs {shown} % {more} than {other}"
