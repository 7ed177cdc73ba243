import numpy as np
import numpy.typing as npt

from ..normalize import Text

def extents(texts: list[Text]) -> tuple[npt.NDArray[np.int64], int]: ...
