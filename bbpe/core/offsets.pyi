import numpy as np
import numpy.typing as npt

from ..text import Text

def map_spans(text: Text, spans: npt.NDArray[np.int64], unit: str) -> None: ...
