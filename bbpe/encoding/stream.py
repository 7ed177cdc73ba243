"""Decode ids to text one at a time."""

from __future__ import annotations

import codecs
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, Literal, NoReturn, Self, TypeAlias

from ..core.ids import TokenBytes
from ..core.stream import FormStream
from ..errors import TokenIdError
from ..lazy import safe_import
from ..pipeline.decoders import ERRORS, DecoderMachine, Token
from ..records import kind
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
            "a DecodeStream has no end, where a model with a table that changes decoded text (denormalizer_spec) may "
            "hold text back; use Tokenizer.stream_decoder(), and its finish()"
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
Stream: TypeAlias = FormStream | MachineStream | MappedStream


class StreamDecoder:
    """Decodes ids one by one; `Tokenizer.stream_decoder` makes it.

    A character is returned with the id that completes it. The time for an id does not depend on how many ids came
    before. The results of all calls of `push` and of `finish`, joined, equal the result of `Tokenizer.decode` for all
    ids; so text that the next id or the end of the text may change is held back. A decoder with a regex that replaces
    text across tokens holds back all of it. A decoder is for one stream, and for one thread at a time. It
    can be copied, but not pickled.

    Example:
        >>> decoder = bbpe.train_from_iterator(["a b"], vocab_size=256).stream_decoder()
        >>> [decoder.push(token_id) for token_id in (64, 127, 102)], decoder.finish()
        (['a', '', 'é'], '')

    """

    __slots__ = {
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
                The characters that the id completes; "" while a character is incomplete.

            Raises:
                TokenIdError: The id is unknown and `unknown_ids` is "raise"; the state of the decoder does not change.

            """

    def __init__(self, stream: Stream) -> None:
        self._start = stream
        self._begin(stream.copy())

    def _begin(self, stream: Stream) -> None:
        self._stream = stream
        self.push = stream.push  # type: ignore[method-assign]

    def finish(self) -> str:
        """End the stream; the decoder can then decode another stream, after the same prompt.

        Returns:
            The rest of the text: an incomplete character as `errors` defines it, or "".

        """
        text = self._stream.finish()
        self._begin(self._start.copy())
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
        kind("ids", ids, Iterable, "an iterable of ids")
        for token_id in ids:
            if text := self.push(token_id):
                yield text
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
