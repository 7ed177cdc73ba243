"""The playground: it answers its own page alone, and works in a browser."""

from __future__ import annotations

import http.client
import json
import threading
from collections.abc import Iterator
from functools import partial
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


SAFE = {
    "X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer", "Cache-Control": "no-store",
    "X-Frame-Options": "DENY", "Cross-Origin-Resource-Policy": "same-origin", "Server": "bbpe",
}  # fmt: skip


@pytest.mark.parametrize(("method", "path", "status", "kind"), [
    ("GET", "/", 200, "text/html; charset=utf-8"), ("GET", "/other", 404, "application/json"),
    ("POST", "/tokens", 200, "application/json"), ("POST", "/", 404, "application/json"),
])  # fmt: skip
def test_every_answer_keeps_other_pages_and_scripts_out(
    server: Playground, method: str, path: str, status: int, kind: str, capfd: pytest.CaptureFixture[str]
) -> None:
    body = json.dumps({"text": "\u4e16", "names": ["a"]}).encode() if method == "POST" else b""
    found, headers, answer = ask(server, method, path, body)
    assert (found, headers["Content-Type"], int(headers["Content-Length"])) == (status, kind, len(answer))
    assert {name: headers.get(name, "").strip() for name in SAFE} == SAFE
    policy = dict(each.split(" ", 1) for each in headers["Content-Security-Policy"].split("; "))
    script = policy.pop("script-src")
    assert policy == {
        "default-src": "'none'", "style-src": "'unsafe-inline'", "connect-src": "'self'", "base-uri": "'none'",
        "form-action": "'none'", "frame-ancestors": "'none'",
    }  # fmt: skip
    if kind == "application/json":
        assert script == "'none'"
    else:
        nonce = script.removeprefix("'nonce-").removesuffix("'")
        assert len(nonce) > 20
        assert answer.count(b"<script") == answer.count(f'<script nonce="{nonce}">'.encode()) == 1
    assert capfd.readouterr() == ("", "")


def test_the_names_of_the_page(server: Playground) -> None:
    """In the order in which they were given; those that were chosen are ticked."""
    page = server.page("x")
    labels = [
        '<label><input type="checkbox" name="tokenizer" value="a" checked>a</label>',
        '<label><input type="checkbox" name="tokenizer" value="&lt;b&gt;">&lt;b&gt;</label>',
        '<label><input type="checkbox" name="tokenizer" value="broken">broken</label>',
    ]
    assert "".join(labels) in page
    assert page.count('name="tokenizer"') == 3
    assert server.url == f"http://127.0.0.1:{server.server_port}/"


@pytest.mark.parametrize(("more", "length", "status"), [
    (0, None, 200), (1, None, 413), (0, "", 411), (0, "-1", 411), (0, "1.0", 411), (0, "x", 411), (0, "9" * 18, 413),
])  # fmt: skip
def test_the_size_of_a_request(
    server: Playground, more: int, length: str | None, status: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    body = json.dumps({"text": "a", "names": ["a"]}).encode()
    monkeypatch.setattr("bbpe.report.serve._MOST_BYTES", len(body))
    headers = {} if length is None else {"Content-Length": length}
    found, _, answer = ask(server, "POST", "/tokens", body + b" " * more, **headers)
    said = {411: "expected a Content-Length", 413: f"expected at most {len(body)} bytes"}
    assert found == status
    if status != 200:
        assert json.loads(answer) == {"error": said[status]}


@pytest.mark.parametrize(("special", "counts"), [(True, True), (False, False), (None, False), ("all", False)])
def test_special_tokens_count_only_where_a_request_says_so(server: Playground, special: object, counts: bool) -> None:
    request = {"text": "see <|end|>", "names": ["a"], "name": "a", "special": special}
    allowed: Any = "all" if counts else ()
    ids = TOK.encode("see <|end|>", allowed_special=allowed)
    (column,) = server.tokens(request)
    assert [column["kinds"][number][0] for number in column["order"]] == ids
    assert server.trace(request) == {"html": TOK.trace("see <|end|>", allowed_special=allowed)._repr_html_()}


def test_a_tokenizer_is_loaded_when_it_is_first_named_and_once(capfd: pytest.CaptureFixture[str]) -> None:
    loaded: list[str] = []

    def load(name: str) -> bbpe.Tokenizer:
        loaded.append(name)
        return TOK

    with Playground({name: partial(load, name) for name in "abcdef"}, [], 0) as found:
        assert loaded == []
        for names in (["b"], ["b", "a"], ["a", "b"], [*"abcde"]):
            assert len(found.tokens({"text": "see", "names": names})) == len(names)
        assert loaded == ["b", "a", "c", "d", "e"]
        with pytest.raises(ValueError, match="expected 1 to 5 names"):
            found.tokens({"text": "see", "names": [*"abcdef"]})
        found.handle_error(None, None)
    assert capfd.readouterr() == ("", "")


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
