"""windows, bins: rows for training out of stored documents, by the loaders of several libraries.

Every library stores the same documents in its own format, outside the clock, and gives rows of `n` ids in one process.
windows: all ids one after another, cut every `n`; the others store these rows, as their guides have it.
bins: whole documents, a row begun where one does not fit, the rest padded; the others store documents, and a loop in
Python packs them.  The answer is the ids of all rows.

The others give ids in the dtype that they are stored in, and so does bbpe with `dtype=stored`.  Otherwise, and in
bins, its rows are int64, as models take them.
"""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.peers import NotSupported
from benchmarks.texts import documents
from benchmarks.vocabularies import vocabulary

from .registry import CLOCKS, MICROSECONDS, Measured, Timed, define, job
from .shards import END

#: The bytes of a document, and the rows of a batch.
_DOCUMENT, _BATCH = 2000, 64
Rows = Iterable[Any]


def _answer(rows: list[Any]) -> bytes:
    return b"".join(np.asarray(row, dtype=np.int64).tobytes() for row in rows)


# access: "loop" iterates over all rows, "random" asks for each one once, in the same random order for all
define("windows", _answer, MICROSECONDS, vocab="gpt2", n="2048", access="loop", dtype="stored")
define("bins", _answer, MICROSECONDS, vocab="gpt2", n="2048")


def _documents(text: bytes, options: dict[str, str]) -> list[Any]:
    """The documents as ids with their ends, none longer than a row."""
    import bbpe

    tok = bbpe.load(vocabulary(options["vocab"], Path(options["folder"])).ranks, special_tokens={})
    rows = tok.encode_batch_to_numpy(documents(text.decode(), _DOCUMENT))
    most, end = int(options["n"]) - 1, _end_of(options)
    return [np.append(np.asarray(row[:most], dtype=end.dtype), end) for row in rows]


def _end_of(options: dict[str, str]) -> Any:
    """The token that ends documents, and pads, in the dtype that ids are stored in."""
    end = END[options["vocab"]]
    return np.uint16(end) if end < 1 << 16 else np.int32(end)


def _windows(found: list[Any], n: int) -> list[Any]:
    ids = np.concatenate(found)
    return [ids[start : start + n] for start in range(0, len(ids) - n + 1, n)]


def _packed(found: Iterable[Any], n: int, end: Any) -> Iterator[Any]:
    """Rows of whole documents, with each library's arrays as they come."""
    row, used = np.full(n, end), 0
    for document in found:
        if used + len(document) > n:
            yield row
            row, used = np.full(n, end), 0
        row[used : used + len(document)] = document
        used += len(document)
    if used:
        yield row


def _emptied(library: str, options: dict[str, str]) -> Path:
    """A folder for what a library stores, without what an earlier process has left there."""
    folder = Path(options["folder"], f"{options['job']}.{library}")
    shutil.rmtree(folder, ignore_errors=True)
    return folder


def _timed(options: dict[str, str], loop: Callable[[], Rows], count: int, given: Callable[[list[int]], Rows]) -> Timed:
    """Time the second pass over all rows; the cost is that of one row."""
    clock = CLOCKS[options["clock"]]
    order = np.random.default_rng(4).permutation(count).tolist()
    batches = [order[start : start + _BATCH] for start in range(0, count, _BATCH)]

    def rows() -> Iterator[Any]:
        if options.get("access") == "random":
            for places in batches:
                yield from given(places)
        else:
            yield from loop()

    def run() -> Measured:
        answer = [np.array(row) for row in rows()]
        start, made = clock(), sum(1 for _ in rows())
        return Measured((clock() - start) / made, answer)

    return run


@job("windows", "bbpe")
@job("bins", "bbpe")
def rows_bbpe(_library: str, text: bytes, options: dict[str, str]) -> Timed:
    """`windows` and `bins` of shards, by the batches that `DataLoader` asks for."""
    import bbpe

    folder, n, end = _emptied("bbpe", options), int(options["n"]), _end_of(options)
    source = folder.with_suffix(".bin")
    np.concatenate(_documents(text, options)).tofile(source)
    opened = bbpe.open_shards(source, format="nanogpt", dtype=end.dtype, eos=int(end), vocab_size=int(end) + 1)
    shards = bbpe.convert_shards(opened, folder, format="megatron")
    if options["job"] == "windows":
        dtype = None if options["dtype"] == "stored" else options["dtype"]
        rows: Any = shards.windows(n, columns=["input_ids"], dtype=dtype)
    else:
        rows = shards.bins(n, method="greedy", pad=int(end), columns=["input_ids"], dtype="int64")
    return _timed(
        options, lambda: (row["input_ids"] for row in rows), len(rows),
        lambda places: (row["input_ids"] for row in rows.__getitems__(places)),
    )  # fmt: skip


@job("windows", "litdata")
@job("bins", "litdata")
def rows_litdata(_library: str, text: bytes, options: dict[str, str]) -> Timed:
    """Chunks of tokens and `TokensLoader`; for bins arrays of their own length."""
    with _needed("litdata"):
        import litdata
        import torch
        from litdata.streaming.cache import Cache
        from litdata.streaming.item_loader import TokensLoader

    folder, n, is_windows = _emptied("litdata", options), int(options["n"]), options["job"] == "windows"
    found = _documents(text, options)
    if is_windows:
        cache = Cache(str(folder), chunk_size=n * 4096, item_loader=TokensLoader(block_size=n))
    else:
        cache = Cache(str(folder), chunk_bytes="64MB")
    for number, ids in enumerate(_windows(found, n) if is_windows else found):
        cache[number] = torch.from_numpy(ids) if is_windows else ids
    cache.done()
    cache.merge()
    loader = TokensLoader(block_size=n) if is_windows else None
    stored = litdata.StreamingDataset(str(folder), item_loader=loader, shuffle=False)
    loop = (lambda: stored) if is_windows else (lambda: _packed(stored, n, _end_of(options)))
    return _timed(options, loop, len(stored), lambda places: (stored[place] for place in places))


@job("windows", "streaming")
@job("bins", "streaming")
def rows_streaming(_library: str, text: bytes, options: dict[str, str]) -> Timed:
    """MosaicML's `StreamingDataset` of MDS files with arrays."""
    with _needed("streaming"):
        from streaming import MDSWriter, StreamingDataset

    folder, n, is_windows = _emptied("streaming", options), int(options["n"]), options["job"] == "windows"
    found = _documents(text, options)
    encoding = f"ndarray:{_end_of(options).dtype}" + f":{n}" * is_windows
    with MDSWriter(out=str(folder), columns={"tokens": encoding}) as writer:
        for ids in _windows(found, n) if is_windows else found:
            writer.write({"tokens": ids})
    stored = StreamingDataset(local=str(folder), shuffle=False, batch_size=1)
    tokens = lambda: (item["tokens"] for item in stored)  # noqa: E731
    loop = tokens if is_windows else (lambda: _packed(tokens(), n, _end_of(options)))
    return _timed(options, loop, len(stored), lambda places: (stored[place]["tokens"] for place in places))


@contextlib.contextmanager
def _needed(library: str) -> Iterator[None]:
    try:
        yield
    except Exception as error:
        raise NotSupported(f"{library} cannot be imported: {error}") from error
