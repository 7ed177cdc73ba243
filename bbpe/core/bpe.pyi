from array import array
from collections.abc import Mapping, Sequence
from typing import Self

import numpy.typing as npt

from ..text import Buffer
from .merge_list import MergeList
from .model import Model
from .token_table import TokenTable

class CompiledBPE(Model):
    def __new__(
        cls,
        vocab: Mapping[int, bytes] | TokenTable,
        merges: Sequence[tuple[int, int, int]] | None,
        *,
        whole_pretokens: bool = False,
        outputs: tuple[array[int], array[int]] | None = None,
        fixed_merges: int = 0,
        levels: npt.ArrayLike | None = None,
        image: Buffer | None = None,
    ) -> Self: ...
    def image(self) -> bytes: ...
    @property
    def longest(self) -> int: ...
    def live_list(self) -> MergeList: ...
    def live_merges(self) -> tuple[list[tuple[int, int, int]], list[int]]: ...
    def encode_pretoken(self, pretoken: bytes, how: str = "auto") -> list[int]: ...
