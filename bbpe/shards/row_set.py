"""Rows for training over the ids of parts: what windows and bins share.

Nothing is written or copied: a set of rows keeps where rows are, and makes a row when it is asked for.  Where rows are
depends on the lengths of documents alone, and their order on a seed, an epoch and the number of rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Literal, Protocol, SupportsIndex, TypeAlias, get_args, overload

from ..core.row_order import RowOrder
from ..core.row_views import PartIds, RowMaker
from ..errors import CorpusError
from ..lazy import hashlib, lazy_property, np, npt
from ..records import dtype_of, index_of, kind, whole
from ..text import counted, shortened
from .formats.format import Ids, is_mapped
from .row_stream import RowStream

Column: TypeAlias = Literal["input_ids", "labels", "position_ids", "document_ids", "cu_seqlens"]
Labels: TypeAlias = Literal["shift", "same"]
#: A row: its columns by their names.
Row: TypeAlias = "dict[str, npt.NDArray[np.integer[Any]]]"

#: The most tokens of a row, so that rows of bins need no more than 64 MB for their index.
MOST = 1 << 24
#: The most parts that are open at once, and the most bytes of ids that they hold where a format cannot be mapped.
_MOST_OPEN, _MOST_HELD = 1 << 14, 256 << 20
_DTYPES = ("uint8", "int8", "uint16", "int16", "uint32", "int32", "uint64", "int64")


class IdParts(Protocol):
    """Ids in parts, such as those of `Shards`: what rows are made of."""

    name: str
    has_masks: bool

    @property
    def digest(self) -> str:
        """What is the same wherever ids are the same."""

    @property
    def id_bound(self) -> int:
        """A number above all ids."""

    def counts(self) -> tuple[list[int], list[int]]:
        """Return the number of ids and of documents of each part."""

    def ids(self, number: int) -> Ids:
        """Return the ids of a part, mapped into memory where they can be."""

    def lengths(self, number: int) -> npt.NDArray[np.int32]:
        """Return the number of ids of each document of a part."""

    def masks(self, number: int) -> npt.NDArray[np.uint8]:
        """Return which ids of a part a model learns."""


class RowSet:
    """Rows of ids, in an order that a seed gives.

    `len` is the number of rows, `rows[i]` a dict of arrays, a slice a list of these, and `rows.__getitems__(places)`
    the list of rows that torch's `DataLoader` asks for.

    Attributes:
        n: The ids of a row.
        epoch: The epoch whose order rows have.
    """

    _method = ""
    epoch = 0

    def __init__(
        self, source: Any, parts: IdParts, n: int, *, shuffle: int | None, labels: str, columns: Sequence[str],
        dtype: npt.DTypeLike | None, masks: bool | None,
    ) -> None:  # fmt: skip
        """Check the arguments; `source` gives the rows again, by its method with the name of `_method`."""
        self._source, self._parts = source, parts
        self.n = whole("n", n, 1, MOST)
        self._seed = None if shuffle is None else whole("shuffle", shuffle, expected="an int, the seed, or None")
        if labels not in get_args(Labels):
            raise ValueError(f"labels is {labels!r}; expected 'shift', the next ids, or 'same', for models that shift")
        self._labels: str = labels
        self._columns = _checked_columns(columns)
        if masks is not None:
            kind("masks", masks, bool, "True, False or None")
        if masks and not parts.has_masks:
            raise ValueError(f"masks is True; {parts.name} has texts, which have no masks: leave masks= out")
        self._asked = dtype, masks
        self._masked = parts.has_masks and masks is not False and "labels" in self._columns
        self._dtype = self._checked_dtype(dtype)
        ids, documents = parts.counts()
        self._before, self._documents = sums_of(ids), sums_of(documents)
        self._orders: dict[int, RowOrder] = {}

    def _needs_arrays(self) -> bool:
        """Return whether rows are written to arrays even if nobody asks for a dtype."""
        return self._masked or not {*self._columns} <= {"input_ids", "labels"}

    def _has_ignored(self) -> bool:
        """Return whether labels have -100."""
        return self._masked

    def _checked_dtype(self, dtype: npt.DTypeLike | None) -> np.dtype[Any] | None:
        bound = self._parts.id_bound
        if dtype is None:
            return np.dtype("int32" if bound <= 1 << 31 else "int64") if self._needs_arrays() else None
        found = dtype_of(dtype, "one of integers, such as 'int64'")
        if found.name not in _DTYPES or not found.isnative:
            raise ValueError(f"dtype is {str(dtype)!r}; expected one of integers, such as 'int64'")
        most = int(np.iinfo(found).max) + 1
        if bound > most:
            raise ValueError(f"dtype is {found.name!r}, which holds {counted(most, 'id')}; there may be {bound:,}")
        if found.kind == "u" and self._has_ignored():
            raise ValueError(f"dtype is {found.name!r}; labels are -100 where nothing is learned: give 'int64'")
        return found

    @property
    def tokens(self) -> int:
        """The ids of all documents."""
        return int(self._before[-1])

    @property
    def seed(self) -> int | None:
        """The seed of the order, None for the order of the corpus."""
        return self._seed

    @property
    def digest(self) -> str:
        """The digest of the shards."""
        return self._parts.digest

    @property
    def options(self) -> dict[str, Any]:
        """The options that decide the ids of a row, and the order of rows."""
        return {"rows": self._method, "n": self.n, "shuffle": self._seed, "labels": self._labels}

    def _arguments(self) -> dict[str, Any]:
        """The arguments that give the same rows again."""
        dtype, masks = self._asked
        return {
            "n": self.n, "shuffle": self._seed, "labels": self._labels, "columns": self._columns, "dtype": dtype,
            "masks": masks,
        }  # fmt: skip

    def __reduce__(self) -> tuple[Any, ...]:
        return _again, (self._source, self._method, self._arguments(), self.epoch, self.digest)

    def set_epoch(self, epoch: int) -> None:
        """Choose the epoch, each of which has another order if rows are shuffled.

        Args:
            epoch: The number of the epoch, from 0.

        Raises:
            ValueError: The number is negative.
            TypeError: `epoch` is no int.
        """
        self.epoch = whole("epoch", epoch, 0)

    def _order(self, epoch: int) -> RowOrder:
        """Return the order of an epoch, which gives the row of each place.

        The keys are the SHA-512 of the seed, the epoch and the number of rows.
        """
        order = self._orders.get(epoch)
        if order is None:
            key = None
            if self._seed is not None:
                key = hashlib.sha512(f"{self._seed} {epoch} {len(self)}".encode()).digest()
            order = RowOrder(len(self), key)
            self._orders = {epoch: order}
        return order

    def __len__(self) -> int:
        raise NotImplementedError

    def _made(self) -> RowMaker:
        raise NotImplementedError

    @lazy_property
    def _maker(self) -> RowMaker:
        return self._made()

    @overload
    def __getitem__(self, place: SupportsIndex) -> Row: ...

    @overload
    def __getitem__(self, place: slice) -> list[Row]: ...

    def __getitem__(self, place: SupportsIndex | slice) -> Any:
        if isinstance(place, slice):
            return self._rows_at(range(*place.indices(len(self))), self.epoch)
        if type(place) is int and 0 <= place < len(self):  # a quarter of the time of a row is that of the checks below
            return self._rows_at((place,), self.epoch)[0]
        return self.__getitems__([place])[0]

    def __getitems__(self, places: Iterable[SupportsIndex]) -> list[Row]:
        """Return the rows at some places of the order; a negative place counts from the end."""
        count = len(self)
        try:
            found = [index_of("place", place) for place in places]
        except TypeError:
            raise TypeError(f"rows have ints for places, or a slice; not {shortened(repr(places))}") from None
        if found and not 0 <= min(found) <= max(found) < count:
            wrong = next((place for place in found if not -count <= place < count), None)
            if wrong is not None:
                raise IndexError(f"row {wrong} of {count}")
            found = [place % count for place in found]
        return self._rows_at(found, self.epoch)

    def _rows_at(self, places: Sequence[int], epoch: int) -> list[Row]:
        """Return the rows at some places of an epoch, which are from 0 and below the number of rows."""
        return self._maker.rows(self._order(epoch), places)

    def __iter__(self) -> Iterator[Row]:
        for place in range(0, len(self), 64):
            yield from self._rows_at(range(place, min(place + 64, len(self))), self.epoch)

    def stream(self, *, rank: int = 0, world: int = 1, batch: int = 1, epochs: int | None = 1) -> RowStream:
        """Return the rows of one process of several, in an iteration that can be stored and continued.

        Ranks take turns: of each `world * batch` rows that follow one another, each rank has `batch`.  A stored state
        counts rows of the whole, so that another number of ranks or of workers can continue.

        Args:
            rank: The number of this process, from 0.
            world: The number of processes.
            batch: The rows that one worker takes at once: the batch size of the `DataLoader` that has workers.
            epochs: The epochs of one iteration; None is for an iteration without end.

        Returns:
            The stream, at the beginning of the epoch of `set_epoch`.

        Raises:
            ValueError: A number is out of range.
            TypeError: An argument has the wrong type.
        """
        return RowStream(self, rank=rank, world=world, batch=batch, epochs=epochs)

    def _open(self, number: int) -> PartIds:
        """Open a part for the maker."""
        parts, maker = self._parts, self._maker
        ids, count = parts.ids(number), int(self._before[number + 1] - self._before[number])
        if len(ids) != count:
            raise CorpusError(f"{parts.name}: part {number} has {counted(len(ids), 'id')}; expected {count:,}")
        lengths = parts.lengths(number) if self._needs_lengths() else None
        size = 0 if is_mapped(ids) else ids.nbytes
        held, opened = self.__dict__.get("_held", (0, 0))
        if opened >= _MOST_OPEN or held + size > _MOST_HELD:
            maker.parts[:] = [None] * len(maker.parts)
            held = opened = 0
        self.__dict__["_held"] = held + size, opened + 1
        try:
            found = PartIds(ids, lengths, parts.masks(number) if self._masked else None)
        except ValueError as error:
            raise CorpusError(f"{parts.name}: part {number} has {error}") from None
        maker.parts[number] = found
        return found

    def _needs_lengths(self) -> bool:
        return not {*self._columns} <= {"input_ids", "labels"}

    def __repr__(self) -> str:
        shuffled = "" if self._seed is None else f", shuffled by {self._seed}"
        return f"<bbpe.{type(self).__name__}: {counted(len(self), 'row')} of {counted(self.n, 'token')}{shuffled}>"


def _again(source: Any, method: str, arguments: dict[str, Any], epoch: int, digest: str) -> RowSet:
    """Return the rows of a pickle; `CorpusError` when the shards are others by now."""
    rows: RowSet = getattr(source, method)(**arguments)
    if rows.digest != digest:
        raise CorpusError(f"{rows._parts.name}: the shards are not those that were pickled; make the {method} again")
    rows.epoch = epoch
    return rows


def _checked_columns(columns: Any) -> tuple[str, ...]:
    if isinstance(columns, str) or not isinstance(columns, Sequence):
        raise TypeError(f"columns must be a list of names of columns, not {type(columns).__name__}")
    known = get_args(Column)
    for name in columns:
        if name not in known:
            raise ValueError(f"columns has {name!r}; expected some of {', '.join(map(repr, known))}")
    if not columns or len({*columns}) != len(columns):
        raise ValueError(f"columns is {list(columns)!r}; expected each column once, and at least one")
    return tuple(columns)


def sums_of(counts: list[int]) -> npt.NDArray[np.int64]:
    """Return the sums of the first counts: of none, of one, and so on."""
    sums = np.zeros(len(counts) + 1, np.int64)
    np.cumsum(np.array(counts, np.int64), out=sums[1:])
    return sums
