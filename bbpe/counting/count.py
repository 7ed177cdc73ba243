"""`count`: the only step of training whose cost grows with the corpus."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Unpack

from ..corpus.paths import CorpusPaths, corpus_paths
from ..errors import CorpusError
from ..text import Text
from .corpus_parts import Files, Iterated
from .counts import CountingSpec, PretokenCounts
from .options import Counting, FileOptions, Report, TextOptions
from .run import CountRun, Growth

__all__ = ["Growth", "count", "count_files", "count_from_iterator", "count_texts"]


def count(
    files: CorpusPaths,
    *,
    pattern: str | Sequence[str],
    special_tokens: Sequence[str] = (),
    **options: Unpack[FileOptions],
) -> PretokenCounts:
    """Count the pretokens of files; the result trains tokenizers, and adds up with others.

    A file is one text; `.jsonl` has one in the field `text_field` of each line, `.parquet` one in the column
    `text_field` of each row; `.gz`, `.bz2`, `.xz` and `.zst` are decompressed as they are read.  A `.json` file is
    read as JSON lines.  Archives, tables and other files that are no text, and UTF-16, are refused.  A file must not
    change while it is read.

    Args:
        files: A path, glob or folder, or a list of them.
        pattern: How to split texts, the name of a pattern or a regex.
        special_tokens: Texts that separate the text in which they are found, and are not counted.
        **options: The fields of `Counting`: `max_memory`, `checkpoint`, `executor`, `threads`, `sample`, `document`,
            `text_field`, `format`, `max_pretoken_bytes`, `progress`.

    Returns:
        The pretokens and how often each occurs, in the order of their first appearance.

    Raises:
        ValueError: An argument has a wrong value; `PatternError` names an unknown pattern.
        TypeError: An argument has the wrong type.
        CorpusError: A file cannot be read as text, or a checkpoint is not ours, in use, damaged or of another count.
        OSError: A file cannot be read; the error names it.
        ImportError: A package is needed to read a file.

    Example:
        >>> from pathlib import Path
        >>> from tempfile import TemporaryDirectory
        >>> with TemporaryDirectory() as folder:
        ...     _ = Path(folder, "a.txt").write_text("low lower low")
        ...     counts = count(folder, pattern="gpt2")
        >>> list(counts), counts.total, counts.summary.bytes
        ([(b'low', 1), (b' lower', 1), (b' low', 1)], 3, 13)

    """
    how = Counting(**options)
    spec = how.spec(pattern, special_tokens)
    with how.reporting() as report:
        return count_files(files, spec, how, report)


def count_from_iterator(
    texts: Iterable[Text] | Iterable[Sequence[Text]],
    *,
    pattern: str | Sequence[str],
    special_tokens: Sequence[str] = (),
    **options: Unpack[TextOptions],
) -> PretokenCounts:
    """Count the pretokens of texts.

    Args:
        texts: Texts, each `str` or bytes-like; or lists of texts, if the first item is one.
        pattern: How to split texts, the name of a pattern or a regex.
        special_tokens: Texts that separate the text in which they are found, and are not counted.
        **options: The fields of `Counting`, less `text_field` and `format`.  With `checkpoint`, a second call must be
            given the same texts; it passes over those that are done.

    Returns:
        The pretokens and how often each occurs, in the order of their first appearance.

    Raises:
        ValueError: As `count`.
        TypeError: As `count`; an item that is no text is named by its number.
        CorpusError: As `count`, of a checkpoint.

    Example:
        >>> count_from_iterator(["low lower", "low"], pattern="gpt2").most_common(1)
        [(b'low', 2)]

    """
    how = Counting(**options)
    spec = how.spec(pattern, special_tokens)
    with how.reporting() as report:
        return count_texts(texts, spec, how, report)


def count_files(
    files: CorpusPaths, spec: CountingSpec, options: Counting, report: Report, growth: Growth | None = None
) -> PretokenCounts:
    """Count files; `growth` is called with lower bounds while the counts grow."""
    if isinstance(files, Iterator):
        files = list(files)
    paths = corpus_paths(files)
    if options.checkpoint is not None:
        given = [files] if isinstance(files, str | os.PathLike) else files
        _check_checkpoint(Path(options.checkpoint), [*given, *paths])
    return CountRun(Files(paths, options.reading()), spec, options, report, growth).run()


def count_texts(
    texts: Iterable[Text] | Iterable[Sequence[Text]],
    spec: CountingSpec,
    options: Counting,
    report: Report,
    growth: Growth | None = None,
) -> PretokenCounts:
    """Count texts; `growth` as in `count_files`."""
    if isinstance(texts, (str, bytes, bytearray, memoryview)) or not isinstance(texts, Iterable):
        raise TypeError(f"expected an iterable of texts, not one {type(texts).__name__}")
    if options.text_field != Counting.text_field or options.format is not None:
        name = "format" if options.format is not None else "text_field"
        raise ValueError(f"Counting.{name} is {getattr(options, name)!r}; expected it with files alone, not with texts")
    return CountRun(Iterated(texts, options.reading()), spec, options, report, growth).run()


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
