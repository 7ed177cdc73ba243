"""Vocabulary files: one module for each format, one row for each module (`rows.py`)."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import NoReturn

from ..errors import VocabularyError
from ..files import StrPath, open_file, write_atomic, write_folder_atomic
from ..published.models import name_for_model
from ..published.table import ALIASES, PUBLISHED
from ..spec.models import UnigramModel, WordPieceModel
from ..spec.spec import TextRules, TokenizerSpec
from ..splitting.patterns import Pattern
from .character_keys import keys_of_characters
from .ranks import merges_of, ranks_of
from .reading import about, read_json, shown
from .rows import FORMATS, Format

__all__ = ["FORMATS", "Format", "checked_format", "dump", "format_of", "keys_of_characters", "load", "merges_of", "put"]
__all__ += ["ranks_of", "sniff", "written"]


# What is known and not read, by how it begins.
_REFUSED = {
    "a pointer of Git LFS, not the file itself (`git lfs pull` gets it)": re.compile(rb"version https://git-lfs"),
    "a byte order mark (BOM) before the text (save it as UTF-8 without one)": re.compile(
        rb"\xef\xbb\xbf|\xff\xfe|\xfe\xff"
    ),
    "a web page": re.compile(rb"\s*<(?:!doctype|html)", re.IGNORECASE),
    "a gzip file (decompress it first)": re.compile(rb"\x1f\x8b"),
    "a zstd file (decompress it first)": re.compile(rb"\x28\xb5\x2f\xfd"),
    "an xz file (decompress it first)": re.compile(rb"\xfd7zXZ\x00"),
    "a zip file (unpack it first)": re.compile(rb"PK\x03\x04"),
}

# Formats that can say what happens to a text before it is split.
_HOLD_RULES = ("huggingface", "sentencepiece", "gguf", "wordpiece", "codes")
# The formats of models other than BPE.
_HOLD_MODELS: dict[type, tuple[str, ...]] = {
    WordPieceModel: ("huggingface", "wordpiece"),
    UnigramModel: ("huggingface", "sentencepiece", "gguf"),
}

_HEAD_BYTES = 1 << 16
# the keys of a vocabulary of bytes, and those that a message shows
_LEAST_KEYS, _SHOWN_KEYS = 256, 5


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
    given = _path_of(path)
    if given.is_dir():
        return _sniff_folder(given)
    try:
        with open_file(given) as file:
            head = file.read(_HEAD_BYTES)
    except FileNotFoundError as error:
        raise FileNotFoundError(error.errno, f"{error.strerror}{_published_like(str(path))}", str(path)) from None
    for kind, begins in _REFUSED.items():
        if begins.match(head):
            _refuse(f"found {kind}", given)
    by_content = [name for name, row in FORMATS.items() if row.head.match(head)]
    by_name = [name for name, row in FORMATS.items() if _missing(given, row) is not None]
    # of two formats with a file of this name, the one whose other file is there
    by_name.sort(key=lambda name: _missing(given, FORMATS[name]) or 0)
    # one that needs two files is known by their names; content alone may be a broken file of another format
    alone = [name for name in by_content if len(FORMATS[name].names[0]) == 1]
    fitting = [name for name in by_name if name in by_content] or alone or by_name
    if not fitting and head.lstrip()[:1] in (b"{", b"["):
        _refuse_json(given)
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


def written(spec: TokenizerSpec, path: StrPath, format: str | None = None) -> dict[Path, bytes]:  # noqa: A002
    """Return the files that hold a spec in a format, in one folder: their paths and bytes.

    `format` is by default the one that the path's name says: `.json` is "huggingface", or "tekken" for one with
    "tekken" in its name, `.tiktoken` is "tiktoken", `.gguf` is "gguf", `.model` is "sentencepiece", `.txt` is
    "wordpiece" and `.codes` is "codes"; any other path is a folder with a tokenizer.json.

    Raises `ValueError` on an unknown format, `VocabularyError` when the format cannot hold the spec.
    """
    given = _path_of(path)
    chosen = checked_format(format) or format_of(given)
    row = FORMATS[chosen]
    if chosen not in _HOLD_RULES and (spec.rules != TextRules() or spec.characters is not None or spec.token_options):
        raise VocabularyError(
            f"{row.description} holds no normalizer, prefix, options of special tokens or characters, which this "
            "tokenizer has; write tokenizer.json",
            path=path,
        )
    if spec.model is not None and chosen not in _HOLD_MODELS[type(spec.model)]:
        kind = type(spec.model).__name__
        raise VocabularyError(f"{row.description} holds no {kind}; write tokenizer.json", path=path)
    if given.is_dir() and len(row.names[0]) == 1:
        given = given / row.names[0][0]  # a folder that is not there yet is made by the formats that have one
    with about(given):
        return row.written(spec, given)


def put(files: Mapping[Path, bytes], path: StrPath) -> None:
    """Write what `written` returned for a path: all files or none; a folder is made where the path is one.

    Raises `OSError` naming the file that cannot be written.
    """
    target = Path(path)
    if target in files and len(files) == 1:
        write_atomic(target, files[target])
        return
    folder = target.parent if target in files else target
    write_folder_atomic(folder, {file.name: data for file, data in files.items()})


def dump(spec: TokenizerSpec, path: StrPath, format: str | None = None) -> None:  # noqa: A002
    """Write a spec in a format, as `written` returns it; what comes back is not compared.

    Raises as `written` does, and `OSError` when a file cannot be written.
    """
    put(written(spec, path, format), path)


def _path_of(path: object) -> Path:
    if not isinstance(path, str | os.PathLike):
        raise TypeError(f"a tokenizer is named by a str or a path, not {type(path).__name__}")
    return Path(path)


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


#: What people call a format elsewhere.
_CALLED = {
    "hf": "huggingface", "json": "huggingface", "tokenizer.json": "huggingface", "tokenizers": "huggingface",
    "transformers": "huggingface", "bert": "wordpiece", "vocab.txt": "wordpiece", "spm": "sentencepiece",
    "model": "sentencepiece", "vocab.json": "gpt2", "llama.cpp": "gguf", "ggml": "gguf", "mistral": "tekken",
    "ranks": "tiktoken", "bpe": "gpt2", "subword-nmt": "codes",
}  # fmt: skip


def checked_format(name: str | None) -> str | None:
    """Return the name of a format; `ValueError` with the nearest one when there is none of this name."""
    if name is None or name in FORMATS:
        return name
    if not isinstance(name, str):
        raise TypeError(f"format must be a str or None, not {type(name).__name__}")
    near = [_CALLED[name.lower()]] if name.lower() in _CALLED else get_close_matches(name, FORMATS, n=1)
    hint = f"; did you mean {near[0]!r}?" if near else ""
    raise ValueError(f"format is {name!r}; expected one of {', '.join(map(repr, FORMATS))}{hint}")


_BY_SUFFIX = {
    ".json": "huggingface", ".tiktoken": "tiktoken", ".gguf": "gguf", ".model": "sentencepiece", ".txt": "wordpiece",
    ".codes": "codes",
}  # fmt: skip


def format_of(path: Path) -> str:
    """Return the name of the format that a path is written in; a folder, there or not, gets a tokenizer.json."""
    if path.is_dir():
        return "huggingface"
    if path.suffix == ".json" and "tekken" in path.name:
        return "tekken"
    return _BY_SUFFIX.get(path.suffix, "huggingface")


def _published_like(name: str) -> str:
    """Return what to call for a name that is no file but like a published one, as the end of a message."""
    if "/" in name or "\\" in name or Path(name).suffix in _BY_SUFFIX:
        return ""
    if name not in (*PUBLISHED, *ALIASES) and name_for_model(name) is not None:
        return f"; {name!r} is a model: bbpe.encoding_for_model({name!r})"
    near = get_close_matches(name.lower(), [*PUBLISHED, *ALIASES], n=1)
    if not near:
        return ""
    is_it = "is a published tokenizer" if near[0] == name else f"is like the published tokenizer {near[0]!r}"
    return f"; {name!r} {is_it}: bbpe.get_encoding({near[0]!r})"


def _refuse_json(path: Path) -> NoReturn:
    """Raise `VocabularyError` on a JSON file that is no vocabulary, saying what it holds."""
    value = read_json(path)
    if not isinstance(value, dict):
        _refuse(f"found JSON that is {shown(value)}", path)
    if len(value) >= _LEAST_KEYS and all(type(token_id) is int for token_id in value.values()):
        problem = f"found {len(value)} tokens and ids under another name; expected vocab.json beside its merges.txt"
        raise VocabularyError(problem, path=path)
    fields = ", ".join(map(repr, list(value)[:_SHOWN_KEYS])) or "none"
    problem = f'found a JSON object without the field "model", so it is no tokenizer.json; its fields are {fields}'
    raise VocabularyError(f"{problem}; expected a tokenizer.json, a vocab.json or a tekken.json", path=path)


def _refuse(found: str, path: Path) -> NoReturn:
    known = ", ".join(row.description for row in FORMATS.values())
    raise VocabularyError(f"{found}; expected one of: {known}", path=path)
