from collections.abc import Mapping, Sequence
from typing import Self, final

import numpy as np
import numpy.typing as npt

from ..text import Text
from .column import Texts
from .encoder import Encoder
from .matcher import Policy, TokenLevels
from .normalizer import Normalizer
from .pre_tokenizer import PreTokenizer

class Codes:
    def __new__(cls, opens: bytes, closes: bytes, tokens: Mapping[int, bytes], unknown: int) -> Self: ...

class Pipeline:
    pre_tokenizer: PreTokenizer | None
    def __new__(
        cls,
        *,
        prefix: bytes = b"",
        prefix_first: bool = False,
        finds_head: bool = False,
        unmarks: bool = False,
        unmarks_pretokens: bool = False,
        replaces_invalid: bool = False,
        normalizer: Normalizer | None = None,
        pre_tokenizer: PreTokenizer | None = None,
        fused: int | None = None,
        codes: Codes | None = None,
    ) -> Self: ...
    def splitting(self, pre_tokenizer: PreTokenizer) -> Pipeline: ...

class Dropout:
    def __new__(cls, probability: float, seed: int) -> Self: ...

@final
class Call:
    encoder: Encoder
    is_plain: bool
    is_divided: bool
    def __new__(
        cls,
        encoder: Encoder,
        pipeline: Pipeline,
        *,
        tokens: Policy | None = None,
        normalized: Policy | None = None,
        refused: Policy | None = None,
        before: Sequence[int] = (),
        after: Sequence[int] = (),
        dropout: Dropout | None = None,
        levels: TokenLevels | None = None,
    ) -> Self: ...
    def to_list(self, text: Text) -> list[int]: ...
    def to_array(self, text: Text) -> npt.NDArray[np.uint32]: ...
    def count(self, text: Text, limit: int | None = None) -> int: ...
    def lists(
        self,
        texts: Texts,
        start: int,
        end: int,
        share: int,
        worker: int = 0,
        is_all: bool = False,
    ) -> list[list[int]]: ...
    def rows(
        self,
        texts: Texts,
        start: int,
        end: int,
        keeps: bool,
        share: int,
        worker: int = 0,
    ) -> tuple[list[npt.NDArray[np.uint32]], npt.NDArray[np.int64]]: ...
    def parts(self, text: Text) -> list[tuple[list[bytes], int | None, bytes]]: ...
