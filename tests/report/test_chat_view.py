"""The picture of an encoded chat: all of its text, whose each id is, nothing that runs, and a bound in notebooks."""

from __future__ import annotations

import re
from html import escape, unescape

import chat_picture
import numpy as np
import pytest

import bbpe
from bbpe.report import chat_view
from bbpe.report.trace_view import visible
from bbpe.types import ChatRequest, EncodedChat

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


HAND_MADE = "ab\ncd\u00e9!"


def hand_made(numbers: tuple[int, ...] = (), dropped: int = 0, roles: tuple[str, ...] = ("developer", "robot")) -> str:
    """The element of a chat of five ids: one of the template, one of the first message, and three of the second.

    No id comes from "d" and "!", and two come from the same character.
    """
    places = np.array([[0, 1], [1, 3], [3, 4], [5, 6], [5, 6]])
    request = ChatRequest(tuple({"role": role} for role in roles), {}, numbers)
    second = numbers[1] if len(numbers) > 1 else 1 + dropped
    message_of = np.array([-1, *(numbers[:1] or (dropped,)), second, second, second], np.int32)
    mask = np.array([0, 0, 1, 1, 0], np.uint8)
    chat = EncodedChat(np.arange(10, 15, dtype=np.int32), mask, message_of, places, HAND_MADE, dropped, None, request)
    return chat._repr_html_().partition("</style>")[2]


LEGEND = (
    '<p>5 ids, 2 to learn: <span class="c-template">template</span> <span class="c-system">developer</span> '
    '<span class="c-other">robot</span> <span class="c-learned">learned</span></p><div>'
)
BOXES = (
    '<span class="c-template" title="id 10, template">a</span>',
    '<span class="c-system" title="id 11, message 0, developer">b\u21b5</span><br>',
    '<span class="c-learned" title="id 12, message 1, robot, learned">c</span>',
    'd<span class="c-learned" title="id 13, message 1, robot, learned">\u00e9</span>',
    '<span class="c-other" title="id 14, message 1, robot, the rest of a character">\u22ef</span>',
)


@pytest.mark.parametrize(("shown", "rest"), [
    (6, "!</div>"), (5, "!</div>"),
    (4, "</div><p>1 more id: <code>to_html()</code> shows all</p>"),
    (3, "</div><p>2 more ids: <code>to_html()</code> shows all</p>"),
])  # fmt: skip
def test_a_chat_is_a_legend_and_its_boxes(shown: int, rest: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The text after the last id is shown only where all ids are."""
    monkeypatch.setattr(chat_view, "_SHOWN", shown)
    assert hand_made() == f"{LEGEND}{''.join(BOXES[:shown])}{rest}</div>"


@pytest.mark.parametrize(("numbers", "dropped", "expected"), [
    ((), 0, (0, 1)), ((), 3, (3, 4)), ((0,), 2, (0, 3)), ((0, 2), 1, (0, 2)), ((1,), 1, (1, 2)),
])  # fmt: skip
def test_messages_keep_their_numbers_where_others_are_left_out(
    numbers: tuple[int, ...], dropped: int, expected: tuple[int, int]
) -> None:
    shown = boxes(hand_made(numbers, dropped))
    assert [title.split(", ")[1:3] for _, title, _ in shown[1:3]] == [
        [f"message {expected[0]}", "developer"], [f"message {expected[1]}", "robot"],
    ]  # fmt: skip
    assert [kind for kind, _, _ in shown] == ["template", "system", "learned", "learned", "other"]


@pytest.mark.parametrize(("role", "kind"), [
    ("system", "system"), ("developer", "system"), ("user", "user"), ("tool", "tool"), ("function", "tool"),
    ("ipython", "tool"), ("observation", "tool"), ("assistant", "assistant"), ("model", "assistant"),
    ("template", "other"), ("learned", "other"), ("other", "other"), ("", "other"), ("<b>", "other"),
])  # fmt: skip
def test_each_role_has_the_colour_of_its_kind(role: str, kind: str) -> None:
    html = hand_made(roles=(role, "x"))
    assert f'<span class="c-{kind}">{escape(role)}</span> <span class="c-other">x</span>' in html
    assert boxes(html)[1][:2] == (kind, ", ".join(["id 11", "message 0", *([role] if role else [])]))


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
