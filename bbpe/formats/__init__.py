"""Vocabulary files: one module for each format, one row for each module (`rows.py`)."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NoReturn

from ..errors import VocabularyError
from ..files import StrPath, open_file
from ..models import Unigram, WordPiece
from ..patterns import Pattern
from ..spec import TextRules, TokenizerSpec
from .character_keys import keys_of_characters
from .ranks import merges_of, ranks_of
from .reading import about
from .rows import FORMATS, Format

__all__ = ["FORMATS", "Format", "dump", "format_of", "keys_of_characters", "load", "merges_of", "ranks_of", "sniff"]


# What is known and not read, by how it begins.
_REFUSED = {
    "a pointer of Git LFS, not the file itself (`git lfs pull` gets it)": re.compile(rb"version https://git-lfs"),
    "a web page": re.compile(rb"\s*<(?:!doctype|html)", re.IGNORECASE),
    "a gzip file": re.compile(rb"\x1f\x8b"),
    "a zstd file": re.compile(rb"\x28\xb5\x2f\xfd"),
    "an xz file": re.compile(rb"\xfd7zXZ\x00"),
    "a zip file": re.compile(rb"PK\x03\x04"),
}

# Formats that can say what happens to a text before it is split.
_HOLD_RULES = ("huggingface", "sentencepiece", "gguf", "wordpiece", "codes")
# The formats of models other than BPE.
_HOLD_MODELS: dict[type, tuple[str, ...]] = {
    WordPiece: ("huggingface", "wordpiece"),
    Unigram: ("huggingface", "sentencepiece", "gguf"),
}

_HEAD_BYTES = 1 << 16


def sniff(path: StrPath) -> str:
    r"""Return the name of the format of a file or folder, by content and name.

    Raises `VocabularyError` that lists the formats when it is none of them, `OSError` when it cannot be
    read.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = Path(folder, "x").write_text("IQ== 0\nIg== 1\n")
    ...     sniff(Path(folder, "x"))
    'tiktoken'
    """
    given = Path(path)
    if given.is_dir():
        return _sniff_folder(given)
    with open_file(given) as file:
        head = file.read(_HEAD_BYTES)
    for kind, begins in _REFUSED.items():
        if begins.match(head):
            _refuse(f"found {kind}, which is not supported", given)
    by_content = [name for name, row in FORMATS.items() if row.head.match(head)]
    by_name = [name for name, row in FORMATS.items() if _missing(given, row) is not None]
    # of two formats with a file of this name, the one whose other file is there
    by_name.sort(key=lambda name: _missing(given, FORMATS[name]) or 0)
    # one that needs two files is known by their names; content alone may be a broken file of another format
    alone = [name for name in by_content if len(FORMATS[name].names[0]) == 1]
    fitting = [name for name in by_name if name in by_content] or alone or by_name or by_content
    if not fitting:
        _refuse(f"found a file that begins with {head[:40]!r}" if head else "found an empty file", given)
    return fitting[0]


def load(
    path: StrPath,
    *,
    pattern: str | Sequence[str] | Pattern | None = None,
    special_tokens: Mapping[str, int] | None = None,
    name: str | None = None,
) -> TokenizerSpec:
    """Read a vocabulary file or folder of any format.

    `pattern` and `special_tokens` replace what the file says or what is known of it.

    Raises `VocabularyError` with file, place and what was expected, `PatternError` on a pattern that
    cannot be followed exactly or is not known, `OSError` when a file cannot be read.
    """
    row = FORMATS[sniff(path)]
    given = Path(path)
    if given.is_dir() and len(row.names[0]) == 1:
        given = given / row.names[0][0]
    try:
        with about(given):
            return row.load(given, pattern=pattern, special_tokens=special_tokens, name=name)
    except RecursionError:
        raise VocabularyError("the file is nested too deeply; expected a vocabulary", path=given) from None


def dump(spec: TokenizerSpec, path: StrPath, format: str | None = None) -> None:  # noqa: A002
    """Write a spec in a format, or in the one that the path's suffix says.

    `.json` is "huggingface", or "tekken" for one with "tekken" in its name, `.tiktoken` is "tiktoken", `.gguf` is
    "gguf", `.model` is "sentencepiece", `.txt` is "wordpiece" and `.codes` is "codes"; a folder, or a path without a
    suffix, is "gpt2".

    Raises `VocabularyError` on an unknown format or suffix, and when the format cannot hold the spec;
    `OSError` when the file cannot be written.
    """
    given = Path(path)
    if format is None:
        format = format_of(given)  # noqa: A001
    if format not in FORMATS:
        raise VocabularyError(f"unknown format {format!r}; expected one of: {', '.join(FORMATS)}", path=path)
    row = FORMATS[format]
    if format not in _HOLD_RULES and (spec.rules != TextRules() or spec.characters is not None or spec.token_options):
        raise VocabularyError(
            f"{row.description} holds no normalizer, prefix, options of special tokens or characters, which this "
            "tokenizer has; write tokenizer.json",
            path=path,
        )
    if spec.model is not None and format not in _HOLD_MODELS[type(spec.model)]:
        kind = type(spec.model).__name__
        raise VocabularyError(f"{row.description} holds no {kind}; write tokenizer.json", path=path)
    if given.is_dir() and len(row.names[0]) == 1:
        given = given / row.names[0][0]  # a folder that is not there yet is made by the formats that have one
    with about(given):
        row.dump(spec, given)


def _sniff_folder(folder: Path) -> str:
    for name, row in FORMATS.items():
        if any(all((folder / file).is_file() for file in files) for files in row.names):
            return name
    found = sorted(entry.name for entry in folder.iterdir())
    shown = ", ".join(found[:8]) + (", ..." if len(found) > 8 else "")
    return _refuse(f"found a folder with {shown}" if found else "found an empty folder", folder)


def _missing(path: Path, row: Format) -> int | None:
    """How many files of a format are missing beside a file; `None` when the name is not the format's."""
    for files in row.names:
        for ending in files:
            if path.name.endswith(ending):
                prefix = path.name.removesuffix(ending)
                return sum(not path.with_name(prefix + file).exists() for file in files)
    return None


def format_of(path: Path) -> str:
    """Return the name of the format that a path's suffix says; `VocabularyError` when it says none."""
    if path.is_dir() or not path.suffix:
        return "gpt2"
    if path.suffix == ".json" and "tekken" in path.name:
        return "tekken"
    by_suffix = {".json": "huggingface", ".tiktoken": "tiktoken", ".gguf": "gguf", ".model": "sentencepiece"}
    by_suffix |= {".txt": "wordpiece", ".codes": "codes"}
    if path.suffix not in by_suffix:
        raise VocabularyError(
            f"suffix {path.suffix!r} says no format; expected {', '.join(by_suffix)}, a folder, "
            f"or format= one of: {', '.join(FORMATS)}",
            path=path,
        )
    return by_suffix[path.suffix]


def _refuse(found: str, path: Path) -> NoReturn:
    known = ", ".join(row.description for row in FORMATS.values())
    raise VocabularyError(f"{found}; expected one of: {known}", path=path)
