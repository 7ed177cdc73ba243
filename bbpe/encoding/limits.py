"""Limit texts to a number of tokens, and check limits."""

from __future__ import annotations

import codecs
from collections.abc import Iterable, KeysView, Mapping, Set
from typing import Any, Literal, TypeAlias, TypeVar, cast

from ..core.column import Column, text_column
from ..core.ids import TokenBytes
from ..core.places import map_places
from ..core.truncate import first_part
from ..core.word_bpe import WordBPE
from ..core.wordpiece import WordPiece
from ..errors import described
from ..lazy import np, npt, safe_import
from ..pipeline.special_tokens import Matcher
from ..pipeline.streaming import complete_characters
from ..records import choice, did_you_mean, kind, whole
from ..text import Text, text_bytes
from .engine import TextEncoder

#: The side at which a text is truncated or a row is padded.
Side: TypeAlias = Literal["left", "right"]
_T = TypeVar("_T", bound=Text)
_Item = TypeVar("_Item")

# handlers that `codecs` has for encoding alone
_OF_ENCODING = ("xmlcharrefreplace", "namereplace")
# the highest limit on tokens
_MOST = 2**62
# to truncate at the left, first encode this many characters at the end of a text for each token
_LOOK_BACK = 16


def checked_errors(errors: str) -> str:
    """Return the name of a handler of bytes that are not UTF-8; `TypeError` or `ValueError` on what is none."""
    if errors == "replace":
        return errors
    kind("errors", errors, str, "a str")
    try:
        codecs.lookup_error("" if errors in _OF_ENCODING else errors)
    except (LookupError, ValueError):
        hint = did_you_mean(errors, ("replace", "strict", "ignore", "backslashreplace", "surrogateescape"))
        expected = "'replace', 'strict', 'ignore' or another handler of `codecs` for decoding"
        raise ValueError(f"errors is {errors!r:.60}; expected {expected}{hint}") from None
    return errors


def truncated(
    encoder: TextEncoder, token_bytes: TokenBytes, text: _T, limit: int, side: Side, matcher: Matcher | None
) -> _T:
    """Return a text truncated at a side to at most `limit` tokens; `Tokenizer.truncate` documents the details."""
    plain = encoder.plain if matcher is None and side == "right" else None
    if plain is not None and not isinstance(plain.model, (WordBPE, WordPiece)):
        end = first_part(plain, token_bytes, text, limit)
        if end is None or end >= 0:
            return text if end is None else cast(_T, text[:end])
    if encoder.count_up_to(text, limit, matcher) <= limit:
        return text
    places, start = _places_around_cut(encoder, token_bytes, text, limit, matcher, side)
    part: Any = text[start:]
    if side == "right":
        # cut where a token begins, or at the start of a character that this token shares with the one before
        starts = _indices(part, places[: limit + 1])[:, 0][::-1]
        parts = (part[: _floor(part, int(start))] for start in starts)
    else:
        ends = _indices(part, places[len(places) - limit - 1 :])[:, 1]
        parts = (part[_ceil(part, int(end)) :] for end in ends)
    kept = (each for each in parts if encoder.count_up_to(each, limit, matcher) <= limit)
    return cast(_T, next(kept, part[:0]))  # what no token comes from may become one without the rest


def _places_around_cut(
    encoder: TextEncoder, token_bytes: TokenBytes, text: Any, limit: int, matcher: Matcher | None, side: Side
) -> tuple[npt.NDArray[np.int64], int]:
    """Return the places of more than `limit` ids at the side of a text that is kept, and the index of the first one."""
    is_plain = matcher is None and encoder.plain is not None
    if side == "left" and is_plain and not isinstance(encoder.encoder.model, (WordBPE, WordPiece)):
        look = _LOOK_BACK * (limit + 16)
        while look < len(text):
            start = encoder.encoder.cut(text, len(text) - look, look)
            ids = encoder.to_array(text[start:])
            if len(ids) > limit:
                return token_bytes.spans(ids), start
            look *= 4
    safe_import("bbpe.encoding.places")
    from .places import encode_with_places

    return encode_with_places(encoder, text, "byte", matcher)[1], 0


def as_batch(texts: Iterable[_Item]) -> list[_Item] | Column:
    """Return the items of a batch as a list, or as a column of Arrow.

    Raises `TypeError` on a single text, and on a set or a mapping: rows would have an order that differs from run to
    run, or the values would be lost.
    """
    if type(texts) is list or isinstance(texts, Column):
        return texts
    if isinstance(texts, (str, bytes, bytearray, memoryview)):
        raise TypeError(f"a batch must be an iterable of texts, not one {type(texts).__name__}")
    if (column := text_column(texts)) is not None:
        return column
    check_order(texts, "texts")
    if not isinstance(texts, Iterable):
        raise TypeError(f"a batch must be an iterable of texts, not {type(texts).__name__}")
    return list(texts)


def check_order(batch: object, name: str) -> None:
    """Raise `TypeError` on a set or a mapping, naming the argument and the way out."""
    if isinstance(batch, Mapping):
        raise TypeError(f"{name} is {described(batch)}; expected a list: give its values, list({name}.values())")
    # the keys of a mapping have an order
    if isinstance(batch, Set) and not isinstance(batch, KeysView):
        raise TypeError(f"{name} is {described(batch)}, which has no order; expected a list, such as sorted({name})")


def check_list(batch: object, name: str) -> None:
    """Raise `TypeError` on what holds no items, and as `check_order`, naming the argument and the way out."""
    is_column = hasattr(batch, "__arrow_c_stream__") or hasattr(batch, "__arrow_c_array__")
    if not (isinstance(batch, Iterable) or is_column):
        raise TypeError(f"{name} is {described(batch)}; expected a list")
    check_order(batch, name)


def check_side(side: str, name: str = "side") -> None:
    """Raise `ValueError` naming the argument unless a side is "left" or "right"."""
    choice(name, side, ("left", "right"))


def checked_limit(n: int, name: str = "n", least: int = 0) -> int:
    """Check a limit on tokens and return it minus `least`; `TypeError` or `ValueError` naming the argument."""
    number = whole(name, n, least)
    if number > _MOST:
        raise ValueError(f"{name} is {number}; expected at most {_MOST}")
    return number - least


def _indices(text: Text, places: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Convert places in UTF-8 bytes to indices of a text, int64[n, 2]."""
    indices = np.ascontiguousarray(places)
    if isinstance(text, str):
        map_places(text, indices, "char")
    return indices


def _floor(text: Any, index: int) -> int:
    """Move an index back to the beginning of a character."""
    if isinstance(text, str):
        return index
    start = max(index - 4, 0)
    return start + complete_characters(bytes(text_bytes(text[start:index])))


def _ceil(text: Any, index: int) -> int:
    """Move an index forward to the beginning of a character."""
    if not isinstance(text, str):
        tail = bytes(text_bytes(text[index : index + 3]))
        while tail and tail[0] & 0xC0 == 0x80:
            tail, index = tail[1:], index + 1
    return index
