"""Protocol Buffers on the wire: the fields of a message, and messages of fields (protobuf.dev, "Encoding").

A message is a sequence of fields in any order, each with its number and one of four kinds of values.  Of a field that
comes twice the last value counts, and messages that come twice are one, their bytes one after the other.
"""

from __future__ import annotations

from collections.abc import Iterator
from struct import unpack_from

from ...records import dataclass, field

#: Kinds of values: a number, eight bytes, a number of bytes, four bytes.
VARINT, EIGHT, BYTES, FOUR = 0, 1, 2, 5
_MOST_SHIFT = 63


class WireError(ValueError):
    """Bytes that are no message."""


def fields_of(data: bytes) -> Iterator[tuple[int, int, int | bytes]]:
    r"""Yield the number, the kind and the value of each field.

    >>> list(fields_of(b"\x08\x96\x01\x12\x02hi"))
    [(1, 0, 150), (2, 2, b'hi')]
    """
    at = 0
    while at < len(data):
        key, at = _number(data, at)
        kind = key & 7
        if not key >> 3:
            raise WireError(f"found field 0 before byte {at}")
        if kind == VARINT:
            value, at = _number(data, at)
            yield key >> 3, kind, value
            continue
        if kind == BYTES:
            size, at = _number(data, at)
        elif kind in (EIGHT, FOUR):
            size = 8 if kind == EIGHT else 4
        else:
            raise WireError(f"found the kind {kind} of a value before byte {at}")
        if size > len(data) - at:
            raise WireError(f"found {len(data) - at} of {size} bytes at byte {at}")
        yield key >> 3, kind, data[at : at + size]
        at += size


def _number(data: bytes, at: int) -> tuple[int, int]:
    value = 0
    for shift in range(0, _MOST_SHIFT + 1, 7):
        if at >= len(data):
            raise WireError("the data ends within a number")
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value & (1 << 64) - 1, at
    raise WireError(f"found a number of more than ten bytes before byte {at}")


@dataclass(frozen=True)
class Message:
    """The last value of each field of a message, by number; messages of one number joined."""

    values: dict[int, int | bytes] = field(default_factory=dict)

    @classmethod
    def of(cls, data: bytes) -> Message:
        """Return the fields of a message; `WireError` if it is none."""
        return cls({number: value for number, _, value in fields_of(data)})

    def number(self, number: int, default: int) -> int:
        """Return a number, with a sign of 64 bits."""
        value = self.values.get(number, default)
        if not isinstance(value, int):
            raise WireError(f"field {number} is bytes; expected a number")
        return value - (1 << 64) if value >> 63 else value

    def data(self, number: int, default: bytes = b"") -> bytes:
        """Return a value that is bytes."""
        value = self.values.get(number, default)
        if not isinstance(value, bytes):
            raise WireError(f"field {number} is a number; expected bytes")
        return value


def float_of(data: bytes) -> float:
    """Return the number in four bytes."""
    if len(data) != 4:
        raise WireError(f"found {len(data)} bytes; expected 4, a number with a fraction")
    found: float = unpack_from("<f", data)[0]
    return found


def number_field(number: int, value: int) -> bytes:
    """Return a field with a number."""
    return _written(number << 3 | VARINT) + _written(value & (1 << 64) - 1)


def bytes_field(number: int, value: bytes) -> bytes:
    """Return a field with bytes or a message."""
    return _written(number << 3 | BYTES) + _written(len(value)) + value


def _written(value: int) -> bytes:
    if value < 0x80:
        return value.to_bytes(1, "little")
    found = bytearray()
    while value >= 0x80:
        found.append(value & 0x7F | 0x80)
        value >>= 7
    found.append(value)
    return bytes(found)
