"""The corpora that reports read: files, as everywhere, or texts in memory, in batches of whole documents."""

from __future__ import annotations

import io
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TypeAlias, TypeVar

from ..corpus.fields import FieldName, checked_field
from ..corpus.files import CorpusPaths, File, Format, check_fields, check_format, corpus_files
from ..corpus.sources import Reading
from ..counting.corpus_parts import checked_texts, flat
from ..counting.counts import Document
from ..counting.options import Report
from ..errors import described
from ..progress import Progress
from ..records import dataclass
from ..text import Text, text_bytes

#: Texts in memory, as `train_from_iterator` takes them: each `str` or bytes, lists of them, or a column of Arrow.
Texts: TypeAlias = Iterable[Text] | Iterable[Sequence[Text]]
_Given = TypeVar("_Given")

_BATCH = 1 << 23


@dataclass(frozen=True)
class ReportCorpus:
    """A corpus of a report: the files that it names, or texts, and the argument that they come from."""

    argument: str
    files: tuple[File, ...]
    texts: Texts | None = None

    @property
    def size(self) -> int | None:
        """The bytes of the files; None where they are not known, and for texts."""
        sizes = [file.size for file in self.files]
        return None if self.texts is not None or None in sizes else sum(size or 0 for size in sizes)

    def documents(
        self, reading: Reading, document: Document = "file", meter: Meter | None = None
    ) -> Iterator[list[Text]]:
        """Yield documents in batches of about 8 MB; rows of files are documents, and empty ones count.

        Raises `TypeError` for an item that is no text; `CorpusError` and `OSError` naming the file that cannot be read.
        """
        batch: list[Text] = []
        size = read = before = 0
        for text, read in self._texts(reading):
            taken = 0
            for each in _lines(text) if document == "line" else (text,):
                batch.append(each)
                size += len(each)
                taken += len(each)
                if size >= _BATCH:
                    yield batch
                    batch, size = [], 0
                    if meter is not None:
                        share = taken / len(text_bytes(text)) if document == "line" else 1
                        meter.at(before + round((read - before) * share))
            before = read
        if batch:
            yield batch
        if meter is not None:
            meter.end(read if self.size is None else self.size)

    def _texts(self, reading: Reading) -> Iterator[tuple[Text, int]]:
        """Yield the texts, and how many bytes are read after each."""
        done = 0
        for number, text in enumerate(flat(() if self.texts is None else self.texts)):
            if not isinstance(text, str | bytes):
                try:
                    text_bytes(text)
                except TypeError:
                    problem = f"{self.argument}[{number}] is {described(text)}; expected a text, str or bytes"
                    raise TypeError(problem) from None
            done += len(text)
            yield text, done
        for file in self.files:
            yield from ((text, done + read) for text, read in _of_file(file, reading))
            done += file.size or 0


class Meter:
    """Reports how much of the corpora of a report is read and measured."""

    def __init__(self, report: Report, phase: str, sources: Iterable[ReportCorpus]) -> None:
        sizes = [source.size for source in sources]
        self._report, self._phase, self._done = report, phase, 0
        self._total = None if None in sizes else sum(size or 0 for size in sizes)
        self.at(0)

    def at(self, read: int) -> None:
        """Report that so many bytes of a corpus are done."""
        total, done = self._total, self._done + read
        self._report(Progress(self._phase, done if total is None else min(done, total), total, "bytes"))

    def end(self, size: int) -> None:
        """Report that a corpus of so many bytes is done."""
        self.at(size)
        self._done += size


def reading_of(text_field: FieldName, format: Format | None) -> Reading:  # noqa: A002
    """Return how files are read; `TypeError` or `ValueError` names the argument that is wrong."""
    field = checked_field("text_field", text_field)
    check_format(format)
    return Reading(field, format=format)


def source_of(corpus: CorpusPaths | None, texts: Texts | None, reading: Reading) -> ReportCorpus | None:
    """Return the corpus of the arguments `corpus` and `texts`; None without either.

    Raises `TypeError` or `ValueError` naming the argument, or the error of the file that is not there.
    """
    if corpus is not None and texts is not None:
        raise ValueError("corpus and texts are given; expected one of them: files as corpus, or texts")
    found = None if corpus is None else _files(corpus, reading, "corpus")
    _check_reading(reading, [] if found is None else [found])
    return ReportCorpus("texts", (), checked_texts(texts)) if texts is not None else found


def check_unused(name: str, value: int, usual: int, source: ReportCorpus | None) -> None:
    """Check that there is a corpus for an argument that says something else than usual; `ValueError` names it."""
    if source is None and value != usual:
        raise ValueError(f"{name} is {value}; expected it only with files or texts")


def sources_of(
    corpora: CorpusPaths | Mapping[str, CorpusPaths] | None, texts: Texts | Mapping[str, Texts] | None,
    reading: Reading, names: tuple[str, str] = ("corpora", "texts"),
) -> dict[str, ReportCorpus]:  # fmt: skip
    """Return the corpora of two arguments, called `names`, by their names; all files are looked for at once.

    Raises as `source_of`.
    """
    files: dict[str, tuple[CorpusPaths, str]] = _named(corpora, names[0])
    given: dict[str, tuple[Texts, str]] = _named(texts, names[1])
    if not files and not given:
        raise ValueError(f"there is no corpus; expected files, given as {names[0]}, or {names[1]}")
    found = {name: _files(value, reading, argument) for name, (value, argument) in files.items()}
    twice = next(iter(files.keys() & given.keys()), None)
    if twice is not None:
        raise ValueError(f"{names[0]} and {names[1]} both name a corpus {twice!r}; give them different names")
    _check_reading(reading, found.values())
    return found | {name: ReportCorpus(argument, (), checked_texts(value, argument))
                    for name, (value, argument) in given.items()}  # fmt: skip


def _check_reading(reading: Reading, corpora: Iterable[ReportCorpus]) -> None:
    """Check that there are files that are read so; `ValueError` names the argument."""
    files = [file for corpus in corpora for file in corpus.files]
    for name, value, usual in (("text_field", reading.text_field, "text"), ("format", reading.format, None)):
        if not files and value != usual:
            raise ValueError(f"{name} is {value!r}; expected it only with files, not with texts")
    check_fields(files, reading.text_field)


def _named(given: _Given | Mapping[str, _Given] | None, argument: str) -> dict[str, tuple[_Given, str]]:
    """Return the corpora of an argument by their names, each with what to call it."""
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        return {Path(given).name if isinstance(given, str | os.PathLike) else "corpus": (given, argument)}
    wrong = next((name for name in given if not isinstance(name, str)), None)
    if wrong is not None:
        raise TypeError(f"{argument} has the key {described(wrong)}; expected names of corpora, each a str")
    return {name: (value, f"{argument}[{name!r}]") for name, value in given.items()}


def _files(corpus: CorpusPaths, reading: Reading, argument: str) -> ReportCorpus:
    return ReportCorpus(argument, tuple(corpus_files(corpus, reading.format, reading.text_field, argument)))


def _of_file(file: File, reading: Reading) -> Iterator[tuple[Text, int]]:
    parts, read = [], 0
    for event in reading.texts(file):
        read = event.read
        if event.ends is None:
            parts.append(bytes(event.data))
            continue
        start = 0
        for end in event.ends.tolist():
            yield bytes(event.data[start:end]), read
            start = end
    if file.kind == "text":
        yield b"".join(parts), read


def _lines(text: Text) -> Iterator[bytes]:
    # only line feeds end a line, as in counting
    yield from io.BytesIO(text_bytes(text))
