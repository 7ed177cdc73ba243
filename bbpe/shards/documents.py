"""Read the documents of files, and encode them as the files of shards have them."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import pairwise
from typing import Any, TypeAlias

from ..core.documents import Layout
from ..core.image import checksum
from ..corpus.chats import ChatBlock, chat_blocks, digest_of_chats
from ..corpus.files import File
from ..corpus.opened import Buffers
from ..corpus.records import Refuse
from ..corpus.sources import Reading, Texts
from ..encoding.engine import TextEncoder
from ..encoding.file_ids import FileEncoder
from ..errors import BBPEError, CorpusError
from ..lazy import np, npt
from ..pipeline.special_tokens import Matcher, Selection
from ..records import dataclass, replace
from ..text import Text
from ..threads import imap
from ..tokenizer import Tokenizer
from .formats import Lengths, Masks
from .plan import Source
from .policy import ShardPolicy

#: The bytes of text that are encoded at once.
_BLOCK = 1 << 20
#: How many ids there are, and how many of these are the unknown one.
_TokenCount: TypeAlias = tuple[int, int]


@dataclass(frozen=True)
class EncodedDocuments:
    """Some encoded documents, or a part of one.

    `ids` are as files have them, `lengths` the number of ids of each document that ends here, int64[n].  `text` is the
    bytes of text, `null` the records without one among them, and `read` the bytes of input read since the last piece.
    `keys` has the id of each document that ends here, if a field with ids is asked for and the file has fields.
    `unknown` is the number of ids of texts that are the one of unknown tokens, `digest` that of texts, if some were
    read.  `masks` has 1 for each id that a model learns, where documents are chats.  `rows` has the number of
    the record of each document that ends here, from the start of the source on, int64[n]; `None` where none was left
    out.  Of `checked` documents of ids, `not_canonical` have others than those by which the old vocabulary encodes
    their bytes.
    """

    ids: npt.NDArray[np.uint8]
    lengths: Lengths
    text: int = 0
    null: int = 0
    read: int = 0
    keys: list[str] | None = None
    unknown: int = 0
    digest: int | None = None
    masks: Masks = None
    rows: Lengths | None = None
    checked: int = 0
    not_canonical: int = 0


def _nothing() -> npt.NDArray[np.uint8]:
    return np.empty(0, np.uint8)


def _no_lengths() -> Lengths:
    return np.empty(0, np.int64)


class DocumentEncoder:
    """Reads and encodes documents as a policy has them."""

    def __init__(self, tokenizer: Tokenizer, policy: ShardPolicy) -> None:
        self._layout: Layout = policy.layout
        self._bare = Layout((), (), self._layout.id_size)
        # nobody learns the ids around documents, which no template has written
        around = [[] if token is None else [0] for token in (policy.bos, policy.eos)]
        self._mask_layout = Layout(around[0], around[1], 2)
        self._tokenizer, self._policy, self._unknown = tokenizer, policy, tokenizer.unk_token_id
        self._encoder: TextEncoder = tokenizer._parts.encoder
        allowed = policy.allowed_special
        self._allowed: Selection = allowed if isinstance(allowed, str) else set(allowed)
        self._matcher: Matcher | None = tokenizer._parts.specials.matcher(self._allowed)
        self._is_plain = self._matcher is None and self._encoder.plain is not None
        self._buffers = Buffers(_BLOCK)
        self._files = FileEncoder(self._encoder, self._matcher, tokenizer._parts.specials.texts)

    def pieces(self, source: Source, threads: int, refuse: Refuse | None) -> Iterator[EncodedDocuments]:
        """Yield the documents of a source in order, a block at a time, encoded by threads."""
        policy, file, read = self._policy, source.file(self._policy), 0
        if policy.messages_field is None and file.kind == "text" and policy.document == "file":
            yield from self._document(self._events(source, file, refuse))
        else:
            if policy.messages_field is None:
                pieces = self._texts(self._events(source, file, refuse), threads)
            else:
                pieces = self._chats(self._blocks(source, file), threads, refuse)
            for position, piece in pieces:
                step = 0
                # where a range of a Parquet file ends is not known in bytes
                if file.kind != "parquet":
                    step = min(max(position - source.start, read), source.read) - read
                read += step
                yield self._finished(piece, step)
        source.file(policy)
        yield EncodedDocuments(_nothing(), _no_lengths(), read=source.read - read)

    def of_texts(self, events: Iterator[Texts], threads: int) -> Iterator[EncodedDocuments]:
        """Yield documents of whole texts that are in no file; `read` of each block is its own size."""
        return (self._finished(piece, read) for read, piece in self._texts(events, threads))

    def of_chats(
        self, blocks: Iterator[ChatBlock], threads: int, refuse: Refuse | None
    ) -> Iterator[EncodedDocuments]:  # fmt: skip
        """Yield documents of chats that are in no file; `read` of each block is its own size."""
        return (self._finished(piece, read) for read, piece in self._chats(blocks, threads, refuse))

    def _finished(self, piece: EncodedDocuments, read: int) -> EncodedDocuments:
        unknown = self._unknown_of(piece.ids, int(np.count_nonzero(piece.lengths)))
        return replace(piece, read=read, unknown=unknown)

    def _counts(self, event: Texts) -> _TokenCount:
        """Return how many ids whole texts have, and how many of these are the unknown one."""
        ids, lengths = self._placed(event)
        return int(lengths.sum()), self._unknown_of(ids, int(np.count_nonzero(lengths)))

    def _counts_of_text(self, events: Iterator[Texts]) -> Iterator[_TokenCount]:
        """Yield how many ids parts of one text have, and how many of these are the unknown one."""
        for ids in self._files.parts(events):
            yield len(ids), 0 if self._unknown is None else int(np.count_nonzero(ids == self._unknown))

    def _texts(self, events: Iterator[Texts], threads: int) -> Iterator[tuple[int, EncodedDocuments]]:
        """Yield whole texts, each block with the position in the file after it."""
        for event, ids, lengths, digest in imap(self._encoded, events, threads):
            piece = EncodedDocuments(
                ids, lengths, len(event.data), event.skipped, keys=event.keys, digest=digest, rows=event.numbers
            )
            yield event.read, piece

    def _chats(
        self, blocks: Iterator[ChatBlock], threads: int, refuse: Refuse | None
    ) -> Iterator[tuple[int, EncodedDocuments]]:
        """Yield chats, each block with the position in the file after it."""
        done = 0
        for position, piece, wrong in imap(self._encoded_chats, blocks, threads):
            for error, number in wrong:
                if refuse is None:
                    raise error
                refuse(error, number)
            yield position, piece if piece.rows is None else replace(piece, rows=done + piece.rows)
            done += len(piece.lengths) + piece.null + len(wrong)

    def _blocks(self, source: Source, file: File) -> Iterator[ChatBlock]:
        policy = self._policy
        return chat_blocks(
            file, policy.field, policy.id_field, start=source.start, stop=source.stop, buffers=self._buffers
        )

    def _encoded_chats(self, block: ChatBlock) -> tuple[int, EncodedDocuments, list[tuple[CorpusError, int]]]:
        """Return the position after a block of chats, their ids and masks, and the errors of those that are wrong."""
        rows: list[Any] = []
        keys: list[str] = []
        wrong: list[tuple[CorpusError, int]] = []
        records: list[int] = []
        nulls = text = 0
        chats = list(block.chats())
        for record, (number, chat) in enumerate(chats):
            if isinstance(chat, CorpusError):
                wrong.append((chat, number))
            elif chat.messages is None:
                nulls += 1
            else:
                try:
                    row = self._tokenizer.encode_chat(chat.messages, chat.tools, content_special=self._allowed)
                except (BBPEError, TypeError, ValueError) as error:
                    wrong.append((block.failure(str(error), number), number))
                else:
                    rows.append(row)
                    keys.append(chat.key)
                    records.append(record)
                    text += len(row.text.encode("utf-8", "surrogatepass"))
        ids, lengths = self._layout.place(*_joined([row.ids for row in rows]))
        masks, _ = self._mask_layout.place(*_joined([row.mask for row in rows]))
        has_keys = self._policy.id_field is not None
        piece = EncodedDocuments(
            ids, lengths, text, nulls, keys=keys if has_keys else None, digest=digest_of_chats(chats),
            masks=masks.view(np.uint16).astype(np.uint8), rows=np.array(records, np.int64),
        )  # fmt: skip
        return block.read, piece, wrong

    def digests(self, source: Source, refuse: Refuse | None) -> Iterator[int]:
        """Yield the digests of the pieces of a source, without encoding them."""
        if self._policy.messages_field is not None:
            yield from (digest_of_chats(block.chats()) for block in self._blocks(source, source.file(self._policy)))
            return
        for event in self._events(source, source.file(self._policy), refuse):
            yield _digest_of(event)

    def _events(self, source: Source, file: File, refuse: Refuse | None) -> Iterator[Texts]:
        policy = self._policy
        reading = Reading(policy.text_field, _BLOCK, policy.input_format, id_field=policy.id_field)
        events = reading.texts(file, start=source.start, stop=source.stop, buffers=self._buffers, refuse=refuse)
        return _by_line(events) if file.kind == "text" and policy.document == "line" else events

    def _encoded(self, event: Texts) -> tuple[Texts, npt.NDArray[np.uint8], Lengths, int]:
        """Return whole texts, their ids as files have them with the number of ids of each, and the digest of texts."""
        return event, *self._placed(event), _digest_of(event)

    def _placed(self, event: Texts) -> tuple[npt.NDArray[np.uint8], Lengths]:
        """Return the ids of whole texts as files have them, and the number of ids of each."""
        assert event.ends is not None
        if self._is_plain:
            return self._layout.encode(self._encoder.encoder, event.data, event.ends)
        view = memoryview(event.data)
        texts: list[Text] = [bytes(view[start:end]) for start, end in pairwise([0, *event.ends.tolist()])]
        rows = self._encoder.rows(texts, self._matcher, 1)
        return self._layout.place(rows.ids, rows.offsets)

    def _document(self, events: Iterator[Texts]) -> Iterator[EncodedDocuments]:
        """Yield the ids of one text that comes in blocks."""
        size = length = 0
        digests: list[int] = []

        def counted() -> Iterator[Texts]:
            nonlocal size
            for event in events:
                size += len(event.data)
                digests.append(_digest_of(event))
                yield event

        for ids in self._files.parts(counted()):
            if not length and len(ids):
                yield self._around(self._policy.bos)
            length += len(ids)
            written = self._bare.place(ids, np.array([0, len(ids)], np.int64))[0]
            yield EncodedDocuments(written, _no_lengths(), unknown=self._unknown_of(written, 0))
        if length:
            yield self._around(self._policy.eos)
            length += (self._policy.bos is not None) + (self._policy.eos is not None)
        yield from (EncodedDocuments(_nothing(), _no_lengths(), digest=digest) for digest in digests)
        yield EncodedDocuments(_nothing(), np.array([length], np.int64), size)

    def _unknown_of(self, ids: npt.NDArray[np.uint8], documents: int) -> int:
        """Return how many ids are the unknown one, less those that are written around so many documents."""
        if self._unknown is None:
            return 0
        around = (self._policy.bos, self._policy.eos).count(self._unknown) * documents
        return int(np.count_nonzero(ids.view(self._policy.dtype) == self._unknown)) - around

    def _around(self, token: int | None) -> EncodedDocuments:
        ids = np.array([] if token is None else [token], np.uint32)
        return EncodedDocuments(self._bare.place(ids, np.array([0, len(ids)], np.int64))[0], _no_lengths())


@dataclass(frozen=True)
class CountedTexts:
    """How many texts there are, and their bytes; `counts` are the ids of each encoder, and the unknown ones of these.

    `read` is the bytes of input read since the last ones.
    """

    documents: int
    bytes: int
    read: int
    counts: Sequence[_TokenCount]


def counted_texts(encoders: Sequence[DocumentEncoder], source: Source, threads: int) -> Iterator[CountedTexts]:
    """Yield the numbers of the documents of a source in order; it is read once for all encoders.

    They must have policies that differ in nothing but how texts become ids.
    """
    first = encoders[0]
    policy, file, read = first._policy, source.file(first._policy), 0
    events = first._events(source, file, None)
    if file.kind == "text" and policy.document == "file":
        shared = _Shared(events, len(encoders))
        yield from shared.counted([each._counts_of_text(shared.reader(n)) for n, each in enumerate(encoders)])
    else:
        work = partial(_counts_of_texts, encoders)
        for event, counts in imap(work, events, threads):
            # where a range of a Parquet file ends is not known in bytes
            step = 0 if file.kind == "parquet" else min(max(event.read - source.start, read), source.read) - read
            read += step
            yield CountedTexts(0 if event.ends is None else len(event.ends), len(event.data), step, counts)
    source.file(policy)
    yield CountedTexts(0, 0, source.read - read, [(0, 0)] * len(encoders))


def _counts_of_texts(encoders: Sequence[DocumentEncoder], event: Texts) -> tuple[Texts, list[_TokenCount]]:
    return event, [encoder._counts(event) for encoder in encoders]


class _Shared:
    """One text that several readers read at different speeds; a part that all of them have had is given up.

    The reader that is the furthest behind goes on, so that few parts are held: no more than a reader asks for at once.
    """

    def __init__(self, events: Iterator[Texts], readers: int) -> None:
        self._events, self._held, self._gone = events, deque[Texts](), 0
        self._taken, self._size = [0] * readers, 0

    def reader(self, number: int) -> Iterator[Texts]:
        """Yield the parts of the text to one reader."""
        while True:
            at = self._taken[number] - self._gone
            if at == len(self._held):
                event = next(self._events, None)
                if event is None:
                    return
                self._size += len(event.data)
                # a reader alone may write before a part; several would write over each other
                alone = len(self._taken) == 1
                self._held.append(event if alone else replace(event, data=bytes(event.data), headroom=0))
            event = self._held[at]
            self._taken[number] += 1
            while self._held and min(self._taken) > self._gone:
                self._held.popleft()
                self._gone += 1
            yield event

    def counted(self, counts: list[Iterator[_TokenCount]]) -> Iterator[CountedTexts]:
        """Yield the numbers of the text, given those of each reader."""
        sums, going = [(0, 0)] * len(counts), list(range(len(counts)))
        while going:
            number = min(going, key=self._taken.__getitem__)
            more = next(counts[number], None)
            if more is None:
                going.remove(number)
            else:
                sums[number] = (sums[number][0] + more[0], sums[number][1] + more[1])
        yield CountedTexts(1, self._size, 0, sums)


def _joined(rows: list[npt.NDArray[Any]]) -> tuple[npt.NDArray[np.uint32], npt.NDArray[np.int64]]:
    """Return numbers one after another, and where each row of them begins."""
    offsets = np.zeros(len(rows) + 1, np.int64)
    np.cumsum([len(row) for row in rows], out=offsets[1:])
    return np.concatenate([np.empty(0, np.uint32), *rows]).astype(np.uint32), offsets


def _digest_of(event: Texts) -> int:
    """Return a digest of texts, of where they end, and of their ids in the corpus; it takes 1 % of encoding them."""
    ends = b"" if event.ends is None else event.ends.tobytes()
    keys = "\n".join(event.keys or ()).encode("utf-8", "surrogatepass")
    return checksum(b"%d %d %d" % (checksum(event.data), checksum(ends), checksum(keys)))


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
