from array import array
from collections.abc import Callable
from typing import Self

import numpy as np
import numpy.typing as npt

from .count import PretokenTable

TIE_RULES: dict[str, int]

class Trainer:
    def __new__(
        cls,
        table: PretokenTable,
        byte_order: bytes,
        *,
        merge_limit: int,
        tie_break: str,
        min_frequency: int,
        max_token_length: int,
        threshold: int = 0,
        forbids: Callable[[str], object] | None = None,
        base: tuple[npt.NDArray[np.uint8], npt.NDArray[np.int64]] | None = None,
        encode: Callable[[bytes, npt.NDArray[np.int64]], npt.NDArray[np.uint32]] | None = None,
    ) -> Self: ...
    @property
    def merge_count(self) -> int: ...
    @property
    def merge_limit(self) -> int: ...
    def merges(self) -> list[tuple[int, int]]: ...
    def merge_counts(self) -> list[int]: ...
    def tokens(self) -> tuple[bytes, array[int]]: ...
    def step(self, visits: int) -> bool: ...

def merge_memory(table_bytes: int, pretokens: int, merge_limit: int) -> int: ...
