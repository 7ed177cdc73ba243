"""Prints what must be the same on every system, a line each: SHA-256 of ids, counts, merges and saved files.

    python tests/platforms/same_ids.py FOLDER > tests/platforms/same_ids.txt

FOLDER is for what is written; the corpora are those beside the checkout.  same_ids.txt has the lines of Linux, which
`make wine`, `make interpreters` and `make arm` compare with those of another system.
"""

from __future__ import annotations

import hashlib
import lzma
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np

import bbpe

#: The lines of Linux.
RECORDED = Path(__file__).with_suffix(".txt")
#: Bytes of each corpus.
_SIZE = 2_000_000
_CORPORA = Path(__file__).resolve().parents[3] / "shared/corpora"


def _sha(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _ids(tok: bbpe.Tokenizer, text: str) -> str:
    """Of one text, of its lines by several threads, and of the places of its first part; decoded again."""
    ids = tok.encode_to_numpy(text)
    rows = tok.encode_batch_to_numpy(text.splitlines(keepends=True), threads=2)
    assert tok.decode(ids) == text
    short = text[:20_000]
    assert tok.encode(short) == tok.encode_to_numpy(short).tolist()
    return _sha(b"".join(np.asarray(each, np.int64).tobytes() for each in (ids, rows.ids, rows.offsets)))


def lines(folder: Path) -> Iterator[str]:
    """The lines of each corpus in turn; there are none without corpora."""
    for path in sorted(_CORPORA.glob("*.txt.xz")):
        name = path.name.partition(".")[0]
        with lzma.open(path) as file:
            text = file.read(_SIZE).decode("utf-8", "ignore")
        corpus = folder / f"{name}.txt"
        corpus.write_bytes(text.encode())
        tok = bbpe.train(corpus, 2000, pattern="o200k", counting=bbpe.Counting(threads=2))
        counts = bbpe.count(corpus, pattern="o200k")
        tok.save(folder / f"{name}.json")
        bbpe.shard(corpus, folder / f"{name}-shards", tok, document="line", part_size="500KB")
        shards = sorted(each for each in (folder / f"{name}-shards").rglob("*.bin") if each.is_file())
        told = {
            "ids": _ids(bbpe.load(folder / f"{name}.json"), text),
            "counts": _sha(repr(sorted(counts)).encode()),
            "saved": _sha((folder / f"{name}.json").read_bytes()),
            "shards": _sha(b"".join(each.read_bytes() for each in shards)),
        }
        yield from (f"{name} {what} {digest}" for what, digest in told.items())


if __name__ == "__main__":
    for line in lines(Path(sys.argv[1])):
        print(line)
