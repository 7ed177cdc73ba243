from array import array
from typing import Self

import numpy as np
import numpy.typing as npt

from ..text import Buffer, Text
from .column import Texts
from .model import Model
from .parts import Parts
from .split import Splitter
from .states import States

SHORT_TEXT: int

class Encoder:
    model: Model
    splitter: Splitter | None
    states: States
    def __new__(cls, model: Model, splitter: Splitter | None = None, id_count: int = 0) -> Self: ...
    def to_array(self, text: Text) -> npt.NDArray[np.uint32]: ...
    def encode_given(self, data: Buffer, ends: npt.NDArray[np.int64] | array[int]) -> npt.NDArray[np.uint32]: ...
    def cut(self, text: Text, start: int, window: int) -> int: ...
    def cuts(self, text: Text, chunk: int) -> npt.NDArray[np.int64]: ...
    def encode_parts(self, text: Text, cuts: npt.NDArray[np.int64] | array[int], parts: Parts, worker: int) -> None: ...
    def encode_row_parts(
        self,
        texts: Texts,
        marks: npt.NDArray[np.int64] | array[int],
        lengths: npt.NDArray[np.int64],
        parts: Parts,
        worker: int,
    ) -> None: ...
    def to_list(self, ids: npt.NDArray[np.uint32] | array[int]) -> list[int]: ...
