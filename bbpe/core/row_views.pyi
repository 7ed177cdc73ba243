from array import array
from collections.abc import Callable, Sequence
from typing import Any, final

import numpy as np
import numpy.typing as npt

from .row_order import RowOrder

@final
class PartIds:
    def __init__(
        self,
        ids: npt.NDArray[np.integer[Any]],
        lengths: npt.NDArray[np.int32] | None,
        masks: npt.NDArray[np.uint8] | None,
    ) -> None: ...

class RowMaker:
    parts: list[PartIds | None]
    def __init__(
        self,
        open_part: Callable[[int], PartIds],
        before: npt.NDArray[np.int64] | array[int],
        documents: npt.NDArray[np.int64] | None,
        n: int,
        columns: tuple[str, ...],
        dtype: np.dtype[Any] | None,
        shifted: bool,
    ) -> None: ...
    def rows(self, order: RowOrder, places: Sequence[int]) -> list[dict[str, npt.NDArray[np.integer[Any]]]]: ...

@final
class WindowMaker(RowMaker): ...

@final
class BinMaker(RowMaker):
    def index(
        self,
        table: npt.NDArray[np.uint32] | array[int],
        order: npt.NDArray[np.uint16] | array[int],
        rows_before: npt.NDArray[np.int64] | array[int],
        items_before: npt.NDArray[np.int64] | array[int],
        pad: int,
    ) -> BinMaker: ...
