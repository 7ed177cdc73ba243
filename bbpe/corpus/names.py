"""From a name to the files that it stands for: a file, a folder, a glob, or the URL of one of these.

A folder or a glob gives each file once.  Links to folders are followed.  Files that belong to a table or a data set but
hold no texts of it are left out, as readers of tables leave them out; a file that is named itself is always there.
"""

# names are kept as they are given, and a walk over a million files is quick
# ruff: noqa: PTH110, PTH112, PTH118, PTH122, PTH206, PTH207
from __future__ import annotations

import errno
import glob
import os
from collections.abc import Iterator, Mapping
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TypeVar

from ..errors import CorpusError
from .compressed import COMPRESSIONS
from .urls import Url, expand, is_url, path_of

_T = TypeVar("_T")
#: The parts of the name of a file below a folder.
_Parts = tuple[str, ...]

#: Suffixes of files that have a text in each record.
RECORDS = (".jsonl", ".ndjson", ".jsonlines", ".json", ".parquet")
#: What hubs of data sets store beside the data, and what Delta's tables have.
_INFOS, _CARD, _CHECKSUM = ("dataset_infos.json", "dataset_info.json", "dataset_dict.json"), "readme.md", ".crc"


def expanded(name: str, argument: str | None = None, *, as_text: bool = False) -> list[Path | Url]:
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
        hint = "; if this is text, give it by texts= or to train_from_iterator or count_from_iterator" if is_text else ""
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
    """Return the files of a folder, or of a pattern below one, less those that hold no texts of it; errors begin `name`.

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
