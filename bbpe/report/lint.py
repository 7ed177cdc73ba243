"""Lint: what is wrong with a vocabulary, or surprising."""

from __future__ import annotations

from ..corpus.files import Format
from ..corpus.sources import Reading
from ..tokenizer import Tokenizer
from .corpus_checks import corpus_checks
from .findings import SEVERITIES, LintReport
from .rule_checks import rule_checks
from .subject import Subject
from .texts import Corpus
from .token_checks import token_checks


def lint(
    tokenizer: Tokenizer, corpus: Corpus | None = None, *, min_count: int = 10, text_field: str = "text",
    format: Format | None = None,  # noqa: A002
) -> LintReport:  # fmt: skip
    """Return what is wrong with a tokenizer, or surprising, without running a model.

    Tokens are encoded alone and in many surroundings; a token is called unreachable only if no text gave it. A corpus
    adds the tokens that it does not use, or seldom uses.

    Args:
        tokenizer: The tokenizer.
        corpus: A path, glob or folder, a list of `Path`, or texts (`str` or bytes).
        min_count: A token that the corpus uses less often is rare.
        text_field: The field of JSON lines, or the column of Parquet, with the text.
        format: The kind of all files; None determines it from their names.

    Returns:
        The findings, the most severe first, with severity, examples, why each matters, and what to do.

    Raises:
        TypeError: `tokenizer` is not a `Tokenizer`.
        CorpusError: A file cannot be read as text.
        OSError: A file cannot be read.

    Example:
        >>> tok = bbpe.train_from_iterator(["low lower lowest"], 300)
        >>> report = lint(tok, ["low lower"])
        >>> report["unused"].examples[0].token
        b' lowest'

    """
    if not isinstance(tokenizer, Tokenizer):
        raise TypeError(f"lint takes a Tokenizer, not {type(tokenizer).__name__}")
    if min_count < 1:
        raise ValueError(f"min_count is {min_count}; expected at least 1")
    subject = Subject(tokenizer)
    found = [*token_checks(subject), *rule_checks(subject)]
    if corpus is not None:
        found += corpus_checks(subject, corpus, Reading(text_field, format=format), min_count)
    found.sort(key=lambda finding: SEVERITIES.index(finding.severity))
    return LintReport(tokenizer.name or "unnamed", len(tokenizer), tuple(found))
