"""Write one part of a plan: read its files, encode their documents, and publish its files and then its record."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field, fields
from functools import partial
from itertools import chain, pairwise
from pathlib import Path
from typing import Any, TypeAlias

from ..core.documents import Layout
from ..corpus.opened import Buffers
from ..corpus.sources import Reading, Texts
from ..encoding.engine import TextEncoder
from ..encoding.file_ids import FileEncoder
from ..encoding.rule_encoder import RuleEncoder
from ..errors import CorpusError
from ..files import write_atomic
from ..lazy import np, npt
from ..pipeline.special_tokens import Matcher, Selection
from ..text import Text
from ..threads import imap
from .formats import Lengths, Writer
from .formats.format import BLOCK as LENGTHS
from .outputs import Output, Outputs, outputs
from .plan import ShardPlan, Source

#: The bytes of text that are encoded at once.
_BLOCK = 1 << 20
#: Lines that cannot be read that a record lists.
_LISTED = 1000
_MOST_IDS = (1 << 31) - 1
#: Called with the bytes of input that are done.
Report: TypeAlias = Callable[[int], object]


@dataclass(frozen=True)
class Totals:
    """What some parts have read and written.

    `records` were read: `documents` that were written, `empty` ones that were left out, `null` ones without a text,
    and `refused` ones that cannot be read.  `input` is the bytes of files that were read, `text` those of all texts,
    and `tokens` the ids that were written.
    """

    records: int = 0
    documents: int = 0
    empty: int = 0
    null: int = 0
    refused: int = 0
    input: int = 0
    text: int = 0
    tokens: int = 0

    def __add__(self, other: Totals) -> Totals:
        return Totals(**{name.name: getattr(self, name.name) + getattr(other, name.name) for name in fields(Totals)})

    def __str__(self) -> str:
        parts = [f"{self.documents:,} documents, {self.tokens:,} tokens of {self.text:,} bytes of text"]
        for number, what in (
            (self.empty, "empty documents left out"),
            (self.null, "records without text"),
            (self.refused, "records that cannot be read"),
        ):
            if number:
                parts.append(f"{number:,} {what}")
        return "; ".join(parts)


@dataclass(frozen=True)
class PartRecord(Totals):
    """What a part has: its totals, its files with their sizes and digests, and the lines that were left out."""

    part: int = 0
    plan: str = ""
    files: dict[str, dict[str, Any]] = field(default_factory=dict)
    skipped: list[dict[str, Any]] = field(default_factory=list)

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
    plan.check_part(number)
    done = read_record(plan, number)
    if done is not None:
        report(done.input)
        return done
    with outputs(plan.stem(number)) as files:
        part = _Part(plan, files, threads, report)
        for source in plan.parts[number]:
            part.read(source)
        totals = part.finish()
        published = files.publish()
    record = PartRecord(**asdict(totals), part=number, plan=plan.digest, files=published, skipped=part.skipped)
    write_atomic(record_path(plan, number), json.dumps(asdict(record), indent=1).encode())
    return record


class _Part:
    """One part that is being written."""

    def __init__(self, plan: ShardPlan, files: Outputs, threads: int, report: Report) -> None:
        policy = self._policy = plan.policy
        self._writer: Writer = policy.files.writer(files, policy.dtype, plan.tokenizer.name or "")
        self._lens: Output = files.open(".lens")
        self._documents = DocumentEncoder(plan)
        self._threads, self._report = threads, report
        self._buffers, self._totals = Buffers(_BLOCK), Totals()
        self._lengths: list[npt.NDArray[np.int32]] = []
        self.skipped: list[dict[str, Any]] = []

    def read(self, source: Source) -> None:
        """Write the documents of a source."""
        file = source.file(self._policy)
        refuse = partial(self._refuse, source.path) if self._policy.on_error == "skip" else None
        policy, read = self._policy, 0
        reading = Reading(policy.text_field, _BLOCK, policy.input_format)
        events = reading.texts(file, start=source.start, stop=source.stop, buffers=self._buffers, refuse=refuse)
        if file.kind == "text" and policy.document == "file":
            self._one(self._documents.parts(events), source)
        else:
            blocks = _by_line(events) if file.kind == "text" else events
            for event, (ids, lengths) in imap(self._documents.encoded, blocks, self._threads):
                self._totals += Totals(null=event.skipped, records=event.skipped)
                self._put(ids, lengths, len(event.data), source.path)
                if file.kind != "parquet" and event.read > source.start + read:
                    step = min(event.read - source.start, source.read) - read
                    self._report(step)
                    read += step
        source.file(policy)
        self._report(source.read - read)
        self._totals += Totals(input=source.read)

    def _one(self, parts: Iterator[tuple[npt.NDArray[np.uint8], int, int]], source: Source) -> None:
        """Write a document whose ids come in parts."""
        length = size = 0
        for ids, count, text in parts:
            self._writer.add(ids)
            length, size = length + count, size + text
        self._put(np.empty(0, np.uint8), np.array([length], np.int64), size, source.path)

    def _put(self, ids: npt.NDArray[np.uint8], lengths: Lengths, size: int, path: str) -> None:
        """Write whole documents, but for empty ones that are left out."""
        count, tokens = len(lengths), int(lengths.sum())
        if count and lengths.max() > _MOST_IDS:
            raise CorpusError(f"{path}: a document has {lengths.max()} tokens; expected at most {_MOST_IDS}")
        if len(ids):
            self._writer.add(ids)
        if self._policy.empty == "skip":
            lengths = lengths[lengths > 0]
        if len(lengths):
            self._writer.end(lengths, path)
            narrow = lengths.astype(np.int32)
            self._lengths.append(narrow)
            self._lens.write(narrow.tobytes())
        self._totals += Totals(
            records=count, documents=len(lengths), empty=count - len(lengths), text=size, tokens=tokens
        )

    def _refuse(self, path: str, error: CorpusError, line: int) -> None:
        self._totals += Totals(records=1, refused=1)
        if len(self.skipped) < _LISTED:
            self.skipped.append({"file": path, "line": line, "error": str(error)})

    def finish(self) -> Totals:
        """Write what follows all documents, and return what there was."""
        held = np.concatenate([np.empty(0, np.int32), *self._lengths])
        self._writer.finish(lambda: (held[at : at + LENGTHS] for at in range(0, len(held), LENGTHS)))
        return self._totals


class DocumentEncoder:
    """Encodes documents as a plan has them."""

    def __init__(self, plan: ShardPlan) -> None:
        tokenizer, policy = plan.tokenizer, plan.policy
        self._layout: Layout = policy.layout
        self._bare = Layout((), (), self._layout.id_size)
        self._policy = policy
        self._encoder: TextEncoder = tokenizer._encoder
        allowed = policy.allowed_special
        selected: Selection = allowed if isinstance(allowed, str) else set(allowed)
        self._matcher: Matcher | None = tokenizer._specials.matcher(selected)
        self._is_plain = (
            self._matcher is None and not isinstance(self._encoder, RuleEncoder)
            and self._encoder.splitter.compiled is not None
        )  # fmt: skip
        self._files = FileEncoder(self._encoder, self._matcher, tokenizer._specials.texts)

    def encoded(self, event: Texts) -> tuple[Texts, tuple[npt.NDArray[np.uint8], Lengths]]:
        """Return whole texts, and their ids as files have them with the number of ids of each."""
        assert event.ends is not None
        if self._is_plain:
            return event, self._layout.encode(self._encoder.encoder, event.data, event.ends)
        view = memoryview(event.data)
        texts: list[Text] = [bytes(view[start:end]) for start, end in pairwise([0, *event.ends.tolist()])]
        rows = self._encoder.rows(texts, self._matcher, 1)
        return event, self._layout.place(rows.ids, rows.offsets)

    def parts(self, events: Iterator[Texts]) -> Iterator[tuple[npt.NDArray[np.uint8], int, int]]:
        """Yield the ids of one text that comes in blocks, their number, and the bytes of text read meanwhile."""
        read = 0

        def counted() -> Iterator[Texts]:
            nonlocal read
            for event in events:
                read += len(event.data)
                yield event

        found = (ids for ids in self._files.parts(counted()) if len(ids))
        first = next(found, None)
        if first is not None:
            yield self._around(self._policy.bos)
            for ids in chain([first], found):
                yield self._bare.place(ids, np.array([0, len(ids)], np.int64))[0], len(ids), 0
            yield self._around(self._policy.eos)
        yield np.empty(0, np.uint8), 0, read

    def _around(self, token: int | None) -> tuple[npt.NDArray[np.uint8], int, int]:
        ids = np.array([] if token is None else [token], np.uint32)
        return self._bare.place(ids, np.array([0, len(ids)], np.int64))[0], len(ids), 0


def _by_line(events: Iterator[Texts]) -> Iterator[Texts]:
    """Yield the lines of a text, each with its end, as whole texts."""
    held = b""
    for event in events:
        data = held + bytes(event.data)
        cut = len(data) if event.last else data.rfind(b"\n") + 1
        held = data[cut:]
        whole = data[:cut]
        ends = np.flatnonzero(np.frombuffer(whole, np.uint8) == 0x0A).astype(np.int64) + 1
        if len(whole) and not whole.endswith(b"\n"):
            ends = np.append(ends, np.int64(len(whole)))
        yield Texts(whole, ends, read=event.read)
