"""Rows of ids: templates around texts and pairs of texts, truncation, padding."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias, get_args

from ..core.column import Column
from ..core.id_source import as_int
from ..core.row_writer import RowWriter, TextIds, texts_of_pairs
from ..lazy import np, npt
from ..pipeline.special_tokens import Matcher
from ..records import choice, flag
from ..spec.rules import NO_TEMPLATE, RowPadding, RowTruncation
from ..spec.spec import TokenizerSpec
from ..text import Text
from ..types import Padded, Ragged
from .engine import TextEncoder, id_dtype, id_dtypes
from .limits import Side, as_batch, check_side, checked_limit

if TYPE_CHECKING:
    from ..core.column import Texts

#: An item of a batch: a text, or a pair of texts.
Item: TypeAlias = "Text | tuple[Text, Text]"
Strategy: TypeAlias = Literal["longest_first", "only_first", "only_second"]
#: The text of a pair that is truncated; True is "longest_first".
Truncation: TypeAlias = Strategy | Literal[True]
#: The length to which rows are padded; True is "longest".
PaddingLength: TypeAlias = Literal["longest", "max_length", True]

Ids: TypeAlias = "npt.NDArray[np.uint32]"
Offsets: TypeAlias = "npt.NDArray[np.int64]"
Sizes: TypeAlias = "npt.NDArray[np.uint8]"

_TRUNCATIONS, _LENGTHS = get_args(Strategy), ("longest", "max_length")
_STRATEGIES: dict[str, Strategy] = {
    "LongestFirst": "longest_first", "OnlyFirst": "only_first", "OnlySecond": "only_second"
}  # fmt: skip
_NO_TRUNCATION = RowTruncation(0)  # its length is not used
_MOST_RULES = 256  # that are remembered
_MOST_TYPE = 255  # type ids are uint8


class RowRules(NamedTuple):
    """The options of rows: truncation to `limit` ids, padding to a multiple and to at least `length` ids."""

    limit: int | None
    strategy: Strategy
    cut_side: Side
    stride: int | None
    pad_id: int
    pad_type_id: int
    side: Side
    length: int
    multiple: int
    dtype: np.dtype[Any]


def checked_rules(
    vocab_size: int, cut: RowTruncation | None, pads: RowPadding | None, max_length: int | None, pad_id: int,
    side: Side | None, multiple: int | None, truncation: Truncation | None, truncation_side: Side | None,
    stride: int | None, padding: PaddingLength | None, dtype: npt.DTypeLike,
) -> RowRules:  # fmt: skip
    """Return options that are checked; those of a file, `cut` and `pads`, replace `None`."""
    if max_length is None and cut is not None:
        max_length = cut.max_length
    cut, pads = cut or _NO_TRUNCATION, pads or RowPadding()
    given = {"truncation": truncation, "truncation_side": truncation_side, "stride": stride}
    # True stands for the same values as in transformers
    truncation = "longest_first" if truncation is True else truncation
    padding = "longest" if padding is True else padding
    truncation = _STRATEGIES[cut.strategy] if truncation is None else truncation
    cut_side: Side = cut.side if truncation_side is None else truncation_side
    pad_side: Side = pads.side if side is None else side
    multiple = pads.multiple if multiple is None else multiple
    least = pads.length if padding is None else 0
    padding = "longest" if padding is None else padding
    check_side(pad_side)
    check_side(cut_side, "truncation_side")
    choice("truncation", truncation, _TRUNCATIONS, "True")
    choice("padding", padding, _LENGTHS, "True")
    multiple = 1 + checked_limit(multiple, "pad_to_multiple_of", 1)
    try:
        pad = as_int(pad_id)
    except TypeError:
        raise TypeError(f"pad_id must be an int, not {type(pad_id).__name__}") from None
    chosen = id_dtype(dtype, vocab_size)
    if not 0 <= pad <= id_dtypes()[chosen]:
        raise ValueError(f"pad_id is {pad}; expected 0 to {id_dtypes()[chosen]}")
    limit = None if max_length is None else checked_limit(max_length, "max_length")
    if padding == "max_length" and limit is None:
        raise ValueError("padding is 'max_length', but max_length is None; expected a number of ids")
    if stride is not None:
        stride = checked_limit(stride, "stride")
    for name, value in given.items():
        if value is not None and limit is None:
            raise ValueError(f"{name} is {value!r}, but max_length is None; expected a number of ids")
    length = limit or 0 if padding == "max_length" else least
    return RowRules(limit, truncation, cut_side, stride, pad, pads.pad_type_id, pad_side, length, multiple, chosen)


class RowEncoder:
    """Encodes batches of texts and pairs of texts by an encoder, and writes rows by the template of a spec."""

    def __init__(self, encoder: TextEncoder, spec: TokenizerSpec) -> None:
        self._encoder, self._template = encoder, spec.template or NO_TEMPLATE
        template = self._template
        self._has_added = len(template.single) > 1
        self._pair = template.pair or NO_TEMPLATE.pair
        self._writer = RowWriter(template.single, self._pair, spec.vocab_size)
        self._checked_rules = partial(checked_rules, spec.vocab_size, spec.truncation, spec.padding)
        self._known_rules = lru_cache(_MOST_RULES, typed=True)(self._checked_rules)
        self._is_plain = encoder.plain is not None

    def rules(self, *options: Any) -> RowRules:
        """Return the options of `padded`; raises `ValueError` or `TypeError` naming a wrong one."""
        try:
            return self._known_rules(*options)
        except TypeError:  # from an option that has no hash, too
            return self._checked_rules(*options)

    def _check_pairs(self, adds: bool) -> None:
        if flag("add_special_tokens", adds):
            self._template.check_has_pair()

    def joined(self, first: list[int], second: list[int], adds: bool) -> list[int]:
        """Return the ids of two texts in one row, with those of the template if `adds` is true."""
        self._check_pairs(adds)
        row: list[int] = []
        for item, _ in self._pair:
            if isinstance(item, str):
                row += first if item == "A" else second
            elif adds:
                row.append(item)
        return row

    def _check_limit(self, limit: int, stride: int | None, adds: bool, has_pairs: bool) -> None:
        if adds:
            checked_limit(limit, "max_length", self._writer.added(has_pairs))
        room = limit - self._writer.added(False) if adds else limit
        if stride is not None and stride >= room:
            raise ValueError(f"stride is {stride}; expected less than {room}, the ids of a text that fit in a row")

    def _divided(self, items: Iterable[Item], adds: bool) -> tuple[Texts, Sizes | None]:
        """Return the texts of items, and how many each item has, uint8[n], or `None` if there are no pairs."""
        listed: Any = as_batch(items)
        flag("add_special_tokens", adds)
        pairs = None if isinstance(listed, Column) else texts_of_pairs(listed)
        if pairs is None:
            return listed, None
        self._check_pairs(adds)
        return pairs

    def _ids(self, texts: Texts, matcher: Matcher | None, threads: int | None) -> TextIds:
        """Return the ids of texts."""
        if matcher is None and self._is_plain:
            found = TextIds.encoded(self._encoder.encoder, texts)
            if found is not None:
                return found
        rows = self._encoder.rows(texts, matcher, threads)
        return TextIds.of(rows.ids, rows.offsets)

    def lists(self, items: Iterable[Item], matcher: Matcher | None, threads: int | None, adds: bool) -> list[list[int]]:
        """Return the ids of each item as a list, with those of the template if `adds` is true."""
        texts, sizes = self._divided(items, adds)
        if sizes is None and not (adds and self._has_added):
            return self._encoder.lists(texts, matcher, threads)
        return self._writer.lists(self._ids(texts, matcher, threads), sizes, adds)

    def ragged(self, items: Iterable[Item], matcher: Matcher | None, threads: int | None, adds: bool) -> Ragged:
        """Return the ids of each item in one array, with those of the template if `adds` is true."""
        texts, sizes = self._divided(items, adds)
        if sizes is None and not (adds and self._has_added):
            few = TextIds.encoded(self._encoder.encoder, texts) if matcher is None and self._is_plain else None
            return self._encoder.rows(texts, matcher, threads) if few is None else Ragged(*few.arrays())
        return Ragged(*self._writer.join(self._ids(texts, matcher, threads), sizes, adds))

    def padded(
        self, items: Iterable[Item], matcher: Matcher | None, threads: int | None, adds: bool, rules: RowRules
    ) -> Padded:
        """Return the ids of each item in rows of one length."""
        flag("add_special_tokens", adds)
        # few texts, none of them a pair: most calls
        listed: Any = items if type(items) is list and matcher is None and self._is_plain else None
        ids, sizes = None if listed is None else TextIds.encoded(self._encoder.encoder, listed), None
        if ids is None:
            texts, sizes = self._divided(items, adds)
            ids = self._ids(texts, matcher, threads)
        if rules.limit is not None:
            self._check_limit(rules.limit, rules.stride, adds, sizes is not None)
        if self._writer.highest_type > _MOST_TYPE:
            raise ValueError(f"the template has type id {self._writer.highest_type}; expected at most {_MOST_TYPE}")
        return Padded(*self._writer.padded(ids, sizes, adds, rules))
