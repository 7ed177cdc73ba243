"""More tokens for a tokenizer that exists: old ids and merges as they are, new ones learned on top."""

from __future__ import annotations

import os
from collections.abc import Sequence
from concurrent.futures import Executor
from dataclasses import replace
from functools import partial

import numpy as np
import numpy.typing as npt

from ..core.train import Trainer
from ..corpus.kinds import Format
from ..corpus.paths import CorpusPaths
from ..counting.count import Report, count_files, silent
from ..counting.counts import Document, PretokenCounts
from ..counting.settings import settings_of
from ..errors import CorpusError, VocabularyError
from ..progress import Progress, resolve
from ..spec.spec import TextRules, TokenizerSpec
from ..text import BYTE_ORDER
from ..tokenizer import Tokenizer
from .plan import Plan, TieBreak, check_memory, plan_of
from .train import VISITS


def extend(
    tokenizer: Tokenizer,
    files: CorpusPaths | PretokenCounts,
    add: int = 10_000,
    *,
    min_frequency: int = 1,
    max_token_length: int | None = None,
    tie_break: TieBreak = "ids",
    document: Document = "file",
    max_memory: int | str | None = None,
    threads: int | None = None,
    executor: Executor | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    max_pretoken_bytes: int | None = None,
    sample: float = 1.0,
    text_field: str = "text",
    format: Format | None = None,  # noqa: A002
    progress: bool | Report | None = None,
) -> Tokenizer:
    """Return a tokenizer with up to `add` more tokens, learned on files, or on counts with its pattern.

    The corpus is encoded with the tokenizer, and training goes on from there.  All old tokens keep their ids, and old
    merges come first; new ids follow the highest one, that of a special token too.  So the ids of a text change only
    where new tokens stand for several old ones.  Fewer are added when no pair occurs `min_frequency` times, or
    where a merge makes an old token that only whole pretokens were.  All options and errors are those of `train`;
    `VocabularyError`, naming it, on a tokenizer with normalizers or other rules for texts, or with symbols that are
    characters.

    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> tok = bbpe.train_from_iterator(["low lower"], 257, special_tokens=["<s>"])
    >>> with TemporaryDirectory() as folder:
    ...     _ = Path(folder, "a.txt").write_text("low lowest slow")
    ...     more = extend(tok, folder, add=2)
    >>> more.merges, more.encode("low"), more.special_tokens
    ([(b'l', b'o'), (b'lo', b'w')], [258], {'<s>': 256})
    """
    spec = tokenizer.spec
    _check(spec)
    if isinstance(add, bool) or not isinstance(add, int) or add < 1:
        raise ValueError(f"add is {add!r}; expected a number of tokens, at least 1")
    plan = plan_of(256 + add, (), min_frequency, max_token_length, tie_break, 1, max_memory, sample)
    settings = settings_of(
        spec.pattern, (*spec.special_tokens, *spec.added_tokens), document, max_memory=max_memory, threads=threads,
        executor=executor, checkpoint=checkpoint, max_pretoken_bytes=max_pretoken_bytes, sample=sample,
        text_field=text_field, format=format,
    )  # fmt: skip
    with resolve(progress) as chosen:
        report = chosen or silent
        if isinstance(files, PretokenCounts):
            counts = files
            if counts.kind.pattern.steps != spec.pattern.steps:
                raise ValueError(f"the counts are of pattern {counts.pattern!r}; expected {str(spec.pattern)!r}")
        else:
            counts = count_files(files, settings, report, partial(check_memory, plan))
        return _learn(tokenizer, plan, counts, report)


def _check(spec: TokenizerSpec) -> None:
    if spec.characters is not None or spec.rules != TextRules():
        what = "symbols that are characters" if spec.characters is not None else "rules that change texts"
        raise VocabularyError(f"this tokenizer has {what}; only tokenizers of plain bytes can be extended")


def _learn(tokenizer: Tokenizer, plan: Plan, counts: PretokenCounts, report: Report) -> Tokenizer:
    if len(counts) == 0:
        raise CorpusError("there is no text to train on: no pretoken was found")
    check_memory(plan, len(counts), counts.pretoken_bytes(), held=counts.nbytes)
    spec = tokenizer.spec
    ids = sorted(spec.vocab)
    trainer = _trainer(tokenizer, plan, counts, ids)
    done = False
    while not done:
        done = trainer.step(VISITS)
        total = trainer.merge_count if done else plan.merge_limit
        report(Progress("merge", trainer.merge_count, total, "merges"))
    tokens = [spec.vocab[token_id] for token_id in ids]
    known = {token: token_id for token_id, token in spec.vocab.items()}
    merges: list[tuple[int, int, int]] = []
    for left, right in trainer.merges().tolist():
        made = tokens[left] + tokens[right]
        # a token that no old merge makes, found only as a whole pretoken, keeps its id when a new one makes it
        token_id = known.setdefault(made, tokenizer.vocab_size + len(known) - len(spec.vocab))
        merges.append((ids[left], ids[right], token_id))
        tokens.append(made)
        ids.append(token_id)
    listed = None if spec.merges is None else (*spec.merges, *merges)
    vocab = {token_id: token for token, token_id in known.items()}
    return Tokenizer(replace(spec, vocab=vocab, merges=listed, name=None))


def _trainer(tokenizer: Tokenizer, plan: Plan, counts: PretokenCounts, ids: Sequence[int]) -> Trainer:
    tokens = [tokenizer.spec.vocab[token_id] for token_id in ids]
    offsets = np.zeros(len(tokens) + 1, dtype=np.int64)
    np.cumsum([len(token) for token in tokens], out=offsets[1:])
    numbers = np.zeros(tokenizer.vocab_size, dtype=np.uint32)
    numbers[ids] = np.arange(len(ids), dtype=np.uint32)

    def encode(data: bytes, ends: npt.NDArray[np.int64]) -> npt.NDArray[np.uint32]:
        return numbers[tokenizer._encoder.given(data, ends)]

    return Trainer(
        counts.table(),
        BYTE_ORDER,
        merge_limit=plan.merge_limit,
        tie_break=plan.tie_break,
        min_frequency=plan.min_frequency,
        max_token_length=plan.max_token_length,
        base=(np.frombuffer(b"".join(tokens), np.uint8), offsets),
        encode=encode,
    )
