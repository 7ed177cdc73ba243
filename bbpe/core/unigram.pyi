from array import array
from collections.abc import Mapping, Sequence
from typing import Self

from ..text import Buffer
from .model import Model
from .token_table import TokenTable

class CompiledUnigram(Model):
    def __new__(
        cls,
        vocab: Mapping[int, bytes] | TokenTable,
        scores: array[float] | None,
        *,
        unknown_score: float = 0.0,
        unknown: int | None = None,
        byte_ids: Sequence[int] = (),
        some_byte_ids: Mapping[int, int] | None = None,
        runs: Mapping[int, bytes] | None = None,
        named: int | None = None,
        is_float: bool = False,
        image: Buffer | None = None,
    ) -> Self: ...
    def image(self) -> bytes: ...
    def best_ways(self, text: bytes, most: int) -> list[tuple[float, list[int]]]: ...
    def drawn_way(self, text: bytes, alpha: float, state: int) -> tuple[list[int], int]: ...

class UnknownBytes(Model):
    def __new__(cls, model: CompiledUnigram, byte_ids: Sequence[int], is_whole: bool, id_count: int) -> Self: ...
