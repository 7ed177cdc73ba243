"""Encode files document by document, in the order of the corpus; only the ids of one document are held in memory."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import chain

from ..corpus.chunks import ChunkOptions, Cutter
from ..corpus.fields import FieldName, checked_field
from ..corpus.files import CorpusPaths, File, FilePath, Format, check_format, corpus_files
from ..corpus.opened import Buffers
from ..corpus.sources import Pending, Reading, Texts
from ..lazy import np
from ..pipeline.special_tokens import Matcher
from ..records import dataclass
from ..text import Text
from .engine import Ids, TextEncoder

#: The bytes of a text that are encoded at once, enough for several threads.
BLOCK = 1 << 23
#: The most bytes and the most records that are encoded at once.
_BATCH, _MOST_RECORDS = 1 << 22, 1 << 13
#: The bytes that a regex splits at once.
_SLICE = 1 << 20


@dataclass(frozen=True)
class Document:
    """A document of a corpus and its ids.

    `row` is the number of the record in its file, from 0; `None` if the file is one text.  `parts` yields the ids in
    order and can be read once.
    """

    path: FilePath
    row: int | None
    parts: Iterator[Ids]

    def ids(self) -> Ids:
        """Return all ids, uint32[n]."""
        first = next(self.parts, np.empty(0, np.uint32))
        whole, size = first, len(first)
        for part in self.parts:
            if size + len(part) > len(whole):
                # the array grows in place where the system can do that; joining the parts would hold all ids twice
                whole = np.array(first) if whole is first else whole
                whole.resize((size + len(part)) * 9 // 8, refcheck=False)
            whole[size : size + len(part)] = part
            size += len(part)
        if size < len(whole):
            whole.resize(size, refcheck=False)
        return whole


class FileEncoder:
    """Encodes files; `specials` has all tokens that a call may search for in texts.

    `done` is called with the bytes of each block of texts when it is encoded.
    """

    def __init__(
        self, encoder: TextEncoder, matcher: Matcher | None, specials: Iterable[str], text_field: FieldName = "text",
        format: Format | None = None,  # noqa: A002
        done: Callable[[int], None] | None = None,
    ) -> None:  # fmt: skip
        check_format(format)
        reading = Reading(checked_field("text_field", text_field), BLOCK, format)
        self._encoder, self._matcher, self._reading, self._done = encoder, matcher, reading, done
        tokens = [text.encode("utf-8", "surrogatepass") for text in specials]
        self._buffers = Buffers(reading.block)
        self._reach = max(map(len, tokens), default=1) + 4
        self._cutter = Cutter(ChunkOptions(encoder.splitter.pattern, tuple(tokens)), encoder.splitter)

    def files(self, names: CorpusPaths) -> list[File]:
        """Return the files that names stand for."""
        return corpus_files(names, self._reading.format, self._reading.text_field)

    def corpus(self, names: CorpusPaths) -> Iterator[Document]:
        """Yield the documents of files; all names are checked before the first file is read."""
        reading = self._reading
        files = corpus_files(names, reading.format, reading.text_field, field_argument="text_field")
        return chain.from_iterable(map(self.documents, files))

    def counts(self, file: File) -> Iterator[tuple[FilePath, int]]:
        """Yield the path of a file and how many ids it has, for each of its documents, without arrays of ids."""
        if file.kind == "text":
            yield file.path, self.count(self._texts(file))
            return
        for document in self._rows(file):
            yield file.path, sum(map(len, document.parts))

    def documents(self, file: File) -> Iterator[Document]:
        """Yield the documents of a file; records without a text are skipped.

        Raises `CorpusError` naming the file and the record that cannot be read as text, `OSError` naming the file.
        """
        if file.kind != "text":
            yield from self._rows(file)
            return
        yield Document(file.path, None, self.parts(self._texts(file)))

    def parts(self, events: Iterable[Texts]) -> Iterator[Ids]:
        """Yield the ids of one text that comes in blocks."""
        if self._is_split_by_regex:
            return self._encoder.stream_arrays(_slices(events), self._matcher)
        return (self._encoder.to_array(part, self._matcher) for part in self._cut(events))

    def count(self, events: Iterable[Texts]) -> int:
        """Return how many ids a text has that comes in blocks."""
        if self._is_split_by_regex:
            return sum(map(len, self.parts(events)))
        return sum(self._encoder.count(part, self._matcher) for part in self._cut(events))

    @property
    def _is_split_by_regex(self) -> bool:
        return self._encoder.splitter.compiled is None and not self._encoder.has_rules

    def _cut(self, events: Iterable[Texts]) -> Iterator[bytearray | memoryview]:
        """Yield the parts of a text whose ids are those of the text; a part is gone when the next one is asked for."""
        if self._encoder.has_rules:
            # a rule may change any part of the text, so it is collected first
            text = bytearray()
            for event in events:
                text += event.data
            yield text
            return
        pending, done = Pending(), 0
        for event in events:
            tried = len(pending)
            if not pending.add(event):
                continue
            data = pending.data
            cut = len(data) if event.last else self._cutter.cut(data, max(tried - self._reach, 1))
            if cut or event.last:
                part = memoryview(data)[:cut]
                if self._matcher is not None:
                    self._matcher.check(part, done)
                yield part
                done += cut
                part.release()
            pending.keep(cut)

    def _texts(self, file: File) -> Iterator[Texts]:
        for event in self._reading.texts(file, buffers=self._buffers):
            yield event
            if self._done is not None:
                self._done(len(event.data))

    def _rows(self, file: File) -> Iterator[Document]:
        rows: list[int] = []
        texts: list[Text] = []
        size = 0
        for row, text in self._reading.records(file):
            rows.append(row)
            texts.append(text)
            size += len(text)
            if size >= _BATCH or len(rows) >= _MOST_RECORDS:
                yield from self._encoded(file, rows, texts, size)
                rows, texts, size = [], [], 0
        yield from self._encoded(file, rows, texts, size)

    def _encoded(self, file: File, rows: list[int], texts: list[Text], size: int) -> Iterator[Document]:
        ids = self._encoder.rows(texts, self._matcher)
        for number, row in enumerate(rows):
            # a copy, so that a caller who keeps one document does not keep the whole batch alive
            yield Document(file.path, row, iter((ids[number].copy(),)))
        if self._done is not None and rows:
            self._done(size)


def _slices(events: Iterable[Texts]) -> Iterator[bytes]:
    """Yield a text in slices, because splitting by a regex takes many times the memory of the text."""
    for event in events:
        for start in range(0, len(event.data), _SLICE):
            yield bytes(event.data[start : start + _SLICE])
