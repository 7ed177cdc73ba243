"""Rows of different lengths in two flat arrays."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from operator import index
from typing import SupportsIndex, overload

import numpy as np
import numpy.typing as npt


@dataclass(frozen=True, slots=True, eq=False)
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

    def between(self, before: Sequence[int], behind: Sequence[int]) -> Ragged:
        """Return the rows with the same ids added at both ends of each.

        Args:
            before: Ids to put before each row.
            behind: Ids to put after each row.

        Returns:
            A new `Ragged` with as many rows.

        Example:
            >>> Ragged.from_rows([np.array([1, 2], np.uint32)]).between([7], [8, 9]).ids.tolist()
            [7, 1, 2, 8, 9]
        """
        first, last = np.array(before, np.uint32), np.array(behind, np.uint32)
        return Ragged.from_rows(np.concatenate([first, row, last]) for row in self)

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

    def __iter__(self) -> Iterator[npt.NDArray[np.uint32]]:
        return (self[row] for row in range(len(self)))
