"""More tokens for a tokenizer that exists: old ids and merges as they are, new ones learned on top."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from ..corpus.files import CorpusPaths
from ..counting.count import count_files
from ..counting.counts import PretokenCounts
from ..counting.options import Counting, Report, check_counted, counting_of
from ..errors import VocabularyError
from ..lazy import np, npt
from ..records import replace, whole
from ..spec.spec import TextRules, TokenizerSpec
from ..splitting.patterns import Pattern, get_pattern
from ..tokenizer import Tokenizer, checked_tokenizer
from .bpe import BPE, BytePlan, TieBreak


def extend(
    tokenizer: Tokenizer,
    files: CorpusPaths | PretokenCounts,
    add: int = 10_000,
    *,
    min_frequency: int = 1,
    max_token_length: int | None = None,
    tie_break: TieBreak = "ids",
    forbid: str | None = None,
    max_words: int | None = None,
    pattern: str | Sequence[str] | None = None,
    counting: Counting | None = None,
) -> Tokenizer:
    """Return a tokenizer with more tokens, learned on files, or on counts with its pattern.

    Training continues from the ids of the corpus. All old tokens keep their ids, and old merges come first; new ids
    follow the highest id, special tokens included. So the ids of a text change only where a new token replaces several
    old ones, and where another pattern splits the text at another place.

    Args:
        tokenizer: A tokenizer of plain bytes, which stays as it is.
        files: A path, glob or folder, or a list of them; or counts with the pattern of the result.
        add: How many tokens to add. There may be fewer: when no pair occurs `min_frequency` times, or when a merge
            makes an old token that was never merged before.
        min_frequency: The least count of a pair that is merged.
        max_token_length: The longest new token, in bytes; no limit by default.
        tie_break: Which of several pairs of equal count is merged, as in `BPE`: "ids", "bytes" or "first".
        forbid: A regex: a token in whose text it finds a match is not added, as in `BPE`.
        max_words: The most words of a new token, runs of characters between white space; no limit by default.
        pattern: Another pattern for the result, by name or as regexes: one that does not split at blanks learns tokens
            of several words (Liu et al., 2025, "SuperBPE").  The pattern of the tokenizer by default.
        counting: How to read and count the files, a `Counting`.

    Returns:
        The longer tokenizer.

    Raises:
        VocabularyError: The tokenizer has normalizers or other rules for texts, or symbols that are characters.
        ValueError: An argument has a wrong value, or the counts are of another pattern.
        TypeError: An argument has the wrong type.
        CorpusError: There is no text, or a file cannot be read as text.
        MemoryLimitError: Merging would need more than `max_memory`.

    Example:
        >>> from pathlib import Path
        >>> from tempfile import TemporaryDirectory
        >>> tok = bbpe.train_from_iterator(["low lower"], 257, special_tokens=["<s>"])
        >>> with TemporaryDirectory() as folder:
        ...     _ = Path(folder, "a.txt").write_text("low lowest slow")
        ...     more = extend(tok, folder, add=2)
        >>> more.merges, more.encode("low"), more.special_tokens
        ([(b'l', b'o'), (b'lo', b'w')], [258], {'<s>': 256})

    """
    spec, how = checked_tokenizer(tokenizer).spec, counting_of(counting)
    _check(spec)
    add = whole("add", add, 1)
    options = BPE(
        min_frequency=min_frequency, max_token_length=max_token_length, tie_break=tie_break, forbid=forbid,
        max_words=max_words,
    )  # fmt: skip
    chosen = spec.pattern if pattern is None else get_pattern(pattern)
    plan = BytePlan(add, (), chosen, options)
    with how.reporting() as report:
        if isinstance(files, PretokenCounts):
            check_counted(how, "counts")
            counts = files
            if counts.spec.pattern.steps != chosen.steps:
                raise ValueError(f"the counts are of pattern {counts.pattern!r}; expected {str(chosen)!r}")
        else:
            separators = (*spec.special_tokens, *spec.added_tokens)
            task = how.task(chosen, separators)
            counts = count_files(files, task, report, partial(plan.check_memory, how))
        return _learn(tokenizer, plan, counts, how, report, chosen)


def _check(spec: TokenizerSpec) -> None:
    if spec.characters is not None or spec.rules != TextRules():
        what = "symbols that are characters" if spec.characters is not None else "rules that change texts"
        raise VocabularyError(f"this tokenizer has {what}; only tokenizers of plain bytes can be extended")


def _learn(
    tokenizer: Tokenizer, plan: BytePlan, counts: PretokenCounts, counting: Counting, report: Report, pattern: Pattern
) -> Tokenizer:
    spec = tokenizer.spec
    ids = sorted(spec.vocab)
    trainer = plan.trained(counts, counting, report, **_begun(tokenizer, ids))
    tokens = [spec.vocab[token_id] for token_id in ids]
    known = {token: token_id for token_id, token in spec.vocab.items()}
    merges: list[tuple[int, int, int]] = []
    for left, right in trainer.merges():
        made = tokens[left] + tokens[right]
        # a token that no old merge makes, found only as a whole pretoken, keeps its id when a new one makes it
        token_id = known.setdefault(made, tokenizer.vocab_size + len(known) - len(spec.vocab))
        merges.append((ids[left], ids[right], token_id))
        tokens.append(made)
        ids.append(token_id)
    listed = None if spec.merges is None else (*spec.merges, *merges)
    vocab = {token_id: token for token, token_id in known.items()}
    return Tokenizer(replace(spec, vocab=vocab, merges=listed, pattern=pattern, name=None))


def _begun(tokenizer: Tokenizer, ids: Sequence[int]) -> dict[str, Any]:
    """Return what training begins with: tokens, and how they encode pretokens."""
    tokens = [tokenizer.spec.vocab[token_id] for token_id in ids]
    offsets = np.zeros(len(tokens) + 1, dtype=np.int64)
    np.cumsum([len(token) for token in tokens], out=offsets[1:])
    numbers = np.zeros(tokenizer.vocab_size, dtype=np.uint32)
    numbers[ids] = np.arange(len(ids), dtype=np.uint32)

    def encode(data: bytes, ends: npt.NDArray[np.int64]) -> npt.NDArray[np.uint32]:
        return numbers[tokenizer._parts.encoder.encode_pretokens(data, ends)]

    return {"base": (np.frombuffer(b"".join(tokens), np.uint8), offsets), "encode": encode}
