import numpy as np
import numpy.typing as npt

from ..normalize import Buffer
from .bpe import Model
from .split import Splitter

class Encoder:
    model: Model
    splitter: Splitter | None
    def __init__(self, model: Model, splitter: Splitter | None = None) -> None: ...
    def encode_list(self, data: Buffer, ends: npt.NDArray[np.int64] | None = None) -> list[int]: ...
    def encode_array(
        self, data: Buffer, ends: npt.NDArray[np.int64] | None = None
    ) -> npt.NDArray[np.uint32]: ...
