from array import array
from typing import Self

import numpy as np
import numpy.typing as npt

from .tasks import Tasks

class Parts:
    tasks: Tasks
    def __new__(
        cls,
        bounds: npt.NDArray[np.int64] | array[int],
        length: int,
        threads: int,
        a_unit: int = 1,
    ) -> Self: ...
    def taken(self) -> npt.NDArray[np.uint32]: ...
