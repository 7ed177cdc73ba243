"""The texts of a corpus that a report reads: files, or texts in memory, in batches of whole documents."""

from __future__ import annotations

import io
import os
from collections.abc import Iterable, Iterator
from typing import TypeAlias

from ..corpus.files import CorpusPaths, File, corpus_files
from ..corpus.sources import Reading
from ..counting.counts import Document
from ..lazy import np
from ..text import Text, text_bytes

#: A path, glob or folder, or a list of `Path`; or the texts themselves, `str` or bytes.
Corpus: TypeAlias = CorpusPaths | Iterable[Text]

_BATCH = 1 << 23


def documents(corpus: Corpus, reading: Reading, document: Document = "file") -> Iterator[list[Text]]:
    """Yield the documents of a corpus in batches of about 8 MB; rows of files are documents, and empty ones count.

    Raises `TypeError` for what is no corpus; `CorpusError` and `OSError` naming the file that cannot be read.
    """
    batch: list[Text] = []
    size = 0
    for text in _texts(corpus, reading):
        for each in _lines(text) if document == "line" else (text,):
            batch.append(each)
            size += len(each)
            if size >= _BATCH:
                yield batch
                batch, size = [], 0
    if batch:
        yield batch


def _texts(corpus: Corpus, reading: Reading) -> Iterator[Text]:
    paths: list[str | os.PathLike[str]] = []
    if isinstance(corpus, str | os.PathLike):
        paths.append(corpus)
    else:
        for item in corpus:
            if isinstance(item, os.PathLike):
                paths.append(item)
            else:
                yield _checked(item)
    if paths:
        for file in corpus_files(paths, reading.format):
            yield from _of_file(file, reading)


def _checked(text: object) -> Text:
    if isinstance(text, str | bytes | bytearray | memoryview | np.ndarray):
        return text
    raise TypeError(f"a corpus is a path, a list of Path, or texts (str or bytes); found {type(text).__name__}")


def _of_file(file: File, reading: Reading) -> Iterator[Text]:
    if file.kind != "text":
        yield from (text for _, text in reading.records(file))
        return
    yield b"".join(bytes(event.data) for event in reading.texts(file))


def _lines(text: Text) -> Iterator[bytes]:
    # only line feeds end a line, as in counting
    yield from io.BytesIO(text_bytes(text))
