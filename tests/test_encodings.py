"""Tokenizers by name: where their files are found, how they are checked, and what else they come with."""

from __future__ import annotations

import gzip
import hashlib
import os
import re
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from small_published import RANKS, check, put
from vocabularies import MERGES

import bbpe
from bbpe import download, locations
from bbpe.encodings import published_vocabulary
from bbpe.errors import VocabularyError
from bbpe.model_names import MODELS
from bbpe.published import PUBLISHED, Form


def places(bare: Path) -> dict[str, tuple[str, bytes]]:
    file = PUBLISHED["small"].forms[0].files[0]
    key = hashlib.sha1(b"https://example.org/small.tiktoken").hexdigest()
    return {
        "own cache": ("home/cache/bbpe/small.tiktoken", RANKS),
        "own cache, compressed": ("home/cache/bbpe/small.tiktoken.gz", gzip.compress(RANKS)),
        "tiktoken": (f"home/tiktoken/{key}", RANKS),
        "hub, large file": (f"home/cache/huggingface/hub/models--a--b/blobs/{file.sha256}", RANKS),
        "hub, small file": (f"home/cache/huggingface/hub/models--c--d/blobs/{file.git}", RANKS),
    }


PLACES = ["own cache", "own cache, compressed", "tiktoken", "hub, large file", "hub, small file"]


@pytest.mark.parametrize("place", PLACES)
def test_places(bare: Path, place: str) -> None:
    with pytest.raises(VocabularyError, match="not on this machine"):
        bbpe.get_encoding("small")
    path, data = places(bare)[place]
    put(bare / path, data)
    check(bbpe.get_encoding("small"))
    # one wrong bit, and it does not count
    put(bare / path, data[:60] + bytes([data[60] ^ 1]) + data[61:])
    with pytest.raises(VocabularyError) as caught:
        bbpe.get_encoding("small")
    assert path in str(caught.value)
    assert "another checksum" in str(caught.value)


def test_places_that_variables_name(bare: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(bare / "b/small.tiktoken")
    check(bbpe.get_encoding("small", folder=bare / "b"))
    check(bbpe.get_encoding("small", folder=str(bare / "b")))
    monkeypatch.setenv("BBPE_VOCABS", os.pathsep.join([str(bare / "a"), str(bare / "b")]))
    check(bbpe.get_encoding("small"))
    monkeypatch.delenv("BBPE_VOCABS")
    key = hashlib.sha1(b"https://example.org/small.tiktoken").hexdigest()
    put(bare / "gym" / key)
    monkeypatch.setenv("DATA_GYM_CACHE_DIR", str(bare / "gym"))
    monkeypatch.delenv("TIKTOKEN_CACHE_DIR")
    check(bbpe.get_encoding("small"))
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", "")  # tiktoken's word for none
    with pytest.raises(VocabularyError):
        bbpe.get_encoding("small")
    file = PUBLISHED["small"].forms[0].files[0]
    for variable, place in (("HF_HOME", "h/hub"), ("HF_HUB_CACHE", "h/hub"), ("HUGGINGFACE_HUB_CACHE", "h/hub")):
        with monkeypatch.context() as patch:
            put(bare / place / "models--a--b/blobs" / file.sha256)
            patch.setenv(variable, str(bare / "h" if variable == "HF_HOME" else bare / place))
            check(bbpe.get_encoding("small"))


def test_packages_are_not_imported(bare: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(bare / "site/some_package/__init__.py", b"raise RuntimeError('imported')")
    monkeypatch.syspath_prepend(bare / "site")
    with pytest.raises(VocabularyError, match="not on this machine"):
        bbpe.get_encoding("small")
    put(bare / "site/some_package/data/small.tiktoken.gz", gzip.compress(RANKS))
    check(bbpe.get_encoding("small"))
    # what unpacks to more than it should is not unpacked
    put(bare / "site/some_package/data/small.tiktoken.gz", gzip.compress(RANKS + bytes(1 << 26)))
    put(bare / "site/other_package/small")  # no __init__.py: a namespace package
    check(bbpe.get_encoding("small"))
    put(bare / "site/other_package/small", b"x")
    put(bare / "site/some_package/data/small.tiktoken.gz", b"no gzip")
    with pytest.raises(VocabularyError, match="another checksum"):
        bbpe.get_encoding("small")


def test_a_vocabulary_of_two_files(bare: Path) -> None:
    (bare / "b").mkdir()
    (bare / "files/vocab").rename(bare / "b/encoder.json")
    with pytest.raises(VocabularyError, match="not on this machine"):
        bbpe.get_encoding("small", folder=bare / "b")
    (bare / "files/merges").rename(bare / "b/vocab.bpe")
    tok = bbpe.get_encoding("small", folder=bare / "b")
    check(tok)
    assert tok.merges == list(MERGES)
    put(bare / "b/small.tiktoken")
    assert bbpe.get_encoding("small", folder=bare / "b") == tok


def test_what_to_do_is_said(bare: Path) -> None:
    with pytest.raises(VocabularyError) as caught:
        bbpe.get_encoding("small")
    file = PUBLISHED["small"].forms[0].files[0]
    for part in (
        "'small' is not on this machine",
        "`bbpe fetch small`, which downloads https://example.org/small.tiktoken",
        "`pip install some_package`",
        f"put small.tiktoken (SHA-256 {file.sha256}) into a folder",
        "folder= or BBPE_VOCABS",
    ):
        assert part in str(caught.value)


NEAR = [("o200k", "o200k_base"), ("gpt-2", "gpt2"), ("qwen3_7", "qwen3"), ("?", "")]


@pytest.mark.parametrize(("name", "near"), NEAR)
def test_unknown_names(name: str, near: str) -> None:
    with pytest.raises(VocabularyError, match=f"unknown vocabulary .*{near}.*expected one of: gpt2, "):
        bbpe.get_encoding(name)


# -- downloading -----------------------------------------------------------------------------------------


@pytest.fixture
def server() -> Iterator[tuple[str, dict[str, Any]]]:
    """A server on this machine that answers with the bytes of a dictionary, and its address."""
    files: dict[str, Any] = {}

    class Answer(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            data = files.get(self.path)
            self.send_response(404 if data is None else 200)
            self.send_header("Content-Length", str(len(data or b"") + files.get("more", 0)))
            self.end_headers()
            self.wfile.write(data or b"")

        def log_message(self, *_: Any) -> None:
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Answer) as http:
        thread = threading.Thread(target=http.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{http.server_address[1]}", files
        http.shutdown()
        thread.join()


def test_fetch(bare: Path, server: tuple[str, dict[str, Any]]) -> None:
    address, files = server
    files["/small.tiktoken"] = RANKS
    small = PUBLISHED["small"]
    path = download.fetch(small, bare / "new/folder", url=address + "/small.tiktoken")
    assert (path, path.read_bytes()) == (bare / "new/folder/small.tiktoken", RANKS)
    check(bbpe.get_encoding("small", folder=bare / "new/folder"))
    # the address that is known
    first = replace(small.forms[0].files[0], url=address + "/small.tiktoken")
    known = replace(small, forms=(Form("tiktoken", (first,)),))
    assert download.fetch(known, bare / "other").read_bytes() == RANKS


def test_fetch_that_fails_leaves_nothing(bare: Path, server: tuple[str, dict[str, Any]]) -> None:
    address, files = server
    small, folder = PUBLISHED["small"], bare / "new"
    files |= {"/wrong": RANKS[:-1] + b"x", "/long": RANKS + b"x", "/short": RANKS[:-1], "/empty": b""}
    for path in ("/wrong", "/long", "/short", "/empty"):
        with pytest.raises(VocabularyError, match=f"{path} has another content than small.tiktoken.*SHA-256"):
            download.fetch(small, folder, url=address + path)
    with pytest.raises(OSError, match="/none: HTTP Error 404"):
        download.fetch(small, folder, url=address + "/none")
    files["more"] = 5
    with pytest.raises((OSError, VocabularyError), match=r"broke off|another content"):
        download.fetch(small, folder, url=address + "/short")
    with pytest.raises(OSError, match=r"127\.0\.0\.1:1/"):
        download.fetch(small, folder, url="http://127.0.0.1:1/small")
    for url in ("file:///etc/passwd", "ftp://a/b", "small"):
        with pytest.raises(VocabularyError, match="expected http"):
            download.fetch(small, folder, url=url)
    with pytest.raises(VocabularyError, match=r"no public address is known for tekken_240911\.json.*mistral-common"):
        download.fetch(PUBLISHED["tekken_240911"], folder)
    assert not folder.exists()


def test_fetch_keeps_what_was_there(bare: Path, server: tuple[str, dict[str, Any]]) -> None:
    address, files = server
    put(bare / "b/small.tiktoken", b"old")
    files["/x"] = b"wrong"
    with pytest.raises(VocabularyError):
        download.fetch(PUBLISHED["small"], bare / "b", url=address + "/x")
    assert [(path.name, path.read_bytes()) for path in (bare / "b").iterdir()] == [("small.tiktoken", b"old")]


def test_fetch_from_the_command_line(
    bare: Path, server: tuple[str, dict[str, Any]], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from bbpe.cli import main

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


def test_encoding_for_model(bare: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(bare / "b/small.tiktoken")
    monkeypatch.setitem(MODELS, "small-model", "small")
    check(bbpe.encoding_for_model("small-model", folder=bare / "b"))
    with pytest.raises(VocabularyError, match=r"model 'gpt-1' is not known.*get_encoding\(\)"):
        bbpe.encoding_for_model("gpt-1")
    assert published_vocabulary("tekken").name == "tekken_240911"


# -- no network ------------------------------------------------------------------------------------------

NO_NETWORK = """
import sys

def refuse(event, arguments):
    if event.startswith(("socket.", "urllib.", "http.")):
        raise SystemExit(f"{event} {arguments}")

sys.addaudithook(refuse)
import bbpe
from bbpe import formats

folder = sys.argv[1]
tok = bbpe.get_encoding("gpt2", folder=folder) if sys.argv[2] else bbpe.train_from_iterator(["a b"], 257)
places = {"huggingface": "tokenizer.json", "tiktoken": "x.tiktoken", "gpt2": "pair", "vocab_txt": "txt"}
for name, place in places.items():
    tok.save(f"{folder}/{place}", format=name)
    assert bbpe.load(f"{folder}/{place}", pattern="gpt2", special_tokens=tok.special_tokens) == tok
for name in ("o200k_base", "tekken", "gpt9"):
    try:
        bbpe.get_encoding(name, folder=folder)
    except bbpe.VocabularyError:
        pass
assert "socket" not in sys.modules, "something imports socket"
"""


@pytest.mark.parametrize("real", ["", "real"])
def test_nothing_touches_the_network(real: str, tmp_path: Path, vocab_path: Callable[[str], Path]) -> None:
    if real:
        (tmp_path / "gpt2.tiktoken").write_bytes(vocab_path("gpt2.tiktoken").read_bytes())
    # coverage.py, which such a variable would start, imports socket
    environment = {name: value for name, value in os.environ.items() if not name.startswith("COVERAGE_")}
    environment["PYTHONPATH"] = str(Path(bbpe.__file__).parents[1])
    command = [sys.executable, "-c", NO_NETWORK, str(tmp_path), real]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_locations_say_what_is_missing(bare: Path) -> None:
    with pytest.raises(locations.MissingError) as caught, locations.found(PUBLISHED["small"]):
        raise AssertionError
    assert caught.value.wrong == ()


def test_only_one_module_knows_the_network() -> None:
    package = Path(bbpe.__file__).parent
    names = r"urllib\.request|http|socket|ssl|requests|httpx|aiohttp|ftplib"
    network = re.compile(rf"^\s*(?:from|import) (?:{names})\b", re.M)
    users = {path.name for path in package.rglob("*.py") if network.search(path.read_text("utf-8"))}
    assert users == {"download.py"}
