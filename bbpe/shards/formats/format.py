"""A format of shards: a writer, a reader, and the widths of its ids."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Protocol, TypeAlias

from ...core.file_map import FileMap
from ...errors import CorpusError
from ...lazy import np, npt
from ...records import dataclass, dtype_of
from ...text import counted
from ..outputs import Outputs

#: Lengths of documents in ids, int64[n].
Lengths: TypeAlias = "npt.NDArray[np.int64]"
#: Ids as a file has them.
Ids: TypeAlias = "npt.NDArray[np.integer[Any]]"
#: The ids of documents in their corpus, if there is a field with them.
Keys: TypeAlias = "Sequence[str] | None"
#: 1 for each id that a model learns, uint8[n], where documents are chats.
Masks: TypeAlias = "npt.NDArray[np.uint8] | None"
#: Yields the lengths of all documents, int32[n] each, some at a time.
AllLengths: TypeAlias = Callable[[], Iterator["npt.NDArray[np.int32]"]]


class Columns(NamedTuple):
    """What documents have beside their ids: `keys`, their ids in the corpus, and `masks` of what a model learns."""

    keys: bool = False
    masks: bool = False


class MaskFiles(NamedTuple):
    """The files of a format with masks, which its other files may have too, and `read(stem)` of those of a part."""

    suffixes: tuple[str, ...]
    read: Callable[[Path], npt.NDArray[np.uint8]]


#: Documents with ids alone.
PLAIN = Columns()


class ReadKeys(Protocol):
    """Reads the ids that documents of a part have in the corpus."""

    def __call__(self, stem: Path, first: int = 0) -> Iterator[str]:
        """Yield those of documents from the first one on."""


class MakeWriter(Protocol):
    """Makes a writer of the files of one part."""

    def __call__(self, outputs: Outputs, dtype: str, name: str, columns: Columns = PLAIN) -> Writer:
        """Begin the files; `name` is that of the tokenizer."""


class Writer(Protocol):
    """Writes the files of one part; documents come in order, and one document in as many pieces as the caller likes."""

    def add(self, ids: npt.NDArray[np.uint8], masks: Masks = None) -> None:
        """Append ids, given as the bytes that files have, and their masks where documents have some."""

    def end(self, lengths: Lengths, source: str, keys: Keys) -> None:
        """End documents, whose ids were added; `source` is the file that they come from, `keys` their ids in it."""

    def finish(self, lengths: AllLengths) -> None:
        """Write what follows all ids."""


@dataclass(frozen=True)
class OutputFormat:
    """A format of shards.

    `ids(stem, dtype)` returns the ids of a part, mapped into memory, and `lengths(stem, dtype, ids)` the lengths of its
    documents, `None` where the files do not have them.  `dtypes` are those that it has, by the number of ids that fit
    each, the narrow one first.  `has_boundaries`: documents end in its files without an id between them.
    `keys(stem, first)` yields the ids that documents of a part have in the corpus, from one document on, where the
    format has a place for them, as `masks` for what a model learns of them.
    """

    name: str
    suffixes: tuple[str, ...]
    dtypes: dict[str, int]
    has_boundaries: bool
    writer: MakeWriter
    ids: Callable[[Path, str], Ids]
    lengths: Callable[[Path, str, Ids], Lengths | None]
    keys: ReadKeys | None = None
    masks: MaskFiles | None = None

    def dtype(self, asked: npt.DTypeLike, id_count: int) -> str:
        """Return the name of the dtype of ids, the narrowest for "auto".

        Raises `TypeError` if `asked` is no dtype; `ValueError` if the format lacks it, or it cannot hold so many ids.
        """
        has = ", ".join(map(repr, self.dtypes))
        if isinstance(asked, str) and asked == "auto":
            asked = next((dtype for dtype, most in self.dtypes.items() if id_count <= most), "none of them")
        else:
            asked = str(dtype_of(asked, f"'auto' or what the format {self.name!r} has, {has}"))
        if asked not in self.dtypes:
            raise ValueError(f"dtype is {asked!r}; the format {self.name!r} has {has}")
        most = int(np.iinfo(asked).max) + 1
        if id_count > most:
            raise ValueError(f"dtype is {asked!r}, which holds {counted(most, 'id')}; the tokenizer has {id_count:,}")
        return asked


def no_lengths(stem: Path, dtype: str, ids: Ids) -> None:
    """Return `None`: the files of the format have no ends of documents."""


def with_suffix(stem: Path, suffix: str) -> Path:
    """Return the path of a file of a part."""
    return stem.with_name(stem.name + suffix)


def mapped(path: Path, dtype: str, *, offset: int = 0, count: int | None = None) -> Any:
    """Return the numbers of a file, mapped into memory; `CorpusError` when it is too short or has part of a number."""
    size, item = path.stat().st_size - offset, np.dtype(dtype).itemsize
    if count is None and size >= 0 and size % item == 0:
        count = size // item
    if count is None or size < count * item:
        found = counted(size + offset, "byte")
        raise CorpusError(f"{path}: the file has {found}; expected whole numbers of {counted(item, 'byte')}")
    if not count:
        return np.empty(0, dtype)
    try:
        with path.open("rb") as file:
            pages: Any = FileMap(file.fileno(), offset + count * item)
    except OSError as error:
        if error.errno is not None:
            raise
        return np.memmap(path, dtype, "r", offset, (count,))
    return np.frombuffer(pages, dtype, count, offset)


def is_mapped(numbers: Any) -> bool:
    """Return whether the numbers are those of a mapped file, which take no memory of the process."""
    return isinstance(numbers, np.memmap) or isinstance(_pages_of(numbers), FileMap)


def forget(numbers: Any) -> None:
    """Give back the memory of what was read of a mapped file: it is read again if it is asked for."""
    pages = _pages_of(numbers)
    if isinstance(pages, FileMap):
        pages.forget()


def _pages_of(numbers: Any) -> Any:
    while isinstance(numbers, np.ndarray | memoryview):
        numbers = numbers.base if isinstance(numbers, np.ndarray) else numbers.obj
    return numbers
