"""`bbpe fetch` from a server on this machine: by https alone, within a limit of time, and only the right bytes."""

from __future__ import annotations

import re
import ssl
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from http.client import HTTPException, HTTPMessage
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.error import HTTPError, URLError

import pytest
from small_published import RANKS, check, put

import bbpe
from bbpe.cli import main
from bbpe.errors import VocabularyError
from bbpe.published import fetch
from bbpe.published.table import PUBLISHED, Form, PublishedFile

CERTIFICATE = Path(__file__).with_name("loopback.pem")
Server = tuple[str, dict[str, Any]]


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    """A server with a certificate, and its address; it answers with the bytes, or the redirect, of a dictionary."""
    files: dict[str, Any] = {}
    stop = threading.Event()

    class Answer(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            data = files.get(self.path)
            if isinstance(data, str):
                self.send_response(302)
                self.send_header("Location", data)
                self.end_headers()
                return
            if self.path == "/slow-header":
                self.wfile.write(b"HTTP/1.0 200 OK\r\n")
                self.drip(b"A: b\r\n")
            self.send_response(404 if data is None else 200)
            self.send_header("Content-Length", str(len(data or b"") + files.get("more", 0)))
            self.end_headers()
            if self.path == "/slow":
                self.drip(b"x")
            self.wfile.write(data or b"")

        def drip(self, data: bytes) -> None:
            while not stop.wait(0.01):
                self.wfile.write(data)

        def log_message(self, *_: Any) -> None:
            """Say nothing."""

    monkeypatch.setenv("SSL_CERT_FILE", str(CERTIFICATE))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(CERTIFICATE)
    with ThreadingHTTPServer(("127.0.0.1", 0), Answer) as http:
        http.daemon_threads = True
        http.handle_error = lambda *_: None  # type: ignore[method-assign]
        http.socket = context.wrap_socket(http.socket, server_side=True)
        thread = threading.Thread(target=http.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        yield f"https://127.0.0.1:{http.server_address[1]}", files
        stop.set()
        http.shutdown()
        thread.join()


def test_fetch(bare: Path, server: Server) -> None:
    address, files = server
    files["/small.tiktoken"] = RANKS
    small = PUBLISHED["small"]
    path = fetch.fetch(small, bare / "new/folder", url=address + "/small.tiktoken")
    assert (path, path.read_bytes()) == (bare / "new/folder/small.tiktoken", RANKS)
    check(bbpe.get_encoding("small", folder=bare / "new/folder"))
    # the address that is known
    first = replace(small.forms[0].files[0], url=address + "/small.tiktoken")
    known = replace(small, forms=(Form("tiktoken", (first,)),))
    assert fetch.fetch(known, bare / "other").read_bytes() == RANKS
    # a redirect
    files["/there"] = "/small.tiktoken"
    files["/here"] = address + "/there"
    assert fetch.fetch(small, bare / "third", url=address + "/here").read_bytes() == RANKS


def test_what_is_on_this_machine_is_not_downloaded(
    bare: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nor written again where it is; a wrong file is replaced, from another place of the machine."""
    monkeypatch.setattr(fetch, "_within", lambda *_: pytest.fail("the network was asked"))
    carried = put(bare / "carried/small.tiktoken")
    monkeypatch.setenv("BBPE_VOCABS", str(carried.parent))
    new, wrong = bare / "new/small.tiktoken", put(bare / "wrong/small.tiktoken", b"x")
    for path in (new, wrong):
        assert main(["fetch", "small", "--folder", str(path.parent)]) == 0
        assert (capsys.readouterr().out, path.read_bytes()) == (f"{path}\n", RANKS)
    monkeypatch.setattr(fetch, "write_atomic", lambda *_: pytest.fail("it was written again"))
    assert fetch.fetch(PUBLISHED["small"], new.parent) == new


def test_fetch_that_fails_leaves_nothing(bare: Path, server: Server) -> None:
    address, files = server
    small, folder = PUBLISHED["small"], bare / "new"
    files |= {"/wrong": RANKS[:-1] + b"x", "/long": RANKS + b"x", "/short": RANKS[:-1], "/empty": b""}
    for path in ("/wrong", "/long", "/short", "/empty"):
        with pytest.raises(VocabularyError, match=f"{path} is not small.tiktoken.*SHA-256"):
            fetch.fetch(small, folder, url=address + path)
    with pytest.raises(OSError, match="/none: HTTP Error 404"):
        fetch.fetch(small, folder, url=address + "/none")
    files["/round"] = "/round"
    with pytest.raises(OSError, match=r"/round: HTTP Error 302.*infinite loop"):
        fetch.fetch(small, folder, url=address + "/round")
    files["more"] = 5
    with pytest.raises((OSError, VocabularyError), match=r"ended early|the content of"):
        fetch.fetch(small, folder, url=address + "/short")
    with pytest.raises(OSError, match=r"127\.0\.0\.1:1/"):
        fetch.fetch(small, folder, url="https://127.0.0.1:1/small")
    with pytest.raises(VocabularyError, match=r"no public address is known for tekken_240911\.json.*mistral-common"):
        fetch.fetch(PUBLISHED["tekken_240911"], folder)
    assert not folder.exists()


@pytest.mark.parametrize("other", ["http://127.0.0.1:1/x", "ftp://a/b", "file:///etc/passwd", "HTTP://a/b", "data:,x"])
def test_only_https(other: str, bare: Path, server: Server, capsys: pytest.CaptureFixture[str]) -> None:
    address, files = server
    small, folder = PUBLISHED["small"], bare / "new"
    with pytest.raises(VocabularyError) as refused:
        fetch.fetch(small, folder, url=other)
    assert (
        str(refused.value) == f"{other!r} is not an https address; expected https://, which protects the download"
    )
    files["/away"] = other
    with pytest.raises((VocabularyError, OSError)) as caught:
        fetch.fetch(small, folder, url=address + "/away")
    assert f"{address}/away" in str(caught.value)
    assert other.partition(":")[0].lower() in str(caught.value).lower()
    if other.lower().startswith(("http:", "ftp:")):
        assert "the server redirects to '" in str(caught.value)
        assert "which is not an https address; expected https://" in str(caught.value)
    assert main(["fetch", "small", "--url", other, "--folder", str(folder)]) == 1
    assert "expected https://" in capsys.readouterr().err
    assert not folder.exists()


@pytest.mark.parametrize(
    "url", ["small", "", "//a/b", "https:/", "https://", "https://[", "https://a b/c", "https://a:x/"]
)
def test_what_is_no_address(url: str, bare: Path) -> None:
    small = replace(
        PUBLISHED["small"], forms=(Form("tiktoken", (replace(PUBLISHED["small"].forms[0].files[0], url="x"),)),)
    )
    with pytest.raises((VocabularyError, OSError)) as caught:
        fetch.fetch(small, bare / "new", url=url)
    assert url in str(caught.value)


@pytest.mark.parametrize("path", ["/slow", "/slow-header"])
def test_a_server_that_takes_its_time(path: str, bare: Path, server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    address, files = server
    files[path] = RANKS
    monkeypatch.setattr(fetch, "_SECONDS", 0.2)
    monkeypatch.setattr(fetch, "_SLOWEST", 1 << 40)
    files["more"] = 1 << 20
    with pytest.raises(
        TimeoutError, match=r"127\.0\.0\.1:\d+/slow.*: the download took more than 0 s; try again later"
    ):
        fetch.fetch(PUBLISHED["small"], bare / "new", url=address + path)
    assert not (bare / "new").exists()


def test_no_more_is_read_than_a_byte_beyond_the_size(bare: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An answer may never end."""
    asked: list[int] = []

    class Endless:
        def __enter__(self) -> Endless:
            return self

        def __exit__(self, *_: object) -> None:
            """Close nothing."""

        def open(self, *_: object, **__: object) -> Endless:
            return self

        def read(self, size: int) -> bytes:
            asked.append(size)
            return b"x" * size

    monkeypatch.setattr(fetch, "build_opener", lambda _: Endless())
    with pytest.raises(VocabularyError, match=r"is not small\.tiktoken"):
        fetch.fetch(PUBLISHED["small"], bare / "new", url="https://a/b")
    assert sum(asked) == PUBLISHED["small"].forms[0].files[0].size + 1


def test_progress_is_what_has_come(bare: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[tuple[int, int | None]] = []
    told = threading.Event()

    def read(_address: str, _size: int, _seconds: float, data: bytearray) -> None:
        data += RANKS[:100]
        assert told.wait(20)
        data += RANKS[100:]

    def report(progress: bbpe.Progress) -> None:
        seen.append((progress.done, progress.total))
        if progress.done:
            told.set()

    monkeypatch.setattr(fetch, "_read", read)
    monkeypatch.setattr(fetch, "_PAUSE", 0.01)
    fetch.fetch(PUBLISHED["small"], bare / "new", url="https://a/b", report=report)
    assert (100, len(RANKS)) in seen
    assert {total for _, total in seen} == {len(RANKS)}


def test_a_certificate_that_nobody_knows(bare: Path, server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    address, files = server
    files["/x"] = RANKS
    monkeypatch.delenv("SSL_CERT_FILE")
    with pytest.raises(OSError, match=r"127\.0\.0\.1:\d+/x: .*certificate"):
        fetch.fetch(PUBLISHED["small"], bare / "new", url=address + "/x")


def test_fetch_keeps_what_was_there(bare: Path, server: Server) -> None:
    address, files = server
    put(bare / "b/small.tiktoken", b"old")
    files["/x"] = b"wrong"
    with pytest.raises(VocabularyError):
        fetch.fetch(PUBLISHED["small"], bare / "b", url=address + "/x")
    assert [(path.name, path.read_bytes()) for path in (bare / "b").iterdir()] == [("small.tiktoken", b"old")]


def test_fetch_from_the_command_line(
    bare: Path, server: Server, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    address, files = server
    files["/x"] = RANKS
    assert main(["fetch", "small", "--url", address + "/x"]) == 0
    assert capsys.readouterr().out.strip() == str(bare / "home/cache/bbpe/small.tiktoken")
    check(bbpe.get_encoding("small"))
    monkeypatch.setenv("BBPE_VOCABS", str(bare / "c"))
    assert main(["fetch", "small", "--url", address + "/x"]) == 0
    assert main(["fetch", "small", "--url", address + "/x", "--folder", str(bare / "d")]) == 0
    assert (bare / "c/small.tiktoken").exists()
    assert (bare / "d/small.tiktoken").exists()
    assert main(["fetch", "small", "--url", address + "/y"]) == 1
    assert main(["fetch", "o300k"]) == 1
    errors = capsys.readouterr().err
    assert "404" in errors
    assert "unknown vocabulary 'o300k'" in errors


# -- the bytes that were checked are those that are loaded ------------------------------------------------


@pytest.mark.parametrize("names", [("small.tiktoken",), ("small.tiktoken.gz",), ("encoder.json", "vocab.bpe")])
@pytest.mark.parametrize("exchange", [lambda path: path.unlink(), lambda path: path.write_bytes(b"x")])
def test_a_file_that_is_exchanged_once_it_is_checked(
    names: tuple[str, ...], exchange: Callable[[Path], object], bare: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import gzip

    from bbpe import encodings

    data = {"encoder.json": (bare / "files/vocab").read_bytes(), "vocab.bpe": (bare / "files/merges").read_bytes()}
    data |= {"small.tiktoken": RANKS, "small.tiktoken.gz": gzip.compress(RANKS)}
    paths = [put(bare / "b" / name, data[name]) for name in names]
    find = encodings.found

    def found(*args: Any) -> Any:
        files = find(*args)
        for path in paths:
            exchange(path)
        return files

    monkeypatch.setattr(encodings, "found", found)
    check(bbpe.get_encoding("small", folder=bare / "b"))


def test_a_package_is_another_way_where_there_is_no_network(bare: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> bytes:
        raise TimeoutError("https://example.org/small.tiktoken: no network")

    monkeypatch.setattr(fetch, "_within", fail)
    words = r"no network; `pip install some_package` brings it \(other_package has it too\)$"
    with pytest.raises(TimeoutError, match=words):
        fetch.fetch(PUBLISHED["small"], bare)
    with pytest.raises(TimeoutError, match=r"no network$"):
        fetch.fetch(PUBLISHED["small"], bare, url="https://example.org/mine")


def test_a_download_has_a_minute_and_a_second_for_each_20_kilobytes(
    bare: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    limits: list[float] = []
    monkeypatch.setattr(fetch, "_within", lambda seconds, *_: limits.append(seconds) or b"")
    with pytest.raises(VocabularyError, match=r"is not small\.tiktoken"):
        fetch.fetch(PUBLISHED["small"], bare)
    assert limits == [60 + PUBLISHED["small"].forms[0].files[0].size / 20_000]


ADDRESS = "https://a/b"
#: What goes wrong while an answer is read, and the words of the error.
BROKEN = [
    (HTTPException("cut"), "the response ended early (cut)"), (URLError(OSError(5, "no route")), "no route"),
    (URLError("no such host"), "no such host"), (OSError("reset by peer"), "reset by peer"),
    (ValueError("no length"), "no length"), (URLError(OSError("closed")), "closed"),
    (TimeoutError(), "the download took more than 60 s; try again later"),
    (HTTPError(ADDRESS, 404, "gone", HTTPMessage(), None), "HTTP Error 404: gone"),
]  # fmt: skip


@pytest.mark.parametrize(("error", "words"), BROKEN, ids=lambda value: value if isinstance(value, str) else "")
def test_what_breaks_a_download_is_said_with_the_address(
    error: Exception, words: str, bare: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def read(*_: object) -> None:
        raise error

    monkeypatch.setattr(fetch, "_read", read)
    with pytest.raises(OSError, match=rf"^{re.escape(f'{ADDRESS}: {words}')}$") as caught:
        fetch.fetch(PUBLISHED["small"], bare / "new", url=ADDRESS)
    assert isinstance(caught.value, TimeoutError) == isinstance(error, TimeoutError)
    assert not (bare / "new").exists()


def test_an_error_of_the_program_is_none_of_the_network(bare: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def read(*_: object) -> None:
        raise KeyError("mine")

    monkeypatch.setattr(fetch, "_read", read)
    with pytest.raises(KeyError, match="mine"):
        fetch.fetch(PUBLISHED["small"], bare / "new", url=ADDRESS)


@pytest.mark.parametrize(
    ("packages", "words"),
    [
        ((), None), (("one/x",), "`pip install one` brings it"),
        (("one/a/x", "two/x"), "`pip install one` brings it (two has it too)"),
        (
            ("mistral_common/x", "two/x", "three/x"),
            "`pip install mistral-common` brings it (two and three have it too)",
        ),
    ],
)  # fmt: skip
def test_the_package_that_brings_a_file(packages: tuple[str, ...], words: str | None) -> None:
    assert PublishedFile("x", "0" * 64, 1, packages=packages).pip == words


def test_a_file_without_a_package_has_no_other_way(bare: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor does one without an address name `bbpe fetch`; a file of the name that is another one is named."""
    small = PUBLISHED["small"]
    first = small.forms[0].files[0]

    def fail(*_: object) -> bytes:
        raise OSError("https://example.org/small.tiktoken: no network")

    monkeypatch.setattr(fetch, "_within", fail)
    alone = replace(small, forms=(Form("tiktoken", (replace(first, packages=()),)),))
    with pytest.raises(OSError, match=r"no network$"):
        fetch.fetch(alone, bare)
    for file, ways in (
        (replace(first, packages=()), ["`bbpe fetch small` downloads it"]),
        (replace(first, url=None), ["`pip install some_package` brings it (other_package has it too)"]),
        (replace(first, url=None, packages=()), []),
    ):
        monkeypatch.setitem(PUBLISHED, "small", replace(small, forms=(Form("tiktoken", (file,)),)))
        put(bare / "home/cache/bbpe/small.tiktoken", b"x")
        with pytest.raises(VocabularyError) as caught:
            bbpe.get_encoding("small")
        said, *listed = str(caught.value).split("\n  ")
        path = bare / "home/cache/bbpe/small.tiktoken"
        assert said == (
            f"vocabulary 'small' is not on this machine (found {path}, with another checksum than SHA-256 "
            f"{first.sha256}); get it in one of these ways:"
        )
        put_it = f"put small.tiktoken into {path.parent}, or into a folder that BBPE_VOCABS names"
        assert [way.removesuffix(";") for way in listed] == [*ways, put_it]
