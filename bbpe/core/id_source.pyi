from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

Ids: TypeAlias = Sequence[int] | npt.NDArray[np.integer[Any]]

def as_ids(ids: Ids) -> npt.NDArray[np.int64]: ...
def as_int(token_id: object) -> int: ...

class IdSource:
    def __init__(self, ids: Ids) -> None: ...
