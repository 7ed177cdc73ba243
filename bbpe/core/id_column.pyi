from typing import Any

import numpy as np
import numpy.typing as npt

def id_rows(given: object) -> tuple[npt.NDArray[np.integer[Any]], npt.NDArray[np.int64]] | None: ...
