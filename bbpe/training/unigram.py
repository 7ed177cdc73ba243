"""Unigram: its options, what its tokens may be in, and the tokenizer that its vocabulary makes.

How the vocabulary is learned: `unigram_em`.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from ..core.rows import sum_rows
from ..corpus.rowfiles import Counts, Rows
from ..counting.counts import PretokenCounts
from ..counting.options import Counting, Report, check_share
from ..errors import CorpusError
from ..lazy import lazy_re, lazy_regex, np, safe_import
from ..records import dataclass, whole
from ..spec.models import UnigramModel
from ..spec.rules import BYTE_KEYS, ESCAPED_MARK, SPACE_MARK, Characters, Prepend, Replace
from ..spec.spec import TextRules, TokenizerSpec, make_spec, usual_decoder
from ..splitting.patterns import PATTERNS, RUN_PARTS, Pattern, get_pattern
from ..text import check_unicode
from .bpe import check_vocabulary, reserved

_LETTERS = lazy_regex(r"[\p{L}\p{M}]")
_LINES = lazy_re(r"[^\n]*\n|[^\n]+")


@dataclass(frozen=True, kw_only=True)
class Unigram:
    """A Unigram model of characters (Kudo, 2018), as SentencePiece trains it.

    Ids: `<unk>`, the special tokens, `user_defined_symbols`, with `byte_fallback` the 256 bytes, then tokens, the most
    likely one first.  Without a `pattern` a token has only letters and marks or none of them, and blanks only in front.

    Attributes:
        character_coverage: The share of the text that is made up of characters that are tokens.
        byte_fallback: Whether the 256 bytes are tokens, which spell any other character.
        user_defined_symbols: Texts that are always tokens.
        max_token_length: The longest token, in bytes; no limit by default but 16 characters.
        pad_vocab_to: Reserved special tokens fill the vocabulary up to a multiple of this number.

    Raises:
        TypeError: A field has the wrong type.
        ValueError: A field has a wrong value.

    Example:
        >>> import bbpe
        >>> model = bbpe.Unigram(user_defined_symbols=["<sep>"])
        >>> tok = bbpe.train_from_iterator(["see my eyes"] * 3, 280, model=model)
        >>> tok.tokenize("my<sep>")
        [' my', '<sep>']

    """

    character_coverage: float = 0.9995
    byte_fallback: bool = True
    user_defined_symbols: Sequence[str] = ()
    max_token_length: int | None = None
    pad_vocab_to: int = 1

    def __post_init__(self) -> None:
        coverage = check_share("Unigram.character_coverage", self.character_coverage)
        object.__setattr__(self, "character_coverage", coverage)
        if not isinstance(self.byte_fallback, bool):
            raise TypeError(f"Unigram.byte_fallback must be a bool, not {type(self.byte_fallback).__name__}")
        symbols = self.user_defined_symbols
        if isinstance(symbols, str) or not isinstance(symbols, Sequence):
            kind = type(symbols).__name__
            raise TypeError(f"Unigram.user_defined_symbols must be a sequence of strings, such as a list, not {kind}")
        for number, text in enumerate(symbols):
            if not isinstance(text, str):
                raise TypeError(f"Unigram.user_defined_symbols[{number}] must be a str, not {type(text).__name__}")
            name = f"Unigram.user_defined_symbols[{number}]"
            check_unicode(name, text)
            if SPACE_MARK in text:
                problem = "holds U+2581, which is how files write a blank; expected a blank for it"
                raise ValueError(f"{name}: {text!r} {problem}")
            if text in BYTE_KEYS:
                raise ValueError(f"{name}: {text!r} is how files write a byte; expected another text, such as '<|a|>'")
        object.__setattr__(self, "user_defined_symbols", tuple(symbols))
        if self.max_token_length is not None:
            longest = whole("Unigram.max_token_length", self.max_token_length, 1, expected="an int or None")
            object.__setattr__(self, "max_token_length", longest)
        object.__setattr__(self, "pad_vocab_to", whole("Unigram.pad_vocab_to", self.pad_vocab_to, 1))

    def plan(self, vocab_size: int, special_tokens: Sequence[str], pattern: str | Sequence[str] | None) -> UnigramPlan:
        """Return how such a model is trained, checked against the other arguments of `train`."""
        specials = check_vocabulary(vocab_size, special_tokens)
        for text in specials:
            if text == SPACE_MARK or text in BYTE_KEYS:
                problem = "is how files write a blank or a byte; expected another text, such as '<|a|>'"
                raise ValueError(f"special_tokens: {text!r} {problem}")
        # as files write them: a blank of a symbol is a mark
        fixed = ["<unk>", *specials, *(text.replace(" ", SPACE_MARK) for text in self.user_defined_symbols)]
        double = next((text for text in fixed if fixed.count(text) > 1 or not text), None)
        if double == "<unk>":
            raise ValueError("'<unk>' is always the first token of a Unigram model; leave it out of special_tokens")
        if double is not None:
            mark = " (files write U+2581 for a blank)" if SPACE_MARK in double else ""
            raise ValueError(f"{double!r} is empty or given twice in special_tokens and user_defined_symbols{mark}")
        plan = UnigramPlan(int(vocab_size), specials, get_pattern(RUN_PARTS if pattern is None else pattern), self)
        if vocab_size <= plan.first:
            expected = f"more than {plan.first}, the ids of <unk>, special tokens, symbols and bytes"
            raise ValueError(f"vocab_size is {vocab_size}; expected {expected}")
        return plan


@dataclass(frozen=True)
class UnigramPlan:
    """Learning a Unigram model, of checked arguments."""

    vocab_size: int
    special_tokens: tuple[str, ...]
    counted: Pattern
    options: Unigram

    @property
    def separators(self) -> tuple[str, ...]:
        """The tokens that separate texts while they are counted."""
        return (*self.special_tokens, *self.options.user_defined_symbols)

    @property
    def first(self) -> int:
        """The first id of a token that is learned, less those that are reserved."""
        return 1 + len(self.separators) + (256 if self.options.byte_fallback else 0)

    def check_memory(self, counting: Counting, pretokens: int, pretoken_bytes: int) -> None:
        """Refuse nothing: only merging bytes has an estimate of its memory."""

    def learn(self, counts: PretokenCounts, counting: Counting, report: Report) -> TokenizerSpec:
        """Learn tokens of counted pretokens; the tokenizer encodes a text as if a blank were before it.

        Raises `CorpusError` when there is no text, or its characters are more than there is room for.
        """
        if not counts.total:
            raise CorpusError("there is no text to train on: no pretoken was found")
        words, kinds = Rows.join(list(counts.batches())), None
        if counts.spec.pattern == RUN_PARTS:
            words, kinds = unigram_words(words, by_line=counts.spec.document == "line")
        own = self.options
        specials = [*self.special_tokens, *reserved(self.separators, self.vocab_size, own.pad_vocab_to)]
        fixed = ["<unk>", *specials, *own.user_defined_symbols]
        # what files would write as one of the other tokens, for they write a mark for a blank
        taken = {text.replace(SPACE_MARK, " ") for text in ("<unk>", *specials, *BYTE_KEYS) if " " not in text}
        # imported here, because training of other models needs none of it
        safe_import("bbpe.training.unigram_em")
        from .unigram_em import learn

        found = learn(
            words, self.vocab_size - self.first, kinds=kinds, coverage=own.character_coverage,
            longest=own.max_token_length, needs_blank=own.byte_fallback,
            taken=frozenset(text.encode() for text in taken.union(own.user_defined_symbols)),
            threads=counting.threads, report=report,
        )  # fmt: skip
        user_defined = range(1 + len(specials), len(fixed))
        first = len(fixed) + (256 if own.byte_fallback else 0)
        vocab = {token_id: fixed[token_id].encode() for token_id in user_defined}
        vocab.update(enumerate(found.tokens, start=first))
        characters = Characters(tuple(range(len(fixed), first)), 0, True, True)
        model = UnigramModel((*[0.0] * first, *found.scores), True, tuple(user_defined))
        escapes = (ESCAPED_MARK,) if own.byte_fallback else ()
        return make_spec(
            vocab,
            [],
            pattern=PATTERNS["none"],
            special_tokens={text: token_id for token_id, text in enumerate(fixed) if token_id not in user_defined},
            rules=TextRules((*escapes, Prepend(SPACE_MARK), Replace(" ", False, SPACE_MARK))),
            characters=characters,
            model=model,
            decoder=usual_decoder(characters, model, strip=1),
        )


def unigram_words(parts: Rows, *, by_line: bool = False) -> tuple[Rows, Counts]:
    """Return what tokens may lie in, of counted `patterns.RUN_PARTS`, and in how many of these each stands.

    None holds both letters and what is no letter.  As SentencePiece has it, digits, punctuation and white space are of
    one kind, and a blank, also the one that encoding puts in front of a text, belongs to what follows; of several the
    last one.  Marks are as letters.  `by_line`: what is behind a line feed begins a text.
    """
    bounds, data = parts.offsets.tolist(), parts.data.tobytes()
    texts = [data[start:end].decode("utf-8", "surrogateescape") for start, end in pairwise(bounds)]
    counts = parts.counts
    if by_line:
        lines = [_LINES.findall(text) for text in texts]
        counts = np.repeat(counts, [len(found) for found in lines])
        texts = [line for found in lines for line in found]
    # within a text a part begins with a blank or a line feed
    texts = [text if text[0] in " \n" else f" {text}" for text in texts]
    joined = "".join(texts)
    lengths = np.fromiter(map(len, texts), np.int64, len(texts))
    points = np.frombuffer(joined.encode("utf-32-le", "surrogatepass"), np.uint32)
    kinds = np.zeros(int(points.max(initial=0)) + 1, np.bool_)
    kinds[[ord(char) for char in _LETTERS.findall("".join(set(joined)))]] = True
    is_letter, is_blank, is_space = kinds[points], points == ord(" "), points <= ord(" ")
    starts = np.zeros(len(points) + 1, np.bool_)
    starts[0] = True
    starts[1:-1] = (is_letter[1:] != is_letter[:-1]) & ~is_blank[1:] & ~is_blank[:-1]
    starts[1:-2] |= is_blank[1:-1] & ~is_space[2:]
    starts[np.cumsum(lengths)] = True
    sizes = 1 + (points >= 0x80) + (points >= 0x800) + (points >= 0x10000) - 2 * (points >> 11 == 0xD800 >> 11)
    ends = np.concatenate([[0], np.cumsum(sizes, dtype=np.int64)])
    places = np.flatnonzero(starts)
    numbers = np.searchsorted(np.cumsum(lengths), places[:-1], side="right")
    text = np.frombuffer(joined.encode("utf-8", "surrogateescape"), np.uint8)
    firsts, sums = sum_rows(text, ends[places], counts[numbers])
    in_parts: Counts = sum_rows(text, ends[places], np.ones(len(numbers), np.uint64))[1]
    found = Rows(text, ends[places], counts[numbers]).take(firsts)
    return Rows(found.data, found.offsets, sums), in_parts
