from typing import Self

import numpy as np
import numpy.typing as npt

from ..text import Buffer, Text
from .column import Texts
from .model import Model
from .parts import Parts
from .split import Splitter
from .states import States
from .tasks import Tasks

SHORT_TEXT: int

class Encoder:
    model: Model
    splitter: Splitter | None
    states: States
    def __new__(cls, model: Model, splitter: Splitter | None = None) -> Self: ...
    def encode_list(self, text: Text, before: tuple[int, ...] = (), after: tuple[int, ...] = ()) -> list[int]: ...
    def encode_array(self, text: Text) -> npt.NDArray[np.uint32]: ...
    def encode_given(self, data: Buffer, ends: npt.NDArray[np.int64]) -> npt.NDArray[np.uint32]: ...
    def encode_dropout(
        self,
        data: Buffer,
        ends: npt.NDArray[np.int64],
        dropout: float,
        random: npt.NDArray[np.uint64],
    ) -> npt.NDArray[np.uint32]: ...
    def count(self, text: Text, limit: int | None = None) -> int: ...
    def count_parts(self, text: Text, cuts: npt.NDArray[np.int64], tasks: Tasks, worker: int) -> int: ...
    def count_rows(
        self,
        texts: Texts,
        start: int,
        end: int,
        lengths: npt.NDArray[np.int64],
        share: int,
        worker: int,
    ) -> None: ...
    def cut(self, text: Text, start: int, window: int) -> int: ...
    def cuts(self, text: Text, chunk: int) -> npt.NDArray[np.int64]: ...
    def encode_parts(self, text: Text, cuts: npt.NDArray[np.int64], parts: Parts, worker: int) -> None: ...
    def encode_row_parts(
        self,
        texts: Texts,
        marks: npt.NDArray[np.int64],
        lengths: npt.NDArray[np.int64],
        parts: Parts,
        worker: int,
    ) -> None: ...
    def encode_lists(
        self,
        texts: Texts,
        start: int,
        end: int,
        share: int,
        worker: int = 0,
        is_all: bool = False,
    ) -> list[list[int]]: ...
    def to_list(self, ids: npt.NDArray[np.uint32]) -> list[int]: ...
