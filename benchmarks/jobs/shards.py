"""shards: documents in a file -> files of ids for training, in Megatron's layout, an end of document after each.

`source`: jsonl, escaped (JSON lines in ASCII), zst, gz (JSON lines, compressed) or parquet.  Documents are of 2 kB.
The answer is the file of ids; the clock runs over reading, encoding, and writing what training needs.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.texts import documents
from benchmarks.vocabularies import vocabulary

from .registry import Timed, define, job

_DOCUMENT = 2000
#: The token that ends a document, by vocabulary.
END = {"gpt2": 50256, "cl100k": 100257, "o200k": 199999}

define("shards", lambda path: Path(path).read_bytes(), vocab="gpt2", source="jsonl")


def written(text: bytes, options: dict[str, str]) -> Path:
    """The documents as a file of the source's kind, made by the first process that needs it."""
    source, folder = options["source"], Path(options["folder"])
    name = {"escaped": "jsonl", "zst": "jsonl.zst", "gz": "jsonl.gz"}.get(source, source)
    path = folder / f"{hashlib.sha256(text).hexdigest()[:16]}.{source}.{name}"
    if path.exists():
        return path
    texts = documents(text.decode(), _DOCUMENT)
    made = Path(f"{path}.part")
    if source == "parquet":
        import pyarrow as pa
        import pyarrow.parquet as pq

        pq.write_table(pa.table({"text": texts}), made, compression="zstd", row_group_size=2000)
    else:
        lines = "".join(json.dumps({"text": one}, ensure_ascii=source == "escaped") + "\n" for one in texts).encode()
        made.write_bytes(_COMPRESSORS.get(source, bytes)(lines))
    made.rename(path)
    return path


def _zst(data: bytes) -> bytes:
    import zstandard

    return zstandard.ZstdCompressor().compress(data)


_COMPRESSORS: dict[str, Callable[[bytes], bytes]] = {"zst": _zst, "gz": lambda data: gzip.compress(data, 6)}


@job("shards", "bbpe")
def shards_bbpe(_library: str, text: bytes, options: dict[str, str]) -> Timed:
    import bbpe
    import bbpe.tokenizer

    path, end = written(text, options), END[options["vocab"]]
    where = vocabulary(options["vocab"], Path(options["folder"]))
    tok = bbpe.load(where.ranks, special_tokens={"<|endoftext|>": end})
    tok.encode("hello")
    shard, folder = bbpe.shard, Path(options["folder"], "shards.bbpe")
    # what is imported on first use is imported here, as gigatoken is as a whole
    one = folder.with_name("one.jsonl")
    one.write_text('{"text": "low"}\n')
    shutil.rmtree(folder, ignore_errors=True)
    shard(one, folder, bbpe.train_from_iterator(["low"], 257, special_tokens=["<e>"]), eos="<e>", threads=1)

    def run() -> Path:
        shutil.rmtree(folder, ignore_errors=True)
        shard(path, folder, tok, eos="<|endoftext|>", threads=int(options["threads"]))
        (ids,) = folder.glob("*.bin")
        return ids

    return run


@job("shards", "gigatoken")
def shards_gigatoken(_library: str, text: bytes, options: dict[str, str]) -> Timed:
    """`encode_files`, then NumPy for ends of documents and Megatron's two files."""
    import gigatoken

    path, end, folder = written(text, options), END[options["vocab"]], Path(options["folder"])
    where = vocabulary(options["vocab"], folder)
    tok = gigatoken.Tokenizer.from_tiktoken(where.ranks, pretokenizer=where.name, special_tokens={})
    tok.encode("hello")
    dtype = np.uint16 if end < 1 << 16 else np.int32

    def run() -> Path:
        source: Any = gigatoken.ParquetFileSource if options["source"] == "parquet" else gigatoken.JsonlFileSource
        rows = tok.encode_files(source([str(path)]), parallel=int(options["threads"]) > 1)
        ids, offsets = np.asarray(rows.layout.content.data), np.asarray(rows.layout.offsets.data)
        lengths = np.diff(offsets) + 1
        ends = np.cumsum(lengths)
        with_ends = np.empty(int(ends[-1]), dtype)
        is_text = np.ones(len(with_ends), bool)
        is_text[ends - 1] = False
        with_ends[ends - 1] = end
        with_ends[is_text] = ids
        made = folder / "shards.gigatoken.bin"
        with_ends.tofile(made)
        with made.with_suffix(".idx").open("wb") as file:
            code = {np.uint16: 8, np.int32: 4}[dtype]
            file.write(b"MMIDIDX\x00\x00" + np.array([1], "<u8").tobytes() + bytes([code]))
            file.write(np.array([len(lengths), len(lengths) + 1], "<u8").tobytes())
            file.write(lengths.astype(np.int32).tobytes())
            file.write((np.concatenate([[0], ends[:-1]]) * with_ends.itemsize).astype(np.int64).tobytes())
            file.write(np.arange(len(lengths) + 1, dtype=np.int64).tobytes())
        return made

    return run
