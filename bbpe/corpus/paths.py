"""Expand paths, globs and folders to the files of a corpus."""

from __future__ import annotations

import errno
import glob
import os
from collections.abc import Iterable, Iterator, Mapping, Set
from pathlib import Path

from ..errors import CorpusError

#: In characters.  No system has longer names, and `glob` would search for a longer one level by level.
_LONGEST_NAME = 1 << 15

CorpusPaths = str | os.PathLike[str] | Iterable[str | os.PathLike[str]]


def corpus_paths(files: CorpusPaths) -> list[Path]:
    """Return the files of a path, a glob, a folder, or a sequence of these.

    A name that exists is a path; any other name is a glob (`**` matches any folders).  A folder stands for all files
    below it.  The files of a glob or a folder are sorted by name, without hidden names (a leading dot) and links to
    folders.  A sequence keeps its order.  A file that occurs twice, under any name, is kept at its first position.

    Raises `FileNotFoundError` naming a missing file; `CorpusError` when a glob or a folder has no files, when a name
    looks like a text, and when `files` is empty; `TypeError` when `files` has another type.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = Path(folder, "b.txt").write_text("b"), Path(folder, "a.txt").write_text("a")
    ...     [path.name for path in corpus_paths(folder)]
    ['a.txt', 'b.txt']
    """
    found: dict[str, Path] = {}
    for name in _names(files):
        for path in _expand(name):
            found.setdefault(os.path.realpath(path), path)
    if not found:
        raise CorpusError("no files given; expected a path, a glob, a folder, or a sequence of these")
    return list(found.values())


def _names(files: CorpusPaths) -> Iterator[str]:
    # a set is refused, because its order differs from run to run, and with it the merges
    if isinstance(files, str | os.PathLike):
        files = (files,)
    elif isinstance(files, bytes | bytearray | memoryview | Mapping | Set) or not isinstance(files, Iterable):
        raise TypeError(f"files must be a path, a glob, a folder or a sequence of these, not {type(files).__name__}")
    for file in files:
        name = os.fspath(file) if isinstance(file, str | os.PathLike) else file
        if not isinstance(name, str):
            raise TypeError(f"a file must be named by a str or a path, not {type(file).__name__}")
        if len(name) > _LONGEST_NAME:
            raise CorpusError(
                f"expected a path, got {len(name)} characters of what looks like text: {name[:40]!r}...; give texts to "
                "`count_from_iterator` or `train_from_iterator`"
            )
        yield name


def _expand(name: str) -> list[Path]:
    if os.path.isdir(name):  # noqa: PTH112 - Path("") would be the current folder
        files = _files_below(name)
        if not files:
            raise CorpusError(f"folder {name!r} holds no files; expected at least one that is not hidden")
        return files
    if os.path.exists(name):  # noqa: PTH110
        return [Path(name)]
    if not glob.has_magic(name):
        is_text = any(char.isspace() for char in name)
        hint = "; if this is text, give it to train_from_iterator or count_from_iterator" if is_text else ""
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT) + hint, name)
    files = sorted(path for path in map(Path, glob.iglob(name, recursive=True)) if not path.is_dir())  # noqa: PTH207
    if not files:
        raise CorpusError(f"pattern {name!r} matches no file")
    return files


def _files_below(folder: str) -> list[Path]:
    def refuse(error: OSError) -> None:
        raise error

    files = []
    for parent, folders, names in os.walk(folder, onerror=refuse):
        folders[:] = [name for name in folders if not name.startswith(".")]
        files += [Path(parent, name) for name in names if not name.startswith(".")]
    return sorted(files)
