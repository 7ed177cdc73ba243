"""The merges of a tokenizer as an immutable sequence of ids."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import overload

from ..core.merge_list import MergeList

#: The ids of two tokens and of the token that they make.
Merge = tuple[int, int, int]


class Merges(MergeList, Sequence[Merge]):
    """Merges as `(left id, right id, id)` in order of priority; immutable, and equal to a tuple of the same merges.

    All ids are in one block of memory, and tuples are made on access, so a list of 300,000 merges loads without making
    300,000 objects.

    Raises `VocabularyError` on a number that is not an id.

    >>> merges = Merges([(97, 98, 256), (256, 99, 257)])
    >>> merges[1], len(merges), merges == ((97, 98, 256), (256, 99, 257))
    ((256, 99, 257), 2, True)
    """

    __slots__ = ()

    @overload
    def __getitem__(self, key: int) -> Merge: ...
    @overload
    def __getitem__(self, key: slice) -> tuple[Merge, ...]: ...
    def __getitem__(self, key: int | slice) -> Merge | tuple[Merge, ...]:
        return tuple(self.rows()[key]) if isinstance(key, slice) else MergeList.__getitem__(self, key)

    def __iter__(self) -> Iterator[Merge]:
        return iter(self.rows())

    def __eq__(self, other: object) -> bool:
        if isinstance(other, MergeList):
            return self.is_same(other)
        return tuple(self.rows()) == other if isinstance(other, tuple) else NotImplemented

    def __hash__(self) -> int:
        return hash(tuple(self.rows()))

    def __reduce__(self) -> tuple[object, ...]:
        return _of_data, (self.data(),)

    def __repr__(self) -> str:
        return f"Merges({self.rows()!r})"


def _of_data(data: bytes) -> Merges:
    """Return the merges of a pickle, which has them as one block of bytes."""
    return Merges.of_data(data)
