"""Put the engine of bbpe under a tokenizer of `transformers`, which keeps its class, its settings and its files."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from copy import deepcopy
from functools import cache
from typing import Any

from ...core.column import Column
from ...errors import AccelerationError
from ...lazy import np, safe_import
from ...tokenizer import Tokenizer as _Tokenizer
from ...types import Padded
from ..columns import listed, opened
from ..tokenizers.encoding import Encoding
from ..tokenizers.row_options import Padding, pad_rows, row
from ..tokenizers.texts import HfTexts
from .backend import Backend
from .call_options import Options
from .chat_masks import masked_chat

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


#: The options of a call without any, and of one that reads special tokens as plain text.
_NONE, _PLAIN = Options(), Options(is_plain=True)


def accelerate(tokenizer: Any, *, accept_other_offsets: bool = False) -> Any:
    """Put the engine of bbpe under a tokenizer of `transformers`.

    The object stays the same, with its class, chat template, padding, special tokens and files; its methods encode and
    decode by our engine, `tokenizer._tokenizer` too.  Before, ids, offsets, words and texts are compared on the whole
    vocabulary and on texts of many kinds.  Tokens that are added later, and components that are changed, are followed;
    if that is not possible, an `AccelerationWarning` has the reason and HF's `tokenizers` takes over again.  Where a
    method takes a list of texts it takes a column of Arrow, too.

    Threads can share the result: each call has its own truncation, padding and `split_special_tokens`.

    Args:
        tokenizer: A `PreTrainedTokenizerFast`, as `AutoTokenizer.from_pretrained` returns it; or the path or name of
            one, which `AutoTokenizer` loads.
        accept_other_offsets: Whether offsets and numbers of words may differ from those of `tokenizers`, as they do
            where it drops characters without a token and then counts wrong.  Ids and texts are always the same.

    Returns:
        The same object, or the tokenizer that was loaded.

    Raises:
        AccelerationError: The tokenizer has a component that bbpe does not support, or gives other ids; the message has
            the reason.  The object is unchanged.
        OSError: `AutoTokenizer` finds no tokenizer of this path or name.
        TypeError: The object is not a `PreTrainedTokenizerFast`.

    Example:
        >>> tokenizer = bbpe.accelerate("Qwen/Qwen3-8B")  # doctest: +SKIP
        >>> tokenizer(["Hello", "world"], padding=True, return_tensors="np")  # doctest: +SKIP
        >>> bbpe.is_accelerated(tokenizer)  # doctest: +SKIP
        True
    """
    safe_import("transformers", "PreTrainedTokenizerFast", "AutoTokenizer")
    from transformers import AutoTokenizer, PreTrainedTokenizerFast

    if isinstance(tokenizer, str | os.PathLike):
        tokenizer = AutoTokenizer.from_pretrained(tokenizer)
    if not isinstance(tokenizer, PreTrainedTokenizerFast):
        raise TypeError(f"tokenizer is {_kind_of(tokenizer)}; expected a PreTrainedTokenizerFast or a path")
    inner = vars(tokenizer).get("_tokenizer")
    if isinstance(inner, Backend):
        return tokenizer
    safe_import("tokenizers")
    from tokenizers import Tokenizer

    if not isinstance(inner, Tokenizer):
        raise AccelerationError(f"its _tokenizer is a {type(inner).__name__}; expected a tokenizers.Tokenizer")
    vars(tokenizer)["_tokenizer"] = Backend(inner, accept_other_offsets)
    kind: Any = type(tokenizer)
    tokenizer.__class__ = _accelerated(kind, PreTrainedTokenizerFast)
    return tokenizer


def _kind_of(found: Any) -> str:
    """Return what was given instead of a tokenizer, and what to call for it."""
    name = f"a {type(found).__module__.split('.')[0]}.{type(found).__name__}"
    if isinstance(found, _Tokenizer):
        return f"{name}, which encodes by our engine already (as_huggingface() makes a tokenizer of transformers)"
    if type(found).__module__.startswith("tokenizers"):
        return f"{name} (PreTrainedTokenizerFast(tokenizer_object=...) makes a tokenizer of transformers)"
    return name


def is_accelerated(tokenizer: Any) -> bool:
    """Return whether the engine of bbpe encodes for a tokenizer of `transformers`.

    A tokenizer whose acceleration a later change has ended is not accelerated.

    Args:
        tokenizer: The tokenizer; anything else is not accelerated.

    Returns:
        Whether `accelerate` or `patch_transformers` has put our engine under it, and it is in use.

    Example:
        >>> bbpe.is_accelerated(bbpe.train_from_iterator(["a b"], vocab_size=256))
        False
    """
    backend = getattr(tokenizer, "_tokenizer", None)
    return isinstance(backend, Backend) and backend.ready(is_plain=False) is not None


@cache
def _accelerated(kind: Any, base: Any) -> Any:
    """Return a class with the name and the methods of another one, but for those that our engine does quicker.

    A method that `kind` itself defines is left as it is, and one that calls such a method too.
    """
    methods = vars(_Methods)
    is_own = {name for name in methods if getattr(kind, name, None) is not getattr(base, name, None)}
    batch = "_batch_encode_plus" if hasattr(base, "_batch_encode_plus") else "_encode_plus"
    wanted = {
        "encode": {"encode", batch, "_encode_plus"},
        batch: {batch},
        "_call_one": {"_call_one", batch},
        "apply_chat_template": {"apply_chat_template", batch},
        "decode": {"decode"},
        "batch_decode": {"decode", "batch_decode"},
    }
    body: dict[str, Any] = {
        name: methods[name] for name, needed in wanted.items() if not needed & is_own and hasattr(base, name)
    }
    body |= {name: methods[f"_own{name}"] for name in ("_encode_plus", "_batch_encode_plus") if name in is_own}
    body |= {name: methods[name] for name in ("__reduce__", "__deepcopy__")}
    body |= {name: getattr(kind, name) for name in ("__module__", "__qualname__", "__doc__")}
    body["_bbpe_kind"] = kind
    return type(kind.__name__, (kind,), body)


# -- methods of accelerated classes --------------------------------------------------------------------------


class _Methods:
    """The methods that accelerated classes get.

    Functions of a module, not closures: `datasets` and `dill` hash and pickle an accelerated class by its contents, and
    write a closure with all its globals, but such a function by its name.
    """

    _bbpe_kind: Any
    _tokenizer: Any

    def encode(
        self: Any, text: Any, text_pair: Any = None, add_special_tokens: bool = True, *more: Any, **options: Any
    ) -> Any:
        if type(text) is str and text_pair is None and not more and not options:
            backend = self._tokenizer
            if type(backend) is Backend:
                is_plain = self.split_special_tokens
                engine = backend.ready(is_plain)
                if engine is not None:
                    backend.chosen.after_call(_PLAIN if is_plain else _NONE)
                    ids = engine.ids(text, is_plain, add_special_tokens)
                    if len(ids) > self.model_max_length:
                        self._eventual_warn_about_too_long_sequence(ids, None, True)
                    return ids
        return self._bbpe_kind.encode(self, text, text_pair, add_special_tokens, *more, **options)

    def _encode_plus(self: Any, text: Any, text_pair: Any = None, *more: Any, **options: Any) -> Any:
        with _call(self):
            return _encoded_plus(self, text, text_pair, *more, **options)

    def _batch_encode_plus(self: Any, batch_text_or_text_pairs: Any, **options: Any) -> Any:
        items = opened(batch_text_or_text_pairs)
        if isinstance(items, list | tuple):
            items = list(items)
        with _call(self):
            found = _batch(self, items, options) if isinstance(items, list | Column) and items else None
            return self._bbpe_kind._batch_encode_plus(self, listed(items), **options) if found is None else found

    def _own_encode_plus(self: Any, *arguments: Any, **options: Any) -> Any:
        with _call(self):
            return self._bbpe_kind._encode_plus(self, *arguments, **options)

    def _own_batch_encode_plus(self: Any, *arguments: Any, **options: Any) -> Any:
        with _call(self):
            return self._bbpe_kind._batch_encode_plus(self, *arguments, **options)

    def apply_chat_template(self: Any, *arguments: Any, **options: Any) -> Any:
        if options.get("return_assistant_tokens_mask"):
            found = masked_chat(self, self._bbpe_kind, _Rows, arguments, options)
            if found is not None:
                return found
        return self._bbpe_kind.apply_chat_template(self, *arguments, **options)

    def _call_one(self: Any, text: Any, text_pair: Any = None, **options: Any) -> Any:
        """Let a column of Arrow through, which the check of types in transformers 4 refuses."""
        text, text_pair = _opened(text, text_pair)
        if isinstance(text, Column):
            return self.batch_encode_plus(text, **options)
        return self._bbpe_kind._call_one(self, text, text_pair, **options)

    def decode(self: Any, token_ids: Any, skip_special_tokens: bool = False, *more: Any, **options: Any) -> Any:
        if not more:
            if type(token_ids) is list and token_ids:
                if type(token_ids[0]) is int:
                    return self._decode(token_ids, skip_special_tokens=skip_special_tokens, **options)
            elif isinstance(token_ids, np.ndarray) and token_ids.ndim == 1:
                return self._decode(token_ids.tolist(), skip_special_tokens=skip_special_tokens, **options)
        return self._bbpe_kind.decode(self, token_ids, skip_special_tokens, *more, **options)

    def batch_decode(self: Any, sequences: Any, skip_special_tokens: bool = False, *more: Any, **options: Any) -> Any:
        are_rows = type(sequences) is list and not more
        if are_rows and all(type(ids) is list and (not ids or type(ids[0]) is int) for ids in sequences):
            return [self._decode(ids, skip_special_tokens=skip_special_tokens, **options) for ids in sequences]
        return self._bbpe_kind.batch_decode(self, sequences, skip_special_tokens, *more, **options)

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, (self._bbpe_kind, vars(self))

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        return _restored(self._bbpe_kind, {name: deepcopy(value, memo) for name, value in vars(self).items()})


def _restored(kind: Any, state: dict[str, Any]) -> Any:
    safe_import("transformers", "PreTrainedTokenizerFast")
    from transformers import PreTrainedTokenizerFast

    made: Any = object.__new__(_accelerated(kind, PreTrainedTokenizerFast))
    vars(made).update(state)
    return made


# -- batches -------------------------------------------------------------------------------------------------


def _call(owner: Any) -> AbstractContextManager[None]:
    """Return what keeps the options that `transformers` sets to one call."""
    backend = owner._tokenizer
    return backend.chosen.call() if type(backend) is Backend else nullcontext()


def _encoded_plus(owner: Any, text: Any, text_pair: Any = None, *more: Any, **options: Any) -> Any:
    text, text_pair = _opened(text, text_pair)
    is_batched = isinstance(text, list | tuple | Column)
    items: list[Any] | Column
    if not is_batched:
        items = [text] if not text_pair else [(text, text_pair)]
    elif text_pair is None:
        items = text if isinstance(text, Column) else list(text)
    else:
        is_matched = isinstance(text_pair, list | tuple) and len(text) == len(text_pair)
        items = list(zip(text, text_pair, strict=True)) if is_matched else []
    found = _batch(owner, items, options) if items and not more else None
    if found is None:
        return owner._bbpe_kind._encode_plus(owner, listed(text), text_pair, *more, **options)
    if is_batched or options.get("return_tensors") is not None:
        return found
    first = {key: value[0] for key, value in found.items()}
    return type(found)(first, found.encodings, n_sequences=found.n_sequences)


def _opened(text: Any, text_pair: Any) -> tuple[Any, Any]:
    """Return texts and their pairs; a column of Arrow is opened if it has none, and a list of strings otherwise."""
    return (opened(text), None) if text_pair is None else (listed(text), listed(text_pair))


def _batch(owner: Any, items: list[Any] | Column, options: dict[str, Any]) -> Any:
    """Return the rows of texts or pairs of texts as `transformers` does; `None` if it must make them itself."""
    backend = owner._tokenizer
    if type(backend) is not Backend or not _is_usual(items, options):
        return None
    is_pair = type(items[0]) is tuple
    plain = options.get("split_special_tokens")
    backend.encode_special_tokens = owner.split_special_tokens if plain is None else plain
    engine = backend.ready()
    if engine is None:
        return None
    owner.set_truncation_and_padding(
        padding_strategy=options["padding_strategy"], truncation_strategy=options["truncation_strategy"],
        max_length=options.get("max_length"), stride=0, pad_to_multiple_of=options.get("pad_to_multiple_of"),
        padding_side=options.get("padding_side"),
    )  # fmt: skip
    wants_types = _wanted(owner, options, "token_type_ids")
    adds = options.get("add_special_tokens", True)
    rows: Any = _Rows(engine, backend.chosen.options, items, adds)
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


class _Rows(Sequence[Encoding]):
    """The encodings of a batch, which are made when one is asked for."""

    def __init__(self, engine: HfTexts, options: Options, items: list[Any] | Column, adds: bool) -> None:
        self._engine, self._items, self._adds = engine, items, adds
        self._truncation, self._padding, self._is_plain = options
        self._made: list[Encoding] | None = None
        #: The number of ids of the longest row.
        self.longest = 0

    def arrays(self, wants_types: bool, as_arrays: bool) -> dict[str, Any] | None:
        """Return the ids, types and mask; `None` if the quick way does not have the options."""
        cut, pads = self._truncation, self._padding
        tokenizer, is_pair = self._engine.tokenizer, type(self._items[0]) is tuple
        allowed: Any = () if self._is_plain else "all"
        template = self._engine.template
        if self._is_plain and self._engine.spec.modelled:  # the model makes special tokens itself, as in `tokenizers`
            return None
        if is_pair and self._adds and not template.pair:
            return None
        if cut is not None and self._adds and cut.max_length < self._engine.added_count(is_pair):
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
            return self._engine.tokenizer.encode_padded(
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
            engine, matcher = self._engine, self._engine.matcher(self._is_plain)
            pairs = [item if type(item) is tuple else (item,) for item in listed(self._items)]
            rows = [
                row(engine, [engine.encoded(text, matcher) for text in texts], self._adds, self._truncation)
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
