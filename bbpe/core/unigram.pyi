from collections.abc import Mapping, Sequence
from typing import Self

import numpy as np
import numpy.typing as npt

from .model import Model

class CompiledUnigram(Model):
    def __new__(
        cls,
        vocab: Mapping[int, bytes],
        scores: npt.NDArray[np.float64],
        *,
        unknown_score: float,
        unknown: int | None,
        byte_ids: Sequence[int] = (),
        some_byte_ids: Mapping[int, int] | None = None,
        runs: Mapping[int, bytes] | None = None,
        named: int | None = None,
        is_float: bool,
    ) -> Self: ...
    def best_ways(self, text: bytes, most: int) -> list[tuple[float, list[int]]]: ...
    def drawn_way(self, text: bytes, alpha: float, state: int) -> tuple[list[int], int]: ...

class UnknownBytes(Model):
    def __new__(cls, model: CompiledUnigram, byte_ids: Sequence[int], is_whole: bool, id_count: int) -> Self: ...
