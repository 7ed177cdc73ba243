"""Write one part of a plan: read its files, encode their documents, and publish its files and then its record."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial, reduce
from itertools import compress
from pathlib import Path
from typing import Any, TypeAlias

from ..core.image import checksum
from ..errors import CorpusError
from ..files import write_atomic
from ..lazy import np, npt
from ..records import asdict, dataclass, field, fields
from ..text import counted
from .documents import DocumentEncoder, EncodedDocuments
from .formats import Columns, Keys, Lengths, Masks, Writer
from .outputs import Output, Outputs, outputs
from .plan import ShardPlan, Source
from .policy import ShardPolicy

#: Lines that cannot be read that a record lists.
_LISTED = 1000
_MOST_IDS = (1 << 31) - 1
#: Called with the bytes of input that are done.
Report: TypeAlias = Callable[[int], object]


@dataclass(frozen=True)
class Totals:
    """The totals of what some parts have read and written.

    `records` were read: `documents` that were written, `empty` ones that were left out, `null` ones without a text,
    and `refused` ones that cannot be read.  `input` is the bytes of files that were read, `text` those of all texts,
    and `tokens` the ids that were written.  `unknown` of these are the unknown token, for text that the vocabulary
    lacks.  Of a mixture, `left` documents were not chosen, and `repeated` are there again; `text` is 0 if it has some
    documents of a source, as shards do not have the bytes of each.
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
    left: int = 0
    repeated: int = 0

    def __add__(self, other: Totals) -> Totals:
        return Totals(**{name.name: getattr(self, name.name) + getattr(other, name.name) for name in fields(Totals)})

    def __str__(self) -> str:
        documents, tokens = counted(self.documents, "document"), counted(self.tokens, "token")
        text = f" of {counted(self.text, 'byte')} of text" if self.text or not self.tokens else ""
        parts = [f"{documents}, {tokens}{text}"]
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
        mixed: For each source of a mixture, the documents and tokens that are taken, and those that it has; they are in
            the record of the first part.
    """

    part: int = 0
    plan: str = ""
    files: dict[str, dict[str, Any]] = field(default_factory=dict)
    skipped: list[dict[str, Any]] = field(default_factory=list)
    sources: list[int] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    mixed: list[list[int]] = field(default_factory=list)

    @property
    def totals(self) -> Totals:
        """The totals alone."""
        return Totals(**{name.name: getattr(self, name.name) for name in fields(Totals)})


def record_path(plan: ShardPlan, number: int) -> Path:
    """Return the path of the record of a part, whose presence means that the part is done."""
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


def write_part(plan: ShardPlan, number: int, *, threads: int = 1, report: Report = lambda read: None) -> PartRecord:
    """Write a part unless it is done, and return its record.  Anyone may do it, and twice: the bytes are the same."""
    number = plan.check_part(number)
    record = read_record(plan, number)
    if record is not None:
        report(record.input)
        return record
    plan.check_stored()
    try:
        record = encode_part(plan, number, plan.stem(number), threads=threads, report=report)
        plan.check_stored()
        write_record(plan, record)
    except FileNotFoundError:
        # another run has done the part meanwhile, and in the end removed what looked like the rest of a killed one
        record = read_record(plan, number)
        if record is None:
            raise
    return record


def encode_part(plan: ShardPlan, number: int, stem: Path, *, threads: int, report: Report) -> PartRecord:
    """Write the files of a part under any name, and return its record, which is not written."""
    if plan.policy.moved:
        how = plan.policy.moved
        raise CorpusError(f"{plan.folder}: the documents were {how} when shards were merged; merge them again")
    with outputs(stem) as files:
        part = _Part(plan, files, threads, report)
        for source in plan.parts[number]:
            part.read(source)
        totals = part.finish()
        published = files.publish()
    details: Any = {"files": published, "skipped": part.skipped, "sources": part.sources, "texts": part.texts}
    return PartRecord(**asdict(totals), part=number, plan=plan.digest, **details)


def write_record(plan: ShardPlan, record: PartRecord) -> None:
    """Write the record of a part, which makes it done."""
    write_atomic(record_path(plan, record.part), json.dumps(asdict(record), indent=1).encode())


def check_texts(plan: ShardPlan, touched: set[str]) -> None:
    """Check that files with another time of change have the texts that parts which are done have read of them.

    It reads these files again, and encodes nothing.  Raises `CorpusError` naming the file.
    """
    documents = DocumentEncoder(plan.tokenizer, plan.policy)
    refuse = (lambda *_: None) if plan.policy.on_error == "skip" else None
    for number, sources in enumerate(plan.parts):
        record = read_record(plan, number) if touched & {source.path for source in sources} else None
        for source, known in zip(sources, [] if record is None else record.texts, strict=record is not None):
            if source.path not in touched:
                continue
            digest = reduce(_joined, documents.digests(source, refuse), 0)
            if f"{digest:016x}" != known:
                changed = f"the file was written to since part {number} was made, which has other texts of it"
                raise CorpusError(f"{source.path}: {changed}; use another folder")


def _joined(digest: int, other: int) -> int:
    return checksum(b"%d %d" % (digest, other))


class PartFiles:
    """The files of ids of one part, and its `.lens`, the lengths of documents as int32 whatever the format."""

    def __init__(self, policy: ShardPolicy, name: str | None, files: Outputs) -> None:
        self._columns = Columns(policy.id_field is not None, policy.messages_field is not None)
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

    def finish(self) -> None:
        """Write what follows all documents."""
        self._writer.finish(lambda: (np.frombuffer(block, "<i4") for block in self._lens.blocks()))


class _Part:
    """One part that is being written."""

    def __init__(self, plan: ShardPlan, files: Outputs, threads: int, report: Report) -> None:
        self._policy = plan.policy
        self.files = PartFiles(plan.policy, plan.tokenizer.name, files)
        self._documents = DocumentEncoder(plan.tokenizer, plan.policy)
        self._threads, self._report, self._totals = threads, report, Totals()
        self.skipped: list[dict[str, Any]] = []
        self.sources: list[int] = []
        self.texts: list[str] = []

    def read(self, source: Source) -> None:
        """Write the documents of a source."""
        refuse = partial(self._refuse, source.path) if self._policy.on_error == "skip" else None
        before, digest = self._totals.documents, 0
        for piece in self._documents.pieces(source, self._threads, refuse):
            self._put(piece, source.path)
            self._report(piece.read)
            digest = digest if piece.digest is None else _joined(digest, piece.digest)
        self.sources.append(self._totals.documents - before)
        self.texts.append(f"{digest:016x}")

    def _put(self, piece: EncodedDocuments, path: str) -> None:
        """Write documents, but for empty ones that are left out."""
        lengths, count = piece.lengths, len(piece.lengths)
        if count and lengths.max() > _MOST_IDS:
            longest = counted(int(lengths.max()), "token")
            raise CorpusError(f"{path}: a document has {longest}; expected at most {_MOST_IDS:,}")
        tokens = int(lengths.sum())
        keys = piece.keys
        if self._policy.empty == "skip":
            keys = None if keys is None else list(compress(keys, (lengths > 0).tolist()))
            lengths = lengths[lengths > 0]
        self.files.add(piece.ids, lengths, path, keys, piece.masks)
        self._totals += Totals(
            records=count + piece.null, documents=len(lengths), empty=count - len(lengths), null=piece.null,
            input=piece.read, text=piece.text, tokens=tokens, unknown=piece.unknown,
        )  # fmt: skip

    def _refuse(self, path: str, error: CorpusError, line: int) -> None:
        self._totals += Totals(records=1, refused=1)
        if len(self.skipped) < _LISTED:
            self.skipped.append({"file": path, "line": line, "error": str(error)})

    def finish(self) -> Totals:
        """Write what follows all documents, and return what there was."""
        self.files.finish()
        return self._totals
