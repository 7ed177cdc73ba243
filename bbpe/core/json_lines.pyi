import numpy as np
import numpy.typing as npt

from ..text import Buffer

ISAS: tuple[str, ...]
def read_lines(
    data: Buffer,
    at: int,
    field: bytes | tuple[tuple[bytes, ...], ...],
    out: bytearray | memoryview,
    *,
    isa: str = "auto",
) -> tuple[int, int, npt.NDArray[np.int64], npt.NDArray[np.int64], int, int, int]: ...
def find_members(text: bytes, *names: bytes | tuple[bytes, bytes]) -> list[tuple[int, int]] | None: ...
