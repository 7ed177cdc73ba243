"""The models that merge pairs, BPE and WordPiece: their options, and learning merges of bytes from counted pretokens.

How merges of characters are learned: `words`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from ..budget import limit_of, resident_bytes, shown
from ..core.train import TIE_RULES, Trainer, merge_memory
from ..counting.counts import PretokenCounts
from ..counting.options import Counting, Report, checked_specials
from ..errors import CorpusError, MemoryLimitError, PatternError
from ..lazy import safe_import
from ..progress import Progress
from ..records import choice, dataclass, whole
from ..spec.models import Vocab
from ..spec.rules import BYTE_KEYS, SPACE_MARK
from ..spec.spec import MAX_ID, TokenizerSpec
from ..splitting.patterns import Pattern, get_pattern
from ..text import BYTE_ORDER, alphabet_to_bytes, check_unicode, counted

if TYPE_CHECKING:
    from .words import Merge, Score, WordPlan

#: Which of several pairs of equal count is merged; "strings" is for BPE of characters.
TieBreak: TypeAlias = Literal["ids", "bytes", "first", "strings"]

#: Positions that the merge loop visits between two looks at progress and signals; about 0.1 s.
VISITS = 1 << 20
NO_LIMIT = 2**32 - 1
#: How unique pretokens grow with text, at the slowest: as this power of it.
_SLOWEST = 0.6


@dataclass(frozen=True, kw_only=True)
class BPE:
    """Byte pair encoding: training merges the most frequent pair of neighbours, again and again.

    With `alphabet="bytes"` ids begin with the 256 bytes, then come merges and special tokens. With "chars" training
    merges characters in words: ids begin with `unk_token` and the special tokens, then come characters and merges.
    Without `end_of_word`, words of characters begin with `word_start`, as SentencePiece's do.

    Attributes:
        alphabet: "bytes" (the default) or "chars".
        end_of_word: With "chars", the mark after the last character of a word, such as "</w>". Words lie between blanks
            and line ends, as for subword-nmt, or are the matches of `pattern`.
        word_start: With "chars", the mark that words begin with.  U+2581 is the only one, and the default without
            `end_of_word`.  The mark stands for a blank, and for the beginning of a text; decoding gives blanks back.
        lowercase: With "chars", lowercase texts first.
        unk_token: With "chars", the token of characters that are not in the vocabulary; "<unk>" by default.
        max_alphabet: With "chars", how many characters to keep, the most frequent ones; all by default.
        tie_break: Which of several pairs of equal count is merged: "ids" the lowest pair of ids, as HF tokenizers;
            "bytes" the greatest pair of byte strings, and "first" the pair that occurs first in the text, both only for
            bytes; "strings" the greatest pair of strings of characters, as subword-nmt, only for characters. The
            default is "strings" with `end_of_word`, else "ids".
        min_frequency: The least count of a pair that is merged.
        max_token_length: With "bytes", the longest token, in bytes; no limit by default.
        pad_vocab_to: With "bytes", reserved special tokens fill the vocabulary up to a multiple of this number.
        forbid: With "bytes", a regex: training makes no token in whose text the regex finds a match, and merges the
            next best pair instead. Bytes that are not UTF-8 are U+DC80 to U+DCFF in this text, as by Python's
            "surrogateescape".
        max_words: With "bytes", the most words of a token; no limit by default.  Words are runs of characters between
            white space, as `str.split` gives them; a part of a word counts as a word.

    Raises:
        TypeError: A field has the wrong type.
        ValueError: A field has a wrong value, or belongs to the other alphabet; `PatternError` names a `forbid` that
            is no regex, or takes too long.

    Example:
        >>> import bbpe
        >>> words = bbpe.BPE(alphabet="chars", end_of_word="</w>")
        >>> bbpe.train_from_iterator(["at on"], 100, model=words).merges
        [(b'o', b'n</w>'), (b'a', b't</w>')]

    """

    alphabet: Literal["bytes", "chars"] = "bytes"
    end_of_word: str | None = None
    word_start: str | None = None
    lowercase: bool = False
    unk_token: str | None = None
    max_alphabet: int | None = None
    tie_break: TieBreak | None = None
    min_frequency: int = 1
    max_token_length: int | None = None
    pad_vocab_to: int = 1
    forbid: str | None = None
    max_words: int | None = None

    def __post_init__(self) -> None:
        choice("BPE.alphabet", self.alphabet, ("bytes", "chars"))
        for name in ("end_of_word", "word_start", "unk_token", "forbid"):
            if not isinstance(value := getattr(self, name), str | None):
                raise TypeError(f"BPE.{name} must be a str or None, not {type(value).__name__}")
            if value and name != "forbid":  # a regex finds what is no text, too
                check_unicode(f"BPE.{name}", value)
        if not isinstance(self.lowercase, bool):
            raise TypeError(f"BPE.lowercase must be a bool, not {type(self.lowercase).__name__}")
        lowest_of = {"max_alphabet": 1, "min_frequency": 0, "max_token_length": 1, "pad_vocab_to": 1, "max_words": 1}
        for name, lowest in lowest_of.items():
            value = getattr(self, name)
            if value is not None or name in ("min_frequency", "pad_vocab_to"):
                object.__setattr__(self, name, whole(f"BPE.{name}", value, lowest))
        if self.alphabet == "bytes":
            self._check_bytes()
        else:
            self._check_chars()

    def _check_bytes(self) -> None:
        for name in ("end_of_word", "word_start", "lowercase", "unk_token", "max_alphabet"):
            if (value := getattr(self, name)) not in (None, False):
                raise ValueError(f"BPE.{name} is {value!r}; expected it only with alphabet='chars'")
        forbids_token("BPE.forbid", self.forbid, self.max_words)
        if self.tie_break is not None:
            hint = " ('strings' is for alphabet='chars')" if self.tie_break == "strings" else ""
            choice("BPE.tie_break", self.tie_break, TIE_RULES, hint=hint)

    def _check_chars(self) -> None:
        for name, usual in (("max_token_length", None), ("pad_vocab_to", 1), ("forbid", None), ("max_words", None)):
            if (value := getattr(self, name)) != usual:
                raise ValueError(f"BPE.{name} is {value!r}; expected it only with alphabet='bytes'")
        start, end = self.word_start, self.end_of_word
        if start not in (None, SPACE_MARK):
            raise ValueError(
                f"BPE.word_start is {start!r}; expected {SPACE_MARK!r} (U+2581), the mark that files have for a blank"
            )
        if end and start is not None:
            raise ValueError(f"BPE.end_of_word is {end!r} and word_start is {start!r}; expected one of them")
        if self.tie_break not in (None, "ids", "strings"):
            raise ValueError(f"BPE.tie_break is {self.tie_break!r}; expected 'strings' or 'ids' with alphabet='chars'")
        self._check_texts("BPE.unk_token", () if self.unk_token is None else (self.unk_token,))

    def _check_texts(self, name: str, texts: Sequence[str]) -> None:
        """Refuse special tokens that files could not tell from symbols of words."""
        for text in texts:
            if not text:
                problem = "is empty; expected a text, such as '<|a|>'"
            elif 1 in (len(text), len(text.removesuffix(self.end_of_word or ""))):
                problem = "is one symbol of words in files; expected a longer text, such as '<|a|>'"
            elif not self.end_of_word and (SPACE_MARK in text or text in BYTE_KEYS):
                problem = "is how files write a blank or a byte; expected another text, such as '<|a|>'"
            else:
                continue
            raise ValueError(f"{name}: {text!r} {problem}")

    def plan(
        self, vocab_size: int, special_tokens: Sequence[str], pattern: str | Sequence[str] | None
    ) -> BytePlan | WordPlan:
        """Return how such a model is trained, checked against the other arguments of `train`."""
        if self.alphabet == "bytes":
            specials = check_vocabulary(vocab_size, special_tokens, least=256)
            if specials:
                _check_bytes_of(specials)
            chosen = "gpt2" if pattern is None else pattern
            return BytePlan(int(vocab_size) - 256 - len(specials), specials, chosen, self)
        specials = check_vocabulary(vocab_size, special_tokens)
        if pattern is not None and not self.end_of_word:
            problem = "words begin at blanks, with word_start; expected no pattern, or an end_of_word such as '</w>'"
            raise ValueError(f"pattern is {pattern!r}, and {problem}")
        self._check_texts("special_tokens", specials)
        ties = self.tie_break or ("strings" if self.end_of_word else "ids")
        # imported here, because training on bytes needs none of it
        safe_import("bbpe.training.words")
        from .words import WordPlan

        return WordPlan(
            "bpe",
            int(vocab_size),
            specials,
            "<unk>" if self.unk_token is None else self.unk_token,
            get_pattern("subword_nmt" if pattern is None else pattern) if self.end_of_word else None,
            min_frequency=int(self.min_frequency),
            end_of_word=self.end_of_word or "",
            word_start="" if self.end_of_word else SPACE_MARK,
            lowercase=self.lowercase,
            max_alphabet=self.max_alphabet,
            tie_break="strings" if ties == "strings" else "ids",
        )


@dataclass(frozen=True, kw_only=True)
class WordPiece:
    """WordPiece over BERT's words, or the words of `pattern`: a token that continues a word is marked with "##".

    Ids: `unk_token` and the special tokens, then characters, then merged tokens. Of equal scores the lowest pair of ids
    is merged.

    Attributes:
        score: Which pair is merged: "pmi" (the default), the pair with the greatest count(ab) / (count(a) * count(b)),
            or "frequency", the most frequent pair, as HF tokenizers.
        lowercase: Lowercase texts first and, over BERT's words, take accents off; on by default.
        unk_token: The token of words that the vocabulary cannot spell.
        max_alphabet: How many characters to keep, the most frequent ones; all by default.
        min_frequency: The least count of a pair that is merged.

    Raises:
        TypeError: A field has the wrong type.
        ValueError: A field has a wrong value.

    Example:
        >>> import bbpe
        >>> tok = bbpe.train_from_iterator(["low lower"], 13, model=bbpe.WordPiece(score="frequency"))
        >>> tok.tokenize("lower")
        ['low', '##er']

    """

    score: Score = "pmi"
    lowercase: bool = True
    unk_token: str = "[UNK]"
    max_alphabet: int | None = None
    min_frequency: int = 1

    def __post_init__(self) -> None:
        choice("WordPiece.score", self.score, ("pmi", "frequency"))
        if not isinstance(self.lowercase, bool):
            raise TypeError(f"WordPiece.lowercase must be a bool, not {type(self.lowercase).__name__}")
        if not isinstance(self.unk_token, str):
            raise TypeError(f"WordPiece.unk_token must be a str, not {type(self.unk_token).__name__}")
        if not self.unk_token:
            raise ValueError("WordPiece.unk_token is empty; expected a text, such as '[UNK]'")
        check_unicode("WordPiece.unk_token", self.unk_token)
        if self.max_alphabet is not None:
            most = whole("WordPiece.max_alphabet", self.max_alphabet, 1, expected="an int or None")
            object.__setattr__(self, "max_alphabet", most)
        object.__setattr__(self, "min_frequency", whole("WordPiece.min_frequency", self.min_frequency, 0))

    def plan(self, vocab_size: int, special_tokens: Sequence[str], pattern: str | Sequence[str] | None) -> WordPlan:
        """Return how such a model is trained, checked against the other arguments of `train`."""
        safe_import("bbpe.training.words")
        from .words import WordPlan

        specials = check_vocabulary(vocab_size, special_tokens)
        return WordPlan(
            "wordpiece",
            int(vocab_size),
            specials,
            self.unk_token,
            None if pattern is None else get_pattern(pattern),
            min_frequency=int(self.min_frequency),
            lowercase=self.lowercase,
            score=self.score,
            max_alphabet=self.max_alphabet,
        )


@dataclass(frozen=True)
class BytePlan:
    """Learning merges of bytes, of checked arguments: `merge_limit` merges at most, by `options`.

    `counted` is the pattern of what is counted; `separators`, the special tokens, separate texts.
    """

    merge_limit: int
    separators: tuple[str, ...]
    counted: str | Sequence[str] | Pattern
    options: BPE

    def learn(
        self, counts: PretokenCounts, counting: Counting, report: Report, log: list[Merge] | None = None
    ) -> TokenizerSpec:
        """Learn merges of counted pretokens, and return what they make; `log` gets the merges."""
        trainer = self.trained(counts, counting, report)
        vocab = Vocab.of_rows(*trainer.tokens())
        if log is not None:
            rows = zip(trainer.merges(), trainer.merge_counts(), strict=True)
            log.extend((vocab[left], vocab[right], vocab[left] + vocab[right], count) for (left, right), count in rows)
        merges = tuple((left, right, made) for made, (left, right) in enumerate(trainer.merges(), 256))
        size = len(vocab) + len(self.separators)
        texts = [*self.separators, *reserved(self.separators, size, self.options.pad_vocab_to)]
        specials = {text: len(vocab) + i for i, text in enumerate(texts)}
        return TokenizerSpec(vocab, merges, counts.spec.pattern, specials)

    def trained(self, counts: PretokenCounts, counting: Counting, report: Report, **begun: Any) -> Trainer:
        """Return a trainer that has learned all merges; `begun`: what it begins with, as `Trainer` takes it."""
        if not counts.total:
            raise CorpusError("there is no text to train on: no pretoken was found")
        if counting.max_memory is not None:
            self.check_memory(counting, len(counts), counts.pretoken_bytes(), held=counts.nbytes)
        options, limit, done = self.options, self.merge_limit, False
        longest = NO_LIMIT if options.max_token_length is None else min(int(options.max_token_length), NO_LIMIT)
        trainer = Trainer(
            counts.table(), BYTE_ORDER, merge_limit=limit, tie_break=options.tie_break or "ids",
            min_frequency=int(options.min_frequency), max_token_length=longest,
            forbids=forbids_token("forbid", options.forbid, options.max_words), **begun,
        )  # fmt: skip
        while not done:
            done = trainer.step(VISITS)
            report(Progress("merge", trainer.merge_count, trainer.merge_count if done else limit, "merges"))
        return trainer

    def check_memory(self, counting: Counting, pretokens: int, pretoken_bytes: int, *, held: int = 0) -> None:
        """Refuse to merge what does not fit `max_memory`; `held` bytes of what it needs are there already."""
        assert counting.max_memory is not None
        # the table itself stays, at up to 56 bytes a pretoken besides its own
        need = merge_memory(pretoken_bytes, pretokens, self.merge_limit) + pretoken_bytes + 56 * pretokens
        base, limit = resident_bytes() - held, limit_of(counting.max_memory)
        if base + need <= limit.size:
            return
        share = counting.sample * max((limit.size - base) / need, 0.0) ** (1 / _SLOWEST)
        fits = f"sample={float(f'{share:.1g}') if share < 1 else 1} should fit, or " if share > 1e-6 else ""
        enough = shown(1.05 * (base + need)).replace(" ", "")
        way_out = f"max_memory='{enough}'" if limit.name == "max_memory" else f"a limit of {enough}"
        raise MemoryLimitError(
            f"merging {counted(pretokens, 'unique pretoken')} of {shown(pretoken_bytes)} needs about "
            f"{shown(base + need)}, and {limit}; {fits}{way_out}"
        )


def forbids_token(argument: str, forbid: str | None, max_words: int | None) -> Callable[[str], bool] | None:
    """Return a function that says of the text of a token whether it must not be made; None if all may be.

    Raises `PatternError` naming the argument when `forbid` is no regex, or when every token matches it.
    """
    if forbid is None and max_words is None:
        return None
    is_found: Callable[[str], bool] | None = None
    if forbid is not None:
        safe_import("bbpe.splitting.regexes")
        from ..splitting.regexes import compiled

        try:
            is_found = compiled(forbid).finder()
            is_any = is_found("")
        except PatternError as error:
            raise PatternError(f"{argument}: {error}") from None
        if is_any:
            raise PatternError(
                f"{argument} is {forbid!r}, which matches the empty text, and so every token; expected a regex such "
                "as ': ' or '[.!?] '"
            )

    if max_words is None:
        return is_found
    most = max_words

    def forbids(text: str) -> bool:
        # the rest, if there is one, comes after as many words
        return len(text.split(None, most)) > most or (is_found is not None and is_found(text))

    return forbids


def check_vocabulary(vocab_size: int, special_tokens: Sequence[str], *, least: int = 1) -> tuple[str, ...]:
    """Check what all models are asked, and return the special tokens; `least`: tokens that a model has besides.

    Raises `TypeError` or `ValueError` naming the argument.
    """
    specials = checked_specials(special_tokens)
    detail = ", the 256 bytes and the special tokens" if least == 256 else ""
    if whole("vocab_size", vocab_size, least + len(specials), detail=detail) > MAX_ID + 1:
        raise ValueError(f"vocab_size is {vocab_size}; expected at most {MAX_ID + 1}")
    for text in specials:
        check_unicode("special_tokens", text)
    return specials


def reserved(special_tokens: Sequence[str], size: int, multiple: int) -> list[str]:
    """Return special tokens that make a vocabulary of `size` tokens a multiple of what was asked for."""
    taken = set(special_tokens)
    names = (f"<|reserved_{number}|>" for number in range(multiple + len(taken)))
    return list(islice((name for name in names if name not in taken), -size % multiple))


def _check_bytes_of(special_tokens: Sequence[str]) -> None:
    """Refuse special tokens that files write as bytes that may become a token."""
    for text in special_tokens:
        try:
            data = alphabet_to_bytes(text)
            is_token = len(data) == 1 or (not text.isascii() and bool(data.decode("utf-8")))
        except ValueError:
            continue
        if is_token:
            problem = f"is how files write {data!r}; expected a longer text, such as '<|a|>'"
            raise ValueError(f"special_tokens: {text!r} {problem}")
