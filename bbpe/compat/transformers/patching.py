"""Make `transformers` accelerate the tokenizers that it loads."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from ...errors import AccelerationError, AccelerationWarning
from ...lazy import safe_import
from ...records import flag
from ..tokenizers import DecodeStream
from .acceleration import accelerate
from .chat_masks import OwnMasks

#: With the value 1 it has the plug-ins of servers accelerate their tokenizers.
VARIABLE = "BBPE_ACCELERATE"
#: What was replaced: objects, names, and the values before; `None` if the object inherited the name.
_replaced: list[tuple[Any, str, Any]] = []
#: The methods of `PreTrainedTokenizerFast` that ours call.
_original: dict[str, Any] = {}
#: The choices of the last call of `patch_transformers`.
_chosen = {"strict": False}
_is_loading: ContextVar[bool] = ContextVar("bbpe_is_loading", default=False)


def patch_transformers(*, masks: bool = False, strict: bool = False) -> None:
    """Make `transformers` accelerate the tokenizers that it loads or makes from now on.

    `AutoTokenizer.from_pretrained`, `from_pretrained` of the classes of fast tokenizers, and
    `PreTrainedTokenizerFast(...)` return tokenizers as `bbpe.accelerate` does. If a tokenizer cannot be accelerated,
    they return it unchanged, and an `AccelerationWarning` gives the reason; with `strict` that is an error.
    `bbpe.compat.tokenizers.DecodeStream` replaces `tokenizers.decoders.DecodeStream` and takes tokenizers of both
    kinds; modules that imported the old class before keep it. A second call changes only `masks` and `strict`. The
    logger "bbpe" gets a line of level INFO, and one for each tokenizer that is not accelerated.

    Args:
        masks: Whether `apply_chat_template(..., return_assistant_tokens_mask=True)` of accelerated tokenizers gives the
            masks of `encode_chat` for templates without `{% generation %}`. By default they give a warning and zeros,
            as stock `transformers` does. Templates with the tag have the masks of `transformers` either way.
        strict: Whether loading or making a tokenizer that cannot be accelerated raises an `AccelerationError` with the
            reason.

    Raises:
        ImportError: `transformers` or `tokenizers` is not installed.
        TypeError: `masks` or `strict` is no bool.

    Example:
        >>> bbpe.patch_transformers(masks=True)  # doctest: +SKIP
        >>> tokenizer = transformers.AutoTokenizer.from_pretrained("Qwen/Qwen3-8B")  # doctest: +SKIP
        >>> bbpe.unpatch_transformers()  # doctest: +SKIP
    """
    chosen = flag("masks", masks), flag("strict", strict)
    try:
        safe_import("tokenizers.decoders")
        import tokenizers.decoders
        safe_import("transformers", "PreTrainedTokenizerFast")
        import transformers
        from transformers import PreTrainedTokenizerFast
    except ImportError as error:
        problem = "patch_transformers needs transformers; install it with: pip install 'bbpe[huggingface]'"
        raise ImportError(problem) from error

    OwnMasks.is_on, _chosen["strict"] = chosen
    if _replaced:
        return
    kind: Any = PreTrainedTokenizerFast
    _original.update(from_pretrained=kind.from_pretrained.__func__, __init__=kind.__init__)
    replace_name(PreTrainedTokenizerFast, "from_pretrained", classmethod(_from_pretrained))
    replace_name(PreTrainedTokenizerFast, "__init__", _init)
    replace_name(tokenizers.decoders, "DecodeStream", DecodeStream)
    _log(f"patched transformers {transformers.__version__}: PreTrainedTokenizerFast and DecodeStream of tokenizers")


def is_asked() -> bool:
    """Return whether the environment asks the plug-in of a server to accelerate, by BBPE_ACCELERATE=1.

    Raises `ValueError` when the variable has another value than 0, 1 or nothing.
    """
    value = os.environ.get(VARIABLE, "")
    if value not in ("", "0", "1"):
        raise ValueError(f"the environment variable {VARIABLE} is {value!r}; expected 1, or 0 for stock tokenizers")
    return value == "1"


def refused(reason: object) -> AccelerationError:
    """Return the error of a server that was asked to accelerate and cannot."""
    return AccelerationError(f"{reason}; to serve with the tokenizer of the server itself, unset {VARIABLE}")


def unpatch_transformers() -> None:
    """Undo `patch_transformers`; tokenizers that are accelerated stay so.

    Example:
        >>> bbpe.unpatch_transformers()
    """
    OwnMasks.is_on = _chosen["strict"] = False
    while _replaced:
        owner, name, value = _replaced.pop()
        if value is None:
            delattr(owner, name)
        else:
            setattr(owner, name, value)


def _from_pretrained(cls: Any, *arguments: Any, **options: Any) -> Any:
    with _loading():
        loaded = _original["from_pretrained"](cls, *arguments, **options)
    return _tried(loaded)


def _init(self: Any, *arguments: Any, **options: Any) -> None:
    safe_import("transformers", "PreTrainedTokenizerFast")
    from transformers import PreTrainedTokenizerFast

    _original["__init__"](self, *arguments, **options)
    if type(self) is PreTrainedTokenizerFast and not _is_loading.get():
        _tried(self)


def _log(message: str) -> None:
    safe_import("logging")
    import logging

    logging.getLogger("bbpe").info(message)


def replace_name(owner: Any, name: str, value: Any) -> None:
    """Replace an attribute until `unpatch_transformers` is called."""
    _replaced.append((owner, name, vars(owner).get(name)))
    setattr(owner, name, value)


@contextmanager
def _loading() -> Iterator[None]:
    token = _is_loading.set(True)
    try:
        yield
    finally:
        _is_loading.reset(token)


def _tried(tokenizer: Any) -> Any:
    """Accelerate a tokenizer if that is possible; a warning has the reason if it is not."""
    safe_import("transformers", "PreTrainedTokenizerFast")
    from transformers import PreTrainedTokenizerFast

    if isinstance(tokenizer, PreTrainedTokenizerFast) and not _is_loading.get():
        try:
            accelerate(tokenizer)
        except AccelerationError as error:
            name = getattr(tokenizer, "name_or_path", "") or type(tokenizer).__name__
            if _chosen["strict"]:
                raise AccelerationError(f"{name} cannot be accelerated: {error}") from error
            _log(f"left {name} alone: {error}")
            warnings.warn(f"{name} is not accelerated: {error}", AccelerationWarning, stacklevel=3)
    return tokenizer
