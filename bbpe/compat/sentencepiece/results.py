"""The results of SentencePiece's methods, such as texts with the place of each piece, and the names of the methods."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import lru_cache
from itertools import accumulate
from struct import pack
from typing import Any, TypeVar

from ...formats.sentencepiece.protobuf import bytes_field, number_field
from ...lazy import lazy_property, np
from ...records import dataclass, field, flag, kind, real, whole

_T = TypeVar("_T")
# numbers of fields: of a list of texts, of a text, of its pieces
_NBESTS = 1
_TEXT, _PIECES, _SCORE = 1, 2, 3
_PIECE, _ID, _SURFACE, _BEGIN, _END = range(1, 6)

#: Fields of messages that are remembered.
_FIELDS = 1 << 13
#: The kinds of results with the place of each piece: places in bytes, in characters, and the bytes of the message.
PROTOS = ("proto", "immutable_proto", "serialized_proto")
WITH_PLACES = (*PROTOS, "offset_mapping")
_OUT_TYPES = (int, str, bytes, "numpy", *WITH_PLACES)


@dataclass(frozen=True)
class ImmutableSentencePiece:
    """A piece of a text: `begin` and `end` are the characters that it comes from, and `surface` is these."""

    piece: str
    id: int
    surface: str
    begin: int
    end: int
    #: Whether it is a byte of a character but the last one, and so has no surface.
    is_inner: bool = field(default=False, repr=False)

    @property
    def piece_as_bytes(self) -> bytes:
        """The piece as UTF-8."""
        return self.piece.encode()

    @property
    def surface_as_bytes(self) -> bytes:
        """The surface as UTF-8."""
        return self.surface.encode()

    def __str__(self) -> str:
        return (
            f'piece: "{self.piece}"\nid: {self.id}\nsurface: "{self.surface}"\nbegin: {self.begin}\nend: {self.end}\n'
        )


@dataclass(frozen=True)
class ImmutableSentencePieceText:
    """A text, its pieces, and the score of this segmentation; 0 if the call did not ask for scores."""

    text: str
    ids: tuple[int, ...]
    #: The text of the piece of each id, and where its characters begin and end.
    named: tuple[str, ...] = field(repr=False)
    spans: tuple[tuple[int, int], ...] = field(repr=False)
    score: float = 0.0
    #: The numbers of pieces that are bytes of a character, but not its last one.
    inner: frozenset[int] = field(default=frozenset(), repr=False)
    #: Whether `begin` and `end` of pieces count bytes.
    is_of_bytes: bool = field(default=False, repr=False)

    @lazy_property
    def parts(self) -> tuple[ImmutableSentencePiece, ...]:
        """The pieces in order."""
        starts = self._starts() if self.is_of_bytes else range(len(self.text) + 1)
        return tuple(
            ImmutableSentencePiece(
                piece, token_id, self.text[begin:end], starts[begin], starts[end], number in self.inner
            )
            for number, (token_id, piece, (begin, end)) in enumerate(zip(self.ids, self.named, self.spans, strict=True))
        )

    @property
    def pieces(self) -> list[ImmutableSentencePiece]:
        """The pieces in order."""
        return list(self.parts)

    @property
    def text_as_bytes(self) -> bytes:
        """The text as UTF-8."""
        return self.text.encode()

    def in_bytes(self) -> ImmutableSentencePieceText:
        """Return the same with `begin` and `end` in bytes, as the message `SentencePieceText` has them."""
        made = self.text, self.ids, self.named, self.spans, self.score, self.inner
        return ImmutableSentencePieceText(*made, is_of_bytes=True)

    def _starts(self) -> Sequence[int]:
        """Return the byte where each character begins, and the end of the text."""
        return starts_of(self.text)

    def SerializeAsString(self) -> bytes:
        """Return the message `SentencePieceText`, whose offsets are those of bytes."""
        starts, text = self._starts(), self.text
        parts = [bytes_field(_TEXT, text.encode())]
        for number, (token_id, piece, (begin, end)) in enumerate(zip(self.ids, self.named, self.spans, strict=True)):
            surface = b"" if number in self.inner else _bytes_field(_SURFACE, text[begin:end].encode())
            place = _number_field(_BEGIN, starts[begin]) + _number_field(_END, starts[end])
            parts.append(bytes_field(_PIECES, _head(piece, token_id) + surface + place))
        message = b"".join(parts)
        return message + (bytes((_SCORE << 3 | 5,)) + pack("<f", self.score) if self.score else b"")

    SerializeToString = SerializeAsString

    def __str__(self) -> str:
        return f'text: "{self.text}"\nscore: {self.score}\n' + "\n".join(f"pieces {{\n{part}}}" for part in self.parts)


def starts_of(text: str) -> Sequence[int]:
    """Return the byte of the UTF-8 of a text where each character begins, and its end."""
    if text.isascii():
        return range(len(text) + 1)
    return list(accumulate((len(char.encode()) for char in text), initial=0))


# texts are made of few pieces, again and again
_bytes_field, _number_field = lru_cache(_FIELDS)(bytes_field), lru_cache(_FIELDS)(number_field)


@lru_cache(_FIELDS)
def _head(piece: str, token_id: int) -> bytes:
    return bytes_field(_PIECE, piece.encode()) + number_field(_ID, token_id)


def offset_mapping(text: ImmutableSentencePieceText, *, of_bytes: bool) -> dict[str, Any]:
    """Return the ids, the pieces and the offsets of a text, in characters or in bytes."""
    starts = starts_of(text.text) if of_bytes else None
    return {
        "ids": list(text.ids),
        "pieces": [piece.encode() for piece in text.named] if of_bytes else list(text.named),
        "offsets": list(text.spans) if starts is None else [(starts[begin], starts[end]) for begin, end in text.spans],
    }


@dataclass(frozen=True)
class ImmutableNBestSentencePieceText:
    """Several segmentations of a text."""

    texts: tuple[ImmutableSentencePieceText, ...]

    @property
    def nbests(self) -> list[ImmutableSentencePieceText]:
        """The segmentations in order."""
        return list(self.texts)

    def SerializeAsString(self) -> bytes:
        """Return the message `NBestSentencePieceText`."""
        return b"".join(bytes_field(_NBESTS, text.SerializeAsString()) for text in self.texts)

    def in_bytes(self) -> ImmutableNBestSentencePieceText:
        """Return the same with places in bytes."""
        return ImmutableNBestSentencePieceText(tuple(text.in_bytes() for text in self.texts))

    SerializeToString = SerializeAsString

    def __str__(self) -> str:
        return "\n".join(f"nbests {{\n{text}}}" for text in self.texts)


def of_kind(made: Any, kind: str) -> Any:
    """Return a text, or several segmentations, as one of `PROTOS`."""
    if kind == "proto":
        return made.in_bytes()
    return made if kind == "immutable_proto" else made.SerializeAsString()


# -- methods ---------------------------------------------------------------------------------------------


def snake_case(cls: type[_T]) -> type[_T]:
    """Give each method of a class its name in snake_case, too."""
    for name, value in list(vars(cls).items()):
        if name[:1].isupper():
            snake = re.sub(r"(?<!^)(?=[A-Z])", "_", name).lower().replace("n_best", "nbest")
            setattr(cls, snake, value)
    return cls


#: The options of `SetEncodeExtraOptions`.
_EXTRA = ("bos", "eos", "reverse", "unk")
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
        for name, out_type in _KINDS.items():
            if not hasattr(cls, f"{base}As{name}") and (called != "Decode" or "Proto" in name):
                setattr(cls, f"{base}As{name}", _as_kind(getattr(cls, called), f"{base}As{name}", out_type))
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
    starts = starts_of(text)
    found = [starts[source] for char, source in zip(normalized, sources, strict=False) for _ in char.encode()]
    return normalized.encode(), [*found, starts[sources[-1]]] if found else []


def checked_kind(out_type: Any) -> Any:
    """Return what `Encode` is to return; `ValueError` when it is unknown."""
    if out_type not in _OUT_TYPES:
        shown = ", ".join(known if isinstance(known, str) else known.__name__ for known in _OUT_TYPES)
        raise ValueError(f"out_type is {out_type!r}; expected one of {shown}")
    return out_type


def either(out_type: Any, return_type: Any) -> Any:
    """Return the kind that a call names by one of two names."""
    if out_type is not None and return_type is not None:
        raise ValueError("found both out_type and return_type, which are the same; expected one of them")
    return out_type if return_type is None else return_type


def truth(name: str, value: Any) -> bool:
    """Return a flag, which may be a number as in SentencePiece: any but 0 is true."""
    return bool(value) if isinstance(value, int) else flag(name, value)


def checked(name: str, value: Any) -> Any:
    """Return an option of `Encode` other than `out_type`; `TypeError` that names it, whether or not a call uses it."""
    if name == "alpha":
        return real(name, value)
    return whole(name, value) if name in ("nbest_size", "num_threads") else truth(name, value)


def check_threads(number: int | None) -> None:
    """Raise `TypeError` if a number of threads is no int; any number is right, as one thread does the work."""
    if number is not None:
        whole("num_threads", number)


def each(ids: int | list[int], find: Callable[[int], _T]) -> Any:
    """Return what a function finds for an id, or for each id of a list."""
    if isinstance(ids, list | tuple | np.ndarray):
        return [find(whole("id", token_id)) for token_id in ids]
    return find(whole("id", ids))


def extra_options(listed: str) -> list[str]:
    """Return the options of `SetEncodeExtraOptions`, a text with colons between; `ValueError` names an unknown one."""
    kind("extra_option", listed, str, "a str")
    found = listed.split(":") if listed else []
    unknown = next((name for name in found if name not in _EXTRA), None)
    if unknown is not None:
        raise ValueError(f"the option {unknown!r} is not known; expected some of {', '.join(_EXTRA)}, with : between")
    return found
