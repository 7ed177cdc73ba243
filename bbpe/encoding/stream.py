"""Ids to text as they come, one at a time."""

from __future__ import annotations

import codecs
from collections.abc import Iterable, Iterator
from typing import Literal, TypeAlias

from ..core.ids import TokenBytes
from ..errors import TokenIdError
from .edges import Edges

#: What becomes of an id that no token has.
UnknownIds: TypeAlias = Literal["raise", "skip", "mark"]
_MARK = "\ufffd"


class StreamDecoder:
    """Decodes ids one by one into the text that is complete so far; made by `Tokenizer.stream_decoder`.

    A character is given out by the id that completes it, never a part of one; an id takes the same time however much
    came before.  What `push` and `finish` return is, joined, what `Tokenizer.decode` returns for all ids, so a blank
    that the end of the text would lose waits for the next id.  It belongs to one stream, and to one thread at a time.

    >>> decoder = bbpe.train_from_iterator(["a b"], vocab_size=256).stream_decoder()
    >>> [decoder.push(token_id) for token_id in (64, 127, 102)], decoder.finish()
    (['a', '', 'é'], '')
    """

    def __init__(
        self,
        tokens: TokenBytes,
        edges: Edges | None,
        *,
        errors: str = "replace",
        skipped: frozenset[int] = frozenset(),
        unknown_ids: UnknownIds = "raise",
    ) -> None:
        self._tokens, self._edges, self._skipped, self._unknown_ids = tokens, edges, skipped, unknown_ids
        self._decoder = codecs.getincrementaldecoder("utf-8")(errors)
        self._begin()

    def _begin(self) -> None:
        edges = self._edges
        self._first = None if edges is None else edges.first
        self._leading = 0 if edges is None else edges.leading
        self._held = ""

    def push(self, token_id: int) -> str:
        """Return the text that an id completes; `TokenIdError` when no token has it, and nothing changes then."""
        try:
            token = (self._first or self._tokens).token(token_id)
        except TokenIdError:
            if self._unknown_ids == "raise":
                raise
            return self._given(self._decoder.decode(b"", final=True) + _MARK) if self._unknown_ids == "mark" else ""
        if token_id in self._skipped:
            return ""
        self._first = None
        text = self._decoder.decode(token)
        if self._edges is None:
            return text
        if token_id == self._edges.unknown:
            self._leading = 0
        return self._given(text)

    def finish(self) -> str:
        """Return what an end in the middle of a character leaves, by `errors`; the decoder then begins anew."""
        text = self._given(self._decoder.decode(b"", final=True))
        self._decoder.reset()
        self._begin()
        return text

    def stream(self, ids: Iterable[int]) -> Iterator[str]:
        """Yield the text of ids piece by piece, none of them empty, to the end.

        >>> tok = bbpe.train_from_iterator(["a b"], vocab_size=256)
        >>> list(tok.stream_decoder().stream(tok.encode("né")))
        ['n', 'é']
        """
        for token_id in ids:
            if text := self.push(token_id):
                yield text
        if text := self.finish():
            yield text

    def _given(self, text: str) -> str:
        """Leave out blanks at the beginning of the whole text, and keep back one that may be its end."""
        if self._leading and text:
            count = len(text) - len(text.lstrip(" "))
            self._leading, text = self._leading - count if count == len(text) else 0, text[min(count, self._leading) :]
            self._leading = max(self._leading, 0)
        if self._edges is None or not self._edges.ends_words or not text:
            return text
        text, self._held = self._held + text, ""
        if text.endswith(" "):
            text, self._held = text[:-1], " "
        return text
