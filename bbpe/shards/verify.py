"""Check shards: that files are whole, that they fit together, and that encoding again gives them."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

from ..corpus.urls import path_of
from ..counting.options import Report, check_share, reporting
from ..errors import BBPEError, CorpusError
from ..files import temporary_folder
from ..lazy import np
from ..progress import Progress
from ..records import asdict, dataclass, field, whole
from ..text import counted, first_few, sized
from ..tokenizer import Tokenizer, checked_tokenizer
from .load import MANIFEST, Folder, load_shards, stored_plan
from .open_parts import read_masks, read_part
from .origins import origin_faults
from .outputs import digest_of, size_fault
from .part import PartRecord, encode_part, read_record, record_path
from .plan import ShardPlan, Source, stored_tokenizer
from .retokenizer import RetokenizedDocuments
from .run import SKIPPED, sums_of
from .state import numbers_text
from .status import command_again, command_finish

#: Parts that a text names.
_SHOWN = 10


@dataclass
class Checked:
    """What was looked at.

    Attributes:
        parts: How many parts have a record.
        files: How many files of theirs were read.
        bytes: The bytes of these files.
        again: The parts that were encoded again.
    """

    parts: int = 0
    files: int = 0
    bytes: int = 0
    again: list[int] = field(default_factory=list)

    def __str__(self) -> str:
        parts, files = counted(self.parts, "part"), counted(self.files, "file")
        name = "part" if len(self.again) == 1 else "parts"
        again = f"{name} {first_few([*map(str, self.again)], _SHOWN)}" if self.again else "no part"
        return f"{parts}, {files}, {sized(self.bytes)}; {again} encoded again"


@dataclass
class Verified:
    """What looking for faults has found.

    Attributes:
        faults: A text for each fault.
        repairs: For each fault the command that writes its parts or their sums again, empty where these are not at
            fault, or the tokenizer that it needs is gone.
        repair: One command that does it for all faults, and sums the parts up again.
        checked: What was looked at.
    """

    faults: list[str] = field(default_factory=list)
    repairs: list[str] = field(default_factory=list)
    repair: str = ""
    checked: Checked = field(default_factory=Checked)


def verify_shards(
    folder: Folder, tokenizer: Tokenizer | None = None, *, sample: float = 0.001, seed: int = 0,
    progress: bool | Report | None = None,
) -> list[str]:  # fmt: skip
    """Look for faults in shards.

    All files are read: their sizes and digests, whether the lists of documents agree with the ids, whether the numbers
    of records that documents come from may be right, whether every document and byte of the corpus is accounted for,
    whether the sums in `manifest.json` are those of the parts, and whether the tokenizer is that of the plan.  Some
    parts are encoded again, and must have equal bytes.  What `retokenize` wrote is also decoded there, and must have
    the bytes of its source, if the new tokenizer keeps bytes.

    Args:
        folder: The folder that `shard` wrote, its plan, or the shards.
        tokenizer: The tokenizer that should have written them, if that is to be checked.
        sample: The share of parts to encode again, at least one part; this needs the corpus. 0 encodes none, for
            machines without the corpus. Shuffled or divided parts, and parts of an iterator, cannot be encoded again;
            all else is checked.
        seed: Chooses these parts.
        progress: True for a bar on stderr, or a function that is called with `bbpe.progress.Progress`.

    Returns:
        The faults; none if all is well.  `bbpe shards verify` also prints what it checked, and the command that
        repairs.

    Raises:
        CorpusError: There is no readable plan.
        OSError: A file cannot be read.
        ValueError: `sample` is out of range.
        TypeError: An argument has the wrong type.

    Example:
        >>> from pathlib import Path
        >>> from tempfile import TemporaryDirectory
        >>> tok = bbpe.train_from_iterator(["low lower"], 258)
        >>> with TemporaryDirectory() as folder:
        ...     _ = Path(folder, "a.jsonl").write_text('{"text": "low"}')
        ...     _ = bbpe.shard(folder + "/a.jsonl", folder + "/out", tok)
        ...     bbpe.verify_shards(folder + "/out")
        []

    """
    return verified(folder, tokenizer, sample=sample, seed=seed, progress=progress).faults


def verified(
    folder: Folder, tokenizer: Tokenizer | None, *, sample: float, seed: int, progress: bool | Report | None = None
) -> Verified:
    """Return the faults with what repairs them, and what was looked at."""
    sample, seed = check_share("sample", sample, or_none=True), whole("seed", seed)
    if tokenizer is not None:
        checked_tokenizer(tokenizer)
    plan = stored_plan(folder)
    found = Verified()
    wrong: set[int] = set()
    records: list[PartRecord] = []
    lost = list(_tokenizer_faults(plan))
    with reporting(progress) as report:
        found.faults, found.repairs = [*lost], [""] * len(lost)
        for numbers, fault in _faults(plan, tokenizer, 0 if lost else sample, seed, found.checked, records, report):
            found.faults.append(fault)
            found.repairs.append(_repair(plan, numbers) if numbers and not lost else "")
            wrong.update(numbers)
    if wrong and not lost and (again := _repair(plan, sorted(wrong))):
        found.repair = f"{again} && {command_finish(plan)}"
    for fault, repair in _sum_faults(plan, records, are_right=not wrong):
        found.faults.append(fault)
        found.repairs.append(repair)
        found.repair = found.repair or repair
    return found


def _repair(plan: ShardPlan, numbers: list[int]) -> str:
    """Return the command that writes parts again; their records, which say that they are done, are removed first."""
    return command_again(plan, numbers, [number for number in numbers if record_path(plan, number).exists()])


def _faults(
    plan: ShardPlan, tokenizer: Tokenizer | None, sample: float, seed: int, checked: Checked,
    records: list[PartRecord], report: Report,
) -> Iterator[tuple[list[int], str]]:  # fmt: skip
    """Yield the faults of parts, each with those that are to be written again; adds the records that can be read."""
    if tokenizer is not None and tokenizer.fingerprint != plan.identity["fingerprint"]:
        yield [], f"{plan.folder}: the tokenizer is {tokenizer.fingerprint}, and was {plan.identity['fingerprint']}"
    count, can_be_again = len(plan), not (plan.policy.moved or plan.is_iterated)
    chosen = set(random.Random(seed).sample(range(count), max(1, round(sample * count)) if sample else 0))
    missing = list[int]()
    for number in range(count):
        report(Progress("verify", number, count, "parts"))
        try:
            record = read_record(plan, number)
            if record is None:
                missing.append(number)
                continue
            records.append(record)
            checked.parts += 1
            yield from _faults_of_part(plan, record, checked, again=number in chosen and can_be_again)
        except (BBPEError, FileNotFoundError) as error:
            yield [number], str(error)
    report(Progress("verify", count, count, "parts"))
    if missing:
        what = "part {} is missing" if len(missing) == 1 else "parts {} are missing"
        yield missing, f"{plan.folder}: {what.format(numbers_text(missing))}"


def _tokenizer_faults(plan: ShardPlan) -> Iterator[str]:
    """Yield the faults of the files that no part can be written without."""
    for path, fingerprint in plan.tokenizer_files.items():
        try:
            stored_tokenizer(path, fingerprint)
        except CorpusError as error:
            yield str(error)


def _sum_faults(plan: ShardPlan, records: list[PartRecord], *, are_right: bool) -> Iterator[tuple[str, str]]:
    """Yield the faults of the files that sum parts up, each with the command that writes them again.

    They are compared with the records of parts where these are all there, and the parts `are_right`.
    """
    if len(records) < len(plan):
        return
    command = command_finish(plan)
    try:
        done, skipped = sums_of(plan, records)
    except CorpusError as error:
        yield str(error), ""
        return
    try:
        found = load_shards(plan)
    except CorpusError as error:
        yield str(error), command
        return
    if not are_right:
        return
    sums, parts = asdict(found.totals), asdict(done.totals)
    other = [f"{name} is {sums[name]}; the parts have {parts[name]}" for name in parts if sums[name] != parts[name]]
    if found.mixture != done.mixture:
        other.append("the mixture is not that of the parts")
    if other:
        yield f"{plan.folder / MANIFEST}: {', '.join(other)}", command
    path = plan.folder / SKIPPED
    if skipped and not (path.is_file() and path.read_bytes() == skipped):
        yield f"{path}: the file has not the lines that the parts have left out", command


def _exists(source: Source) -> bool:
    try:
        path_of(source.path).stat()
    except FileNotFoundError:
        return False
    return True


def _faults_of_part(
    plan: ShardPlan, record: PartRecord, checked: Checked, *, again: bool
) -> Iterator[tuple[list[int], str]]:
    number, stem = record.part, plan.stem(record.part)
    is_whole = True
    for name, expected in record.files.items():
        path, size = plan.folder / name, expected["size"]
        if fault := size_fault(path, size):
            is_whole = False
            yield [number], fault
            continue
        checked.files, checked.bytes = checked.files + 1, checked.bytes + size
        if digest_of(path) != expected["sha256"]:
            yield [number], f"{path}: the file was changed: its SHA-256 is not that of the record"
    if not is_whole:
        return
    ids, lengths = read_part(plan, number)
    if plan.policy.has_masks and len(masks := read_masks(plan, number)) and int(masks.max()) > 1:
        yield [number], f"{stem}: there is a mask of {masks.max()}; expected 0 and 1"
    if (len(lengths), len(ids)) != (record.documents, record.tokens):
        known = f"{record.documents:,} of {record.tokens:,}"
        found = f"{counted(len(lengths), 'document')} of {counted(len(ids), 'token')}"
        yield [number], f"{stem}: found {found}; expected {known}"
    else:
        yield from (([number], fault) for fault in origin_faults(plan, record))
    most = plan.identity["ids"]
    if most is not None and len(ids) and int(ids.max()) >= most:
        yield [number], f"{stem}: there is an id of {ids.max()}; the tokenizer has {most}"
    gone = next((source.path for source in plan.parts[number] if again and not _exists(source)), None)
    if gone is not None:
        problem = f"the part cannot be encoded again, as {gone} of the corpus is gone; sample=0 checks without it"
        yield [], f"{stem}: {problem}"
    elif again:
        try:
            with temporary_folder() as folder:
                other = encode_part(plan, number, Path(folder, stem.name), threads=1, report=lambda read: None)
        except (BBPEError, FileNotFoundError) as error:
            yield [], f"{stem}: the part cannot be encoded again: {error}; sample=0 checks without it"
            return
        checked.again.append(number)
        for name in sorted(record.files):
            if record.files[name] != other.files.get(name):
                yield [number], f"{plan.folder / name}: encoding the part again gives other bytes"
        yield from (([number], fault) for fault in _faults_of_texts(plan, number))


def _faults_of_texts(plan: ShardPlan, number: int) -> Iterator[str]:
    """Compare documents in ids of another vocabulary as bytes, which a new tokenizer of bytes without rules keeps."""
    policy = plan.policy
    if policy.old is None:
        return
    new = plan.tokenizer
    if new._parts.encoder.has_rules or not new._parts.decoder.is_plain:
        return
    documents, special = RetokenizedDocuments(policy, plan.old_tokenizer, new), np.array([*new.special_tokens.values()])
    ids, lengths = read_part(plan, number)
    texts = (text for source in plan.parts[number] for text in documents.texts(source))
    kept = [text or b"" for text in texts if policy.empty == "keep" or text is not None]
    ends = np.cumsum(lengths, dtype=np.int64).tolist()
    if len(kept) != len(ends):
        yield f"{plan.stem(number)}: found {counted(len(ends), 'document')}; the source has {len(kept):,}"
        return
    for document, (text, start, end) in enumerate(zip(kept, [0, *ends], ends, strict=False)):
        written = ids[start:end]
        if new.decode_bytes(written[~np.isin(written, special)]) != text:
            yield f"{plan.stem(number)}: document {document} has other bytes than its source"
