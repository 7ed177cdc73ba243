"""Chats that are longer than `max_length`: the oldest messages are left out, and no more than must be."""

from __future__ import annotations

import pytest

import bbpe
from bbpe.compat.chat.messages import RESULTS

pytest.importorskip("jinja2")
CHATML = (
    "{% for message in messages %}{{ '<|im_start|>' + message.role + '\n' + message.content + '<|im_end|>' + '\n' }}"
    "{% endfor %}"
)
TAGGED = (
    "{% for m in messages %}{% if m.role == 'user' %}<s>{{ m.content }}<|im_start|>"
    "{% else %}{{ m.content }}<|im_end|>{% endif %}{% endfor %}"
)
BARE = "{% for m in messages %}{{ m.content }}{% endfor %}"
LONG_CHATS = {
    "system within": "system user assistant system user assistant user",
    "system first and last": "system developer user assistant user system",
    "system alone": "system system developer",
    **{f"results of {role}": f"user assistant {role} {role} user assistant {role}" for role in sorted(RESULTS)},
    "a result last": "user assistant tool",
    "results between those of the system": "system user assistant tool system tool assistant user",
    "turns": "user assistant user assistant user",
    "one": "user",
}


@pytest.fixture(scope="module")
def tok() -> bbpe.Tokenizer:
    special = ["<|im_start|>", "<|im_end|>", "<s>"]
    return bbpe.train_from_iterator(["user assistant system low lower"] * 3, vocab_size=280, special_tokens=special)


def said(*contents: str) -> list[dict[str, str]]:
    roles = ("user", "assistant")
    return [{"role": roles[number % 2], "content": content} for number, content in enumerate(contents)]


def cut_by_rule(tok, messages, template, most):
    """The numbers of the messages that stay, `None` if no chat with the last one fits; and the first that does."""
    of_system = [message["role"] in ("system", "developer") for message in messages]
    oldest = of_system.index(False) if False in of_system else len(messages) - 1
    for cut in range(oldest, len(messages)):
        is_last = cut + 1 == len(messages)
        if cut > oldest and (messages[cut]["role"] in RESULTS or (of_system[cut] and not is_last)):
            continue
        rows = [at for at in range(len(messages)) if at >= cut or of_system[at]]
        chat = tok.encode_chat([messages[at] for at in rows], chat_template=template)
        if len(chat) <= most:
            return rows, chat
    return None, chat


@pytest.mark.parametrize("template", [CHATML, TAGGED, BARE], ids=["CHATML", "TAGGED", "BARE"])
@pytest.mark.parametrize("roles", LONG_CHATS.values(), ids=LONG_CHATS)
def test_a_long_chat_loses_no_more_than_it_must(tok, roles, template):
    roles = roles.split()
    texts = ["low", "lower " * 40, "w" * 7, "low " * 90, "é", "lower"]
    for turn in range(len(texts)):
        messages = [{"role": role, "content": texts[(at + turn) % 6] + str(at)} for at, role in enumerate(roles)]
        whole = tok.encode_chat(messages, chat_template=template)
        for most in (1, 5, 12, 30, 60, *range(max(len(whole) - 6, 1), len(whole)), len(whole) * 2 // 3 + 1):
            rows, want = cut_by_rule(tok, messages, template, most)
            if rows is None:
                words = f"^max_length is {most}, and the chat has {len(want)} ids with its last"
                with pytest.raises(ValueError, match=words):
                    tok.encode_chat(messages, chat_template=template, max_length=most)
                continue
            chat = tok.encode_chat(messages, chat_template=template, max_length=most)
            assert (chat.text, chat.dropped) == (want.text, len(messages) - len(rows))
            assert chat.message_of.tolist() == [at if at < 0 else rows[at] for at in want.message_of.tolist()]
            more = tok.continue_chat(chat, tok.encode("low"), said("why"))
            assert more.message_of.max() == len(messages) + 1


def test_a_chat_that_is_too_long_says_what_stays(tok):
    messages = [*said("low", "lower " * 30), {"role": "tool", "content": "3"}]
    least = len(tok.encode_chat(messages[1:], chat_template=CHATML))
    with pytest.raises(ValueError, match=rf"max_length is 20, .* {least} ids with its last 2 messages, those of the"):
        tok.encode_chat(messages, chat_template=CHATML, max_length=20)


def test_a_long_chat_loses_its_oldest_messages(tok):
    messages = [{"role": "system", "content": "low"}, *said("low " * 20, "lower", "low", "lower")]
    whole = tok.encode_chat(messages, chat_template=CHATML)
    last = tok.encode_chat([messages[0], messages[-1]], chat_template=CHATML)
    chat = tok.encode_chat(messages, chat_template=CHATML, max_length=len(whole) - 1)
    assert chat.dropped == 1
    assert chat.text == tok.apply_chat_template([messages[0], *messages[2:]], chat_template=CHATML)
    assert sorted({*chat.message_of.tolist()}) == [-1, 0, 2, 3, 4]
    assert tok.encode_chat(messages, chat_template=CHATML, max_length=len(last)).ids.tolist() == last.ids.tolist()
    assert tok.encode_chat(messages, chat_template=CHATML, max_length=len(whole)).dropped == 0
    with pytest.raises(ValueError, match=f"max_length is 9, and the chat has {len(last)} ids with its last message"):
        tok.encode_chat(messages, chat_template=CHATML, max_length=9)


def test_a_template_decides_with_which_message_a_chat_may_begin(tok):
    """A message that it refuses as the first one is left out, too; a chat that it always refuses is its error."""
    texts = ["low " * 40, "lower", "low " * 20, "lower", "low"]
    alternates = "{% if messages[0].role != 'user' %}{{ raise_exception('a user must begin') }}{% endif %}" + CHATML
    sizes = [len(tok.encode_chat(said(*texts[at:]), chat_template=alternates)) for at in (0, 2, 4)]
    for most, dropped in ((sizes[0] - 1, 2), (sizes[1], 2), (sizes[1] - 1, 4), (sizes[2], 4)):
        chat = tok.encode_chat(said(*texts), chat_template=alternates, max_length=most)
        assert (chat.dropped, len(chat)) == (dropped, sizes[dropped // 2])
        assert chat.text == tok.apply_chat_template(said(*texts[dropped:]), chat_template=alternates)
    with pytest.raises(ValueError, match=rf"max_length is {sizes[2] - 1}, .* {sizes[2]} ids with its last message"):
        tok.encode_chat(said(*texts), chat_template=alternates, max_length=sizes[2] - 1)
    needs_all = "{% if messages | length < 5 %}{{ raise_exception('five are needed') }}{% endif %}" + CHATML
    with pytest.raises(bbpe.VocabularyError, match="five are needed"):
        tok.encode_chat(said(*texts), chat_template=needs_all, max_length=sizes[0] - 1)
    # the message of the system stays, so the first one that may be left out is another
    with pytest.raises(bbpe.VocabularyError, match="five are needed"):
        tok.encode_chat([{"role": "system", "content": "l"}, *said(*texts[:4])], chat_template=needs_all, max_length=30)
