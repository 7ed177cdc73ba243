"""Tokens as boxes: what a text becomes, as data that terminals show, and as a page that needs no other file."""

from __future__ import annotations

import json
import secrets
from collections.abc import Collection, Mapping, Sequence
from html import escape
from itertools import accumulate
from pathlib import Path
from typing import Any

from ..pipeline.special_tokens import Selection
from ..records import dataclass
from ..spec.named_tokens import named_tokens
from ..text import Text, first_few, text_bytes
from ..tokenizer import Tokenizer, checked_tokenizer
from .tables import Table, page
from .trace_view import visible

#: How a reader gets at more than the text of a token.
HINT = "Point at a token, tap it, or move with the arrow keys to see its id and bytes."
#: The most tokenizers of a page.
MOST = 5
_HERE = Path(__file__).parent
#: The table of a tokenizer shows at most this many special tokens.
_SHOWN = 8


@dataclass(frozen=True)
class Boxes:
    """The tokens of a text by one tokenizer: the id of each, its bytes, and its span in the bytes of the text.

    `spans` is None if the tokens have no places in the text.
    """

    name: str
    size: int
    ids: list[int]
    tokens: list[bytes]
    spans: list[tuple[int, int]] | None
    special: frozenset[int]

    @property
    def summary(self) -> str:
        """The number of tokens, and bytes for each."""
        ratio = f", {self.size / len(self.ids):.2f} bytes per token" if self.ids else ""
        return f"{len(self.ids):,} token{'' if len(self.ids) == 1 else 's'}{ratio}"

    def as_dict(self) -> dict[str, Any]:
        """Return the boxes as data for JSON, with each different token once.

        `kinds` has `[id, text, hex, flags]` of each token, and `order` the number of the kind of each box.  `spans` has
        where each box begins and ends in the bytes of the text, or true if the bytes of the tokens are the text.
        Flags: 1 special, 2 not whole characters, 4 has a line end.
        """
        rows = []
        for token_id, token in dict(zip(self.ids, self.tokens, strict=True)).items():
            flags = (token_id in self.special) | 2 * (not _is_whole(token)) | 4 * (b"\n" in token)
            rows.append([token_id, visible(token), token.hex(" "), flags])
        place = {row[0]: number for number, row in enumerate(rows)}
        order = list(map(place.__getitem__, self.ids))
        spans: list[int] | bool | None = None
        if self.spans is not None:
            ends = list(accumulate(map(len, self.tokens)))
            joins = self.spans == list(zip([0, *ends], ends, strict=False))
            spans = joins or [place for span in self.spans for place in span]
        return {
            "name": self.name, "summary": self.summary, "bytes": self.size, "kinds": rows, "order": order,
            "spans": spans,
        }  # fmt: skip


def boxes(text: Text, tokenizers: Mapping[str, Tokenizer], *, allowed_special: Selection = ()) -> list[Boxes]:
    """Return the tokens of a text by each tokenizer; allowed special tokens that one does not have are text for it."""
    size = len(text_bytes(text))
    found = []
    for name, tok in tokenizers.items():
        checked_tokenizer(tok, f"tokenizers[{name!r}]")
        known = {*tok.special_tokens, *tok.added_tokens}
        allowed = allowed_special
        if isinstance(allowed_special, Collection) and not isinstance(allowed_special, str):
            allowed = set(allowed_special) & known
        try:
            ids, places = tok.encode_with_offsets(text, "byte", allowed_special=allowed)
            spans: list[tuple[int, int]] | None = list(map(tuple, places.tolist()))
        except ValueError:
            ids, spans = tok.encode(text, allowed_special=allowed), None
        special = frozenset({*tok.special_tokens.values(), *tok.added_tokens.values()})
        found.append(Boxes(name, size, ids, _tokens(tok, ids), spans, special))
    return found


def _tokens(tok: Tokenizer, ids: list[int]) -> list[bytes]:
    known = {token_id: tok.id_to_token(token_id) for token_id in set(ids)}
    return list(map(known.__getitem__, ids))


def _is_whole(token: bytes) -> bool:
    try:
        token.decode()
    except UnicodeDecodeError:
        return False
    return True


def assets() -> tuple[str, str]:
    """Return the style and the script that draw boxes."""
    return (_HERE / "boxes.css").read_text("utf-8"), (_HERE / "boxes.js").read_text("utf-8")


def as_json(value: object) -> str:
    """Return JSON that a script element of HTML can hold: no text in it ends the element."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")


def to_html(text: Text, tokenizers: Mapping[str, Tokenizer], *, allowed_special: Selection = ()) -> str:
    """Return the page of a text, as `texts_to_html`."""
    return texts_to_html([("", text)], tokenizers, allowed_special=allowed_special)


def texts_to_html(
    texts: Sequence[tuple[str, Text]], tokenizers: Mapping[str, Tokenizer], *, allowed_special: Selection = ()
) -> str:
    """Return the page of texts with names, one below the other; a text without a name has no heading.

    Raises `ValueError` for no or too many tokenizers.
    """
    if not 1 <= len(tokenizers) <= MOST:
        raise ValueError(f"there are {len(tokenizers)} tokenizers; expected 1 to {MOST}")
    style, code = assets()
    *first, last = tokenizers
    names, parts, fallback = f"{', '.join(first)} and {last}" if first else last, [], []
    for number, (name, text) in enumerate(texts):
        found = boxes(text, tokenizers, allowed_special=allowed_special)
        parts.append((f'<h2 class="file">{escape(name)}</h2>' if name else "") + f'<div id="view{number}"></div>')
        fallback += [f"<li>{escape(f'{name} {each.name}'.strip())}: {escape(each.summary)}</li>" for each in found]
        code += f"\nshow(document.getElementById('view{number}'), {as_json([each.as_dict() for each in found])});"
    body = (
        f'<header><h1>Tokens by {escape(names)}</h1><p class="hint">{HINT}</p></header><main>{"".join(parts)}</main>'
        f'<div id="tip" role="status" aria-live="polite"></div><noscript><ul>{"".join(fallback)}</ul></noscript>'
    )
    nonce = secrets.token_urlsafe(12)
    return page(f"Tokens by {names}", body, style=style, script=code, nonce=nonce)


def summary(tokenizer: Tokenizer) -> str:
    """Return the table that a notebook shows of a tokenizer."""
    named = ", ".join(f"{use} {text}" for use, text in named_tokens(tokenizer.spec).items())
    rows = [
        ("name", tokenizer.name or "unnamed"),
        ("tokens", f"{len(tokenizer):,}"),
        ("model", tokenizer._parts.vocabulary.learned_as()),
        ("special tokens", first_few([*tokenizer.special_tokens], _SHOWN, " ")),
        *([("named tokens", named)] if named else []),
        ("fingerprint", tokenizer.fingerprint[:16]),
    ]
    return Table(("tokenizer", ""), tuple(rows), 1).html()
