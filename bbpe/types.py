"""Results of encoding: rows of different lengths, rows of one length, and ids with their offsets."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from operator import index
from typing import Any, Literal, NamedTuple, Self, SupportsIndex, TypeAlias, overload

from .lazy import np, npt
from .records import dataclass

#: The units of offsets: characters (indices of a `str`), bytes of UTF-8, or UTF-16 units (JavaScript, Java).
Unit: TypeAlias = Literal["char", "byte", "utf16"]


class Chunk(NamedTuple):
    """A part of a text, `text[start:end]`, and the number of its tokens.

    Attributes:
        start: The index of its beginning, of characters in a `str` and of bytes in bytes.
        end: The index of its end.
        tokens: The number of its tokens when it is encoded alone.
    """

    start: int
    end: int
    tokens: int


@dataclass(frozen=True, eq=False)
class Ragged:
    """The ids of many texts in two flat arrays: row i is `ids[offsets[i]:offsets[i + 1]]`.

    `len`, iteration, `ragged[i]` (uint32[n], a view) and slices (a `Ragged` that shares the memory of the ids) work on
    rows. Two are equal when all their rows are equal.

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
            rows: One array per row, uint32[n] each.

        Returns:
            The rows, copied into two flat arrays.

        Example:
            >>> Ragged.from_rows([np.array([7], np.uint32)]).offsets.tolist()
            [0, 1]
        """
        arrays = list(rows)
        offsets = np.zeros(len(arrays) + 1, dtype=np.int64)
        np.cumsum([len(row) for row in arrays], out=offsets[1:])
        return cls(np.concatenate([np.empty(0, np.uint32), *arrays]), offsets)

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Ragged):
            return NotImplemented
        return np.array_equal(self.offsets, other.offsets) and np.array_equal(self.ids, other.ids)

    # arrays can be changed
    __hash__ = None  # type: ignore[assignment]

    @overload
    def __getitem__(self, row: SupportsIndex) -> npt.NDArray[np.uint32]: ...
    @overload
    def __getitem__(self, row: slice) -> Ragged: ...
    def __getitem__(self, row: SupportsIndex | slice) -> npt.NDArray[np.uint32] | Ragged:
        if isinstance(row, slice):
            return self._slice(row)
        row = index(row)
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
        return f"<bbpe.Ragged: {len(self):,} rows, {len(self.ids):,} ids>"

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><th>{row}</th><td>{len(self[row]):,} ids</td><td>{' '.join(map(str, self[row][:16].tolist()))}"
            f"{' ...' if len(self[row]) > 16 else ''}</td></tr>"
            for row in range(min(len(self), 8))
        )
        return f"<p>{len(self):,} rows, {len(self.ids):,} ids</p><table>{rows}</table>"

    def __iter__(self) -> Iterator[npt.NDArray[np.uint32]]:
        return (self[row] for row in range(len(self)))


class Padded(tuple["npt.NDArray[np.integer[Any]]", "npt.NDArray[np.bool_]"]):
    """The ids of many texts as one array whose rows have the same length: a tuple of `ids` and `mask`, and more arrays.

    Attributes:
        type_ids: The type of each id by the template, such as 1 for the second text of a pair: uint8[n, m].
        special_mask: Whether an id is one of the template or padding: bool[n, m].
        text_of: The text, or the pair of texts, that each row comes from, as its number in the batch: int64[n].
        lengths: The number of ids of each row without padding: int64[n].

    Example:
        >>> tok = bbpe.train_from_iterator(["low lower"], vocab_size=258)
        >>> batch = tok.encode_padded(["low", ("low", "low")], pad_id=0)
        >>> ids, mask = batch
        >>> ids.tolist(), batch.type_ids.tolist(), batch.lengths.tolist()
        ([[257, 0], [257, 257]], [[0, 0], [0, 1]], [1, 2])
    """

    type_ids: npt.NDArray[np.uint8]
    special_mask: npt.NDArray[np.bool_]
    text_of: npt.NDArray[np.int64]
    lengths: npt.NDArray[np.int64]

    def __new__(
        cls,
        ids: npt.NDArray[np.integer[Any]],
        mask: npt.NDArray[np.bool_],
        type_ids: npt.NDArray[np.uint8],
        special_mask: npt.NDArray[np.bool_],
        text_of: npt.NDArray[np.int64],
        lengths: npt.NDArray[np.int64],
    ) -> Self:
        """Make one of its arrays."""
        self = super().__new__(cls, (ids, mask))
        self.type_ids, self.special_mask, self.text_of, self.lengths = type_ids, special_mask, text_of, lengths
        return self

    @property
    def ids(self) -> npt.NDArray[np.integer[Any]]:
        """The ids, in the dtype that was asked for: [n, m]."""
        return self[0]

    @property
    def mask(self) -> npt.NDArray[np.bool_]:
        """A mask that is false at padding: bool[n, m]."""
        return self[1]

    def __getnewargs__(self) -> tuple[npt.NDArray[Any], ...]:
        return (*self, self.type_ids, self.special_mask, self.text_of, self.lengths)


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
