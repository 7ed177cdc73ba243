"""Decode ids to text one at a time."""

from __future__ import annotations

import codecs
from collections.abc import Iterable, Iterator
from itertools import accumulate
from operator import index
from typing import TYPE_CHECKING, Any, Literal, NoReturn, Self, TypeAlias, cast

from ..core.ids import TokenBytes
from ..core.stops import StopStream, StopStrings
from ..core.stream import FormStream
from ..errors import TokenIdError
from ..lazy import safe_import
from ..pipeline.decoders import ERRORS, DecoderMachine, Token
from ..records import is_text_or_bytes, kind
from ..spec.decoders import DecoderStep
from .forms import MARK, TokenKeys

#: The treatment of unknown ids: raise an error, skip them, or write U+FFFD.
UnknownIds: TypeAlias = Literal["raise", "skip", "mark"]


class MachineStream:
    """The state of decoding one text by the steps of a decoder; its methods are those of `FormStream`."""

    def __init__(
        self,
        steps: tuple[DecoderStep, ...],
        keys: TokenKeys,
        tokens: TokenBytes,
        errors: str = "replace",
        skipped: bytes | None = None,
        unknown_ids: UnknownIds = "raise",
    ) -> None:
        self._keys, self._tokens, self._skipped, self._unknown_ids = keys, tokens, skipped, unknown_ids
        self._machine, self._errors = DecoderMachine(steps), errors
        self._characters = codecs.getincrementaldecoder("utf-8")(errors)

    def copy(self) -> MachineStream:
        """Return a stream in the same state."""
        safe_import("copy")
        from copy import deepcopy

        other = object.__new__(MachineStream)
        other.__dict__.update(self.__dict__)
        other._machine = deepcopy(self._machine)
        other._characters = codecs.getincrementaldecoder("utf-8")(self._errors)
        other._characters.setstate(self._characters.getstate())
        return other

    def push(self, token_id: int, /) -> str:
        """Return the text that an id completes."""
        return self._characters.decode(self.add(token_id))

    def step(self, tokenizer: object, token_id: Any, /) -> str | None:
        """Return what `push` returns for an id, or for several in order, `None` for ""; `tokenizer` is not used."""
        ids = [token_id] if hasattr(token_id, "__index__") else token_id
        return "".join([self.push(each) for each in ids]) or None

    def finish(self) -> str:
        """Return the rest of the text."""
        return self._characters.decode(self.rest(), final=True)

    def add(self, token_id: int) -> bytes:
        """Return the bytes that an id completes."""
        try:
            self._tokens.token(token_id)
        except TokenIdError:
            if self._unknown_ids == "raise":
                raise
            return self._pushed(MARK) if self._unknown_ids == "mark" else b""
        if self._skipped is not None and self._skipped[token_id]:
            return b""
        return self._pushed(self._keys[int(token_id)])

    def rest(self) -> bytes:
        """Return the bytes of the rest of the text."""
        return self._machine.finish().encode("utf-8", ERRORS)

    @property
    def held_count(self) -> int:
        """The number of bytes that are held and known."""
        return 0

    def _pushed(self, token: Token) -> bytes:
        return self._machine.push(token).encode("utf-8", ERRORS)


class MappedStream:
    """A stream to whose text SentencePiece's table is applied; an end of it that may begin a longer key is held."""

    def __init__(self, stream: Stream, table: bytes, held: str = "") -> None:
        self._stream, self._table, self._held = stream, table, held

    def copy(self) -> MappedStream:
        """Return a stream in the same state."""
        return MappedStream(self._stream.copy(), self._table, self._held)

    def push(self, token_id: int, /) -> str:
        """Return the text that an id completes."""
        return self._mapped(self._stream.push(token_id))

    def step(self, tokenizer: object, token_id: Any, /) -> NoReturn:
        """Refuse a stream that is never finished, and would lose what is held."""
        raise ValueError(
            "programs do not finish a DecodeStream, and would lose text that a model with a table that changes decoded "
            "text (denormalizer_spec) holds back; use Tokenizer.stream_decoder(), and its finish()"
        )

    def finish(self) -> str:
        """Return the rest of the text."""
        return self._mapped(self._stream.finish(), is_whole=True)

    def _mapped(self, text: str, *, is_whole: bool = False) -> str:
        safe_import("bbpe.pipeline.compiled_normalizers")
        from ..pipeline.compiled_normalizers import mapped_parts

        text = self._held + text
        parts = list(mapped_parts(self._table, text, is_whole=is_whole))
        self._held = text[sum(len(found) for found, _ in parts) :]
        return "".join(written for _, written in parts)


#: The state of decoding one text.
Stream: TypeAlias = FormStream | MachineStream | MappedStream | StopStream


def stop_strings(stop: object) -> StopStrings | None:
    """Return strings that end a text, `None` for `None`; an error names a wrong one."""
    if stop is None:
        return None
    if isinstance(stop, str):
        raise TypeError(f"stop is str {stop!r:.40}; expected a list of stop strings: stop=[{stop!r:.40}]")
    kind("stop", stop, Iterable, "a list of stop strings")
    strings = list(cast(Iterable[Any], stop))
    for number, string in enumerate(strings):
        kind(f"stop[{number}]", string, str, "a stop string")
        if not string:
            raise ValueError(f"stop[{number}] is empty, and would end every text; expected one character or more")
    return StopStrings(strings)


class StreamDecoder:
    """Decodes ids one by one; `Tokenizer.stream_decoder` makes it.

    `push` returns a character with the id that completes it. The time for an id does not depend on the number of ids
    before. The results of all calls of `push` and of `finish`, joined, equal `Tokenizer.decode` of all ids. So the
    decoder holds back text that the next id or the end of the text may change. If a tokenizer decodes by a regex that
    replaces text across tokens, it holds back the whole text. Use a decoder for one stream, and in one thread at a
    time. You can copy it, but not pickle it.

    With stop strings the text ends at the first place where a stop string ends; if several end there, the longest
    counts. The result is the same however ids divide the text. The decoder holds back an end of the text that may begin
    a stop string, until the next ids decide. `push` after a stop string is an error.

    Example:
        >>> tok = bbpe.train_from_iterator(["a b"], vocab_size=256)
        >>> decoder = tok.stream_decoder()
        >>> [decoder.push(token_id) for token_id in (64, 127, 102)], decoder.finish()
        (['a', '', 'é'], '')
        >>> decoder = tok.stream_decoder(stop=["</a>", "User:"])
        >>> list(decoder.stream(tok.encode("a < b</a> and more"))), decoder.stopped
        (['a', ' ', '< ', 'b'], '</a>')

    """

    __slots__ = {
        "_ended": "The state at the end of the text before; `None` for the first text.",
        "_start": "The state after the prompt.",
        "_stream": "The state now.",
        "push": "Return the text that an id completes; `TokenIdError` on an unknown id if `unknown_ids` is 'raise'.",
    }

    if TYPE_CHECKING:  # the method of the stream, because a method that calls it would double the time for an id

        def push(self, token_id: int, /) -> str:
            """Return the text that an id completes.

            Args:
                token_id: The next id.

            Returns:
                The characters that the id completes; "" while a character is incomplete, or may begin a stop string.

            Raises:
                TokenIdError: The id is unknown and `unknown_ids` is "raise"; the state of the decoder does not change.
                ValueError: A stop string has come, so the text has ended.

            """

    def __init__(self, stream: Stream) -> None:
        self._start = stream
        self._ended: Stream | None = None
        self._begin(stream.copy())

    def _begin(self, stream: Stream) -> None:
        self._stream = stream
        self.push = stream.push  # type: ignore[method-assign]

    def finish(self) -> str:
        """End the stream; the decoder can then decode another stream, after the same prompt.

        `stopped`, `pushed_count` and `ids_before_stop` stay those of the stream that has ended until the next `push`.

        Returns:
            The rest of the text: an incomplete character as `errors` defines it, or ""; with stop strings also text
            that may have begun one; "" after a stop string.

        """
        text = self._stream.finish()
        self._ended = self._stream
        self._begin(self._start.copy())
        return text

    @property
    def stopped(self) -> str | None:
        """The stop string at which the text has ended; `None` before, and without stop strings."""
        stream = self._stream_of_stops()
        return None if stream is None else stream.stopped

    @property
    def pushed_count(self) -> int:
        """The number of ids that were pushed, the one that completed the stop string included.

        Raises:
            ValueError: The decoder was made without `stop`.

        Example:
            >>> tok = bbpe.train_from_iterator(["a b"], vocab_size=256)
            >>> decoder = tok.stream_decoder(stop=["</a>"])
            >>> text = "".join(decoder.stream(tok.encode("ab</a> and more")))
            >>> text, decoder.pushed_count, tok.decode(decoder.ids_before_stop)
            ('ab', 6, 'ab')

        """
        return len(self._counted().ids)

    @property
    def ids_before_stop(self) -> list[int]:
        """The ids whose text is before the stop string; all pushed ids while there is none.

        `decode` of these ids returns the text before the stop string, or the longest beginning of it that ids can give.
        It is shorter if a token has characters of both the text and the stop string.

        Raises:
            ValueError: The decoder was made without `stop`.

        """
        stream = self._counted()
        count = len(stream.ids) if stream.stopped is None else self._count_before(stream, stream.stopped)
        return list(map(index, stream.ids[:count]))

    def _stream_of_stops(self) -> StopStream | None:
        """Return the stream that has stopped or may stop; it is the one before until the next id."""
        stream = self._stream
        if isinstance(stream, StopStream) and not stream.ids and self._ended is not None:
            stream = self._ended
        return stream if isinstance(stream, StopStream) else None

    def _counted(self) -> StopStream:
        stream = self._stream_of_stops()
        if stream is None:
            problem = "this decoder was made without stop strings, and counts no ids"
            raise ValueError(f"{problem}; expected stream_decoder(stop=[...]), whose list may be empty")
        return stream

    def _count_before(self, stream: StopStream, stopped: str) -> int:
        """Return the number of first ids whose text is a beginning of the text before the stop string."""
        fresh, ids = self._fresh(), stream.ids
        parts = [fresh.push(token_id) for token_id in ids]
        text = "".join(parts)
        if len(text) < stream.read:
            text += fresh.finish()
        before = text[: stream.read - len(stopped)]
        # the text of more ids only grows, but for its end
        ends = list(accumulate(map(len, parts), initial=0))
        counts = [count for count, end in enumerate(ends) if end <= len(before)]
        return next((count for count in reversed(counts) if self._begins(before, ids[:count])), 0)

    def _begins(self, before: str, ids: list[int]) -> bool:
        """Return whether a text begins with that of ids."""
        fresh = self._fresh()
        try:
            return before.startswith("".join([*map(fresh.push, ids), fresh.finish()]))
        except UnicodeDecodeError:  # an incomplete character
            return False

    def _fresh(self) -> Any:
        """Return a stream after the prompt, without stop strings."""
        return cast(StopStream, self._start).inner.copy()

    def stream(self, ids: Iterable[int]) -> Iterator[str]:
        """Decode all ids of a stream, and end it.

        Args:
            ids: The ids of the stream; after a stop string no more of them are taken.

        Yields:
            The text in non-empty pieces.

        Raises:
            TokenIdError: An id is unknown and `unknown_ids` is "raise".

        Example:
            >>> tok = bbpe.train_from_iterator(["a b"], vocab_size=256)
            >>> list(tok.stream_decoder().stream(tok.encode("né")))
            ['n', 'é']

        """
        if is_text_or_bytes(ids):
            raise TypeError(f"ids must be an iterable of ids, not {type(ids).__name__}")
        kind("ids", ids, Iterable, "an iterable of ids")
        for token_id in ids:
            if text := self.push(token_id):
                yield text
            if isinstance(self._stream, StopStream) and self._stream.stopped is not None:
                break
        if text := self.finish():
            yield text

    def copy(self) -> Self:
        """Return a decoder in the same state, for ids that continue the same text in another way.

        Returns:
            A decoder that does not depend on this one.

        Example:
            >>> decoder = bbpe.train_from_iterator(["a b"], vocab_size=256).stream_decoder()
            >>> first, other = decoder.push(127), decoder.copy()
            >>> decoder.push(102), other.push(101)
            ('é', 'è')

        """
        other = type(self)(self._start)
        other._ended = self._ended
        other._begin(self._stream.copy())
        return other

    __copy__ = copy

    def __deepcopy__(self, memo: object) -> Self:
        return self.copy()

    def __reduce__(self) -> NoReturn:
        raise TypeError(
            "a StreamDecoder cannot be pickled, as its state is within a process; pickle the tokenizer and the ids so "
            "far, and go on with tokenizer.stream_decoder(prompt=ids)"
        )
