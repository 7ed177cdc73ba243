from collections.abc import Sequence
from typing import Any, Self, TypeAlias

import numpy as np
import numpy.typing as npt

_Ids: TypeAlias = Sequence[int] | npt.NDArray[np.integer[Any]]
def as_ids(ids: _Ids) -> npt.NDArray[np.int64]: ...
def as_int(token_id: object) -> int: ...

class IdSource:
    def __new__(cls, ids: _Ids) -> Self: ...
