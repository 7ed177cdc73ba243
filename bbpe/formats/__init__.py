"""Recognise, read and write vocabulary files; each format has a module and a row in `rows.py`.

A folder is a family: `huggingface`, `gguf`, `sentencepiece`, and `transformers` for folders whose class makes a
tokenizer.json.  `common` has parts that several formats share; every other module but `saving` is a format.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Any, NoReturn

from ..errors import VocabularyError
from ..files import ReadFile, StrPath, check_upload, is_remote, local_path, open_file, write_atomic, write_folder_atomic
from ..lazy import safe_import
from ..records import check_file_name, choice, is_file_suffix, kind, replace, whole
from ..spec.models import SymbolModel, WordLevelModel
from ..spec.rules import Charsmap, SqueezeBlanks
from ..spec.spec import TextRules, TokenizerSpec
from ..splitting.patterns import Pattern
from .common.given import Given
from .common.reading import about, read_json, shown
from .rows import FORMATS, FormatRow
from .transformers.folder import CONFIG, MODEL, WITHIN, ClassFolder

__all__ = [
    "FORMATS", "FormatRow", "Given", "check_whole", "checked_format", "dump", "file_path", "format_by_name",
    "format_of", "given", "load", "load_bytes", "put", "sniff", "written",
]  # fmt: skip


# Files that are recognised by their first bytes and refused.
_BOM = "a byte order mark (BOM) before the text (save it as UTF-8 without one)"
_REFUSED = {
    b"version https://git-lfs": "a pointer of Git LFS, not the file itself (`git lfs pull` gets it)",
    b"\xef\xbb\xbf": _BOM,
    b"\xff\xfe": _BOM,
    b"\xfe\xff": _BOM,
    b"\x1f\x8b": "a gzip file (decompress it first)",
    b"\x28\xb5\x2f\xfd": "a zstd file (decompress it first)",
    b"\xfd7zXZ\x00": "an xz file (decompress it first)",
    b"PK\x03\x04": "a zip file (unpack it first)",
}
_SECOND_FILES = tuple(file for row in FORMATS.values() for files in row.names for file in files[1:])
_WEB_PAGES = (b"<!doctype", b"<html")

_HEAD_BYTES, _SHOWN_BYTES = 1 << 16, 64
#: What messages call a file that is given by its content.
_BYTES = Path("<bytes>")
# the fewest keys of a byte-level vocabulary, and the most fields that a message shows
_LEAST_KEYS, _SHOWN_KEYS = 256, 5


def sniff(path: StrPath) -> str:
    r"""Return the name of the format of a file or folder, by content and name.

    Raises `VocabularyError` with a list of the formats when none fits, `OSError` when the file cannot be read.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = Path(folder, "x").write_text("IQ== 0\nIg== 1\n")
    ...     sniff(Path(folder, "x"))
    'tiktoken'
    """
    checked = file_path(path)
    if checked.is_dir():
        return _sniff_folder(ClassFolder(checked))[0]
    try:
        with open_file(checked) as file:
            head = file.read(_HEAD_BYTES)
    except FileNotFoundError as error:
        raise FileNotFoundError(error.errno, _unknown_name(str(path)) or error.strerror, str(path)) from None
    return _by_head(head, checked, checked)


def _by_head(head: bytes, checked: Path, source: StrPath) -> str:
    """Return the name of the format of a file, which `source` reads, by its first bytes and its name."""
    _check_refused(head, checked)
    by_name = [name for name, row in FORMATS.items() if _missing(checked, row) is not None]
    # if two formats have a file of this name, prefer the format whose other file exists
    by_name.sort(key=lambda name: _missing(checked, FORMATS[name]) or 0)
    # a format of two files is recognised by their names, because the content alone may be a broken file of any format
    alone = (name for name, row in FORMATS.items() if len(row.names[0]) == 1)
    # each content is compared in turn, because its regex is compiled for it
    fitting = next((name for name in (*by_name, *alone) if FORMATS[name].head.match(head)), None)
    if by_name and checked.name.endswith(_SECOND_FILES) and _missing(checked, FORMATS[by_name[0]]) == 0:
        fitting = by_name[0]  # merges of a vocabulary, not codes without ids
    fitting = fitting or (by_name[0] if by_name else None)
    if fitting is None and head.lstrip()[:1] in (b"{", b"["):
        _refuse_json(source)
    if fitting is None:
        _refuse(f"found a file that begins with {head[:40]!r}" if head else "found an empty file", checked)
    return fitting


def _check_refused(head: bytes, path: Path) -> None:
    """Raise `VocabularyError` on a file of a kind that users confuse with a vocabulary."""
    for begins, found in _REFUSED.items():
        if head.startswith(begins):
            _refuse(f"found {found}", path)
    if head.lstrip()[: len(_WEB_PAGES[0])].lower().startswith(_WEB_PAGES):
        _refuse("found a web page", path)


def load(
    path: StrPath,
    *,
    pattern: str | Sequence[str] | Pattern | None = None,
    special_tokens: Mapping[str, int] | None = None,
    name: str | None = None,
) -> TokenizerSpec:
    """Read a vocabulary file or folder of any format.

    `pattern` and `special_tokens` replace those of the file or of the known vocabulary.

    Raises `VocabularyError` naming the file, the position and the expectation; `PatternError` on a pattern that is
    unknown or cannot be followed exactly; `OSError` when a file cannot be read.
    """
    is_folder = isinstance(path, str | os.PathLike) and Path(path).is_dir()
    folder = ClassFolder(Path(path)) if is_folder else None
    found, source = (sniff(path), Path(path)) if folder is None else _sniff_folder(folder)
    row = FORMATS[found]
    if folder is None and any(source.with_name(other).exists() for other in WITHIN):
        folder = ClassFolder(source.parent)
    own = replace(given(pattern=pattern, special_tokens=special_tokens, name=name), folder=folder, is_folder=is_folder)
    try:
        if folder is not None and is_folder and source.name == CONFIG:
            safe_import("bbpe.formats.transformers.load")
            from .transformers.load import load_own

            return load_own(folder, own)
        spec = row.load(source if folder is None else folder.opened(source), own)
        if spec.files or folder is None or not _has_folder(source, own, row):
            return spec  # a class of tokenizers has read the folder itself
        is_model = is_folder and row is FORMATS["sentencepiece"]
        if not (folder.has_others or (is_model and folder.has(MODEL))):
            return spec
        with about(source):
            is_plain = is_model or (is_folder and row is FORMATS["tiktoken"])
            return folder.completed(spec, has_flags=is_plain, has_ends=is_model)
    except RecursionError:
        raise VocabularyError("the file is nested too deeply; expected a vocabulary", path=source) from None


def load_bytes(data: bytes, own: Given) -> TokenizerSpec:
    """Read the content of a vocabulary file of any format that has one file; errors as `load`."""
    source = ReadFile(_BYTES, data)
    row = FORMATS[_by_head(data[:_HEAD_BYTES], _BYTES, source)]
    try:
        # no file beside it counts
        return row.load(source, replace(own, folder=ClassFolder(_BYTES)))
    except RecursionError:
        raise VocabularyError("the file is nested too deeply; expected a vocabulary", path=_BYTES) from None


def _has_folder(source: Path, given: Given, row: FormatRow) -> bool:
    """Return whether `transformers` reads other files beside a vocabulary that is not a tokenizer.json."""
    is_ranks = given.is_folder and row is FORMATS["tiktoken"]
    names = {name for row in FORMATS.values() if row.has_folder for name in row.names[0]}
    return source.is_dir() or is_ranks or source.name in names


def written(spec: TokenizerSpec, path: StrPath, format: str | None = None) -> dict[Path, bytes]:  # noqa: A002
    """Return the paths and bytes of the files of a spec in a format, all in one folder.

    The default of `format` depends on the suffix of the path: `.json` is "huggingface", or "tekken" for a name with
    "tekken" in it; `.tiktoken` is "tiktoken", `.gguf` is "gguf", `.model` is "sentencepiece", `.txt` is "wordpiece"
    and `.codes` is "codes".  A path without a suffix is a folder for a tokenizer.json.

    Raises `ValueError` on an unknown format or suffix, and on a folder that exists for a file of any name, such as
    `.tiktoken`; `VocabularyError` when the format cannot hold the spec.
    """
    target = file_path(path)
    row = FORMATS[checked_format(format) or format_of(target)]
    if spec.rules.codes is not None or isinstance(spec.model, SymbolModel):
        problem = "no format holds the rules of the class of this folder; copy the folder that the tokenizer is from"
        raise VocabularyError(problem, path=path)
    needed = _only_in_a_model(spec, row)
    if needed:
        raise VocabularyError(f"{row.description} holds no {needed}; write a SentencePiece .model", path=path)
    if not row.holds_rules and (spec.rules != TextRules() or spec.characters is not None or spec.token_options):
        raise VocabularyError(
            f"{row.description} holds no normalizer, prefix, options of special tokens or characters, but this "
            "tokenizer has some; write tokenizer.json",
            path=path,
        )
    if spec.model is not None and type(spec.model) not in row.models:
        kind = type(spec.model).__name__
        raise VocabularyError(f"{row.description} holds no {kind}; write tokenizer.json", path=path)
    files = row.written(spec, _file_of(target, row))
    if target in files:
        check_file_name(path)
    return files


def _file_of(target: Path, row: FormatRow) -> Path:
    """Return the file in a folder that exists, or the folder if the format names all of its files itself."""
    if not target.is_dir() or row.writes_folder:
        return target
    name = row.names[0][0]
    if name.startswith("."):
        way = f"{row.description} is a file of any name; give one, such as {target / f'tokenizer{name}'}"
        raise ValueError(f"{target} is a folder, and {way}")
    return target / name


def put(files: Mapping[Path, bytes], path: StrPath) -> None:
    """Write the files that `written` returned for a path, all or none; make the folder if the path is one.

    A URL gets one file, if that has its name; `check_whole` refuses others before work begins.

    Raises `OSError` naming the file that cannot be written, `ValueError` naming a URL that cannot.
    """
    if is_remote(path):
        target = file_path(path)
        if set(files) != {target}:
            raise _in_folder(path, files)
        write_atomic(path, files[target])
        return
    target = local_path(path, "")
    if target in files and len(files) == 1:
        write_atomic(path, files[target])
        return
    folder = target.parent if target in files else target
    write_folder_atomic(folder, {str(file.relative_to(folder)): data for file, data in files.items()})


def check_whole(path: StrPath, format: str | None) -> None:  # noqa: A002
    """Check that a tokenizer can be written to a URL, which takes one file, or to a folder that exists.

    Raises `ValueError` where the format has a folder of files, or the URL is that of one, where a folder is given for a
    file of any name, and as `check_upload`.
    """
    target = file_path(path)
    row = FORMATS[format or format_of(target)]
    if is_remote(path):
        names = row.names[0]
        if len(names) > 1 or not target.suffix:
            raise _in_folder(path, names)
        check_upload(os.fspath(path))
    else:
        _file_of(target, row)


def _in_folder(path: StrPath, files: Iterable[object]) -> ValueError:
    names = ", ".join(sorted(Path(str(file)).name for file in files))
    return ValueError(
        f"{os.fspath(path)}: a folder is not written to a URL, and there would be one of {names}; name a single file, "
        "such as tokenizer.json, or save to a local folder and upload it"
    )


def dump(spec: TokenizerSpec, path: StrPath, format: str | None = None) -> None:  # noqa: A002
    """Write a spec in a format without reading it back; `saving.proven` checks the files first.

    Raises the errors of `written`, and `OSError` when a file cannot be written.
    """
    put(written(spec, path, format), path)


def _only_in_a_model(spec: TokenizerSpec, row: FormatRow) -> str:
    """Return the part of a spec that a SentencePiece .model holds and the given format does not, or ""."""
    if row is FORMATS["sentencepiece"]:
        return ""
    if isinstance(spec.model, WordLevelModel) and spec.model.fuses:
        return "words of which unknown neighbours become one"
    if isinstance(spec.decoder[-1], Charsmap):
        return "table for decoded text (SentencePiece's denormalizer_spec)"
    if row.holds_pieces:
        return ""
    rules = (rule for rule in spec.rules.normalizers if isinstance(rule, Charsmap | SqueezeBlanks))
    rule = next(rules, None)
    if rule is not None:
        return f"normalizer like SentencePiece's {type(rule).__name__}"
    if spec.merge_levels or (spec.characters is not None and spec.characters.unused):
        return "pieces of equal scores or of the type UNUSED"
    has_symbols = any(options.verbatim for options in spec.token_options.values())
    return "user-defined symbols, which are found in the normalized text" if has_symbols else ""


def given(*, pattern: Any = None, special_tokens: Any = None, name: str | None = None) -> Given:
    """Return the arguments of a caller for a file; `TypeError` for special tokens that do not map texts to ids."""
    return Given(pattern, _checked_specials(special_tokens), name)


def _checked_specials(special_tokens: object) -> dict[str, int] | None:
    """Return the special tokens of a caller; `TypeError` unless they map texts to ids."""
    if special_tokens is None:
        return None
    if not isinstance(special_tokens, Mapping):
        raise TypeError(f"special_tokens must map each text to its id, not be {type(special_tokens).__name__}")
    for text, token_id in special_tokens.items():
        if not isinstance(text, str):
            raise TypeError(f"special_tokens must map each text to its id; found {text!r}: {token_id!r}")
    return {text: whole(f"special_tokens[{text!r}]", token_id) for text, token_id in special_tokens.items()}


def file_path(path: object) -> Path:
    """Return the path of a file or a folder, of a URL only its name; `TypeError` unless it is a path."""
    if not isinstance(path, str | os.PathLike):
        raise TypeError(f"path must be a str or a path, not {type(path).__name__}")
    # the files of a URL are made under its name, and then uploaded
    return Path(PurePosixPath(os.fspath(path)).name) if is_remote(path) else local_path(path, "")


def _sniff_folder(folder: ClassFolder) -> tuple[str, Path]:
    """Return the format of a folder, and the path to read: its file if no other name fits the format, or the folder.

    A class that reads files of its own makes a tokenizer.json of them; the path is then that of its configuration.
    """
    safe_import("bbpe.formats.transformers.names")
    from .transformers.names import class_of, own_class, refused_class

    if own_class(folder) is not None:
        return "huggingface", folder.path / CONFIG
    if folder.has("source.spm") and class_of(folder).short == "Marian":
        return "sentencepiece", folder.path  # the class reads no tokenizer.json
    for name, row in FORMATS.items():
        found = next((files for files in row.names if all(map(folder.has, files))), None)
        if found is not None:
            heads = [folder.file(file).data[:_HEAD_BYTES] for file in found]
            for file, head in zip(found, heads, strict=True):
                _check_refused(head[:_SHOWN_BYTES], folder.path / file)
            if not found[0].endswith(".json") and FORMATS["tiktoken"].head.match(heads[0]):
                return _ranks(folder, found[0])  # a tokenizer.model may be a list of ranks
            is_file = len(found) == 1 and name != "sentencepiece"  # whose module looks for one of many names
            return name, folder.path / found[0] if is_file else folder.path
    ranks = sorted(folder.path.glob("*.tiktoken"))
    if len(ranks) == 1:
        return _ranks(folder, ranks[0].name)
    if class_of(folder).name:
        raise refused_class(folder, "is not supported, or the files that it reads are missing")
    entries = sorted(entry.name for entry in folder.path.iterdir())
    shown = ", ".join(entries[:8]) + (", ..." if len(entries) > 8 else "")
    return _refuse(f"found a folder with {shown}" if entries else "found an empty folder", folder.path)


def _ranks(folder: ClassFolder, file: str) -> tuple[str, Path]:
    """Return the format and the path of ranks; refuse a folder whose class reads another vocabulary."""
    safe_import("bbpe.formats.transformers.names")
    from .transformers.names import class_of, refused_class

    named = class_of(folder)
    if named.is_known and named.short != "Llama":
        raise refused_class(folder, f"reads no ranks, but {file} is a list of them; expected another class, or none")
    return "tiktoken", folder.path / file


def _missing(path: Path, row: FormatRow) -> int | None:
    """Return how many files of a format are missing next to a file; `None` if its name does not fit the format."""
    for files in row.names:
        for ending in files:
            if path.name.endswith(ending):
                prefix = path.name.removesuffix(ending)
                return sum(not path.with_name(prefix + file).exists() for file in files)
    return None


def checked_format(name: str | None) -> str | None:
    """Return the name of a format; `ValueError` with the closest name when the format is unknown."""
    kind("format", name, str | None, "a str or None")
    if name is not None and name not in FORMATS:
        near = next((format_name for format_name, row in FORMATS.items() if name.lower() in row.synonyms), None)
        choice("format", name, FORMATS, hint=f"; did you mean {near!r}?" if near else "")
    return name


def format_of(path: Path) -> str:
    """Return the name of the default format of a path; an existing or a new folder gets a tokenizer.json.

    Raises `ValueError` for a new path with the suffix of a file that no format has: a folder of that name would be a
    surprise.
    """
    found = "huggingface" if path.is_dir() else format_by_name(path)
    if found is None and is_file_suffix(path.suffix):
        known = ", ".join(sorted({Path(row.written_as).suffix for row in FORMATS.values() if row.written_as}))
        named = next((name for name, row in FORMATS.items() if (path.suffix,) in row.names), None)
        way = "for a folder, a name without a suffix, or format='huggingface'"
        way = way if named is None else f"or format={named!r} with this name"
        raise ValueError(f"{path}: no format is chosen by the suffix {path.suffix!r}; expected one of {known}; {way}")
    return found or "huggingface"


def format_by_name(path: Path) -> str | None:
    """Return the name of the format that a file of this name gets by default."""
    fitting = [name for name, row in FORMATS.items() if row.written_as and path.match(row.written_as)]
    return max(fitting, key=lambda name: len(FORMATS[name].written_as), default=None)


def _unknown_name(name: str) -> str | None:
    """Return the message for a text that is neither a file nor a name of a tokenizer; `None` for the path of a file."""
    if format_by_name(Path(name)) is not None:
        return None
    safe_import("bbpe.published.find")
    from ..published.find import hub_cache
    safe_import("bbpe.published.names")
    from ..published.names import is_repository, near_names

    if is_repository(name):
        return (
            "there is no such file, nor a repository of this name in the cache of the Hugging Face hub, "
            f"{hub_cache()}; `hf download {name}` downloads it"
        )
    if "/" in name or "\\" in name:
        return None
    hint = near_names(name) or "; load an open model by its folder, or by org/name after `hf download org/name`"
    return f"there is no such file, vocabulary or model{hint}"


def _refuse_json(path: StrPath) -> NoReturn:
    """Raise `VocabularyError` that describes a JSON file that is not a vocabulary."""
    value = read_json(path)
    if not isinstance(value, dict):
        _refuse(f"found JSON that is {shown(value)}", path)
    if len(value) >= _LEAST_KEYS and all(type(token_id) is int for token_id in value.values()):
        problem = f"found {len(value)} tokens and ids under another name; expected vocab.json next to its merges.txt"
        raise VocabularyError(problem, path=path)
    fields = ", ".join(map(repr, list(value)[:_SHOWN_KEYS])) or "none"
    problem = f'found a JSON object without the field "model", so it is not a tokenizer.json; its fields are {fields}'
    raise VocabularyError(f"{problem}; expected a tokenizer.json, a vocab.json or a tekken.json", path=path)


def _refuse(found: str, path: StrPath) -> NoReturn:
    known = ", ".join(row.description for row in FORMATS.values())
    raise VocabularyError(f"{found}; expected one of: {known}", path=path)
