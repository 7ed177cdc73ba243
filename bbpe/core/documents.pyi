from array import array
from collections.abc import Sequence
from typing import Self, TypeAlias

import numpy as np
import numpy.typing as npt

from ..text import Buffer
from .encoder import Encoder

_Placed: TypeAlias = tuple[npt.NDArray[np.uint8], npt.NDArray[np.int64]]

class Layout:
    id_size: int
    def __new__(cls, before: Sequence[int], after: Sequence[int], id_size: int) -> Self: ...
    def encode(self, encoder: Encoder, data: Buffer, ends: npt.NDArray[np.int64] | array[int]) -> _Placed: ...
    def place(
        self,
        ids: npt.NDArray[np.uint32] | array[int],
        offsets: npt.NDArray[np.int64] | array[int],
    ) -> _Placed: ...
