"""The batches of an accelerated tokenizer, as `transformers` returns them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from ...core.column import Column
from ...lazy import np, safe_import
from ...types import Padded
from ..columns import listed, opened
from ..tokenizers.encoding import Encoding
from ..tokenizers.row_options import Padding, pad_rows, row
from ..tokenizers.texts import HfTexts
from .backend import Backend
from .call_options import Options

#: Options of a call that the quick way does not have, and their usual values.
_USUAL: Mapping[str, Any] = {
    "stride": 0, "is_split_into_words": False, "return_overflowing_tokens": False, "return_special_tokens_mask": False,
    "return_offsets_mapping": False, "return_length": False,
}  # fmt: skip
_KNOWN = frozenset({
    *_USUAL, "add_special_tokens", "padding_strategy", "truncation_strategy", "max_length", "pad_to_multiple_of",
    "padding_side", "return_tensors", "return_token_type_ids", "return_attention_mask", "verbose",
    "split_special_tokens",
})  # fmt: skip


def one_call(owner: Any) -> AbstractContextManager[None]:
    """Return what keeps the options that `transformers` sets to one call."""
    backend = owner._tokenizer
    return backend.chosen.call() if type(backend) is Backend else nullcontext()


def encoded_plus(owner: Any, text: Any, text_pair: Any = None, *more: Any, **options: Any) -> Any:
    """Return what `_encode_plus` of `transformers` returns for a text, a pair, or lists of them."""
    text, text_pair = opened_pair(text, text_pair)
    is_batched = isinstance(text, list | tuple | Column)
    items: list[Any] | Column
    if not is_batched:
        items = [text] if not text_pair else [(text, text_pair)]
    elif text_pair is None:
        items = text if isinstance(text, Column) else list(text)
    else:
        is_matched = isinstance(text_pair, list | tuple) and len(text) == len(text_pair)
        items = list(zip(text, text_pair, strict=True)) if is_matched else []
    found = batch_of(owner, items, options) if items and not more else None
    if found is None:
        return owner._bbpe_kind._encode_plus(owner, listed(text), text_pair, *more, **options)
    if is_batched or options.get("return_tensors") is not None:
        return found
    first = {key: value[0] for key, value in found.items()}
    return type(found)(first, found.encodings, n_sequences=found.n_sequences)


def opened_pair(text: Any, text_pair: Any) -> tuple[Any, Any]:
    """Return texts and their pairs; a column of Arrow is opened if it has none, and a list of strings otherwise."""
    return (opened(text), None) if text_pair is None else (listed(text), listed(text_pair))


def batch_of(owner: Any, items: list[Any] | Column, options: dict[str, Any]) -> Any:
    """Return the rows of texts or pairs of texts as `transformers` does; `None` if it must make them itself."""
    backend = owner._tokenizer
    if type(backend) is not Backend or not _is_usual(items, options):
        return None
    is_pair = type(items[0]) is tuple
    plain = options.get("split_special_tokens")
    backend.encode_special_tokens = owner.split_special_tokens if plain is None else plain
    hf_texts = backend.ready()
    if hf_texts is None:
        return None
    owner.set_truncation_and_padding(
        padding_strategy=options["padding_strategy"], truncation_strategy=options["truncation_strategy"],
        max_length=options.get("max_length"), stride=0, pad_to_multiple_of=options.get("pad_to_multiple_of"),
        padding_side=options.get("padding_side"),
    )  # fmt: skip
    wants_types = _wanted(owner, options, "token_type_ids")
    adds = options.get("add_special_tokens", True)
    rows: Any = BatchRows(hf_texts, backend.chosen.options, items, adds)
    data = rows.arrays(wants_types, options.get("return_tensors") is not None)
    if data is None:
        return None
    if rows.longest > owner.model_max_length:
        ids = range(rows.longest)  # the message has their number only
        owner._eventual_warn_about_too_long_sequence(ids, options.get("max_length"), options.get("verbose", True))
    if not _wanted(owner, options, "attention_mask"):
        del data["attention_mask"]
    safe_import("transformers", "BatchEncoding")
    from transformers import BatchEncoding

    return BatchEncoding(data, rows, tensor_type=options.get("return_tensors"), n_sequences=1 + is_pair)


def _is_usual(items: list[Any] | Column, options: dict[str, Any]) -> bool:
    """Return whether a call has texts or pairs of texts, and only options of the quick way."""
    if any(options[name] is not None and options[name] != _USUAL.get(name, options[name]) for name in options):
        return False
    if any(options[name] for name in options.keys() - _KNOWN):
        return False
    if not {"padding_strategy", "truncation_strategy"} <= options.keys():
        return False
    if isinstance(items, Column):
        return True
    if type(items[0]) is not tuple:
        return all(type(item) is str for item in items)
    return all(type(item) is tuple and len(item) == 2 and type(item[0]) is type(item[1]) is str for item in items)


def _wanted(owner: Any, options: dict[str, Any], name: str) -> bool:
    wanted = options.get(f"return_{name}")
    return name in owner.model_input_names if wanted is None else bool(wanted)


class BatchRows(Sequence[Encoding]):
    """The encodings of a batch, which are made when one is asked for."""

    def __init__(self, hf_texts: HfTexts, options: Options, items: list[Any] | Column, adds: bool) -> None:
        self._hf_texts, self._items, self._adds = hf_texts, items, adds
        self._truncation, self._padding, self._is_plain = options
        self._made: list[Encoding] | None = None
        #: The number of ids of the longest row.
        self.longest = 0

    def arrays(self, wants_types: bool, as_arrays: bool) -> dict[str, Any] | None:
        """Return the ids, types and mask; `None` if the quick way does not have the options."""
        cut, pads = self._truncation, self._padding
        tokenizer, is_pair = self._hf_texts.tokenizer, type(self._items[0]) is tuple
        allowed: Any = () if self._is_plain else "all"
        template = self._hf_texts.template
        if self._is_plain and self._hf_texts.spec.modelled:  # the model makes special tokens itself, as in `tokenizers`
            return None
        if is_pair and self._adds and not template.pair:
            return None
        if cut is not None and self._adds and cut.max_length < self._hf_texts.added_count(is_pair):
            return None
        types = {type_id for _, type_id in (template.pair if is_pair else template.single)}
        if pads is None and cut is None and not (wants_types and types != {0}):
            ids = tokenizer.encode_batch(self._items, allowed_special=allowed, add_special_tokens=self._adds)
            lengths = list(map(len, ids))
            self.longest = max(lengths)
            data: dict[str, Any] = {"input_ids": ids}
            if wants_types:
                data["token_type_ids"] = [[0] * length for length in lengths]
            return {**data, "attention_mask": [[1] * length for length in lengths]}
        found = self._padded(allowed)
        if found is None:
            return None
        lengths = found.lengths.tolist()
        self.longest = max(lengths)
        data = {"input_ids": found.ids}
        if wants_types:
            data["token_type_ids"] = found.type_ids.astype(np.int64)
        data["attention_mask"] = found.mask.astype(np.int64)
        if pads is None:
            return {name: [line[:length].tolist() for line, length in zip(value, lengths, strict=True)]
                    for name, value in data.items()}  # fmt: skip
        return data if as_arrays else {name: value.tolist() for name, value in data.items()}

    def _padded(self, allowed: Any) -> Padded | None:
        cut, pads = self._truncation, self._padding or Padding()
        is_fixed = pads.length is not None
        if pads.pad_type_id or (is_fixed and (cut is None or pads.length != cut.max_length)):
            return None
        try:
            return self._hf_texts.tokenizer.encode_padded(
                self._items,
                None if cut is None else cut.max_length,
                pads.pad_id,
                pads.direction,
                pads.pad_to_multiple_of,
                truncation=None if cut is None else cut.strategy,  # type: ignore[arg-type]
                truncation_side=None if cut is None else cut.direction,
                padding="max_length" if is_fixed else "longest",
                dtype="int64",
                allowed_special=allowed,
                add_special_tokens=self._adds,
            )
        except ValueError:  # the view raises the error of `tokenizers`
            return None

    def _rows(self) -> list[Encoding]:
        if self._made is None:
            hf_texts, matcher = self._hf_texts, self._hf_texts.matcher(self._is_plain)
            pairs = [item if type(item) is tuple else (item,) for item in listed(self._items)]
            rows = [
                row(hf_texts, [hf_texts.encoded(text, matcher) for text in texts], self._adds, self._truncation)
                for texts in pairs
            ]
            self._made = pad_rows(rows, self._padding)
        return self._made

    def texts(self) -> list[Any]:
        """Return the texts, or pairs of texts."""
        return list(listed(self._items))

    def __getitem__(self, number: Any) -> Any:
        return self._rows()[number]

    def __len__(self) -> int:
        return len(self._items)

    def __iter__(self) -> Iterator[Encoding]:
        return iter(self._rows())

    def __reduce__(self) -> tuple[Any, ...]:
        return list, (self._rows(),)
