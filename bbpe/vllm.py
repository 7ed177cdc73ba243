"""A plug-in for vLLM: with BBPE_ACCELERATE=1 in the environment, its tokenizers encode and stream by our engine.

vLLM calls the functions of the group of entry points "vllm.general_plugins" in each of its processes, before they load
tokenizers.  All its modes load them with `transformers`, and its streams look for `tokenizers.decoders.DecodeStream`
anew for each request, so `patch_transformers` does the work.  This module adds that a server which was asked to
accelerate ends with an error, and does not serve with another tokenizer.
"""

from __future__ import annotations

from typing import Any

from .compat.transformers.acceleration import is_accelerated
from .compat.transformers.patching import is_asked, patch_transformers, refused, replace_name
from .errors import AccelerationError
from .lazy import safe_import


def plug_in() -> None:
    """Accelerate the tokenizers of this process of vLLM, if the environment has BBPE_ACCELERATE=1.

    vLLM calls it through the entry point `bbpe`; a second call changes nothing.

    Raises:
        AccelerationError: This version of vLLM lacks what the plug-in uses, or its front end in Rust is on, which loads
            tokenizers without Python.  Later, when vLLM loads a tokenizer: bbpe cannot accelerate it; the message has
            the reason.
        ValueError: BBPE_ACCELERATE is not 0, 1 or empty.

    Example:
        >>> import bbpe.vllm
        >>> bbpe.vllm.plug_in()  # nothing, without BBPE_ACCELERATE=1
    """
    if not is_asked():
        return
    try:
        safe_import("vllm", "envs")
        from vllm import envs
        safe_import("vllm.tokenizers", "TokenizerRegistry")
        from vllm.tokenizers import TokenizerRegistry
        safe_import("vllm.logger", "init_logger")
        from vllm.logger import init_logger
    except ImportError as error:
        raise refused(f"the plug-in does not know this version of vLLM: {error}") from error

    if getattr(envs, "VLLM_USE_RUST_FRONTEND", False):
        raise refused("VLLM_USE_RUST_FRONTEND=1 starts a front end whose tokenizer bbpe cannot reach")
    patch_transformers(strict=True)
    if "load_tokenizer_cls" in vars(TokenizerRegistry):  # it is ours
        return
    load = TokenizerRegistry.load_tokenizer_cls
    logger = init_logger("vllm.plugins.bbpe")  # vLLM shows lines of level INFO from loggers below its own alone

    def load_tokenizer_cls(tokenizer_mode: str) -> Any:
        kind = load(tokenizer_mode)
        if not getattr(vars(kind).get("from_pretrained"), "is_checked", False):
            replace_name(kind, "from_pretrained", _checked(kind, logger))
        return kind

    replace_name(TokenizerRegistry, "load_tokenizer_cls", load_tokenizer_cls)


def _checked(kind: Any, logger: Any) -> Any:
    """Return the `from_pretrained` of a class of vLLM for tokenizers, whose results must be accelerated."""
    load = kind.from_pretrained.__func__

    def from_pretrained(cls: Any, *arguments: Any, **options: Any) -> Any:
        try:
            tokenizer = load(cls, *arguments, **options)
        except AccelerationError as error:
            raise refused(error) from error
        if not is_accelerated(tokenizer):
            found = f"{type(tokenizer).__module__}.{type(tokenizer).__qualname__}"
            raise refused(f"vLLM loaded a {found}; bbpe accelerates a PreTrainedTokenizerFast of transformers alone")
        logger.info("bbpe encodes and decodes for the tokenizer of %s", getattr(tokenizer, "name_or_path", ""))
        return tokenizer

    checked = classmethod(from_pretrained)
    checked.is_checked = True  # type: ignore[attr-defined]
    return checked
