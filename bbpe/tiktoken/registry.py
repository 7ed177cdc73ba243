"""Encodings by name, as `tiktoken.registry`."""

from __future__ import annotations

from ..published.names import MODELS, PREFIXES, plugin_constructors
from .core import ENCODING_CONSTRUCTORS, ENCODINGS, get_encoding

__all__ = ["ENCODINGS", "ENCODING_CONSTRUCTORS", "get_encoding", "list_encoding_names"]


def list_encoding_names() -> list[str]:
    """Return the names of OpenAI's encodings and of those that plugins of tiktoken define.

    `get_encoding` finds other published vocabularies, too, such as "llama3".

    Returns:
        The names.

    Example:
        >>> "o200k_base" in list_encoding_names()
        True
    """
    openai = (*MODELS.values(), *dict(PREFIXES).values())
    return list(dict.fromkeys((*openai, *ENCODING_CONSTRUCTORS, *plugin_constructors())))
