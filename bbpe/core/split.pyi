import numpy as np
import numpy.typing as npt

from ..normalize import Buffer

UNICODE_VERSION: str

class Splitter:
    name: str
    def __init__(self, name: str) -> None: ...
    def spans(self, data: Buffer) -> npt.NDArray[np.int64]: ...

def utf8_ends(pretokens: list[str]) -> npt.NDArray[np.int64]: ...
