"""A playground on the loopback address: type a text and see its tokens, without a request to any other host."""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable, Mapping
from html import escape
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar

from ..errors import BBPEError
from ..tokenizer import Tokenizer
from .tables import STYLE
from .trace import trace
from .view import HINT, MOST, assets, boxes

#: The address; other machines cannot reach it.
ADDRESS = "127.0.0.1"
#: The most bytes of a request, and the seconds that one may take.
_MOST_BYTES, _SECONDS = 8 << 20, 20
#: The methods that answer requests of the page, by their paths.
_ANSWERS = {"/tokens": "tokens", "/trace": "trace"}
_SAMPLE = "Tokenizers split text: naïve café, 世界, 12345 and 👩‍👩‍👧.\n"
_HERE = Path(__file__).parent


class Playground(ThreadingHTTPServer):
    """The server; `serve_forever` answers requests until `shutdown`.

    `loaders` has a function for each name, which is called when a request first names it; a page cannot name a file.
    `chosen` has the names that are ticked at first.
    """

    daemon_threads = True

    def __init__(self, loaders: Mapping[str, Callable[[], Tokenizer]], chosen: list[str], port: int) -> None:
        self.loaders, self.chosen = dict(loaders), chosen
        self._loaded: dict[str, Tokenizer] = {}
        super().__init__((ADDRESS, port), _Handler)
        self.hosts = {f"{host}:{self.server_port}" for host in (ADDRESS, "localhost")}

    @property
    def url(self) -> str:
        """The address to open."""
        return f"http://{ADDRESS}:{self.server_port}/"

    def tokenizer(self, name: str) -> Tokenizer:
        """Return a tokenizer by its name; `ValueError` for a name that is not in the list."""
        if name not in self.loaders:
            raise ValueError(f"there is no tokenizer {name!r}")
        if name not in self._loaded:
            self._loaded[name] = self.loaders[name]()
        return self._loaded[name]

    def tokens(self, request: Any) -> list[dict[str, Any]]:
        """Return the boxes that a request asks for; `ValueError` for a malformed one."""
        text, allowed = _asked(request)
        names = request.get("names")
        if not isinstance(names, list) or not 1 <= len(names) <= MOST or {*map(type, names)} != {str}:
            raise ValueError(f"expected 1 to {MOST} names")
        toks = {name: self.tokenizer(name) for name in names}
        return [each.as_dict() for each in boxes(text, toks, allowed_special=allowed)]

    def trace(self, request: Any) -> dict[str, str]:
        """Return the picture of how a tokenizer makes the tokens of a text; `ValueError` for a malformed request."""
        text, allowed = _asked(request)
        if not isinstance(request.get("name"), str):
            raise ValueError("expected a name")
        return {"html": trace(self.tokenizer(request["name"]), text, allowed_special=allowed)._repr_html_()}

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Write nothing: a browser ends connections as it likes."""

    def page(self, nonce: str) -> str:
        """Return the page; scripts run only with the nonce."""
        style, script = assets()
        choices = "".join(
            f'<label><input type="checkbox" name="tokenizer" value="{escape(name)}"'
            f"{' checked' if name in self.chosen else ''}>{escape(name)}</label>"
            for name in self.loaders
        )
        style += (_HERE / "serve.css").read_text("utf-8")
        script += (_HERE / "serve.js").read_text("utf-8")
        return (
            '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
            '<meta name="viewport" content="width=device-width, initial-scale=1"><title>bbpe playground</title>'
            f"<style>{STYLE}{style}</style></head><body><main><h1>Tokens</h1><form>"
            f'<label for="text">Text</label><textarea id="text" spellcheck="false">{escape(_SAMPLE)}</textarea>'
            f"<fieldset><legend>Tokenizers, up to {MOST}</legend>{choices}</fieldset>"
            '<div class="row"><label><input type="checkbox" id="special">special tokens are special</label>'
            '<label>a file of text <input type="file" id="file"></label></div></form>'
            f'<p class="hint">{HINT}</p><p id="note" role="status"></p><div id="view"></div></main>'
            '<div id="tip" role="status" aria-live="polite"></div>'
            f'<script nonce="{nonce}">{script}</script></body></html>\n'
        )


def _asked(request: Any) -> tuple[str, Any]:
    """Return the text of a request, and its special tokens; `ValueError` for a malformed one."""
    if not isinstance(request, dict) or not isinstance(request.get("text"), str):
        raise ValueError("expected an object with a text and names")
    return request["text"], "all" if request.get("special") is True else ()


class _Handler(BaseHTTPRequestHandler):
    """Answers the requests of the page, and refuses all others."""

    server: Playground
    server_version, sys_version = "bbpe", ""
    protocol_version = "HTTP/1.1"
    timeout = _SECONDS
    _HEADERS: ClassVar[dict[str, str]] = {
        "X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer", "Cache-Control": "no-store",
        "X-Frame-Options": "DENY", "Cross-Origin-Resource-Policy": "same-origin",
    }  # fmt: skip

    def do_GET(self) -> None:
        """Answer with the page."""
        if not self._is_own():
            return
        if self.path != "/":
            self._answer(HTTPStatus.NOT_FOUND, {"error": "there is only /"})
            return
        nonce = secrets.token_urlsafe(16)
        self._put(HTTPStatus.OK, "text/html; charset=utf-8", self.server.page(nonce).encode(), nonce)

    def do_POST(self) -> None:
        """Answer with the boxes of a text, or with the steps that make them."""
        if not self._is_own():
            return
        length = self.headers.get("Content-Length", "")
        if self.path not in _ANSWERS or self.headers.get_content_type() != "application/json":
            self._answer(HTTPStatus.NOT_FOUND, {"error": "expected JSON for /tokens or /trace"})
        elif not length.isdecimal():
            self._answer(HTTPStatus.LENGTH_REQUIRED, {"error": "expected a Content-Length"})
        elif len(length) > 18 or int(length) > _MOST_BYTES:
            self._answer(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, {"error": f"expected at most {_MOST_BYTES:,} bytes"})
        else:
            try:
                found = getattr(self.server, _ANSWERS[self.path])(json.loads(self.rfile.read(int(length))))
            except (ValueError, RecursionError, BBPEError, OSError) as error:
                self._answer(HTTPStatus.BAD_REQUEST, {"error": str(error)})
            else:
                self._answer(HTTPStatus.OK, found)

    def _is_own(self) -> bool:
        """Whether a request is for this server and of its own page; otherwise refuse it.

        Another page can send requests here, and a name of another host can resolve to this address.
        """
        origin = self.headers.get("Origin")
        is_own = self.headers.get("Host") in self.server.hosts and (
            origin is None or origin.removeprefix("http://") in self.server.hosts
        )
        if not is_own:
            self._answer(HTTPStatus.FORBIDDEN, {"error": "this server answers its own page only"})
        return is_own

    def _answer(self, status: HTTPStatus, value: object) -> None:
        self._put(status, "application/json", json.dumps(value, ensure_ascii=False).encode("utf-8", "replace"))

    def _put(self, status: HTTPStatus, kind: str, body: bytes, nonce: str = "") -> None:
        script = f"'nonce-{nonce}'" if nonce else "'none'"
        policy = (
            f"default-src 'none'; script-src {script}; style-src 'unsafe-inline'; connect-src 'self'; "
            "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
        )
        # an unread body would be taken for the next request
        self.close_connection = self.close_connection or status != HTTPStatus.OK
        self.send_response(status)
        for name, value in {**self._HEADERS, "Content-Security-Policy": policy}.items():
            self.send_header(name, value)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        if self.close_connection:
            self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        """Write nothing."""
