import numpy as np
import numpy.typing as npt

from ..text import Buffer, Text
from .encoder import Encoder
from .ids import TokenBytes

def first_part(encoder: Encoder, tokens: TokenBytes, text: Text, limit: int) -> int | None: ...
def next_parts(
    encoder: Encoder,
    tokens: TokenBytes,
    data: Buffer,
    start: int,
    limit: int,
    parts: npt.NDArray[np.int64],
) -> int: ...
def cluster_before(data: Buffer, start: int, at: int) -> int: ...
def cluster_after(data: Buffer, start: int, most: int) -> int: ...
