"""Write one part of a plan: read its files, encode their documents, and publish its files and then its record."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from functools import partial, reduce
from itertools import compress
from pathlib import Path
from typing import Any, TypeAlias

from ..core.image import checksum
from ..corpus.records import Refuse
from ..errors import CorpusError
from ..files import write_atomic
from ..lazy import np, npt
from ..records import asdict, dataclass, field, fields
from ..text import counted
from .documents import DocumentEncoder, EncodedDocuments
from .formats import Columns, Keys, Lengths, Masks, Writer
from .ids import IdDocuments, count_of_ids
from .outputs import Output, Outputs, outputs, size_fault
from .plan import ShardPlan, Source
from .policy import ShardPolicy
from .retokenizer import RetokenizedDocuments
from .state import forget_failure, note_failure

_ITERATE = "call bbpe.shard_from_iterator for a new folder"
#: Lines that cannot be read that a record lists.
_LISTED = 1000
_MOST_IDS = (1 << 31) - 1
#: Numbers of records take four bytes.
_MOST_RECORDS = 1 << 32
#: The suffixes of the files with the numbers of records of documents, and with those of their sources and records.
ROWS, FROM = ".rows", ".from"
#: Numbers that are made at once.
_BLOCK = 1 << 16
#: Called with the bytes of input that are done.
Report: TypeAlias = Callable[[int], object]


@dataclass(frozen=True)
class Totals:
    """The totals of what some parts have read and written.

    `records` were read: `documents` that were written, `empty` ones that were left out, `null` ones without a text,
    and `refused` ones that cannot be read.  `input` is the bytes of files that were read, `text` those of all texts,
    and `tokens` the ids that were written.  `unknown` of these are the unknown token, for text that the vocabulary
    lacks.  `not_canonical` of `checked` documents of ids have others than those by which the old vocabulary encodes
    their bytes.  Of a mixture, `left` documents were not chosen, and `repeated` are there again; `text` is 0 if it has
    some documents of a source, as shards do not have the bytes of each.
    """

    records: int = 0
    documents: int = 0
    empty: int = 0
    null: int = 0
    refused: int = 0
    input: int = 0
    text: int = 0
    tokens: int = 0
    unknown: int = 0
    checked: int = 0
    not_canonical: int = 0
    left: int = 0
    repeated: int = 0

    def __add__(self, other: Totals) -> Totals:
        return Totals(**{name.name: getattr(self, name.name) + getattr(other, name.name) for name in fields(Totals)})

    def __str__(self) -> str:
        documents, tokens = counted(self.documents, "document"), counted(self.tokens, "token")
        # what ids spell is not known where they are copied
        of_text = f" of {counted(self.text, 'byte')} of text" if self.text or not self.tokens else ""
        parts = [f"{documents}, {tokens}{of_text}"]
        for number, what, more in (
            (self.unknown, "unknown token", ""),
            (self.empty, "empty document", " left out"),
            (self.null, "record", " without text"),
            (self.refused, "record", " that cannot be read"),
            (self.left, "document", " not chosen"),
            (self.repeated, "document", " repeated"),
        ):
            if number:
                parts.append(counted(number, what) + more)
        if self.checked:
            checked = counted(self.checked, "document")
            parts.append(f"{self.not_canonical:,} of {checked} that were checked had ids that are not canonical")
        return "; ".join(parts)


@dataclass(frozen=True)
class PartRecord(Totals):
    """The record of a part.

    Attributes:
        part: Its number.
        plan: The digest of the plan.
        files: Its files with their sizes and digests.
        skipped: The first lines that were left out.
        sources: How many documents come from each of its sources.
        texts: The digest of the texts that were read of each source; merged shards have none.
        rows: How many records each of its sources has, those without a document too.  Of shards that merging has
            shuffled or divided, the first part has them, for all sources of the plan.
        mixed: For each source of a mixture, the documents and tokens that are taken, and those that it has; they are in
            the record of the first part.
    """

    part: int = 0
    plan: str = ""
    files: dict[str, dict[str, Any]] = field(default_factory=dict)
    skipped: list[dict[str, Any]] = field(default_factory=list)
    sources: list[int] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    rows: list[int] = field(default_factory=list)
    mixed: list[list[int]] = field(default_factory=list)

    @property
    def totals(self) -> Totals:
        """The totals alone."""
        return Totals(**{name.name: getattr(self, name.name) for name in fields(Totals)})


def record_path(plan: ShardPlan, number: int) -> Path:
    """Return the path of the record of a part, whose presence means that all files of the part were written."""
    stem = plan.stem(number)
    return stem.with_name(stem.name + ".json")


def read_record(plan: ShardPlan, number: int) -> PartRecord | None:
    """Return the record of a part; `None` when it is not done.

    Raises `CorpusError` naming the file when it is damaged or of another plan.
    """
    path = record_path(plan, number)
    try:
        record = PartRecord(**json.loads(path.read_bytes()))
    except FileNotFoundError:
        return None
    except (ValueError, TypeError) as error:
        raise CorpusError(f"{path}: expected the record of a part: {error}") from error
    if (record.part, record.plan) != (number, plan.digest):
        raise CorpusError(f"{path}: the record is of another plan; use another folder")
    return record


def lost_file(plan: ShardPlan, record: PartRecord) -> str:
    """Return what is wrong with the first file of a part that is gone or has another size; empty if none is."""
    faults = (size_fault(plan.folder / name, known["size"]) for name, known in record.files.items())
    return next(filter(None, faults), "")


def finished_part(plan: ShardPlan, number: int) -> PartRecord | None:
    """Return the record of a part; `None` when it is to be written, also where a file of it is gone or cut off."""
    record = read_record(plan, number)
    return None if record is None or lost_file(plan, record) else record


def write_part(plan: ShardPlan, number: int, *, threads: int = 1, report: Report = lambda read: None) -> PartRecord:
    """Write a part unless it is done, and return its record.  Anyone may do it, and twice: the bytes are the same."""
    number = plan.check_part(number)
    record = finished_part(plan, number)
    if record is not None:
        report(record.input)
        return record
    plan.check_stored()
    stem = plan.stem(number)
    try:
        record = encode_part(plan, number, stem, threads=threads, report=report)
        plan.check_stored()
        write_record(plan, record)
    except Exception as error:
        if isinstance(error, FileNotFoundError) and (done := finished_part(plan, number)) is not None:
            # another run has done the part meanwhile, and in the end removed what looked like the rest of a killed one
            return done
        if finished_part(plan, number) is None:
            note_failure(stem, plan.digest, number, error)
        raise
    forget_failure(stem)
    return record


def encode_part(plan: ShardPlan, number: int, stem: Path, *, threads: int, report: Report) -> PartRecord:
    """Write the files of a part under any name, and return its record, which is not written."""
    if plan.policy.moved:
        how = plan.policy.moved
        raise CorpusError(f"{plan.folder}: the documents were {how} when shards were merged; merge them again")
    if plan.is_iterated:
        raise CorpusError(f"{plan.folder}: the documents are of an iterator, which cannot be read again; {_ITERATE}")
    with outputs(stem, partial(expected_ids, plan, number)) as files:
        part = PartWriter(plan, files, threads, report)
        for source, run in zip(plan.parts[number], runs_of(plan.parts[number]), strict=True):
            part.read(source, run)
        totals = part.finish()
        published = files.publish()
    return PartRecord(**asdict(totals), part=number, plan=plan.digest, files=published, **part.details())


def expected_ids(plan: ShardPlan, number: int) -> int | None:
    """Return how many ids a part has; `None` where only reading it says so."""
    if plan.policy.reading is None or plan.policy.old is not None:
        return None
    return count_of_ids(plan.parts[number], plan.policy.reading)


def write_record(plan: ShardPlan, record: PartRecord) -> None:
    """Write the record of a part, which makes it done."""
    write_atomic(record_path(plan, record.part), json.dumps(asdict(record), indent=1).encode())


def check_texts(plan: ShardPlan, touched: set[str]) -> None:
    """Check that files with another time of change have the texts or ids that parts which are done have read of them.

    It reads these files again, and encodes nothing.  Raises `CorpusError` naming the file.
    """
    documents, what = documents_of(plan), "ids" if plan.policy.reading is not None else "texts"
    refuse = (lambda *_: None) if plan.policy.on_error == "skip" else None
    for number, sources in enumerate(plan.parts):
        record = read_record(plan, number) if touched & {source.path for source in sources} else None
        for source, known in zip(sources, [] if record is None else record.texts, strict=record is not None):
            if source.path not in touched:
                continue
            digest = reduce(_joined, documents.digests(source, refuse), 0)
            if f"{digest:016x}" != known:
                changed = f"the file was written to since part {number} was made, which has other {what} of it"
                raise CorpusError(f"{source.path}: {changed}; use another folder")


def documents_of(plan: ShardPlan) -> DocumentEncoder | IdDocuments:
    """Return what reads the documents of a plan, and makes them as files have them."""
    if plan.policy.old is not None:
        return RetokenizedDocuments(plan.policy, plan.old_tokenizer, plan.tokenizer)
    if plan.policy.reading is not None:
        return IdDocuments(plan.policy, plan.policy.reading)
    return DocumentEncoder(plan.tokenizer, plan.policy)


def _joined(digest: int, other: int) -> int:
    return checksum(b"%d %d" % (digest, other))


def runs_of(sources: Sequence[Source]) -> list[int]:
    """Return the number of the first source of the run that each source is in: ranges that follow in one file."""
    runs: list[int] = []
    for number, source in enumerate(sources):
        before = sources[number - 1] if number else None
        goes_on = before is not None and source.start and (source.path, source.start) == (before.path, before.stop)
        runs.append(runs[-1] if goes_on else number)
    return runs


class _Rows:
    """The `.rows` of a part: the number of the record of each document in its run of sources (`runs_of`), as uint32.

    There is none where documents are all records up to the last document of each run: document i is record i.  So it
    begins with the first document for which that is wrong.
    """

    def __init__(self, files: Outputs) -> None:
        self._files, self._run, self._counts = files, -1, [0]
        self._output: Output | None = None

    def add(self, run: int, rows: Lengths, path: str) -> None:
        """Append the numbers of some documents, which increase in a run."""
        if not len(rows):
            return
        if run != self._run:
            self._run = run
            self._counts.append(0)
        last = int(rows[-1])
        if last >= _MOST_RECORDS:
            problem = f"record {last:,} has a document; expected fewer than {_MOST_RECORDS:,} of a file in a part"
            raise CorpusError(f"{path}: {problem}: divide the file, or give a smaller part_size=")
        self._counts[-1] += len(rows)
        if self._output is None:
            if last == self._counts[-1] - 1:
                return
            self._output = self._files.open(ROWS)
            self._counts[-1] -= len(rows)
            for count in self._counts:
                for first in range(0, count, _BLOCK):
                    self._output.write(np.arange(first, min(first + _BLOCK, count), dtype="<u4").tobytes())
        self._output.write(rows.astype("<u4").tobytes())


class PartFiles:
    """The files of ids of one part, and its `.lens`, the lengths of documents as int32 whatever the format.

    `rows` is for the numbers of records of documents, `origins` for those of sources and records where merging has
    moved documents to other parts.
    """

    def __init__(self, policy: ShardPolicy, name: str | None, files: Outputs) -> None:
        self.rows, self._files = _Rows(files), files
        self._columns = Columns(policy.id_field is not None, policy.has_masks)
        self._writer: Writer = policy.files.writer(files, policy.dtype, name or "", self._columns)
        self._lens: Output = files.open(".lens")

    def add(
        self, ids: npt.NDArray[np.uint8], lengths: Lengths, source: str, keys: Keys = None, masks: Masks = None
    ) -> None:
        """Append ids, and end documents; `keys` are their ids in the corpus, which plain text has not."""
        if len(ids):
            self._writer.add(ids, masks)
        if len(lengths):
            self._writer.end(lengths, source, keys if keys or not self._columns.keys else [""] * len(lengths))
            self._lens.write(lengths.astype("<i4").tobytes())

    def come_from(self, origins: npt.NDArray[np.uint32]) -> None:
        """Append the number of the source of each document, and that of its record in the source."""
        output = self._files.files.get(FROM) or self._files.open(FROM)
        output.write(origins.astype("<u4").tobytes())

    def finish(self) -> None:
        """Write what follows all documents."""
        self._writer.finish(lambda: (np.frombuffer(block, "<i4") for block in self._lens.blocks()))


class PartWriter:
    """One part that is being written."""

    def __init__(self, plan: ShardPlan, files: Outputs, threads: int, report: Report) -> None:
        self._policy = plan.policy
        self.files = PartFiles(plan.policy, plan.identity["name"], files)
        self.documents, self.threads = documents_of(plan), threads
        self._report, self._totals, self._path = report, Totals(), ""
        #: Whether an id alone tells where documents end; ids of documents are checked where they are read.
        self._has_marks = not plan.policy.files.has_boundaries and plan.policy.reading is None
        self._marks = 0
        self.skipped: list[dict[str, Any]] = []
        self.sources: list[int] = []
        self.texts: list[str] = []
        self.rows: list[int] = []

    @property
    def totals(self) -> Totals:
        """What was read and written so far."""
        return self._totals

    def read(self, source: Source, run: int) -> None:
        """Write the documents of a source of a run (`runs_of`)."""
        self._path = source.path
        self.write(self.documents.pieces(source, self.threads, self.refuse), source, run)

    def write(self, pieces: Iterable[EncodedDocuments], source: Source, run: int) -> None:
        """Write the documents of a source that are encoded."""
        before, digest = self._totals, 0
        in_run = sum(self.rows[run:])
        for piece in pieces:
            rows = piece.rows
            if rows is None:
                first = self._totals.records - before.records
                rows = np.arange(first, first + len(piece.lengths), dtype=np.int64)
            self._put(piece, source.path, run, in_run + rows)
            self._report(piece.read)
            digest = digest if piece.digest is None else _joined(digest, piece.digest)
        self.sources.append(self._totals.documents - before.documents)
        self.rows.append(self._totals.records - before.records)
        self.texts.append(f"{digest:016x}")

    def _put(self, piece: EncodedDocuments, path: str, run: int, rows: Lengths) -> None:
        """Write documents, but for empty ones that are left out."""
        lengths, count = piece.lengths, len(piece.lengths)
        if count and lengths.max() > _MOST_IDS:
            longest = counted(int(lengths.max()), "token")
            raise CorpusError(f"{path}: a document has {longest}; expected at most {_MOST_IDS:,}")
        tokens = int(lengths.sum())
        if self._has_marks:
            self._check_marks(piece, path)
        keys = piece.keys
        if self._policy.empty == "skip":
            keys = None if keys is None else list(compress(keys, (lengths > 0).tolist()))
            lengths, rows = lengths[lengths > 0], rows[lengths > 0]
        self.files.rows.add(run, rows, path)
        self.files.add(piece.ids, lengths, path, keys, piece.masks)
        self._totals += Totals(
            records=count + piece.null, documents=len(lengths), empty=count - len(lengths), null=piece.null,
            input=piece.read, text=piece.text, tokens=tokens, unknown=piece.unknown, checked=piece.checked,
            not_canonical=piece.not_canonical,
        )  # fmt: skip

    def _check_marks(self, piece: EncodedDocuments, path: str) -> None:
        """Raise `CorpusError` when a text has the token in it that alone tells where documents end.

        Of a text in several pieces only the last one has the length.
        """
        policy = self._policy
        name, mark = ("bos", policy.bos) if policy.eos is None else ("eos", policy.eos)
        self._marks += int(np.count_nonzero(piece.ids.view(policy.dtype) == mark) - np.count_nonzero(piece.lengths))
        if self._marks and len(piece.lengths):
            first = self._totals.documents
            raise CorpusError(
                f"{path or 'iterator'}: document {first} of the part, or one after it, has {name}, {mark}, within its "
                f"text; the format {policy.format!r} would end it there: choose one with boundaries, such as 'megatron'"
            )

    @property
    def refuse(self) -> Refuse | None:
        """Takes records that cannot be read; `None` where they end the run."""
        return self._refuse if self._policy.on_error == "skip" else None

    def _refuse(self, error: CorpusError, line: int) -> None:
        self._totals += Totals(records=1, refused=1)
        if len(self.skipped) < _LISTED:
            self.skipped.append({"file": self._path, "line": line, "error": str(error)})

    def details(self) -> dict[str, Any]:
        """Return what the record of the part has beside totals and files."""
        return {name: getattr(self, name) for name in ("skipped", "sources", "texts", "rows")}

    def finish(self) -> Totals:
        """Write what follows all documents, and return what there was."""
        self.files.finish()
        return self._totals
