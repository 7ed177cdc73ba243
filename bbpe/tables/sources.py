"""The key of finished tables: a digest of everything that the tokenizer is made from."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path

from ..core.image import BUILD
from ..files import StrPath, digest_of, read_bytes
from ..formats.rows import FORMATS
from ..formats.transformers.folder import ClassFolder
from ..lazy import IMPORTED, hashlib

#: The bytes of a vocabulary that is worth a file: a smaller one is read in milliseconds, a larger one is a whole model.
_LEAST, _MOST = 128 << 10, 64 << 20
#: The bytes of all other files that are kept with a tokenizer: tables hold them too, in a form that costs more.
_MOST_BESIDE = 8 << 20
_BESIDE = {"source.spm": "vocab.json", "vocab.txt": "bpe.codes"}
#: The folders of the package without a module that loading uses.
_NOT_LOADING = frozenset(
    ("__pycache__", "cli", "compat", "corpus", "counting", "reference", "report", "shards", "tiktoken", "training")
)
#: A package may have been installed without its sources.
_MODULES = (".py", ".pyc")


def key_of_path(
    path: StrPath,
    pattern: str | Sequence[str] | None,
    special_tokens: Mapping[str, int] | None,
    name: str | None,
) -> str | None:
    """Return the key of the tokenizer that `bbpe.load` makes from a path; `None` when it is not to be stored."""
    try:
        specials = None if special_tokens is None else list(special_tokens.items())
        arguments = repr((pattern if isinstance(pattern, str | None) else list(pattern), specials, name))
        return key_of([arguments, *_sources(Path(path))])
    except (OSError, ValueError, TypeError, AttributeError):
        return None  # loading reports it


def key_of_bytes(
    data: bytes, pattern: str | Sequence[str] | None, special_tokens: Mapping[str, int] | None, name: str | None
) -> str | None:
    """Return the key of the tokenizer that `bbpe.load` makes from the content of a file; `None` as `key_of_path`."""
    if not _LEAST <= len(data) <= _MOST:
        return None
    try:
        specials = None if special_tokens is None else list(special_tokens.items())
        arguments = repr((pattern if isinstance(pattern, str | None) else list(pattern), specials, name))
        return key_of(["bytes", arguments, data])
    except (TypeError, AttributeError):
        return None  # loading reports it


def key_of_published(name: str, digests: Iterable[str], size: int) -> str | None:
    """Return the key of a published tokenizer by the digests of its files; `None` when these are not worth a file."""
    return key_of(["published", name, *digests]) if _LEAST <= size <= _MOST else None


def key_of(sources: Iterable[str | bytes]) -> str | None:
    """Return the digest of texts and bytes, and of the program; `None` when it is not known which program this is."""
    try:
        digest = hashlib.sha256(_program())
    except (OSError, ValueError):
        return None
    for source in sources:
        data = source.encode("utf-8", "surrogatepass") if isinstance(source, str) else source
        digest.update(len(data).to_bytes(8, "little"))
        digest.update(data)
    return digest.hexdigest()


def _sources(source: Path) -> Iterator[str | bytes]:
    """Yield the names and digests of the files that loading a path may read, or look for."""
    folder = source if source.is_dir() else source.parent
    names = [name for row in FORMATS.values() for files in row.names for name in files]
    present = [name for name in dict.fromkeys(names) if (folder / name).is_file()]
    yield from ("" if source.is_dir() else source.name, repr(present))
    main = [source] if source.is_file() else _main_files(folder)
    files = [*main, *_partners(source)]
    if not _LEAST <= sum(path.stat().st_size for path in files) <= _MOST:
        raise ValueError("the vocabulary is not worth a file")
    yield from map(digest_of, files)
    others = ClassFolder(folder).other_files()
    if sum(map(len, others.values())) > _MOST_BESIDE:
        raise ValueError("the files beside the vocabulary are too large")
    for name, data in others.items():
        yield name
        yield data
    # it names the class of the folder where no other file does
    of_model = folder / "config.json"
    yield read_bytes(of_model, most=1 << 20) if of_model.is_file() else b""


def _main_files(folder: Path) -> list[Path]:
    """Return the files that loading a folder may read: all sets of the first format that has one there.

    A class of tokenizers may read another model than the first.
    """
    for row in FORMATS.values():
        found = [files for files in row.names if all((folder / name).is_file() for name in files)]
        if found:
            names = [name for files in found for name in files]
            # the class Marian takes ids from another file, and PhoBERT merges
            others = [other for name, other in _BESIDE.items() if name in names]
            names += [name for name in others if (folder / name).is_file()]
            return [folder / name for name in names]
    return []


def _partners(source: Path) -> Iterator[Path]:
    """Yield the files that a format reads together with a file, by its name."""
    for row in FORMATS.values():
        for files in row.names:
            for ending in files:
                if len(files) > 1 and source.name.endswith(ending):
                    prefix = source.name.removesuffix(ending)
                    yield from (path for name in files if (path := source.with_name(prefix + name)).is_file())


@cache
def _program() -> bytes:
    """Return a digest of what makes tables: the compiled modules, and the bytes of the others that loading may use.

    Names, sizes and times do not tell one version from another: installers may give all files one time.

    Raises `OSError` when the package is not in a folder, and `ValueError` when a module has changed since the package
    was imported, so that the one that runs may be another.
    """
    package = Path(__file__).parents[1]
    digest = hashlib.sha256(f"{sys.version}\n{BUILD}\n".encode())
    found = sorted(_modules(str(package)))
    if not any(path.startswith(str(package / "tables" / "sources.")) for path in found):
        raise FileNotFoundError(f"no modules in {package}")
    for path in found:
        with open(path, "rb", 0) as file:  # noqa: PTH123 - many small files, in few milliseconds
            status = os.fstat(file.fileno())
            if max(status.st_mtime, status.st_ctime) > IMPORTED:
                raise ValueError(f"{path} has changed since the package was imported")
            data = file.read()
        digest.update(f"{path[len(str(package)) :]} {len(data)}\n".encode())
        digest.update(data)
    return digest.digest()


def _modules(folder: str) -> Iterator[str]:
    """Yield the paths of the modules in a folder of the package that loading may use."""
    for entry in os.scandir(folder):
        if entry.name.endswith(_MODULES):
            yield entry.path
        elif entry.name not in _NOT_LOADING and entry.is_dir():
            yield from _modules(entry.path)
