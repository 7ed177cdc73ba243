"""Vocabulary files: one module for each format, one row for each module.

A format module has `load(path, *, pattern, special_tokens, name) -> TokenizerSpec` and
`dump(spec, path) -> None`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from ..errors import VocabularyError
from ..files import StrPath
from ..patterns import Pattern
from ..spec import TokenizerSpec
from . import gpt2_files, tiktoken, tokenizer_json, vocab_txt
from .ranks import merges_of, ranks_of

__all__ = ["FORMATS", "Format", "dump", "load", "merges_of", "ranks_of", "sniff"]


class _Load(Protocol):
    def __call__(
        self,
        path: StrPath,
        *,
        pattern: str | Sequence[str] | Pattern | None = None,
        special_tokens: Mapping[str, int] | None = None,
        name: str | None = None,
    ) -> TokenizerSpec: ...


class _Dump(Protocol):
    def __call__(self, spec: TokenizerSpec, path: StrPath) -> None: ...


@dataclass(frozen=True)
class Format:
    """A vocabulary format.

    `files` are the names in a folder that must all be there, `endings` those of a file whose content does
    not tell, `head` what the first bytes of the file that holds the tokens look like (`None`: its name
    alone tells).
    """

    description: str
    load: _Load
    dump: _Dump
    files: tuple[str, ...]
    endings: tuple[str, ...]
    head: re.Pattern[bytes] | None = None


#: Formats by name; of a folder that holds several, the first is read.
FORMATS: dict[str, Format] = {
    "huggingface": Format(
        "tokenizer.json",
        tokenizer_json.load,
        tokenizer_json.dump,
        ("tokenizer.json",),
        ("tokenizer.json",),
        re.compile(
            rb'\s*\{\s*"(version|truncation|padding|added_tokens|normalizer|pre_tokenizer|post_processor|decoder|model)"'
            rb"\s*:\s*[^\s\d]"
        ),
    ),
    "vocab_txt": Format(
        "vocab.txt with merges.txt",
        vocab_txt.load,
        vocab_txt.dump,
        ("vocab.txt", "merges.txt"),
        ("vocab.txt",),
    ),
    "gpt2": Format(
        "vocab.json with merges.txt",
        gpt2_files.load,
        gpt2_files.dump,
        ("vocab.json", "merges.txt"),
        tuple(name for pair in gpt2_files.NAMES for name in pair),
        re.compile(rb'\s*\{\s*"(\\.|[^"\\])*"\s*:\s*-?\d'),
    ),
    "tiktoken": Format(
        ".tiktoken rank file",
        tiktoken.load,
        tiktoken.dump,
        (),
        (".tiktoken",),
        re.compile(rb"\s*(?=[^\s]*[A-Za-z0-9+/=])(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=|=)? +\d+\r?(\n|\Z)"),
    ),
}

# Kinds that are known and not read: by the first bytes of the file, and by its name.
_REFUSED = {
    "a GGUF model": (re.compile(rb"GGUF"), ".gguf"),
    "a SentencePiece model": (re.compile(rb"\n[\x00-\xff]{1,3}\n"), ".model"),
    "a tekken.json": (re.compile(rb'\s*\{[^{}]*\{?[\x00-\xff]*"token_bytes"'), "tekken.json"),
}

_HEAD = 1 << 16


def sniff(path: StrPath) -> str:
    """Return the name of the format of a file or folder, by content and name.

    Raises `VocabularyError` that lists the formats when it is none of them, `OSError` when it cannot be
    read.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = Path(folder, "x").write_text("IQ== 0\\nIg== 1\\n")
    ...     sniff(Path(folder, "x"))
    'tiktoken'
    """
    given = Path(path)
    if given.is_dir():
        return _sniff_folder(given)
    with given.open("rb") as file:
        head = file.read(_HEAD)
    for kind, (pattern, ending) in _REFUSED.items():
        if pattern.match(head):
            _refuse(path, f"found {kind} ({ending}), which is not supported")
    if given.name.endswith("merges.txt") and given.with_name(given.name.removesuffix("merges.txt") + "vocab.txt").exists():
        return "vocab_txt"
    for name, row in FORMATS.items():
        if row.head is None and given.name.endswith(row.endings):
            return name
    for name, row in FORMATS.items():
        if row.head is not None and row.head.match(head):
            return name
    for name, row in FORMATS.items():
        if given.name.endswith(row.endings):
            return name
    _refuse(path, f"found a file that begins with {head[:40]!r}" if head else "found an empty file")


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
    if given.is_dir() and len(row.files) == 1:
        given = given / row.files[0]
    return row.load(given, pattern=pattern, special_tokens=special_tokens, name=name)
