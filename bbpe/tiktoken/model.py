"""Encodings by the names of OpenAI's models, as `tiktoken.model`."""

from __future__ import annotations

from ..published.names import MODELS, PREFIXES
from ..records import did_you_mean, kind
from .core import Encoding, get_encoding

#: Encodings by the full name of a model.
MODEL_TO_ENCODING: dict[str, str] = dict(MODELS)
#: Encodings by the prefix of a model's name; the first match counts.
MODEL_PREFIX_TO_ENCODING: dict[str, str] = dict(PREFIXES)


def encoding_name_for_model(model_name: str) -> str:
    """Return the name of the encoding of a model of OpenAI.

    Args:
        model_name: The name of the model, such as "gpt-4o-mini".

    Returns:
        The name of its encoding.

    Raises:
        KeyError: The model is not known; `bbpe.encoding_for_model` knows models of other publishers.

    Example:
        >>> encoding_name_for_model("gpt-4o-mini")
        'o200k_base'
    """
    kind("model_name", model_name, str, "the name of a model, a str")
    if model_name in MODEL_TO_ENCODING:
        return MODEL_TO_ENCODING[model_name]
    for prefix, name in MODEL_PREFIX_TO_ENCODING.items():
        if model_name.startswith(prefix):
            return name
    hint = did_you_mean(model_name, MODEL_TO_ENCODING, most=3)
    raise KeyError(f"the encoding of model {model_name!r} is not known{hint}; name the encoding: get_encoding()")


def encoding_for_model(model_name: str) -> Encoding:
    """Return the encoding of a model of OpenAI.

    Args:
        model_name: The name of the model, such as "gpt-4o-mini".

    Returns:
        The encoding; every call returns the same object.

    Raises:
        KeyError: The model is not known; `bbpe.encoding_for_model` knows models of other publishers.
        VocabularyError: The file of the encoding is not on this machine; the message lists ways to get it.

    Example:
        >>> encoding_for_model("gpt-4o").name  # doctest: +SKIP
        'o200k_base'
    """
    return get_encoding(encoding_name_for_model(model_name))
