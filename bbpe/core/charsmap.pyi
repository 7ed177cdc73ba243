from collections.abc import Iterable, Sequence
from typing import Self

from ..text import Text

class SentencePieceNormalizer:
    def __new__(
        cls,
        table: bytes,
        marked: str | SentencePieceNormalizer | None,
        kept: Iterable[str],
        *,
        unmarks: bool,
        squeezes: bool = False,
        prepends: bool = False,
        begins: bool = False,
        appends: bool = False,
    ) -> Self: ...
    def apply(self, text: Text) -> bytes: ...
    def longest(self, text: bytes, at: int) -> tuple[int, bytes] | None: ...
    def goes_on(self, text: bytes, at: int) -> bool: ...
    def apply_all(self, texts: Sequence[Text]) -> list[bytes]: ...
