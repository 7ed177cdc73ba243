"""The defaults of a tokenizer for batches whose rows have equal length: truncation and padding."""

from __future__ import annotations

from typing import Literal, TypeAlias

from ..records import dataclass

#: The side at which a row is truncated or padded.
RowSide: TypeAlias = Literal["left", "right"]
#: The text of a pair that is truncated, with HF's names.
TruncationStrategy: TypeAlias = Literal["LongestFirst", "OnlyFirst", "OnlySecond"]


@dataclass(frozen=True)
class RowTruncation:
    """Rows have at most `max_length` ids, with those of the template; more are removed at `side`.

    `strategy` is for pairs and `stride` for overlapping windows of one text, which HF's `tokenizers` makes.
    """

    max_length: int
    side: RowSide = "right"
    strategy: TruncationStrategy = "LongestFirst"
    stride: int = 0


@dataclass(frozen=True)
class RowPadding:
    """Rows are padded at `side` to the longest one, to at least `length` ids, and to a multiple of `multiple`.

    `pad_token` is the text that belongs to `pad_id`; the vocabulary need not have it.  `pad_type_id` is the type id of
    padding.
    """

    pad_id: int = 0
    pad_token: str = "[PAD]"
    pad_type_id: int = 0
    side: RowSide = "right"
    length: int = 0
    multiple: int = 1
