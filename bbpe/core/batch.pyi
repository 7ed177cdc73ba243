import numpy as np
import numpy.typing as npt

from ..text import Text
from .column import Texts

def most_ids(text: Text, length: int) -> int: ...
def extent(texts: Texts, ends: npt.NDArray[np.int64]) -> tuple[int, int]: ...
