"""Find published vocabularies on this machine: in folders, caches of other libraries and installed packages.

Nothing is downloaded, no package is imported, and a file is used only if its SHA-256 is right.  Each file is read once,
and the checked bytes are the ones that are loaded, so another process cannot replace the file in between.
"""

from __future__ import annotations

import errno
import hashlib
import os
from collections.abc import Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path

from ..errors import VocabularyError
from ..files import ReadFile, StrPath, local_path, open_file, read_bytes, system_folder, user_cache
from ..lazy import safe_import
from .table import Published, PublishedFile

#: The environment variable that names folders of vocabularies.
FOLDERS_VARIABLE = "BBPE_VOCABS"
_NO_URL = "vocabularies are not read from a URL", "copy them to this machine first"


class MissingError(Exception):
    """A vocabulary was not found; `wrong` lists files with its name but another checksum."""

    def __init__(self, wrong: Sequence[str]) -> None:
        super().__init__(*wrong)
        self.wrong = tuple(wrong)


def own_folders() -> list[Path]:
    """Return the folders of `BBPE_VOCABS`, or the folder `bbpe` in the user's cache if it is not set.

    >>> all(isinstance(folder, Path) for folder in own_folders())
    True
    """
    named = [Path(part) for part in os.environ.get(FOLDERS_VARIABLE, "").split(os.pathsep) if part]
    return named or [user_cache() / "bbpe"]


def found(vocabulary: Published, folder: StrPath | None = None) -> tuple[str, list[ReadFile]]:
    """Find the files of a vocabulary, and return their format and the checked bytes.

    The order of the search: `folder`, `BBPE_VOCABS` or the user's cache, tiktoken's cache, the cache of
    `huggingface_hub`, installed packages.

    Raises `MissingError` when no form of the vocabulary has all its files, `OSError` when a file cannot be read or
    there is no such `folder`.
    """
    if folder is not None and not local_path(folder, *_NO_URL, argument="folder").is_dir():
        raise FileNotFoundError(errno.ENOENT, "there is no such folder to search first", os.fspath(folder))
    wrong: list[str] = []
    for form in vocabulary.forms:
        files = [_find(file, folder, wrong) for file in form.files]
        whole = [file for file in files if file is not None]
        if len(whole) == len(files):
            return form.format, whole
    raise MissingError(wrong)


def found_file(file: PublishedFile, folder: StrPath | None) -> ReadFile | None:
    """Find one file of a vocabulary with its checked bytes, as `found` does; `None` when it is not on this machine."""
    return _find(file, folder, [])


def is_right(data: bytes, file: PublishedFile) -> bool:
    """Return whether bytes are the content of a published file."""
    return len(data) == file.size and hashlib.sha256(data).hexdigest() == file.sha256


def _find(file: PublishedFile, folder: StrPath | None, wrong: list[str]) -> ReadFile | None:
    for path in _candidates(file, folder):
        if not path.is_file():
            continue
        data = _decompressed(path, file.size) if path.suffix == ".gz" else _read(path, file.size)
        if data is not None and is_right(data, file):
            return ReadFile(path, data)
        wrong.append(str(path))
    return None


def _read(path: Path, size: int) -> bytes | None:
    """Return the bytes of a file; `None` when it is larger than `size`, because any file may have that name."""
    try:
        return read_bytes(path, most=size)
    except VocabularyError:
        return None


def _candidates(file: PublishedFile, folder: StrPath | None) -> Iterator[Path]:
    names = [file.name, file.name + ".gz"]
    key = None if file.url is None else _cache_key(file.url)
    if file.url is not None and key is not None:
        # the publisher's own name, such as r50k_base.tiktoken for GPT-2's file
        names += [key, file.url.rpartition("/")[2]]
    of_caller = [] if folder is None else [local_path(folder, *_NO_URL, argument="folder")]
    for own in of_caller + own_folders():
        yield from (own / name for name in dict.fromkeys(names))
    tiktoken = _tiktoken_cache()
    if key is not None and tiktoken is not None:
        yield tiktoken / key
    yield from _hub_candidates(file)
    for inside in file.packages:
        package, _, path = inside.partition("/")
        yield from (Path(installed, path) for installed in _package_folders(package))


def cached_by_tiktoken(url: str) -> Path | None:
    """Return the file of an address in tiktoken's cache; `None` when it is not there."""
    folder = _tiktoken_cache()
    path = None if folder is None else folder / _cache_key(url)
    return path if path is not None and path.is_file() else None


def _cache_key(url: str) -> str:
    return hashlib.sha1(url.encode(), usedforsecurity=False).hexdigest()


def _tiktoken_cache() -> Path | None:
    for variable in ("TIKTOKEN_CACHE_DIR", "DATA_GYM_CACHE_DIR"):
        if variable in os.environ:
            return Path(os.environ[variable]) if os.environ[variable] else None
    return Path(system_folder()) / "data-gym-cache"


def _hub_candidates(file: PublishedFile) -> Iterator[Path]:
    """Yield the paths of a file in the cache of `huggingface_hub`, for any repository.

    The cache names files by their content: large files by SHA-256, other files by their git blob id.
    """
    cache = hub_cache()
    if not cache.is_dir():
        return
    for repository in sorted(cache.glob("models--*")):
        yield repository / "blobs" / file.sha256
        if file.git is not None:
            yield repository / "blobs" / file.git


def hub_cache() -> Path:
    """Return the folder of the cache of `huggingface_hub`, which need not exist."""
    named = [os.environ[name] for name in ("HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE") if os.environ.get(name)]
    # on every system below ~/.cache
    caches = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    home = os.environ.get("HF_HOME") or Path(caches, "huggingface")
    return Path(named[0]) if named else Path(home, "hub")


def _package_folders(package: str) -> list[str]:
    try:
        spec = find_spec(package)
    except (ImportError, ValueError):  # partly imported, or partly removed
        return []
    return [] if spec is None else list(spec.submodule_search_locations or ())


def _decompressed(path: Path, size: int) -> bytes | None:
    """Return at most `size` + 1 bytes of a gzip file; `None` when it is not one."""
    safe_import("gzip")
    import gzip
    safe_import("zlib")
    import zlib

    try:
        with open_file(path) as packed, gzip.open(packed) as file:
            return file.read(size + 1)
    except (VocabularyError, OSError, EOFError, zlib.error):
        return None
