from collections.abc import Mapping, Sequence
from typing import Self

from .bpe import CompiledBPE
from .model import Model
from .wordpiece import _BertRules

class WordBPE(Model):
    bpe: CompiledBPE
    def __new__(
        cls,
        bpe: CompiledBPE,
        symbols: Mapping[int, int] | None,
        *,
        begins: bool,
        ends: bool,
        fuses: bool = False,
        unknown: int | None = 0xFE,
        of_bytes: bool = False,
        bert: _BertRules | None = None,
        joins: bool = False,
        blanks: bool = False,
        clip: bool = False,
        spelled: Sequence[int] = (),
    ) -> Self: ...
    @property
    def is_of_bytes(self) -> bool: ...
