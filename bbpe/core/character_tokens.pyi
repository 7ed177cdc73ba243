from array import array
from collections.abc import Iterable
from typing import TypeAlias

from ..text import Buffer
from .merge_list import MergeList
from .token_table import TokenTable

_Rows: TypeAlias = tuple[array[int], array[int]]
def character_tokens(
    vocab: TokenTable,
    of_bytes: Buffer,
    unused: Iterable[int],
    order: Buffer | None,
) -> tuple[TokenTable, MergeList, memoryview[int], memoryview[int], _Rows, int]: ...
