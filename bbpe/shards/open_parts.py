"""The parts of shards: their ids, the lengths and masks of their documents, and those that are open."""

from __future__ import annotations

from bisect import bisect_right
from typing import Any

from ..errors import CorpusError
from ..lazy import np, npt
from ..text import counted
from .formats import Lengths
from .formats.format import Ids, is_mapped, mapped, with_suffix
from .part import Totals, read_record
from .plan import ShardPlan

#: The most parts that are open at once, each with two maps of the 65,530 that Linux gives a process.
_MOST_OPEN = 1 << 14
#: The most bytes of ids that open parts hold in memory, where the format cannot be mapped.
_MOST_HELD = 256 << 20
#: The bytes of a page of memory.
_PAGE = 1 << 12
#: Documents of a part from one stored start to the next, as a power of two: a start for each would take 8 GB for 10^9.
_STEP = 6


class ShardIds:
    """The ids of shards, as rows for training read them (`IdParts`)."""

    def __init__(self, plan: ShardPlan, totals: Totals) -> None:
        self._plan, self._totals = plan, totals
        self.name, self.digest = str(plan.folder), plan.digest
        ids: int | None = plan.identity["ids"]
        # without a vocabulary an id may be any that the files hold
        self.id_bound = int(np.iinfo(plan.policy.dtype).max) + 1 if ids is None else ids
        self.has_masks = plan.policy.has_masks

    def counts(self) -> tuple[list[int], list[int]]:
        """Return the number of ids and of documents of each part, as its record has them."""
        ids, documents = [], []
        for number in range(len(self._plan)):
            record = read_record(self._plan, number)
            if record is None:
                raise CorpusError(f"{self._plan.folder}: part {number} is missing; run bbpe.shard again")
            ids.append(record.tokens)
            documents.append(record.documents)
        if (sum(ids), sum(documents)) != (self._totals.tokens, self._totals.documents):
            found = f"{counted(sum(documents), 'document')} of {counted(sum(ids), 'id')}"
            wanted = counted(self._totals.tokens, "id")
            raise CorpusError(f"{self._plan.folder}: parts have {found}; expected {wanted}")
        return ids, documents

    def ids(self, number: int) -> Ids:
        """Return the ids of a part."""
        return self._plan.policy.files.ids(self._plan.stem(number), self._plan.policy.dtype)

    def lengths(self, number: int) -> npt.NDArray[np.int32]:
        """Return the lengths of the documents of a part."""
        return lens_of(self._plan, number)

    def masks(self, number: int) -> npt.NDArray[np.uint8]:
        """Return the masks of a part."""
        return read_masks(self._plan, number)


class OpenParts:
    """The parts whose documents somebody has asked for: their ids, lengths, and some starts of documents.

    A map keeps no file open, so that a document costs the same in one part and in 4,000.
    """

    def __init__(self, plan: ShardPlan) -> None:
        self._plan, self._held = plan, 0
        self._open: dict[int, tuple[Ids, npt.NDArray[np.int32], list[int]]] = {}
        self._masks: dict[int, npt.NDArray[np.uint8]] = {}

    def document(self, number: int, within: int) -> npt.NDArray[np.integer[Any]]:
        """Return the ids of a document of a part."""
        ids, start, end = self._bounds(number, within)
        document: npt.NDArray[np.integer[Any]] = ids[start:end]
        return document

    def _bounds(self, number: int, within: int) -> tuple[Ids, int, int]:
        """Return the ids of a part, and where a document begins and ends in them."""
        found = self._open.get(number)
        ids, lengths, starts = self._opened(number) if found is None else found
        first = within >> _STEP
        rest = lengths[first << _STEP : within + 1].tolist()
        end = starts[first] + sum(rest)
        return ids, end - rest[-1], end

    def document_at(self, number: int, token: int) -> int:
        """Return the number in a part of the document that has a token of it; `ValueError` if there is none."""
        found = self._open.get(number)
        ids, lengths, starts = self._opened(number) if found is None else found
        if token >= len(ids):
            raise ValueError(f"token is {token}; part {number} has {counted(len(ids), 'token')}, the first one is 0")
        block = bisect_right(starts, token) - 1
        ends = starts[block] + np.cumsum(lengths[block << _STEP : block + 1 << _STEP], dtype=np.int64)
        return (block << _STEP) + int(np.searchsorted(ends, token, "right"))

    def mask(self, number: int, within: int) -> npt.NDArray[np.uint8]:
        """Return the mask of a document of a part."""
        masks = self._masks.get(number)
        if masks is None:
            if len(self._masks) >= _MOST_OPEN:
                self._masks = {}
            masks = self._masks[number] = read_masks(self._plan, number)
        _, start, end = self._bounds(number, within)
        return masks[start:end]

    def _opened(self, number: int) -> tuple[Ids, npt.NDArray[np.int32], list[int]]:
        plan = self._plan
        # not the lists of the format, which are larger, and were checked when they were written
        ids, lengths = plan.policy.files.ids(plan.stem(number), plan.policy.dtype), lens_of(plan, number)
        if lengths.nbytes <= _PAGE:
            # a map would take more, and its page would miss the caches of addresses
            lengths = lengths.copy()
        sums = np.add.reduceat(lengths, np.arange(0, len(lengths), 1 << _STEP), dtype=np.int64)
        ends = np.cumsum(sums).tolist()
        _check_lengths(plan, number, ends[-1], ids)
        size = 0 if is_mapped(ids) else ids.nbytes
        if len(self._open) >= _MOST_OPEN or self._held + size > _MOST_HELD:
            self._open, self._held = {}, 0
        self._held += size
        found = self._open[number] = ids, lengths, [0, *ends]
        return found


def lens_of(plan: ShardPlan, number: int) -> npt.NDArray[np.int32]:
    """Return the number of ids of each document of a part, mapped into memory."""
    lengths: npt.NDArray[np.int32] = mapped(with_suffix(plan.stem(number), ".lens"), "<i4")
    return lengths


def read_masks(plan: ShardPlan, number: int) -> npt.NDArray[np.uint8]:
    """Return the masks of the ids of a part; `CorpusError` where documents are no chats, or files do not fit."""
    files, stem = plan.policy.files.masks, plan.stem(number)
    if not plan.policy.has_masks or files is None:
        raise CorpusError(f"{plan.folder}: the documents are texts, which have no masks; messages_field= encodes chats")
    masks, count = files.read(stem), int(lens_of(plan, number).sum(dtype=np.int64))
    if len(masks) != count:
        raise CorpusError(f"{stem}: the masks have {counted(len(masks), 'number')}; expected {count}")
    return masks


def read_part(plan: ShardPlan, number: int) -> tuple[Ids, Lengths]:
    """Return the ids of a part and the lengths of its documents; `CorpusError` where its files do not fit together."""
    stem = plan.stem(number)
    ids = plan.policy.files.ids(stem, plan.policy.dtype)
    lengths = plan.policy.files.lengths(stem, plan.policy.dtype, ids)
    path = with_suffix(stem, ".lens")
    listed = lens_of(plan, number).astype(np.int64)
    _check_lengths(plan, number, int(listed.sum()), ids)
    if lengths is not None and not np.array_equal(lengths, listed):
        raise CorpusError(f"{path}: the lengths of documents are not those of the other files of the part")
    return ids, listed


def _check_lengths(plan: ShardPlan, number: int, total: int, ids: Ids) -> None:
    if total != len(ids):
        path = with_suffix(plan.stem(number), ".lens")
        raise CorpusError(f"{path}: the documents have {counted(total, 'id')} together; expected {len(ids)}")
