"""The changes that decoding makes at the beginning and the end of a text, shared by all decoding methods."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, AnyStr

from ..core.ids import TokenBytes
from ..spec.spec import TokenizerSpec, first_tokens


@dataclass(frozen=True)
class Edges:
    """The rules for the beginning and the end of a text.

    `written` has the bytes of tokens within a text.  `first` has the bytes of the first token, `None` if they are the
    same; for example, a token that continues a word keeps its prefix there.  Decoding then removes up to `leading`
    blanks from the beginning, except blanks in the text of the token `unknown`.  With `ends_words` it also removes the
    blank at the end, which comes from the mark at the end of the last word.
    """

    written: TokenBytes
    first: TokenBytes | None
    leading: int
    unknown: int | None
    ends_words: bool

    def trimmed(self, text: AnyStr, ids: Any) -> AnyStr:
        """Return the final text or bytes of ids; `text` is joined from `written`."""
        text = self.begun(text, ids)
        text = text[self.leading_blanks(ids) :]
        blank = " " if isinstance(text, str) else b" "
        return text[:-1] if self.ends_words and text.endswith(blank) else text

    def begun(self, text: AnyStr, ids: Any) -> AnyStr:
        """Return `text` with the first token replaced by its form at the beginning of a text."""
        if self.first is None or not len(ids):
            return text
        within, begun = self.written.token(ids[0]), self.first.token(ids[0])
        if isinstance(text, str):
            return begun.decode("utf-8", "replace") + text[len(within.decode("utf-8", "replace")) :]
        return begun + text[len(within) :]

    def leading_blanks(self, ids: Any) -> int:
        """Return the number of blanks to remove from the beginning of the text of ids."""
        count = 0
        for token_id in ids if self.leading else ():
            token = b"" if token_id == self.unknown else self.written.token(token_id)
            blanks = len(token) - len(token.lstrip(b" "))
            count += blanks
            if blanks < len(token) or token_id == self.unknown or count >= self.leading:
                break
        return min(count, self.leading)


def edges_of(spec: TokenizerSpec, written: TokenBytes) -> Edges | None:
    """Return the rules of a spec; `None` when a text is simply the concatenation of its tokens."""
    first: Mapping[int, bytes] | None = first_tokens(spec)
    ends_words = spec.characters is not None and bool(spec.characters.end_of_word)
    if first is None and not ends_words and not spec.rules.strip_blanks:
        return None
    begun = None if first is None else TokenBytes(first, {})
    characters = spec.characters
    unknown = None if characters is None or characters.unknown_text is None else characters.unknown
    return Edges(written, begun, spec.rules.strip_blanks, unknown, ends_words)
