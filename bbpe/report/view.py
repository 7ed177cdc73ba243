"""A page that shows the tokens of a text by several tokenizers as boxes; it needs no other file and no request."""

from __future__ import annotations

import json
import secrets
from collections.abc import Mapping
from html import escape
from pathlib import Path

from ..pipeline.special_tokens import Selection
from ..spec.named_tokens import named_tokens
from ..text import Text
from ..tokenizer import Tokenizer
from .boxes import boxes
from .page import page
from .tables import Table

#: The most tokenizers of a page.
MOST = 5
_HERE = Path(__file__).parent
#: The table of a tokenizer shows at most this many special tokens.
_SHOWN = 8


def assets() -> tuple[str, str]:
    """Return the style and the script that draw boxes."""
    return (_HERE / "boxes.css").read_text("utf-8"), (_HERE / "boxes.js").read_text("utf-8")


def as_json(value: object) -> str:
    """Return JSON that a script element of HTML can hold: no text in it ends the element."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")


def to_html(text: Text, tokenizers: Mapping[str, Tokenizer], *, allowed_special: Selection = ()) -> str:
    """Return the page of a text.

    Raises `ValueError` for no or too many tokenizers.
    """
    if not 1 <= len(tokenizers) <= MOST:
        raise ValueError(f"there are {len(tokenizers)} tokenizers; expected 1 to {MOST}")
    found = boxes(text, tokenizers, allowed_special=allowed_special)
    style, script = assets()
    data = as_json([each.as_dict() for each in found])
    names = ", ".join(tokenizers)
    fallback = "".join(f"<li>{escape(each.name)}: {escape(each.summary)}</li>" for each in found)
    body = (
        f'<header><h1>Tokens</h1><p class="hint">{escape(names)}. Hover a token, or move with the arrow keys, for its '
        'id and bytes.</p></header><main id="view"></main><div id="tip" role="status" aria-live="polite"></div>'
        f"<noscript><ul>{fallback}</ul></noscript>"
    )
    nonce = secrets.token_urlsafe(12)
    code = f"{script}\nshow(document.getElementById('view'), {data});"
    return page(f"Tokens: {names}", body, style=style, script=code, nonce=nonce)


def summary(tokenizer: Tokenizer) -> str:
    """Return the table that a notebook shows of a tokenizer."""
    specials = list(tokenizer.special_tokens)
    more = f" and {len(specials) - _SHOWN:,} more" if len(specials) > _SHOWN else ""
    named = ", ".join(f"{use} {text}" for use, text in named_tokens(tokenizer.spec).items())
    rows = [
        ("name", tokenizer.name or "unnamed"),
        ("tokens", f"{len(tokenizer):,}"),
        ("model", tokenizer._parts.vocabulary.learned_as()),
        ("special tokens", " ".join(specials[:_SHOWN]) + more or "none"),
        *([("named tokens", named)] if named else []),
        ("fingerprint", tokenizer.fingerprint[:16]),
    ]
    return Table(("tokenizer", ""), tuple(rows), 1).html()
