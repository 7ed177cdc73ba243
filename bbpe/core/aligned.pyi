from collections.abc import Sequence
from typing import Self

import numpy as np
import numpy.typing as npt

from ..text import Buffer, Text
from .piped import Call, Piped
from .split import Splitter

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
        known: Sequence[bytes] = (),
    ) -> Self: ...

class SpanTrims:
    def __new__(
        cls,
        blanks: npt.NDArray[np.uint32],
        keeps_first: Sequence[bool],
        is_added: npt.NDArray[np.uint8],
    ) -> Self: ...
    def trim(self, data: Buffer, ids: npt.NDArray[np.uint32], spans: npt.NDArray[np.int64]) -> None: ...

def encode_aligned(
    piped: Piped,
    lengths: TokenLengths,
    text: Text,
    call: Call,
    trims: SpanTrims | None = None,
    *,
    unit: str = "byte",
    has_words: bool = False,
    splitter: Splitter | None = None,
) -> tuple[list[int], npt.NDArray[np.int64], list[int]]: ...
