"""Truncation and padding of encodings, as `tokenizers` defines them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from ...spec.rules import RowPadding, RowSide, RowTruncation, TruncationStrategy
from .encoding import Encoding
from .texts import HfTexts

#: The strategies and their names in files.
STRATEGIES: dict[str, TruncationStrategy] = {
    "longest_first": "LongestFirst", "only_first": "OnlyFirst", "only_second": "OnlySecond"
}  # fmt: skip
_NAMES = {value: name for name, value in STRATEGIES.items()}


class Truncation(NamedTuple):
    """The options of `enable_truncation`."""

    max_length: int
    stride: int = 0
    strategy: str = "longest_first"
    direction: RowSide = "right"

    @classmethod
    def of(cls, rule: RowTruncation | None) -> Truncation | None:
        """Return the options of a spec."""
        return None if rule is None else cls(rule.max_length, rule.stride, _NAMES[rule.strategy], rule.side)

    def rule(self) -> RowTruncation:
        """Return the options for a spec."""
        return RowTruncation(self.max_length, self.direction, STRATEGIES[self.strategy], self.stride)


class Padding(NamedTuple):
    """The options of `enable_padding`."""

    length: int | None = None
    pad_to_multiple_of: int | None = None
    pad_id: int = 0
    pad_token: str = "[PAD]"
    pad_type_id: int = 0
    direction: RowSide = "right"

    @classmethod
    def of(cls, rule: RowPadding | None) -> Padding | None:
        """Return the options of a spec."""
        if rule is None:
            return None
        multiple = rule.multiple if rule.multiple > 1 else None
        return cls(rule.length or None, multiple, rule.pad_id, rule.pad_token, rule.pad_type_id, rule.side)

    def written(self) -> dict[str, Any]:
        """Return the `padding` of a tokenizer.json."""
        return {
            "strategy": "BatchLongest" if self.length is None else {"Fixed": self.length},
            "direction": self.direction.capitalize(),
            "pad_to_multiple_of": self.pad_to_multiple_of,
            "pad_id": self.pad_id,
            "pad_type_id": self.pad_type_id,
            "pad_token": self.pad_token,
        }


def row(hf_texts: HfTexts, texts: Sequence[Encoding], adds: bool, rules: Truncation | None) -> Encoding:
    """Return texts in a row by the template, truncated.

    Of a pair, each overflowing row has a window of both texts; those with the first window of the first text are last.
    """
    if rules is None:
        return hf_texts.joined(texts, adds)
    split = _split(texts, rules, hf_texts.added_count(len(texts) > 1) if adds else 0)
    if len(split) == 1:
        pairs: list[Sequence[Encoding]] = [(one,) for one in split[0]]
    else:
        (first, *firsts), others = split
        pairs = [(first, others[0]), *((one, other) for one in firsts for other in others)]
        pairs += [(first, other) for other in others[1:]]
    kept = [windows[0] for windows in split]
    main, *main_overflow = [hf_texts.joined(pair, adds, kept) for pair in pairs]
    main.overflowing = main_overflow
    return main


def _split(texts: Sequence[Encoding], rules: Truncation, added: int) -> list[list[Encoding]]:
    """Return the windows of each text; the first ones fit in a row together."""
    limit = rules.max_length - added
    lengths = [len(text) for text in texts]
    excess = sum(lengths) - limit
    if excess <= 0 or limit < 0:  # `tokenizers` truncates nothing where the template alone is longer
        return [[text] for text in texts]
    if limit == 0:
        lengths = [0] * len(texts)
    elif rules.strategy == "longest_first":
        lengths = [limit] if len(texts) == 1 else _shared(lengths[0], lengths[1], limit)
    else:
        number = int(rules.strategy == "only_second")
        if number >= len(texts):
            raise ValueError("Truncation error: Second sequence not provided")
        if lengths[number] <= excess:
            problem = "Sequence to truncate too short to respect the provided max_length"
            raise ValueError(f"Truncation error: {problem}")
        lengths[number] -= excess
    return [text.split(length, rules.stride, rules.direction) for text, length in zip(texts, lengths, strict=True)]


def _shared(first: int, second: int, limit: int) -> list[int]:
    """Return the lengths of two texts that share a row: the longer one loses ids until both are equal."""
    short, long = min(first, second), max(first, second)
    long = short if short > limit else max(short, limit - short)
    if short + long > limit:
        short = limit // 2
        long = short + limit % 2
    return [long, short] if first > second else [short, long]


def pad_rows(rows: list[Encoding], rules: Padding | None) -> list[Encoding]:
    """Pad rows to one length, and return them."""
    if rules is not None and rows:
        length = max(map(len, rows)) if rules.length is None else rules.length
        length += -length % (rules.pad_to_multiple_of or 1)
        for each in rows:
            each.filled(length, rules.direction, rules.pad_id, rules.pad_type_id, rules.pad_token)
    return rows
