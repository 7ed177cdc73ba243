"""The metadata of a GGUF file: named values before the tensors, which are not looked at.

Every length is checked against what is left of the file before anything is read or made, so that a file of
a few bytes cannot ask for gigabytes.  Versions 2 and 3 of the format, in either byte order; written after
its description (`docs/gguf.md` of ggml).
"""

from __future__ import annotations

import mmap
from collections.abc import Callable
from pathlib import Path
from struct import Struct
from typing import Any, NoReturn

from ..errors import VocabularyError
from ..files import StrPath

_STRING, _ARRAY = 8, 9
# the `struct` code of each kind of number
_NUMBERS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
_LONGEST_KEY = (1 << 16) - 1
# in a list: strings are walked through one by one, and numbers that are kept become as many objects
_MOST_STRINGS, _MOST_NUMBERS = 1 << 22, 1 << 21


def read_metadata(path: StrPath, wanted: Callable[[str], bool]) -> dict[str, Any]:
    """Return the values of a GGUF file whose names are wanted: numbers, bools, strings as `bytes`, lists of these.

    Raises `VocabularyError` with the byte where the file is no GGUF file, ends too early, or repeats a name.
    """
    with Path(path).open("rb") as file:
        if not file.read(1):
            raise VocabularyError("found an empty file; expected a GGUF file", path=path)
        with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            return _Walk(data, path).values(wanted)


class _Walk:
    """A place in the file that moves on, and never behind the end."""

    def __init__(self, data: mmap.mmap, path: StrPath) -> None:
        self._data, self._path, self._at, self._size = data, path, 0, len(data)
        self._numbers: dict[int, Struct] = {}
        self._order("<")

    def _order(self, order: str) -> None:
        self._numbers = {kind: Struct(order + code) for kind, code in _NUMBERS.items()}
        self._u32, self._u64 = self._numbers[4], self._numbers[10]

    def values(self, wanted: Callable[[str], bool]) -> dict[str, Any]:
        if self._bytes(4, "the letters GGUF") != b"GGUF":
            self._refuse("expected a file that begins with GGUF", 0)
        version = self._number(self._u32, "the version")
        if version & 0xFFFF == 0:  # the bytes of 2 or 3 the other way round
            self._order(">")
            version = int.from_bytes(version.to_bytes(4, "little"), "big")
        if version not in (2, 3):
            self._refuse(f"found version {version}; expected 2 or 3", 4)
        self._number(self._u64, "the number of tensors")
        count = self._number(self._u64, "the number of values")
        # a name of one byte, a kind and a value of one byte are 14
        self._check(count, 14, "values")
        found: dict[str, Any] = {}
        names: set[bytes] = set()
        for _ in range(count):
            start = self._at
            raw = self._string("a name")
            if raw in names:
                self._refuse(f"{_shown(raw)} stands twice; expected each name once", start)
            if len(raw) > _LONGEST_KEY:
                self._refuse(f"found a name of {len(raw)} bytes; expected at most {_LONGEST_KEY}", start)
            names.add(raw)
            name = raw.decode("utf-8", "backslashreplace")
            value = self._value(name, wanted(name))
            if wanted(name):
                found[name] = value
        return found

    def _value(self, name: str, keep: bool) -> Any:
        kind = self._number(self._u32, f"the kind of {name}")
        if kind != _ARRAY:
            return self._scalar(kind, name)
        kind = self._number(self._u32, f"the kind of what is in {name}")
        count = self._number(self._u64, f"the length of {name}")
        if kind == _STRING:
            self._check(count, 8, f"strings in {name}")
            if count > _MOST_STRINGS:
                self._refuse(f"found {count} strings in {name}; expected at most {_MOST_STRINGS}", self._at - 8)
            strings = (self._string(name) for _ in range(count))
            if keep:
                return list(strings)
            for _ in strings:
                pass
            return None
        number = self._numbers.get(kind)
        if number is None:
            self._refuse(f"{name} is a list of kind {kind}; expected numbers or strings", self._at - 12)
        self._check(count, number.size, f"numbers in {name}")
        if keep and count > _MOST_NUMBERS:
            self._refuse(f"found {count} numbers in {name}; expected at most {_MOST_NUMBERS}", self._at - 8)
        block = self._bytes(count * number.size, name) if keep else self._skip(count * number.size)
        return [value for (value,) in number.iter_unpack(block)]

    def _scalar(self, kind: int, name: str) -> Any:
        if kind == _STRING:
            return self._string(name)
        number = self._numbers.get(kind)
        if number is None:
            self._refuse(f"{name} is of kind {kind}; expected 0 to {max(_NUMBERS)}", self._at - 4)
        return self._number(number, name)

    def _number(self, number: Struct, what: str) -> Any:
        return number.unpack(self._bytes(number.size, what))[0]

    def _string(self, what: str) -> bytes:
        return self._bytes(self._number(self._u64, f"the length of {what}"), what)

    def _bytes(self, count: int, what: str) -> bytes:
        start, end = self._at, self._at + count
        if end > self._size:
            left = self._size - start
            self._refuse(f"{what} takes {count} bytes, and the file ends after {left}; expected a whole file", start)
        self._at = end
        return self._data[start:end]

    def _skip(self, count: int) -> bytes:
        self._at += count
        return b""

    def _check(self, count: int, size: int, what: str) -> None:
        """Refuse a number of things that the rest of the file has no room for."""
        left = self._size - self._at
        if count * size > left:
            self._refuse(f"found {count} {what}, and {left} bytes are left; expected a whole file", self._at - 8)

    def _refuse(self, problem: str, at: int) -> NoReturn:
        raise VocabularyError(problem, path=self._path, place=f"byte {at}")


def _shown(name: bytes) -> str:
    return repr(name[:60].decode("utf-8", "backslashreplace"))
