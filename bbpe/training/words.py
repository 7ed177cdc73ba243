"""Training on words of characters: BPE with a mark at the end or the start of words, and WordPiece.

Text is counted in parts that rules can be applied to one by one (`patterns.SPACE_PARTS` and others), at the speed of
counting; rules see each different part once.  Ids: special tokens, then characters in order, then what merges make,
in the order in which they were learned, which is also that in which they are applied.  (Applying the latest first would
take letters away from words that earlier, more frequent pairs were counted in.)
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Literal, TypeAlias

from ..core.train_words import FrequencyTrainer, WordTrainer
from ..core.wordpiece import counted_words
from ..counting.counts import PretokenCounts
from ..counting.options import Counting, Report
from ..errors import CorpusError
from ..lazy import np, npt
from ..pipeline.compiled_normalizers import normalize_function
from ..progress import Progress
from ..records import dataclass
from ..spec.models import WordPieceModel
from ..spec.rules import (
    SPACE_MARK,
    BertNormalizer,
    BertPreTokenizer,
    Characters,
    Lowercase,
    Prepend,
    Replace,
    bert_template,
)
from ..spec.spec import TextRules, TokenizerSpec, make_spec, usual_decoder
from ..splitting.patterns import BERT_PARTS, BLANK_PARTS, PATTERNS, SPACE_PARTS, WORD_PARTS, Pattern

Score: TypeAlias = Literal["frequency", "pmi"]
WordTies: TypeAlias = Literal["ids", "strings"]
#: A merge in a log: its two parts, the token that it makes, and how often the parts were neighbours when they merged.
Merge: TypeAlias = tuple[bytes, bytes, bytes, int]
_PREFIX = "##"
_STEP = 256  # merges between two reports
#: Where text is counted for patterns of words.
_PARTS = {PATTERNS["whitespace"]: SPACE_PARTS, PATTERNS["subword_nmt"]: WORD_PARTS}
_VISITS = 1 << 20  # positions between two reports


@dataclass(frozen=True)
class WordPlan:
    """Learning on words, of checked arguments; `separators` are the special tokens that were given."""

    model: Literal["bpe", "wordpiece"]
    vocab_size: int
    separators: tuple[str, ...]
    unknown: str
    pattern: Pattern | None
    min_frequency: int = 1
    end_of_word: str = ""
    word_start: str = ""
    lowercase: bool = False
    score: Score = "frequency"
    max_alphabet: int | None = None
    tie_break: WordTies = "ids"

    @property
    def rules(self) -> TextRules:
        """The rules that a text passes before it is split into words."""
        if self.model == "wordpiece" and self.pattern is None:
            bert = BertNormalizer(True, True, self.lowercase, self.lowercase)
            return TextRules((bert,), None, (BertPreTokenizer(),))
        first = (Lowercase(),) if self.lowercase else ()
        if self.word_start:
            return TextRules((*first, Prepend(SPACE_MARK), Replace(" ", False, SPACE_MARK)))
        return TextRules(first)

    @property
    def characters(self) -> Characters:
        """The options of characters of a BPE vocabulary."""
        unknown = self.special_tokens.index(self.unknown)
        if self.word_start:
            return Characters((), unknown, fuse_unknown=True, marks_blanks=True)
        return Characters((), unknown, end_of_word=self.end_of_word)

    @property
    def special_tokens(self) -> tuple[str, ...]:
        """All special tokens: the one of what is unknown is the first unless it was given."""
        return self.separators if self.unknown in self.separators else (self.unknown, *self.separators)

    @property
    def counted(self) -> Pattern:
        """The pattern of the parts that are counted, which rules can be applied to one by one."""
        if self.word_start:
            return BLANK_PARTS
        if self.pattern is None:
            return BERT_PARTS
        return _PARTS.get(self.pattern, self.pattern)

    def check_memory(self, counting: Counting, pretokens: int, pretoken_bytes: int) -> None:
        """Refuse nothing: only merging bytes has an estimate of its memory."""

    def learn(
        self, counts: PretokenCounts, counting: Counting, report: Report, log: list[Merge] | None = None
    ) -> TokenizerSpec:
        """Learn merges of counted parts, and return what they make; `log` gets the merges.

        Raises `CorpusError` when there is no word, `ValueError` when `vocab_size` has no room for all characters.
        """
        words = words_of(self, counts)
        if not words:
            raise CorpusError("there is no text to train on: no word was found")
        coded, tokens = _coded(self, words)
        if len(tokens) > self.vocab_size:
            raise ValueError(
                f"vocab_size is {self.vocab_size}; expected at least {len(tokens)}, the special tokens and all "
                "characters (max_alphabet leaves out rare ones)"
            )
        learned = None if self.score == "pmi" else _by_frequency(self, coded, tokens, report)
        ids, merges, times = _one_by_one(self, coded, tokens, report) if learned is None else learned
        if log is not None:
            rows = ((*pair, _made(self, *pair), count) for pair, count in zip(merges, times, strict=True))
            log.extend((left.encode(), right.encode(), made.encode(), count) for left, right, made, count in rows)
        report(Progress("merge", len(ids), len(ids), "tokens"))
        return _spec(self, ids, merges)


def words_of(plan: WordPlan, counts: PretokenCounts) -> dict[str, int]:
    """Return the words of counted parts and how often they stand, in order of first appearance."""
    bert = plan.rules.normalizers[0] if plan.rules.pre_tokenizers else None
    if isinstance(bert, BertNormalizer):
        return counted_words(counts, bert, joins=False)
    if plan.word_start:
        return _started_words(plan, counts)
    pattern = plan.pattern
    assert pattern is not None
    if pattern in _PARTS:
        rules, blanks = BertNormalizer(False, False, False, plan.lowercase), pattern.name == "subword_nmt"
        return counted_words(counts, rules, joins=True, blanks=blanks)
    words: dict[str, int] = {}
    normalize = normalize_function(plan.rules.normalizers) or str
    for part, count in counts:
        for word in pattern.split(normalize(part.decode("utf-8", "replace"))):
            words[word] = words.get(word, 0) + count
    return words


def _started_words(plan: WordPlan, counts: PretokenCounts) -> dict[str, int]:
    """Return words with their mark in front; a mark in the text is a blank."""
    words: dict[str, int] = {}
    lower = normalize_function((Lowercase(),)) if plan.lowercase else None
    by_line = counts.spec.document == "line"
    for part, count in counts:
        text = part.decode("utf-8", "replace").replace(" ", SPACE_MARK).removeprefix(SPACE_MARK)
        if by_line:  # what follows a line feed begins a text
            text = text.replace("\n", f"\n{SPACE_MARK}").removesuffix(SPACE_MARK)
        for word in (text if lower is None else lower(text)).split(SPACE_MARK):
            words[SPACE_MARK + word] = words.get(SPACE_MARK + word, 0) + count
    return words


@dataclass(frozen=True)
class _Coded:
    """Words as ids of symbols: word i is symbols[ends[i - 1]:ends[i]] and stands counts[i] times."""

    symbols: npt.NDArray[np.uint32]
    ends: npt.NDArray[np.int64]
    counts: npt.NDArray[np.uint64]

    def words(self) -> Iterator[tuple[list[int], int]]:
        start = 0
        for end, count in zip(self.ends.tolist(), self.counts.tolist(), strict=True):
            if start < end:  # `max_alphabet` may leave out all characters of a word
                yield self.symbols[start:end].tolist(), count
            start = end


def _coded(plan: WordPlan, words: Mapping[str, int]) -> tuple[_Coded, list[str]]:
    """Return words as the symbols that they begin as, and the tokens, whose places are the ids of symbols.

    A symbol is a character and whether it is marked: as the last of a word, or as one that goes on with it.
    """
    chars = np.frombuffer("".join(words).encode("utf-32-le", "surrogatepass"), np.uint32)
    ends = np.cumsum(np.fromiter(map(len, words), np.int64, len(words)))
    kept = _alphabet(words, plan.max_alphabet, plan.word_start)
    if kept is not None:
        stays = np.isin(chars, np.array([ord(char) for char in kept], np.uint32))
        ends = np.cumsum(stays, dtype=np.int64)[ends - 1]
        chars = chars[stays]
    keys, goes_on = chars * 2, plan.model == "wordpiece"
    marks = np.full(len(keys), goes_on, np.bool_)
    begun = np.diff(ends, prepend=0) > 0
    if goes_on:
        marks[(ends - np.diff(ends, prepend=0))[begun]] = False
    elif plan.end_of_word:
        marks[(ends - 1)[begun]] = True
    keys += marks
    is_used = np.zeros(2 * 0x110000, np.bool_)
    is_used[keys] = True
    by_ids = plan.tie_break == "ids"
    if by_ids:
        # a letter that has a mark in all words here may have none elsewhere
        is_used[chars * 2] = True
    used = np.flatnonzero(is_used)
    if by_ids:  # as `tokenizers` numbers them, whose lowest ids merge first; it has the marked ones in any order
        used = used[np.argsort(used & 1, kind="stable")]
    spelled = [_spelled(plan, chr(key >> 1), bool(key & 1)) for key in used.tolist()]
    ordered = dict.fromkeys(spelled if by_ids else sorted(spelled))
    tokens = [*plan.special_tokens, *(token for token in ordered if token not in plan.special_tokens)]
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


def _strings(plan: WordPlan, tokens: Sequence[str]) -> list[bytes] | None:
    """Return what orders pairs of equal count, if not ids: UTF-8 has the order of code points."""
    return [token.encode() for token in tokens] if plan.tie_break == "strings" else None


_Learned: TypeAlias = tuple[dict[str, int], list[tuple[str, str]], list[int]]


def _by_frequency(plan: WordPlan, coded: _Coded, tokens: Sequence[str], report: Report) -> _Learned | None:
    """Return tokens with ids, merges and their counts, or None when two merges make the same token.

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
        strings=_strings(plan, tokens),
    )
    while not trainer.step(_VISITS):
        report(Progress("merge", len(tokens) + trainer.merge_count, plan.vocab_size, "tokens"))
    known = list(tokens)
    merges = []
    for left, right in trainer.merges():
        merges.append((known[left], known[right]))
        known.append(_made(plan, known[left], known[right]))
    ids = {token: token_id for token_id, token in enumerate(known)}
    return (ids, merges, trainer.merge_counts()) if len(ids) == len(known) else None


def _one_by_one(plan: WordPlan, coded: _Coded, begun: Sequence[str], report: Report) -> _Learned:
    """Return the tokens with their ids, the merges, and the count of each merge; equal tokens get one id."""
    tokens = list(begun)
    ids = {token: token_id for token_id, token in enumerate(tokens)}
    strings = _strings(plan, tokens)
    trainer = WordTrainer(coded.words(), score=plan.score, min_frequency=plan.min_frequency, strings=strings)
    merges: list[tuple[str, str]] = []
    times: list[int] = []
    while len(tokens) < plan.vocab_size and (best := trainer.best()) is not None:
        left, right = tokens[best[0]], tokens[best[1]]
        made = _made(plan, left, right)
        if made not in ids:
            ids[made] = len(tokens)
            tokens.append(made)
        merges.append((left, right))
        times.append(best[2])
        trainer.merge(ids[made])
        if len(merges) % _STEP == 0:
            report(Progress("merge", len(tokens), plan.vocab_size, "tokens"))
    return ids, merges, times


def _alphabet(words: Mapping[str, int], most: int | None, start: str) -> frozenset[str] | None:
    """Return `start` and the most frequent characters, of equals the lowest; all of them when there is no limit."""
    if most is None:
        return None
    counts: Counter[str] = Counter()
    for word, count in words.items():
        for char in word:
            counts[char] += count
    ordered = sorted(counts, key=lambda char: (char != start, -counts[char], char))
    return frozenset(ordered[:most])


def _spec(plan: WordPlan, ids: Mapping[str, int], merges: Sequence[tuple[str, str]]) -> TokenizerSpec:
    specials = {text: ids[text] for text in plan.special_tokens}
    written = _as_blanks if plan.word_start else str.encode
    vocab = {token_id: written(token) for token, token_id in ids.items()}
    if plan.model == "wordpiece":
        return make_spec(
            vocab,
            None,
            pattern=PATTERNS["none"] if plan.pattern is None else plan.pattern,
            special_tokens=specials,
            rules=plan.rules,
            template=bert_template(specials),
            model=WordPieceModel(ids[plan.unknown], _PREFIX),
        )
    for text in specials:
        del vocab[ids[text]]
    # a text that spells a special token can teach merges of it, which are none, as it is no token of words
    words = [(left, right) for left, right in merges if specials.keys().isdisjoint((left, right, left + right))]
    return make_spec(
        vocab,
        [(written(left), written(right)) for left, right in words],
        pattern=PATTERNS["none"] if plan.pattern is None else plan.pattern,
        special_tokens=specials,
        rules=plan.rules,
        characters=plan.characters,
        decoder=usual_decoder(plan.characters, None, strip=int(bool(plan.word_start))),
    )


def _as_blanks(token: str) -> bytes:
    return token.replace(SPACE_MARK, " ").encode()
