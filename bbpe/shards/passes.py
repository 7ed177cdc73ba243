"""Choose the documents of a mixture: whole passes over a source, and a part of one that the seed decides.

Each pass over a source gives each of its documents a key, a hash of the seed, the source, the pass and the number of
the document, which no two documents share.  A part of a pass is the documents with the smallest keys.  The largest of
these is found in two readings of the lengths, whatever the number of documents:

    tokens of all documents by the highest 16 bits of their keys     the bits where the wanted tokens end
    the documents with these bits, sorted by their keys              the document where they end
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ..errors import CorpusError
from ..lazy import np, npt
from ..records import dataclass
from ..text import counted
from .formats import Lengths
from .formats.format import forget
from .load import Shards
from .open_parts import lens_of
from .part import read_record
from .shuffle import keys_of

#: Lengths of documents that are read at once.
_DOCUMENTS = 1 << 16
#: The highest bits of keys by which tokens are summed up.
_BITS = 16


@dataclass(frozen=True)
class Pass:
    """Documents of a source that follow one another in a merge: all of them, or those with keys of at most `last`.

    `seed` is that of the keys.  `cut` is the number of a document, and how many of its ids are left of it.  All of this
    is repeated `times`; `documents` and `tokens` are those of one time.
    """

    source: int
    shards: Shards
    documents: int
    tokens: int
    times: int = 1
    seed: int = 0
    last: int | None = None
    cut: tuple[int, int] | None = None

    def chosen(self, first: int, count: int) -> npt.NDArray[np.int64] | None:
        """Return which of the documents from `first` on are in the pass, `None` for all of them."""
        if self.last is None:
            return None
        found: npt.NDArray[np.int64] = np.flatnonzero(keys_of(self.seed, first, count) <= np.uint64(self.last))
        return found


def whole_pass(source: int, shards: Shards, times: int = 1) -> Pass:
    """Return a pass over all documents of a source."""
    return Pass(source, shards, shards.documents, shards.tokens, times)


def passes_of(source: int, shards: Shards, wanted: int, seed: int, *, exact: bool) -> list[Pass]:
    """Return the passes over a source that have so many tokens, or within half a document of it unless `exact`.

    The document where the wanted tokens end is taken if at least half of it is wanted; with `exact` it is cut.
    """
    times, rest = divmod(wanted, shards.tokens) if shards.tokens else (0, 0)
    passes = [whole_pass(source, shards, times)] if times else []
    if rest:
        part = _part_of(source, shards, rest, seed_of(seed, source, times), exact=exact)
        passes += [] if part is None else [part]
    return passes


def seed_of(seed: int, source: int, epoch: int) -> int:
    """Return the seed of the keys of documents in one pass over a source.

    >>> seed_of(42, 0, 0) == seed_of(42, 0, 0), len({seed_of(42, source, 1) for source in range(100)})
    (True, 100)
    """
    return int(keys_of(int(keys_of(seed, source, 1)[0]), epoch, 1)[0])


def _part_of(source: int, shards: Shards, wanted: int, seed: int, *, exact: bool) -> Pass | None:
    """Return the part of a pass with about `wanted` tokens, more than 0 and fewer than the source has."""
    documents, tokens = _by_bits(shards, seed)
    ends = np.cumsum(tokens)
    # the first bits whose documents have more than is wanted: the sums are whole, and those of float64 are exact
    bits = int(np.searchsorted(ends, wanted, "right"))
    before, done = int(documents[:bits].sum()), int(ends[bits] - tokens[bits])
    keys, numbers, lengths = _with_bits(shards, seed, bits)
    own_ends = done + np.cumsum(lengths)
    taken = int(np.searchsorted(own_ends, wanted, "right"))
    tokens_taken = int(own_ends[taken - 1]) if taken else done
    left, length = wanted - tokens_taken, int(lengths[taken])
    cut = (int(numbers[taken]), left) if exact and left else None
    if cut is not None or 2 * left >= length:
        taken, tokens_taken = taken + 1, wanted if cut is not None else tokens_taken + length
    if not before + taken:
        return None
    # every document with smaller bits has a smaller key
    last = int(keys[taken - 1]) if taken else (bits << 64 - _BITS) - 1
    return Pass(source, shards, before + taken, tokens_taken, 1, seed, last, cut)


def _by_bits(shards: Shards, seed: int) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Return how many documents and tokens there are by the highest bits of keys."""
    documents, tokens = (np.zeros(1 << _BITS, np.int64) for _ in range(2))
    for first, lengths in lengths_of(shards):
        bits = (keys_of(seed, first, len(lengths)) >> np.uint64(64 - _BITS)).astype(np.int64)
        documents += np.bincount(bits, minlength=1 << _BITS)
        # a block has less than 2**53 tokens, which float64 holds exactly
        tokens += np.bincount(bits, lengths, 1 << _BITS).astype(np.int64)
    return documents, tokens


def _with_bits(shards: Shards, seed: int, bits: int) -> tuple[npt.NDArray[np.uint64], Lengths, Lengths]:
    """Return the keys, the numbers and the lengths of the documents whose keys have these bits, by their keys."""
    found = []
    for first, lengths in lengths_of(shards):
        keys = keys_of(seed, first, len(lengths))
        mine = np.flatnonzero((keys >> np.uint64(64 - _BITS)) == np.uint64(bits))
        found.append((keys[mine], first + mine, lengths[mine]))
    keys, numbers, lengths = (np.concatenate(columns) for columns in zip(*found, strict=True))
    order = np.argsort(keys)
    return keys[order], numbers[order], lengths[order]


def lengths_of(shards: Shards) -> Iterator[tuple[int, Lengths]]:
    """Yield the lengths of documents, some at a time, with the number of the first of them."""
    first = 0
    for number in range(len(shards.plan)):
        for lengths in checked_lengths(shards, number):
            yield first, lengths
            first += len(lengths)


def checked_lengths(shards: Shards, number: int) -> Iterator[Lengths]:
    """Yield the lengths of the documents of a part, some at a time; `CorpusError` unless they fit its record."""
    plan = shards.plan
    record, lengths = read_record(plan, number), lens_of(plan, number)
    if record is None:
        raise CorpusError(f"{plan.stem(number)}: the part is missing; run bbpe.shard again")
    if len(lengths) != record.documents:
        found = counted(len(lengths), "document")
        raise CorpusError(f"{plan.stem(number)}.lens: the file has {found}; the record has {record.documents:,}")
    for first in range(0, len(lengths), _DOCUMENTS):
        yield lengths[first : first + _DOCUMENTS].astype(np.int64)
        forget(lengths)


def counts_of(passes: Sequence[Pass], source: int, shards: Shards) -> tuple[int, int, int, int]:
    """Return the documents and the tokens that passes take of a source, and those that it has."""
    own = [each for each in passes if each.source == source]
    taken = (sum(each.times * each.documents for each in own), sum(each.times * each.tokens for each in own))
    return *taken, shards.documents, shards.tokens
