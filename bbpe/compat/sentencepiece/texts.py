"""Encoded and decoded texts with the place of each piece, as SentencePiece's `ImmutableSentencePieceText`."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from struct import pack
from typing import Any

from ...formats.protobuf import bytes_field, number_field
from ...records import dataclass, field, replace

# numbers of fields: of a list of texts, of a text, of its pieces
_NBESTS = 1
_TEXT, _PIECES, _SCORE = 1, 2, 3
_PIECE, _ID, _SURFACE, _BEGIN, _END = range(1, 6)

#: The kinds of results with the place of each piece: places in bytes, in characters, and the bytes of the message.
PROTOS = ("proto", "immutable_proto", "serialized_proto")


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
    parts: tuple[ImmutableSentencePiece, ...]
    score: float = 0.0
    #: Whether `begin` and `end` count bytes.
    is_of_bytes: bool = field(default=False, repr=False)

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
        starts = self._starts()
        parts = [replace(part, begin=starts[part.begin], end=starts[part.end]) for part in self.parts]
        return replace(self, parts=tuple(parts), is_of_bytes=True)

    def _starts(self) -> Sequence[int]:
        """Return the bytes where the places of pieces are."""
        if self.is_of_bytes:
            return range(len(self.text.encode()) + 1)
        return list(accumulate((len(char.encode()) for char in self.text), initial=0))

    def SerializeAsString(self) -> bytes:
        """Return the message `SentencePieceText`, whose offsets are those of bytes."""
        starts = self._starts()
        message = bytes_field(_TEXT, self.text.encode())
        message += b"".join(bytes_field(_PIECES, _serialized(part, starts)) for part in self.parts)
        return message + (bytes((_SCORE << 3 | 5,)) + pack("<f", self.score) if self.score else b"")

    SerializeToString = SerializeAsString

    def __str__(self) -> str:
        return f'text: "{self.text}"\nscore: {self.score}\n' + "\n".join(f"pieces {{\n{part}}}" for part in self.parts)


def _serialized(part: ImmutableSentencePiece, starts: Sequence[int]) -> bytes:
    return b"".join((
        bytes_field(_PIECE, part.piece_as_bytes),
        number_field(_ID, part.id),
        bytes_field(_SURFACE, part.surface_as_bytes) if not part.is_inner else b"",
        number_field(_BEGIN, starts[part.begin]),
        number_field(_END, starts[part.end]),
    ))


def offset_mapping(text: ImmutableSentencePieceText, *, of_bytes: bool) -> dict[str, Any]:
    """Return the ids, the pieces and the offsets of a text, in characters or in bytes."""
    starts = list(accumulate((len(char.encode()) for char in text.text), initial=0)) if of_bytes else None
    spans = [(part.begin, part.end) for part in text.parts]
    return {
        "ids": [part.id for part in text.parts],
        "pieces": [part.piece_as_bytes if of_bytes else part.piece for part in text.parts],
        "offsets": spans if starts is None else [(starts[begin], starts[end]) for begin, end in spans],
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


def of_kind(placed: Any, kind: str) -> Any:
    """Return a text, or several segmentations, as one of `PROTOS`."""
    if kind == "proto":
        return placed.in_bytes()
    return placed if kind == "immutable_proto" else placed.SerializeAsString()
