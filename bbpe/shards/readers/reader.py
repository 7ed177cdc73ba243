"""Files of ids that some program wrote: how they are asked to be read, and what every reader of them gives.

A reader opens one file of ids with the files beside it, and yields blocks of whole documents.  Three kinds of readers
serve all formats:

    IndexedFile     the files say where documents end; a part is a range of documents
    DelimitedFile   the ids say it, by EOS or BOS; a part is a range of ids, cut where a document begins
    RowFile         Parquet, a document in each row; a part is a range of row groups
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any, Literal, Protocol, TypeAlias

from ...errors import CorpusError
from ...lazy import np, npt
from ...records import asdict, dataclass
from ...text import counted
from ..formats.format import Ids, Keys, Lengths, Masks, forget

#: What happens at a document that lacks the EOS or BOS that the caller names.
OnMissing: TypeAlias = Literal["error", "keep"]
#: The bounds of documents, in ids of a file, int64[n + 1].
Bounds: TypeAlias = "npt.NDArray[np.int64]"

#: About how many ids a block has, and the most documents.
BLOCK, DOCUMENTS = 1 << 20, 1 << 16


@dataclass(frozen=True, kw_only=True)
class IdReading:
    """How files of ids are read.

    Attributes:
        format: The name of the format of the files.
        dtype: The dtype of ids where the files do not say it, or that they must have; `None` for what they say.
        bos: The id that each document begins with, `None` if nothing is known.
        eos: The id that each document ends with, `None` if nothing is known.
        on_missing: Whether a document without these ends the run or is kept as it is.
        column: The column with the ids, where files have columns.
        id_field: The column with the id of a document; `None` if ids of documents are not read.
        masks: The column with the masks, or "" for the file of masks of the format; `None` if masks are not read.
        ids: The number of ids of the vocabulary, `None` if it is not known.
        own: The format of the ids, where the files are those of a folder that bbpe wrote.
    """

    format: str
    dtype: str | None = None
    bos: int | None = None
    eos: int | None = None
    on_missing: OnMissing = "error"
    column: str = "input_ids"
    id_field: str | None = None
    masks: str | None = None
    ids: int | None = None
    own: str | None = None

    def as_json(self) -> dict[str, Any]:
        """Return it as plain data."""
        return asdict(self)


@dataclass(frozen=True)
class IdBlock:
    """Some whole documents of a file, or a slice of a single one.

    `ids` are as the file has them, a view where it is mapped; `lengths` the number of ids of each document that ends
    here, int64[n].  `read` is the bytes of input that they stand for, `at` the number of the first id in the file and
    `document` that of the first document, `None` where it is not known.  `keys` are ids of documents, `masks` has a
    number for each id.  `is_slice`: the ids are part of one document, whose length is that of the whole, in its last
    slice alone; `is_begun`: they are not its first ones.  `path` is the file, for messages.
    """

    ids: Ids
    lengths: Lengths
    read: int = 0
    at: int = 0
    document: int | None = None
    keys: Keys = None
    masks: Masks = None
    is_slice: bool = False
    is_begun: bool = False
    path: Path = Path()

    def place(self, number: int) -> str:
        """Return what an error calls the document of an id."""
        at = 0 if self.is_slice else int(np.searchsorted(np.cumsum(self.lengths), number, "right"))
        return f"{self.path}: {self.name(at)}"

    def name(self, number: int) -> str:
        """Return what an error calls a document of the block."""
        if self.document is not None:
            return f"document {self.document + number}"
        return f"the document that begins at id {self.at + int(self.lengths[:number].sum())}"


class IdFile(Protocol):
    """An open file of ids."""

    @property
    def dtype(self) -> Any:
        """The dtype of its ids."""

    @property
    def size(self) -> int:
        """The bytes of input that it stands for."""

    @property
    def documents(self) -> int:
        """The number of documents."""

    @property
    def tokens(self) -> int:
        """The number of ids."""

    def all_lengths(self) -> Lengths:
        """Return the lengths of all documents."""

    def cuts(self, most: int) -> Iterator[tuple[int, int]]:
        """Yield where ranges of about `most` bytes end, and the bytes of input before that place."""

    def blocks(self, start: int = 0, stop: int | None = None) -> Iterator[IdBlock]:
        """Yield the documents of a range, some at a time."""


@dataclass(frozen=True)
class ReadFormat:
    """A format of files of ids.

    `suffix` is that of the file of ids, and `beside` those of other files, after the name without the suffix, or after
    the name of the folder if they begin with a slash; what there is of them belongs to a file.  `open(path, reading)`
    opens one.  `says_dtype`: the files say the dtype of ids.  `has_keys`, `has_columns` and `mask_files`: there are
    ids of documents, columns with names, and files with these suffixes where there are masks.  `listed(folder)` returns
    the files that `index.json` in a folder lists, in order.
    """

    name: str
    suffix: str
    beside: tuple[str, ...]
    open: Callable[[Path, IdReading], IdFile]
    says_dtype: bool = True
    has_keys: bool = False
    has_columns: bool = False
    mask_files: tuple[str, ...] = ()
    listed: Callable[[Path], list[Path]] | None = None

    def stem(self, path: Path) -> Path:
        """Return the path of a file of ids without its suffix."""
        return path.with_name(path.name[: -len(self.suffix)])

    def files(self, path: Path) -> list[Path]:
        """Return the file of ids and those beside it that there are."""
        stem = self.stem(path)
        found = [path.parent / more[1:] if more[0] == "/" else suffixed(stem, more) for more in self.beside]
        return [path, *(other for other in found if other.exists())]

    def has_masks(self, path: Path) -> bool:
        """Return whether there are masks beside a file of ids."""
        stem = self.stem(path)
        return bool(self.mask_files) and all(suffixed(stem, more).exists() for more in self.mask_files)


def suffixed(stem: Path, suffix: str) -> Path:
    """Return the path of a file beside another one."""
    return stem.with_name(stem.name + suffix)


class IndexedFile:
    """Ids one after another, and where documents end in them.

    `lengths(first, stop)` returns the lengths of a range of documents, and `position(document)` the number of ids
    before one.
    """

    def __init__(
        self, ids: Ids, documents: int, lengths: Callable[[int, int], Lengths], position: Callable[[int], int], *,
        keys: Callable[[], Iterator[str]] | None = None, masks: Masks = None, held: tuple[Any, ...] = (),
    ) -> None:  # fmt: skip
        self.ids, self.dtype, self.size = ids, ids.dtype, ids.nbytes
        self._documents, self._lengths, self._position = documents, lengths, position
        self.masks, self._keys, self._held = masks, keys, (ids, masks, *held)

    @property
    def documents(self) -> int:
        """The number of documents."""
        return self._documents

    @property
    def tokens(self) -> int:
        """The number of ids."""
        return len(self.ids)

    def all_lengths(self) -> Lengths:
        """Return the lengths of all documents."""
        return self._lengths(0, self._documents)

    def document(self, number: int) -> Ids:
        """Return the ids of a document."""
        start = self._position(number)
        return self.ids[start : start + int(self._lengths(number, number + 1)[0])]

    def cuts(self, most: int) -> Iterator[tuple[int, int]]:
        """Yield numbers of documents, and the bytes before each."""
        item, at, cut = self.ids.itemsize, 0, 0
        for first in range(0, self._documents, DOCUMENTS):
            lengths = self._lengths(first, min(first + DOCUMENTS, self._documents))
            ends = (at + np.cumsum(lengths)) * item
            at += int(lengths.sum())
            while int(ends[-1]) - cut > most:
                # as many documents as there is room for, or one
                number = int(np.searchsorted(ends, cut + most, "right"))
                before = int(ends[number - 1]) if number else at * item - int(lengths.sum()) * item
                if before <= cut:
                    number, before = number + 1, int(ends[number])
                if first + number >= self._documents:
                    return
                yield first + number, before
                cut = before
            self._forget()

    def blocks(self, start: int = 0, stop: int | None = None) -> Iterator[IdBlock]:
        """Yield the documents of a range, about `BLOCK` ids at a time, or one that is longer."""
        stop = self._documents if stop is None else stop
        at, item = self._position(start), self.ids.itemsize
        keys = None if self._keys is None else islice(self._keys(), start, None)
        for first in range(start, stop, DOCUMENTS):
            lengths = self._lengths(first, min(first + DOCUMENTS, stop))
            number = first
            for some in in_blocks(lengths):
                end = at + int(some.sum())
                own = None if keys is None else list(islice(keys, len(some)))
                masks = None if self.masks is None else self.masks[at:end]
                yield IdBlock(self.ids[at:end], some, (end - at) * item, at, number, own, masks)
                at, number = end, number + len(some)
                self._forget()

    def _forget(self) -> None:
        # or the memory of the process would grow with its files
        for each in self._held:
            if each is not None:
                forget(each)


def in_blocks(lengths: Lengths, most: int | None = None) -> Iterator[Lengths]:
    """Yield runs of lengths of documents: `most` ids at most (a block by default), or one longer document."""
    ends, most = np.cumsum(lengths), BLOCK if most is None else most
    start = done = 0
    while start < len(lengths):
        stop = max(int(np.searchsorted(ends, done + most, "right")), start + 1)
        yield lengths[start:stop]
        start, done = stop, int(ends[stop - 1])


class DelimitedFile:
    """Ids one after another, of which one begins or ends each document."""

    def __init__(self, path: Path, ids: Ids, reading: IdReading) -> None:
        if reading.bos is None and reading.eos is None:
            raise CorpusError(
                f"{path}: nothing says where documents end; give eos= or bos=, the token or the id that each document "
                "ends or begins with"
            )
        if reading.bos == reading.eos:
            raise CorpusError(f"{path}: bos and eos are both {reading.eos}, so bbpe cannot tell them apart; "
                              "give the one that the documents have")  # fmt: skip
        self.ids, self.dtype, self.size = ids, ids.dtype, ids.nbytes
        self._path, self._keep = path, reading.on_missing == "keep"
        #: The id that is looked for, and how far behind it the next document begins.
        self._mark, self._behind = (reading.bos, 0) if reading.eos is None else (reading.eos, 1)
        self._documents: int | None = None

    @property
    def documents(self) -> int:
        """The number of documents, for which all ids are read once."""
        if self._documents is None:
            self._documents = sum(len(block.lengths) for block in self.blocks())
        return self._documents

    @property
    def tokens(self) -> int:
        """The number of ids."""
        return len(self.ids)

    def all_lengths(self) -> Lengths:
        """Return the lengths of all documents."""
        found = [block.lengths for block in self.blocks()]
        return np.concatenate([np.empty(0, np.int64), *found])

    def _begins(self, start: int, stop: int) -> Bounds:
        """Return where documents begin after marks among some ids."""
        found: Bounds = np.flatnonzero(self.ids[start:stop] == self._mark)
        return found + (start + self._behind)

    def cuts(self, most: int) -> Iterator[tuple[int, int]]:
        """Yield numbers of ids that begin documents, and the bytes before each."""
        item, count = self.ids.itemsize, len(self.ids)
        step = max(most // item, 1)
        wanted = step
        while wanted < count:
            found = -1
            for at in range(wanted - self._behind, count, BLOCK):
                begins = self._begins(at, min(at + BLOCK, count))
                forget(self.ids)
                if len(begins):
                    found = int(begins[0])
                    break
            if not 0 <= found < count:
                return
            yield found, found * item
            wanted = found + step

    def blocks(self, start: int = 0, stop: int | None = None) -> Iterator[IdBlock]:
        """Yield the documents of a range, about `BLOCK` ids at a time, or one that is longer."""
        stop = len(self.ids) if stop is None else stop
        item, begun = self.ids.itemsize, start
        for at in range(start, stop, BLOCK):
            end = min(at + BLOCK, stop)
            bounds = self._begins(at, end)
            # a document that begins here has no beginning within the range
            bounds = bounds[(bounds > begun) & (bounds <= stop)]
            if end == stop and (not len(bounds) or bounds[-1] != stop):
                self._check_last(begun if not len(bounds) else int(bounds[-1]), stop)
                bounds = np.append(bounds, stop)
            if len(bounds):
                lengths, last = np.diff(bounds, prepend=begun).astype(np.int64), int(bounds[-1])
                yield IdBlock(self.ids[begun:last], lengths, (last - begun) * item, begun)
                begun = last
                forget(self.ids)

    def _check_last(self, begin: int, stop: int) -> None:
        """Raise `CorpusError` where the last document has no end."""
        if self._behind and stop == len(self.ids) and not self._keep:
            raise CorpusError(missing(self._path, f"the last document, of ids {begin} to {stop},", "eos", self._mark))


def missing(path: Path, document: str, name: str, token: int | None) -> str:
    """Return the message about a document without its EOS or BOS."""
    where = "end" if name == "eos" else "begin"
    return (
        f"{path}: {document} does not {where} with {name}, {token}; name the right token, or keep such documents as "
        "they are with on_missing='keep'"
    )


def checked_dtype(path: Path, reading: IdReading, found: npt.DTypeLike | None) -> str:
    """Return the dtype of ids.

    Raises `CorpusError` when neither the caller nor the file says it, when they differ, and when it holds no integers,
    or not EOS and BOS.
    """
    if found is None and reading.dtype is None:
        raise CorpusError(f"{path}: nothing says how wide ids are; give dtype=, such as dtype='uint16'")
    if found is None:
        found = reading.dtype
    dtype = np.dtype(found)
    if dtype.kind not in "iu":
        raise CorpusError(f"{path}: the numbers are {dtype.name}; expected integers, which ids are")
    if reading.dtype is not None and np.dtype(reading.dtype) != dtype:
        raise CorpusError(f"{path}: the ids are {dtype.name}, but dtype is {np.dtype(reading.dtype).name}")
    for name, token in (("eos", reading.eos), ("bos", reading.bos)):
        if token is not None and token > (most := int(np.iinfo(dtype).max)):
            raise CorpusError(f"{path}: {name} is {token}, and the ids are {dtype.name}, at most {most}")
    return dtype.str


def check_bounds(path: Path, ends: Bounds, count: int) -> None:
    """Raise `CorpusError` unless documents follow one another and the last ends with the ids."""
    last = int(ends[-1]) if len(ends) else 0
    if last != count or (len(ends) and (int(ends[0]) < 0 or bool((ends[1:] < ends[:-1]).any()))):
        raise CorpusError(f"{path}: the documents end at id {last}, or not in order; there is {counted(count, 'id')}")
