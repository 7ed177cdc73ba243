"""Training: text -> counted pretokens -> merges -> a tokenizer."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import replace
from functools import partial
from itertools import islice
from typing import Literal, Unpack

from ..core.count import PretokenTable
from ..core.train import Trainer
from ..corpus.kinds import Format
from ..corpus.paths import CorpusPaths
from ..corpus.rowfiles import Rows
from ..counting.count import Report, count_files, count_texts, silent
from ..counting.counts import Document, PretokenCounts
from ..counting.settings import Settings, settings_of
from ..errors import CorpusError
from ..progress import Progress, resolve
from ..spec.spec import TokenizerSpec
from ..spec.vocab import Vocab
from ..splitting.patterns import RUN_PARTS, Pattern
from ..text import BYTE_ORDER, Text, text_bytes
from ..tokenizer import Tokenizer
from .plan import NO_LIMIT, ModelName, Plan, TieBreak, check_memory, model_options, plan_of, words_of
from .unigram import UnigramOptions, separators, train_unigram, unigram_words
from .words import Score, learn

#: Positions that the merge loop visits between two looks at progress and signals; about 0.1 s.
VISITS = 1 << 20


def train(
    files: CorpusPaths,
    vocab_size: int,
    *,
    model: ModelName = "bpe",
    alphabet: Literal["bytes", "chars"] | None = None,
    pattern: str | Sequence[str] | None = None,
    end_of_word: str | None = None,
    word_start: str | None = None,
    lowercase: bool | None = None,
    unk_token: str | None = None,
    score: Score | None = None,
    max_alphabet: int | None = None,
    special_tokens: Sequence[str] = (),
    min_frequency: int = 1,
    max_token_length: int | None = None,
    tie_break: TieBreak | None = None,
    document: Document = "file",
    pad_vocab_to: int = 1,
    max_memory: int | str | None = None,
    threads: int | None = None,
    executor: Executor | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    max_pretoken_bytes: int | None = None,
    sample: float = 1.0,
    text_field: str = "text",
    format: Format | None = None,  # noqa: A002
    progress: bool | Report | None = None,
    **unigram: Unpack[UnigramOptions],
) -> Tokenizer:
    """Train a tokenizer on files.

    `files`: a path, glob or folder, or a list of them, of the kinds that `count` reads; bytes that are no UTF-8 are
    read as they are.  `vocab_size` counts the 256 bytes, the merges and the special tokens, which get ids in this
    order; training stops early, with fewer merges, when no pair occurs `min_frequency` times.  Special tokens in
    the text separate it.  `max_token_length` is in bytes.  `tie_break` chooses among pairs of equal count:
    "ids" the lowest pair of ids (as HF tokenizers; the default), "bytes" the greatest pair of byte strings, "first" the
    pair that occurs first in the text.  `document="line"` makes each line, with its end, a text of its own.
    `pad_vocab_to=128` adds reserved special tokens up to a multiple of 128.  The other options are those of `count`.

    `model="unigram"` learns a Unigram model (Kudo, 2018) of characters instead: `<unk>`, the special tokens,
    `user_defined_symbols`, which are always tokens, with `byte_fallback` the 256 bytes, and tokens by their scores.
    The characters that make up `character_coverage` of the text are tokens.  Without a `pattern` a token holds letters
    and marks or none, and blanks only in front, as SentencePiece's.  `min_frequency` and `tie_break` are for BPE.

    `alphabet="chars"` learns merges of characters in words.  With `end_of_word`, such as "</w>", which stands behind
    the last symbol of a word, words are by default those between white space, and `tie_break="strings"` is the default:
    the greatest pair of strings of characters, marks included, as subword-nmt does.  Without, words begin with
    `word_start`, U+2581, as SentencePiece's and HF's behind Metaspace do: it stands for a blank and before each text,
    and decoding gives blanks back as they were; the default is "ids".

    `model="wordpiece"` learns WordPiece over BERT's words (or those of `pattern`, as they are): by `score="pmi"`,
    count(ab) / (count(a) * count(b)), or "frequency", as HF does; of equal scores the lowest pair of ids is merged.
    For both alphabets of characters: special tokens come first, `unk_token` ("<unk>", "[UNK]") before them unless it is
    one; then characters, of which `max_alphabet` keeps the most frequent.  `lowercase` is on for WordPiece, where it
    strips accents too, and off for characters; `max_token_length` and `pad_vocab_to` do not apply.

    Raises `ValueError` on bad arguments (`PatternError` on an unknown pattern), `CorpusError` when there is
    no text or it cannot be read, `OSError` naming a file that cannot be read, `MemoryLimitError` before merging begins
    when it would need more than `max_memory`, naming how much, and the `sample` that would fit.

    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     _ = Path(folder, "a.txt").write_text("low lower lowest")
    ...     train(folder, 258).merges
    [(b'l', b'o'), (b'lo', b'w')]
    """
    words = words_of(
        model, alphabet, vocab_size, pattern=pattern, special_tokens=special_tokens, min_frequency=min_frequency,
        end_of_word=end_of_word, word_start=word_start, lowercase=lowercase, unk_token=unk_token, score=score,
        max_alphabet=max_alphabet, tie_break=tie_break, unused=(max_token_length is None, pad_vocab_to == 1),
    )  # fmt: skip
    plan = plan_of(
        vocab_size, special_tokens, min_frequency, max_token_length, tie_break, pad_vocab_to, max_memory, sample,
        model_options(model, words, threads, unigram),
    )  # fmt: skip
    settings = settings_of(
        pattern or _DEFAULT[model], separators(special_tokens, unigram), document, max_memory=max_memory,
        threads=threads, executor=executor, checkpoint=checkpoint, max_pretoken_bytes=max_pretoken_bytes,
        sample=sample, text_field=text_field, format=format,
    )  # fmt: skip
    with resolve(progress) as chosen:
        report = chosen or silent
        if words is not None:
            return Tokenizer(learn(words, count_files(files, words.counted(settings), report), report))
        counts = count_files(files, settings, report, partial(check_memory, plan))
        return _learn(plan, counts, report)


def train_from_iterator(
    texts: Iterable[Text],
    vocab_size: int,
    *,
    model: ModelName = "bpe",
    alphabet: Literal["bytes", "chars"] | None = None,
    pattern: str | Sequence[str] | None = None,
    end_of_word: str | None = None,
    word_start: str | None = None,
    lowercase: bool | None = None,
    unk_token: str | None = None,
    score: Score | None = None,
    max_alphabet: int | None = None,
    special_tokens: Sequence[str] = (),
    min_frequency: int = 1,
    max_token_length: int | None = None,
    tie_break: TieBreak | None = None,
    document: Document = "file",
    pad_vocab_to: int = 1,
    max_memory: int | str | None = None,
    threads: int | None = None,
    executor: Executor | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    max_pretoken_bytes: int | None = None,
    sample: float = 1.0,
    progress: bool | Report | None = None,
    **unigram: Unpack[UnigramOptions],
) -> Tokenizer:
    """Train a tokenizer on texts, each `str` or bytes-like; no merge crosses from one into the next.

    Options and errors are those of `train`.

    >>> train_from_iterator(["low lower lowest"], 257).merges
    [(b'l', b'o')]
    """
    words = words_of(
        model, alphabet, vocab_size, pattern=pattern, special_tokens=special_tokens, min_frequency=min_frequency,
        end_of_word=end_of_word, word_start=word_start, lowercase=lowercase, unk_token=unk_token, score=score,
        max_alphabet=max_alphabet, tie_break=tie_break, unused=(max_token_length is None, pad_vocab_to == 1),
    )  # fmt: skip
    plan = plan_of(
        vocab_size, special_tokens, min_frequency, max_token_length, tie_break, pad_vocab_to, max_memory, sample,
        model_options(model, words, threads, unigram),
    )  # fmt: skip
    settings = settings_of(
        pattern or _DEFAULT[model], separators(special_tokens, unigram), document, max_memory=max_memory,
        threads=threads, executor=executor, checkpoint=checkpoint, max_pretoken_bytes=max_pretoken_bytes,
        sample=sample,
    )  # fmt: skip
    with resolve(progress) as chosen:
        report = chosen or silent
        if words is not None:
            return Tokenizer(learn(words, count_texts(texts, words.counted(settings), report), report))
        counts = count_texts(texts, settings, report, partial(check_memory, plan))
        return _learn(plan, counts, report)


def train_from_counts(
    counts: PretokenCounts | Mapping[bytes, int] | Mapping[str, int],
    vocab_size: int,
    *,
    pattern: str | Sequence[str] | None = None,
    special_tokens: Sequence[str] | None = None,
    min_frequency: int = 1,
    max_token_length: int | None = None,
    tie_break: TieBreak | None = None,
    pad_vocab_to: int = 1,
    max_memory: int | str | None = None,
    threads: int | None = None,
    model: Literal["bpe", "unigram"] = "bpe",
    progress: bool | Report | None = None,
    **unigram: Unpack[UnigramOptions],
) -> Tokenizer:
    """Train a tokenizer on counted pretokens, in the order of their first appearance.

    `counts`: what `count` or `load_counts` returned, or a mapping of pretokens, as `pattern` cuts them, to how often
    they occur, 0 to 2**63 - 1.  `pattern` and `special_tokens` are by default those of the counts, or "gpt2" and none
    for a mapping; other special tokens may be named, but no other pattern.  The rest is as in `train`, but that
    `model="unigram"` takes pretokens as they are.

    >>> train_from_counts({"low": 5, " lower": 2}, 257).merges
    [(b'l', b'o')]
    """
    if model not in _LEARNERS:
        hint = "; WordPiece learns from texts: use train" if str(model) == "wordpiece" else ""
        raise ValueError(f"model is {model!r}; counts train 'bpe' or 'unigram'{hint}")
    if isinstance(counts, PretokenCounts):
        given = counts
        if pattern is not None:
            asked = replace(counts.kind, pattern=settings_of(pattern).kind.pattern)
            different = counts.kind.differences(asked)
            if different:
                raise ValueError(f"the counts and the arguments differ: {', '.join(different)}")
        specials = counts.special_tokens if special_tokens is None else special_tokens
    else:
        specials = () if special_tokens is None else special_tokens
        given = _counts_of_mapping(counts, settings_of("gpt2" if pattern is None else pattern, specials))
    kind = model_options(model, None, threads, unigram)
    plan = plan_of(
        vocab_size, specials, min_frequency, max_token_length, tie_break, pad_vocab_to, max_memory, 1.0, kind
    )
    with resolve(progress) as report:
        return _learn(plan, given, report or silent)


def _counts_of_mapping(counts: Mapping[bytes, int] | Mapping[str, int], settings: Settings) -> PretokenCounts:
    if not isinstance(counts, Mapping):
        raise TypeError(f"counts must be PretokenCounts or a mapping to counts, not {type(counts).__name__}")
    table = PretokenTable()
    for pretoken, count in counts.items():
        if isinstance(count, bool) or not isinstance(count, int):
            raise TypeError(f"the count of {pretoken!r} must be an int, not {type(count).__name__}")
        if not 0 <= count < 2**63:
            raise ValueError(f"the count of {pretoken!r} is {count}; expected 0 to {2**63 - 1}")
        table.add(bytes(text_bytes(pretoken)), count)
    return PretokenCounts.of_table(table, settings.kind)


def _learn(plan: Plan, counts: PretokenCounts, report: Report) -> Tokenizer:
    if len(counts) == 0:
        raise CorpusError("there is no text to train on: no pretoken was found")
    if plan.max_memory is not None:
        check_memory(plan, len(counts), counts.pretoken_bytes(), held=counts.nbytes)
    return Tokenizer(_LEARNERS[plan.model.name](plan, counts, report))


def _learn_unigram(plan: Plan, counts: PretokenCounts, report: Report) -> TokenizerSpec:
    reserved = _reserved(plan, plan.vocab_size)
    words, kinds = Rows.join(list(counts.batches())), None
    if counts.kind.pattern == RUN_PARTS:
        words, kinds = unigram_words(words, by_line=counts.kind.document == "line")
    return train_unigram(
        words,
        plan.vocab_size + len(reserved),
        kinds=kinds,
        special_tokens=(*plan.special_tokens, *reserved),
        max_token_length=None if plan.max_token_length == NO_LIMIT else plan.max_token_length,
        threads=plan.model.threads,
        report=report,
        **plan.model.unigram,
    )


def _learn_bpe(plan: Plan, counts: PretokenCounts, report: Report) -> TokenizerSpec:
    trainer = _trainer(plan, counts)
    limit, done = plan.merge_limit, False
    while not done:
        done = trainer.step(VISITS)
        report(Progress("merge", trainer.merge_count, trainer.merge_count if done else limit, "merges"))
    vocab = Vocab.of_rows(*trainer.tokens())
    left, right = trainer.merges().T.tolist()
    merges = tuple(zip(left, right, range(256, len(vocab)), strict=True))
    texts = [*plan.special_tokens, *_reserved(plan, len(vocab) + len(plan.special_tokens))]
    specials = {text: len(vocab) + i for i, text in enumerate(texts)}
    return TokenizerSpec(vocab, merges, counts.kind.pattern, specials)


#: What is counted when no pattern is named.
_DEFAULT: dict[str, str | Pattern] = {"bpe": "gpt2", "wordpiece": "gpt2", "unigram": RUN_PARTS}
#: How each model is learned.
_LEARNERS: dict[str, Callable[[Plan, PretokenCounts, Report], TokenizerSpec]] = {
    "bpe": _learn_bpe,
    "unigram": _learn_unigram,
}


def _trainer(plan: Plan, counts: PretokenCounts) -> Trainer:
    return Trainer(
        counts.table(),
        BYTE_ORDER,
        merge_limit=plan.merge_limit,
        tie_break=plan.tie_break,
        min_frequency=plan.min_frequency,
        max_token_length=plan.max_token_length,
    )


def _reserved(plan: Plan, size: int) -> list[str]:
    """Return special tokens that make a vocabulary of `size` tokens a multiple of what was asked for."""
    taken = set(plan.special_tokens)
    names = (f"<|reserved_{number}|>" for number in range(plan.pad_vocab_to + len(taken)))
    return list(islice((name for name in names if name not in taken), -size % plan.pad_vocab_to))
