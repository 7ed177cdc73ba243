import numpy as np
import numpy.typing as npt

Bytes = npt.NDArray[np.uint8]
Offsets = npt.NDArray[np.int64]
Counts = npt.NDArray[np.uint64]
Floats = npt.NDArray[np.float64]

class Pieces:
    def __init__(self, data: Bytes, offsets: Offsets, scores: Floats, *, unknown_score: float) -> None: ...
    def expect(
        self, data: Bytes, offsets: Offsets, counts: Counts, first: int, end: int, expected: Floats
    ) -> float: ...
    def count(self, data: Bytes, offsets: Offsets, counts: Counts, first: int, end: int, times: Floats) -> None: ...
    def losses(self, times: Floats, first: int, end: int) -> Floats: ...

def substrings(
    symbols: npt.NDArray[np.uint32], weights: Counts, depth: int
) -> tuple[npt.NDArray[np.uint32], npt.NDArray[np.uint32], Counts]: ...
