"""Shuffle documents exactly: any order may come, and it depends on a seed and the numbers of documents alone.

Documents are keyed by a hash of the seed and their number in the corpus, which no two share.  The first pass divides
them by the highest bits of their keys into files that fit memory, the second sorts each of these.  Of more documents
than so many files can hold, each file is divided again.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

from ..core.rows import take, trim
from ..files import naming_unnamed, temporary_folder
from ..lazy import np, npt
from ..threads import imap
from .formats import Lengths

#: Documents: the bytes of their ids one after another, and the bytes of each, int64[n].
Documents: TypeAlias = "tuple[npt.NDArray[np.uint8], Lengths]"
Keys: TypeAlias = "npt.NDArray[np.uint64]"
_Keyed: TypeAlias = "tuple[Keys, npt.NDArray[np.uint8], Lengths]"

#: What the names of folders with files of a shuffle begin with.
SHUFFLING = ".shuffle-"
#: Bytes of ids and of numbers that are sorted at once, and the most files for them, each with two that are open.
_BUCKET, _MOST = 16 << 20, 256
#: A file with so many times what is sorted at once is divided again.
_LARGE = 4
#: The bytes of numbers that sorting has for each document, and those of its key and its size in a file.
_DOCUMENT, _HEAD = 64, 16
#: Documents of a file that is divided again, at once.
_AT_ONCE = 1 << 16
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


def shuffled(
    blocks: Iterable[Documents], seed: int, count: int, size: int, folder: Path, threads: int = 1
) -> Iterator[Documents]:
    """Yield documents in a random order, some at a time.

    `count` is how many there are, `size` about how many bytes they have together, and `folder` gets temporary files.
    The order does not depend on the number of threads, which divide documents.  The caller sorts them: files that wait
    in memory, sorted by others, would take several times as much of it.
    """
    with temporary_folder(SHUFFLING, folder) as name, naming_unnamed(folder):
        keyed = _keyed(blocks, seed)
        stems = _divided(keyed, Path(name), size + _DOCUMENT * count, _BUCKET, 0, threads)
        for stem in stems:
            yield _sorted(stem)
            # or the memory between documents that are held and those that are sorted would stay
            trim()


def _keyed(blocks: Iterable[Documents], seed: int) -> Iterator[_Keyed]:
    """Yield documents with their keys."""
    first = 0
    for ids, sizes in blocks:
        yield keys_of(seed, first, len(sizes)), ids, sizes
        first += len(sizes)


def _divided(
    keyed: Iterable[_Keyed], folder: Path, size: int, most: int, used: int, threads: int
) -> Iterator[Path]:
    """Divide documents into files of about `most` bytes, and yield their names in the order of keys.

    The keys of all of them have the same `used` highest bits.  Files that are too large are divided again.
    """
    bits = max(min(size // most, _MOST - 1), 0).bit_length()
    bits = min(bits, 63 - used)
    stems = [folder / str(bucket) for bucket in range(1 << bits)]
    _write_buckets(keyed, used, bits, stems, threads)
    for stem in stems:
        data, heads = stem.with_suffix(".ids"), stem.with_suffix(".keys")
        found = data.stat().st_size + _DOCUMENT * heads.stat().st_size // _HEAD
        if found <= _LARGE * most or used + bits >= 63 or heads.stat().st_size <= _HEAD:
            yield stem
            continue
        inner = folder / f"{stem.name}-divided"
        inner.mkdir()
        yield from _divided(_read(stem, most), inner, found, most, used + bits, threads)


def _write_buckets(keyed: Iterable[_Keyed], used: int, bits: int, stems: list[Path], threads: int) -> None:
    with ExitStack() as stack:
        data, heads = (
            [stack.enter_context(stem.with_suffix(suffix).open("wb")) for stem in stems] for suffix in (".ids", ".keys")
        )
        for moved, offsets, rows, bounds in imap(partial(_in_buckets, used, bits), keyed, threads):
            for bucket in np.flatnonzero(np.diff(bounds)).tolist():
                start, stop = int(bounds[bucket]), int(bounds[bucket + 1])
                data[bucket].write(moved[offsets[start] : offsets[stop]].data)
                heads[bucket].write(rows[start:stop].data)


def _in_buckets(used: int, bits: int, keyed: _Keyed) -> tuple[Any, ...]:
    """Return documents by the bits of their keys: ids, where each begins, keys with sizes, and where buckets begin."""
    keys, ids, sizes = keyed
    # a shift by all 64 bits is not defined
    buckets = (keys << np.uint64(used) >> np.uint64(1)) >> np.uint64(63 - bits)
    order = np.argsort(buckets, kind="stable").astype(np.int64)
    moved, offsets = take(ids, _offsets(sizes), order)
    rows = np.stack([keys[order], sizes[order].astype(np.uint64)], axis=1)
    return moved, offsets, rows, np.searchsorted(buckets[order], np.arange((1 << bits) + 1, dtype=np.uint64))


def _read(stem: Path, most: int) -> Iterator[_Keyed]:
    """Yield the documents of a file that is divided again, some at a time; the file is gone in the end."""
    with stem.with_suffix(".ids").open("rb") as data, stem.with_suffix(".keys").open("rb") as heads:
        while len(rows := np.fromfile(heads, np.uint64, 2 * _AT_ONCE)):
            keys, sizes = rows[::2], rows[1::2].astype(np.int64)
            ends = np.cumsum(sizes)
            start = done = 0
            while start < len(sizes):
                stop = max(int(np.searchsorted(ends, done + most, "right")), start + 1)
                ids = np.fromfile(data, np.uint8, int(ends[stop - 1]) - done)
                yield keys[start:stop], ids, sizes[start:stop]
                start, done = stop, int(ends[stop - 1])
    for suffix in (".ids", ".keys"):
        stem.with_suffix(suffix).unlink()


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
