import numpy as np
import numpy.typing as npt

from ..normalize import Text

def extent(texts: list[Text], ends: npt.NDArray[np.int64] | None = None) -> tuple[int, int]: ...
