from array import array
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Self, TypeAlias

import numpy as np
import numpy.typing as npt

from .id_source import _Ids

_Run: TypeAlias = Callable[[Callable[[Any], Any], Iterable[Any]], Iterable[Any]]

class TokenBytes:
    def __new__(cls, vocab: Mapping[int, bytes], specials: Mapping[int, bytes] | None = None) -> Self: ...
    @property
    def id_count(self) -> int: ...
    def token(self, token_id: int) -> bytes: ...
    def spans(self, ids: npt.NDArray[np.uint32] | array[int]) -> npt.NDArray[np.int64]: ...
    def lengths(self, ids: npt.NDArray[np.uint32] | array[int]) -> npt.NDArray[np.int64]: ...
    def join(self, ids: _Ids, run: _Run = ...) -> bytes: ...
    def rows(
        self,
        ids: _Ids,
        starts: npt.NDArray[np.int64] | array[int],
        ends: npt.NDArray[np.int64] | array[int],
        heads: Sequence[bytes] | None = None,
    ) -> tuple[bytes, npt.NDArray[np.int64]]: ...
    def text(self, ids: _Ids, errors: str = "replace", run: _Run = ..., start: int = 0) -> str: ...
    def texts(self, ids: _Ids, offsets: npt.NDArray[np.int64], errors: str = "replace") -> list[str]: ...
    def texts_of(
        self,
        batch: Iterable[_Ids],
        errors: str = "replace",
        starts: Iterable[int] | None = None,
    ) -> list[str]: ...
