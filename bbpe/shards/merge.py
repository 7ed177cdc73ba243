"""Merge shards into one part, in order or shuffled, without holding more than a block of them."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import chain, islice, starmap
from pathlib import Path
from typing import Any

from ..counting.options import check_int
from ..errors import CorpusError
from ..lazy import np, npt
from .formats import Lengths
from .formats.format import mapped, with_suffix
from .load import Shards, load_shards
from .outputs import outputs
from .part import PartFiles, PartRecord, read_record, write_record
from .plan import ShardPlan, stored_or_new
from .run import finish_shards
from .shuffle import Documents, shuffled

#: Ids, and documents, that are copied at once.
_BLOCK, _DOCUMENTS = 1 << 20, 1 << 16
#: About how many bytes an id of a document has.
_KEY_BYTES = 40


def merge_shards(
    folders: Sequence[str | os.PathLike[str]], folder: str | os.PathLike[str], *, shuffle: int | None = None
) -> Shards:
    """Merge shards of one tokenizer and one policy into a single part.

    Without shuffling, the result is what `shard` would write in one part.  Documents keep their ids, and stay whole.

    Args:
        folders: The folders that `shard` wrote, in order; all of them must be complete.
        folder: The new folder.
        shuffle: A seed has the documents in a random order, exactly: any order may come, and it depends on the seed and
            the number of each document alone.  The order of the corpus by default.

    Returns:
        The merged shards.

    Raises:
        CorpusError: Shards are not complete, or differ in tokenizer or policy; the message names the differences.
        ValueError: There are no folders, or the seed is out of range.
        OSError: A file cannot be read or written.

    Example:
        >>> from pathlib import Path
        >>> from tempfile import TemporaryDirectory
        >>> tok = bbpe.train_from_iterator(["low lower"], 258)
        >>> with TemporaryDirectory() as folder:
        ...     for name in "ab":
        ...         _ = Path(folder, f"{name}.jsonl").write_text('{"text": "low"}')
        ...         _ = bbpe.shard(f"{folder}/{name}.jsonl", f"{folder}/{name}", tok)
        ...     bbpe.merge_shards([folder + "/a", folder + "/b"], folder + "/all", shuffle=42)
        <bbpe.Shards: 2 documents, 2 tokens, 1 part of megatron>

    """
    if isinstance(folders, str | os.PathLike) or not folders:
        raise ValueError(f"folders is {folders!r}; expected a list of one folder or more")
    if shuffle is not None:
        check_int("shuffle", shuffle, 0, (1 << 64) - 1)
    all_shards = [load_shards(name) for name in folders]
    plan = stored_or_new(_plan_of(all_shards, Path(folder).absolute(), shuffle))
    if read_record(plan, 0) is None:
        write_record(plan, _merge(plan, all_shards))
    return finish_shards(plan)


def _plan_of(all_shards: Sequence[Shards], folder: Path, shuffle: int | None) -> ShardPlan:
    first = all_shards[0].plan
    for shards in all_shards:
        policy = replace(shards.plan.policy, part_size=first.policy.part_size)
        differences = first.differences(replace(shards.plan, policy=policy, parts=first.parts))
        if differences:
            names = f"{first.folder} and {shards.plan.folder}"
            raise CorpusError(f"{names}: shards with {', '.join(differences)} cannot be merged")
        if shuffle is None and shards.plan.policy.shuffle is not None:
            raise CorpusError(f"{shards.plan.folder}: the shards are shuffled; merge them with a seed again")
    sources = tuple(chain.from_iterable(part for shards in all_shards for part in shards.plan.parts))
    policy = replace(first.policy, shuffle=shuffle)
    return ShardPlan(folder, policy, first.identity, (sources,), first.tokenizer)


def _merge(plan: ShardPlan, all_shards: Sequence[Shards]) -> PartRecord:
    totals = sum((shards.totals for shards in all_shards[1:]), all_shards[0].totals)
    sources: list[int] = []
    item = np.dtype(plan.policy.dtype).itemsize
    with outputs(plan.stem(0)) as files:
        part = PartFiles(plan.policy, plan.tokenizer.name, files)
        keys = None if plan.policy.id_field is None else _keys(plan, all_shards, totals.documents)
        if plan.policy.shuffle is None:
            blocks = _blocks(all_shards, sources)
        else:
            in_order = (documents for documents, _ in _blocks(all_shards, sources))
            found = shuffled(in_order, plan.policy.shuffle, totals.tokens * item, plan.folder)
            blocks = ((documents, "") for documents in found)
        for (ids, sizes), path in blocks:
            part.add(ids, sizes // item, path, None if keys is None else list(islice(keys, len(sizes))))
        part.finish()
        published = files.publish()
    details: Any = {"files": published, "sources": sources}
    return PartRecord(**vars(totals), part=0, plan=plan.digest, **details)


def _blocks(all_shards: Sequence[Shards], sources: list[int]) -> Iterator[tuple[Documents, str]]:
    """Yield whole documents in order, about a block of ids of one source at a time, and the path of the source."""
    for shards in all_shards:
        plan = shards.plan
        for number in range(len(plan)):
            record = read_record(plan, number)
            assert record is not None
            # not the lists of the format, which are larger, and were checked when they were written
            ids = plan.policy.files.ids(plan.stem(number), plan.policy.dtype)
            lengths = mapped(with_suffix(plan.stem(number), ".lens"), "<i4")
            if (len(lengths), len(ids)) != (record.documents, record.tokens):
                raise CorpusError(f"{plan.stem(number)}: the files are not those of the record; verify the shards")
            sources += record.sources
            document = at = 0
            paths, counts = [source.path for source in plan.parts[number]], record.sources
            if plan.policy.shuffle is not None:  # documents come from any source
                paths, counts = [""], [len(lengths)]
            for path, count in zip(paths, counts, strict=True):
                for some in _some(lengths[document : document + count]):
                    end = at + int(some.sum())
                    taken = np.ascontiguousarray(ids[at:end])
                    yield (taken.view(np.uint8), some * taken.itemsize), path
                    at = end
                document += count


def _keys(plan: ShardPlan, all_shards: Sequence[Shards], count: int) -> Iterator[str]:
    """Yield the ids that documents have in the corpus, in the order of what is merged."""
    plans = [shards.plan for shards in all_shards]
    read = plan.policy.files.keys
    assert read is not None
    in_order = chain.from_iterable(read(plan.stem(number)) for plan in plans for number in range(len(plan)))
    if plan.policy.shuffle is None:
        return in_order
    # as bytes they are shuffled as ids are: the order depends on the seed and the numbers of documents alone
    blocks = map(_as_bytes, iter(lambda: list(islice(in_order, _DOCUMENTS)), []))
    found = shuffled(blocks, plan.policy.shuffle, count * _KEY_BYTES, plan.folder)
    return chain.from_iterable(starmap(_as_texts, found))


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
