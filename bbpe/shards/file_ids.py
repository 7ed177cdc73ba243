"""The ids of files that some program wrote, as rows for training read them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from ..errors import CorpusError
from ..lazy import hashlib, lazy_property, np, npt
from ..text import counted
from .formats import Lengths
from .formats.format import Ids, forget
from .ids import check_documents
from .readers import DOCUMENTS, IdBlock, IdFile, IdReading

#: The bytes at both ends of a file that its digest has, and the most ids of a document in an index of bins.
_ENDS, _MOST = 1 << 12, (1 << 31) - 1


class FileIds:
    """The ids of files, a part for each file (`IdParts`).

    A file is opened once for all that a part of rows needs of it.  Ids that the vocabulary lacks are an error, for
    they would be other ids in a narrow dtype, and so is a document without the EOS or BOS that somebody named.
    """

    def __init__(self, files: tuple[Path, ...], reading: IdReading, opened: Callable[[int], IdFile]) -> None:
        self._files, self._reading, self._opened = files, reading, opened
        self.name = str(files[0]) if len(files) == 1 else f"{files[0]} and {counted(len(files) - 1, 'other file')}"
        self.has_masks = reading.masks is not None
        self._read: tuple[int, Ids, Lengths, npt.NDArray[np.uint8] | None] | None = None

    @lazy_property
    def id_bound(self) -> int:
        """The number of ids of the vocabulary, or how many the widest dtype of a file holds."""
        if self._reading.ids is not None:
            return self._reading.ids
        return max(int(np.iinfo(self._opened(number).dtype).max) + 1 for number in range(len(self._files)))

    @lazy_property
    def digest(self) -> str:
        """The SHA-256 of how files are read, and of their names, sizes and both ends, wherever they are."""
        listed = []
        for path in self._files:
            with path.open("rb") as file:
                size = path.stat().st_size
                ends = file.read(_ENDS)
                file.seek(max(size - _ENDS, 0))
                listed.append([path.name, size, hashlib.sha256(ends + file.read(_ENDS)).hexdigest()])
        record = json.dumps([self._reading.as_json(), listed], sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(record.encode()).hexdigest()

    def counts(self) -> tuple[list[int], list[int]]:
        """Return the number of ids and of documents of each file; where ids divide documents, all are read once."""
        files = (self._opened(number) for number in range(len(self._files)))
        pairs = [(file.tokens, file.documents) for file in files]
        return [tokens for tokens, _ in pairs], [documents for _, documents in pairs]

    def ids(self, number: int) -> Ids:
        """Return the ids of a file, after checking them against the vocabulary, EOS and BOS."""
        _, ids, lengths, _ = self._part(number)
        at = 0
        for first in range(0, len(lengths), DOCUMENTS):
            some = lengths[first : first + DOCUMENTS]
            end = at + int(some.sum())
            check_documents(self._files[number], IdBlock(ids[at:end], some, at=at), self._reading)
            forget(ids)
            at = end
        return ids

    def lengths(self, number: int) -> npt.NDArray[np.int32]:
        """Return the lengths of the documents of a file."""
        lengths = self._part(number)[2]
        if len(lengths) and int(lengths.max()) > _MOST:
            most = counted(int(lengths.max()), "id")
            raise CorpusError(f"{self._files[number]}: a document has {most}; expected at most {_MOST:,}")
        return lengths.astype(np.int32)

    def masks(self, number: int) -> npt.NDArray[np.uint8]:
        """Return the masks of a file."""
        masks = self._part(number)[3]
        assert masks is not None, "asked for where `has_masks` says so"
        return masks

    def _part(self, number: int) -> tuple[int, Ids, Lengths, npt.NDArray[np.uint8] | None]:
        if self._read is None or self._read[0] != number:
            file = self._opened(number)
            ids, masks = getattr(file, "ids", None), getattr(file, "masks", None)
            if ids is not None:
                self._read = number, ids, file.all_lengths(), masks
            else:
                self._read = number, *_joined(file)
        return self._read


def _joined(file: IdFile) -> tuple[Ids, Lengths, npt.NDArray[np.uint8] | None]:
    """Return the documents of a file that cannot be mapped."""
    blocks: list[IdBlock] = list(file.blocks())
    ids = np.concatenate([np.empty(0, file.dtype), *(block.ids for block in blocks)])
    lengths = np.concatenate([np.empty(0, np.int64), *(block.lengths for block in blocks)])
    masks = [block.masks for block in blocks if block.masks is not None]
    return ids, lengths, np.concatenate([np.empty(0, np.uint8), *masks]) if masks else None
