from collections.abc import Callable, Iterator

import numpy as np
import numpy.typing as npt

from ..normalize import Text

def gather(
    texts: Iterator[Text], limit: int, convert: Callable[[Text], bytes | memoryview]
) -> tuple[bytes, npt.NDArray[np.int64]]: ...
def hashes(data: npt.NDArray[np.uint8], offsets: npt.NDArray[np.int64]) -> npt.NDArray[np.uint64]: ...
def take(
    data: npt.NDArray[np.uint8], offsets: npt.NDArray[np.int64], order: npt.NDArray[np.int64]
) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.int64]]: ...
def sum_rows(
    data: npt.NDArray[np.uint8], offsets: npt.NDArray[np.int64], counts: npt.NDArray[np.uint64]
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.uint64]]: ...
def trim() -> None: ...
