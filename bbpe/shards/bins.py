"""Bins: whole documents packed into rows of n ids.

The index has 8 bytes for each row and 2 for each document.  65,536 documents that follow one another are packed at a
time, so that a document needs 16 bits, and memory does not grow while the index is made.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal, TypeAlias, get_args

from ..core.bin_packer import BinPacker
from ..core.row_views import BinMaker, RowMaker
from ..errors import CorpusError, SpecialTokenError
from ..lazy import lazy_property, np, npt
from ..records import choice, kind, whole
from ..text import counted
from ..tokenizer import Tokenizer
from .policy import Token, id_of
from .row_set import IdParts, RowSet, sums_of

Method: TypeAlias = Literal["best_fit", "greedy"]
OnLong: TypeAlias = Literal["cut", "error", "drop"]

#: Documents that are packed together.
_BLOCK = 1 << 16


class Bins(RowSet):
    """Rows of whole documents, as `Shards.bins` returns them.

    A label is the next id of the same document; it is -100 at the end of a document and at padding. Positions begin at
    0 in each document. `document_ids` count the documents of a row from 0 and are -1 at padding. `cu_seqlens` has the
    place where each document begins in the row, and the place where the last document, or the padding, ends.

    Attributes:
        n: The most ids of a row.
        epoch: The epoch whose order rows have.
        dropped_documents: The documents that were left out, by `on_long="drop"`.
        dropped_tokens: Their ids.

    Example:
        >>> from pathlib import Path
        >>> from tempfile import TemporaryDirectory
        >>> tok = bbpe.train_from_iterator(["low lower"], 258, special_tokens=["<pad>"])
        >>> with TemporaryDirectory() as folder:
        ...     _ = Path(folder, "a.txt").write_text("ab")
        ...     _ = Path(folder, "b.txt").write_text("cdef")
        ...     rows = bbpe.shard(folder, folder + "-out", tok).bins(8, pad="<pad>")
        ...     rows, rows[0]["labels"].tolist(), rows.efficiency
        (<bbpe.Bins: 1 row of 8 tokens>, [65, -100, 67, 68, 69, -100, -100, -100], 0.75)

    """

    _method = "bins"

    def __init__(
        self, source: Any, parts: IdParts, tokenizer: Tokenizer | None, n: int, *, method: Method, on_long: OnLong,
        pad: Token | None, ragged: bool, **options: Any,
    ) -> None:  # fmt: skip
        """Check the arguments, and pack the documents."""
        for name, value, kinds in (("method", method, get_args(Method)), ("on_long", on_long, get_args(OnLong))):
            choice(name, value, kinds)
        kind("ragged", ragged, bool, "a bool")
        self._chosen = {"method": method, "on_long": on_long, "pad": pad, "ragged": ragged}
        super().__init__(source, parts, n, **options)
        self._pad = -1 if ragged else _pad_of(pad, tokenizer, parts)
        if ragged and pad is not None:
            raise ValueError(f"pad is {pad!r} and ragged is True; rows without padding need no pad: give one of them")
        self.dropped_documents = self.dropped_tokens = 0
        self._index = self._packed()

    def _needs_arrays(self) -> bool:
        return True

    def _has_ignored(self) -> bool:
        return "labels" in self._columns

    def _needs_lengths(self) -> bool:
        return True

    @property
    def options(self) -> dict[str, Any]:
        """The options that decide the ids of a row, and the order of rows."""
        return {**super().options, "method": self._chosen["method"], "on_long": self._chosen["on_long"]}

    def _arguments(self) -> dict[str, Any]:
        return {**super()._arguments(), **self._chosen}

    def __len__(self) -> int:
        return len(self._index[0])

    @lazy_property
    def efficiency(self) -> float:
        """The share of ids among all places of rows; the rest is padding, or room that ragged rows do not use."""
        return (self.tokens - self.dropped_tokens) / (len(self) * self.n) if len(self) else 1.0

    def _blocks(self) -> Iterator[npt.NDArray[np.int32]]:
        """Yield the lengths of documents, 65,536 at a time."""
        held: list[npt.NDArray[np.int32]] = []
        count = 0
        for number in range(len(self._before) - 1):
            lengths = self._parts.lengths(number)
            expected = int(self._before[number + 1] - self._before[number])
            found = int(lengths.sum(dtype=np.int64))
            if (len(lengths), found) != (int(self._documents[number + 1] - self._documents[number]), expected):
                given = f"{counted(len(lengths), 'document')} of {counted(found, 'id')}"
                raise CorpusError(f"{self._parts.name}: part {number} has {given}; expected {counted(expected, 'id')}")
            while len(lengths):
                taken = lengths[: _BLOCK - count]
                held.append(taken)
                count, lengths = count + len(taken), lengths[len(taken) :]
                if count == _BLOCK:
                    yield np.concatenate(held)
                    held, count = [], 0
        if held:
            yield np.concatenate(held)

    def _packed(self) -> tuple[Any, Any, Any, Any]:
        """Return the index: the rows, the documents in their order, and how many of both are before each block."""
        on_long, rows, orders = self._chosen["on_long"], _GrowingArray(np.uint32, 2), _GrowingArray(np.uint16, 1)
        packer = BinPacker(self.n, self._chosen["method"] == "best_fit", on_long != "cut")
        for number, lengths in enumerate(self._blocks()):
            if on_long != "cut":
                self._leave_out(lengths, number)
            table, order = packer.pack(lengths)
            rows.add(table)
            orders.add(order[:, None])
        return rows.joined(), orders.joined()[:, 0], sums_of(rows.counts), sums_of(orders.counts)

    def _leave_out(self, lengths: npt.NDArray[np.int32], block: int) -> None:
        long = np.flatnonzero(lengths > self.n)
        if len(long) and self._chosen["on_long"] == "error":
            document, size = block * _BLOCK + int(long[0]), int(lengths[long[0]])
            raise ValueError(
                f"on_long is 'error', and document {document} has {counted(size, 'id')}; rows have room for {self.n}: "
                "give a larger n, on_long='cut', or on_long='drop'"
            )
        self.dropped_documents += len(long)
        self.dropped_tokens += int(lengths[long].sum(dtype=np.int64))

    def _made(self) -> RowMaker:
        shifted = self._labels == "shift"
        maker = BinMaker(self._open, self._before, self._documents, self.n, self._columns, self._dtype, shifted)
        return maker.index(*self._index, self._pad)


class _GrowingArray:
    """Rows of arrays one after another, in memory that grows in place."""

    def __init__(self, dtype: Any, width: int) -> None:
        self._array: npt.NDArray[Any] = np.empty((0, width), dtype)
        self._used = 0
        self.counts: list[int] = []

    def add(self, array: npt.NDArray[Any]) -> None:
        """Append rows."""
        need = self._used + len(array)
        if need > len(self._array):
            self._array.resize((max(need, len(self._array) * 5 // 4), self._array.shape[1]), refcheck=False)
        self._array[self._used : need] = array
        self._used = need
        self.counts.append(len(array))

    def joined(self) -> npt.NDArray[Any]:
        """Return all rows."""
        self._array.resize((self._used, self._array.shape[1]), refcheck=False)
        return self._array


def _pad_of(pad: Token | None, tokenizer: Tokenizer | None, parts: IdParts) -> int:
    """Return the id for padding; `ValueError` when nothing says one."""
    if pad is None and tokenizer is not None:
        try:
            return tokenizer._parts.vocabulary.padding()
        except SpecialTokenError:
            pass
    if pad is None:
        lacks = f"{parts.name} has no tokenizer" if tokenizer is None else "the tokenizer has no token to pad with"
        way = "a token or its id" if tokenizer is not None else "its id"
        raise ValueError(f"pad is None, and {lacks}; give pad=, {way}, or ragged=True for rows without padding")
    if tokenizer is None:
        if isinstance(pad, str):
            raise ValueError(f"pad is {pad!r}, and {parts.name} has no tokenizer, which knows its id; give the id")
        return whole("pad", pad, 0, parts.id_bound - 1, expected="a token or its id")
    found = id_of(tokenizer, "pad", pad)
    assert found is not None
    return found

