"""The plan of shards: which part of which file is in which part, stored beside what is written."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import chain
from pathlib import Path
from typing import Any

from ..corpus.chats import check_chats
from ..corpus.files import CorpusPaths, File, FilePath, check_apart, check_fields, corpus_files, file_of
from ..corpus.opened import digest_of_ends, naming
from ..corpus.ranges import check_columns, line_cuts, row_group_cuts
from ..corpus.urls import path_of
from ..errors import BBPEError, CorpusError
from ..files import local_path, write_atomic
from ..lazy import lazy_property
from ..records import dataclass, field, kind, replace, whole
from ..spec.pickled import spec_bytes, spec_of_bytes
from ..text import counted, first_few
from ..tokenizer import Tokenizer
from .policy import ShardPolicy, differences_of
from .state import check_folder, forget_failure, listing, naming_no_plan, written_parts

#: The version of the files of a plan.
_VERSION = 4
#: The tokenizer as it is pickled: any tokenizer fits, and 200,000 tokens take milliseconds.
_PLAN, _TOKENIZER = "plan.json", "tokenizer.bbpe"
#: That of the ids that are read, where they are encoded by another one.
_OLD_TOKENIZER = "old-tokenizer.bbpe"
#: Other files that are written when all parts are there.
OTHERS = ("manifest.json", "skipped.jsonl")
#: Differences that a message shows.
_SHOWN = 5
#: Characters; no name of a file is longer, and many texts are.
_LONGEST_NAME = 1 << 12


@dataclass(frozen=True)
class Source:
    """A file, or a range of one.

    `start` and `stop` are bytes where lines begin, or row groups of a Parquet file; of a file of ids they are what its
    reader divides: documents, ids or row groups.  `stop` is `None` for the end.  Where an iterator gave documents, the
    path is empty, and `start` and `stop` are the numbers of items.  `read` is the bytes of the file that the range has,
    for Parquet its share of them.  `size` and `mtime_ns` are those of the file when the plan was made, and `ends` is
    the digest of its first and last bytes, empty for a URL, whose `mtime_ns` is a number of its version.  The files
    beside a file of ids count for its `ends` and its `mtime_ns`.
    """

    path: str
    size: int
    mtime_ns: int
    read: int
    start: int = 0
    stop: int | None = None
    ends: str = ""

    @property
    def version(self) -> tuple[int, str | int]:
        """The size and what says that the contents are others, which the time of change does not."""
        return self.size, self.ends or self.mtime_ns

    def file(self, policy: ShardPolicy) -> File:
        """Return the file; `CorpusError` when it is not as it was when the plan was made."""
        file = file_of(path_of(self.path), policy.input_format, policy.field)
        self.check(file.size or 0, file.path.stat().st_mtime_ns, digest_of_ends(file))
        return file

    def check(self, size: int, mtime_ns: int, ends: str, contents: str = "texts") -> None:
        """Raise `CorpusError` when the file is not as it was when the plan was made."""
        changed = way = ""
        if size != self.size:
            changed = f"has {counted(size, 'byte')}, and had {self.size:,}"
        elif ends != self.ends:
            changed = "has other contents of the same size"
        elif mtime_ns != self.mtime_ns:
            changed = "was written to"
            way = f"call it with the same arguments again, which compares its {contents}, or "
        if changed:
            raise CorpusError(
                f"{self.path}: the file {changed} since the plan was made; {way}make a new plan in another folder"
            )


@dataclass(frozen=True)
class ShardPlan:
    """A stored plan of shards: parts that anyone may write, anywhere, in any order, with equal bytes.

    A pickled plan is the path of its folder, which every worker must see.

    Attributes:
        folder: The folder of the plan and of the output.
        policy: How documents are written.
        identity: The tokenizer as data: fingerprint, name, pattern, number of ids, Unicode version; `None` if these are
            not known, as for shards of other programs.
        parts: The ranges of files of each part.
        given: The tokenizer, if it need not be read from the folder.
        given_old: The old tokenizer, in the same way, if ids of another vocabulary are read.

    Example:
        >>> from pathlib import Path
        >>> from tempfile import TemporaryDirectory
        >>> tok = bbpe.train_from_iterator(["low lower"], 258)
        >>> with TemporaryDirectory() as folder:
        ...     _ = Path(folder, "a.jsonl").write_text('{"text": "low"}')
        ...     plan = bbpe.plan_shards(folder + "/a.jsonl", folder + "/out", tok)
        ...     len(plan), bbpe.shard_part(plan, 0).documents
        (1, 1)

    """

    folder: Path
    policy: ShardPolicy
    identity: dict[str, Any]
    parts: tuple[tuple[Source, ...], ...]
    given: Tokenizer | None = field(default=None, repr=False, compare=False)
    given_old: Tokenizer | None = field(default=None, repr=False, compare=False)

    def __len__(self) -> int:
        """Return the number of parts."""
        return len(self.parts)

    def __reduce__(self) -> tuple[Any, ...]:
        return open_plan, (self.folder,)

    @lazy_property
    def digest(self) -> str:
        """The SHA-256 of everything that the bytes of parts depend on, so not of times of local files."""
        record = json.dumps(self._record(timeless=True), sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(record.encode()).hexdigest()

    @lazy_property
    def tokenizer(self) -> Tokenizer:
        """The tokenizer; `CorpusError` when nobody named it, or the one in the folder is not that of the plan."""
        if self.given is not None:
            return self.given
        if not self.has_tokenizer:
            raise CorpusError(
                f"{self.folder}: the shards were converted without a tokenizer; convert them again, into another "
                "folder, with tokenizer="
            )
        return stored_tokenizer(self.folder / _TOKENIZER, self.identity["fingerprint"])

    @lazy_property
    def old_tokenizer(self) -> Tokenizer:
        """The tokenizer of the ids that are read, of a plan by which another one encodes them; otherwise as above."""
        if self.given_old is not None:
            return self.given_old
        if self.policy.old is None:
            raise CorpusError(f"{self.folder}: the ids are not those of an older vocabulary; `tokenizer` made them")
        return stored_tokenizer(self.folder / _OLD_TOKENIZER, self.policy.old.fingerprint)

    @property
    def tokenizer_files(self) -> dict[Path, str]:
        """The files of the tokenizers that the plan knows, with their fingerprints."""
        found = {self.folder / _TOKENIZER: self.identity["fingerprint"]} if self.has_tokenizer else {}
        if self.policy.old is not None:
            found[self.folder / _OLD_TOKENIZER] = self.policy.old.fingerprint
        return found

    @property
    def has_tokenizer(self) -> bool:
        """Whether the plan knows the tokenizer that made the ids."""
        return self.identity["fingerprint"] is not None

    @property
    def size(self) -> int:
        """The bytes of all files, as they are on the disk."""
        return sum(source.read for part in self.parts for source in part)

    @property
    def is_iterated(self) -> bool:
        """Whether some documents came from an iterator, so no file has them."""
        return any(not source.path for part in self.parts for source in part)

    def stem(self, number: int) -> Path:
        """Return the path of the files of a part, without a suffix."""
        return _stem(self.folder, number)

    def check_part(self, number: int) -> int:
        """Return the number of a part as an int; `ValueError` unless there is such a part."""
        return whole("part", number, 0, len(self.parts) - 1)

    def _rows(self, *, timeless: bool) -> list[list[dict[str, Any]]]:
        """Return the sources of each part as JSON has them, `timeless` without the times of local files."""
        # `asdict` would take ten times as long, and a source has no records of its own
        return [
            [{**vars(source), "mtime_ns": 0} if timeless and source.ends else vars(source) for source in part]
            for part in self.parts
        ]

    def _record(self, *, timeless: bool) -> dict[str, Any]:
        parts = self._rows(timeless=timeless)
        return {"version": _VERSION, "tokenizer": self.identity, "policy": self.policy.as_json(), "parts": parts}

    def store(self) -> None:
        """Write the plan and the tokenizer to the folder; the plan is last, so that its presence means both.

        Raises `OSError` naming the file.
        """
        self.folder.mkdir(parents=True, exist_ok=True)
        self.store_tokenizers()
        record = json.dumps({"sha256": self.digest, **self._record(timeless=False)}, indent=1, ensure_ascii=False)
        write_atomic(self.folder / _PLAN, record.encode("utf-8", "surrogateescape"))

    def store_tokenizers(self) -> None:
        """Write the files of the tokenizers."""
        if self.has_tokenizer:
            write_atomic(self.folder / _TOKENIZER, spec_bytes(self.tokenizer.spec))
        if self.policy.old is not None:
            write_atomic(self.folder / _OLD_TOKENIZER, spec_bytes(self.old_tokenizer.spec))

    def differences(self, other: ShardPlan) -> list[str]:
        """Return what differs between two plans, with both values."""
        pairs = ((self.identity, other.identity), (self.policy.as_json(), other.policy.as_json()))
        found = list(chain.from_iterable(differences_of(left, right) for left, right in pairs))
        mine, its = ({source.path: source for part in plan.parts for source in part} for plan in (self, other))
        found += [f"file {path} in one of them alone" for path in sorted(mine.keys() ^ its.keys())]
        for path in sorted(mine.keys() & its.keys()):
            left, right = mine[path], its[path]
            if left.size != right.size:
                found.append(f"file {path} of {left.size:,} and {counted(right.size, 'byte')}")
            elif left.version != right.version:
                found.append(f"file {path} of {counted(left.size, 'byte')} with other contents")
        if not found and self._rows(timeless=True) != other._rows(timeless=True):
            found.append("the order of files, one that is named again, or where they are cut")
        return found

    def touched(self, other: ShardPlan) -> set[str]:
        """Return the files whose times of change differ between two plans that are equal otherwise."""
        pairs = zip(chain.from_iterable(self.parts), chain.from_iterable(other.parts), strict=True)
        return {mine.path for mine, its in pairs if mine.mtime_ns != its.mtime_ns}

    def check_stored(self) -> None:
        """Raise `CorpusError` when the folder has another plan by now, made before a part was finished."""
        if open_plan(self.folder).digest != self.digest:
            raise CorpusError(f"{self.folder}: another call has replaced the plan; use another folder")


def _stem(folder: Path, number: int) -> Path:
    return folder / f"part-{number:05d}"


def stored_tokenizer(path: Path, fingerprint: str) -> Tokenizer:
    """Return the tokenizer that lies beside a plan; `CorpusError` when it is not the one of the plan, or is gone."""
    way = "put the right file back, or remove it and make the call that wrote the shards again, which writes it"
    try:
        with naming(path):
            tokenizer = Tokenizer(spec_of_bytes(path.read_bytes()))
    except FileNotFoundError:
        raise CorpusError(f"{path}: the file is gone; {way}") from None
    except (BBPEError, ValueError, TypeError, KeyError) as error:
        raise CorpusError(f"{path}: expected the tokenizer of a plan of shards: {error!r}; {way}") from error
    if tokenizer.fingerprint != fingerprint:
        raise CorpusError(f"{path}: the tokenizer was changed since the plan was made; {way}")
    return tokenizer


def make_plan(
    files: CorpusPaths, folder: str | os.PathLike[str], tokenizer: Tokenizer, policy: ShardPolicy
) -> ShardPlan:
    """Return a plan, which is not stored yet."""
    target = shards_folder(folder)
    if isinstance(files, Iterator):
        files = list(files)
    found = _found(files, policy)
    check_apart(target, "the folder of the shards", files, [file.path for file in found], written_names(policy))
    return ShardPlan(target, policy, identity_of(tokenizer), parts_of(found, policy), tokenizer)


def written_names(policy: ShardPolicy) -> list[str]:
    """Return the names of files that are written to the folder of a plan, of parts those of the first one."""
    of_part = (f"part-00000{suffix}" for suffix in (".lens", ".rows", ".from", ".json", *policy.suffixes))
    return [_PLAN, _TOKENIZER, _OLD_TOKENIZER, *OTHERS, *of_part]


def identity_of(tokenizer: Tokenizer | None, ids: int | None = None) -> dict[str, Any]:
    """Return what a plan keeps of a tokenizer; of one that nobody knows, the number of ids if that is known."""
    if tokenizer is None:
        return {"fingerprint": None, "name": None, "pattern": None, "ids": ids, "unicode": None}
    return {
        "fingerprint": tokenizer.fingerprint,
        "name": tokenizer.name,
        "pattern": str(tokenizer.pattern),
        "ids": tokenizer.vocab_size,
        "unicode": tokenizer.unicode_version,
    }


def shards_folder(folder: str | os.PathLike[str]) -> Path:
    """Return the path of a folder of shards; `ValueError` on a URL, `NotADirectoryError` on a file."""
    problem = "shards are in a folder of a machine, whose files are published one by one"
    path = local_path(folder, problem, argument="folder").absolute()
    check_folder(path)
    return path


def open_plan(folder: str | os.PathLike[str]) -> ShardPlan:
    """Return the plan that is stored in a folder; one that is unchanged is read once in a process.

    Raises `CorpusError` naming the file when it is damaged, or is not the tokenizer's; `OSError` when there is none.
    """
    with naming_no_plan():
        path = shards_folder(folder) / _PLAN
        status = path.stat()
    return _opened(path, status.st_mtime_ns, status.st_size)


@lru_cache(maxsize=4)
def _opened(path: Path, _mtime_ns: int, _size: int) -> ShardPlan:
    try:
        record = json.loads(path.read_bytes().decode("utf-8", "surrogateescape"))
        parts = tuple(tuple(Source(**source) for source in part) for part in record["parts"])
        policy, identity, digest = ShardPolicy.from_json(record["policy"]), record["tokenizer"], record["sha256"]
        version = record["version"]
    except (ValueError, KeyError, TypeError) as error:
        raise CorpusError(f"{path}: expected a plan of shards: {error!r}") from error
    if version != _VERSION:
        raise CorpusError(f"{path}: the plan has version {version}; expected {_VERSION}")
    plan = ShardPlan(path.parent, policy, identity, parts)
    if plan.digest != digest:
        raise CorpusError(f"{path}: the plan was changed; make a new plan in another folder")
    return plan


def stored_or_new(
    plan: ShardPlan, prove: Callable[[ShardPlan, set[str]], None] | None = None, *, replan: bool = False
) -> ShardPlan:
    """Return the plan that the folder has, or store this one if there is none, or none of its parts is done.

    A plan that differs is not replaced while somebody writes a part of it, unless `replan`.  `prove` is called with
    files whose times are others, if the plan is the same otherwise, and raises an error unless parts that are done have
    the texts that these files have now.  Raises `CorpusError` naming the differences between both plans.
    """
    kind("replan", replan, bool, "a bool")
    path = plan.folder / _PLAN
    stored = open_plan(plan.folder) if path.exists() else None
    differences = [] if stored is None else stored.differences(plan)
    if differences:
        # who merges has nothing to prove, and no argument to give
        _check_replaceable(plan.folder, differences, replan=None if prove is None else replan)
    if stored is None or differences:
        plan.store()
        return plan
    # the tokenizer may have another name by now
    plan = replace(plan, identity=stored.identity)
    if not all(path.exists() for path in plan.tokenizer_files):
        plan.store_tokenizers()
    touched = stored.touched(plan)
    if touched and prove is not None:
        prove(plan, touched)
        plan.store()
    return plan


def _check_replaceable(folder: Path, differences: list[str], *, replan: bool | None) -> None:
    """Check that no work is lost when the plan in a folder is replaced, and remove its notes on parts that failed."""
    problem = f"{folder}: the folder has another plan, with {first_few(differences, _SHOWN)}"
    found = listing(folder)
    if found.done:
        raise CorpusError(f"{problem}; use another folder, or the same arguments")
    written = [] if replan else written_parts(folder, found)
    if written:
        now = counted(len(written), "part", "is", "are")
        way = "use another folder" if replan is None else "give replan=True, which ends those runs"
        raise CorpusError(f"{problem}; {now} being written now, so wait, or {way}")
    for number in found.failed:
        forget_failure(_stem(folder, number))


def _found(files: CorpusPaths, policy: ShardPolicy) -> list[File]:
    """Return the files of a corpus; an error about texts in their place says what to do."""
    try:
        return corpus_files(files, policy.input_format, policy.field)
    except (CorpusError, FileNotFoundError, TypeError) as error:
        if isinstance(files, str | bytes | bytearray | os.PathLike) or not isinstance(files, Iterable):
            raise
        first = next(iter(files), None)
        if first is None or (isinstance(first, str | os.PathLike) and _is_name(os.fspath(first))):
            raise
        raise CorpusError(
            f"the first of the files is {repr(first)[:40]}, which is no file; shards are made of files, which can be "
            'read again: write texts to one, such as a .jsonl file with a line {"text": ...} for each, and name it'
        ) from error


def _is_name(text: str) -> bool:
    """Return whether a text may be the name of a file: one with blanks only if there is such a file."""
    return len(text) < _LONGEST_NAME and (not any(map(str.isspace, text)) or Path(text).exists())


def parts_of(files: Sequence[File], policy: ShardPolicy) -> tuple[tuple[Source, ...], ...]:
    """Divide the files of texts into parts."""
    if policy.messages_field is None:
        check_fields(files, policy.field, way="input_format")
    check = check_columns if policy.messages_field is None else check_chats
    check(files, policy.field, policy.id_field, first_lines=policy.on_error == "raise")
    return joined(_ranges(files, policy), policy.part_size)


def joined(ranges: Iterable[Source], size: int) -> tuple[tuple[Source, ...], ...]:
    """Join ranges of files to parts; the last one is not small if there is another one to put it into."""
    parts: list[list[Source]] = [[]]
    held = 0
    for source in ranges:
        if parts[-1] and held + source.read > size and 2 * held >= size:
            parts.append([])
            held = 0
        parts[-1].append(source)
        held += source.read
    if len(parts) > 1 and 2 * held < size:
        parts[-2:] = [parts[-2] + parts[-1]]
    return tuple(map(tuple, parts))


def _ranges(files: Iterable[File], policy: ShardPolicy) -> Iterator[Source]:
    for file in files:
        if file.size is None:
            raise CorpusError(f"{file.path}: the file is a pipe or a device; expected a file, which can be read again")
        whole = Source(
            str(file.path.absolute()), file.size, file.path.stat().st_mtime_ns, file.size, ends=digest_of_ends(file)
        )
        by_line = file.kind in ("jsonl", "json") or (file.kind == "text" and policy.document == "line")
        if file.size <= policy.part_size or file.is_packed or not (by_line or file.kind == "parquet"):
            yield whole
            continue
        start, done = 0, 0
        for stop, position in _cuts(file.path, file.size, policy.part_size, file.kind == "parquet"):
            yield replace(whole, read=position - done, start=start, stop=stop)
            start, done = stop, position
        yield replace(whole, read=file.size - done, start=start)


def _cuts(path: FilePath, size: int, most: int, is_parquet: bool) -> Iterator[tuple[int, int]]:
    if is_parquet:
        return row_group_cuts(path, 0, size, most)
    return ((cut, cut) for cut in line_cuts(path, 0, size, most))
