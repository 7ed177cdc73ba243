"""Put the engine of bbpe under a tokenizer of `transformers`, which keeps its class, its settings and its files."""

from __future__ import annotations

import errno
import os
from functools import cache
from typing import TYPE_CHECKING, Any, TypeVar, overload

from ...core.column import Column
from ...errors import AccelerationError
from ...lazy import np, safe_import
from ...records import flag
from ...tokenizer import Tokenizer as _Tokenizer
from ..columns import listed, opened
from .backend import Backend
from .batches import batch_of, encoded_plus, one_call, opened_pair
from .call_options import Options
from .chat_masks import masked_chat

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerFast

_T = TypeVar("_T")

#: The options of a call without any, and of one that reads special tokens as plain text.
_NONE, _PLAIN = Options(), Options(is_plain=True)


@overload
def accelerate(
    tokenizer: str | os.PathLike[str], *, accept_other_offsets: bool = False
) -> PreTrainedTokenizerFast: ...


@overload
def accelerate(tokenizer: _T, *, accept_other_offsets: bool = False) -> _T: ...


def accelerate(tokenizer: Any, *, accept_other_offsets: bool = False) -> Any:
    """Put the engine of bbpe under a tokenizer of `transformers`.

    The tokenizer gives the same ids, many times faster.  The object stays the same, with its class, chat template,
    padding, special tokens and files.  First bbpe compares ids, offsets, words and texts on the whole vocabulary and on
    texts of many kinds.  Later changes, such as added tokens, take effect as before; if bbpe cannot follow one, an
    `AccelerationWarning` gives the reason, and HF's `tokenizers` takes over again.

    Methods that take a list of texts also take a column of Arrow.  Threads can share the tokenizer: each call has its
    own truncation, padding and `split_special_tokens`.

    Args:
        tokenizer: A `PreTrainedTokenizerFast`, as `AutoTokenizer.from_pretrained` returns it; or its path or name,
            which `AutoTokenizer` loads.
        accept_other_offsets: Whether offsets and numbers of words may differ from those of `tokenizers`.  They differ
            if `tokenizers` drops a character that has no token, because it then counts wrong.  Ids and texts are always
            the same.

    Returns:
        The same object, or the tokenizer that was loaded.

    Raises:
        AccelerationError: The tokenizer has a component that bbpe does not support, or gives other ids; the message has
            the reason.  The object is unchanged.
        OSError: There is no such path, or `AutoTokenizer` finds no tokenizer of this name.
        TypeError: The object is not a `PreTrainedTokenizerFast`, or `accept_other_offsets` is no bool.

    Example:
        >>> tokenizer = bbpe.accelerate("Qwen/Qwen3-8B")  # doctest: +SKIP
        >>> tokenizer(["Hello", "world"], padding=True, return_tensors="np")  # doctest: +SKIP
        >>> bbpe.is_accelerated(tokenizer)  # doctest: +SKIP
        True
    """
    accepts_offsets = flag("accept_other_offsets", accept_other_offsets)
    safe_import("transformers", "PreTrainedTokenizerFast", "AutoTokenizer")
    from transformers import AutoTokenizer, PreTrainedTokenizerFast

    if isinstance(tokenizer, os.PathLike) and not os.path.exists(tokenizer):  # noqa: PTH110
        # AutoTokenizer would look for a repository of this name on the network
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), os.fspath(tokenizer))
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
    vars(tokenizer)["_tokenizer"] = Backend(inner, accepts_offsets)
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

    A later change of a tokenizer may have ended its acceleration; then it is not accelerated.

    Args:
        tokenizer: The tokenizer; anything else is not accelerated.

    Returns:
        Whether `accelerate` or `patch_transformers` has accelerated it, and bbpe still encodes for it.

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
    body["__reduce_ex__"] = methods["__reduce_ex__"]
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
                hf_texts = backend.ready(is_plain)
                if hf_texts is not None:
                    backend.chosen.after_call(_PLAIN if is_plain else _NONE)
                    ids = hf_texts.ids(text, is_plain, add_special_tokens)
                    if len(ids) > self.model_max_length:
                        self._eventual_warn_about_too_long_sequence(ids, None, True)
                    return ids
        return self._bbpe_kind.encode(self, text, text_pair, add_special_tokens, *more, **options)

    def _encode_plus(self: Any, text: Any, text_pair: Any = None, *more: Any, **options: Any) -> Any:
        with one_call(self):
            return encoded_plus(self, text, text_pair, *more, **options)

    def _batch_encode_plus(self: Any, batch_text_or_text_pairs: Any, **options: Any) -> Any:
        items = opened(batch_text_or_text_pairs)
        if isinstance(items, list | tuple):
            items = list(items)
        with one_call(self):
            found = batch_of(self, items, options) if isinstance(items, list | Column) and items else None
            return self._bbpe_kind._batch_encode_plus(self, listed(items), **options) if found is None else found

    def _own_encode_plus(self: Any, *arguments: Any, **options: Any) -> Any:
        with one_call(self):
            return self._bbpe_kind._encode_plus(self, *arguments, **options)

    def _own_batch_encode_plus(self: Any, *arguments: Any, **options: Any) -> Any:
        with one_call(self):
            return self._bbpe_kind._batch_encode_plus(self, *arguments, **options)

    def apply_chat_template(self: Any, *arguments: Any, **options: Any) -> Any:
        if options.get("return_assistant_tokens_mask"):
            found = masked_chat(self, self._bbpe_kind, arguments, options)
            if found is not None:
                return found
        return self._bbpe_kind.apply_chat_template(self, *arguments, **options)

    def _call_one(self: Any, text: Any, text_pair: Any = None, **options: Any) -> Any:
        """Let a column of Arrow through, which the check of types in transformers 4 refuses."""
        text, text_pair = opened_pair(text, text_pair)
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

    def __reduce_ex__(self, protocol: Any) -> Any:
        if "_bbpe_kind" in vars(type(self)):
            return _restored, (self._bbpe_kind, vars(self))
        # a server has made a class of this one, which says itself how it is copied
        return self._bbpe_kind.__reduce_ex__(self, protocol)


def _restored(kind: Any, state: dict[str, Any]) -> Any:
    safe_import("transformers", "PreTrainedTokenizerFast")
    from transformers import PreTrainedTokenizerFast

    made: Any = object.__new__(_accelerated(kind, PreTrainedTokenizerFast))
    vars(made).update(state)
    return made
