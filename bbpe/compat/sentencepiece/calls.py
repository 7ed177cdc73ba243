"""The common part of the methods of SentencePiece's processor: two names each, and offsets of bytes."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from itertools import accumulate
from typing import Any, TypeVar

from ...lazy import np

_T = TypeVar("_T")


def snake_case(cls: type[_T]) -> type[_T]:
    """Give each method of a class its name in snake_case, too."""
    for name, value in list(vars(cls).items()):
        if name[:1].isupper():
            snake = re.sub(r"(?<!^)(?=[A-Z])", "_", name).lower().replace("n_best", "nbest")
            setattr(cls, snake, value)
    return cls


#: The kinds of results that names of methods end in, and their `out_type`.
_KINDS: dict[str, Any] = {
    "Ids": int,
    "Pieces": str,
    "Numpy": "numpy",
    "OffsetMapping": "offset_mapping",
    "Proto": "proto",
    "ImmutableProto": "immutable_proto",
    "SerializedProto": "serialized_proto",
}
#: The beginnings of such names, and the methods that they call.
_CALLED = {
    "Encode": "Encode", "SampleEncode": "_sampled", "NBestEncode": "NBestEncode",
    "SampleEncodeAndScore": "_sampled_and_scored", "DecodeIds": "Decode", "DecodePieces": "Decode",
}  # fmt: skip


def with_kinds(cls: type[_T]) -> type[_T]:
    """Give a class a method for each kind of results, such as `EncodeAsNumpy`, that it does not have itself."""
    for base, called in _CALLED.items():
        for name, kind in _KINDS.items():
            if not hasattr(cls, f"{base}As{name}") and (called != "Decode" or "Proto" in name):
                setattr(cls, f"{base}As{name}", _as_kind(getattr(cls, called), f"{base}As{name}", kind))
    return cls


def _as_kind(method: Callable[..., Any], name: str, kind: Any) -> Callable[..., Any]:
    def call(self: Any, input: Any, *arguments: Any, **options: Any) -> Any:
        return method(self, input, *arguments, out_type=kind, **options)

    call.__name__, call.__doc__ = name, f"Do the same as `{method.__name__}` with `out_type={kind!r}`."
    return call


def of_bytes(text: str, normalized: str, sources: Sequence[int]) -> tuple[bytes, list[int]]:
    """Return a normalized text as bytes, and the byte of a text that each byte and the end come from.

    `sources` has the characters.  If no byte is left SentencePiece has no offset of the end.
    """
    starts = list(accumulate((len(char.encode()) for char in text), initial=0))
    found = [starts[source] for char, source in zip(normalized, sources, strict=False) for _ in char.encode()]
    return normalized.encode(), [*found, starts[sources[-1]]] if found else []


def either(out_type: Any, return_type: Any) -> Any:
    """Return the kind that a call names by one of two names."""
    if out_type is not None and return_type is not None:
        raise ValueError("found both out_type and return_type, which are the same; expected one of them")
    return out_type if return_type is None else return_type


def each(ids: int | list[int], find: Callable[[int], _T]) -> Any:
    """Return what a function finds for an id, or for each id of a list."""
    return [find(token_id) for token_id in ids] if isinstance(ids, list | tuple | np.ndarray) else find(int(ids))
