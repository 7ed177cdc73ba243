"""Training on words of characters: BPE with an end of words, and WordPiece.

Text is counted in parts that rules can be applied to one by one (`patterns.SPACE_PARTS` and `BERT_PARTS`), at the speed
of counting; rules see each different part once.  Ids: special tokens, then characters in order, then what merges make,
in the order in which they were learned, which is also that in which they are applied.  (Applying the latest first would
take letters away from words that earlier, more frequent pairs were counted in.)
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from .core.train_words import FrequencyTrainer, WordTrainer
from .core.wordpiece import counted_words
from .counting import Report
from .errors import CorpusError
from .models import WordPiece
from .normalizing import normalizer
from .patterns import BERT_PARTS, PATTERNS, SPACE_PARTS, Pattern, get_pattern
from .progress import Progress
from .rules import BertNormalizer, BertPreTokenizer, Characters, Lowercase, bert_template
from .settings import Settings
from .spec import MAX_ID, TextRules, TokenizerSpec, make_spec

Score: TypeAlias = Literal["frequency", "pmi"]
_PREFIX = "##"
_STEP = 256  # merges between two reports
_VISITS = 1 << 20  # positions between two reports


@dataclass(frozen=True)
class WordPlan:
    """The checked arguments of such a training, less how to count."""

    model: Literal["bpe", "wordpiece"]
    vocab_size: int
    special_tokens: tuple[str, ...]
    unknown: str
    pattern: Pattern | None
    min_frequency: int = 1
    end_of_word: str = ""
    lowercase: bool = False
    score: Score = "frequency"
    max_alphabet: int | None = None

    @property
    def rules(self) -> TextRules:
        """What happens to a text before it is words."""
        if self.model == "wordpiece" and self.pattern is None:
            bert = BertNormalizer(True, True, self.lowercase, self.lowercase)
            return TextRules((bert,), None, (BertPreTokenizer(),))
        return TextRules((Lowercase(),) if self.lowercase else ())

    def counted(self, settings: Settings) -> Settings:
        """Return settings that count parts which rules can be applied to one by one."""
        if self.pattern is None:
            parts = BERT_PARTS if self.model == "wordpiece" else SPACE_PARTS
        elif self.pattern == PATTERNS["whitespace"]:
            parts = SPACE_PARTS
        else:
            parts = self.pattern
        return replace(settings, kind=replace(settings.kind, pattern=parts, unicode=parts.unicode_version))


def word_plan(
    model: str,
    vocab_size: int,
    *,
    pattern: str | Sequence[str] | None,
    special_tokens: Sequence[str],
    min_frequency: int,
    end_of_word: str | None,
    lowercase: bool | None,
    unk_token: str | None,
    score: str | None,
    max_alphabet: int | None,
) -> WordPlan:
    """Check arguments before anything is read.  Raises `ValueError` naming the first that does not fit."""
    is_pieces = model == "wordpiece"
    if is_pieces and end_of_word is not None:
        raise ValueError(f"end_of_word is {end_of_word!r}; WordPiece marks what continues a word, with '##'")
    if not is_pieces and score not in (None, "frequency"):
        raise ValueError(f"score is {score!r}; BPE merges by 'frequency'")
    if score not in (None, "frequency", "pmi"):
        raise ValueError(f"score is {score!r}; expected 'pmi' or 'frequency'")
    if not is_pieces and not end_of_word:
        raise ValueError("BPE of characters needs end_of_word, such as '</w>', to tell words apart again")
    if vocab_size > MAX_ID + 1:
        raise ValueError(f"vocab_size is {vocab_size}; expected at most {MAX_ID + 1}")
    single = next((text for text in special_tokens if _is_symbol(text, end_of_word)), None)
    if not is_pieces and single is not None:
        problem = "is one symbol of words in files; expected a longer text, such as '<|a|>'"
        raise ValueError(f"special_tokens: {single!r} {problem}")
    unknown = unk_token if unk_token is not None else "[UNK]" if is_pieces else "<unk>"
    specials = tuple(special_tokens)
    return WordPlan(
        "wordpiece" if is_pieces else "bpe",
        vocab_size,
        specials if unknown in specials else (unknown, *specials),
        unknown,
        None if pattern is None else get_pattern(pattern),
        min_frequency,
        end_of_word or "",
        is_pieces if lowercase is None else lowercase,
        "pmi" if score == "pmi" or (is_pieces and score is None) else "frequency",
        max_alphabet,
    )


def _is_symbol(text: object, end: str | None) -> bool:
    return isinstance(text, str) and 1 in (len(text), len(text.removesuffix(end or "")))


def words_of(plan: WordPlan, counts: Iterable[tuple[bytes, int]]) -> dict[str, int]:
    """Return the words of counted parts and how often they stand, in order of first appearance."""
    bert = plan.rules.normalizers[0] if plan.rules.pre_tokenizers else None
    if isinstance(bert, BertNormalizer):
        return counted_words(counts, bert, joins=False)
    pattern = PATTERNS["whitespace"] if plan.pattern is None else plan.pattern
    if pattern == PATTERNS["whitespace"]:
        return counted_words(counts, BertNormalizer(False, False, False, plan.lowercase), joins=True)
    words: dict[str, int] = {}
    normalize = normalizer(plan.rules.normalizers) or str
    for part, count in counts:
        for word in pattern.split(normalize(part.decode("utf-8", "replace"))):
            words[word] = words.get(word, 0) + count
    return words


def learn(plan: WordPlan, counts: Iterable[tuple[bytes, int]], report: Report) -> TokenizerSpec:
    """Learn merges of counted parts, and return what they make.

    Raises `CorpusError` when there is no word, `ValueError` when `vocab_size` has no room for all characters.
    """
    words = words_of(plan, counts)
    if not words:
        raise CorpusError("there is no text to train on: no word was found")
    coded, tokens = _coded(plan, words)
    if len(tokens) > plan.vocab_size:
        raise ValueError(
            f"vocab_size is {plan.vocab_size}; expected at least {len(tokens)}, the special tokens and all characters "
            "(max_alphabet leaves out rare ones)"
        )
    learned = None if plan.score == "pmi" else _by_frequency(plan, coded, tokens, report)
    ids, merges = _one_by_one(plan, coded, tokens, report) if learned is None else learned
    report(Progress("merge", len(ids), len(ids), "tokens"))
    return _spec(plan, ids, merges)


@dataclass(frozen=True)
class _Coded:
    """Words as ids of symbols: word i is symbols[ends[i - 1]:ends[i]] and stands counts[i] times."""

    symbols: npt.NDArray[np.uint32]
    ends: npt.NDArray[np.int64]
    counts: npt.NDArray[np.uint64]

    def words(self) -> Iterator[tuple[list[int], int]]:
        start = 0
        for end, count in zip(self.ends.tolist(), self.counts.tolist(), strict=True):
            yield self.symbols[start:end].tolist(), count
            start = end


def _coded(plan: WordPlan, words: Mapping[str, int]) -> tuple[_Coded, list[str]]:
    """Return words as the symbols that they begin as, and the tokens, whose places are the ids of symbols.

    A symbol is a character and whether it is marked: as the last of a word, or as one that goes on with it.
    """
    chars = np.frombuffer("".join(words).encode("utf-32-le", "surrogatepass"), np.uint32)
    ends = np.cumsum(np.fromiter(map(len, words), np.int64, len(words)))
    kept = _alphabet(words, plan.max_alphabet)
    if kept is not None:
        stays = np.isin(chars, np.array([ord(char) for char in kept], np.uint32))
        ends = np.concatenate([[0], np.cumsum(stays)])[ends]
        chars = chars[stays]
    keys, goes_on = chars * 2, plan.model == "wordpiece"
    marks = np.full(len(keys), goes_on, np.bool_)
    begun = np.diff(ends, prepend=0) > 0
    if goes_on:
        marks[(ends - np.diff(ends, prepend=0))[begun]] = False
    else:
        marks[(ends - 1)[begun]] = True
    keys += marks
    is_used = np.zeros(2 * 0x110000, np.bool_)
    is_used[keys] = True
    used = np.flatnonzero(is_used)
    spelled = [_spelled(plan, chr(key >> 1), bool(key & 1)) for key in used.tolist()]
    tokens = [*plan.special_tokens, *sorted(set(spelled).difference(plan.special_tokens))]
    ids = {token: token_id for token_id, token in enumerate(tokens)}
    id_of = np.zeros(len(is_used), np.uint32)
    id_of[used] = [ids[symbol] for symbol in spelled]
    return _Coded(id_of[keys], ends, np.fromiter(words.values(), np.uint64, len(words))), tokens


def _spelled(plan: WordPlan, char: str, is_marked: bool) -> str:
    if not is_marked:
        return char
    return _PREFIX + char if plan.model == "wordpiece" else char + plan.end_of_word


def _made(plan: WordPlan, left: str, right: str) -> str:
    return left + (right.removeprefix(_PREFIX) if plan.model == "wordpiece" else right)


_Learned: TypeAlias = tuple[dict[str, int], list[tuple[str, str]]]


def _by_frequency(plan: WordPlan, coded: _Coded, tokens: Sequence[str], report: Report) -> _Learned | None:
    """Return tokens with ids and merges, or None when two merges make the same token.

    That takes a text that spells a mark or a special token, such as "a</w>"; such words are then learned one by one.
    """
    limit = plan.vocab_size - len(tokens)
    trainer = FrequencyTrainer(
        coded.symbols,
        coded.ends,
        coded.counts,
        base=len(tokens),
        merge_limit=limit,
        min_frequency=plan.min_frequency,
    )
    while not trainer.step(_VISITS):
        report(Progress("merge", len(tokens) + trainer.merge_count, plan.vocab_size, "tokens"))
    known = list(tokens)
    merges = []
    for left, right in trainer.merges():
        merges.append((known[left], known[right]))
        known.append(_made(plan, known[left], known[right]))
    ids = {token: token_id for token_id, token in enumerate(known)}
    return (ids, merges) if len(ids) == len(known) else None


def _one_by_one(plan: WordPlan, coded: _Coded, begun: Sequence[str], report: Report) -> _Learned:
    """Return tokens with ids and merges; those that make the same token are told which it is."""
    tokens = list(begun)
    ids = {token: token_id for token_id, token in enumerate(tokens)}
    trainer = WordTrainer(coded.words(), score=plan.score, min_frequency=plan.min_frequency)
    merges: list[tuple[str, str]] = []
    while len(tokens) < plan.vocab_size and (best := trainer.best()) is not None:
        left, right = tokens[best[0]], tokens[best[1]]
        made = _made(plan, left, right)
        if made not in ids:
            ids[made] = len(tokens)
            tokens.append(made)
        merges.append((left, right))
        trainer.merge(ids[made])
        if len(merges) % _STEP == 0:
            report(Progress("merge", len(tokens), plan.vocab_size, "tokens"))
    return ids, merges


def _alphabet(words: Mapping[str, int], most: int | None) -> frozenset[str] | None:
    """Return the most frequent characters, of equals the lowest; all of them when there is no limit."""
    if most is None:
        return None
    counts: Counter[str] = Counter()
    for word, count in words.items():
        for char in word:
            counts[char] += count
    ordered = sorted(counts, key=lambda char: (-counts[char], char))
    return frozenset(ordered[:most])


def _spec(plan: WordPlan, ids: Mapping[str, int], merges: Sequence[tuple[str, str]]) -> TokenizerSpec:
    specials = {text: ids[text] for text in plan.special_tokens}
    vocab = {token_id: token.encode() for token, token_id in ids.items()}
    if plan.model == "wordpiece":
        return make_spec(
            vocab,
            None,
            pattern=PATTERNS["none"] if plan.pattern is None else plan.pattern,
            special_tokens=specials,
            rules=plan.rules,
            template=bert_template(specials),
            model=WordPiece(ids[plan.unknown], _PREFIX),
        )
    for text in specials:
        del vocab[ids[text]]
    # a text that spells a special token can teach merges of it, which are none, as it is no token of words
    words = [(left, right) for left, right in merges if specials.keys().isdisjoint((left, right, left + right))]
    return make_spec(
        vocab,
        [(left.encode(), right.encode()) for left, right in words],
        pattern=PATTERNS["whitespace"] if plan.pattern is None else plan.pattern,
        special_tokens=specials,
        rules=plan.rules,
        characters=Characters((), ids[plan.unknown], end_of_word=plan.end_of_word),
    )
