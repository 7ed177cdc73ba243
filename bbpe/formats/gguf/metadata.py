"""Read the metadata of a GGUF file: the named values before the tensors.  The tensors are not read.

Every length is checked against the rest of the file and against a limit before any memory is allocated, so neither a
file of a few bytes nor a sparse file of terabytes can make the reader allocate gigabytes.  Versions 2 and 3 of the
format are supported, in both byte orders.  Source: `docs/gguf.md` of ggml.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from io import BytesIO
from struct import Struct
from typing import Any, BinaryIO, NoReturn

from ...errors import VocabularyError
from ...files import ReadFile, StrPath, open_file

_STRING, _ARRAY = 8, 9
# the `struct` code of each number type
_NUMBERS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
_LONGEST_KEY = (1 << 16) - 1
# limits for one list: strings are read one by one, and each kept number becomes an object
_MOST_STRINGS, _MOST_NUMBERS = 1 << 22, 1 << 21
# the limit for all kept strings together; the largest vocabularies have 10 MB
_MOST_BYTES = 1 << 26


def read_metadata(path: StrPath, wanted: Callable[[str], bool]) -> dict[str, Any]:
    """Return the values of a GGUF file whose names are `wanted`: numbers, bools, strings as `bytes`, lists of these.

    Raises `VocabularyError` with the position in bytes when the file is not GGUF, ends too early, or repeats a name.
    """
    with BytesIO(path.data) if isinstance(path, ReadFile) else open_file(path) as file:
        size = len(path.data) if isinstance(path, ReadFile) else os.fstat(file.fileno()).st_size
        if not size:
            raise VocabularyError("found an empty file; expected a GGUF file", path=path)
        return _Walk(file, size, path).values(wanted)


class _Walk:
    """A read position in the file that moves forward and never past the end."""

    def __init__(self, file: BinaryIO, size: int, path: StrPath) -> None:
        self._file, self._path, self._at, self._size, self._kept = file, path, 0, size, 0
        self._numbers: dict[int, Struct] = {}
        self._order("<")

    def _order(self, order: str) -> None:
        self._numbers = {kind: Struct(order + code) for kind, code in _NUMBERS.items()}
        self._u32, self._u64 = self._numbers[4], self._numbers[10]

    def values(self, wanted: Callable[[str], bool]) -> dict[str, Any]:
        if self._bytes(4, "the letters GGUF") != b"GGUF":
            self._refuse("expected a file that begins with GGUF", 0)
        version = self._number(self._u32, "the version")
        if version & 0xFFFF == 0:  # the version in the other byte order
            self._order(">")
            version = int.from_bytes(version.to_bytes(4, "little"), "big")
        if version not in (2, 3):
            self._refuse(f"found version {version}; expected 2 or 3", 4)
        self._number(self._u64, "the number of tensors")
        count = self._number(self._u64, "the number of values")
        # the smallest value takes 14 bytes: 8 of length and 1 of name, 4 of type, 1 of value
        self._check(count, 14, "values")
        found: dict[str, Any] = {}
        names: set[bytes] = set()
        for _ in range(count):
            start = self._at
            raw = self._name()
            if raw in names:
                self._refuse(f"{_shown(raw)} is listed twice; expected each name once", start)
            names.add(raw)
            name = raw.decode("utf-8", "backslashreplace")
            value = self._value(name, wanted(name))
            if wanted(name):
                found[name] = value
        return found

    def _name(self) -> bytes:
        count = self._number(self._u64, "the length of a name")
        if _LONGEST_KEY < count <= self._size - self._at:
            self._refuse(f"found a name of {count} bytes; expected at most {_LONGEST_KEY}", self._at - 8)
        return self._bytes(count, "a name")

    def _value(self, name: str, keep: bool) -> Any:
        kind = self._number(self._u32, f"the type of {name}")
        if kind != _ARRAY:
            return self._scalar(kind, name, keep)
        kind = self._number(self._u32, f"the type of the items of {name}")
        count = self._number(self._u64, f"the length of {name}")
        if kind == _STRING:
            self._check(count, 8, f"strings in {name}")
            if count > _MOST_STRINGS:
                self._refuse(f"found {count} strings in {name}; expected at most {_MOST_STRINGS}", self._at - 8)
            strings = [self._string(name, keep) for _ in range(count)]
            return strings if keep else None
        number = self._numbers.get(kind)
        if number is None:
            self._refuse(f"{name} is a list of type {kind}; expected numbers or strings", self._at - 12)
        self._check(count, number.size, f"numbers in {name}")
        if keep and count > _MOST_NUMBERS:
            self._refuse(f"found {count} numbers in {name}; expected at most {_MOST_NUMBERS}", self._at - 8)
        block = self._bytes(count * number.size, name) if keep else self._skip(count * number.size, name)
        return [value for (value,) in number.iter_unpack(block)]

    def _scalar(self, kind: int, name: str, keep: bool) -> Any:
        if kind == _STRING:
            return self._string(name, keep)
        number = self._numbers.get(kind)
        if number is None:
            self._refuse(f"{name} has type {kind}; expected 0 to {max(_NUMBERS)}", self._at - 4)
        return self._number(number, name)

    def _number(self, number: Struct, what: str) -> Any:
        return number.unpack(self._bytes(number.size, what))[0]

    def _string(self, what: str, keep: bool) -> bytes:
        count = self._number(self._u64, f"the length of {what}")
        if not keep:
            return self._skip(count, what)
        self._kept += count
        if count <= self._size - self._at and self._kept > _MOST_BYTES:
            problem = f"{what} has {count} bytes, which makes more than {_MOST_BYTES} in all strings"
            self._refuse(f"{problem}; expected a smaller vocabulary", self._at - 8)
        return self._bytes(count, what)

    def _bytes(self, count: int, what: str) -> bytes:
        start = self._move(count, what)
        data = self._file.read(count)
        if len(data) < count:
            self._refuse(f"{what} takes {count} bytes, but the file was truncated while it was read", start)
        return data

    def _skip(self, count: int, what: str) -> bytes:
        self._move(count, what)
        self._file.seek(count, os.SEEK_CUR)
        return b""

    def _move(self, count: int, what: str) -> int:
        """Move forward by a number of bytes, and return the position of the first one."""
        start, left = self._at, self._size - self._at
        if count > left:
            self._refuse(f"{what} takes {count} bytes, but the file ends after {left}; expected a whole file", start)
        self._at += count
        return start

    def _check(self, count: int, size: int, what: str) -> None:
        """Refuse a count of items of `size` bytes that do not fit the rest of the file."""
        left = self._size - self._at
        if count * size > left:
            self._refuse(f"found {count} {what}, but {left} bytes are left; expected a whole file", self._at - 8)

    def _refuse(self, problem: str, at: int) -> NoReturn:
        raise VocabularyError(problem, path=self._path, place=f"byte {at}")


def _shown(name: bytes) -> str:
    return repr(name[:60].decode("utf-8", "backslashreplace"))
