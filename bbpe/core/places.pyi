from array import array
from collections.abc import Callable, Sequence
from typing import Self

import numpy as np
import numpy.typing as npt

from ..text import Buffer, Text
from .call import Call
from .split import Splitter
from .wordpiece import WordPiece

VARIES: int

class TokenLengths:
    def __new__(
        cls,
        first: npt.NDArray[np.uint32] | array[int],
        inside: npt.NDArray[np.uint32] | array[int],
        *,
        whole: bool = False,
        fuses: bool = False,
        drops: bool = False,
        of_bytes: bool = False,
        known: Sequence[bytes] = (),
        unknown: bytes | None = None,
        bert: WordPiece | None = None,
        extents: npt.NDArray[np.uint8] | None = None,
    ) -> Self: ...
    def knows(self, code: int) -> bool: ...

class PlaceTrims:
    def __new__(
        cls,
        blanks: npt.NDArray[np.uint32] | array[int],
        keeps_first: Sequence[bool],
        is_added: npt.NDArray[np.uint8] | bytes,
    ) -> Self: ...
    def trim(self, data: Buffer, ids: npt.NDArray[np.uint32], places: npt.NDArray[np.int64]) -> None: ...

class TextRanges:
    def __new__(cls, ends: npt.NDArray[np.int64] | array[int], levels: npt.NDArray[np.uint8] | bytes) -> Self: ...

class PlacesCall:
    def __new__(
        cls,
        call: Call,
        lengths: TokenLengths,
        trims: PlaceTrims | None = None,
        splitter: Splitter | None = None,
        slow: Callable[[], PlacesCall] | None = None,
    ) -> Self: ...
    def encode(self, text: Text, unit: str) -> tuple[list[int], npt.NDArray[np.int64]]: ...
    def encode_words(
        self,
        text: Text,
        unit: str,
        ranges: TextRanges | None = None,
    ) -> tuple[list[int], npt.NDArray[np.int64], list[int]]: ...
    def encode_ranges(self, text: Text, ranges: TextRanges) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int64]]: ...

def map_places(text: Text, places: npt.NDArray[np.int64], unit: str) -> None: ...
