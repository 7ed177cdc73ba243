"""Columns of Arrow made by hand with ctypes, right ones and broken ones, which count how often they are released."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any

import numpy as np

Release = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
Fill = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)
LastError = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p)
P = ctypes.c_void_p


class Schema(ctypes.Structure):
    _fields_ = [
        ("format", ctypes.c_char_p), ("name", ctypes.c_char_p), ("metadata", P), ("flags", ctypes.c_int64),
        ("child_count", ctypes.c_int64), ("children", P), ("dictionary", P), ("release", P), ("owner", P),
    ]  # fmt: skip


class Array(ctypes.Structure):
    _fields_ = [
        ("length", ctypes.c_int64), ("null_count", ctypes.c_int64), ("offset", ctypes.c_int64),
        ("buffer_count", ctypes.c_int64), ("child_count", ctypes.c_int64), ("buffers", P), ("children", P),
        ("dictionary", P), ("release", P), ("owner", P),
    ]  # fmt: skip


class Stream(ctypes.Structure):
    _fields_ = [(name, P) for name in ("get_schema", "get_next", "get_last_error", "release", "owner")]


new_capsule = ctypes.pythonapi.PyCapsule_New
new_capsule.restype, new_capsule.argtypes = ctypes.py_object, [P, ctypes.c_char_p, P]


class Column:
    """A column of a format and of buffers, each an array of numpy or None; `released` counts its releases.

    `lists` makes it one of lists with these buffers, whose items are the column above. `dictionary` makes it the
    dictionary of a column with these buffers and this format.
    """

    def __init__(
        self, kind: bytes, buffers: Sequence[Any], length: int, *, nulls: int = -1, offset: int = 0,
        lists: tuple[bytes, list[Any], int] | None = None, dictionary: tuple[bytes, list[Any], int] | None = None,
    ) -> None:  # fmt: skip
        self.kept: list[Any] = []
        self.released = {"schema": 0, "array": 0, "stream": 0}
        schema, array = self._node(kind, buffers, length, nulls, offset)
        for given, is_list in ((lists, True), (dictionary, False)):
            if given is not None:
                outer_schema, outer = self._node(*given, -1, 0)
                if is_list:
                    both = (P * 1)(ctypes.addressof(schema)), (P * 1)(ctypes.addressof(array))
                    self.kept += both
                    outer_schema.child_count = outer.child_count = 1
                    outer_schema.children, outer.children = map(ctypes.addressof, both)
                else:
                    outer_schema.dictionary, outer.dictionary = ctypes.addressof(schema), ctypes.addressof(array)
                schema, array = outer_schema, outer
        self.schema, self.array = schema, array
        self._own(schema, Schema, "schema")
        self._own(array, Array, "array")

    def _node(self, kind: bytes, buffers: Sequence[Any], length: int, nulls: int, offset: int) -> tuple[Schema, Array]:
        pointers = (P * max(len(buffers), 1))(*(None if data is None else data.ctypes.data for data in buffers))
        self.kept += [pointers, list(buffers)]
        schema = Schema(format=kind, name=b"")
        array = Array(length, nulls, offset, len(buffers), 0, ctypes.addressof(pointers))
        self.kept += [schema, array]
        return schema, array

    def _own(self, struct: Any, kind: Any, name: str) -> None:
        def release(address: int) -> None:
            self.released[name] += 1
            kind.from_address(address).release = None

        callback = Release(release)
        self.kept.append(callback)
        struct.release = ctypes.cast(callback, P)

    def __arrow_c_array__(self, requested: object = None) -> tuple[object, object]:
        return (
            new_capsule(ctypes.addressof(self.schema), b"arrow_schema", None),
            new_capsule(ctypes.addressof(self.array), b"arrow_array", None),
        )


class Streamed:
    """The same as a stream of the column `times` times, which then fails with a code if it is not 0."""

    def __init__(self, column: Column, times: int, code: int = 0) -> None:
        self.column, self.left, self.code = column, times, code
        self.callbacks = [Fill(self._schema), Fill(self._next), LastError(lambda _: None)]
        self.stream = Stream(*(ctypes.cast(callback, P) for callback in self.callbacks))
        column._own(self.stream, Stream, "stream")

    def _schema(self, _: int, out: int) -> int:
        ctypes.memmove(out, ctypes.addressof(self.column.schema), ctypes.sizeof(Schema))
        return 0

    def _next(self, _: int, out: int) -> int:
        if self.left == 0:
            return self.code
        self.left -= 1
        ctypes.memmove(out, ctypes.addressof(self.column.array), ctypes.sizeof(Array))
        return 0

    def __arrow_c_stream__(self, requested: object = None) -> object:
        return new_capsule(ctypes.addressof(self.stream), b"arrow_array_stream", None)


def numbers(values: Sequence[int], dtype: str = "i4") -> Any:
    """An array of numpy with nothing after it that an error would not find."""
    return np.array(values, dtype)


def text(data: bytes) -> Any:
    return np.frombuffer(data, np.uint8).copy()
