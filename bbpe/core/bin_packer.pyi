from array import array

import numpy as np
import numpy.typing as npt

class BinPacker:
    def __init__(self, n: int, is_best: bool, drops: bool) -> None: ...
    def pack(
        self,
        lengths: npt.NDArray[np.int32] | array[int],
    ) -> tuple[npt.NDArray[np.uint32], npt.NDArray[np.uint16]]: ...
