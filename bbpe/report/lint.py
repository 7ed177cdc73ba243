"""Lint: what is wrong with a vocabulary, or surprising, and the checks of it that need text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ..corpus.fields import FieldName
from ..corpus.files import CorpusPaths, Format
from ..counting.options import Report, reporting
from ..lazy import np, npt
from ..progress import Progress
from ..records import whole
from ..text import Text, counted
from ..tokenizer import Tokenizer, checked_tokenizer
from .findings import SEVERITIES, Example, Finding, LintReport, Subject
from .measures import count_ids
from .rule_checks import RULE_CHECKS
from .texts import Meter, Texts, check_unused, reading_of, source_of
from .token_checks import TOKEN_CHECKS

#: A token that a corpus uses less often is rare, unless the caller says otherwise.
_RARE = 10


def lint(
    tokenizer: Tokenizer, corpus: CorpusPaths | None = None, *, texts: Texts | None = None, min_count: int = _RARE,
    text_field: FieldName = "text",
    format: Format | None = None,  # noqa: A002
    progress: bool | Report | None = None,
) -> LintReport:  # fmt: skip
    """Return what is wrong with a tokenizer, or surprising, without running a model.

    Tokens are encoded alone and in many surroundings; a token is called unreachable only if no text gave it. A corpus
    adds the tokens that it does not use, or seldom uses.

    Args:
        tokenizer: The tokenizer.
        corpus: A path, glob, folder or URL, or a list of them, as in `train`.
        texts: Texts in place of files, as in `train_from_iterator`.
        min_count: A token that the corpus uses less often than this is rare; only with `corpus` or `texts`.
        text_field: The field of JSON lines, or the column of Parquet, with the text, as in `shard`.
        format: The kind of all files; None determines it from their names.
        progress: True for a bar on stderr, or a function that is called with `bbpe.progress.Progress`.

    Returns:
        The findings, the most severe first, with severity, examples, why each matters, and what to do.

    Raises:
        TypeError: An argument has the wrong type.
        ValueError: An argument has a wrong value, there is `min_count` without a corpus and texts, or these have no
            tokens.
        CorpusError: A file cannot be read as text.
        OSError: A file cannot be read.

    Example:
        >>> tok = bbpe.train_from_iterator(["low lower lowest"], 300)
        >>> report = lint(tok, texts=["low lower"])
        >>> report["unused"].examples[0].token
        b' lowest'

    """
    checked_tokenizer(tokenizer)
    min_count = whole("min_count", min_count, 1)
    reading = reading_of(text_field, format)
    source = source_of(corpus, texts, reading)
    check_unused("min_count", min_count, _RARE, source)
    subject = Subject(tokenizer)
    with reporting(progress) as report:
        checks = (*TOKEN_CHECKS, *RULE_CHECKS)
        found: list[Finding] = []
        for number, check in enumerate(checks):
            report(Progress("check", number, len(checks), "checks"))
            found += check(subject)
        report(Progress("check", len(checks), len(checks), "checks"))
        if source is not None:
            batches = source.documents(reading, meter=Meter(report, "measure", [source]))
            found += corpus_checks(subject, batches, min_count, source.argument)
    found.sort(key=lambda finding: SEVERITIES.index(finding.severity))
    return LintReport(tokenizer.name or "unnamed", len(tokenizer), tuple(found))


def uses(tokenizer: Tokenizer, batches: Iterable[list[Text]]) -> npt.NDArray[np.int64]:
    """Return how often each id is used in batches of texts, int64[vocab_size]."""
    used = np.zeros(tokenizer.vocab_size, np.int64)
    for batch in batches:
        count_ids(tokenizer.encode_batch_to_numpy(batch).ids, used)
    return used


def corpus_checks(subject: Subject, batches: Iterable[list[Text]], least: int, argument: str) -> Iterator[Finding]:
    """Yield the tokens that batches of texts do not use, or use fewer than `least` times.

    Raises `ValueError` that names their `argument` if they have no tokens, which says nothing of the vocabulary.
    """
    used = uses(subject.tokenizer, batches)
    if not used.any():
        raise ValueError(f"{argument} has no tokens; expected text, to find tokens that are unused or rare in it")
    of_tokens = used[subject.ids]
    total = int(used.sum())
    never, rare = np.flatnonzero(of_tokens == 0), np.flatnonzero((of_tokens > 0) & (of_tokens < least))
    why = "Their embeddings hardly change in training: prompts with such tokens give odd results."
    advice = "Train on text like the text that will be encoded, or drop them with `bbpe prune --used-in`."
    for check, found, shown in (
        ("unused", never, ("does not occur", "do not occur")),
        ("rare", rare, (f"occurs fewer than {least:,} times", f"occur fewer than {least:,} times")),
    ):
        if not len(found):
            continue
        numbers = sorted(found.tolist(), key=lambda number: -len(subject.tokens[number]))
        examples = tuple(
            Example(each.id, each.token, "" if check == "unused" else f"({counted(int(of_tokens[number]), 'time')})")
            for number, each in zip(numbers, subject.examples(numbers), strict=False)
        )
        share = len(found) / max(len(subject.ids), 1)
        yield Finding(
            check, "warning" if share > 0.1 and check == "unused" else "info", len(found),
            f"{counted(len(found), 'token')} ({share:.0%}) {shown[len(found) != 1]} in the corpus of "
            f"{counted(total, 'token')}", why, advice,
            examples, subject.ids_of(found.tolist()),
        )  # fmt: skip
