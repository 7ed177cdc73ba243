"""What decoding changes at the beginning and at the end of a text, for every way to decode alike."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, AnyStr

from ..core.ids import TokenBytes
from ..spec.spec import TokenizerSpec, first_tokens


@dataclass(frozen=True)
class Edges:
    """The rules of both ends of a text.

    `written`: the bytes of tokens within a text; `first`: those of the token that begins one, where they differ, as a
    token that continues a word keeps its prefix there.  Then up to `leading` blanks go from the beginning, but none of
    those that the token `unknown` is written with, and with `ends_words` one from the end, which the end of the last
    word has become.
    """

    written: TokenBytes
    first: TokenBytes | None
    leading: int
    unknown: int | None
    ends_words: bool

    def trimmed(self, text: AnyStr, ids: Any) -> AnyStr:
        """Return the text or the bytes of ids, joined from `written`, as decoding gives them."""
        text = self.begun(text, ids)
        text = text[self.leading_blanks(ids) :]
        blank = " " if isinstance(text, str) else b" "
        return text[:-1] if self.ends_words and text.endswith(blank) else text

    def begun(self, text: AnyStr, ids: Any) -> AnyStr:
        """Return the text with its first token as it is written at the beginning."""
        if self.first is None or not len(ids):
            return text
        within, begun = self.written.token(ids[0]), self.first.token(ids[0])
        if isinstance(text, str):
            return begun.decode("utf-8", "replace") + text[len(within.decode("utf-8", "replace")) :]
        return begun + text[len(within) :]

    def leading_blanks(self, ids: Any) -> int:
        """Return how many blanks go from the beginning of the text of ids."""
        count = 0
        for token_id in ids if self.leading else ():
            token = b"" if token_id == self.unknown else self.written.token(token_id)
            blanks = len(token) - len(token.lstrip(b" "))
            count += blanks
            if blanks < len(token) or token_id == self.unknown or count >= self.leading:
                break
        return min(count, self.leading)


def edges_of(spec: TokenizerSpec, written: TokenBytes) -> Edges | None:
    """Return the rules of a spec; `None` when its texts are the bytes of their tokens."""
    first: Mapping[int, bytes] | None = first_tokens(spec)
    ends_words = spec.characters is not None and bool(spec.characters.end_of_word)
    if first is None and not ends_words and not spec.rules.strip_blanks:
        return None
    begun = None if first is None else TokenBytes(first, {})
    characters = spec.characters
    unknown = None if characters is None or characters.unknown_text is None else characters.unknown
    return Edges(written, begun, spec.rules.strip_blanks, unknown, ends_words)
