from typing import Self

import numpy as np
import numpy.typing as npt

from ..text import Text
from .piped import Call, Piped

VARIES: int

class TokenLengths:
    def __new__(
        cls,
        first: npt.NDArray[np.uint32],
        inside: npt.NDArray[np.uint32],
        *,
        whole: bool = False,
        fuses: bool = False,
        drops: bool = False,
        of_bytes: bool = False,
        known: bytes | None = None,
    ) -> Self: ...

def encode_aligned(
    piped: Piped,
    lengths: TokenLengths,
    text: Text,
    call: Call,
) -> tuple[npt.NDArray[np.uint32], npt.NDArray[np.int64]]: ...
