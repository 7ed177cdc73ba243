from ..text import Text
from .encoder import Encoder
from .ids import TokenBytes

def first_part(encoder: Encoder, tokens: TokenBytes, text: Text, limit: int) -> int | None: ...
