from collections.abc import Iterable, Sequence

from ..normalize import Text

class SentencePieceNormalizer:
    def __init__(
        self,
        table: bytes,
        marked: str,
        kept: Iterable[str],
        *,
        unmarks: bool,
        squeezes: bool = False,
        prepends: bool = False,
        begins: bool = False,
    ) -> None: ...
    def apply(self, text: Text) -> bytes: ...
    def apply_all(self, texts: Sequence[Text]) -> list[bytes]: ...
