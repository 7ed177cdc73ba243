"""Decode ids to text one at a time."""

from __future__ import annotations

import codecs
from collections.abc import Iterable, Iterator
from typing import Literal, TypeAlias

from ..core.ids import TokenBytes
from ..errors import TokenIdError
from .edges import Edges

#: The treatment of unknown ids: raise an error, skip them, or write U+FFFD.
UnknownIds: TypeAlias = Literal["raise", "skip", "mark"]
_MARK = "\ufffd"


class StreamDecoder:
    """Decodes ids one by one; `Tokenizer.stream_decoder` makes it.

    A character is returned with the id that completes it.  The time for an id does not depend on how many ids came
    before.  The results of all calls of `push` and of `finish`, joined, equal the result of `Tokenizer.decode` for all
    ids; so a blank that decoding would remove at the end of the text is held back until the next id.  A decoder is for
    one stream, and for one thread at a time.

    Example:
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
        """Return the text that an id completes.

        Args:
            token_id: The next id.

        Returns:
            The characters that the id completes; "" while a character is incomplete.

        Raises:
            TokenIdError: The id is unknown and `unknown_ids` is "raise"; the state of the decoder does not change.

        """
        try:
            token = (self._first or self._tokens).token(token_id)
        except TokenIdError:
            if self._unknown_ids == "raise":
                raise
            return self._trimmed(self._decoder.decode(b"", final=True) + _MARK) if self._unknown_ids == "mark" else ""
        if token_id in self._skipped:
            return ""
        self._first = None
        text = self._decoder.decode(token)
        if self._edges is None:
            return text
        if token_id == self._edges.unknown:
            self._leading = 0
        return self._trimmed(text)

    def finish(self) -> str:
        """End the stream; the decoder can then decode another stream.

        Returns:
            The rest of the text: an incomplete character as `errors` defines it, or "".

        """
        text = self._trimmed(self._decoder.decode(b"", final=True))
        self._decoder.reset()
        self._begin()
        return text

    def stream(self, ids: Iterable[int]) -> Iterator[str]:
        """Decode all ids of a stream, and end it.

        Args:
            ids: The ids of the stream.

        Yields:
            The text in non-empty pieces.

        Raises:
            TokenIdError: An id is unknown and `unknown_ids` is "raise".

        Example:
            >>> tok = bbpe.train_from_iterator(["a b"], vocab_size=256)
            >>> list(tok.stream_decoder().stream(tok.encode("né")))
            ['n', 'é']

        """
        for token_id in ids:
            if text := self.push(token_id):
                yield text
        if text := self.finish():
            yield text

    def _trimmed(self, text: str) -> str:
        """Remove blanks at the beginning of the whole text, and hold back a blank that may be at its end."""
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
