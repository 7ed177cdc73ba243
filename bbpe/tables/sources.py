"""The key of finished tables: a digest of everything that the tokenizer is made from."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from functools import cache
from pathlib import Path

from ..files import StrPath, open_file, read_bytes
from ..formats.folder_config import other_files
from ..formats.rows import FORMATS
from ..lazy import hashlib

#: The bytes of a vocabulary that is worth a file: a smaller one is read in milliseconds, a larger one is a whole model.
_LEAST, _MOST = 128 << 10, 64 << 20
#: The folders of the package whose modules decide what tables hold.
_ENGINE = (
    "core", "encoding", "formats", "formats/gguf", "formats/huggingface", "pipeline", "published", "spec", "splitting",
    "tables",
)  # fmt: skip


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


def key_of_published(name: str, digests: Iterable[str], size: int) -> str | None:
    """Return the key of a published tokenizer by the digests of its files; `None` when these are not worth a file."""
    return key_of(["published", name, *digests]) if _LEAST <= size <= _MOST else None


def key_of(sources: Iterable[str | bytes]) -> str | None:
    """Return the digest of texts and bytes, and of the engine; `None` for a package that is not in a folder."""
    try:
        digest = hashlib.sha256(_engine())
    except OSError:
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
    with ExitStack() as stack:
        files = [stack.enter_context(open_file(path)) for path in (*main, *_partners(source))]
        if not _LEAST <= sum(os.fstat(file.fileno()).st_size for file in files) <= _MOST:
            raise ValueError("the vocabulary is not worth a file")
        yield from (hashlib.file_digest(file, "sha256").digest() for file in files)
    for name, data in other_files(folder).items():
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
            return [folder / name for files in found for name in files]
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
def _engine() -> bytes:
    """Return what differs when another version of the package is installed: names, sizes and times of its modules."""
    package = Path(__file__).parents[1]
    rows = []
    for folder in _ENGINE:
        for entry in os.scandir(package / folder):
            if entry.name.endswith((".py", ".so", ".pyd")):
                status = entry.stat()
                rows.append((folder, entry.name, status.st_size, status.st_mtime_ns))
    return repr(sorted(rows)).encode()
