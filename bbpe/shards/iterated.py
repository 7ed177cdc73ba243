"""Shards of texts or chats that an iterator gives, such as the rows of a data set, which cannot be read again."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Unpack

from ..core.temporary import Folder
from ..corpus.chats import ChatBlock
from ..corpus.fields import FieldName, fields_of, places_of, shown_field, value_of
from ..corpus.records import key_of
from ..corpus.sources import Texts
from ..counting.options import Report, reporting
from ..errors import CorpusError, described
from ..files import sync_folder
from ..lazy import np
from ..progress import Progress
from ..records import asdict, check_names, replace
from ..text import text_bytes
from ..threads import thread_count
from ..tokenizer import Tokenizer
from .documents import DocumentEncoder, EncodedDocuments
from .load import Shards, load_shards
from .outputs import outputs
from .part import PartRecord, PartWriter, write_record
from .plan import ShardPlan, Source, identity_of, shards_folder
from .policy import IteratorOptions, ShardPolicy, make_policy
from .run import finish_shards

#: The bytes of texts that are encoded at once.
_BLOCK = 1 << 20
_ABSENT: Any = object()


def shard_from_iterator(
    texts: Iterable[Any], folder: str | os.PathLike[str], tokenizer: Tokenizer, *, threads: int | None = None,
    progress: bool | Report | None = None, **options: Unpack[IteratorOptions],
) -> Shards:  # fmt: skip
    """Encode texts or chats of an iterator to files that training reads.

    The iterator is read once, and no more than a block of it is in memory.  An iterator cannot be read again: a run
    that ends early leaves no folder and begins from scratch, and parts cannot be encoded again to verify them.  Files
    have neither limit, so write large corpora to files first and call `shard`.

    Args:
        texts: Texts; or mappings with the text in `text_field`, such as the rows of a Hugging Face data set. With
            `messages_field`: rows with the messages of a chat, or lists of messages.
        folder: The new folder, not a URL: it must be absent or empty, and is there when all of it is written.
        tokenizer: The tokenizer; it is stored beside the shards.
        threads: As in `shard`.
        progress: As in `shard`; the total is not known.
        **options: As in `shard`, without `document` and `input_format`, which are for files. A part has about
            `part_size` bytes of text, or of messages as JSON. Each item of the iterator is a record; with
            `on_error="skip"` wrong ones are left out and listed in `skipped.jsonl`, counted from 1 as lines are.

    Returns:
        The shards.

    Raises:
        CorpusError: An item is no text, or lacks a field; or the folder is not empty.
        ValueError: An argument has a wrong value.
        TypeError: An argument has the wrong type.
        OSError: A file cannot be written.

    Example:
        >>> from tempfile import TemporaryDirectory
        >>> tok = bbpe.train_from_iterator(["low lower"], 258)
        >>> with TemporaryDirectory() as folder:
        ...     done = bbpe.shard_from_iterator(["low", "", "lower"], folder + "/out", tok)
        ...     done, [done.source(number).record for number in range(2)]
        (<bbpe.Shards: 2 documents, 4 tokens, 1 part of megatron>, [0, 2])

    """
    check_names("shard_from_iterator", options, IteratorOptions.__annotations__)
    policy, target = make_policy(tokenizer, **options), shards_folder(folder)
    if isinstance(texts, str | bytes | Mapping) or not isinstance(texts, Iterable):
        raise TypeError(f"texts must be an iterable of texts or rows, not {described(texts)}")
    count = 1 if threads is None and policy.messages_field is not None else thread_count(threads)
    if target.exists() and (not target.is_dir() or next(target.iterdir(), None) is not None):
        raise CorpusError(f"{target}: the folder is not empty; shards of an iterator are written to a new folder")
    target.parent.mkdir(parents=True, exist_ok=True)
    hidden = f".{target.name}.{os.urandom(8).hex()}.tmp"
    made = Folder(str(target.with_name(hidden)), is_whole=True)
    with made as name, reporting(progress) as report:
        plan = ShardPlan(Path(name), policy, identity_of(tokenizer), ((),), tokenizer)
        _write(plan, _Iterated(iter(texts), policy), count, report)
        sync_folder(Path(name))
        if target.exists():
            target.rmdir()
        Path(name).rename(target)
        made.keep()
    sync_folder(target.parent)
    return load_shards(target)


def _write(plan: ShardPlan, items: _Iterated, threads: int, report: Report) -> None:
    """Write all parts, and then the plan, which nobody knows before."""
    records: list[PartRecord] = []
    sources: list[Source] = []
    done = 0

    def read(size: int) -> None:
        nonlocal done
        done += size
        report(Progress("shard", done, None, "bytes"))

    while not records or items.has_more():
        number, first = len(records), items.count
        with outputs(plan.stem(number)) as files:
            part = PartWriter(plan, files, threads, read)
            part.write(items.pieces(part), Source("", 0, 0, 0), 0)
            totals = part.finish()
            published = files.publish()
        records.append(PartRecord(**asdict(totals), part=number, files=published, **part.details()))
        sources.append(Source("", totals.input, 0, totals.input, first, items.count))
    plan = replace(plan, parts=tuple((source,) for source in sources))
    plan.store()
    for record in records:
        write_record(plan, replace(record, plan=plan.digest))
    finish_shards(plan)


class _Iterated:
    """The items of an iterator, as texts or chats; `count` is how many were taken."""

    def __init__(self, items: Iterator[Any], policy: ShardPolicy) -> None:
        self._items, self._policy, self.count = items, policy, 0
        self._next: Any = _ABSENT

    def has_more(self) -> bool:
        """Return whether there is another item, which is held."""
        if self._next is _ABSENT:
            self._next = next(self._items, _ABSENT)
        return self._next is not _ABSENT

    def pieces(self, part: PartWriter) -> Iterator[EncodedDocuments]:
        """Yield the encoded documents of the next part."""
        assert isinstance(part.documents, DocumentEncoder)
        if self._policy.messages_field is None:
            return part.documents.of_texts(self._texts(part.refuse), part.threads)
        return part.documents.of_chats(self._chats(), part.threads, part.refuse)

    def _blocks(self, size_of: Callable[[Any], int]) -> Iterator[tuple[int, list[Any], int]]:
        """Yield some items of a part, the number of the first one, and their sizes together."""
        left = self._policy.part_size
        while left > 0 and self.has_more():
            first, held, size = self.count, list[Any](), 0
            while size < min(_BLOCK, left) and self.has_more():
                held.append(self._next)
                size += size_of(self._next)
                self._next = _ABSENT
                self.count += 1
            left -= max(size, 1)
            yield first, held, size

    def _texts(self, refuse: Callable[[CorpusError, int], object] | None) -> Iterator[Texts]:
        before = self.count
        for first, held, size in self._blocks(self._size_of_text):
            texts: list[bytes] = []
            keys: list[str] = []
            numbers: list[int] = []
            nulls = 0
            for number, item in enumerate(held, first):
                try:
                    text, key = self._text_of(item)
                except ValueError as error:
                    wrong = CorpusError(f"item {number} of the iterator: {error}")
                    if refuse is None:
                        raise wrong from None
                    refuse(wrong, number + 1)
                    continue
                nulls += text is None
                if text is not None:
                    texts.append(text)
                    keys.append(key)
                    numbers.append(number - before)
            ends = np.cumsum([len(text) for text in texts], dtype=np.int64)
            has_keys = self._policy.id_field is not None
            yield Texts(
                b"".join(texts), ends, True, size, nulls, keys=keys if has_keys else None,
                numbers=np.array(numbers, np.int64),
            )  # fmt: skip

    def _size_of_text(self, item: Any) -> int:
        try:
            return len(self._text_of(item)[0] or b"")
        except ValueError:
            return 0

    def _text_of(self, item: Any) -> tuple[bytes | None, str]:
        """Return the text of an item, `None` if it has none, and its id; `ValueError` says what is wrong."""
        policy = self._policy
        is_row = isinstance(item, Mapping)
        needed = policy.text_field if policy.id_field is None and policy.text_field != "text" else policy.id_field
        if not is_row and needed is not None:
            raise ValueError(f"expected a row with the field {shown_field(needed)}, not {described(item)}")
        text = self._value(item, policy.text_field, "text_field") if is_row else item
        if text is not None and not isinstance(text, str | bytes):
            raise ValueError(f"found {described(text)}; expected a text, or a row with one or null in text_field=")
        key = "" if policy.id_field is None else key_of(self._value(item, policy.id_field, "id_field"))
        return None if text is None else bytes(text_bytes(text)), key

    def _value(self, row: Mapping[str, Any], field: FieldName, argument: str) -> Any:
        found = value_of(row, field, _ABSENT)
        if found is _ABSENT:
            there = f"found one with {fields_of(row, field)}; {argument}= names it"
            raise ValueError(f"expected a row with the field {shown_field(field)}, {there}")
        return found

    def _chats(self) -> Iterator[ChatBlock]:
        policy = self._policy
        for first, held, size in self._blocks(lambda item: len(json.dumps(item, default=str))):
            rows = tuple(self._row_of(item, number) for number, item in enumerate(held, first))
            yield ChatBlock(size, policy.field, policy.id_field, _failure(first), rows=rows)

    def _row_of(self, item: Any, number: int) -> Mapping[str, Any] | CorpusError:
        policy = self._policy
        if isinstance(item, list | tuple) and policy.id_field is None:
            return {places_of(policy.field)[0][0]: list(item)}
        try:
            if not isinstance(item, Mapping):
                raise ValueError(f"found {described(item)}; expected a row with messages, or a list of messages")
            for field, argument in ((policy.field, "messages_field"), (policy.id_field, "id_field")):
                if field is not None:
                    self._value(item, field, argument)
        except ValueError as error:
            return _failure(number)(str(error), 1)
        return item


def _failure(first: int) -> Callable[[str, int], CorpusError]:
    return lambda problem, number: CorpusError(f"item {first + number - 1} of the iterator: {problem}")
