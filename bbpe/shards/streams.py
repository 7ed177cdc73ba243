"""Read the documents of shards that are merged, in order: their ids, their masks, and their ids in the corpus."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain, islice, starmap

from ..errors import CorpusError
from ..lazy import np, npt
from .formats import Lengths
from .formats.format import forget
from .load import Shards, lens_of, read_masks
from .part import Totals, read_record
from .plan import ShardPlan
from .shuffle import Documents, shuffled

#: Ids, and documents, that are copied at once.
_BLOCK, _DOCUMENTS = 1 << 20, 1 << 16
#: About how many bytes an id of a document has.
_KEY_BYTES = 40


def blocks_of(all_shards: Sequence[Shards], sources: list[int]) -> Iterator[tuple[Documents, str]]:
    """Yield whole documents in order, about a block of ids of one source at a time, and the path of the source."""
    for shards in all_shards:
        plan = shards.plan
        for number in range(len(plan)):
            record = read_record(plan, number)
            if record is None:
                raise CorpusError(f"{plan.stem(number)}: the part is missing; run bbpe.shard again")
            # not the lists of the format, which are larger, and were checked when they were written
            ids = plan.policy.files.ids(plan.stem(number), plan.policy.dtype)
            lengths = lens_of(plan, number)
            if (len(lengths), len(ids)) != (record.documents, record.tokens):
                raise CorpusError(f"{plan.stem(number)}: the files are not those of the record; verify the shards")
            sources += record.sources
            document = at = 0
            paths, counts = [source.path for source in plan.parts[number]], record.sources
            if plan.policy.moved:  # documents come from any source
                paths, counts = [""], [len(lengths)]
            for path, count in zip(paths, counts, strict=True):
                for some in _some(lengths[document : document + count]):
                    end = at + int(some.sum())
                    taken = np.ascontiguousarray(ids[at:end])
                    yield (taken.view(np.uint8), some * taken.itemsize), path
                    at = end
                    # or the memory of the process would grow with its parts
                    forget(ids)
                    forget(lengths)
                document += count


def keys_of_documents(plan: ShardPlan, all_shards: Sequence[Shards], count: int) -> Iterator[str]:
    """Yield the ids that documents have in the corpus, in the order of what is merged."""
    plans = [shards.plan for shards in all_shards]
    read = plan.policy.files.keys
    assert read is not None
    in_order = chain.from_iterable(read(plan.stem(number)) for plan in plans for number in range(len(plan)))
    if plan.policy.shuffle is None:
        return in_order
    # as bytes they are shuffled as ids are: the order depends on the seed and the numbers of documents alone
    blocks = map(_as_bytes, iter(lambda: list(islice(in_order, _DOCUMENTS)), []))
    found = shuffled(blocks, plan.policy.shuffle, count, count * _KEY_BYTES, plan.folder)
    return chain.from_iterable(starmap(_as_texts, found))


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


def masks_of(plan: ShardPlan, all_shards: Sequence[Shards], totals: Totals) -> HeldMasks:
    """Return the masks of what is merged."""
    blocks = _mask_blocks([shards.plan for shards in all_shards])
    if plan.policy.shuffle is not None:
        # the order depends on the seed and the numbers of documents alone
        blocks = shuffled(blocks, plan.policy.shuffle, totals.documents, totals.tokens, plan.folder)
    return HeldMasks(masks for masks, _ in blocks)


def _mask_blocks(plans: Sequence[ShardPlan]) -> Iterator[Documents]:
    for plan in plans:
        for number in range(len(plan)):
            masks, lengths, at = read_masks(plan, number), lens_of(plan, number), 0
            for some in _some(lengths):
                end = at + int(some.sum())
                yield np.ascontiguousarray(masks[at:end]), some
                at = end
                forget(masks)
                forget(lengths)


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
        few = lengths[first : first + _DOCUMENTS].astype(np.int64)
        ends = np.cumsum(few)
        start = done = 0
        while start < len(few):
            stop = max(int(np.searchsorted(ends, done + _BLOCK, "right")), start + 1)
            yield few[start:stop]
            start, done = stop, int(ends[stop - 1])
