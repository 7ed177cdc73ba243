from collections.abc import Sequence
from typing import Any, Protocol, Self, TypeAlias

import numpy as np
import numpy.typing as npt

from ..text import Text
from .encoder import Encoder

class _Rules(Protocol):
    @property
    def limit(self) -> int | None: ...
    @property
    def strategy(self) -> str: ...
    @property
    def cut_side(self) -> str: ...
    @property
    def stride(self) -> int | None: ...
    @property
    def pad_id(self) -> int: ...
    @property
    def pad_type_id(self) -> int: ...
    @property
    def side(self) -> str: ...
    @property
    def length(self) -> int: ...
    @property
    def multiple(self) -> int: ...
    @property
    def dtype(self) -> np.dtype[Any]: ...
_Arrays: TypeAlias = tuple[
    npt.NDArray[np.integer[Any]], npt.NDArray[np.bool_], npt.NDArray[np.uint8], npt.NDArray[np.bool_],
    npt.NDArray[np.int64], npt.NDArray[np.int64],
]
def texts_of_pairs(items: list[Text | tuple[Text, Text]]) -> tuple[list[Text], npt.NDArray[np.uint8]] | None: ...
def encode_few(encoder: Encoder, texts: list[Text]) -> tuple[npt.NDArray[np.uint32], npt.NDArray[np.int64]] | None: ...

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
        ids: npt.NDArray[np.uint32],
        offsets: npt.NDArray[np.int64],
        sizes: npt.NDArray[np.uint8] | None,
        adds: bool,
    ) -> tuple[npt.NDArray[np.uint32], npt.NDArray[np.int64]]: ...
    def lists(
        self,
        ids: npt.NDArray[np.uint32],
        offsets: npt.NDArray[np.int64],
        sizes: npt.NDArray[np.uint8] | None,
        adds: bool,
    ) -> list[list[int]]: ...
    def padded(
        self,
        ids: npt.NDArray[np.uint32],
        offsets: npt.NDArray[np.int64],
        sizes: npt.NDArray[np.uint8] | None,
        adds: bool,
        rules: _Rules,
    ) -> _Arrays: ...
