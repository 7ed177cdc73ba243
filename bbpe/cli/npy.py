"""Ids in .npy files, a block at a time.

The format is that of `numpy.lib.format`, version 1.0.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from bbpe.errors import TokenIdError
from bbpe.files import local_path, replacing
from bbpe.lazy import np, npt
from bbpe.text import counted

_BLOCK = 1 << 16
_HEADER_BYTES = 128
#: The functions of NumPy that read the header of a file, by the version of the file.
_HEADERS = {(1, 0): "read_array_header_1_0", (2, 0): "read_array_header_2_0"}


@contextmanager
def writer(path: str) -> Iterator[Callable[[npt.NDArray[np.uint32]], None]]:
    """Yield a function that appends ids to a uint32 array, which becomes the file `path` at the end of the block.

    Raises `OSError` naming `path`.
    """
    count = 0
    with replacing(path) as file:
        file.write(_header(0))

        def write_ids(ids: npt.NDArray[np.uint32]) -> None:
            nonlocal count
            count += len(ids)
            file.write(ids.astype("<u4").tobytes())

        yield write_ids
        # the length shows only now
        file.seek(0)
        file.write(_header(count))


def blocks(path: str) -> Iterator[npt.NDArray[np.integer]]:
    """Yield the ids of a file in order, some at a time.

    Raises `TokenIdError` naming the file when it holds no one-dimensional array of integers, or not all of it.
    """
    # read, not mapped: a file that somebody cuts off would end the process
    with local_path(path, "arrays of ids are not read from URLs", "copy it to this machine first").open("rb") as file:
        try:
            headers: Any = np.lib.format
            shape, _, dtype = getattr(headers, _HEADERS[headers.read_magic(file)])(file)
        except (ValueError, EOFError, KeyError) as error:
            raise TokenIdError(f"{path}: expected an .npy array of ids: {error}") from error
        if len(shape) != 1 or dtype.kind not in "iu":
            raise TokenIdError(f"{path}: expected an .npy array of integers with one dimension")
        for start in range(0, shape[0], _BLOCK):
            ids = np.fromfile(file, dtype, min(_BLOCK, shape[0] - start))
            if len(ids) < min(_BLOCK, shape[0] - start):
                end = f"{start + len(ids):,} of {counted(shape[0], 'id')}"
                raise TokenIdError(f"{path}: it ends after {end}; expected all of them")
            yield ids


def _header(count: int) -> bytes:
    # padded to a fixed size, so that the length can be written over
    fields = f"{{'descr': '<u4', 'fortran_order': False, 'shape': ({count},), }}".encode()
    size = _HEADER_BYTES - 10
    return b"\x93NUMPY\x01\x00" + size.to_bytes(2, "little") + fields.ljust(size - 1) + b"\n"
