"""The picture of an encoded chat, for pages and notebooks: each id is a box in the colour of who wrote it."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from typing import TYPE_CHECKING

from ..text import counted
from .tables import page
from .trace_view import visible

if TYPE_CHECKING:
    from ..types import EncodedChat

#: A notebook shows at most this many ids.
_SHOWN = 2_000
#: The background of each kind of text in light and in dark pages, which have enough contrast to the ink.
COLOURS = {
    "template": ("#e6e8eb", "#363c45"),
    "system": ("#f6d5e6", "#5c2544"),
    "user": ("#cfe8f7", "#14425f"),
    "tool": ("#fbe3b5", "#5a4210"),
    "assistant": ("#e4e2f6", "#3a3670"),
    "other": ("#f3efb0", "#4b4709"),
    "learned": ("#cdebdf", "#0e4d3a"),
}
INK, BACK = ("#1b1b1b", "#ececec"), ("#ffffff", "#16181c")
_SAME = {"developer": "system", "function": "tool", "ipython": "tool", "observation": "tool", "model": "assistant"}


def _pair(name: str, pair: tuple[str, str]) -> str:
    # a browser that does not know light-dark() keeps the first
    return f"{name}:{pair[0]};{name}:light-dark({pair[0]},{pair[1]})"


_STYLE = (
    f".bbpe-chat{{{_pair('color', INK)};{_pair('background', BACK)};padding:.6em;border-radius:8px;"
    'font:15px/1.9 ui-monospace,"DejaVu Sans Mono",monospace;overflow-wrap:anywhere}'
    ".bbpe-chat span{display:inline-block;max-width:100%;margin:0 1px;padding:0 .15em;border-radius:3px;"
    "line-height:1.45;white-space:pre-wrap}"
    ".bbpe-chat p{margin:0 0 .5em;font:14px/1.9 system-ui,sans-serif}"
    + "".join(f".bbpe-chat .c-{kind}{{{_pair('background', pair)}}}" for kind, pair in COLOURS.items())
    # a line says the same as the colour, for those who cannot tell the colours apart
    + ".bbpe-chat .c-learned{box-shadow:inset 0 -2px 0 #0a8f5b}"
)


def to_html(chat: EncodedChat) -> str:
    """Return the page of a chat."""
    return page("Chat", f"<main><h1>Chat</h1>{_picture(chat, len(chat.ids))}</main>")


def fragment(chat: EncodedChat) -> str:
    """Return the element that a notebook shows of a chat, which has the first ids of a long one."""
    return _picture(chat, _SHOWN)


def _picture(chat: EncodedChat, most: int) -> str:
    kinds = _kinds(chat)
    boxes = "".join(_boxes(chat, kinds, most))
    more = len(chat.ids) - most
    rest = f"<p>{counted(more, 'more id')}: <code>to_html()</code> shows all</p>" if more > 0 else ""
    return f'<div class="bbpe-chat"><style>{_STYLE}</style>{_legend(chat, kinds)}<div>{boxes}</div>{rest}</div>'


def _kinds(chat: EncodedChat) -> dict[int, tuple[str, str]]:
    """Return the kind and the role of each message by its number, and those of the template as -1."""
    roles = [str(message.get("role", "")) for message in chat._request.messages] if chat._request is not None else []
    kinds = {-1: ("template", "template")}
    numbers = () if chat._request is None else chat._request.numbers  # `max_length` leaves messages out
    for at, role in enumerate(roles):
        kind = _SAME.get(role, role)
        known = kind in COLOURS and kind not in ("template", "learned")
        kinds[numbers[at] if at < len(numbers) else at + chat.dropped] = (kind if known else "other", role)
    return kinds


def _legend(chat: EncodedChat, kinds: dict[int, tuple[str, str]]) -> str:
    """Return the kinds in use, in the order of the messages."""
    used = dict.fromkeys(kinds.get(number, ("other", "message")) for number in chat.message_of[chat.mask == 0].tolist())
    shown = [*used, *([("learned", "learned")] if chat.mask.any() else [])]
    marks = " ".join(f'<span class="c-{kind}">{escape(name)}</span>' for kind, name in shown)
    return f"<p>{counted(len(chat.ids), 'id')}, {int(chat.mask.sum()):,} to learn: {marks}</p>"


def _boxes(chat: EncodedChat, kinds: dict[int, tuple[str, str]], most: int) -> Iterator[str]:
    """Yield a box for each id; text that no id comes from has none."""
    done = 0
    columns = (chat.ids, chat.mask, chat.message_of, chat.places)
    for token_id, learned, message, (start, end) in zip(*(rows[:most].tolist() for rows in columns), strict=True):
        if start > done:
            yield _shown(chat.text[done:start])
        kind, role = kinds.get(message, ("other", ""))
        text = chat.text[max(start, done) : end]
        whose = [role] if message < 0 else [f"message {message}", *([role] if role else [])]
        notes = ["learned"] * learned + ["the rest of a character"] * (not text)
        title = ", ".join([f"id {token_id}", *whose, *notes])
        yield f'<span class="c-{"learned" if learned else kind}" title="{escape(title)}">{_shown(text) or "⋯"}</span>'
        if "\n" in text:
            yield "<br>"
        done = max(done, end)
    if len(chat.ids) <= most:
        yield _shown(chat.text[done:])


def _shown(text: str) -> str:
    return escape(visible(text.encode("utf-8", "surrogatepass")))
