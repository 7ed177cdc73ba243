"""Files that are named by URLs, such as `s3://bucket/a.jsonl`: fsspec lists them, and reads ranges of them."""

from __future__ import annotations

import errno
import io
import os
import stat
from pathlib import Path, PurePosixPath
from typing import Any, BinaryIO, cast

from ..errors import CorpusError
from ..files import file_system, is_remote, is_url, naming_url, path_of_local_url
from ..lazy import hashlib
from ..records import dataclass, field

_MAGIC = frozenset("*?[")
_BUFFER = 1 << 20
#: The bytes of the first range that is asked for, and of later ones.
_LEAST, _MOST = 1 << 20, 1 << 22
#: What file systems call the version of a file, the surest first.
_VERSIONS = (
    "ETag", "etag", "md5Hash", "md5", "Content-MD5", "mtime", "LastModified", "last_modified", "Last-Modified",
    "updated", "created",
)  # fmt: skip


@dataclass(frozen=True)
class UrlStatus:
    """The size of a file, and a number that its version has, under the names that `os.stat_result` has for them."""

    st_size: int
    st_mtime_ns: int
    st_mode: int = stat.S_IFREG


@dataclass(frozen=True)
class Url(os.PathLike[str]):
    """A file that is named by a URL, with the methods of `Path` that readers use.

    `listed` is its status if a listing had it.  A pickled URL has none.
    """

    url: str
    listed: UrlStatus | None = field(default=None, compare=False, repr=False)

    def __fspath__(self) -> str:
        return self.url

    def __str__(self) -> str:
        return self.url

    def __reduce__(self) -> tuple[Any, ...]:
        return Url, (self.url,)

    @property
    def _pure(self) -> PurePosixPath:
        scheme, _, path = self.url.partition("::")[0].partition("://")
        return PurePosixPath(path.partition("?")[0] if scheme in ("http", "https") else path)

    @property
    def name(self) -> str:
        """The last part."""
        return self._pure.name

    @property
    def suffix(self) -> str:
        """The last suffix."""
        return self._pure.suffix

    @property
    def suffixes(self) -> list[str]:
        """All suffixes."""
        return self._pure.suffixes

    def absolute(self) -> Url:
        """Return the URL, which depends on no folder."""
        return self

    def with_status(self) -> Url:
        """Return the URL with its status."""
        return self if self.listed is not None else Url(self.url, self.stat_now())

    def stat(self) -> UrlStatus:
        """Return the size and the version, as a listing had them, or as they are now."""
        return self.listed or self.stat_now()

    def stat_now(self) -> UrlStatus:
        """Return the size and the version as they are now."""
        with naming_url(self.url):
            system, path = file_system(self.url)
            # a listing that was kept is older than the file may be
            system.invalidate_cache(system._parent(path))
            return _status(self.url, system.info(path))

    def open(self, mode: str = "rb", buffering: int = -1) -> BinaryIO:
        """Open the file for reading, in ranges that grow while reading goes on where it was."""
        raw = _UrlFile(self.url, self.stat().st_size)
        return cast(BinaryIO, io.BufferedReader(raw, _BUFFER) if buffering else raw)


class _UrlFile(io.RawIOBase):
    """An open file of a URL.

    Each range is a request of its own, so that threads share nothing.  Errors are `OSError` with a number, so that they
    are not those of damaged data.
    """

    def __init__(self, url: str, size: int) -> None:
        with naming_url(url):
            self._system, self._path = file_system(url)
        self._url, self._size, self._at = url, size, 0
        self._block, self._begin, self._step = memoryview(b""), 0, _LEAST

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        self._at = offset + {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self._size}[whence]
        return self._at

    def tell(self) -> int:
        return self._at

    def readinto(self, buffer: Any) -> int:
        if self._at >= self._size or not len(buffer):
            return 0
        if not self._begin <= self._at < self._begin + len(self._block):
            self._fetch(len(buffer))
        data = self._block[self._at - self._begin :][: len(buffer)]
        buffer[: len(data)] = data
        self._at += len(data)
        return len(data)

    def _fetch(self, wanted: int) -> None:
        goes_on = self._at == self._begin + len(self._block)
        self._step = min(2 * self._step, _MOST) if goes_on else _LEAST
        stop = min(self._at + max(wanted, self._step), self._size)
        with naming_url(self._url):
            data = self._system.cat_file(self._path, start=self._at, end=stop)
        if len(data) != stop - self._at:
            problem = f"the server sent {len(data)} bytes from byte {self._at}; expected {stop - self._at}"
            raise OSError(errno.EIO, problem, self._url)
        self._block, self._begin = memoryview(data), self._at


def path_of(name: str) -> Path | Url:
    """Return the path or the URL that a name is; a `file://` URL is a path."""
    return Url(name) if is_remote(name) else path_of_local_url(name)


def expand(name: str) -> tuple[dict[tuple[str, ...], Url], str]:
    """Return the files that a URL stands for, sorted: itself, those below a folder, or those that match a glob.

    The key of a file is the parts of its name below the folder, or below the one before the first wildcard; a file that
    is named itself has none.  The second value is the pattern from the first wildcard on.

    Raises `FileNotFoundError` when there are none, `CorpusError` when a server does not report the size of a file,
    `ImportError` when fsspec or the package for the scheme is missing, `OSError` naming the URL.
    """
    with naming_url(name):
        system, path = file_system(name)
        base, pattern = path, ""
        if system.isfile(path):
            found = {path: system.info(path)}
        elif system.isdir(path):
            found = system.find(path, detail=True)
        elif _MAGIC & set(name):
            listed = system.glob(path, detail=True)
            base = path[: min(path.find(char) % (len(path) + 1) for char in _MAGIC)].rpartition("/")[0]
            pattern = path.removeprefix(base).lstrip("/")
            found = {file: info for file, info in listed.items() if info.get("type") != "directory"}
        else:
            # the question whether there is a file hides errors such as a missing permission
            found = {path: system.info(path)}
    if not found:
        raise CorpusError(f"{name!r} has no files; expected at least one")
    scheme, _, rest = name.partition("://")
    chain = "".join(rest.partition("::")[1:])
    urls: dict[tuple[str, ...], Url] = {}
    for file in sorted(found):
        url, below = _url_of(system, scheme, file, chain), file.removeprefix(base).strip("/")
        urls[tuple(below.split("/")) if below else ()] = Url(url, _status(url, found[file]))
    return urls, pattern


def _url_of(system: Any, scheme: str, file: str, chain: str) -> str:
    if is_url(file):
        return file
    return f"{scheme}://{file}{chain}" if chain else str(system.unstrip_protocol(file))


def _status(url: str, info: dict[str, Any]) -> UrlStatus:
    if info.get("size") is None:
        raise CorpusError(f"{url}: the server does not report the size of the file; copy it first")
    version: Any = next((info[name] for name in _VERSIONS if info.get(name) is not None), "")
    # a listing may have a number where a question about one file has a date
    text = str(version.timestamp() if hasattr(version, "timestamp") else version).strip('"')
    digest = hashlib.sha256(text.encode("utf-8", "surrogateescape")).digest()
    return UrlStatus(int(info["size"]), int.from_bytes(digest[:7], "little"))
