from collections.abc import Callable
from typing import Self

import numpy as np
import numpy.typing as npt

from .places import TextRanges

class Turn:
    ends: tuple[str, ...]
    def __new__(
        cls,
        begins: str,
        opens: str,
        ends: tuple[str, ...],
        next_token: Callable[[str, int, int], tuple[int, int] | None],
    ) -> Self: ...
    def next_header(self, text: str, start: int, stop: int) -> int: ...

class ChatRuns:
    def __new__(cls, runs: tuple[tuple[int, int], ...]) -> Self: ...
    def ranges(self) -> TextRanges: ...
    def learned(self, text: str, chosen: list[bool], turn: Turn, turn_end: bool) -> list[tuple[int, int]]: ...
    def rows(
        self,
        places: npt.NDArray[np.int64],
        spans: list[tuple[int, int]],
    ) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.int32]]: ...

class SpanWriter:
    def __new__(cls, text: str, turn: Turn, turn_end: bool) -> Self: ...
