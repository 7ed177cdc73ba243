"""`count`: the only step of training whose cost grows with the corpus."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Executor
from pathlib import Path

from ..corpus.kinds import Format
from ..corpus.paths import CorpusPaths, corpus_paths
from ..errors import CorpusError
from ..progress import Progress, resolve
from ..text import Text
from .corpus_parts import Files, Iterated
from .counts import Document, PretokenCounts
from .run import CountRun, Growth, Report
from .settings import Settings, settings_of

__all__ = ["Report", "count", "count_files", "count_from_iterator", "count_texts", "silent"]


def count(
    files: CorpusPaths,
    *,
    pattern: str | Sequence[str],
    special_tokens: Sequence[str] = (),
    document: Document = "file",
    max_memory: int | str | None = None,
    threads: int | None = None,
    executor: Executor | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    max_pretoken_bytes: int | None = None,
    sample: float = 1.0,
    text_field: str = "text",
    format: Format | None = None,  # noqa: A002
    progress: bool | Report | None = None,
) -> PretokenCounts:
    """Count the pretokens of files; the result trains tokenizers, and adds up with others.

    `files`: a path, glob or folder, or a list of them.  A file is one text; `.jsonl` has one in the field `text_field`
    of each line, `.parquet` one in the column `text_field` of each row; `.gz`, `.bz2`, `.xz` and `.zst` are
    decompressed as they are read.  A `.json` file is read as JSON lines.  Archives, tables and other files that are no
    text, and UTF-16, are refused; `format`, "text", "jsonl" or "parquet", says what files are, whatever their names.
    A file must not change while it is read.  `document="line"` makes each line, with its end, a text of its own.
    Special tokens in the text separate it.  A pretoken longer than `max_pretoken_bytes` is counted in pieces.
    `sample` is the share of texts to count, chosen by a hash of each.

    `max_memory`, bytes or a string such as "4GB", is for the whole process: counts that do not fit are kept in Parquet
    files meanwhile, exactly; a lower limit that the system sets for the process holds too.  `checkpoint`, a folder that
    is new, empty or an earlier count's, and not in the corpus, lets a count that was killed go on where it was when it
    is called again with the same arguments.  `threads`: one for each core by default, fewer where memory is short;
    `executor`: any of `concurrent.futures`, instead of threads.  None of these changes the result.  `progress`: True
    for a bar on stderr, or a function of `bbpe.progress.Progress`.

    Raises `ValueError` on bad arguments (`PatternError` on an unknown pattern), `CorpusError` naming what cannot be
    read as text, or a checkpoint that is not ours, in use, damaged or of another count, `OSError` naming a file that
    cannot be read, `ImportError` where a package is needed.

    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     _ = Path(folder, "a.txt").write_text("low lower low")
    ...     counts = count(folder, pattern="gpt2")
    >>> list(counts), counts.total, counts.summary.bytes
    ([(b'low', 1), (b' lower', 1), (b' low', 1)], 3, 13)
    """
    settings = settings_of(
        pattern, special_tokens, document, max_memory=max_memory, threads=threads, executor=executor,
        checkpoint=checkpoint, max_pretoken_bytes=max_pretoken_bytes, sample=sample, text_field=text_field,
        format=format,
    )  # fmt: skip
    with resolve(progress) as report:
        return count_files(files, settings, report or silent)


def count_from_iterator(
    texts: Iterable[Text],
    *,
    pattern: str | Sequence[str],
    special_tokens: Sequence[str] = (),
    document: Document = "file",
    max_memory: int | str | None = None,
    threads: int | None = None,
    executor: Executor | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    max_pretoken_bytes: int | None = None,
    sample: float = 1.0,
    progress: bool | Report | None = None,
) -> PretokenCounts:
    """Count the pretokens of texts, each `str` or bytes-like; options and errors are those of `count`.

    When the first item is a list or a tuple of texts, all are such batches.
    With `checkpoint`, a second call must be given the same texts; those that are done are passed over.

    >>> count_from_iterator(["low lower", "low"], pattern="gpt2").most_common(1)
    [(b'low', 2)]
    """
    settings = settings_of(
        pattern, special_tokens, document, max_memory=max_memory, threads=threads, executor=executor,
        checkpoint=checkpoint, max_pretoken_bytes=max_pretoken_bytes, sample=sample,
    )  # fmt: skip
    with resolve(progress) as report:
        return count_texts(texts, settings, report or silent)


def silent(progress: Progress) -> None:
    """Report nothing."""


def count_files(
    files: CorpusPaths, settings: Settings, report: Report, growth: Growth | None = None
) -> PretokenCounts:
    """Count files by checked arguments; `growth` hears of what is certain before all is counted."""
    if isinstance(files, Iterator):
        files = list(files)
    paths = corpus_paths(files)
    if settings.checkpoint is not None:
        given = [files] if isinstance(files, str | os.PathLike) else files
        _check_checkpoint(Path(settings.checkpoint), [*given, *paths])
    return CountRun(Files(paths, settings.reading()), settings, report, growth).run()


def count_texts(
    texts: Iterable[Text], settings: Settings, report: Report, growth: Growth | None = None
) -> PretokenCounts:
    """Count texts by checked arguments."""
    if isinstance(texts, (str, bytes, bytearray, memoryview)) or not isinstance(texts, Iterable):
        raise TypeError(f"expected an iterable of texts, not one {type(texts).__name__}")
    return CountRun(Iterated(texts, settings.reading()), settings, report, growth).run()


def _check_checkpoint(checkpoint: Path, inputs: Iterable[str | os.PathLike[str]]) -> None:
    """Refuse a checkpoint folder that holds a file of the corpus, or is within a folder of it: it would be counted."""
    folder = Path(os.path.realpath(checkpoint))
    for given in inputs:
        path = Path(os.path.realpath(given))
        if path.is_dir() and folder.is_relative_to(path):
            # `corpus_paths` leaves out hidden folders
            if not any(part.startswith(".") for part in folder.relative_to(path).parts):
                raise CorpusError(f"{checkpoint}: the checkpoint folder is in the corpus, {given}; use another folder")
        elif path.is_relative_to(folder):
            raise CorpusError(f"{checkpoint}: the checkpoint folder holds {given} of the corpus; use another folder")
