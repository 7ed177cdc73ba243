"""Checks of the outputs of a command, before it reads anything: each can be written, and none is an input."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from bbpe.corpus.files import corpus_paths
from bbpe.files import check_replaceable, check_upload, is_remote, local_path
from bbpe.formats import FORMATS, check_whole
from bbpe.formats.transformers.folder import OTHER_FILES
from bbpe.records import check_file_name, check_suffix, dataclass, field

from .parsers import UsageError
from .streams import STDIN

#: The suffixes of files that commands alone write: pages and arrays.
PAGES, ARRAYS = (".html", ".htm"), (".npy",)
#: Formats that write configuration and chat templates into a folder besides.
_WITH_MORE = ("huggingface", "wordpiece", "gpt2", "vocab_txt")


@dataclass
class Inputs:
    """Files and folders that a command reads, by whatever name, link or hard link."""

    _names: dict[str, str] = field(default_factory=dict)
    _nodes: dict[tuple[int, int], str] = field(default_factory=dict)

    def add(self, *paths: str | os.PathLike[str] | None) -> Inputs:
        """Take files, or folders as such; what is not there counts by its name alone."""
        for path in paths:
            if path is None:
                continue
            self._names.setdefault(os.path.realpath(path), os.fspath(path))
            try:
                status = Path(path).stat()
            except OSError:
                continue
            self._nodes.setdefault((status.st_dev, status.st_ino), os.fspath(path))
        return self

    def add_corpus(self, names: Iterable[str] | None) -> Inputs:
        """Take files, globs and folders with all that they stand for, and the file that is standard input.

        Raises as `corpus_paths` does.
        """
        given = list(names or ())
        if STDIN in given and sys.stdin is not None:
            with suppress(OSError, ValueError):  # closed, or no file of the system
                status = os.fstat(sys.stdin.fileno())
                self._nodes.setdefault((status.st_dev, status.st_ino), "standard input")
        files = [name for name in given if name != STDIN]
        return self.add(*files, *(corpus_paths(files) if files else ()))

    def add_tokenizer(self, name: str | None) -> Inputs:
        """Take a tokenizer: a file with those that belong to it, or a folder with what is in it."""
        path = Path(name) if name is not None else None
        if path is None or not path.exists():
            return self
        return self.add(path, *(path.iterdir() if path.is_dir() else _belonging(path)))

    def find(self, path: Path) -> str | None:
        """Return the name by which a path is an input, or `None`."""
        try:
            status = path.stat()
        except OSError:
            return self._names.get(os.path.realpath(path))
        return self._nodes.get((status.st_dev, status.st_ino))


def check_output(
    output: str | None, what: str, inputs: Inputs, *, output_format: str | None = None, suffixes: Sequence[str] = ()
) -> None:
    """Check that `what` can be written to `output`, which is no input; a tokenizer of a format may be a folder.

    With `suffixes`, a name with another suffix is refused: its contents would be of another kind than it says.

    Raises `ValueError` naming both when an input would be replaced; `UsageError` for the name of another kind of file;
    `OSError` naming the file or the folder that cannot be written.
    """
    if output is None:
        return
    if is_remote(output):
        # both names lose the same slashes
        if inputs.find(Path(output)) is not None:
            raise ValueError(f"{output}: {what} would replace an input of this command; choose another output")
        _check_suffix(output, what, suffixes)
        check_upload(output) if output_format is None else check_whole(output, output_format)
        return
    path = local_path(output, "")
    if output_format is None:
        check_file_name(output, f"the file for {what}")
    for written in _written(path, output_format):
        read = inputs.find(written)
        if read is not None and not _is_device(written):
            also = "" if read == str(written) else f", as {read}"
            raise ValueError(f"{written}: {what} would replace an input of this command{also}; choose another output")
    _check_suffix(output, what, suffixes)
    parent = path.absolute().parent
    if not parent.is_dir():
        raise FileNotFoundError(errno.ENOENT, f"there is no such folder to save {what} in", str(parent))
    if not os.access(parent, os.W_OK):
        raise PermissionError(errno.EACCES, f"{what} cannot be saved in this folder", str(parent))
    if path.is_dir():
        if output_format is None:
            raise IsADirectoryError(errno.EISDIR, f"this is a folder; expected the name of a file for {what}", output)
        check_whole(output, output_format)
        return
    check_replaceable(path)


def _check_suffix(output: str, what: str, suffixes: Sequence[str]) -> None:
    try:
        if suffixes:
            check_suffix(output, what, suffixes)
    except ValueError as error:
        raise UsageError(str(error)) from None


def _written(path: Path, output_format: str | None) -> Iterator[Path]:
    """Yield the output, and what is written beside or below it, as far as it is there."""
    yield path
    if output_format is None:
        return
    names = {name for row in FORMATS[output_format].names for name in row}
    if path.is_dir() or path.name in names:
        folder = path if path.is_dir() else path.parent
        yield from (folder / name for name in (*sorted(names), *(OTHER_FILES if output_format in _WITH_MORE else ())))


def _belonging(path: Path) -> Iterator[Path]:
    """Yield the other files of a format of several, such as merges.txt beside vocab.json."""
    for names in (names for row in FORMATS.values() for names in row.names):
        for ending in names:
            if path.name.endswith(ending):
                yield from (path.with_name(path.name.removesuffix(ending) + other) for other in names)


def _is_device(path: Path) -> bool:
    return path.exists() and not path.is_file() and not path.is_dir()


def inputs_of(
    *, files: Sequence[str] | None = None, tokenizer: str | None = None, named: Sequence[str | None] = ()
) -> Inputs:
    """Return the inputs of a command: a corpus, a tokenizer, and files by their names."""
    return Inputs().add_corpus(files).add_tokenizer(tokenizer).add(*named)
