from array import array
from typing import Self

import numpy as np
import numpy.typing as npt

_Bytes = npt.NDArray[np.uint8]
_Offsets = npt.NDArray[np.int64]
_Counts = npt.NDArray[np.uint64]
_Floats = npt.NDArray[np.float64]

class Pieces:
    def __new__(cls, data: _Bytes, offsets: _Offsets, scores: _Floats, *, unknown_score: float) -> Self: ...
    def expect(
        self,
        data: _Bytes,
        offsets: _Offsets,
        counts: _Counts,
        first: int,
        end: int,
        expected: _Floats,
    ) -> float: ...
    def count(self, data: _Bytes, offsets: _Offsets, counts: _Counts, first: int, end: int, times: _Floats) -> None: ...
    def losses(self, times: _Floats, first: int, end: int) -> _Floats: ...

def substrings(
    symbols: npt.NDArray[np.uint32] | array[int],
    weights: _Counts,
    depth: int,
) -> tuple[npt.NDArray[np.uint32], npt.NDArray[np.uint32], _Counts]: ...
