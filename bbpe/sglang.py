"""A plug-in for SGLang: with BBPE_ACCELERATE=1 in the environment, its tokenizers encode and decode by our engine.

SGLang calls the functions of the group of entry points "sglang.srt.plugins" in each of its processes, and then puts the
hooks that they registered around its own functions.  Ours accelerate what `get_tokenizer` and `get_processor` return.
"""

from __future__ import annotations

from typing import Any

from .compat.transformers.acceleration import accelerate
from .compat.transformers.patching import is_asked, refused
from .errors import AccelerationError
from .lazy import safe_import

_LOADERS = "sglang.srt.utils.hf_transformers"


def plug_in() -> None:
    """Accelerate the tokenizers of this process of SGLang, if the environment has BBPE_ACCELERATE=1.

    SGLang calls it through the entry point `bbpe`.  It logs what a plug-in raises and goes on without it, so an error
    here ends the process: a server that was asked to accelerate serves with no other tokenizer.

    Raises:
        AccelerationError: Later, when SGLang loads a tokenizer, or when it checks its arguments: bbpe cannot accelerate
            the tokenizer; the message has the reason.
        SystemExit: This version of SGLang lacks what the plug-in uses; its server in Rust is on, which loads tokenizers
            without Python; or BBPE_ACCELERATE is not 0, 1 or empty.

    Example:
        >>> import bbpe.sglang
        >>> bbpe.sglang.plug_in()  # nothing, without BBPE_ACCELERATE=1
    """
    try:
        if is_asked():
            _register()
    except Exception as error:
        raise SystemExit(f"bbpe: {error}") from error


def _register() -> None:
    safe_import("pkgutil", "resolve_name")
    from pkgutil import resolve_name

    hooks = {
        f"{_LOADERS}.tokenizer.get_tokenizer": _accelerate_tokenizer,
        f"{_LOADERS}.processor.get_processor": _accelerate_processor,
        "sglang.srt.server_args.ServerArgs.check_server_args": _check_arguments,
    }
    try:
        safe_import("sglang.srt.environ", "envs")
        from sglang.srt.environ import envs
        safe_import("sglang.srt.plugins.hook_registry", "HookRegistry", "HookType")
        from sglang.srt.plugins.hook_registry import HookRegistry, HookType

        for target in hooks:
            resolve_name(target)  # SGLang would only log that there is no such function
    except (ImportError, AttributeError) as error:
        raise refused(f"the plug-in does not know this version of SGLang: {error}") from error

    in_rust = getattr(envs, "SGLANG_RUST_SERVER", None)
    if in_rust is not None and in_rust.get():
        raise refused("SGLANG_RUST_SERVER=1 starts a server whose tokenizer bbpe cannot reach")
    for target, hook in hooks.items():
        HookRegistry.register(target, hook, HookType.AFTER)


def _accelerate_tokenizer(tokenizer: Any, *arguments: Any, **options: Any) -> None:
    """Accelerate the result of `get_tokenizer`, in place."""
    safe_import("logging")
    import logging

    try:
        accelerate(tokenizer)
    except (AccelerationError, TypeError) as error:
        raise refused(error) from error
    logger = logging.getLogger("sglang.srt.plugins.bbpe")
    logger.info("bbpe encodes and decodes for the tokenizer of %s", getattr(tokenizer, "name_or_path", ""))


def _accelerate_processor(processor: Any, *arguments: Any, **options: Any) -> None:
    """Accelerate the tokenizer of a processor of images or sound, in place."""
    _accelerate_tokenizer(getattr(processor, "tokenizer", processor))


def _check_arguments(result: None, server_args: Any) -> None:
    count = getattr(server_args, "tokenizer_worker_num", 1)
    if count > 1:
        way_out = "leave it 1, or start SGLang by examples/serve_patched.py"
        raise refused(f"--tokenizer-worker-num {count} starts processes in which SGLang loads no plug-ins; {way_out}")
