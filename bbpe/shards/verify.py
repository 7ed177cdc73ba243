"""Check shards: that files are whole, that they fit together, and that encoding again gives them."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

from ..corpus.urls import path_of
from ..counting.options import check_share
from ..errors import BBPEError, CorpusError
from ..files import temporary_folder
from ..lazy import np
from ..records import whole
from ..text import counted
from ..tokenizer import Tokenizer, checked_tokenizer
from .load import Folder, read_masks, read_part, stored_plan
from .outputs import digest_of
from .part import PartRecord, Totals, encode_part, read_record
from .plan import ShardPlan, Source
from .retokenizer import RetokenizedDocuments
from .run import check_totals


def verify_shards(
    folder: Folder, tokenizer: Tokenizer | None = None, *, sample: float = 0.001, seed: int = 0
) -> list[str]:
    """Look for faults in shards.

    All files are read: their sizes and digests, whether the lists of documents agree with the ids, and whether every
    document and byte of the corpus is accounted for.  Some parts are encoded again, whose bytes must be equal.  What
    `retokenize` wrote is also decoded there, and must have the bytes of its source, if the new tokenizer keeps bytes.

    Args:
        folder: The folder that `shard` wrote, the plan of it, or the shards.
        tokenizer: The tokenizer that should have written them, if that is to be checked.
        sample: The share of parts that are encoded again, at least one, which takes the corpus; with 0 none, so that
            shards are verified where the corpus is not. Shuffled or divided ones cannot be encoded again.
        seed: Chooses these parts.

    Returns:
        The faults; none if all is well.

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
    sample, seed = check_share("sample", sample, or_none=True), whole("seed", seed)
    if tokenizer is not None:
        checked_tokenizer(tokenizer)
    plan = stored_plan(folder)
    return list(_faults(plan, tokenizer, sample, seed))


def _faults(plan: ShardPlan, tokenizer: Tokenizer | None, sample: float, seed: int) -> Iterator[str]:
    if tokenizer is not None and tokenizer.fingerprint != plan.identity["fingerprint"]:
        yield f"{plan.folder}: the tokenizer is {tokenizer.fingerprint}, and was {plan.identity['fingerprint']}"
    count = len(plan)
    chosen = set(random.Random(seed).sample(range(count), max(1, round(sample * count)) if sample else 0))
    totals, missing = Totals(), 0
    for number in range(count):
        try:
            record = read_record(plan, number)
            if record is None:
                missing += 1
                yield f"{plan.stem(number)}: the part is missing"
                continue
            totals += record.totals
            yield from _faults_of_part(plan, record, again=number in chosen and not plan.policy.moved)
        except (BBPEError, FileNotFoundError) as error:
            yield str(error)
    if not missing:
        try:
            check_totals(plan, totals)
        except CorpusError as error:
            yield str(error)


def _exists(source: Source) -> bool:
    try:
        path_of(source.path).stat()
    except FileNotFoundError:
        return False
    return True


def _faults_of_part(plan: ShardPlan, record: PartRecord, *, again: bool) -> Iterator[str]:
    for name, expected in record.files.items():
        path = plan.folder / name
        size = path.stat().st_size
        if size != expected["size"]:
            yield f"{path}: the file has {counted(size, 'byte')}; expected {expected['size']}"
        elif digest_of(path) != expected["sha256"]:
            yield f"{path}: the file was changed: its SHA-256 is not that of the record"
    ids, lengths = read_part(plan, record.part)
    if plan.policy.has_masks and len(masks := read_masks(plan, record.part)) and int(masks.max()) > 1:
        yield f"{plan.stem(record.part)}: there is a mask of {masks.max()}; expected 0 and 1"
    stem = plan.stem(record.part)
    if (len(lengths), len(ids)) != (record.documents, record.tokens):
        known = f"{record.documents:,} of {record.tokens:,}"
        yield f"{stem}: found {counted(len(lengths), 'document')} of {counted(len(ids), 'token')}; expected {known}"
    known = plan.identity["ids"]
    if known is not None and len(ids) and int(ids.max()) >= known:
        yield f"{stem}: there is an id of {ids.max()}; the tokenizer has {plan.identity['ids']}"
    gone = next((source.path for source in plan.parts[record.part] if again and not _exists(source)), None)
    if gone is not None:
        yield f"{stem}: the part cannot be encoded again, as {gone} of the corpus is gone; sample=0 checks without it"
    elif again:
        with temporary_folder() as folder:
            other = encode_part(plan, record.part, Path(folder, stem.name), threads=1, report=lambda read: None)
        for name in sorted(record.files):
            if record.files[name] != other.files.get(name):
                yield f"{plan.folder / name}: encoding the part again gives other bytes"
        yield from _faults_of_texts(plan, record.part)


def _faults_of_texts(plan: ShardPlan, number: int) -> Iterator[str]:
    """Compare documents in ids of another vocabulary as bytes, which a new tokenizer of bytes without rules keeps."""
    new, policy = plan.tokenizer, plan.policy
    if policy.old is None or new._parts.encoder.has_rules or not new._parts.decoder.is_plain:
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
