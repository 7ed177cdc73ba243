from array import array
from collections.abc import Sequence
from typing import Self, TypeAlias

import numpy as np
import numpy.typing as npt

from ..text import Buffer
from .encoder import Encoder
from .id_source import _Ids

_Placed: TypeAlias = tuple[npt.NDArray[np.uint8], npt.NDArray[np.int64]]
def differing_rows(
    ids: _Ids,
    starts: npt.NDArray[np.int64] | array[int],
    ends: npt.NDArray[np.int64] | array[int],
    others: npt.NDArray[np.uint32] | array[int],
    lengths: npt.NDArray[np.int64] | array[int],
) -> npt.NDArray[np.bool_]: ...

class Layout:
    id_size: int
    def __new__(cls, before: Sequence[int], after: Sequence[int], id_size: int) -> Self: ...
    def encode(self, encoder: Encoder, data: Buffer, ends: npt.NDArray[np.int64] | array[int]) -> _Placed: ...
    def place(
        self,
        ids: npt.NDArray[np.uint32] | array[int],
        offsets: npt.NDArray[np.int64] | array[int],
    ) -> _Placed: ...
