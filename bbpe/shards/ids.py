"""Read the documents of files of ids, and check them and make them as the files of shards have them.

    reader -> blocks of whole documents -> check EOS and BOS -> slices of long documents -> worker: check ids, convert

It stands where `DocumentEncoder` stands for texts.  What makes other ids of a block overrides `encoded`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from ..core.image import checksum
from ..corpus.files import File
from ..corpus.opened import digest_of_ends
from ..corpus.records import Refuse
from ..errors import CorpusError
from ..lazy import hashlib, np, npt
from ..records import replace
from ..text import counted
from ..threads import imap
from .documents import EncodedDocuments
from .plan import Source
from .policy import ShardPolicy
from .readers import BLOCK, READ_FORMATS, DelimitedFile, IdBlock, IdFile, IdReading, IndexedFile, missing

#: The ids of a document that are written at once.
_SLICE = 4 * BLOCK


class IdDocuments:
    """Reads documents of ids as a policy has them, and gives the same ids in the dtype of the policy."""

    #: Whether long documents come in slices, so that the memory for one is bounded.
    slices = True

    def __init__(self, policy: ShardPolicy, reading: IdReading) -> None:
        self._policy, self._reading = policy, reading
        self._dtype = np.dtype(policy.dtype)
        most = int(np.iinfo(self._dtype).max) + 1
        #: The ids that may be there, and what has no more.
        self._limit, self._limit_of = most, f"the dtype {policy.dtype}"
        if reading.ids is not None and reading.ids <= most:
            self._limit, self._limit_of = reading.ids, "the vocabulary"

    def pieces(self, source: Source, threads: int, refuse: Refuse | None) -> Iterator[EncodedDocuments]:
        """Yield the documents of a source in order, a block at a time, converted by threads."""
        read = 0
        for piece in imap(self.encoded, self.blocks(source), threads):
            step = min(piece.read, source.read - read)
            read += step
            yield replace(piece, read=step)
        check_source(source, self._reading)
        yield EncodedDocuments(np.empty(0, np.uint8), np.empty(0, np.int64), read=source.read - read)

    def digests(self, source: Source, refuse: Refuse | None) -> Iterator[int]:
        """Yield the digests of the blocks of a source, without converting them."""
        return map(digest_of_ids, self.blocks(source))

    def blocks(self, source: Source) -> Iterator[IdBlock]:
        """Yield blocks of whole documents, whose EOS and BOS are checked, and long documents in slices."""
        check_source(source, self._reading)
        path = Path(source.path)
        for block in READ_FORMATS[self._reading.format].open(path, self._reading).blocks(source.start, source.stop):
            if self._reading.on_missing == "error":
                check_around(path, block, self._reading)
            yield from _sliced(path, block) if self.slices else (replace(block, path=path),)

    def encoded(self, block: IdBlock) -> EncodedDocuments:
        """Return a block as files have it; `CorpusError` names an id that cannot be there."""
        ids = self.checked(block)
        if not self._policy.files.has_boundaries:
            self._check_marks(block)
        if ids.dtype.itemsize == self._dtype.itemsize and ids.dtype.isnative:
            data = np.ascontiguousarray(ids).view(np.uint8)
        else:
            data = ids.astype(self._dtype).view(np.uint8)
        keys = None if block.keys is None else list(block.keys)
        masks = None if block.masks is None else self._masks(block)
        return EncodedDocuments(
            data, block.lengths, read=block.read, keys=keys, digest=digest_of_ids(block), masks=masks
        )

    def checked(self, block: IdBlock) -> npt.NDArray[np.integer]:
        """Return the ids of a block; `CorpusError` when one is negative, or beyond the vocabulary or the dtype."""
        ids = block.ids
        if ids.dtype.kind == "i" and ids.dtype.isnative:
            # a negative number is a large one without its sign
            ids = ids.view(ids.dtype.str.replace("i", "u"))
        most = np.iinfo(ids.dtype).max
        if len(ids) and (most >= self._limit or ids.dtype.kind == "i"):
            lowest = int(ids.min()) if ids.dtype.kind == "i" else 0
            if int(ids.max()) >= self._limit or lowest < 0:
                self._refuse(block)
        return ids

    def _refuse(self, block: IdBlock) -> None:
        """Raise `CorpusError` that names the first id that cannot be there."""
        wrong = (block.ids < 0) | (block.ids > self._limit - 1)
        at = int(np.flatnonzero(wrong)[0])
        found, place = int(block.ids[at]), block.place(at)
        if found < 0:
            raise CorpusError(f"{place} has the id {found}; expected ids from 0 on")
        way = "name the tokenizer that made the ids" if self._limit_of == "the vocabulary" else "ask for a wider dtype"
        raise CorpusError(f"{place} has the id {found}; {self._limit_of} has {counted(self._limit, 'id')}: {way}")

    def _check_marks(self, block: IdBlock) -> None:
        """Raise `CorpusError` when an id between documents is within one, where the format has no other boundaries."""
        reading = self._reading
        name, mark = ("bos", reading.bos) if reading.eos is None else ("eos", reading.eos)
        ends = int(np.count_nonzero(block.lengths))
        if name == "bos" and block.is_slice:
            ends = int(not block.is_begun)
        if int(np.count_nonzero(block.ids == mark)) == ends:
            return
        bounds = np.cumsum(block.lengths)
        # of a slice of a document any place but the last is within it
        around = bounds[block.lengths > 0] - (1 if name == "eos" else block.lengths[block.lengths > 0])
        inner = np.setdiff1d(np.flatnonzero(block.ids == mark), around)
        at = int(inner[0]) if len(inner) else 0
        raise CorpusError(
            f"{block.place(at)} has {name}, {mark}, within it; the format {self._policy.format!r} would end it there, "
            "as it keeps no other boundaries: choose a format that does, such as 'megatron'"
        )

    def _masks(self, block: IdBlock) -> npt.NDArray[np.uint8]:
        assert block.masks is not None
        masks = np.ascontiguousarray(block.masks).view(np.uint8)
        if len(masks) and int(masks.max()) > 1:
            at = int(np.flatnonzero(masks > 1)[0])
            raise CorpusError(f"{block.place(at)} has {masks[at]} in its mask; expected 0 and 1")
        return masks


def _sliced(path: Path, block: IdBlock) -> Iterator[IdBlock]:
    """Yield a block, or the slices of one that is a long document, of which the last has its length."""
    block = replace(block, path=path)
    count = len(block.ids)
    if len(block.lengths) != 1 or count <= _SLICE:
        yield block
        return
    item = block.ids.itemsize
    for start in range(0, count, _SLICE):
        stop = min(start + _SLICE, count)
        is_last = stop == count
        yield replace(
            block, ids=block.ids[start:stop], lengths=block.lengths if is_last else block.lengths[:0],
            read=(stop - start) * item, at=block.at + start, keys=block.keys if is_last or block.keys is None else (),
            masks=None if block.masks is None else block.masks[start:stop], is_begun=start > 0, is_slice=True,
        )  # fmt: skip


def check_around(path: Path, block: IdBlock, reading: IdReading) -> None:
    """Raise `CorpusError` when a document that has ids does not begin with BOS, or end with EOS."""
    full = np.flatnonzero(block.lengths)
    ends = np.cumsum(block.lengths)[full]
    for name, token, places in (("bos", reading.bos, ends - block.lengths[full]), ("eos", reading.eos, ends - 1)):
        if token is None or not len(full):
            continue
        wrong = np.flatnonzero(block.ids[places] != token)
        if len(wrong):
            raise CorpusError(missing(path, block.name(int(full[wrong[0]])), name, token))


def check_documents(path: Path, block: IdBlock, reading: IdReading) -> None:
    """Raise `CorpusError` when a document lacks its EOS or BOS, or has an id below 0 or beyond the vocabulary."""
    if reading.on_missing == "error":
        check_around(path, block, reading)
    ids, bound = block.ids, reading.ids
    is_below = ids.dtype.kind == "i" and len(ids) > 0 and int(ids.min()) < 0
    if not is_below and (bound is None or not len(ids) or int(ids.max()) < bound):
        return
    at = int(np.flatnonzero(ids < 0 if is_below or bound is None else ids >= bound)[0])
    known = "expected ids from 0 on" if is_below or bound is None else f"the vocabulary has {counted(bound, 'id')}"
    raise CorpusError(f"{replace(block, path=path).place(at)} has the id {int(ids[at])}; {known}")


def digest_of_ids(block: IdBlock) -> int:
    """Return a digest of ids, of where they end, of their ids in the corpus and of their masks."""
    keys = "\n".join(block.keys or ()).encode("utf-8", "surrogatepass")
    parts: list[Any] = [np.ascontiguousarray(block.ids).view(np.uint8), block.lengths.tobytes(), keys]
    if block.masks is not None:
        parts.append(np.ascontiguousarray(block.masks).view(np.uint8))
    return checksum(b" ".join(b"%d" % checksum(part) for part in parts))


def count_of_ids(sources: Sequence[Source], reading: IdReading) -> int | None:
    """Return how many ids ranges of files have, by their bytes and the dtype of the first one; `None` of other files.

    The files may have other dtypes, so that the number is not certain.
    """
    if not sources:
        return 0
    check_source(sources[0], reading)
    first: IdFile = READ_FORMATS[reading.format].open(Path(sources[0].path), reading)
    if not isinstance(first, IndexedFile | DelimitedFile):
        return None
    return sum(source.read for source in sources) // first.ids.itemsize


def check_source(source: Source, reading: IdReading) -> None:
    """Raise `CorpusError` when a file of ids, or one beside it, is not as it was when the plan was made."""
    source.check(*version_of_ids(Path(source.path), reading), "ids")


def version_of_ids(path: Path, reading: IdReading) -> tuple[int, int, str]:
    """Return the size of a file of ids, the last time of change of it and of the files beside it, and their digest."""
    files = READ_FORMATS[reading.format].files(path)
    times, digest = [], hashlib.sha256()
    for file in files:
        status = file.stat()
        times.append(status.st_mtime_ns)
        ends = digest_of_ends(File(file, "text", status.st_size))
        digest.update(f"{file.name} {status.st_size} {ends}\n".encode("utf-8", "surrogateescape"))
    return path.stat().st_size, max(times), digest.hexdigest()


def ranges_of_ids(paths: Iterable[Path], reading: IdReading, size: int) -> Iterator[Source]:
    """Yield files of ids, and ranges of those that are longer than a part."""
    for path in paths:
        file: IdFile = READ_FORMATS[reading.format].open(path, reading)
        its_size, mtime_ns, ends = version_of_ids(path, reading)
        whole = Source(str(path.absolute()), its_size, mtime_ns, file.size, ends=ends)
        start, done = 0, 0
        if file.size > size:
            for stop, position in file.cuts(size):
                yield replace(whole, read=position - done, start=start, stop=stop)
                start, done = stop, position
        yield replace(whole, read=file.size - done, start=start)
