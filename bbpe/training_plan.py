"""What a training is asked, checked before anything is read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from .budget import parse_bytes, resident_bytes, shown
from .core.train import TIE_RULES, merge_memory
from .errors import MemoryLimitError
from .settings import checked_specials
from .spec import MAX_ID
from .unigram_training import UnigramOptions
from .word_training import WordPlan, word_plan

TieBreak: TypeAlias = Literal["ids", "bytes", "first"]
#: What a tokenizer can be trained as.
ModelName: TypeAlias = Literal["bpe", "wordpiece", "unigram"]

NO_LIMIT = 2**32 - 1
#: How unique pretokens grow with text, at the slowest: as this power of it.
_SLOWEST = 0.6


@dataclass(frozen=True)
class ModelOptions:
    """The model, how many tokens it has besides special ones, and what only a Unigram model is asked."""

    name: str = "bpe"
    least: int = 256
    threads: int | None = None
    unigram: UnigramOptions = field(default_factory=UnigramOptions)


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


def model_options(model: str, words: WordPlan | None, threads: int | None, unigram: UnigramOptions) -> ModelOptions:
    """Return what is trained where words are not."""
    unknown = [name for name in unigram if name not in UnigramOptions.__annotations__]
    if unknown:
        raise TypeError(f"unexpected argument {unknown[0]!r}")
    if model != "unigram" and unigram:
        raise ValueError(f'{", ".join(unigram)} given; expected with model="unigram" alone')
    if model not in ("bpe", "unigram", "wordpiece"):
        raise ValueError(f"model is {model!r}; expected 'bpe', 'wordpiece' or 'unigram'")
    return ModelOptions(model, 256 if words is None and model == "bpe" else 1, threads, unigram)


def plan_of(
    vocab_size: int,
    special_tokens: Sequence[str],
    min_frequency: int,
    max_token_length: int | None,
    tie_break: TieBreak,
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
        if isinstance(value, bool) or not isinstance(value, int):
            raise TypeError(f"{name} must be an int, not {type(value).__name__}")
        if value < lowest:
            counted = name == "vocab_size" and model.least == 256
            detail = f", the 256 bytes and {count} special tokens" if counted else ""
            raise ValueError(f"{name} is {value}; expected at least {lowest}{detail}")
    if vocab_size > MAX_ID + 1:
        raise ValueError(f"vocab_size is {vocab_size}; expected at most {MAX_ID + 1}")
    if model.name == "unigram" and (min_frequency != 1 or tie_break != "ids"):
        raise ValueError(f'min_frequency and tie_break are for model="bpe", not {model.name!r}')
    if tie_break not in TIE_RULES:
        raise ValueError(f"tie_break is {tie_break!r}; expected one of {', '.join(map(repr, TIE_RULES))}")
    longest = NO_LIMIT if max_token_length is None else min(max_token_length, NO_LIMIT)
    memory = None if max_memory is None else parse_bytes(max_memory)
    return Plan(
        vocab_size, tuple(special_tokens), min_frequency, longest, tie_break, pad_vocab_to, memory, sample, model
    )


def words_of(
    model: str, alphabet: str | None, vocab_size: int, *, unused: tuple[bool, ...], **options: Any
) -> WordPlan | None:
    """Return the plan of a training on words of characters; `None` for BPE of bytes."""
    checked_specials(options["special_tokens"])
    if alphabet not in (None, "bytes", "chars"):
        raise ValueError(f"alphabet is {alphabet!r}; expected 'bytes' or 'chars'")
    if model == "wordpiece" and alphabet == "bytes":
        raise ValueError("alphabet is 'bytes'; WordPiece is of characters")
    if model == "unigram" and alphabet is not None:
        raise ValueError(f"alphabet is {alphabet!r}; a Unigram model is of characters")
    if model == "unigram" or (model == "bpe" and alphabet != "chars"):
        named = ("end_of_word", "lowercase", "unk_token", "score", "max_alphabet")
        wrong = next((name for name in named if options[name] is not None), None)
        if wrong is not None:
            raise ValueError(f"{wrong} is given; expected it with alphabet='chars' or model='wordpiece' alone")
        return None
    for fits, name in zip(unused, ("max_token_length", "tie_break", "pad_vocab_to"), strict=True):
        if not fits:
            raise ValueError(f"{name} is given; expected it with BPE of bytes alone")
    return word_plan(model, vocab_size, **options)


def check_memory(plan: Plan, pretokens: int, pretoken_bytes: int, *, held: int = 0) -> None:
    """Refuse to merge what does not fit; `held` bytes of what it needs are there already."""
    if plan.max_memory is None or plan.model.name != "bpe":
        return
    # the table itself stays, at up to 56 bytes a pretoken besides its own
    need = merge_memory(pretoken_bytes, pretokens, plan.merge_limit) + pretoken_bytes + 56 * pretokens
    base = resident_bytes() - held
    if base + need <= plan.max_memory:
        return
    room = plan.max_memory - base
    share = plan.sample * max(room / need, 0.0) ** (1 / _SLOWEST)
    fits = f"sample={float(f'{share:.1g}') if share < 1 else 1} should fit, or " if share > 1e-6 else ""
    raise MemoryLimitError(
        f"merging {pretokens:,} unique pretokens of {shown(pretoken_bytes)} needs about {shown(base + need)}, and "
        f"max_memory is {shown(plan.max_memory)}; {fits}max_memory='{shown(1.05 * (base + need)).replace(' ', '')}'"
    )
