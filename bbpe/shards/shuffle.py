"""Shuffle documents exactly: any order may come, and it depends on a seed and the numbers of documents alone.

Documents are keyed by a hash of the seed and their number in the corpus, which no two share.  The first pass divides
them by the highest bits of their keys into files that fit memory, the second sorts each of these.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import BinaryIO, TypeAlias

from ..core.rows import take
from ..files import temporary_folder
from ..lazy import np, npt
from .formats import Lengths

#: Documents: the bytes of their ids one after another, and the bytes of each, int64[n].
Documents: TypeAlias = "tuple[npt.NDArray[np.uint8], Lengths]"
Keys: TypeAlias = "npt.NDArray[np.uint64]"

#: Bytes of ids and of numbers that are sorted at once, and the most files for them.
_BUCKET, _MOST = 32 << 20, 512
#: The bytes of numbers that sorting has for each document.
_DOCUMENT = 64
_GOLDEN = 0x9E3779B97F4A7C15


def keys_of(seed: int, first: int, count: int) -> Keys:
    """Return the keys of documents by their numbers: splitmix64 (Steele, Lea and Flood, 2014).

    >>> [hex(key) for key in keys_of(0, 0, 2).tolist()]
    ['0xe220a8397b1dcdaf', '0x6e789e6aa1b965f4']
    """
    numbers = np.arange(1 + first, 1 + first + count, dtype=np.uint64)
    keys = numbers * np.uint64(_GOLDEN) + np.uint64(seed & (1 << 64) - 1)
    keys = (keys ^ keys >> np.uint64(30)) * np.uint64(0xBF58476D1CE4E5B9)
    keys = (keys ^ keys >> np.uint64(27)) * np.uint64(0x94D049BB133111EB)
    return keys ^ keys >> np.uint64(31)


def shuffled(blocks: Iterable[Documents], seed: int, count: int, size: int, folder: Path) -> Iterator[Documents]:
    """Yield documents in a random order, some at a time.

    `count` is how many there are, `size` about how many bytes they have together, and `folder` gets temporary files.
    """
    bits = max(min((size + _DOCUMENT * count) // _BUCKET, _MOST - 1), 0).bit_length()
    with temporary_folder(".shuffle-", folder) as name:
        stems = [Path(name, str(bucket)) for bucket in range(1 << bits)]
        _divide(blocks, seed, bits, stems)
        for stem in stems:
            yield _sorted(stem)


def _divide(blocks: Iterable[Documents], seed: int, bits: int, stems: list[Path]) -> None:
    with ExitStack() as stack:
        data, heads = (
            [stack.enter_context(stem.with_suffix(suffix).open("wb")) for stem in stems] for suffix in (".ids", ".keys")
        )
        first = 0
        for ids, sizes in blocks:
            keys = keys_of(seed, first, len(sizes))
            first += len(sizes)
            # a shift by all 64 bits is not defined
            buckets = (keys >> np.uint64(1)) >> np.uint64(63 - bits)
            order = np.argsort(buckets, kind="stable").astype(np.int64)
            moved, offsets = take(ids, _offsets(sizes), order)
            bounds = np.searchsorted(buckets[order], np.arange(len(stems) + 1, dtype=np.uint64))
            for bucket in np.flatnonzero(np.diff(bounds)).tolist():
                start, stop = int(bounds[bucket]), int(bounds[bucket + 1])
                _append(data[bucket], moved[offsets[start] : offsets[stop]])
                chosen = order[start:stop]
                _append(heads[bucket], np.stack([keys[chosen], sizes[chosen].astype(np.uint64)], axis=1))


def _append(file: BinaryIO, array: npt.NDArray[np.uint8] | Keys) -> None:
    file.write(np.ascontiguousarray(array).tobytes())


def _sorted(stem: Path) -> Documents:
    ids = np.fromfile(stem.with_suffix(".ids"), np.uint8)
    heads = np.fromfile(stem.with_suffix(".keys"), np.uint64).reshape(-1, 2)
    for suffix in (".ids", ".keys"):
        stem.with_suffix(suffix).unlink()
    order = np.argsort(heads[:, 0], kind="stable").astype(np.int64)
    sizes = heads[:, 1].astype(np.int64)
    moved, _ = take(ids, _offsets(sizes), order)
    return moved, sizes[order]


def _offsets(sizes: Lengths) -> Lengths:
    offsets = np.zeros(len(sizes) + 1, np.int64)
    np.cumsum(sizes, out=offsets[1:])
    return offsets
