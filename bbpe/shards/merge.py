"""Merge shards into one part or some of equal size, in order or shuffled, without holding more than a block of them."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from itertools import chain, groupby, islice, pairwise
from operator import itemgetter
from pathlib import Path
from typing import Any, TypeAlias

from ..errors import CorpusError
from ..lazy import np, npt
from ..records import replace, whole
from ..text import counted
from .formats import Lengths
from .formats.format import forget
from .load import Folder, Shards, lens_of, load_shards
from .outputs import outputs
from .part import PartFiles, PartRecord, Totals, read_record, write_record
from .plan import ShardPlan, shards_folder, stored_or_new
from .run import finish_shards
from .shuffle import Documents, shuffled
from .streams import blocks_of, keys_of_documents, masks_of

#: Lengths of documents that are read at once.
_BLOCK = 1 << 20
#: The number of a part, documents in it as bytes of ids and the number of ids of each, and the file they come from.
_Piece: TypeAlias = "tuple[int, npt.NDArray[np.uint8], Lengths, str]"


def merge_shards(
    folders: Sequence[Folder], folder: str | os.PathLike[str], *, shuffle: int | None = None,
    shard_size: int | None = None,
) -> Shards:  # fmt: skip
    """Merge shards of one tokenizer and one policy into a single part, or into parts of about equal size.

    Without shuffling, a single part is what `shard` would write in one.  Documents keep their ids, and stay whole.

    Args:
        folders: The folders that `shard` wrote, or their shards, in order; all of them must be complete.
        folder: The new folder.
        shuffle: A seed has the documents in a random order, exactly: any order may come, and it depends on the seed and
            the number of each document alone.  The order of the corpus by default.
        shard_size: The ids of each part, about: it has no more by as much as a document, and the last one is not small.
            All ids in one part by default.

    Returns:
        The merged shards.

    Raises:
        CorpusError: Shards are not complete, or differ in tokenizer or policy; the message names the differences.
        TypeError: `folders` is no sequence of folders, such as a mapping of folders to weights.
        ValueError: There are no folders, the seed is out of range, or `shard_size` is less than a document has.
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
    given, target = _checked_folders(folders), shards_folder(folder)
    if shuffle is not None:
        shuffle = whole("shuffle", shuffle, 0, (1 << 64) - 1, expected="an int or None")
    if shard_size is not None:
        shard_size = whole("shard_size", shard_size, 1, expected="an int or None")
    all_shards = [load_shards(name) for name in given]
    plan = stored_or_new(_plan_of(all_shards, target, shuffle, shard_size))
    if None in [read_record(plan, number) for number in range(len(plan))]:
        _merge(plan, all_shards)
    return finish_shards(plan)


def _checked_folders(folders: object) -> list[Folder]:
    """Return the folders in a list; `TypeError` on weights and on what has no order."""
    if isinstance(folders, str | os.PathLike):
        raise ValueError(f"folders is {str(folders)!r}; expected a list of one folder or more")
    if isinstance(folders, Shards | ShardPlan):
        raise TypeError(f"folders must be a list of folders in order, not {type(folders).__name__}: give [shards]")
    if isinstance(folders, bytes | bytearray | Mapping | Set) or not isinstance(folders, Iterable):
        no_weights = "; shards are merged whole, without weights" if isinstance(folders, Mapping) else ""
        raise TypeError(f"folders must be a list of folders in order, not {type(folders).__name__}{no_weights}")
    found = list(folders)
    for number, folder in enumerate(found):
        if not isinstance(folder, str | os.PathLike | Shards | ShardPlan):
            no_weights = "; shards are merged whole, without weights" if isinstance(folder, Sequence) else ""
            raise TypeError(f"folders[{number}] must be a folder, not {type(folder).__name__}{no_weights}")
    if not found:
        raise ValueError("folders is empty; expected a list of one folder or more")
    return found


def _plan_of(all_shards: Sequence[Shards], folder: Path, shuffle: int | None, shard_size: int | None) -> ShardPlan:
    first = all_shards[0].plan
    for shards in all_shards:
        its = shards.plan.policy
        policy = replace(its, part_size=first.policy.part_size, shard_size=first.policy.shard_size)
        differences = first.differences(replace(shards.plan, policy=policy, parts=first.parts))
        if differences:
            names = f"{first.folder} and {shards.plan.folder}"
            raise CorpusError(f"{names}: shards with {', '.join(differences)} cannot be merged")
        if shuffle is None and its.shuffle is not None:
            raise CorpusError(f"{shards.plan.folder}: the shards are shuffled; merge them with a seed again")
    sources = tuple(chain.from_iterable(part for shards in all_shards for part in shards.plan.parts))
    policy = replace(first.policy, shuffle=shuffle, shard_size=shard_size)
    count = 1 if shard_size is None else _part_count(all_shards, shard_size)
    # documents of any source may be in any part
    return ShardPlan(folder, policy, first.identity, (sources,) + ((),) * (count - 1), first.tokenizer)


def _part_count(all_shards: Sequence[Shards], shard_size: int) -> int:
    """Return into how many parts shards are divided; `ValueError` where a document would be longer than a part."""
    tokens = sum(shards.tokens for shards in all_shards)
    count = max(-(-tokens // shard_size), 1)
    files = (lens_of(shards.plan, number) for shards in all_shards for number in range(len(shards.plan)))
    longest = max(map(_longest, files))
    if count > 1 and longest > tokens // count:
        each = counted(tokens // count, "id")
        raise ValueError(
            f"shard_size is {shard_size}, so that parts have about {each}; expected more than the {longest} that one "
            "document has"
        )
    return count


def _longest(lengths: npt.NDArray[np.int32]) -> int:
    longest = 0
    for first in range(0, len(lengths), _BLOCK):
        longest = max(longest, int(lengths[first : first + _BLOCK].max()))
        forget(lengths)
    return longest


def _merge(plan: ShardPlan, all_shards: Sequence[Shards]) -> None:
    """Write all parts, one after another."""
    totals = sum((shards.totals for shards in all_shards[1:]), all_shards[0].totals)
    sources: list[int] = []
    item = np.dtype(plan.policy.dtype).itemsize
    keys = None if plan.policy.id_field is None else keys_of_documents(plan, all_shards, totals.documents)
    masks = None if plan.policy.messages_field is None else masks_of(plan, all_shards, totals)
    if plan.policy.shuffle is None:
        blocks = blocks_of(all_shards, sources)
    else:
        in_order = (documents for documents, _ in blocks_of(all_shards, sources))
        found = shuffled(in_order, plan.policy.shuffle, totals.documents, totals.tokens * item, plan.folder)
        blocks = ((documents, "") for documents in found)
    # the first part is written even if there are no documents
    nothing: _Piece = (0, np.empty(0, np.uint8), np.empty(0, np.int64), "")
    pieces = chain([nothing], _divided(blocks, item, totals.tokens, len(plan)))
    # what was read is in the record of the first part
    left = replace(totals, documents=0, tokens=0)
    for number, some in groupby(pieces, itemgetter(0)):
        with outputs(plan.stem(number)) as files:
            part = PartFiles(plan.policy, plan.tokenizer.name, files)
            documents = tokens = 0
            for _, ids, lengths, path in some:
                count = int(lengths.sum())
                own_keys = None if keys is None else list(islice(keys, len(lengths)))
                part.add(ids, lengths, path, own_keys, None if masks is None else masks.take(count))
                documents, tokens = documents + len(lengths), tokens + count
            part.finish()
            published = files.publish()
        own = replace(left, documents=documents, tokens=tokens)
        details: Any = {"files": published, "sources": [] if plan.policy.moved else sources}
        write_record(plan, PartRecord(**vars(own), part=number, plan=plan.digest, **details))
        left = Totals()


def _divided(blocks: Iterable[tuple[Documents, str]], item: int, tokens: int, count: int) -> Iterator[_Piece]:
    """Yield documents with the number of the part that they are in, by where in all ids each of them begins."""
    at = 0
    for (ids, sizes), path in blocks:
        if not len(sizes):
            continue
        lengths = sizes // item
        ends = np.cumsum(lengths)
        numbers = np.minimum((at + ends - lengths) * count // max(tokens, 1), count - 1)
        bounds = [0, *(np.flatnonzero(np.diff(numbers)) + 1).tolist(), len(sizes)]
        for start, stop in pairwise(bounds):
            first, last = (int(ends[stop - 1]) if stop else 0 for stop in (start, stop))
            yield int(numbers[start]), ids[first * item : last * item], lengths[start:stop], path
        at += int(ends[-1])
