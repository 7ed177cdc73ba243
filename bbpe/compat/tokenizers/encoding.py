"""The result of a view for `tokenizers`: the interface of its `Encoding`, computed when it is asked for."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple, Protocol, TypeAlias

from ...records import flag, kind, whole
from ...spec.rules import RowSide

#: The highest id, and the highest type id.
_HIGHEST = 2**32 - 1
Span: TypeAlias = tuple[int, int]


class EncodedText(Protocol):
    """A text whose ids are in an encoding; the arguments select some of its ids."""

    def tokens(self, ids: list[int], start: int, stop: int) -> list[str]:
        """Return the tokens of ids."""

    def offsets(self, start: int, stop: int) -> list[Span]:
        """Return the spans of the text that ids come from."""

    def words(self, start: int, stop: int) -> list[int | None]:
        """Return the numbers of the words that ids are in."""

    def at(self, character: int, start: int, stop: int) -> int | None:
        """Return the first of some ids that comes from a character; `None` if none does."""


class EncodingPart(NamedTuple):
    """Neighbours in an encoding: the ids `start` to `stop` of a source, or as many ids of a template or of padding."""

    source: EncodedText | None
    start: int
    stop: int
    type_id: int = 0
    token: str = ""
    attention: int = 1
    special: int = 0

    @classmethod
    def added(cls, token: str, count: int, type_id: int, attention: int) -> EncodingPart:
        """Return ids of a template, or of padding, which have no text."""
        return cls(None, 0, count, type_id, token, attention, 1)

    def tokens(self, ids: list[int]) -> list[str]:
        """Return the tokens of its ids."""
        if self.source is None:
            return [self.token] * len(ids)
        return self.source.tokens(ids, self.start, self.stop)

    def offsets(self) -> list[Span]:
        """Return the spans of its ids."""
        if self.source is None:
            return [(0, 0)] * (self.stop - self.start)
        return self.source.offsets(self.start, self.stop)

    def words(self) -> list[int | None]:
        """Return the numbers of the words of its ids."""
        if self.source is None:
            return [None] * (self.stop - self.start)
        return self.source.words(self.start, self.stop)


class KnownText:
    """An encoded text whose tokens, places and words are known."""

    def __init__(self, tokens: list[str], spans: list[Span], words: list[int | None]) -> None:
        self._tokens, self._spans, self._words = tokens, spans, words

    def tokens(self, ids: list[int], start: int, stop: int) -> list[str]:
        """Return the tokens of ids."""
        return self._tokens[start:stop]

    def offsets(self, start: int, stop: int) -> list[Span]:
        """Return the spans of the text that ids come from."""
        return self._spans[start:stop]

    def words(self, start: int, stop: int) -> list[int | None]:
        """Return the numbers of the words that ids are in."""
        return self._words[start:stop]

    def at(self, character: int, start: int, stop: int) -> int | None:
        """Return the first of some ids that comes from a character."""
        return first_at(self._spans, character, start, stop)


def first_at(spans: Sequence[Span], character: int, start: int, stop: int) -> int | None:
    """Return the first of the spans from `start` to `stop` that has a character; `None` if none has."""
    return next((number for number in range(start, stop) if spans[number][0] <= character < spans[number][1]), None)


class Encoding:
    """The ids of a text or a pair of texts, with the interface of `tokenizers.Encoding`.

    The ids are computed at once.  Tokens, offsets and words are computed when they are first asked for; `overflowing`
    has the rows in which a truncated text continues.

    Example:
        >>> encoding = bbpe.train_from_iterator(["low lower"], vocab_size=258).as_tokenizers().encode("low low")
        >>> encoding.ids, encoding.tokens, encoding.offsets, encoding.word_ids
        ([257, 220, 257], ['low', 'Ġ', 'low'], [(0, 3), (3, 4), (4, 7)], [0, 1, 1])
    """

    __slots__ = ("_ids", "_parts", "_ranges", "overflowing")

    def __init__(
        self,
        ids: Iterable[int] = (),
        parts: Iterable[EncodingPart] = (),
        ranges: dict[int, Span] | None = None,
        overflowing: Iterable[Encoding] = (),
    ) -> None:
        self._ids, self._parts, self._ranges = list(ids), list(parts), ranges or {}
        #: The rows in which a truncated text continues.
        self.overflowing: list[Encoding] = list(overflowing)

    @classmethod
    def of(
        cls, ids: list[int], parts: list[EncodingPart], ranges: dict[int, Span], overflowing: list[Encoding]
    ) -> Encoding:
        """Return an encoding that keeps its arguments, which nothing else may change."""
        made: Encoding = object.__new__(cls)
        made._ids, made._parts, made._ranges, made.overflowing = ids, parts, ranges, overflowing
        return made

    # -- lists, one item for each id -------------------------------------------------------------------------

    @property
    def ids(self) -> list[int]:
        """The ids."""
        return self._ids.copy()

    @property
    def type_ids(self) -> list[int]:
        """The type of each id by the template, such as 1 for the second text of a pair."""
        return self._spread(lambda part: part.type_id)

    @property
    def attention_mask(self) -> list[int]:
        """1, or 0 at padding."""
        return self._spread(lambda part: part.attention)

    @property
    def special_tokens_mask(self) -> list[int]:
        """1 at ids of the template and at padding, 0 at ids of a text."""
        return self._spread(lambda part: part.special)

    @property
    def tokens(self) -> list[str]:
        """The tokens, as the vocabulary writes them."""
        found, done = list[str](), 0
        for part in self._parts:
            count = part.stop - part.start
            found += part.tokens(self._ids[done : done + count])
            done += count
        return found

    @property
    def offsets(self) -> list[Span]:
        """The span of its text that each id comes from, in characters; (0, 0) for ids of the template and padding."""
        return [span for part in self._parts for span in part.offsets()]

    @property
    def word_ids(self) -> list[int | None]:
        """The number of the word in its text that each id is in; None for ids of the template and padding."""
        return [word for part in self._parts for word in part.words()]

    @property
    def words(self) -> list[int | None]:
        """The old name of `word_ids`."""
        warnings.warn("Encoding.words is an old name; use Encoding.word_ids", DeprecationWarning, stacklevel=2)
        return self.word_ids

    @property
    def sequence_ids(self) -> list[int | None]:
        """The number of the text that each id comes from; None for ids of the template and padding."""
        found: list[int | None] = [None] * len(self)
        for number in range(self.n_sequences):
            start, stop = self._range(number)
            found[start:stop] = [number] * (stop - start)
        return found

    @property
    def n_sequences(self) -> int:
        """The number of texts: 1, or 2 for a pair."""
        return len(self._ranges) or 1

    def __len__(self) -> int:
        return len(self._ids)

    @property
    def parts(self) -> Sequence[EncodingPart]:
        """The ids in parts that have one source each."""
        return self._parts

    def _spread(self, value: Callable[[EncodingPart], int]) -> list[int]:
        if len(self._parts) == 1:
            return [value(self._parts[0])] * len(self._ids)
        return [each for part in self._parts for each in [value(part)] * (part.stop - part.start)]

    def _range(self, sequence: int) -> Span:
        return self._ranges.get(whole("sequence_index", sequence, 0), (0, len(self)))

    # -- between characters, words and ids -------------------------------------------------------------------

    def char_to_token(self, char_pos: int, sequence_index: int = 0) -> int | None:
        """Return the index of the id that has a character of a text; None if there is none."""
        char_pos, (start, stop) = whole("char_pos", char_pos, 0), self._range(sequence_index)
        done = 0
        for part in self._parts:
            first, last = max(start - done, 0), min(stop - done, part.stop - part.start)
            if part.source is not None and first < last:
                found = part.source.at(char_pos, part.start + first, part.start + last)
                if found is not None:
                    return done + found - part.start
            done += part.stop - part.start
        return None

    def char_to_word(self, char_pos: int, sequence_index: int = 0) -> int | None:
        """Return the number of the word that has a character of a text; None if there is none."""
        token = self.char_to_token(char_pos, sequence_index)
        return None if token is None else self.token_to_word(token)

    def token_to_chars(self, token_index: int) -> Span | None:
        """Return the span of an id in its text; None for ids of the template and padding."""
        in_text = self.token_to_sequence(token_index) is not None and token_index < len(self)
        return self.offsets[token_index] if in_text else None

    def token_to_sequence(self, token_index: int) -> int | None:
        """Return the number of the text of an id; None for ids of the template and padding."""
        if whole("token_index", token_index, 0) > len(self):
            return None
        if not self._ranges:
            return 0
        found = (number for number, (start, stop) in self._ranges.items() if start <= token_index < stop)
        return next(found, None)

    def token_to_word(self, token_index: int) -> int | None:
        """Return the number of the word of an id in its text; None for ids of the template and padding."""
        in_text = self.token_to_sequence(token_index) is not None and token_index < len(self)
        return self.word_ids[token_index] if in_text else None

    def word_to_tokens(self, word_index: int, sequence_index: int = 0) -> Span | None:
        """Return the first index of the ids of a word, and the index after the last; None if it has none."""
        word_index, (start, stop) = whole("word_index", word_index, 0), self._range(sequence_index)
        found = [number for number, word in enumerate(self.word_ids[start:stop], start) if word == word_index]
        return (found[0], found[-1] + 1) if found else None

    def word_to_chars(self, word_index: int, sequence_index: int = 0) -> Span | None:
        """Return the span of a word in its text; None if it has no ids."""
        tokens = self.word_to_tokens(word_index, sequence_index)
        return None if tokens is None else (self.offsets[tokens[0]][0], self.offsets[tokens[1] - 1][1])

    # -- changes ---------------------------------------------------------------------------------------------

    def set_sequence_id(self, sequence_id: int) -> None:
        """Make all ids those of one text."""
        self._ranges[whole("sequence_id", sequence_id, 0)] = (0, len(self))

    def pad(
        self,
        length: int,
        direction: RowSide = "right",
        pad_id: int = 0,
        pad_type_id: int = 0,
        pad_token: str = "[PAD]",
    ) -> None:
        """Add padding up to a length, also to the overflowing rows.

        Args:
            length: The number of ids afterwards; a longer row does not change.
            direction: The side of the padding, "right" or "left".
            pad_id: The id of padding.
            pad_type_id: The type id of padding.
            pad_token: The token of padding.

        Raises:
            TypeError: An argument has the wrong type.
            ValueError: The direction is unknown, or a number is negative or no uint32.
        """
        pad_id, pad_type_id = checked_pad(direction, pad_id, pad_type_id, pad_token)
        self.filled(whole("length", length, 0), direction, pad_id, pad_type_id, pad_token)

    def filled(self, length: int, direction: RowSide, pad_id: int, pad_type_id: int, pad_token: str) -> None:
        """Do what `pad` does by arguments that are checked."""
        for row in self.overflowing:
            row.filled(length, direction, pad_id, pad_type_id, pad_token)
        missing = length - len(self)
        if missing <= 0:
            return
        part = EncodingPart.added(pad_token, missing, pad_type_id, 0)
        if direction == "right":
            self._ids += [pad_id] * missing
            self._parts.append(part)
        else:
            self._ids[:0] = [pad_id] * missing
            self._parts.insert(0, part)
            moved = {number: (start + missing, stop + missing) for number, (start, stop) in self._ranges.items()}
            self._ranges = moved

    def truncate(self, max_length: int, stride: int = 0, direction: RowSide = "right") -> None:
        """Shorten to a length; the rest becomes the overflowing rows.

        Args:
            max_length: The most ids.
            stride: The number of ids that each overflowing row repeats.
            direction: The side that loses ids, "right" or "left".

        Raises:
            TypeError: A number is no int.
            ValueError: The direction is unknown, a number is negative, or the stride is not smaller than the length.
        """
        check_direction(direction, "truncation")
        max_length, stride = whole("max_length", max_length, 0), whole("stride", stride, 0)
        if max_length >= len(self):
            return
        kept, *others = [self._slice(*window) for window in windows(len(self), max_length, stride, direction)]
        self._ids, self._parts, self._ranges, self.overflowing = kept._ids, kept._parts, {}, others

    def split(self, max_length: int, stride: int, direction: RowSide) -> list[Encoding]:
        """Return rows of at most `max_length` ids; `truncate` makes the first one of this."""
        if max_length >= len(self):
            return [self]
        return [self._slice(*window) for window in windows(len(self), max_length, stride, direction)]

    def _slice(self, start: int, stop: int) -> Encoding:
        parts, done = list[EncodingPart](), 0
        for part in self._parts:
            count = part.stop - part.start
            first, last = max(start - done, 0), min(stop - done, count)
            if first < last:
                parts.append(part._replace(start=part.start + first, stop=part.start + last))
            done += count
        return Encoding.of(self._ids[start:stop], parts, {}, [])

    @staticmethod
    def merge(encodings: Sequence[Encoding], growing_offsets: bool = True) -> Encoding:
        """Return encodings in one row.

        Args:
            encodings: The encodings, in order.
            growing_offsets: Whether the offsets of each continue those of the one before it.

        Returns:
            The joined encoding; its overflowing rows join the overflowing rows in all ways.
        """
        merged, growing_offsets = Encoding(), flag("growing_offsets", growing_offsets)
        for encoding in encodings:
            merged = merged._with(encoding, growing_offsets)
        return merged

    def _with(self, other: Encoding, grows: bool) -> Encoding:
        rows = [row._with(last, grows) for row in self.overflowing for last in (other, *other.overflowing)]
        rows += [Encoding.of(self._ids, self._parts, self._ranges, [])._with(last, grows) for last in other.overflowing]
        spans = self.offsets[-1:] if grows else []
        moved = {number: (start + len(self), stop + len(self)) for number, (start, stop) in other._ranges.items()}
        parts = _shifted(other, spans[0][1]) if spans and spans[0][1] else other._parts
        return Encoding.of(self._ids + other._ids, self._parts + parts, {**self._ranges, **moved}, rows)

    def replaced(self, type_id: int) -> list[EncodingPart]:
        """Return the parts with another type id."""
        return [part if part.type_id == type_id else part._replace(type_id=type_id) for part in self._parts]

    def __reduce__(self) -> tuple[Any, ...]:
        return Encoding, (self._ids, _shifted(self, 0), self._ranges, self.overflowing)

    def __repr__(self) -> str:
        names = "ids, type_ids, tokens, offsets, attention_mask, special_tokens_mask, overflowing"
        return f"Encoding(num_tokens={len(self)}, attributes=[{names}])"


def _shifted(encoding: Encoding, shift: int) -> list[EncodingPart]:
    """Return parts that no longer need their sources, with spans that begin `shift` characters later."""
    parts, done = list[EncodingPart](), 0
    for part in encoding._parts:
        count = part.stop - part.start
        ids = encoding._ids[done : done + count]
        spans = [(start + shift, stop + shift) for start, stop in part.offsets()]
        if part.source is not None or shift:
            source = KnownText(part.tokens(ids), spans, part.words())
            part = part._replace(source=source, start=0, stop=count)
        parts.append(part)
        done += count
    return parts


def check_direction(direction: str, name: str) -> None:
    """Raise `ValueError` when a direction is neither "left" nor "right"."""
    if direction not in ("left", "right"):
        raise ValueError(f"Invalid {name} direction value : {direction}")


def checked_pad(direction: RowSide, pad_id: int, pad_type_id: int, pad_token: str) -> tuple[int, int]:
    """Return the id and the type id of padding; `TypeError` or `ValueError` that names a wrong option of padding."""
    check_direction(direction, "padding")
    kind("pad_token", pad_token, str, "a str")
    return whole("pad_id", pad_id, 0, _HIGHEST), whole("pad_type_id", pad_type_id, 0, _HIGHEST)


def windows(count: int, most: int, stride: int, direction: RowSide) -> list[Span]:
    """Return the stretches of `count` ids, more than `most`, that rows have: first the one that truncation keeps."""
    if most == 0:
        return [(0, 0), (0, count)]
    if stride >= most:
        raise ValueError(f"stride is {stride}; expected less than {most}, the ids of a text that fit in a row")
    step, found = most - stride, list[Span]()
    for done in range(0, count, step):
        end = min(done + most, count)
        found.append((done, end) if direction == "right" else (count - end, count - done))
        if end == count:
            break
    return found
