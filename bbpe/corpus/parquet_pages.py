"""Read the sizes of the pages of a Parquet file, which pyarrow does not report before it has read them.

A page has a header in Thrift's compact protocol with its type, its sizes and its number of values.  A page has only
whole cells, so no cell is larger than its page.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import BinaryIO, TypeAlias

#: The size of a page in decompressed bytes, and its number of values, 0 for a dictionary page.
Page: TypeAlias = tuple[int, int]

#: The bytes of a header that are read at once, and the most of all; statistics of long cells make a header longer.
_HEADER, _LONGEST_HEADER = 1 << 12, 1 << 24
_TRUE, _FALSE, _BYTE, _I16, _I32, _I64, _DOUBLE, _BINARY, _LIST, _SET, _MAP, _STRUCT = range(1, 13)


def pages(file: BinaryIO, start: int, size: int) -> Iterator[Page]:
    """Yield the pages of a column chunk, which has `size` bytes from byte `start` of the file.

    Raises `ValueError` when a header is missing or broken.
    """
    end = start + size
    while start < end:
        fields, length = _header(file, start, end)
        uncompressed, compressed = fields.get((2,), -1), fields.get((3,), -1)
        if uncompressed < 0 or compressed < 0:
            raise ValueError("expected the header of a page")
        # field 5 is the header of a data page, field 8 that of a data page of version 2
        yield uncompressed, fields.get((5, 1), fields.get((8, 1), 0))
        start += length + compressed


def largest_window(found: list[Page], rows: int) -> int:
    """Return the most bytes of all pages that any `rows` consecutive rows touch.

    >>> largest_window([(10, 2), (50, 2), (20, 2)], 2), largest_window([(10, 2), (50, 2), (20, 2)], 4)
    (70, 80)
    """
    most = size = between = last = 0
    for first, (own, _) in enumerate(found):
        # the rows may touch only one row of the first and of the last page
        while last < len(found) and (last <= first or between <= rows - 2):
            size += found[last][0]
            between += found[last][1] if last > first else 0
            last += 1
        most = max(most, size)
        size -= own
        between -= found[first + 1][1] if first + 1 < last else 0
    return most


def _header(file: BinaryIO, start: int, end: int) -> tuple[dict[tuple[int, ...], int], int]:
    """Return the integers of a header by the path of field ids, and the length of the header in bytes."""
    size = _HEADER
    while True:
        file.seek(start)
        reader = _ThriftReader(file.read(min(size, end - start)))
        try:
            reader.struct(())
        except IndexError:
            if size >= min(end - start, _LONGEST_HEADER):
                raise ValueError("the header of a page does not end") from None
            size *= 16
            continue
        return reader.fields, reader.at


class _ThriftReader:
    """Reads a struct of Thrift's compact protocol; `IndexError` when the data ends within it."""

    def __init__(self, data: bytes) -> None:
        self._data, self.at = data, 0
        self.fields: dict[tuple[int, ...], int] = {}

    def _byte(self) -> int:
        self.at += 1
        return self._data[self.at - 1]

    def _number(self) -> int:
        value = shift = 0
        while (byte := self._byte()) & 0x80:
            value |= (byte & 0x7F) << shift
            shift += 7
        return value | byte << shift

    def struct(self, path: tuple[int, ...]) -> None:
        """Read the fields of a struct."""
        if len(path) > 8:
            raise ValueError("the header of a page is nested too deeply")
        field = 0
        while kind := self._byte():
            field = field + (kind >> 4) if kind >> 4 else self._signed()
            self._value(kind & 0x0F, (*path, field))

    def _signed(self) -> int:
        value = self._number()
        return (value >> 1) ^ -(value & 1)

    def _value(self, kind: int, path: tuple[int, ...]) -> None:
        if kind in (_I16, _I32, _I64):
            self.fields[path] = self._signed()
        elif kind == _STRUCT:
            self.struct(path)
        elif kind in (_BYTE, _DOUBLE, _BINARY):
            # the number comes first: reading it moves the position too
            length = 1 if kind == _BYTE else 8 if kind == _DOUBLE else self._number()
            self.at += length
        elif kind not in (_TRUE, _FALSE):
            raise ValueError(f"the header of a page has a field of type {kind}")
