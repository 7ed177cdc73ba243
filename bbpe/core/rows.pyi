from array import array
from collections.abc import Callable, Iterator
from typing import Self

import numpy as np
import numpy.typing as npt

from ..text import Text

class Block:
    def __new__(cls, size: int) -> Self: ...
    def __buffer__(self, flags: int, /) -> memoryview: ...
    @property
    def is_viewed(self) -> bool: ...

def gather(
    texts: Iterator[Text],
    limit: int,
    convert: Callable[[Text], bytes | memoryview],
) -> tuple[bytes, array[int]]: ...
def hashes(
    data: npt.NDArray[np.uint8] | bytes,
    offsets: npt.NDArray[np.int64] | array[int],
) -> npt.NDArray[np.uint64]: ...
def take(
    data: npt.NDArray[np.uint8] | bytes,
    offsets: npt.NDArray[np.int64] | array[int],
    order: npt.NDArray[np.int64] | array[int],
) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.int64]]: ...
def sum_rows(
    data: npt.NDArray[np.uint8] | bytes,
    offsets: npt.NDArray[np.int64] | array[int],
    counts: npt.NDArray[np.uint64] | array[int],
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.uint64]]: ...
def trim() -> None: ...
