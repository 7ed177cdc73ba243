from collections.abc import Callable
from typing import Self, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

from .call import Call
from .places import PlacesCall

_Method = TypeVar("_Method", bound=Callable[..., list[int]])
_Batches = TypeVar("_Batches", bound=Callable[..., list[list[int]]])
_WithOffsets = TypeVar("_WithOffsets", bound=Callable[..., tuple[list[int], npt.NDArray[np.int64]]])
_Selection: TypeAlias = str | tuple[str, ...] | frozenset[str]
_Make: TypeAlias = Callable[[_Selection, _Selection, bool], "Call | PlacesCall | None"]

class ShortCalls:
    def __new__(cls, make: _Make) -> Self: ...

def short_first(method: _Method) -> _Method: ...
def places_first(method: _WithOffsets) -> _WithOffsets: ...
def short_batches_first(method: _Batches) -> _Batches: ...
