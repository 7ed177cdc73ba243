"""Read the documents of shards that are merged, in order: their ids, their masks, and their ids in the corpus."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate, chain, islice, starmap
from typing import Any, TypeAlias

from ..core.rows import take
from ..errors import CorpusError
from ..lazy import np, npt
from ..records import dataclass
from .formats import Lengths
from .formats.format import forget
from .open_parts import lens_of, read_masks
from .origins import NUMBER_BYTES, MergedOrigins, number_blocks, paths_of, rows_of_sources
from .part import read_record
from .passes import Pass
from .plan import ShardPlan
from .readers import in_blocks
from .shuffle import Documents, shuffled

#: Ids, and documents, that are copied at once.
_BLOCK, _DOCUMENTS = 1 << 20, 1 << 16
#: About how many bytes an id of a document has.
_KEY_BYTES = 40
#: Returns the numbers that documents of a part have, one for each id.
_Open: TypeAlias = "Callable[[ShardPlan, int], npt.NDArray[Any]]"


@dataclass(frozen=True)
class TakenBlock:
    """Some documents of one source that follow one another, of which a pass takes all or some.

    `part` is the number of the part that they are in, `first` the number of the first of them in the source, and `at`
    where it begins in the part; `lengths` are those of all of them, and `path` is the file that they come from.
    """

    taken: Pass
    part: int
    first: int
    at: int
    lengths: Lengths
    path: str

    @property
    def plan(self) -> ShardPlan:
        """The plan of the source."""
        return self.taken.shards.plan

    def longest(self) -> int:
        """Return the length of the longest document that is taken, before one is cut; 0 if none is."""
        chosen = self.taken.chosen(self.first, len(self.lengths))
        lengths = self.lengths if chosen is None else self.lengths[chosen]
        return int(lengths.max()) if len(lengths) else 0

    def documents(self, numbers: npt.NDArray[Any]) -> Documents:
        """Return what documents that are taken have of the numbers of their part."""
        end = self.at + int(self.lengths.sum())
        data = np.ascontiguousarray(numbers[self.at : end])
        item, chosen = data.itemsize, self.taken.chosen(self.first, len(self.lengths))
        sizes = self.lengths * item
        if chosen is None:
            return data.view(np.uint8), sizes
        offsets = np.zeros(len(sizes) + 1, np.int64)
        np.cumsum(sizes, out=offsets[1:])
        moved, offsets = take(data.view(np.uint8), offsets, chosen)
        return self._cut(moved, offsets, chosen, item)

    def _cut(
        self, moved: npt.NDArray[np.uint8], offsets: Lengths, chosen: npt.NDArray[np.int64], item: int
    ) -> Documents:
        """Return documents with the one that is cut as it is left: its first ids, and the token after all documents."""
        sizes = np.diff(offsets)
        document, kept = (-1, 0) if self.taken.cut is None else self.taken.cut
        found = int(np.searchsorted(chosen, document - self.first))
        if found == len(chosen) or chosen[found] != document - self.first:
            return moved, sizes
        behind = int(self.plan.policy.eos is not None)
        start, end = int(offsets[found]) + (kept - behind) * item, int(offsets[found + 1]) - behind * item
        sizes[found] = kept * item
        return np.concatenate([moved[:start], moved[end:]]), sizes


def blocks_of(passes: Sequence[Pass]) -> Iterator[TakenBlock]:
    """Yield the documents of passes in order, about a block of ids of one file at a time."""
    for taken in passes:
        for _ in range(taken.times):
            first = 0
            for number in range(len(taken.shards.plan)):
                for block in _blocks_of_part(taken, number, first):
                    yield block
                    first += len(block.lengths)


def _blocks_of_part(taken: Pass, number: int, first: int) -> Iterator[TakenBlock]:
    plan = taken.shards.plan
    record = read_record(plan, number)
    if record is None:
        raise CorpusError(f"{plan.stem(number)}: the part is missing; run bbpe.shard again")
    lengths, document, at = lens_of(plan, number), 0, 0
    paths, counts = [source.path for source in plan.parts[number]], record.sources
    if plan.policy.moved or not record.sources:  # documents come from any source
        paths, counts = paths_of(plan, record)
    for path, count in zip(paths, counts, strict=True):
        for some in _some(lengths[document : document + count]):
            yield TakenBlock(taken, number, first, at, some, path)
            first, at = first + len(some), at + int(some.sum())
            # or the memory of the process would grow with its parts
            forget(lengths)
        document += count


def documents_of(passes: Sequence[Pass], read: _Open) -> Iterator[tuple[Documents, str]]:
    """Yield what documents have of the numbers that `read` returns of a part, and the file that they come from."""
    opened: tuple[Any, Any] = (None, None)
    for block in blocks_of(passes):
        key = (id(block.taken), block.part)
        if opened[0] != key:
            opened = key, read(block.plan, block.part)
        yield block.documents(opened[1]), block.path
        forget(opened[1])


def read_ids(plan: ShardPlan, number: int) -> npt.NDArray[Any]:
    """Return the ids of a part; `CorpusError` unless they fit its record."""
    record = read_record(plan, number)
    # not the lists of the format, which are larger, and were checked when they were written
    ids = plan.policy.files.ids(plan.stem(number), plan.policy.dtype)
    if record is None or (len(lens_of(plan, number)), len(ids)) != (record.documents, record.tokens):
        raise CorpusError(f"{plan.stem(number)}: the files are not those of the record; verify the shards")
    return ids


def origins_of_documents(
    plan: ShardPlan, plans: Sequence[ShardPlan], passes: Sequence[Pass], count: int, threads: int
) -> MergedOrigins | None:
    """Return where the documents that are merged come from; `None` where some shards do not know it."""
    rows = rows_of_sources(plans)
    if rows is None:
        return None
    # the sources of all shards follow one another in the plan
    before = [0, *accumulate(sum(map(len, each.parts)) for each in plans)]
    blocks: Iterator[Documents] = chain.from_iterable(_origins_of_pass(each, before[each.source]) for each in passes)
    if plan.policy.shuffle is not None:
        # the order depends on the seed and the numbers of documents alone
        blocks = shuffled(blocks, plan.policy.shuffle, count, NUMBER_BYTES * count, plan.folder, threads)
    return MergedOrigins(plan, rows, blocks)


def _origins_of_pass(taken: Pass, before: int) -> Iterator[Documents]:
    for _ in range(taken.times):
        first = 0
        for data, sizes in number_blocks([taken.shards.plan], before):
            chosen = taken.chosen(first, len(sizes))
            first += len(sizes)
            if chosen is None:
                yield data, sizes
            else:
                yield data.reshape(-1, NUMBER_BYTES)[chosen].reshape(-1), sizes[chosen]


def keys_of_documents(plan: ShardPlan, passes: Sequence[Pass], count: int, threads: int) -> Iterator[str]:
    """Yield the ids that documents have in the corpus, in the order of what is merged."""
    in_order = chain.from_iterable(map(_keys_of_pass, passes))
    if plan.policy.shuffle is None:
        return in_order
    # as bytes they are shuffled as ids are: the order depends on the seed and the numbers of documents alone
    blocks = map(_as_bytes, iter(lambda: list(islice(in_order, _DOCUMENTS)), []))
    found = shuffled(blocks, plan.policy.shuffle, count, count * _KEY_BYTES, plan.folder, threads)
    return chain.from_iterable(starmap(_as_texts, found))


def _keys_of_pass(taken: Pass) -> Iterator[str]:
    plan = taken.shards.plan
    read = plan.policy.files.keys
    assert read is not None
    for _ in range(taken.times):
        first = 0
        for number in range(len(plan)):
            keys = read(plan.stem(number))
            while some := list(islice(keys, _DOCUMENTS)):
                chosen = taken.chosen(first, len(some))
                yield from some if chosen is None else map(some.__getitem__, chosen.tolist())
                first += len(some)


class HeldMasks:
    """The masks of documents, in the order in which they are merged."""

    def __init__(self, blocks: Iterator[npt.NDArray[np.uint8]]) -> None:
        self._blocks, self._held = blocks, np.empty(0, np.uint8)

    def take(self, count: int) -> npt.NDArray[np.uint8]:
        """Return those of so many ids."""
        held, length = [self._held], len(self._held)
        while length < count:
            held.append(next(self._blocks))
            length += len(held[-1])
        whole = np.concatenate(held)
        self._held = whole[count:]
        return whole[:count]


def masks_of(plan: ShardPlan, passes: Sequence[Pass], count: int, tokens: int, threads: int) -> HeldMasks:
    """Return the masks of what is merged."""
    blocks: Iterator[Documents] = (documents for documents, _ in documents_of(passes, read_masks))
    if plan.policy.shuffle is not None:
        # the order depends on the seed and the numbers of documents alone
        blocks = shuffled(blocks, plan.policy.shuffle, count, tokens, plan.folder, threads)
    return HeldMasks(masks for masks, _ in blocks)


def _as_bytes(keys: list[str]) -> Documents:
    coded = [key.encode() for key in keys]
    return np.frombuffer(b"".join(coded), np.uint8), np.array([len(key) for key in coded], np.int64)


def _as_texts(data: npt.NDArray[np.uint8], sizes: Lengths) -> Iterator[str]:
    whole, at = data.tobytes(), 0
    for size in sizes.tolist():
        yield whole[at : at + size].decode()
        at += size


def _some(lengths: npt.NDArray[np.int32]) -> Iterator[Lengths]:
    """Yield lengths of documents that have about a block of ids together, or are one document."""
    for first in range(0, len(lengths), _DOCUMENTS):
        yield from in_blocks(lengths[first : first + _DOCUMENTS].astype(np.int64), _BLOCK)
