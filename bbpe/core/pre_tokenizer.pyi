from array import array
from collections.abc import Sequence
from typing import Any, Self, TypeAlias

import numpy as np
import numpy.typing as npt

_Step: TypeAlias = tuple[Any, ...]

class PreTokenizer:
    steps: tuple[_Step, ...]
    def __new__(cls, steps: Sequence[_Step]) -> Self: ...
    def split(
        self,
        data: bytes | bytearray | memoryview,
        head: int = 1,
    ) -> tuple[bytes | bytearray | memoryview, npt.NDArray[np.int64], npt.NDArray[np.int64]]: ...

class Batches:
    def __new__(cls, steps: PreTokenizer, data: bytes | bytearray | memoryview, limit: int) -> Self: ...
    def next(self) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]] | None: ...

def joined(
    data: bytes | bytearray | memoryview,
    starts: npt.NDArray[np.int64] | array[int] | None,
    ends: npt.NDArray[np.int64] | array[int] | None,
) -> tuple[bytes, npt.NDArray[np.int64]]: ...
