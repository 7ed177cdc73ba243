"""The files of a corpus: which ones names stand for, and of what kind each is.

The kind is what the caller asks, else what the name says, else what the first bytes show, which must fit it in any
case.  One mechanism for all that reads files: counting, training, sharding, encoding, and the command line.

A folder or a glob gives each file once.  Links to folders are followed.  Files that belong to a table or a data set but
hold no texts of it are left out, as readers of tables leave them out; a file that is named itself is always there.
"""

# names are kept as they are given, and a walk over a million files is quick
# ruff: noqa: PTH110, PTH112, PTH118, PTH122, PTH206, PTH207
from __future__ import annotations

import errno
import glob
import os
import stat
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, BinaryIO, Literal, TypeAlias, TypeVar, cast, get_args

from ..errors import CorpusError, MemoryLimitError, described
from ..files import is_url
from ..records import choice, dataclass, field
from ..text import counted
from .compressed import BROKEN, COMPRESSIONS, failure
from .contents import (
    BEGINS,
    BINARY,
    DESCRIPTIONS,
    HEAD,
    LINES,
    MARKS,
    PARQUET,
    are_json_lines,
    is_json_document,
    may_be_json,
    wide_encoding,
)  # fmt: skip
from .fields import FieldName, shown_field
from .urls import Url, expand, path_of

#: Where a file is: on this machine, or elsewhere.
FilePath: TypeAlias = Path | Url
Kind: TypeAlias = Literal["text", "jsonl", "json", "parquet"]
CorpusPaths = str | os.PathLike[str] | Iterable[str | os.PathLike[str]]
#: How a file may be asked to be read.
Format: TypeAlias = Literal["text", "jsonl", "parquet"]
FORMATS: tuple[Format, ...] = get_args(Format)
#: What happens at a line of JSON that cannot be read.
OnError: TypeAlias = Literal["raise", "skip"]

_T = TypeVar("_T")
#: The parts of the name of a file below a folder.
_Parts: TypeAlias = tuple[str, ...]

#: Suffixes of files that have a text in each record.
RECORDS = (".jsonl", ".ndjson", ".jsonlines", ".json", ".parquet")
#: What hubs of data sets store beside the data, and what Delta's tables have.
_INFOS, _CARD, _CHECKSUM = ("dataset_infos.json", "dataset_info.json", "dataset_dict.json"), "readme.md", ".crc"

#: Characters; no system has longer names, and `glob` would look for them level by level.
_LONGEST_NAME = 1 << 15
#: The most memory for the window of a decompressor, to look at the beginning of a file.
_WINDOW = 1 << 26
#: Where the system has the open files of a process.
_OPEN = ("/dev/stdin", "/dev/fd/", "/proc/")
#: Suffixes by which a file is text, whatever its first line looks like.
_TEXT = frozenset((
    ".txt .text .md .markdown .rst .tex .html .htm .xml .css .py .c .h .cc .cpp .hpp .java .js .go .rs .rb .php .sh "
    ".sql .yaml .yml .toml"
).split())  # fmt: skip
#: Suffixes of files that are not text, by a description for the message.
_NO_TEXT = {
    "an archive": ".zip .tar .tgz .tbz .tbz2 .txz .tzst .7z .rar .jar .whl .deb .rpm .iso .cab .cpio .dmg",
    "compressed in a way that is not read (.gz, .bz2, .xz and .zst are)": ".lz4 .lz .lzo .lzma .br .z .sz .snappy",
    "a table": (
        ".csv .tsv .xls .xlsx .xlsm .ods .arrow .feather .ipc .orc .avro .h5 .hdf5 .hdf .sqlite .sqlite3 .db "
        ".mdb .lmdb .lance .vortex .mds"
    ),
    "numbers or objects": (
        ".npy .npz .bin .idx .pkl .pickle .pt .pth .ckpt .safetensors .gguf .onnx .tfrecord .tfrecords .mat .ds"
    ),
    "web pages with their headers": ".warc .wet .wat",
    "a document with a format of its own": ".pdf .doc .docx .ppt .pptx .odt .odp .epub .mobi .djvu",
    "a picture, a sound or a film": (
        ".png .jpg .jpeg .gif .webp .bmp .tif .tiff .ico .mp3 .mp4 .m4a .wav .flac .ogg .avi .mov .mkv .webm"
    ),
    "a program": ".exe .dll .so .dylib .class .pyc .wasm",
}
_NO_TEXT_OF = {suffix: what for what, suffixes in _NO_TEXT.items() for suffix in suffixes.split()}


@dataclass(frozen=True)
class File:
    """A file of a corpus.

    `size`: its bytes when it was looked at; `None` for a pipe or a device.  `asked`: the caller says that it is text.
    `by_contents`: the kind is what its first bytes show.  `is_packed`: its name is that of a compressed file.
    `is_plain`: it is one text as it is on the disk, so that reading may begin anywhere in it.
    """

    path: FilePath
    kind: Kind
    size: int | None = None
    asked: bool = False
    by_contents: bool = False
    is_packed: bool = field(init=False)
    is_plain: bool = field(init=False)

    def __post_init__(self) -> None:
        packed = self.path.suffix.lower() in COMPRESSIONS
        object.__setattr__(self, "is_packed", packed)
        object.__setattr__(self, "is_plain", self.kind == "text" and bool(self.size) and not packed)


def corpus_paths(
    files: CorpusPaths, asked: Format | None = None, argument: str | None = None
) -> list[FilePath]:
    """Return the files that a path, a glob string, a folder, a URL of one of these, or a sequence of these stands for.

    The order is the one given, and a file that is given twice comes twice.  A folder or a glob yields each file once,
    sorted by name, as `expanded` says; `asked` is the kind that the caller says all files are.  Errors name `argument`,
    unless it is the only one that names files.

    Raises the errors of `expanded`, `CorpusError` when a text is given in place of a name, or nothing at all,
    `TypeError` when `files` is none of these.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = Path(folder, "b.txt").write_text("b"), Path(folder, "a.txt").write_text("a")
    ...     [path.name for path in corpus_paths([folder, f"{folder}/a.txt"])]
    ['a.txt', 'b.txt', 'a.txt']
    """
    as_text = asked == "text"
    found = [path for name in _names(files, argument or "files") for path in expanded(name, argument, as_text=as_text)]
    if not found:
        given = "no files given" if argument is None else f"{argument} names no files"
        raise CorpusError(f"{given}; expected a path, a glob, a folder, or a sequence of these")
    return found


def _names(files: CorpusPaths, argument: str) -> Iterator[str]:
    # the order of a set differs from run to run, and with it the merges
    if isinstance(files, str | os.PathLike):
        files = (files,)
    elif isinstance(files, bytes | bytearray | memoryview | Mapping | Set) or not isinstance(files, Iterable):
        raise TypeError(f"{argument} is {described(files)}; expected a path, a glob, a folder, or a sequence of these")
    for number, file in enumerate(files):
        name = os.fspath(file) if isinstance(file, str | os.PathLike) else file
        if not isinstance(name, str):
            raise TypeError(f"{argument}[{number}] is {described(file)}; expected the path of a file, a str or a Path")
        if len(name) > _LONGEST_NAME:
            raise CorpusError(
                f"{name[:40]!r}... is no name of a file but {len(name)} characters; texts themselves are given by "
                "texts=, or to `count_from_iterator` or `train_from_iterator`"
            )
        yield name


def expanded(name: str, argument: str | None = None, *, as_text: bool = False) -> list[FilePath]:
    """Return the files that a name stands for, sorted by name; `as_text`: the caller reads all of them as text.

    Errors name `argument` if it is given.

    A name that exists is taken literally, else as a glob (`**` for any folders between).

    Raises `FileNotFoundError` naming a file that is not there, `CorpusError` when a glob matches no file, or a folder
    holds none, `OSError` when a folder cannot be read.
    """
    of = "" if argument is None else f" ({argument})"
    if "://" in name and is_url(name):
        local = path_of(name)
        if isinstance(local, Url):
            below, pattern = expand(name)
            return _kept(f"{name!r}{of}", below, pattern, as_text)
        name = str(local)
    if os.path.isdir(name):
        return _kept(f"{name!r}{of}", _once(os.path.join(name, ""), _files_below(name)), "", as_text)
    if os.path.exists(name):
        return [Path(name)]
    if not glob.has_magic(name):
        is_text = any(char.isspace() for char in name)
        hint = "; if this is text, give it by texts=, or to train_from_iterator or count_from_iterator"
        hint = hint if is_text else ""
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT) + of + hint, name)
    base, pattern = _divided(name)
    return _kept(f"{name!r}{of}", _once(base, _matches(base, pattern)), pattern, as_text)


def suffix_of(name: str) -> str:
    """Return the suffix of a name in small letters, without one of compression.

    >>> suffix_of("a.JSONL.gz"), suffix_of("part-00000.gz"), suffix_of(".json")
    ('.jsonl', '', '')
    """
    stem, suffix = os.path.splitext(name.lower())
    return os.path.splitext(stem)[1] if suffix in COMPRESSIONS else suffix


def _kept(name: str, below: Mapping[_Parts, _T], pattern: str, as_text: bool) -> list[_T]:
    """Return the files of a folder, or of a pattern below one, less those without texts; errors begin `name`.

    These are hidden names; names with `_` in front that have no suffix, or the suffix of records (Spark, Dask and Delta
    keep `_SUCCESS`, `_metadata` and `_delta_log/` with a table); and what a hub keeps with a data set.
    """
    names = f"/{pattern}".replace(os.sep, "/").lower()
    found = {parts: path for parts, path in below.items() if "/." in names or not _begins(parts, ".")}
    records = () if as_text else RECORDS
    of_records = [parts for parts in found if parts and suffix_of(parts[-1]) in records]
    data = {parts[:depth] for parts in of_records for depth in range(len(parts))}

    def holds_none(parts: _Parts) -> bool:
        if "/_" not in names and _begins(parts, "_") and suffix_of(parts[-1]) in ("", _CHECKSUM, *records):
            return True
        last = parts[-1].lower()
        return not as_text and last not in names and (last in _INFOS or (last == _CARD and parts[:-1] in data))

    kept = [path for parts, path in found.items() if parts == () or not holds_none(parts)]
    if not kept:
        what = f"pattern {name} matches no file" if pattern else f"folder {name} holds no files"
        first = "/".join(next(iter(below), ()))
        more = f" but {len(below)} that are left out, such as {first!r}; name a file itself to read it"
        raise CorpusError(what + (more if below else "; expected at least one that is not hidden"))
    return kept


def _begins(parts: _Parts, mark: str) -> bool:
    return any(part.startswith(mark) for part in parts)


def _once(base: str, found: Iterator[tuple[_Parts, str]]) -> dict[_Parts, Path]:
    """Return files below a folder by their names, sorted; of the names of one file the one through fewest links."""
    root = os.path.realpath(base)
    rows = sorted((real != os.path.join(root, *parts), parts, real) for parts, real in found)
    names: dict[str, _Parts] = {}
    for _, parts, real in rows:
        names.setdefault(real, parts)
    return {parts: Path(base + os.sep.join(parts)) for parts in sorted(names.values())}


def _files_below(folder: str, *, hidden: bool = False) -> Iterator[tuple[_Parts, str]]:
    """Yield the names of the files below a folder and their real paths; a link into its own folder is not entered."""
    real = os.path.realpath(folder)
    left: list[tuple[_Parts, str, frozenset[str]]] = [((), real, frozenset([real]))]
    while left:
        parts, real, above = left.pop()
        with os.scandir(os.path.join(folder, *parts)) as entries:
            for entry in entries:
                if entry.name.startswith(".") and not hidden:
                    continue
                own = (*parts, entry.name)
                its = os.path.realpath(entry.path) if entry.is_symlink() else os.path.join(real, entry.name)
                if not entry.is_dir():
                    yield own, its
                elif its not in above:
                    left.append((own, its, above | {its}))


def _divided(pattern: str) -> tuple[str, str]:
    """Return the folder before the first wildcard of a pattern, with a separator behind it, and the rest."""
    parts = pattern.replace(os.altsep or os.sep, os.sep).split(os.sep)
    at = next(number for number, part in enumerate(parts) if glob.has_magic(part))
    return "".join(part + os.sep for part in parts[:at]), os.sep.join(parts[at:])


def _matches(base: str, pattern: str) -> Iterator[tuple[_Parts, str]]:
    """Yield the files below a folder that match a pattern."""
    wanted = pattern.split(os.sep)
    if "**" in wanted:
        if os.path.isdir(base or os.curdir):
            for parts, real in _files_below(base or os.curdir, hidden=any(part.startswith(".") for part in wanted)):
                if _match(parts, wanted):
                    yield parts, real
        return
    for found in glob.iglob(base + pattern):
        if not os.path.isdir(found):
            yield tuple(found[len(base) :].split(os.sep)), os.path.realpath(found)


def _match(parts: _Parts, wanted: list[str]) -> bool:
    """Return whether the parts of a name match those of a pattern, in which `**` stands for any number of parts."""
    if not wanted:
        return not parts
    first, *rest = wanted
    if first == "**":
        return not rest or any(_match(parts[at:], rest) for at in range(len(parts)))
    if not parts or (parts[0].startswith(".") and not first.startswith(".")):
        return False
    return fnmatchcase(os.path.normcase(parts[0]), os.path.normcase(first)) and _match(parts[1:], rest)


def corpus_files(
    files: CorpusPaths, asked: Format | None, text_field: FieldName, argument: str | None = None, *,
    field_argument: str | None = None,
) -> list[File]:  # fmt: skip
    """Return the files that names stand for, as `corpus_paths` and `file_of` do; with `check_fields` if it is named."""
    found = [file_of(path, asked, text_field) for path in corpus_paths(files, asked, argument)]
    if field_argument is not None:
        check_fields(found, text_field, argument=field_argument)
    return found


def check_fields(
    files: Sequence[File], text_field: FieldName, *, argument: str = "text_field", way: str = "format"
) -> None:  # fmt: skip
    """Check that a corpus has fields if one with the text is named: all of it may be plain text.

    Raises `ValueError` that names `argument`, and `way`, the one that says what kind the files are.  The field of ids
    may be named: shards of plain text are merged with others, whose documents have ids.
    """
    if text_field == "text" or not files or any(file.kind != "text" for file in files):
        return
    more = f" and {counted(len(files) - 1, 'other file')} are" if len(files) > 1 else " is"
    raise ValueError(
        f"{argument} is {shown_field(text_field)}; {files[0].path}{more} plain text, which has no fields; "
        f"leave it out, or give {way}='jsonl' if there are records"
    )


def check_apart(folder: Path, what: str, files: CorpusPaths, found: Iterable[FilePath], written: Iterable[str]) -> None:
    """Check that a folder for results has no file of the corpus, and that the corpus, read again, would have no result.

    `what` is the folder for the message, `files` what the caller gave, `found` the files for which that stands, and
    `written` names of results.  Hidden folders are not in a folder of the corpus.  Raises `CorpusError`.
    """
    real = Path(os.path.realpath(folder))
    results = [Path(base, name).parts for name in written for base in (real, folder.absolute())]
    for name in _names(files, "files"):
        path = path_of(name)
        if isinstance(path, Url):
            continue
        if path.is_dir():
            base = _real(path)
            within = real.is_relative_to(base) and not any(
                part.startswith(".") for part in real.relative_to(base).parts
            )
        else:
            pattern = list(Path(os.path.abspath(path)).parts)  # noqa: PTH100 - `absolute` keeps the dots of `a/../b`
            within = not path.exists() and any(_match(result, pattern) for result in results)
        if within:
            raise CorpusError(f"{folder}: {what} is in the corpus, {name}; use another folder")
    inside = next((path for path in found if isinstance(path, Path) and _real(path).is_relative_to(real)), None)
    if inside is not None:
        raise CorpusError(f"{folder}: {what} holds {inside} of the corpus; use another folder")


def _real(path: Path) -> Path:
    return Path(os.path.realpath(path))


def file_of(path: FilePath, asked: Format | None = None, text_field: FieldName = "text") -> File:
    """Return the kind and the size of a file; where its name says nothing, its first bytes decide.

    `text_field`: the field with the text, if it is a file of JSON lines.

    Raises `CorpusError` when the suffix or the first bytes are those of a file that is not text, `OSError` when the
    file cannot be read.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "a.jsonl")
    ...     _ = path.write_text("{}")
    ...     file = file_of(path)
    >>> file.kind, file.size
    ('jsonl', 2)
    """
    if isinstance(path, Url):
        # a server is asked once
        path = path.with_status()
    status = path.stat()
    size = status.st_size if stat.S_ISREG(status.st_mode) else None
    file = File(path, asked or kind_of(path), size, asked == "text")
    # an open file, such as standard input, may be read only once
    if asked is not None or file.kind != "text" or not size or _says_text(path) or str(path).startswith(_OPEN):
        return file
    kind = _looked_at(file, text_field)
    return file if kind == "text" else File(path, kind, size, by_contents=True)


def kind_of(path: FilePath) -> Kind:
    """Return the kind of a file by its suffix, without one of compression.

    Raises `CorpusError` when the suffix is that of a file that is not text.

    >>> kind_of(Path("a.jsonl.gz")), kind_of(Path("b.txt"))
    ('jsonl', 'text')
    """
    suffixes = [suffix.lower() for suffix in path.suffixes]
    packed = bool(suffixes) and suffixes[-1] in COMPRESSIONS
    last = ["", *suffixes[: len(suffixes) - packed]][-1]
    if last in _NO_TEXT_OF:
        raise _refused(path, f"a {last} file is {_NO_TEXT_OF[last]}, not text")
    if last == ".parquet" and packed:
        raise _refused(path, f"compressed Parquet files are not supported; expected the file without {suffixes[-1]}")
    if last in (".jsonl", ".ndjson", ".jsonlines"):
        return "jsonl"
    return cast(Literal["json", "parquet"], last[1:]) if last in (".json", ".parquet") else "text"


def _says_text(path: FilePath) -> bool:
    """Return whether the name of a file says that it is text, as that of `a.jsonl.txt` does not."""
    return suffix_of(path.name) in _TEXT and not any(suffix.lower() in RECORDS for suffix in path.suffixes)


def _looked_at(file: File, text_field: FieldName) -> Kind:
    """Return the kind of a file by its first decompressed bytes; raises as `check_head` and reading it do."""
    decompress = COMPRESSIONS.get(file.path.suffix.lower())
    try:
        with file.path.open("rb", buffering=0 if decompress is None else -1) as raw:
            stream = raw if decompress is None else decompress(raw, _WINDOW)
            head = _filled(stream, HEAD)
            if may_be_json(head):
                head += _filled(stream, LINES - len(head))
    except BROKEN as error:
        failed = failure(file.path, error)
        if isinstance(failed, MemoryLimitError):
            # it is not looked at before it is read
            return "text"
        raise failed from error
    if not file.is_packed and PARQUET.match(head) is not None:
        return "parquet"
    if are_json_lines(head, text_field):
        return "jsonl"
    check_head(file, head, text_field)
    return "text"


def _filled(stream: BinaryIO, size: int) -> bytes:
    buffer, filled = memoryview(bytearray(size)), 0
    while filled < size and (more := cast(Any, stream).readinto(buffer[filled:])):
        filled += more
    return bytes(buffer[:filled])


def check_head(file: File, head: bytes | memoryview, text_field: FieldName = "text") -> None:
    """Check the first decompressed bytes of a file; `CorpusError` when they show that it is not UTF-8 or not text."""
    first = bytes(head[:HEAD])
    for mark, encoding in MARKS.items():
        if first.startswith(mark):
            name = encoding.partition(",")[0]
            raise CorpusError(
                f"{file.path}: the byte order mark is that of {encoding}; expected UTF-8; "
                f"convert the file first, for example with `iconv -f {name} -t UTF-8`"
            )
    found = None if file.asked else BEGINS.match(first)
    if found is not None and found.lastindex is not None:
        raise _refused(file.path, f"the file begins like {DESCRIPTIONS[found.lastindex - 1]}")
    if b"\0" in first and file.kind == "text" and not file.asked and (wide := wide_encoding(first)) is not None:
        raise _refused(file.path, f"the file begins like {wide} without a byte order mark; expected UTF-8")
    if file.kind != "text" or file.asked or _says_text(file.path):
        return
    if b"\0" in first:
        raise _refused(file.path, f"the file begins like {BINARY}")
    if are_json_lines(bytes(head[:LINES]), text_field):
        raise CorpusError(
            f"{file.path}: its first lines are JSON; read them as JSON lines with format='jsonl', or as text with "
            "format='text'"
        )
    if is_json_document(bytes(head[:LINES]), text_field):
        name = shown_field(text_field)
        raise _refused(file.path, f"the file begins like JSON whose objects with {name} are no lines")


def check_format(asked: object, name: str = "format") -> None:
    """Check the argument for the kind of files, `format` unless it has another name; `ValueError` when it is none."""
    if asked is not None:
        choice(name, asked, FORMATS, "None")


def _refused(path: FilePath, problem: str) -> CorpusError:
    return CorpusError(
        f"{path}: {problem}; provide its texts as text, .jsonl or .parquet files, "
        "or read its bytes as text with format='text'"
    )
