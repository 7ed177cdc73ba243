"""The playground: it answers its own page alone, and works in a browser."""

from __future__ import annotations

import http.client
import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import browser
import pytest

import bbpe
from bbpe.report.serve import Playground

TEXTS = ["see my eyes first, see my dogs", "low lower lowest 世界"] * 5
TOK = bbpe.train_from_iterator(TEXTS, 300, special_tokens=["<|end|>"])
OTHER = bbpe.train_from_iterator(TEXTS, 270)


def broken() -> bbpe.Tokenizer:
    raise bbpe.VocabularyError("no such file")


@pytest.fixture(scope="module")
def server() -> Iterator[Playground]:
    loaders = {"a": lambda: TOK, "<b>": lambda: OTHER, "broken": broken}
    with Playground(loaders, ["a"], 0) as found:
        thread = threading.Thread(target=found.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        yield found
        found.shutdown()
        thread.join()


def ask(
    server: Playground, method: str, path: str, body: bytes = b"", **headers: str
) -> tuple[int, dict[str, str], bytes]:
    connection = http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=10)
    connection.request(method, path, body or None, {"Content-Type": "application/json", **headers})
    answer = connection.getresponse()
    found = answer.status, dict(answer.getheaders()), answer.read()
    connection.close()
    return found


def tokens(server: Playground, **request: Any) -> tuple[int, Any]:
    status, _, body = ask(server, "POST", "/tokens", json.dumps(request).encode())
    return status, json.loads(body)


def test_tokens(server: Playground) -> None:
    status, found = tokens(server, text="see <|end|>", names=["a", "<b>"], special=True)
    assert status == 200
    ids = [[column["kinds"][number][0] for number in column["order"]] for column in found]
    assert ids == [TOK.encode("see <|end|>", allowed_special="all"), OTHER.encode("see <|end|>")]
    assert tokens(server, text="", names=["a"])[1][0]["order"] == []


@pytest.mark.parametrize(
    ("request_", "said"),
    [
        ({"text": "a", "names": ["/etc/passwd"]}, "there is no tokenizer"),
        ({"text": "a", "names": ["broken"]}, "no such file"),
        ({"text": "a", "names": []}, "1 to 5 names"),
        ({"text": 3, "names": ["a"]}, "expected an object"),
        ({"text": "a", "names": ["a"] * 6}, "1 to 5 names"),
    ],
)
def test_wrong_requests(server: Playground, request_: dict[str, Any], said: str) -> None:
    status, found = tokens(server, **request_)
    assert status == 400
    assert said in found["error"]


def test_steps(server: Playground) -> None:
    request = {"text": "low <|end|>", "name": "a", "special": True}
    status, _, body = ask(server, "POST", "/trace", json.dumps(request).encode())
    assert status == 200
    assert json.loads(body) == {"html": TOK.trace("low <|end|>", allowed_special="all")._repr_html_()}
    long = "a" * 5000
    for wrong, said in (({"name": "x"}, "no tokenizer"), ({"name": [1]}, "a name"), ({"text": long}, "at most 4,096")):
        status, _, body = ask(server, "POST", "/trace", json.dumps({**request, **wrong}).encode())
        assert status == 400
        assert said in json.loads(body)["error"]


def test_python_does_not_wait_for_requests_when_it_exits() -> None:
    """A thread of a request that is still answered ends with the server."""
    seen: list[bool] = []

    def loaded() -> bbpe.Tokenizer:
        seen.append(threading.current_thread().daemon)
        return TOK

    with Playground({"a": loaded}, ["a"], 0) as found:
        thread = threading.Thread(target=found.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        assert tokens(found, text="see", names=["a"])[0] == 200
        found.shutdown()
        thread.join()
    assert seen == [True]


def test_refusals(server: Playground) -> None:
    assert ask(server, "GET", "/", Host="example.org")[0] == 403
    assert ask(server, "GET", "/", Host=f"localhost:{server.server_port}")[0] == 200
    assert ask(server, "GET", "/", Host="localhost:1")[0] == 403
    good = json.dumps({"text": "a", "names": ["a"]}).encode()
    assert ask(server, "POST", "/tokens", good, Origin="http://example.org")[0] == 403
    assert ask(server, "POST", "/tokens", good, Origin="null")[0] == 403
    assert ask(server, "POST", "/tokens", good, **{"Content-Type": "text/plain"})[0] == 404
    assert ask(server, "POST", "/tokens", b"{", Origin=f"http://127.0.0.1:{server.server_port}")[0] == 400
    assert ask(server, "POST", "/tokens", b"x", **{"Content-Length": str(1 << 30)})[0] == 413
    assert ask(server, "POST", "/tokens", b"x", **{"Content-Length": "9" * 5_000})[0] == 413
    half = json.dumps({"text": "a\ud800b", "names": ["a"]}).encode()
    assert ask(server, "POST", "/tokens", half)[0] == 200
    assert ask(server, "POST", "/tokens", b"[" * 5_000)[0] == 400
    assert ask(server, "GET", "/etc/passwd")[0] == 404
    assert server.server_address[0] == "127.0.0.1"


def test_a_connection_is_kept_until_a_request_is_refused(server: Playground) -> None:
    """What is left of a refused request would be taken for the next one."""
    good = json.dumps({"text": "a", "names": ["a"]}).encode()
    json_ = {"Content-Type": "application/json"}
    for method, path, body, status in (
        ("POST", "/tokens", b"{", 400), ("GET", "/other", b"", 404), ("POST", "/other", good, 404),
    ):  # fmt: skip
        connection = http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=10)
        for _ in range(2):
            connection.request("POST", "/tokens", good, json_)
            answer = connection.getresponse()
            assert (answer.status, answer.getheader("Connection"), answer.will_close) == (200, None, False)
            assert answer.read() != b""
        socket = connection.sock
        connection.request(method, path, body or None, json_)
        answer = connection.getresponse()
        assert connection.sock is None or connection.sock is socket
        assert (answer.status, answer.getheader("Connection"), answer.will_close) == (status, "close", True)
        connection.close()


def test_the_page(server: Playground) -> None:
    _, headers, body = ask(server, "GET", "/")
    policy = headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy
    assert "unsafe-inline" not in policy.partition("style-src")[0]
    assert b"&lt;b&gt;" in body
    assert b'value="<b>"' not in body
    again = ask(server, "GET", "/")[1]["Content-Security-Policy"]
    assert again != policy  # a new nonce


@pytest.mark.skipif(browser.PATH is None, reason="needs Chromium")
def test_the_playground_in_a_browser(server: Playground, tmp_path: Path) -> None:
    with browser.Browser() as page:
        page.open(server.url)
        page.until("document.querySelectorAll('.token').length > 0")
        page.run("(text => { text.focus(); text.select() })(document.getElementById('text'))")
        page.type("see <script>window.bad=1</script> 世界")
        boxes = "[...document.querySelectorAll('.text')[0].querySelectorAll('.token')]"
        shown = f"{boxes}.map(box => box.textContent).join('')"
        page.until(f"{shown}.includes('<script>')")
        assert page.run("window.bad") is None
        assert "text=see" in page.run("location.hash")
        page.run("[...document.querySelectorAll('summary')].forEach(each => each.click())")
        ids = " ".join(map(str, TOK.encode("see <script>window.bad=1</script> 世界")))
        page.until("document.querySelectorAll('details textarea').length === 1")
        assert page.run("document.querySelector('details textarea').value") == ids
        page.until("document.querySelectorAll('details svg rect').length > 3")
        assert page.run("window.bad") is None
        page.run("document.querySelector('input[value=\"<b>\"]').click()")
        page.until("document.querySelectorAll('.column').length === 2")
        assert page.run("location.hash").endswith("t=a&t=%3Cb%3E")
        page.open(f"{server.url}#text=my+dogs&t=%3Cb%3E")
        page.until(f"{shown} === 'my␣dogs'")
        outside = [url for url in page.requests() if not url.startswith((server.url, "about:"))]
        assert outside == []


@pytest.mark.full
@pytest.mark.skipif(browser.PATH is None, reason="needs Chromium")
def test_a_megabyte_is_pasted(server: Playground) -> None:
    with browser.Browser() as page:
        page.open(server.url)
        page.until("document.querySelectorAll('.token').length > 0")
        page.run(
            "(text => { text.value = 'see my dogs 世界 '.repeat(50000); text.dispatchEvent(new Event('input')) })"
            "(document.getElementById('text'))"
        )
        page.until("document.querySelector('.sum').textContent.length > 30", 60)
        assert page.run("document.querySelectorAll('.token').length") < 10_000
