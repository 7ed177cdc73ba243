from typing import Self

import numpy as np
import numpy.typing as npt

from ..text import Text
from .call import Call

class LongText:
    def __new__(cls, text: Text, call: Call, chunk: int) -> Self: ...
    def next_section(self) -> int: ...
    def encode(self, part: int, keeps: bool, share: int, worker: int) -> tuple[npt.NDArray[np.uint32] | None, int]: ...
