from typing import Self

import numpy as np
import numpy.typing as npt

from ..splitting.scheme import Scheme
from ..text import Buffer

UNICODE_VERSION: str

class Splitter:
    scheme: Scheme
    isa: str
    specialised: str | None
    def __new__(cls, scheme: Scheme, isa: str = "auto") -> Self: ...
    def spans(self, data: Buffer) -> npt.NDArray[np.int64]: ...
    def count(self, data: Buffer) -> int: ...
    def safe_cut(self, data: Buffer, start: int, window: int = ...) -> int: ...

ISAS: tuple[str, ...]
def utf8_ends(pretokens: list[str]) -> npt.NDArray[np.int64]: ...
