from array import array
from collections.abc import Callable
from typing import Literal, Self, TypeAlias

import numpy as np
import numpy.typing as npt

from .id_source import _Ids
from .ids import TokenBytes

_UnknownIds: TypeAlias = Literal["raise", "skip", "mark"]
_AtEdge: TypeAlias = Callable[[int | None, bool, bool], bytes]

class Forms:
    within: TokenBytes
    has_first: bool
    has_last: bool
    def __new__(
        cls,
        within: TokenBytes,
        at_edge: _AtEdge,
        *,
        has_first: bool = False,
        has_last: bool = False,
        strip: int = 0,
        content: int = 0x20,
        bare: int = -1,
    ) -> Self: ...
    @property
    def is_plain(self) -> bool: ...
    def begun(self, ids: _Ids, errors: str) -> tuple[str, int]: ...
    def rows(
        self,
        ids: _Ids,
        starts: npt.NDArray[np.int64] | array[int],
        ends: npt.NDArray[np.int64] | array[int],
    ) -> tuple[bytes, npt.NDArray[np.int64]]: ...

class FormStream:
    def __new__(
        cls,
        forms: Forms,
        errors: str = "replace",
        skipped: bytes | None = None,
        unknown_ids: _UnknownIds = "raise",
    ) -> Self: ...
    def copy(self) -> FormStream: ...
    def push(self, token_id: int, /) -> str: ...
    def step(self, tokenizer: object, token_id: object, /) -> str | None: ...
    def finish(self) -> str: ...
    def add(self, token_id: int) -> bytes: ...
    def flush(self) -> bytes: ...
    def rest(self) -> bytes: ...
    @property
    def held_count(self) -> int: ...
    @property
    def is_within(self) -> bool: ...
