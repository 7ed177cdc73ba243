"""The interface of `tokenizers.decoders.DecodeStream` over the streams of bbpe."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from copy import copy
from typing import TYPE_CHECKING, Any, NoReturn

from ...core.stops import StopStream
from ...encoding.stream import stop_strings
from ...lazy import safe_import
from ...records import flag


class DecodeStream:
    """Decodes ids one at a time, with the interface of `tokenizers.decoders.DecodeStream`.

    A stream keeps the tokens that its tokenizer has at the first step.  It takes a tokenizer of `tokenizers`, too, and
    leaves the work to that package then.  Stop strings and `finish` are bbpe's own: a text that may begin a stop string
    is held back, and `finish` returns it when no more ids come.

    Args:
        ids: The ids of a prompt, whose text is not returned.
        skip_special_tokens: Whether to drop special tokens.
        stop: Strings that end the text, as in `bbpe.Tokenizer.stream_decoder`.
        include_stop: Whether the text includes the stop string.

    Example:
        >>> tok = bbpe.train_from_iterator(["a b"], vocab_size=256).as_tokenizers()
        >>> stream = DecodeStream()
        >>> [stream.step(tok, token_id) for token_id in tok.encode("né").ids]
        ['n', None, 'é']
        >>> stream = DecodeStream(stop=["a b"])
        >>> stream.step(tok, tok.encode("see a black dog and a bee").ids), stream.stopped
        ('see ', 'a b')
    """

    __slots__ = {
        "_ended": "The stream that was finished, until the next one begins.",
        "_ids": "The ids of the prompt.",
        "_includes": "Whether the text includes the stop string.",
        "_skips": "Whether to drop special tokens.",
        "_stops": "The stop strings; `None` without.",
        "_stream": "What decodes, from the first step on.",
        "step": "Return the text that an id, or a list of ids, completes.",
    }

    if TYPE_CHECKING:  # the method of the stream, because a method that calls it would double the time for an id

        def step(self, tokenizer: Any, id: int | Sequence[int]) -> str | None:
            """Return the text that an id, or a list of ids, completes.

            Args:
                tokenizer: The tokenizer.
                id: The next id, or the next ids; those after a stop string are left out.

            Returns:
                The text; None while a character is incomplete, or may begin a stop string.

            Raises:
                ValueError: A stop string has come, so the text has ended.

            """

    def __init__(
        self, ids: Sequence[int] | None = None, skip_special_tokens: bool = False, *, stop: Iterable[str] | None = None,
        include_stop: bool = False,
    ) -> None:  # fmt: skip
        # `tokenizers` takes None too
        self._skips = skip_special_tokens is not None and flag("skip_special_tokens", skip_special_tokens)
        self._ids, self._ended = list(ids or ()), None
        self._stops, self._includes = stop_strings(stop), flag("include_stop", include_stop)
        self._continue(None, self._first_step)

    @property
    def stopped(self) -> str | None:
        """The stop string at which the text has ended; `None` before, and without stop strings."""
        stream = self._ended if self._stream is None else self._stream
        return stream.stopped if isinstance(stream, StopStream) else None

    def finish(self) -> str:
        """End the text; the next step begins another one, after the same prompt.

        Returns:
            The text that was held back: an incomplete character, or what may have begun a stop string; or "".

        """
        self._ended = self._stream
        self._continue(None, self._first_step)
        return "" if self._ended is None else self._ended.finish()

    def _first_step(self, tokenizer: Any, id: int | Sequence[int]) -> str | None:
        if self._stream is None:
            self._begin(tokenizer)
        found: str | None = self._stream.step(tokenizer, id)
        return found

    def _begin(self, tokenizer: Any) -> None:
        begin = getattr(tokenizer, "stream_decoder", None)
        decoder = None if begin is None else begin(self._ids, self._skips)
        if decoder is not None:
            stream = decoder._stream
        else:
            safe_import("tokenizers")
            import tokenizers

            inner = getattr(tokenizer, "synchronized", lambda: tokenizer)()
            stream = _Theirs(inner, tokenizers.tokenizers.decoders.DecodeStream(self._ids, self._skips))
        if self._stops is not None:
            stream = StopStream(stream, self._stops, included=self._includes)
        self._continue(stream, stream.step)

    def _continue(self, stream: Any, step: Any) -> None:
        self._stream, self.step = stream, step  # type: ignore[method-assign]

    def __copy__(self, memo: object = None) -> DecodeStream:
        other = DecodeStream(self._ids, self._skips, include_stop=self._includes)
        other._stops, other._ended = self._stops, self._ended
        if self._stream is not None:
            stream = self._stream.copy()
            other._continue(stream, stream.step)
        return other

    __deepcopy__ = __copy__

    def __reduce__(self) -> NoReturn:
        raise TypeError("a DecodeStream cannot be pickled; make one of the ids so far, DecodeStream(ids=ids)")


class _Theirs:
    """A stream of HF for a tokenizer of HF."""

    def __init__(self, tokenizer: Any, stream: Any) -> None:
        self._tokenizer, self._stream = tokenizer, stream

    def step(self, tokenizer: Any, id: int | Sequence[int]) -> str | None:
        """Return the text that an id, or a list of ids, completes."""
        found: str | None = self._stream.step(self._tokenizer, id)
        return found

    def push(self, token_id: int, /) -> str:
        """Return the text that an id completes."""
        return self.step(None, token_id) or ""

    def finish(self) -> str:
        """Return "": a stream of HF has no end, and keeps what is not complete."""
        return ""

    def copy(self) -> _Theirs:
        """Return a stream in the same state."""
        return _Theirs(self._tokenizer, copy(self._stream))
