"""Read shards back: documents, ids and totals."""

from __future__ import annotations

import json
import os
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from operator import index
from typing import Any, SupportsIndex, TypeAlias, overload

from ..errors import CorpusError
from ..lazy import lazy_property, np, npt
from ..records import dataclass, kind, whole
from ..text import counted
from ..tokenizer import Tokenizer
from .bins import Bins, Method, OnLong
from .formats import Lengths
from .formats.format import Ids, is_mapped, mapped, with_suffix
from .part import Totals, read_record
from .plan import ShardPlan, open_plan
from .policy import Token
from .row_set import Column, Labels
from .windows import Windows

#: A folder of shards, or what has one.
Folder: TypeAlias = "str | os.PathLike[str] | ShardPlan | Shards"

MANIFEST = "manifest.json"
#: The most parts that are open at once, each with two maps of the 65,530 that Linux gives a process.
_MOST_OPEN = 1 << 14
#: The most bytes of ids that open parts hold in memory, where the format cannot be mapped.
_MOST_HELD = 256 << 20
#: The bytes of a page of memory.
_PAGE = 1 << 12
#: Documents of a part from one stored start to the next, as a power of two: a start for each would take 8 GB for 10^9.
_STEP = 6


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

    def masks(self, number: int) -> npt.NDArray[np.uint8]:
        """Return which ids of a part a model learns, where documents are chats.

        Args:
            number: The number of the part.

        Returns:
            1 for each id to learn and 0 for the others, uint8[n], mapped into memory where the format can be.

        Raises:
            CorpusError: The documents are texts, or the file does not fit the ids.
            ValueError: There is no such part.
        """
        return read_masks(self.plan, self.plan.check_part(number))

    def mask(self, document: int) -> npt.NDArray[np.uint8]:
        """Return which ids of a document a model learns, where documents are chats.

        Args:
            document: The number of the document, as in `shards[document]`.

        Returns:
            1 for each id to learn and 0 for the others, uint8[n].

        Raises:
            CorpusError: The documents are texts, or the file does not fit the ids.
            ValueError: There is no such document.
        """
        part, within = self._place(whole("document", document, -len(self), len(self) - 1))
        return self._parts.mask(part, within)

    def windows(
        self, n: int, *, shuffle: int | None = None, labels: Labels = "shift",
        columns: Sequence[Column] = ("input_ids", "labels"), dtype: npt.DTypeLike | None = None,
        masks: bool | None = None,
    ) -> Windows:  # fmt: skip
        """Return rows of n ids, of all documents one after another.

        Nothing is written: rows are made when they are asked for, and only the numbers of ids of parts are read now.

        Args:
            n: The ids of a row.
            shuffle: The seed of an order of rows, which depends on it, the epoch and the number of rows alone; None is
                for the order of the corpus.
            labels: "shift" has the next id for each, "same" the same ids, for models that shift them.
            columns: The columns of a row: "input_ids", "labels", "position_ids" (from 0 in each document, and at the
                beginning of the row), "document_ids" (the documents of the row, from 0) and "cu_seqlens" (where
                documents begin in the row, and n).
            dtype: The dtype of ids and labels, such as "int64" for torch.  By default rows are views of mapped files,
            in
                the dtype of the files, which cannot be written to; with masks or other columns, int32 where ids fit.
            masks: Whether labels are -100 where a chat has nothing to learn; by default wherever documents are chats.

        Returns:
            The rows.

        Raises:
            CorpusError: A part is missing or damaged.
            ValueError: An argument has a wrong value, or `masks` is True and documents are texts.
            TypeError: An argument has the wrong type.
        """
        return Windows(
            self, _ShardIds(self), n, shuffle=shuffle, labels=labels, columns=columns, dtype=dtype, masks=masks
        )

    def bins(
        self, n: int, *, method: Method = "best_fit", shuffle: int | None = None, on_long: OnLong = "cut",
        pad: Token | None = None, ragged: bool = False, labels: Labels = "shift",
        columns: Sequence[Column] = ("input_ids", "labels", "position_ids", "document_ids"),
        dtype: npt.DTypeLike | None = None, masks: bool | None = None,
    ) -> Bins:  # fmt: skip
        """Return rows of at most n ids, of whole documents.

        Nothing is written.  The lengths of all documents are read now, and packed into an index of 8 bytes for each row
        and 2 for each document.

        Args:
            n: The most ids of a row.
            method: "best_fit" packs 65,536 documents that follow one another at a time, the longest first, each into
                the row with the least room that has enough; "greedy" keeps the order of documents, and begins a row
                where one does not fit.
            shuffle: The seed of an order of rows, as for `windows`.
            on_long: What becomes of documents of more than n ids: "cut" has rows of n ids, and packs the rest, "error"
                names the first one, "drop" leaves them out and counts them.
            pad: The token, or its id, for the rest of a row; None takes the one of the tokenizer, as `encode_padded`.
            ragged: Rows are as long as their documents, without padding.
            labels: "shift" has the next id of the document, and -100 at its end; "same" the same ids, for models that
                shift them.
            columns: The columns of a row, as for `windows`; "cu_seqlens" has another length in each row.
            dtype: The dtype of ids and labels; by default int32 where ids fit.
            masks: Whether labels are -100 where a chat has nothing to learn, as for `windows`.

        Returns:
            The rows; `efficiency` is the share of ids in them.

        Raises:
            CorpusError: A part is missing or damaged.
            ValueError: An argument has a wrong value, a document is too long, or there is no token to pad with.
            TypeError: An argument has the wrong type.
        """
        tokenizer = None if ragged else self.tokenizer
        return Bins(
            self, _ShardIds(self), tokenizer, n, method=method, on_long=on_long, pad=pad, ragged=ragged,
            shuffle=shuffle, labels=labels, columns=columns, dtype=dtype, masks=masks,
        )  # fmt: skip

    def __iter__(self) -> Iterator[npt.NDArray[np.integer[Any]]]:
        for number in range(len(self.plan)):
            ids, lengths = self.part(number)
            at = 0
            for length in lengths.tolist():
                yield ids[at : at + length]
                at += length

    @lazy_property
    def _firsts(self) -> list[int]:
        """The number of the first document of each part, and of all documents."""
        firsts = [0]
        for number in range(len(self.plan)):
            firsts.append(firsts[-1] + with_suffix(self.plan.stem(number), ".lens").stat().st_size // 4)
        if firsts[-1] != self.documents:
            found = counted(int(firsts[-1]), "document")
            raise CorpusError(f"{self.plan.folder}: parts have {found}; expected {self.documents:,}")
        return firsts

    @lazy_property
    def _near(self) -> tuple[int, list[int]]:
        """A power of two, about the documents of a part, and for each multiple of it the part of that document.

        A search in all of 4,000 parts would miss the caches twelve times.
        """
        power = (self.documents // len(self.plan)).bit_length()
        return power, [bisect_right(self._firsts, at << power) for at in range((self.documents >> power) + 2)]

    @lazy_property
    def _parts(self) -> _OpenParts:
        return _OpenParts(self.plan)

    def __reduce__(self) -> tuple[Any, ...]:
        return load_shards, (self.plan.folder,)

    @overload
    def __getitem__(self, document: SupportsIndex) -> npt.NDArray[np.integer[Any]]: ...

    @overload
    def __getitem__(self, document: slice) -> list[npt.NDArray[np.integer[Any]]]: ...

    def __getitem__(self, document: SupportsIndex | slice) -> Any:
        if isinstance(document, slice):
            return [self[number] for number in range(*document.indices(len(self)))]
        return self._parts.document(*self._place(document))

    def _place(self, document: SupportsIndex) -> tuple[int, int]:
        """Return the number of the part that a document is in, and its number in that part."""
        number, count = index(document), self.totals.documents
        if not -count <= number < count:
            raise IndexError(f"document {number} of {count}")
        number %= count
        firsts, (power, near) = self._firsts, self._near
        at = number >> power
        part = bisect_right(firsts, number, near[at], near[at + 1]) - 1
        return part, number - firsts[part]

    def __repr__(self) -> str:
        parts = f"{counted(len(self.plan), 'part')} of {self.plan.policy.format}"
        return f"<bbpe.Shards: {counted(self.documents, 'document')}, {counted(self.tokens, 'token')}, {parts}>"


class _ShardIds:
    """The ids of shards, as rows for training read them (`IdParts`)."""

    def __init__(self, shards: Shards) -> None:
        self._plan, self._totals = shards.plan, shards.totals
        self.name, self.digest = str(shards.plan.folder), shards.plan.digest
        self.id_bound: int = shards.plan.identity["ids"]
        self.has_masks = shards.plan.policy.messages_field is not None

    def counts(self) -> tuple[list[int], list[int]]:
        """Return the number of ids and of documents of each part, as its record has them."""
        ids, documents = [], []
        for number in range(len(self._plan)):
            record = read_record(self._plan, number)
            if record is None:
                raise CorpusError(f"{self._plan.folder}: part {number} is missing; run bbpe.shard again")
            ids.append(record.tokens)
            documents.append(record.documents)
        if (sum(ids), sum(documents)) != (self._totals.tokens, self._totals.documents):
            found = f"{counted(sum(documents), 'document')} of {counted(sum(ids), 'id')}"
            raise CorpusError(f"{self._plan.folder}: parts have {found}; expected {self._totals.tokens:,} ids")
        return ids, documents

    def ids(self, number: int) -> Ids:
        """Return the ids of a part."""
        return self._plan.policy.files.ids(self._plan.stem(number), self._plan.policy.dtype)

    def lengths(self, number: int) -> npt.NDArray[np.int32]:
        """Return the lengths of the documents of a part."""
        return lens_of(self._plan, number)

    def masks(self, number: int) -> npt.NDArray[np.uint8]:
        """Return the masks of a part."""
        return read_masks(self._plan, number)


class _OpenParts:
    """The parts whose documents somebody has asked for: their ids, lengths, and some starts of documents.

    A map keeps no file open, so that a document costs the same in one part and in 4,000.
    """

    def __init__(self, plan: ShardPlan) -> None:
        self._plan, self._held = plan, 0
        self._open: dict[int, tuple[Ids, npt.NDArray[np.int32], list[int]]] = {}
        self._masks: dict[int, npt.NDArray[np.uint8]] = {}

    def document(self, number: int, within: int) -> npt.NDArray[np.integer[Any]]:
        """Return the ids of a document of a part."""
        ids, start, end = self._bounds(number, within)
        document: npt.NDArray[np.integer[Any]] = ids[start:end]
        return document

    def _bounds(self, number: int, within: int) -> tuple[Ids, int, int]:
        """Return the ids of a part, and where a document begins and ends in them."""
        found = self._open.get(number)
        ids, lengths, starts = self._opened(number) if found is None else found
        first = within >> _STEP
        rest = lengths[first << _STEP : within + 1].tolist()
        end = starts[first] + sum(rest)
        return ids, end - rest[-1], end

    def mask(self, number: int, within: int) -> npt.NDArray[np.uint8]:
        """Return the mask of a document of a part."""
        masks = self._masks.get(number)
        if masks is None:
            if len(self._masks) >= _MOST_OPEN:
                self._masks = {}
            masks = self._masks[number] = read_masks(self._plan, number)
        _, start, end = self._bounds(number, within)
        return masks[start:end]

    def _opened(self, number: int) -> tuple[Ids, npt.NDArray[np.int32], list[int]]:
        plan = self._plan
        # not the lists of the format, which are larger, and were checked when they were written
        ids, lengths = plan.policy.files.ids(plan.stem(number), plan.policy.dtype), lens_of(plan, number)
        if lengths.nbytes <= _PAGE:
            # a map would take more, and its page would miss the caches of addresses
            lengths = lengths.copy()
        sums = np.add.reduceat(lengths, np.arange(0, len(lengths), 1 << _STEP), dtype=np.int64)
        ends = np.cumsum(sums).tolist()
        _check_lengths(plan, number, ends[-1], ids)
        size = 0 if is_mapped(ids) else ids.nbytes
        if len(self._open) >= _MOST_OPEN or self._held + size > _MOST_HELD:
            self._open, self._held = {}, 0
        self._held += size
        found = self._open[number] = ids, lengths, [0, *ends]
        return found


def stored_plan(given: Folder, argument: str = "folder") -> ShardPlan:
    """Return the plan in a folder of shards; raises `TypeError` naming the argument, or as `open_plan`."""
    plan = given.plan if isinstance(given, Shards) else given
    folder = plan.folder if isinstance(plan, ShardPlan) else plan
    kind(argument, folder, str | os.PathLike, "a folder of shards, a str or a path, or their plan, or bbpe.Shards")
    return open_plan(folder)


def load_shards(folder: Folder) -> Shards:
    """Load shards that are complete.

    Args:
        folder: The folder that `shard` wrote, or the plan of it.

    Returns:
        The shards; only their plan and totals are read now.

    Raises:
        CorpusError: Parts are missing, or a file is damaged.
        OSError: There is no plan, or a file cannot be read.
        TypeError: `folder` is neither a path nor a plan of shards.

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
    plan = stored_plan(folder)
    path = plan.folder / MANIFEST
    try:
        record = json.loads(path.read_bytes())
        digest, parts = record.pop("plan"), record.pop("parts")
        totals = Totals(**record)
    except FileNotFoundError:
        missing = sum(read_record(plan, number) is None for number in range(len(plan)))
        gone = f"{missing} of {counted(len(plan), 'part', 'is', 'are')} missing"
        problem = gone if missing else "the parts are not summed up"
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


def read_masks(plan: ShardPlan, number: int) -> npt.NDArray[np.uint8]:
    """Return the masks of the ids of a part; `CorpusError` where documents are no chats, or files do not fit."""
    files, stem = plan.policy.files.masks, plan.stem(number)
    if plan.policy.messages_field is None or files is None:
        raise CorpusError(f"{plan.folder}: the documents are texts, which have no masks; messages_field= encodes chats")
    masks, count = files.read(stem), int(lens_of(plan, number).sum(dtype=np.int64))
    if len(masks) != count:
        raise CorpusError(f"{stem}: the masks have {counted(len(masks), 'number')}; expected {count}")
    return masks


def read_part(plan: ShardPlan, number: int) -> tuple[Ids, Lengths]:
    """Return the ids of a part and the lengths of its documents; `CorpusError` where its files do not fit together."""
    stem = plan.stem(number)
    ids = plan.policy.files.ids(stem, plan.policy.dtype)
    lengths = plan.policy.files.lengths(stem, plan.policy.dtype, ids)
    path = with_suffix(stem, ".lens")
    listed = lens_of(plan, number).astype(np.int64)
    _check_lengths(plan, number, int(listed.sum()), ids)
    if lengths is not None and not np.array_equal(lengths, listed):
        raise CorpusError(f"{path}: the lengths of documents are not those of the other files of the part")
    return ids, listed


def _check_lengths(plan: ShardPlan, number: int, total: int, ids: Ids) -> None:
    if total != len(ids):
        path = with_suffix(plan.stem(number), ".lens")
        raise CorpusError(f"{path}: the documents have {counted(total, 'id')} together; expected {len(ids)}")
