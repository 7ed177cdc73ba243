"""What a training is asked, checked before anything is read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Any, Literal, TypeAlias, get_args

import numpy as np

from ..budget import limit_of, parse_bytes, resident_bytes, shown
from ..core.train import TIE_RULES, merge_memory
from ..counting.settings import checked_specials
from ..errors import MemoryLimitError
from ..spec.rules import BLANK, BYTE_KEYS
from ..spec.spec import MAX_ID
from ..text import alphabet_to_bytes
from .unigram import UnigramOptions, check_unigram
from .words import WordPlan, word_plan

#: Which of several pairs of equal count is merged; "strings" is for BPE of characters.
TieBreak: TypeAlias = Literal["ids", "bytes", "first", "strings"]
#: What a tokenizer can be trained as.
ModelName: TypeAlias = Literal["bpe", "wordpiece", "unigram"]

NO_LIMIT = 2**32 - 1
#: The names of options, for the nearest one to a name that is none.
_OPTIONS = (
    "alphabet", "byte_fallback", "character_coverage", "checkpoint", "document", "end_of_word", "executor", "lowercase",
    "max_alphabet", "max_memory", "max_pretoken_bytes", "max_token_length", "min_frequency", "model", "pad_vocab_to",
    "pattern", "progress", "sample", "score", "special_tokens", "text_field", "threads", "tie_break", "unk_token",
    "user_defined_symbols", "vocab_size", "word_start",
)  # fmt: skip
#: How unique pretokens grow with text, at the slowest: as this power of it.
_SLOWEST = 0.6


@dataclass(frozen=True)
class ModelOptions:
    """The model, how many tokens it has besides special ones, and what only a Unigram model is asked."""

    name: str = "bpe"
    least: int = 256
    threads: int | None = None
    unigram: UnigramOptions = field(default_factory=UnigramOptions)

    @property
    def is_of_bytes(self) -> bool:
        """Whether it is BPE of bytes."""
        return self.name == "bpe" and self.least == 256


@dataclass(frozen=True)
class Plan:
    """The checked arguments of one training, less how to count."""

    vocab_size: int
    special_tokens: tuple[str, ...]
    min_frequency: int
    max_token_length: int
    tie_break: TieBreak
    pad_vocab_to: int
    max_memory: int | None
    sample: float
    model: ModelOptions

    @property
    def merge_limit(self) -> int:
        """How many merges fit."""
        return self.vocab_size - 256 - len(self.special_tokens)


def _check_model(model: object) -> None:
    if model not in get_args(ModelName):
        raise ValueError(f"model is {model!r}; expected 'bpe', 'wordpiece' or 'unigram'")


def model_options(model: str, words: WordPlan | None, threads: int | None, unigram: UnigramOptions) -> ModelOptions:
    """Return what is trained where words are not."""
    unknown = [name for name in unigram if name not in UnigramOptions.__annotations__]
    if unknown:
        near = get_close_matches(unknown[0], _OPTIONS, n=1)
        hint = f"; did you mean {near[0]!r}?" if near else ""
        raise TypeError(f"unexpected argument {unknown[0]!r}{hint}")
    _check_model(model)
    if model != "unigram" and unigram:
        raise ValueError(f'{", ".join(unigram)} given; expected with model="unigram" alone')
    return ModelOptions(model, 256 if words is None and model == "bpe" else 1, threads, unigram)


def plan_of(
    vocab_size: int,
    special_tokens: Sequence[str],
    min_frequency: int,
    max_token_length: int | None,
    tie_break: TieBreak | None,
    pad_vocab_to: int,
    max_memory: int | str | None,
    sample: float,
    model: ModelOptions = ModelOptions(),
) -> Plan:
    """Check arguments before anything is read."""
    count = len(checked_specials(special_tokens))
    for name, value, lowest in (
        ("vocab_size", vocab_size, model.least + count),
        ("min_frequency", min_frequency, 0),
        ("max_token_length", NO_LIMIT if max_token_length is None else max_token_length, 1),
        ("pad_vocab_to", pad_vocab_to, 1),
    ):
        if isinstance(value, bool) or not isinstance(value, int | np.integer):
            raise TypeError(f"{name} must be an int, not {type(value).__name__}")
        if value < lowest:
            counted = name == "vocab_size" and model.is_of_bytes
            detail = f", the 256 bytes and {count} special tokens" if counted else ""
            raise ValueError(f"{name} is {value}; expected at least {lowest}{detail}")
    if vocab_size > MAX_ID + 1:
        raise ValueError(f"vocab_size is {vocab_size}; expected at most {MAX_ID + 1}")
    if model.name == "unigram" and (min_frequency != 1 or tie_break not in (None, "ids")):
        raise ValueError(f'min_frequency and tie_break are for model="bpe", not {model.name!r}')
    check_special_texts(special_tokens, model)
    if model.name == "unigram":
        check_unigram(vocab_size, special_tokens, **model.unigram)
    # that of words is in their plan
    ties = tie_break if tie_break is not None and model.is_of_bytes else "ids"
    if ties not in TIE_RULES:
        hint = " ('strings' is for alphabet='chars')" if ties == "strings" else ""
        raise ValueError(f"tie_break is {ties!r}; expected one of {', '.join(map(repr, TIE_RULES))}{hint}")
    longest = NO_LIMIT if max_token_length is None else min(max_token_length, NO_LIMIT)
    memory = None if max_memory is None else parse_bytes(max_memory)
    return Plan(
        int(vocab_size), tuple(special_tokens), int(min_frequency), int(longest), ties, int(pad_vocab_to), memory,
        sample, model,
    )  # fmt: skip


def check_special_texts(special_tokens: Sequence[str], model: ModelOptions) -> None:
    """Refuse special tokens that no file could tell from ordinary ones.  Raises `ValueError` naming the token."""
    for text in special_tokens if isinstance(special_tokens, list | tuple) else ():
        if not isinstance(text, str):
            continue  # the options of counting name it
        if any(0xD800 <= ord(char) <= 0xDFFF for char in text):
            problem = "holds half a surrogate pair; expected Unicode text"
        elif model.is_of_bytes and _reads_as_bytes(text):
            problem = f"is how files write {alphabet_to_bytes(text)!r}; expected a longer text, such as '<|a|>'"
        elif model.name == "unigram" and (text == BLANK or text in BYTE_KEYS):
            problem = "is how files write a blank or a byte; expected another text, such as '<|a|>'"
        else:
            continue
        raise ValueError(f"special_tokens: {text!r} {problem}")


def _reads_as_bytes(text: str) -> bool:
    """Whether files write this text for bytes that may become a token."""
    try:
        data = alphabet_to_bytes(text)
        return len(data) == 1 or (not text.isascii() and bool(data.decode("utf-8")))
    except ValueError:
        return False


def words_of(
    model: str, alphabet: str | None, vocab_size: int, *, unused: tuple[bool, ...], **options: Any
) -> WordPlan | None:
    """Return the plan of a training on words of characters; `None` for BPE of bytes."""
    _check_model(model)
    checked_specials(options["special_tokens"])
    if alphabet not in (None, "bytes", "chars"):
        raise ValueError(f"alphabet is {alphabet!r}; expected 'bytes' or 'chars'")
    if model == "wordpiece" and alphabet == "bytes":
        raise ValueError("alphabet is 'bytes'; WordPiece is of characters")
    if model == "unigram" and alphabet is not None:
        raise ValueError(f"alphabet is {alphabet!r}; a Unigram model is of characters")
    if model == "unigram" or (model == "bpe" and alphabet != "chars"):
        named = ("end_of_word", "word_start", "lowercase", "unk_token", "score", "max_alphabet")
        wrong = next((name for name in named if options[name] is not None), None)
        if wrong is not None:
            raise ValueError(f"{wrong} is given; expected it with alphabet='chars' or model='wordpiece' alone")
        return None
    for fits, name in zip(unused, ("max_token_length", "pad_vocab_to"), strict=True):
        if not fits:
            raise ValueError(f"{name} is given; expected it with BPE of bytes alone")
    return word_plan(model, vocab_size, **options)


def check_memory(plan: Plan, pretokens: int, pretoken_bytes: int, *, held: int = 0) -> None:
    """Refuse to merge what does not fit; `held` bytes of what it needs are there already."""
    if plan.max_memory is None or plan.model.name != "bpe":
        return
    # the table itself stays, at up to 56 bytes a pretoken besides its own
    need = merge_memory(pretoken_bytes, pretokens, plan.merge_limit) + pretoken_bytes + 56 * pretokens
    base, limit = resident_bytes() - held, limit_of(plan.max_memory)
    if base + need <= limit.size:
        return
    share = plan.sample * max((limit.size - base) / need, 0.0) ** (1 / _SLOWEST)
    fits = f"sample={float(f'{share:.1g}') if share < 1 else 1} should fit, or " if share > 1e-6 else ""
    enough = shown(1.05 * (base + need)).replace(" ", "")
    way_out = f"max_memory='{enough}'" if limit.name == "max_memory" else f"a limit of {enough}"
    raise MemoryLimitError(
        f"merging {pretokens:,} unique pretokens of {shown(pretoken_bytes)} needs about {shown(base + need)}, and "
        f"{limit}; {fits}{way_out}"
    )
