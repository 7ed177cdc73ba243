"""Read shards back: documents, ids and totals."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from functools import lru_cache
from operator import index
from typing import Any, SupportsIndex

from ..errors import CorpusError
from ..lazy import lazy_property, np, npt
from ..records import dataclass
from ..text import counted
from ..tokenizer import Tokenizer
from .formats import Lengths
from .formats.format import Ids, mapped, with_suffix
from .part import Totals, read_record
from .plan import ShardPlan, open_plan

MANIFEST = "manifest.json"


@dataclass(frozen=True, eq=False)
class Shards:
    """A corpus as `shard` has written it.

    `len` is the number of documents; iteration and `shards[i]` give the ids of documents in the order of the corpus, as
    views of mapped files.

    Attributes:
        plan: The plan.
        totals: What was read and written.

    Example:
        >>> from pathlib import Path
        >>> from tempfile import TemporaryDirectory
        >>> tok = bbpe.train_from_iterator(["low lower"], 258)
        >>> with TemporaryDirectory() as folder:
        ...     _ = Path(folder, "a.jsonl").write_text('{"text": "low"}')
        ...     done = bbpe.shard(folder + "/a.jsonl", folder + "/out", tok)
        ...     len(done), done.tokens, done[0].tolist()
        (1, 1, [257])

    """

    plan: ShardPlan
    totals: Totals

    @property
    def documents(self) -> int:
        """The number of documents."""
        return self.totals.documents

    @property
    def tokens(self) -> int:
        """The number of ids, with those around documents."""
        return self.totals.tokens

    @property
    def tokenizer(self) -> Tokenizer:
        """The tokenizer that made the ids, which the folder keeps."""
        return self.plan.tokenizer

    def __len__(self) -> int:
        return self.totals.documents

    def part(self, number: int) -> tuple[Ids, Lengths]:
        """Return the ids of a part, mapped into memory, and the number of ids of each of its documents."""
        number = self.plan.check_part(number)
        return read_part(self.plan, number)

    def __iter__(self) -> Iterator[npt.NDArray[np.integer[Any]]]:
        for number in range(len(self.plan)):
            ids, lengths = self.part(number)
            at = 0
            for length in lengths.tolist():
                yield ids[at : at + length]
                at += length

    @lazy_property
    def _firsts(self) -> Lengths:
        """The number of the first document of each part, and of all documents."""
        records = (read_record(self.plan, number) for number in range(len(self.plan)))
        counts = [0 if record is None else record.documents for record in records]
        return np.concatenate([np.zeros(1, np.int64), np.cumsum(counts, dtype=np.int64)])

    @lazy_property
    def _part(self) -> Any:
        @lru_cache(maxsize=8)
        def part(number: int) -> tuple[Ids, Lengths]:
            ids, lengths = self.part(number)
            return ids, np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)])

        return part

    def __getitem__(self, document: SupportsIndex) -> npt.NDArray[np.integer[Any]]:
        number = index(document)
        if not -len(self) <= number < len(self):
            raise IndexError(f"document {number} of {len(self)}")
        number %= len(self)
        part = int(np.searchsorted(self._firsts, number, "right")) - 1
        ids, starts = self._part(part)
        within = number - int(self._firsts[part])
        found: npt.NDArray[np.integer[Any]] = ids[starts[within] : starts[within + 1]]
        return found

    def __repr__(self) -> str:
        parts = f"{counted(len(self.plan), 'part')} of {self.plan.policy.format}"
        return f"<bbpe.Shards: {counted(self.documents, 'document')}, {counted(self.tokens, 'token')}, {parts}>"


def load_shards(folder: str | os.PathLike[str]) -> Shards:
    """Load shards that are complete.

    Args:
        folder: The folder that `shard` wrote.

    Returns:
        The shards; only their plan and totals are read now.

    Raises:
        CorpusError: Parts are missing, or a file is damaged.
        OSError: There is no plan, or a file cannot be read.

    Example:
        >>> from pathlib import Path
        >>> from tempfile import TemporaryDirectory
        >>> tok = bbpe.train_from_iterator(["low lower"], 258)
        >>> with TemporaryDirectory() as folder:
        ...     _ = Path(folder, "a.jsonl").write_text('{"text": "low"}')
        ...     _ = bbpe.shard(folder + "/a.jsonl", folder + "/out", tok)
        ...     bbpe.load_shards(folder + "/out")
        <bbpe.Shards: 1 document, 1 token, 1 part of megatron>

    """
    plan = open_plan(folder)
    path = plan.folder / MANIFEST
    try:
        record = json.loads(path.read_bytes())
        digest, parts = record.pop("plan"), record.pop("parts")
        totals = Totals(**record)
    except FileNotFoundError:
        missing = sum(read_record(plan, number) is None for number in range(len(plan)))
        problem = f"{missing} of {len(plan)} parts are missing" if missing else "the parts are not summed up"
        raise CorpusError(f"{plan.folder}: {problem}; run bbpe.shard again, or bbpe.finish_shards") from None
    except (ValueError, KeyError, TypeError) as error:
        raise CorpusError(f"{path}: expected the totals of shards: {error!r}") from error
    if (digest, parts) != (plan.digest, len(plan)):
        raise CorpusError(f"{path}: the totals are of another plan")
    return Shards(plan, totals)


def lens_of(plan: ShardPlan, number: int) -> npt.NDArray[np.int32]:
    """Return the number of ids of each document of a part, mapped into memory."""
    lengths: npt.NDArray[np.int32] = mapped(with_suffix(plan.stem(number), ".lens"), "<i4")
    return lengths


def read_part(plan: ShardPlan, number: int) -> tuple[Ids, Lengths]:
    """Return the ids of a part and the lengths of its documents; `CorpusError` where its files do not fit together."""
    stem = plan.stem(number)
    ids = plan.policy.files.ids(stem, plan.policy.dtype)
    lengths = plan.policy.files.lengths(stem, plan.policy.dtype, ids)
    path = with_suffix(stem, ".lens")
    listed = lens_of(plan, number).astype(np.int64)
    if int(listed.sum()) != len(ids):
        raise CorpusError(f"{path}: the documents have {listed.sum()} ids together; expected {len(ids)}")
    if lengths is not None and not np.array_equal(lengths, listed):
        raise CorpusError(f"{path}: the lengths of documents are not those of the other files of the part")
    return ids, listed


