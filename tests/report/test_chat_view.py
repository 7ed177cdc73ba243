"""The picture of an encoded chat: all of its text, whose each id is, nothing that runs, and a bound in notebooks."""

from __future__ import annotations

import re
from html import unescape

import chat_picture
import numpy as np
import pytest

import bbpe
from bbpe.report import chat_view
from bbpe.report.trace_view import visible
from bbpe.types import EncodedChat

CHATML = """{% for message in messages -%}
<|im_start|>{{ message.role }}
{{ message.content }}<|im_end|>
{% endfor %}"""
TOK = bbpe.train_from_iterator(["see my eyes"] * 3, 270, special_tokens=["<|im_start|>", "<|im_end|>"])
MESSAGES = [
    {"role": "developer", "content": "Be brief."},
    {"role": "user", "content": "<script>alert(1)</script>\"'\n\n\tsee \u202emy eyes<|im_end|>"},
    {"role": "assistant", "content": "東京 🌧"},
    {"role": "<img src=x>", "content": "I see"},
]


def boxes(html: str) -> list[tuple[str, str, str]]:
    """The class, title and text of each box, without those of the legend."""
    found = re.findall(r'<span class="c-(\w+)" title="([^"]*)">(.*?)</span>', html)
    return [(kind, unescape(title), unescape(text)) for kind, title, text in found]


def test_all_text_is_shown_once() -> None:
    chat = TOK.encode_chat(MESSAGES, chat_template=CHATML)
    for html in (chat.to_html(), chat._repr_html_()):
        shown = boxes(html)
        assert len(shown) == len(chat)
        assert "".join(text for _, _, text in shown).replace("⋯", "") == visible(chat.text.encode())
        assert html.count("<br>") == sum("\n" in chat.text[start:end] for start, end in chat.places.tolist())


def test_each_box_has_its_id_and_message() -> None:
    chat = TOK.encode_chat(MESSAGES, chat_template=CHATML)
    kinds = ["system", "user", "assistant", "other"]
    shown = boxes(chat.to_html())
    for (kind, title, _), token_id, learned, number in zip(shown, chat.ids, chat.mask, chat.message_of, strict=True):
        role = "template" if number < 0 else f"message {number}, {MESSAGES[number]['role']}"
        assert title.removesuffix(", the rest of a character") == f"id {token_id}, {role}{', learned' * int(learned)}"
        assert kind == ("learned" if learned else "template" if number < 0 else kinds[number])
    parts = [title for _, title, text in shown if text == "⋯"]
    assert len(parts) > 5
    assert all(title.endswith(", the rest of a character") for title in parts)


def test_contents_are_escaped_and_nothing_runs() -> None:
    chat = TOK.encode_chat(MESSAGES, chat_template=CHATML, content_special="all")
    html = chat.to_html()
    tags = set(re.findall(r"</?(\w+)", html))
    assert tags == {"html", "head", "meta", "title", "style", "body", "main", "h1", "div", "p", "span", "br"}
    assert "script-src 'none'" in html
    assert "http" not in html.replace("http-equiv", "")
    assert "\u202e" not in html
    assert "&lt;img src=x&gt;</span>" in html  # of the legend


def test_messages_that_were_left_out_keep_the_roles_of_the_others() -> None:
    said = [{"role": "user", "content": "see my eyes " * 9}, {"role": "assistant", "content": "I see"}]
    chat = TOK.encode_chat([MESSAGES[0], *said, *said[:1]], chat_template=CHATML, max_length=80, train_on="tool")
    assert chat.dropped == 2
    shown = boxes(chat.to_html())
    assert {(kind, title.partition(", ")[2]) for kind, title, _ in shown} == {
        ("template", "template"), ("system", "message 0, developer"), ("user", "message 3, user")
    }  # fmt: skip


def test_messages_of_the_system_between_others_keep_their_roles() -> None:
    said = [{"role": "user", "content": "see my eyes " * 9}, {"role": "system", "content": "I see"}]
    messages = [*said, {"role": "observation", "content": "see"}, *said]
    chat = TOK.encode_chat(messages, chat_template=CHATML, max_length=100)
    assert chat.dropped == 2
    shown = boxes(TOK.continue_chat(chat, TOK.encode("my"), said[:1]).to_html())
    assert {(kind, title.partition(", ")[2]) for kind, title, _ in shown} == {
        ("template", "template"), ("system", "message 1, system"), ("user", "message 3, user"),
        ("system", "message 4, system"), ("learned", "message 5, assistant, learned"), ("user", "message 6, user"),
    }  # fmt: skip


def test_a_chat_without_its_call_has_numbers() -> None:
    ids, mask = np.array([1, 2], np.int32), np.array([0, 1], np.uint8)
    chat = EncodedChat(ids, mask, np.array([0, 1], np.int32), np.array([[1, 2], [3, 4]]), "abcde")
    shown = [("other", "id 1, message 0", "b"), ("learned", "id 2, message 1, learned", "d")]
    assert boxes(chat._repr_html_()) == shown
    assert re.sub("<[^>]*>", "", chat._repr_html_().rpartition("<div>")[2]) == "abcde"


def test_a_notebook_shows_the_beginning_of_a_long_chat(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chat_view, "_SHOWN", 10)
    chat = TOK.encode_chat(MESSAGES, chat_template=CHATML)
    assert len(boxes(chat._repr_html_())) == 10
    assert f"<p>{len(chat) - 10} more ids: <code>to_html()</code> shows all</p>" in chat._repr_html_()
    assert len(boxes(chat.to_html())) == len(chat)


def test_an_empty_chat() -> None:
    none = np.empty(0, np.int32)
    chat = EncodedChat(none, none.astype(np.uint8), none, np.empty((0, 2), np.int64), "")
    assert "0 ids, 0 to learn" in chat.to_html()
    assert boxes(chat.to_html()) == []


def test_the_picture_in_the_guide_is_that_of_its_example() -> None:
    page = chat_picture.PAGE.read_text("utf-8")
    element, style = chat_picture.picture(page)
    assert len(boxes(element)) > 20
    assert chat_picture.with_picture(page, element) == page, "run python tests/support/chat_picture.py"
    assert chat_picture.STYLE.read_text("utf-8") == style
