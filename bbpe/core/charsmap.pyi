from collections.abc import Iterable, Sequence
from typing import Self

from ..text import Text

class SentencePieceNormalizer:
    def __new__(
        cls,
        table: bytes,
        marked: str | None,
        kept: Iterable[str],
        *,
        unmarks: bool,
        squeezes: bool = False,
        prepends: bool = False,
        begins: bool = False,
        appends: bool = False,
    ) -> Self: ...
    def apply(self, text: Text) -> bytes: ...
    def apply_all(self, texts: Sequence[Text]) -> list[bytes]: ...
