"""Merge shards into one part or some of equal size, in order or shuffled, whole or as a mixture by weights.

No more than a block of documents is held.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from itertools import chain, groupby, islice, pairwise
from operator import itemgetter
from pathlib import Path
from typing import Any, Literal, TypeAlias, TypeVar

from ..budget import parse_count
from ..counting.options import Report, reporting
from ..errors import CorpusError
from ..lazy import np, npt
from ..progress import Progress
from ..records import dataclass, replace, whole
from ..text import counted
from ..threads import thread_count
from .formats import Lengths
from .load import Folder, Shards, load_shards
from .mixture import Recipe, Share, Weight, is_pair, most_tokens, wanted_of, weight_of
from .origins import MergedOrigins
from .outputs import outputs
from .part import PartFiles, PartRecord, Totals, finished_part, read_record, write_record
from .passes import Pass, counts_of, passes_of, whole_pass
from .plan import ShardPlan, shards_folder, stored_or_new
from .policy import ShardPolicy
from .run import finish_shards
from .shuffle import Documents, shuffled
from .streams import blocks_of, documents_of, keys_of_documents, masks_of, origins_of_documents, read_ids

_T = TypeVar("_T")
Repeat: TypeAlias = Literal["error", "epochs"]
#: More threads gain little: one of them writes.
_THREADS = 4
#: How the ids of sources were made, each in its own way: it changes none that are there.
_MADE_BY = (
    "text_field", "messages_field", "templates", "document", "input_format", "allowed_special", "empty", "on_error",
    "reading", "old",
)  # fmt: skip
#: The number of a part, documents in it as bytes of ids and the number of ids of each, and the file they come from.
_Piece: TypeAlias = "tuple[int, npt.NDArray[np.uint8], Lengths, str]"


@dataclass(frozen=True)
class _Merge:
    """What is merged: shards, the passes over them, and the recipe if they have weights."""

    all_shards: list[Shards]
    passes: list[Pass]
    recipe: Recipe | None

    @property
    def documents(self) -> int:
        return sum(each.times * each.documents for each in self.passes)

    @property
    def tokens(self) -> int:
        return sum(each.times * each.tokens for each in self.passes)

    def counts(self) -> list[tuple[int, int, int, int]]:
        """Return the documents and the tokens of each source, those that are taken and all of them."""
        return [counts_of(self.passes, number, shards) for number, shards in enumerate(self.all_shards)]

    def read(self) -> Totals:
        """Return what was read for the sources, with the documents that a mixture leaves out or repeats."""
        totals = sum((shards.totals for shards in self.all_shards), Totals())
        if self.recipe is None:
            return replace(totals, documents=0, tokens=0)
        more = [documents - had for documents, _, had, _ in self.counts()]
        left, repeated = (sum(max(sign * number, 0) for number in more) for sign in (-1, 1))
        is_known = all(each.last is None for each in self.passes)
        text = sum(each.times * each.shards.totals.text for each in self.passes) if is_known else 0
        return replace(
            totals, documents=0, tokens=0, text=text, unknown=0, left=totals.left + left,
            repeated=totals.repeated + repeated,
        )  # fmt: skip


def merge_shards(
    folders: Sequence[Folder] | Sequence[tuple[Folder, float]], folder: str | os.PathLike[str], *,
    tokens: int | str | None = None, shuffle: int | None = None, repeat: Repeat = "error", exact: bool = False,
    shard_size: int | str | None = None, threads: int | None = None,
    progress: bool | Report | None = None,
) -> Shards:  # fmt: skip
    r"""Merge shards of one tokenizer and one format into a single part, or into parts of about equal size.

    Documents keep their ids, and stay whole. Without shuffling, a single part has the bytes that `shard` would write as
    one part. With weights the result is a mixture: each source has its share of the tokens, to within one document, and
    the seed of `shuffle`, 0 by default, chooses the documents. `Shards.mixture` has the wanted and the actual numbers.

    Args:
        folders: The folders that `shard` wrote, or their shards, in order; all of them must be complete.  Or pairs of
            one and its weight, such as `[("out/web", 0.6), ("out/code", 0.3)]`: weights are more than 0, and need not
            sum to 1.  A folder that is named twice is two sources.
        folder: The new folder.
        tokens: How many tokens a mixture has, with BOS and EOS: an int, or a string such as "100B" or "1.5M".  By
            default as many as possible without reading a source twice.
        shuffle: A seed shuffles the documents: every order is possible, and it depends only on the seed and the numbers
            of the documents.  By default they keep the order of the corpus, in a mixture source by source.
        repeat: What to do if a source has fewer tokens than its share of `tokens`: "error", or "epochs" to repeat all
            of its documents as often as they fit, and then some of them that the seed chooses.
        exact: Cut one document of each source, so that the source has exactly its share.  The document keeps the EOS.
        shard_size: About how many ids a part has, an int or a string such as "100M": it exceeds the number by less than
            one document, and the last part is not small. All ids in one part by default.
        threads: The number of threads that shuffle; by default one for each core, at most 4.
        progress: True for a bar on stderr, or a function that is called with `bbpe.progress.Progress`.

    Returns:
        The merged shards.

    Raises:
        CorpusError: Shards are not complete, or their ids differ in tokenizer, EOS, BOS or format; the message names
            the differences. How their files were read may differ.
        TypeError: `folders` is no list of folders or of pairs, or has both.
        ValueError: There are no folders, a source has too few tokens, options of mixtures are given without weights,
            a number is out of range, or a document has more than `shard_size` ids.
        OSError: A file cannot be read or written.

    Example:
        >>> from pathlib import Path
        >>> from tempfile import TemporaryDirectory
        >>> tok = bbpe.train_from_iterator(["low lower"], 258)
        >>> with TemporaryDirectory() as folder:
        ...     for name in "ab":
        ...         _ = Path(folder, f"{name}.jsonl").write_text('{"text": "low"}\n' * 9)
        ...         _ = bbpe.shard(f"{folder}/{name}.jsonl", f"{folder}/{name}", tok)
        ...     bbpe.merge_shards([folder + "/a", folder + "/b"], folder + "/all", shuffle=42)
        ...     pairs = [(folder + "/a", 2), (folder + "/b", 1)]
        ...     mixed = bbpe.merge_shards(pairs, folder + "/mixed", tokens=12, shuffle=42)
        ...     [(source.tokens, source.share) for source in mixed.mixture]
        <bbpe.Shards: 18 documents, 18 tokens, 1 part of megatron>
        [(8, 0.6666666666666666), (4, 0.3333333333333333)]

    """
    given, weights = sources_of(folders)
    target = shards_folder(folder)
    if shuffle is not None:
        shuffle = whole("shuffle", shuffle, 0, (1 << 64) - 1, expected="an int or None")
    if shard_size is not None:
        shard_size = parse_count(shard_size, "shard_size")
    count = min(thread_count(None), _THREADS) if threads is None else thread_count(threads)
    wanted = _checked_tokens(weights, tokens, repeat, exact)
    merge = _chosen([load_shards(name) for name in given], weights, wanted, shuffle or 0, repeat, exact)
    plan = stored_or_new(_plan_of(merge, target, shuffle, shard_size))
    if None in [finished_part(plan, number) for number in range(len(plan))]:
        try:
            with reporting(progress) as report:
                _merge(plan, merge, count, report)
        except FileNotFoundError:
            # another run has done all parts meanwhile, and removed what looked like the rest of a killed one
            if None in [finished_part(plan, number) for number in range(len(plan))]:
                raise
    return finish_shards(plan)


def sources_of(folders: object) -> tuple[list[Folder], list[Weight] | None]:
    """Return the folders in a list, and their weights if they have some; `TypeError` on what has no order."""
    if isinstance(folders, str | os.PathLike):
        raise ValueError(f"folders is {str(folders)!r}; expected a list of one folder or more")
    if isinstance(folders, Shards | ShardPlan):
        raise TypeError(f"folders must be a list of folders in order, not {type(folders).__name__}: give [shards]")
    if isinstance(folders, bytes | bytearray | Mapping | Set) or not isinstance(folders, Iterable):
        way = ": give [*folders.items()], which are pairs of a folder and its weight" * isinstance(folders, Mapping)
        raise TypeError(f"folders must be a list of folders in order, not {type(folders).__name__}{way}")
    found: list[Any] = list(folders)
    if not found:
        raise ValueError("folders is empty; expected a list of one folder or more")
    with_weight = [number for number, each in enumerate(found) if is_pair(each)]
    for number in with_weight:
        if len(found[number]) != 2:
            raise TypeError(f"folders[{number}] has {len(found[number])} values; expected a folder and its weight")
    if with_weight and len(with_weight) < len(found):
        bare = next(number for number, each in enumerate(found) if not is_pair(each))
        raise TypeError(
            f"folders[{bare}] has no weight, and folders[{with_weight[0]}] has one; give a weight to all or to none"
        )
    for number, each in enumerate(found):
        name = each[0] if with_weight else each
        if not isinstance(name, str | os.PathLike | Shards | ShardPlan):
            raise TypeError(f"folders[{number}] must be a folder, not {type(name).__name__}")
    if not with_weight:
        return found, None
    return [name for name, _ in found], [weight_of(f"folders[{n}]", weight) for n, (_, weight) in enumerate(found)]


def _checked_tokens(weights: list[Weight] | None, tokens: int | str | None, repeat: Repeat, exact: bool) -> int | None:
    """Return the tokens of a mixture, `None` for as many as there are; errors on options that have no effect."""
    if repeat not in ("error", "epochs"):
        raise ValueError(f"repeat is {repeat!r}; expected 'error' or 'epochs'")
    if not isinstance(exact, bool):
        raise TypeError(f"exact must be True or False, not {type(exact).__name__}")
    options = {"tokens": tokens is not None, "repeat": repeat != "error", "exact": exact}
    given = [name for name, is_given in options.items() if is_given]
    if weights is None and given:
        are = "are" if len(given) > 1 else "is"
        raise ValueError(
            f"{' and '.join(given)} {are} given, and folders have no weights, so that they are merged whole; "
            "give each folder a weight"
        )
    if tokens is None:
        if repeat == "epochs":
            raise ValueError("repeat is 'epochs' without tokens, so that no source is read twice; give tokens=")
        return None
    return parse_count(tokens, "tokens")


def _chosen(
    all_shards: list[Shards], weights: list[Weight] | None, tokens: int | None, seed: int, repeat: Repeat, exact: bool
) -> _Merge:
    """Return the documents of each source; `ValueError` if one has too few tokens."""
    if weights is None:
        return _Merge(all_shards, [whole_pass(number, each) for number, each in enumerate(all_shards)], None)
    had = [shards.tokens for shards in all_shards]
    most = most_tokens(weights, had)
    wanted = wanted_of(weights, most if tokens is None else tokens)
    shares = []
    for number, (shards, weight, share) in enumerate(zip(all_shards, weights, wanted, strict=True)):
        name = f"folders[{number}] ({shards.plan.folder})"
        if not shards.tokens:
            raise ValueError(f"{name} has no tokens; leave it out of the mixture")
        if share > shards.tokens and repeat == "error":
            at_most = f"tokens={most}" if most else "a larger weight"
            raise ValueError(
                f"{name} has {counted(shards.tokens, 'token')}, and its share of {tokens:,} is {share:,}: give "
                f"{at_most} or less, a smaller weight, or repeat='epochs' to read it more than once"
            )
        shares.append(Share(str(shards.plan.folder), float(weight), share))
    passes = [
        each
        for number, (shards, share) in enumerate(zip(all_shards, wanted, strict=True))
        for each in passes_of(number, shards, share, seed, exact=exact)
    ]
    return _Merge(all_shards, passes, Recipe(tuple(shares), exact))


def _plan_of(merge: _Merge, folder: Path, shuffle: int | None, shard_size: int | None) -> ShardPlan:
    all_shards = merge.all_shards
    first = all_shards[0].plan
    for shards in all_shards:
        its = shards.plan.policy
        differences = first.differences(replace(shards.plan, policy=_made_as(first.policy, its), parts=first.parts))
        if first.policy.has_masks != its.has_masks:
            differences.append("masks in one of them alone")
        if differences:
            both = f"{first.folder} and {shards.plan.folder}"
            way = way_to_merge(first, shards.plan)
            raise CorpusError(f"{both}: shards with {', '.join(differences)} cannot be merged{way}")
        if shuffle is None and merge.recipe is None and its.is_reordered:
            way = "merge them with a seed again, or with weights"
            raise CorpusError(f"{shards.plan.folder}: the shards are {its.moved}; {way}")
    sources = tuple(chain.from_iterable(part for shards in all_shards for part in shards.plan.parts))
    policies = [shards.plan.policy for shards in all_shards]
    is_one_corpus = len(set(map(_how_made, policies))) == 1 and not any(each.merged for each in policies)
    is_in_order = merge.recipe is None and not any(each.is_reordered for each in policies)
    merged = () if is_one_corpus and is_in_order else tuple(shards.plan.digest for shards in all_shards)
    # documents that lack a token of their ends lack it still
    readings = [each.reading for each in policies if each.reading is not None and each.reading.on_missing == "keep"]
    own = replace(first.policy, reading=readings[0] if readings else first.policy.reading)
    policy = replace(own, shuffle=shuffle, shard_size=shard_size, mixture=merge.recipe, merged=merged)
    count = 1 if shard_size is None else _part_count(merge, shard_size)
    # documents of any source may be in any part
    tokenizer = first.tokenizer if first.has_tokenizer else None
    old = None if policy.old is None else first.old_tokenizer
    return ShardPlan(folder, policy, first.identity, (sources,) + ((),) * (count - 1), tokenizer, old)


def _how_made(policy: ShardPolicy) -> tuple[Any, ...]:
    """Return how ids were made, with the fields of their ids in the corpus."""
    return tuple(getattr(policy, name) for name in (*_MADE_BY, "id_field"))


def _made_as(first: ShardPolicy, its: ShardPolicy) -> ShardPolicy:
    """Return a policy as if its ids had been made as those of another one, and not been merged before."""
    names = ["part_size", "shard_size", "shuffle", "mixture", "merged", *_MADE_BY]
    # all have ids of documents or none, under whatever name
    names += ["id_field"] if None not in (first.id_field, its.id_field) else []
    own: Any = {name: getattr(first, name) for name in names}
    return replace(its, **own)


def way_to_merge(one: ShardPlan, other: ShardPlan) -> str:
    """Return what to do about plans of two vocabularies, or that differ only in how the ids are kept; else ""."""
    fingerprints = {plan.identity["fingerprint"] for plan in (one, other)}
    if len(fingerprints) > 1:
        return "" if None in fingerprints else "; bbpe.retokenize gives one of them the vocabulary of the other"
    mine, its = (
        (policy.bos, policy.eos, policy.has_masks, policy.id_field is None) for policy in (one.policy, other.policy)
    )
    # plans of converted shards have the ids alone
    way = "; rewrite each of them by bbpe.convert_shards in one format, and merge what it returns"
    return way if mine == its else ""


def _part_count(merge: _Merge, shard_size: int) -> int:
    """Return into how many parts shards are divided; `ValueError` where a document would be longer than a part."""
    tokens = merge.tokens
    count = max(-(-tokens // shard_size), 1)
    once = [replace(each, times=1) for each in merge.passes]
    longest = max((block.longest() for block in blocks_of(once)), default=0)
    if count > 1 and longest > tokens // count:
        each = counted(tokens // count, "id")
        raise ValueError(
            f"shard_size is {shard_size}, so that parts have about {each}; expected more than the {longest} that one "
            "document has"
        )
    return count


def _merge(plan: ShardPlan, merge: _Merge, threads: int, report: Report) -> None:
    """Write all parts, one after another."""
    item = np.dtype(plan.policy.dtype).itemsize
    documents, tokens = merge.documents, merge.tokens
    keys = masks = None
    if plan.policy.id_field is not None:
        keys = keys_of_documents(plan, merge.passes, documents, threads)
    if plan.policy.has_masks:
        masks = masks_of(plan, merge.passes, documents, tokens, threads)
    origins = origins_of_documents(plan, [shards.plan for shards in merge.all_shards], merge.passes, documents, threads)
    blocks: Iterable[tuple[Documents, str]] = documents_of(merge.passes, read_ids)
    if plan.policy.shuffle is not None:
        read = _TokensDone(report, "read", tokens)
        in_order = (read.past(documents, int(documents[1].sum()) // item) for documents, _ in blocks)
        found = shuffled(in_order, plan.policy.shuffle, documents, tokens * item, plan.folder, threads)
        blocks = ((documents, "") for documents in found)
    # the first part is written even if there are no documents
    nothing: _Piece = (0, np.empty(0, np.uint8), np.empty(0, np.int64), "")
    pieces = chain([nothing], _divided(blocks, item, tokens, len(plan)))
    unknown, written = _UnknownTokens(plan, merge), _TokensDone(report, "merge", tokens)
    for number, some in groupby(pieces, itemgetter(0)):
        with outputs(plan.stem(number)) as files:
            part = PartFiles(plan.policy, plan.identity["name"], files)
            own = Totals()
            for _, ids, lengths, path in some:
                count = int(lengths.sum())
                own_keys = None if keys is None else list(islice(keys, len(lengths)))
                part.add(ids, lengths, path, own_keys, None if masks is None else masks.take(count))
                if origins is not None:
                    origins.write(part, len(lengths))
                written.past(None, count)
                own += Totals(documents=len(lengths), tokens=count, unknown=unknown.count(ids, lengths))
            part.finish()
            published = files.publish()
        write_record(plan, _record(plan, merge, number, own, published, origins))


def _record(
    plan: ShardPlan, merge: _Merge, number: int, own: Totals, published: dict[str, Any], origins: MergedOrigins | None
) -> PartRecord:
    """Return the record of a part; what was read for all parts is in that of the first one."""
    sources: list[int] = []
    rows = [] if origins is None or number else origins.rows
    mixed: list[tuple[int, ...]] = []
    if not number:
        own += merge.read()
        mixed = [] if merge.recipe is None else [tuple(counts) for counts in merge.counts()]
        if not plan.policy.moved and origins is not None:
            sources = origins.documents
        elif not plan.policy.moved:
            plans = [shards.plan for shards in merge.all_shards]
            records = [read_record(each, part) for each in plans for part in range(len(each))]
            sources = list(chain.from_iterable(record.sources for record in records if record is not None))
    details: Any = {"files": published, "sources": sources, "mixed": mixed, "rows": rows}
    return PartRecord(**vars(own), part=number, plan=plan.digest, **details)


class _TokensDone:
    """Reports the tokens of one phase."""

    def __init__(self, report: Report, phase: str, total: int) -> None:
        self._report, self._phase, self._total, self._done = report, phase, total, 0

    def past(self, item: _T, tokens: int) -> _T:
        """Report that `tokens` more are done, and return the item that has them."""
        self._done += tokens
        self._report(Progress(self._phase, self._done, self._total, "tokens"))
        return item


class _UnknownTokens:
    """Counts the unknown tokens of the documents of a mixture, of which the records of sources have only the sum."""

    def __init__(self, plan: ShardPlan, merge: _Merge) -> None:
        token, policy = plan.tokenizer.unk_token_id if plan.has_tokenizer else None, plan.policy
        is_known = merge.recipe is None or not any(shards.totals.unknown for shards in merge.all_shards)
        self._token, self._dtype = None if is_known else token, policy.dtype
        self._around = (policy.bos, policy.eos).count(token)

    def count(self, ids: npt.NDArray[np.uint8], lengths: Lengths) -> int:
        """Return how many ids of documents are the unknown one, less those around documents; 0 where it is known."""
        if self._token is None:
            return 0
        found = int(np.count_nonzero(ids.view(self._dtype) == self._token))
        return found - self._around * int(np.count_nonzero(lengths))


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
