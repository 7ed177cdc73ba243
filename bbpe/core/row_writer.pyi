from array import array
from collections.abc import Sequence
from typing import Any, Self, TypeAlias

import numpy as np
import numpy.typing as npt

from ..text import Text
from .column import Texts
from .encoder import Encoder

_Rules: TypeAlias = tuple[int | None, str, str, int | None, int, int, str, int, int, np.dtype[Any]]
def texts_of_pairs(items: list[Text | tuple[Text, Text]]) -> tuple[list[Text], npt.NDArray[np.uint8]] | None: ...

class TextIds:
    @classmethod
    def of(cls, ids: npt.NDArray[np.uint32] | array[int], offsets: npt.NDArray[np.int64] | array[int]) -> TextIds: ...
    @classmethod
    def encoded(cls, encoder: Encoder, texts: Texts) -> TextIds | None: ...
    def arrays(self) -> tuple[npt.NDArray[np.uint32], npt.NDArray[np.int64]]: ...

class RowWriter:
    highest_type: int
    def __new__(
        cls,
        single: Sequence[tuple[int | str, int]],
        pair: Sequence[tuple[int | str, int]],
        id_count: int,
    ) -> Self: ...
    def added(self, pair: bool) -> int: ...
    def join(
        self,
        ids: TextIds,
        sizes: npt.NDArray[np.uint8] | None,
        adds: bool,
    ) -> tuple[npt.NDArray[np.uint32], npt.NDArray[np.int64]]: ...
    def lists(self, ids: TextIds, sizes: npt.NDArray[np.uint8] | None, adds: bool) -> list[list[int]]: ...
    def padded(
        self,
        ids: TextIds,
        sizes: npt.NDArray[np.uint8] | None,
        adds: bool,
        rules: _Rules,
    ) -> tuple[npt.NDArray[np.integer[Any]], npt.NDArray[np.bool_], RowDetails]: ...

class RowDetails:
    @classmethod
    def of(cls, *arrays: npt.NDArray[Any]) -> RowDetails: ...
    def all(self) -> tuple[npt.NDArray[Any], ...]: ...
