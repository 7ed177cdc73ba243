"""Ids to text as they come, one at a time."""

from __future__ import annotations

import codecs
from collections.abc import Callable, Iterable, Iterator


class StreamDecoder:
    """Decodes ids one by one into the text that is complete so far; made by `Tokenizer.stream_decoder`.

    A character is given out by the id that completes it, never a part of one; an id takes the same time however much
    came before.  What `push` and `finish` return is, joined, what `Tokenizer.decode` returns for all ids.  It belongs
    to one stream, and to one thread at a time.

    >>> decoder = bbpe.train_from_iterator(["a b"], vocab_size=256).stream_decoder()
    >>> [decoder.push(token_id) for token_id in (64, 127, 102)], decoder.finish()
    (['a', '', 'é'], '')
    """

    def __init__(
        self, token: Callable[[int], bytes], errors: str, strip_blanks: int, skipped: frozenset[int] = frozenset()
    ) -> None:
        self._token, self._skipped, self._strip_blanks = token, skipped, strip_blanks
        self._decoder = codecs.getincrementaldecoder("utf-8")(errors)
        self._blanks = strip_blanks

    def push(self, token_id: int) -> str:
        """Return the text that an id completes; `TokenIdError` when no token has it, and nothing changes then."""
        token = self._token(token_id)
        if token_id in self._skipped:
            return ""
        text = self._decoder.decode(token)
        return text if self._blanks == 0 else self._without_blanks(text)

    def finish(self) -> str:
        """Return what an end in the middle of a character leaves, by `errors`; the decoder then begins anew."""
        text = self._decoder.decode(b"", final=True)
        text = text if self._blanks == 0 else self._without_blanks(text)
        self._decoder.reset()
        self._blanks = self._strip_blanks
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

    def _without_blanks(self, text: str) -> str:
        """Leave out blanks at the beginning of the whole text, which encoding has put there."""
        while self._blanks and text:
            if not text.startswith(" "):
                self._blanks = 0
                break
            text, self._blanks = text[1:], self._blanks - 1
        return text
