"""Read shards back: documents, ids and totals."""

from __future__ import annotations

import json
import os
from bisect import bisect_right
from collections.abc import Iterator
from typing import Any, SupportsIndex, TypeAlias, overload

from ..corpus.urls import path_of
from ..errors import CorpusError
from ..lazy import lazy_property, np, npt
from ..records import checked_path, dataclass, index_of, kind, whole
from ..text import counted
from ..tokenizer import Tokenizer
from .formats import Lengths
from .formats.format import Ids, with_suffix
from .mixture import Mixture
from .open_parts import OpenParts, ShardIds, read_masks, read_part
from .origins import Origin, Origins
from .part import Totals, read_record
from .plan import ShardPlan, open_plan
from .windows import RowSource

#: A folder of shards, or what has one.
Folder: TypeAlias = "str | os.PathLike[str] | ShardPlan | Shards"

MANIFEST = "manifest.json"


@dataclass(frozen=True, eq=False)
class Shards(RowSource):
    """A corpus as `shard` has written it.

    `len` is the number of documents; iteration and `shards[i]` give the ids of documents in the order of the corpus, as
    views of mapped files.

    Attributes:
        plan: The plan.
        totals: What was read and written.
        mixture: The share of each source, if they were merged with weights.

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
    mixture: Mixture | None

    @property
    def documents(self) -> int:
        """The number of documents."""
        return self.totals.documents

    @property
    def tokens(self) -> int:
        """The number of ids, EOS and BOS included."""
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
        """Return which ids of a part a model learns, if documents are chats.

        Args:
            number: The number of the part.

        Returns:
            1 for each id to learn and 0 for the others, uint8[n], mapped into memory if the format allows it.

        Raises:
            CorpusError: The documents are texts, or the file does not fit the ids.
            ValueError: There is no such part.
        """
        return read_masks(self.plan, self.plan.check_part(number))

    def mask(self, document: int) -> npt.NDArray[np.uint8]:
        """Return which ids of a document a model learns, if documents are chats.

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

    def source(self, document: int) -> Origin:
        r"""Return the origin of a document: its file, the range of the file that its part has read, and its record.

        Args:
            document: The number of the document, as in `shards[document]`.

        Returns:
            The origin of the document: `path`, `start`, `stop`, `record`, `document` and `id`.

        Raises:
            CorpusError: An older bbpe wrote the shards and left records out, whose numbers it did not keep.
            ValueError: There is no such document.

        Example:
            >>> from pathlib import Path
            >>> from tempfile import TemporaryDirectory
            >>> tok = bbpe.train_from_iterator(["low lower"], 258)
            >>> with TemporaryDirectory() as folder:
            ...     _ = Path(folder, "a.jsonl").write_text('{"text": null}\n{"text": "low"}')
            ...     done = bbpe.shard(folder + "/a.jsonl", folder + "/out", tok)
            ...     Path(done.source(0).path).name, done.source(0).record
            ('a.jsonl', 1)

        """
        part, within = self._place(whole("document", document, -len(self), len(self) - 1))
        return self._origins.origin(self._firsts[part] + within, part, within)

    def find(self, path: str | os.PathLike[str] | None, record: int) -> int:
        r"""Return the number of the document that a record of a file has become.

        Args:
            path: The file, as the corpus names it, or its URL. Of a file that the corpus has twice, the first counts.
                `None` if an iterator gave the documents.
            record: The number of its line or row from 0, as `source` gives it; 0 for a file that is one text.

        Returns:
            The number of the document, as in `shards[document]`.

        Raises:
            CorpusError: The record has no document: it is empty, lacks a text, or cannot be read; or an older bbpe
                wrote the shards.
            ValueError: The corpus has no such file, or the file has no such record.
            TypeError: An argument has the wrong type.

        Example:
            >>> from pathlib import Path
            >>> from tempfile import TemporaryDirectory
            >>> tok = bbpe.train_from_iterator(["low lower"], 258)
            >>> with TemporaryDirectory() as folder:
            ...     _ = Path(folder, "a.jsonl").write_text('{"text": null}\n{"text": "low"}')
            ...     done = bbpe.shard(folder + "/a.jsonl", folder + "/out", tok)
            ...     done.find(folder + "/a.jsonl", 1)
            0

        """
        name = "" if path is None else str(path_of(os.fspath(checked_path("path", path))).absolute())
        part, within = self._origins.find(name, whole("record", record, 0))
        return self._firsts[part] + within

    def document_at(self, part: int, token: int) -> int:
        """Return the number of the document that has a token of a part.

        Args:
            part: The number of the part.
            token: The position of the token among all ids of the part, from 0, EOS and BOS included.

        Returns:
            The number of the document, as in `shards[document]`.

        Raises:
            ValueError: There is no such part, or it has no such token.

        Example:
            >>> from pathlib import Path
            >>> from tempfile import TemporaryDirectory
            >>> tok = bbpe.train_from_iterator(["low lower"], 258)
            >>> with TemporaryDirectory() as folder:
            ...     for name in "ab":
            ...         _ = Path(folder, f"{name}.txt").write_text("low lower")
            ...     done = bbpe.shard(folder + "/*.txt", folder + "/out", tok)
            ...     [done.document_at(0, token) for token in range(done.tokens)]
            [0, 0, 0, 0, 0, 1, 1, 1, 1, 1]

        """
        part, token = self.plan.check_part(part), whole("token", token, 0)
        if self._firsts[part] == self._firsts[part + 1]:
            raise ValueError(f"token is {token}; part {part} has no documents")
        return self._firsts[part] + self._parts.document_at(part, token)

    def _row_parts(self) -> ShardIds:
        return ShardIds(self.plan, self.totals)

    @property
    def _row_tokenizer(self) -> Tokenizer | None:
        return self.plan.tokenizer if self.plan.has_tokenizer else None

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
    def _parts(self) -> OpenParts:
        return OpenParts(self.plan)

    @lazy_property
    def _origins(self) -> Origins:
        return Origins(self.plan)

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
        number, count = index_of("document", document), self.totals.documents
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


def stored_plan(given: Folder, argument: str = "folder") -> ShardPlan:
    """Return the plan in a folder of shards; raises `TypeError` naming the argument, or as `open_plan`."""
    plan = given.plan if isinstance(given, Shards) else given
    folder = plan.folder if isinstance(plan, ShardPlan) else plan
    kind(argument, folder, str | os.PathLike, "a folder of shards, a str or a path, or their plan, or bbpe.Shards")
    return open_plan(folder)


def load_shards(folder: Folder) -> Shards:
    """Load shards that are complete.

    Args:
        folder: The folder that `shard` wrote, or its plan.

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
        digest, parts, mixed = record.pop("plan"), record.pop("parts"), record.pop("mixture", None)
        totals, mixture = Totals(**record), None if mixed is None else Mixture.from_json(mixed)
    except FileNotFoundError:
        missing = sum(read_record(plan, number) is None for number in range(len(plan)))
        gone = f"{missing} of {counted(len(plan), 'part', 'is', 'are')} missing"
        problem = gone if missing else "the parts are not summed up"
        way = "merge them again" if plan.policy.moved else "run bbpe.shard again, or bbpe.finish_shards"
        raise CorpusError(f"{plan.folder}: {problem}; {way}") from None
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise CorpusError(f"{path}: expected the totals of shards: {error!r}") from error
    if (digest, parts) != (plan.digest, len(plan)):
        raise CorpusError(f"{path}: the totals are of another plan")
    return Shards(plan, totals, mixture)
