"""Results of encoding: rows of different lengths, rows of one length, and ids with their offsets."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence, Sized
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Self, SupportsIndex, TypeAlias, overload

from .core.arrow_rows import ArrowRows
from .core.id_column import id_rows
from .lazy import VIEWS, arrow_array, np, npt, safe_import
from .records import check_unmasked, dataclass, field, index_of, kind, whole
from .text import counted

if TYPE_CHECKING:
    from .core.row_writer import RowDetails

#: The units of offsets: characters (indices of a `str`), bytes of UTF-8, or UTF-16 units (JavaScript, Java).
Unit: TypeAlias = Literal["char", "byte", "utf16"]
#: Whose messages of a chat are learned: a role, some roles, or those of which a function says so.
TrainOn: TypeAlias = str | Collection[str] | Callable[[dict[str, Any]], bool]


class Chunk(NamedTuple):
    """A part of a text, as `Tokenizer.chunk` cuts it.

    Attributes:
        start: The index of its beginning, of characters in a `str` and of bytes in bytes.
        end: The index of its end.
        tokens: The number of its tokens when it is encoded alone.
        text: The part itself, a `str` or bytes.
    """

    start: int
    end: int
    tokens: int
    text: str | bytes


@dataclass(frozen=True, eq=False)
class Ragged:
    """The ids of many texts in two flat arrays: row i is `ids[offsets[i]:offsets[i + 1]]`.

    `len`, iteration, `ragged[i]` (uint32[n], a view) and slices (a `Ragged` that shares the memory of the ids) work on
    rows. Two are equal when all their rows are equal.

    Libraries that take columns of Arrow (pyarrow, polars, DuckDB, ...) take one as a column of `list<int32>`, without a
    copy of the ids, or as `large_list` or `uint32` if they ask for it.

    Attributes:
        ids: All rows, one after the other: uint32[total].
        offsets: Where each row begins and ends in `ids`: int64[rows + 1], starting with 0.

    Example:
        >>> ragged = Ragged.from_rows([np.array([1, 2], np.uint32), np.array([], np.uint32)])
        >>> len(ragged), ragged.offsets.tolist(), ragged[0].tolist()
        (2, [0, 2, 2], [1, 2])
    """

    ids: npt.NDArray[np.uint32]
    offsets: npt.NDArray[np.int64]

    @classmethod
    def from_rows(cls, rows: Iterable[npt.NDArray[np.uint32]]) -> Ragged:
        """Join rows.

        Args:
            rows: One array per row, uint32[n] each, or other integers from 0 to 2**32 - 1.

        Returns:
            The rows, copied into two flat arrays.

        Raises:
            TypeError: A row has no integers, or is a masked array.
            OverflowError: An id is negative or does not fit uint32.

        Example:
            >>> Ragged.from_rows([np.array([7], np.uint32)]).offsets.tolist()
            [0, 1]
        """
        kind("rows", rows, Iterable, "an iterable of arrays of ids")
        arrays = [_uint32(row) for row in rows]
        offsets = np.zeros(len(arrays) + 1, dtype=np.int64)
        np.cumsum([len(row) for row in arrays], out=offsets[1:])
        return cls(np.concatenate([np.empty(0, np.uint32), *arrays]), offsets)

    @classmethod
    def concat(cls, parts: Iterable[Ragged]) -> Ragged:
        """Join the rows of several `Ragged`.

        Args:
            parts: The parts, in order.

        Returns:
            All rows, copied.

        Example:
            >>> tok = bbpe.train_from_iterator(["low lower"], vocab_size=258)
            >>> len(Ragged.concat(tok.encode_batch_to_numpy(texts) for texts in (["low"], ["", "lower"])))
            3
        """
        kind("parts", parts, Iterable, "an iterable of Ragged")
        taken = list(parts)
        for part in taken:
            kind("each of parts", part, Ragged, "a Ragged")
        starts = np.cumsum([0, *(len(part.ids) for part in taken)])
        offsets = [part.offsets[1:] + start for part, start in zip(taken, starts.tolist(), strict=False)]
        ids = np.concatenate([np.empty(0, np.uint32), *(part.ids for part in taken)])
        return cls(ids, np.concatenate([np.zeros(1, np.int64), *offsets]))

    @classmethod
    def from_arrow(cls, column: object) -> Ragged:
        """Take a column of Arrow whose rows are lists of ids.

        Args:
            column: A pyarrow Array or ChunkedArray, a polars Series, or any other object that has `__arrow_c_array__`
                or `__arrow_c_stream__`, of lists of integers.

        Returns:
            The rows; they share memory with a column of one chunk and of 32-bit integers.

        Raises:
            TypeError: The object is no such column, or one of its rows is null.
            OverflowError: An id is negative or does not fit uint32.

        Example:
            >>> tok = bbpe.train_from_iterator(["low lower"], vocab_size=258)
            >>> ragged = tok.encode_batch_to_numpy(["low", ""])
            >>> Ragged.from_arrow(ragged.to_arrow()) == ragged
            True
        """
        rows = id_rows(column)
        if rows is None:
            raise TypeError(f"expected a column of Arrow, not {type(column).__name__}")
        ids, offsets = rows
        _check_range(ids)
        return cls(ids.view(np.uint32) if ids.itemsize == 4 else ids.astype(np.uint32), offsets)

    def to_arrow(self, type: Any = None) -> Any:  # noqa: A002 - as in pyarrow.array
        """Return the rows as an array of pyarrow.

        Args:
            type: A type of pyarrow; None is `list_(int32())`. The ids are not copied if their type is int32 or uint32.

        Returns:
            A `pyarrow.ListArray`, or an array of the given type.

        Raises:
            ImportError: pyarrow is not installed.
            OverflowError: There are 2**31 ids or more, or an id that is not below 2**31; such rows fit
                `large_list(uint32())`.

        Example:
            >>> tok = bbpe.train_from_iterator(["low lower"], vocab_size=258)
            >>> tok.encode_batch_to_numpy(["low", "lower"]).to_arrow().to_pylist()
            [[257], [257, 68, 81]]
        """
        try:
            safe_import("pyarrow")
            import pyarrow as pa
        except ImportError as error:
            raise ImportError("to_arrow needs pyarrow; install it with: pip install 'bbpe[data]'") from error
        if type is None:
            return arrow_array(self)
        kind("type", type, pa.DataType, "a type of pyarrow or None")
        is_signed = pa.types.is_list(type) and type.value_type == pa.int32()
        return arrow_array(self, None if is_signed else pa.large_list(pa.uint32())).cast(type)

    def __arrow_c_schema__(self) -> object:
        return ArrowRows(self.ids, self.offsets).schema()

    def __arrow_c_array__(self, requested_schema: object = None) -> tuple[object, object]:
        return ArrowRows(self.ids, self.offsets, requested_schema).array()

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return ArrowRows(self.ids, self.offsets, requested_schema).stream()

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Ragged):
            return NotImplemented
        return np.array_equal(self.offsets, other.offsets) and np.array_equal(self.ids, other.ids)

    def __add__(self, other: object) -> Ragged:
        return Ragged.concat([self, other]) if isinstance(other, Ragged) else NotImplemented

    # arrays can be changed
    __hash__ = None  # type: ignore[assignment]

    @overload
    def __getitem__(self, row: SupportsIndex) -> npt.NDArray[np.uint32]: ...
    @overload
    def __getitem__(self, row: slice) -> Ragged: ...
    def __getitem__(self, row: SupportsIndex | slice) -> npt.NDArray[np.uint32] | Ragged:
        if isinstance(row, slice):
            return self._slice(row)
        row = index_of("row", row)
        if not -len(self) <= row < len(self):
            raise IndexError(f"row {row} of {len(self)}")
        row %= len(self)
        return self.ids[self.offsets[row] : self.offsets[row + 1]]

    def _slice(self, rows: slice) -> Ragged:
        start, stop, step = rows.indices(len(self))
        if step != 1:
            return Ragged.from_rows(self[row] for row in range(start, stop, step))
        stop = max(start, stop)
        first = self.offsets[start]
        return Ragged(self.ids[first : self.offsets[stop]], self.offsets[start : stop + 1] - first)

    def __repr__(self) -> str:
        return f"<bbpe.Ragged: {counted(len(self), 'row')}, {counted(len(self.ids), 'id')}>"

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><th>{row}</th><td>{counted(len(self[row]), 'id')}</td>"
            f"<td>{' '.join(map(str, self[row][:16].tolist()))}"
            f"{' ...' if len(self[row]) > 16 else ''}</td></tr>"
            for row in range(min(len(self), 8))
        )
        return f"<p>{counted(len(self), 'row')}, {counted(len(self.ids), 'id')}</p><table>{rows}</table>"

    def __iter__(self) -> Iterator[npt.NDArray[np.uint32]]:
        return (self[row] for row in range(len(self)))


def _check_range(ids: npt.NDArray[np.integer[Any]]) -> None:
    """Raise `OverflowError` on an id that does not fit uint32."""
    if len(ids) and not 0 <= ids.min() <= ids.max() < 1 << 32:
        wrong = ids.min() if ids.min() < 0 else ids.max()
        raise OverflowError(f"id {wrong} is out of range; expected 0 to {(1 << 32) - 1}")


def _uint32(row: object) -> npt.NDArray[np.uint32]:
    """Return a row of ids as an array of their type; `TypeError` on what are no ids."""
    kind("each of rows", row, Sized, "an array of ids")
    if isinstance(row, np.ndarray):
        check_unmasked("each of rows", row)
    ids = np.asarray(row)
    if ids.ndim != 1 or (ids.dtype.kind not in "iu" and len(ids)):
        raise TypeError(f"each of rows must be an array of ids, not one of {ids.dtype} with {ids.ndim} dimensions")
    if ids.dtype != np.uint32:
        _check_range(ids)
    return ids.astype(np.uint32, copy=False)


class Padded(tuple["npt.NDArray[np.integer[Any]]", "npt.NDArray[np.bool_]"]):
    """The ids of many texts as one array whose rows have the same length: a tuple of `ids` and `mask`, and more arrays.

    Example:
        >>> tok = bbpe.train_from_iterator(["low lower"], vocab_size=258)
        >>> batch = tok.encode_padded(["low", ("low", "low")], pad_id=0)
        >>> ids, mask = batch
        >>> ids.tolist(), batch.type_ids.tolist(), batch.lengths.tolist()
        ([[257, 0], [257, 257]], [[0, 0], [0, 1]], [1, 2])
    """

    _details: RowDetails

    def __new__(cls, ids: npt.NDArray[np.integer[Any]], mask: npt.NDArray[np.bool_], details: RowDetails) -> Self:
        """Make one of its arrays and of what makes the others when they are asked for."""
        self = tuple.__new__(cls, (ids, mask))
        self._details = details
        return self

    @property
    def ids(self) -> npt.NDArray[np.integer[Any]]:
        """The ids, in the dtype that was asked for: [n, m]."""
        return self[0]

    @property
    def mask(self) -> npt.NDArray[np.bool_]:
        """A mask that is false at padding: bool[n, m]."""
        return self[1]

    @property
    def type_ids(self) -> npt.NDArray[np.uint8]:
        """The type of each id by the template, such as 1 for the second text of a pair: uint8[n, m]."""
        return self._details.all()[0]

    @property
    def special_mask(self) -> npt.NDArray[np.bool_]:
        """Whether an id is one of the template or padding: bool[n, m]."""
        return self._details.all()[1]

    @property
    def text_of(self) -> npt.NDArray[np.int64]:
        """The text, or the pair of texts, that each row comes from, as its number in the batch: int64[n]."""
        return self._details.all()[2]

    @property
    def lengths(self) -> npt.NDArray[np.int64]:
        """The number of ids of each row without padding: int64[n]."""
        return self._details.all()[3]

    def __getnewargs__(self) -> tuple[Any, ...]:
        return (*self, self._details)


@dataclass(frozen=True, eq=False)
class AlignedIds:
    """The ids of a text, or of a text and its pair, and where each id comes from.

    Attributes:
        ids: The ids, with those of the template.
        offsets: The span of the text that each id comes from: int64[n, 2]; (0, 0) for an id of the template.
        word_ids: For each id the number of its pretoken in its text, as in HF's `tokenizers`; None for an id of the
            template. An added token is a pretoken of its own.
        sequence_ids: For each id the number of its text, 0 or 1; None for an id of the template.
        type_ids: The type of each id by the template.

    Example:
        >>> tok = bbpe.train_from_iterator(["low lower"], vocab_size=258)
        >>> found = tok.encode_aligned("lower low")
        >>> found.ids, found.word_ids
        ([257, 68, 81, 220, 257], [0, 0, 0, 1, 1])
    """

    ids: list[int]
    offsets: npt.NDArray[np.int64]
    word_ids: list[int | None]
    sequence_ids: list[int | None]
    type_ids: list[int]


@dataclass(frozen=True)
class ChatRequest:
    """The call that made a chat, with which `continue_chat` goes on: its messages as plain data, and its options.

    `numbers` are those of the first messages in the chat that was given, where some of it are left out.
    """

    messages: tuple[Mapping[str, Any], ...]
    options: Mapping[str, Any]
    numbers: tuple[int, ...] = ()

    def __copy__(self) -> ChatRequest:
        return self

    def __deepcopy__(self, memo: object) -> ChatRequest:
        return self

    def __getstate__(self) -> dict[str, Any]:
        """Return the state for pickle, without a function that pickle cannot take, such as a lambda."""
        train_on = self.options.get("train_on")
        if callable(train_on):
            safe_import("pickle")
            import pickle

            try:
                pickle.dumps(train_on)
            except (pickle.PicklingError, AttributeError, TypeError):
                return {**self.__dict__, "options": {**self.options, "train_on": None}}
        return self.__dict__


def _label(ignore: int) -> np.int64:
    return np.int64(whole("ignore", ignore, -(1 << 63), (1 << 63) - 1))


def _are_equal(one: Any, other: Any) -> bool:
    """Return whether two results have equal fields, but for those of the call that made them."""
    names = [name for name, row in type(one).__record__.items() if row.compare]
    return all(
        np.array_equal(mine, getattr(other, name)) if isinstance(mine := getattr(one, name), np.ndarray)
        else bool(mine == getattr(other, name))
        for name in names
    )  # fmt: skip


@dataclass(frozen=True, eq=False)
class EncodedChat:
    r"""The ids of one conversation; `Tokenizer.encode_chat` makes it.

    Attributes:
        ids: The ids, int32[n].
        mask: 1 for ids that the assistant wrote, or whoever `train_on` chose, uint8[n].
        message_of: The number of the message that each id is of, -1 for the template, int32[n].
        places: Where each id comes from, int64[n, 2]: the start and the end in characters of `text`.
        text: The text that the template made.
        dropped: How many of the oldest messages `max_length` left out; the numbers in `message_of` count them.
        differs_at: The index of the first id that encoding the whole text would not give, as it was sampled; `None` if
            all ids are the same.

    Example:
        >>> template = "{% for message in messages %}<{{ message.role }}>{{ message.content }}\n{% endfor %}"
        >>> tok = bbpe.train_from_iterator(["low"], vocab_size=256)
        >>> messages = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Yo"}]
        >>> chat = tok.encode_chat(messages, chat_template=template)
        >>> tok.decode(chat.ids[chat.mask == 1])
        'Yo'
    """

    ids: npt.NDArray[np.int32]
    mask: npt.NDArray[np.uint8]
    message_of: npt.NDArray[np.int32]
    places: npt.NDArray[np.int64]
    text: str
    dropped: int = 0
    differs_at: int | None = None
    _request: ChatRequest | None = field(default=None, repr=False, compare=False)

    def __len__(self) -> int:
        return len(self.ids)

    def __eq__(self, other: object) -> bool:
        return _are_equal(self, other) if isinstance(other, EncodedChat) else NotImplemented

    # arrays can be changed
    __hash__ = None  # type: ignore[assignment]

    def labels(self, ignore: int = -100) -> npt.NDArray[np.int64]:
        """Return the ids to learn, with `ignore` in place of all other ids.

        Args:
            ignore: The number for ids whose mask is 0; PyTorch's loss leaves out -100.

        Returns:
            The labels, int64[n].
        """
        return np.where(self.mask == 1, self.ids.astype(np.int64), _label(ignore))

    def to_html(self) -> str:
        """Return a page of HTML with a box for each id, in the colour of who wrote it; it needs no other file.

        Ids to learn are green and underlined, and those of the template are grey. Blanks and ends of lines are visible.
        A notebook shows a chat of up to 2,000 ids in the same way, if it is the value of a cell.

        Returns:
            The page.
        """
        return str(VIEWS["chat_html"](self))

    def _repr_html_(self) -> str:
        return str(VIEWS["chat_fragment"](self))

    def __repr__(self) -> str:
        return f"<bbpe.EncodedChat: {counted(len(self.ids), 'id')}, {int(self.mask.sum())} of them to learn>"


@dataclass(frozen=True, eq=False)
class EncodedChats:
    """The ids of many conversations; `Tokenizer.encode_chat_batch` makes it.

    `len`, iteration and `chats[i]`, an `EncodedChat`, work on conversations. `ids` and `masks` are columns of Arrow.

    Attributes:
        ids: The ids of each conversation.
        masks: 1 for ids to learn, in the same rows as `ids`.
        message_of: The number of the message that each id is of, -1 for the template, int32[total].
        places: Where each id comes from in the text of its conversation, int64[total, 2], in characters.
        texts: The texts that the template made.
        dropped: How many of the oldest messages `max_length` left out of each.
        differs_at: As in `EncodedChat`, of each.
    """

    ids: Ragged
    masks: Ragged
    message_of: npt.NDArray[np.int32]
    places: npt.NDArray[np.int64]
    texts: Sequence[str]
    dropped: Sequence[int]
    differs_at: Sequence[int | None]
    _requests: Sequence[ChatRequest | None] = field(repr=False, compare=False)

    @classmethod
    def of(cls, chats: Iterable[EncodedChat]) -> EncodedChats:
        """Join chats.

        Args:
            chats: The chats, in order, such as those of `continue_chat`.

        Returns:
            All of them, copied.
        """
        kind("chats", chats, Iterable, "an iterable of EncodedChat")
        chats = list(chats)
        for chat in chats:
            kind("each of chats", chat, EncodedChat, "an EncodedChat")
        offsets = np.zeros(len(chats) + 1, np.int64)
        np.cumsum([len(chat.ids) for chat in chats], out=offsets[1:])
        none = np.empty(0, np.int32)
        ids = np.concatenate([none, *(chat.ids for chat in chats)]).view(np.uint32)
        masks = np.concatenate([np.empty(0, np.uint8), *(chat.mask for chat in chats)]).astype(np.uint32)
        message_of = np.concatenate([none, *(chat.message_of for chat in chats)])
        places = np.concatenate([np.empty((0, 2), np.int64), *(chat.places for chat in chats)])
        return cls(
            Ragged(ids, offsets), Ragged(masks, offsets), message_of, places, [chat.text for chat in chats],
            [chat.dropped for chat in chats], [chat.differs_at for chat in chats], [chat._request for chat in chats],
        )  # fmt: skip

    def __len__(self) -> int:
        return len(self.texts)

    def __eq__(self, other: object) -> bool:
        return _are_equal(self, other) if isinstance(other, EncodedChats) else NotImplemented

    # arrays can be changed
    __hash__ = None  # type: ignore[assignment]

    @overload
    def __getitem__(self, key: slice) -> EncodedChats: ...
    @overload
    def __getitem__(self, key: SupportsIndex) -> EncodedChat: ...
    def __getitem__(self, key: Any) -> Any:
        """Return a conversation, or several."""
        if isinstance(key, slice):
            return EncodedChats.of([self[number] for number in range(*key.indices(len(self)))])
        number = index_of("conversation", key)
        if not -len(self) <= number < len(self):
            raise IndexError(f"conversation {number} of {len(self)}")
        number %= len(self)
        start, end = self.ids.offsets[number : number + 2].tolist()
        return EncodedChat(
            self.ids.ids[start:end].view(np.int32), self.masks.ids[start:end].astype(np.uint8),
            self.message_of[start:end], self.places[start:end], self.texts[number], self.dropped[number],
            self.differs_at[number], self._requests[number],
        )  # fmt: skip

    def __iter__(self) -> Iterator[EncodedChat]:
        return (self[number] for number in range(len(self)))

    def labels(self, ignore: int = -100) -> npt.NDArray[np.int64]:
        """Return the ids to learn, with `ignore` in place of all other ids.

        Args:
            ignore: The number for ids whose mask is 0.

        Returns:
            The labels, int64[total]; row i is `labels[ids.offsets[i]:ids.offsets[i + 1]]`.
        """
        return np.where(self.masks.ids == 1, self.ids.ids.astype(np.int64), _label(ignore))

    def __repr__(self) -> str:
        return f"<bbpe.EncodedChats: {counted(len(self), 'conversation')}, {counted(len(self.message_of), 'id')}>"
