import numpy as np
import numpy.typing as npt

from ..text import Text

def most_ids(text: Text, length: int) -> int: ...
def extent(texts: list[Text], ends: npt.NDArray[np.int64]) -> tuple[int, int]: ...
