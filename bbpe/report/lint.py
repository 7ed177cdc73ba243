"""Lint: what is wrong with a vocabulary, or surprising."""

from __future__ import annotations

from ..corpus.files import CorpusPaths, Format
from ..counting.options import Report, reporting
from ..progress import Progress
from ..records import whole
from ..tokenizer import Tokenizer, checked_tokenizer
from .corpus_checks import corpus_checks
from .findings import SEVERITIES, Finding, LintReport
from .rule_checks import RULE_CHECKS
from .subject import Subject
from .texts import DELAY, Meter, Texts, reading_of, source_of
from .token_checks import TOKEN_CHECKS


def lint(
    tokenizer: Tokenizer, corpus: CorpusPaths | None = None, *, texts: Texts | None = None, min_count: int = 10,
    text_field: str = "text",
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
        min_count: A token that the corpus uses less often is rare.
        text_field: The field of JSON lines, or the column of Parquet, with the text.
        format: The kind of all files; None determines it from their names.
        progress: True for a bar on stderr, or a function that is called with `bbpe.progress.Progress`.

    Returns:
        The findings, the most severe first, with severity, examples, why each matters, and what to do.

    Raises:
        TypeError: An argument has the wrong type.
        ValueError: An argument has a wrong value.
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
    subject = Subject(tokenizer)
    with reporting(progress, delay=DELAY) as report:
        checks = (*TOKEN_CHECKS, *RULE_CHECKS)
        found: list[Finding] = []
        for number, check in enumerate(checks):
            report(Progress("check", number, len(checks), "checks"))
            found += check(subject)
        report(Progress("check", len(checks), len(checks), "checks"))
        if source is not None:
            batches = source.documents(reading, meter=Meter(report, "measure", [source]))
            found += corpus_checks(subject, batches, min_count)
    found.sort(key=lambda finding: SEVERITIES.index(finding.severity))
    return LintReport(tokenizer.name or "unnamed", len(tokenizer), tuple(found))
