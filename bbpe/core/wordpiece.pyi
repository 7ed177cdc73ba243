from collections.abc import Iterable, Mapping
from typing import Protocol, Self

from ..text import Buffer
from .model import Model

class _BertRules(Protocol):
    @property
    def clean_text(self) -> bool: ...
    @property
    def cjk_apart(self) -> bool: ...
    @property
    def strip_accents(self) -> bool: ...
    @property
    def lowercase(self) -> bool: ...
def bert_words(bert: _BertRules, text: bytes, joins: bool = False, blanks: bool = False) -> list[bytes]: ...
def counted_words(
    counts: Iterable[tuple[bytes, int]],
    bert: _BertRules,
    joins: bool,
    blanks: bool = False,
) -> dict[str, int]: ...

class WordPiece(Model):
    def __new__(
        cls,
        vocab: Mapping[int, bytes],
        *,
        unknown: int | None = None,
        prefix: bytes | None = None,
        max_characters: int = 0,
        bert: _BertRules | None = None,
        image: Buffer | None = None,
    ) -> Self: ...
    def image(self) -> bytes: ...
    @property
    def is_bert(self) -> bool: ...
    def encode_pretoken(self, pretoken: bytes, linear: bool = False) -> list[int]: ...
