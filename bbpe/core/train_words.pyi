from collections.abc import Iterable, Sequence
from typing import Self

import numpy as np
import numpy.typing as npt

class WordTrainer:
    def __new__(
        cls,
        words: Iterable[tuple[list[int], int]],
        *,
        score: str,
        min_frequency: int = 1,
        strings: Sequence[bytes] | None = None,
    ) -> Self: ...
    def best(self) -> tuple[int, int, int] | None: ...
    def merge(self, symbol: int) -> None: ...

class FrequencyTrainer:
    def __new__(
        cls,
        symbols: npt.NDArray[np.uint32],
        ends: npt.NDArray[np.int64],
        counts: npt.NDArray[np.uint64],
        *,
        base: int,
        merge_limit: int,
        min_frequency: int = 1,
        strings: Sequence[bytes] | None = None,
    ) -> Self: ...
    @property
    def merge_count(self) -> int: ...
    def merges(self) -> list[tuple[int, int]]: ...
    def merge_counts(self) -> list[int]: ...
    def step(self, visits: int) -> bool: ...
