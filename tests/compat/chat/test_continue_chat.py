"""Chats that go on after sampled ids: no id that exists changes, and the report says where encoding would differ."""

from __future__ import annotations

import random

import numpy as np
import pytest

import bbpe
from bbpe.errors import TokenIdError

CHATML = (
    "{% for message in messages %}{{ '<|im_start|>' + message.role + '\n' + message.content + '<|im_end|>' + '\n' }}"
    "{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
)
FORGETS = (
    "{% for m in messages %}<|im_start|>{{ m.role }}\n{% if loop.last %}{{ m.content }}{% else %}"
    "{{ m.content.split('</think>')[-1] }}{% endif %}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
WORDS = ["low", " lower", "é", "日本", "\n", "  ", "3", "<|im_", "end|>"]


@pytest.fixture(scope="module")
def tok() -> bbpe.Tokenizer:
    texts = ["user assistant system low lower lowest"] * 3
    return bbpe.train_from_iterator(texts, vocab_size=280, special_tokens=["<|im_start|>", "<|im_end|>"])


@pytest.fixture
def prompt(tok) -> bbpe.EncodedChat:
    return tok.encode_chat([{"role": "user", "content": "low"}], chat_template=CHATML, add_generation_prompt=True)


def test_a_character_of_several_ids_has_the_places_of_all(tok, prompt):
    end = tok.special_tokens["<|im_end|>"]
    for text in ("日", "élow", "a日本é", "low", "😀😀"):
        more = tok.continue_chat(prompt, [*tok.encode(text), end], [{"role": "user", "content": "é"}])
        answer = {"role": "assistant", "content": text}
        messages = [{"role": "user", "content": "low"}, answer, {"role": "user", "content": "é"}]
        whole = tok.encode_chat(messages, chat_template=CHATML, add_generation_prompt=True)
        assert (more.differs_at, more.places.tolist()) == (None, whole.places.tolist())


def check(tok, chat, sampled, more) -> None:
    """Ids that exist stay, all attributes have a row for each id, and the text is that of the ids."""
    assert more.ids[: len(chat)].tolist() == chat.ids.tolist()
    assert more.ids[len(chat) : len(chat) + len(sampled)].tolist() == list(sampled)
    assert len(more.ids) == len(more.mask) == len(more.message_of) == len(more.places)
    assert tok.decode(more.ids) == more.text
    for token, (start, end) in zip(more.ids.tolist(), more.places.tolist(), strict=True):
        if token >= 256:
            assert more.text[start:end] == tok.decode([token])


@pytest.mark.parametrize("has_end", [True, False])
def test_an_answer_and_the_result_of_a_tool(tok, prompt, has_end):
    end = tok.special_tokens["<|im_end|>"]
    sampled = tok.encode("lower") + [end] * has_end
    more = tok.continue_chat(prompt, sampled, [{"role": "tool", "content": "3<|im_end|>"}])
    check(tok, prompt, sampled, more)
    messages = [
        {"role": "user", "content": "low"}, {"role": "assistant", "content": "lower"},
        {"role": "tool", "content": "3<|im_end|>"},
    ]  # fmt: skip
    whole = tok.encode_chat(messages, chat_template=CHATML, add_generation_prompt=True)
    assert (more.ids.tolist(), more.text, more.differs_at) == (whole.ids.tolist(), whole.text, None)
    assert more.message_of.tolist()[-12:] == whole.message_of.tolist()[-12:]
    assert tok.decode(more.ids[more.mask == 1]) == "lower" + "<|im_end|>" * has_end
    again = tok.continue_chat(more, [*tok.encode("x"), end])
    check(tok, more, [*tok.encode("x"), end], again)
    whole = tok.encode_chat([*messages, {"role": "assistant", "content": "x"}], chat_template=CHATML)
    assert again.ids.tolist() == whole.ids.tolist()


def test_random_ids_are_kept_and_differences_reported(tok, prompt):
    draw = random.Random(7)
    end = tok.special_tokens["<|im_end|>"]
    reported = 0
    for _ in range(200):
        text = "".join(draw.choices(WORDS, k=draw.randrange(1, 6)))
        cut = draw.randrange(len(text) + 1)  # a model may sample tokens that encoding would merge
        sampled = tok.encode(text[:cut]) + tok.encode(text[cut:]) + [end] * draw.randrange(2)
        more = tok.continue_chat(prompt, sampled, [{"role": "user", "content": draw.choice(WORDS)}])
        check(tok, prompt, sampled, more)
        answer = {"role": "assistant", "content": text}
        messages = [{"role": "user", "content": "low"}, answer, *more._request.messages[2:]]
        whole = tok.encode_chat(messages, chat_template=CHATML, add_generation_prompt=True)
        assert more.text == whole.text
        same = more.ids.tolist() == whole.ids.tolist()
        assert (more.differs_at is None) == same
        if not same:
            reported += 1
            assert more.ids[: more.differs_at].tolist() == whole.ids[: more.differs_at].tolist()
            assert more.ids[more.differs_at] != whole.ids[more.differs_at]
    assert reported > 10


def test_a_template_that_forgets_thoughts(tok):
    chat = tok.encode_chat([{"role": "user", "content": "low"}], chat_template=FORGETS, add_generation_prompt=True)
    sampled = tok.encode("hm</think>low")
    more = tok.continue_chat(chat, sampled, [{"role": "user", "content": "x"}])
    check(tok, chat, sampled, more)
    assert more.text.startswith(chat.text + "hm</think>low<|im_end|>\n<|im_start|>user\nx<|im_end|>\n")
    assert more.differs_at == len(chat)


def test_a_message_that_was_begun(tok):
    messages = [{"role": "user", "content": "low"}, {"role": "assistant", "content": "l"}]
    chat = tok.encode_chat(messages, chat_template=CHATML, continue_final_message=True)
    sampled = [*tok.encode("ow"), tok.special_tokens["<|im_end|>"]]
    more = tok.continue_chat(chat, sampled, [{"role": "user", "content": "y"}])
    check(tok, chat, sampled, more)
    assert more.text == chat.text + "ow<|im_end|>\n<|im_start|>user\ny<|im_end|>\n"
    assert more.differs_at is not None  # "low" is one token


def test_what_cannot_go_on(tok, prompt):
    assert tok.continue_chat(prompt, []) is prompt
    with pytest.raises(TypeError, match="chat is list; expected an EncodedChat"):
        tok.continue_chat([], [])
    for wrong in (["a"], [[1], [1, 2]], None, 5, b"ab", {1: 2}, [True], [1.5], np.array([1.5]), iter([1])):
        with pytest.raises(TypeError, match=rf"sampled_ids is {type(wrong).__name__} .*; expected a list of ids"):
            tok.continue_chat(prompt, wrong)
    # none of these becomes another id in 32 bits
    large = [np.array([(1 << 32) + 65]), np.array([1 << 63], np.uint64)]
    for wrong in ([(1 << 32) + 65], [-1], [1 << 64], [5000], *large):
        with pytest.raises(TokenIdError, match=r"id -?\d+ is out of range"):
            tok.continue_chat(prompt, wrong)
    with pytest.raises(TypeError, match="add_generation_prompt is str 'no'; expected True or False"):
        tok.continue_chat(prompt, [], add_generation_prompt="no")
    done = tok.encode_chat([{"role": "user", "content": "low"}], chat_template=FORGETS)
    more = tok.continue_chat(done, [], [{"role": "user", "content": "y"}])
    assert more.text == done.text + "<|im_start|>user\ny<|im_end|>\n"
    thought = tok.encode_chat([{"role": "user", "content": "a</think>b"}], chat_template=FORGETS)
    with pytest.raises(ValueError, match="writes the beginning of the chat differently"):
        tok.continue_chat(thought, [], [{"role": "user", "content": "y"}])


def test_the_next_answer_may_be_begun_later(tok, prompt):
    later = tok.encode_chat([{"role": "user", "content": "low"}], chat_template=CHATML)
    assert tok.continue_chat(later, []) is later
    begun = tok.continue_chat(later, [], add_generation_prompt=True)
    assert begun == prompt
    assert tok.continue_chat(begun, [], add_generation_prompt=True) is begun
    sampled = [*tok.encode("x"), tok.special_tokens["<|im_end|>"]]
    assert tok.continue_chat(begun, sampled) == tok.continue_chat(prompt, sampled)


def test_later_changes_of_what_was_given_are_none_of_a_chat(tok):
    template = "{{ tools }}{{ mood }}" + CHATML
    messages, tools, variables = [{"role": "user", "content": "low"}], [{"name": "a"}], {"mood": ["glad"]}
    given = {"chat_template": template, "add_generation_prompt": False, "variables": variables}
    chat = tok.encode_chat(messages, tools, **given)
    want = tok.continue_chat(chat, [], add_generation_prompt=True)
    messages[0]["content"], tools[0]["name"] = "x", "x"
    variables["mood"][0] = "x"
    assert tok.continue_chat(chat, [], add_generation_prompt=True) == want


def test_ids_that_are_no_whole_characters(tok, prompt):
    """A model may stop within a character, or sample bytes that are none: the ids stay, and the text has U+FFFD."""
    whole = tok.encode("日")
    end = tok.special_tokens["<|im_end|>"]
    for sampled, text, places in (
        (whole[:1], "\ufffd", [(0, 1)]),
        # a character is of the id that completes it, and U+FFFD of the one after it
        ([*whole[:2], end], "\ufffd<|im_end|>", [(0, 0), (0, 0), (0, 11)]),
        ([*whole[1:], *tok.encode("a")], None, [(0, 1), (1, 2), (2, 3)]),
        ([*whole[:1], *whole, end], "\ufffd日<|im_end|>", [(0, 0), (0, 1), (1, 1), (1, 2), (2, 12)]),
    ):  # fmt: skip
        more = tok.continue_chat(prompt, sampled, [{"role": "user", "content": "y"}])
        assert more.ids[: len(prompt) + len(sampled)].tolist() == [*prompt.ids.tolist(), *sampled]
        assert tok.decode(more.ids) == more.text
        assert text is None or more.text.startswith(prompt.text + text)
        assert "\ufffd" in more.text
        sampled_places = more.places[len(prompt) : len(prompt) + len(sampled)] - len(prompt.text)
        assert list(map(tuple, sampled_places.tolist())) == places
        assert len(more.ids) == len(more.mask) == len(more.message_of) == len(more.places)
        assert more.places[-1].tolist()[1] == len(more.text)
        assert (more.places[1:, 0] >= more.places[:-1, 0]).all()
        assert more.differs_at is not None
        assert tok.continue_chat(more, tok.encode("low")).ids[: len(more)].tolist() == more.ids.tolist()


def test_several_tokens_end_a_turn():
    template = (
        "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|stop|><|im_end|>\n{% endfor %}"
        "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
    )
    tok = bbpe.train_from_iterator(["low"], vocab_size=259, special_tokens=["<|im_start|>", "<|im_end|>", "<|stop|>"])
    messages = [{"role": "user", "content": "low"}]
    chat = tok.encode_chat(messages, chat_template=template, add_generation_prompt=True)
    ends = [tok.special_tokens[text] for text in ("<|stop|>", "<|im_end|>")]
    sampled = [*tok.encode("hm"), *ends]
    more = tok.continue_chat(chat, sampled, [{"role": "user", "content": "y"}])
    messages += [{"role": "assistant", "content": "hm"}, {"role": "user", "content": "y"}]
    whole = tok.encode_chat(messages, chat_template=template, add_generation_prompt=True)
    assert (more.ids.tolist(), more.text, more.differs_at) == (whole.ids.tolist(), whole.text, None)
    assert tok.decode(more.ids[more.mask == 1]) == "hm<|stop|><|im_end|>"
    short = tok.encode_chat(messages[:1], chat_template=template, add_generation_prompt=True, turn_end=False)
    without = tok.continue_chat(short, sampled)
    assert tok.decode(without.ids[without.mask == 1]) == "hm"
    alone = tok.continue_chat(chat, [*tok.encode("hm"), ends[1]], messages[2:])
    assert alone.text == chat.text + "hm<|im_end|>\n<|im_start|>user\ny<|stop|><|im_end|>\n<|im_start|>assistant\n"
    assert alone.differs_at == len(chat) + 2


def test_answers_among_the_new_messages_are_learned(tok, prompt):
    end = tok.special_tokens["<|im_end|>"]
    new = [{"role": "user", "content": "é"}, {"role": "assistant", "content": "3"}, {"role": "user", "content": "low"}]
    more = tok.continue_chat(prompt, [*tok.encode("lower"), end], new)
    assert tok.decode(more.ids[more.mask == 1]) == "lower<|im_end|>3<|im_end|>"


@pytest.mark.parametrize("field", [True, "content", "thoughts"])
@pytest.mark.parametrize("before", [0, 1, 2, 3])
def test_the_last_message_is_the_one_that_was_begun(tok, before, field):
    """What was sampled belongs to it, however many messages come before it; all other fields stay."""
    template = CHATML.replace("message.content", "(message.thoughts or '') + message.content")
    name = "content" if field is True else field
    messages = [{"role": role, "content": "é"} for role in ("system", "user", "tool")[:before]]
    begun = {"role": "assistant", "content": "", "thoughts": "", name: "low"}
    chat = tok.encode_chat([*messages, begun], chat_template=template, continue_final_message=field)
    answered = [*messages, {**begun, name: "low lower"}]
    new = [{"role": "user", "content": "3"}]
    more = tok.continue_chat(chat, tok.encode(" lower"))
    for found, whole in ((more, answered), (tok.continue_chat(more, [], new), [*answered, *new])):
        expected = tok.encode_chat(whole, chat_template=template)
        assert (found.ids.tolist(), found.text) == (expected.ids.tolist(), expected.text)
        assert found.message_of.tolist() == expected.message_of.tolist()
        assert found.differs_at is None


def test_only_a_text_goes_on(tok):
    """Ids that were sampled after parts belong to none of them."""
    template = "{% for m in messages %}{% for part in m.content %}{{ part.text }}{% endfor %}|{% endfor %}"
    parts = [{"type": "text", "text": "l"}]
    messages = [{"role": "user", "content": parts}, {"role": "assistant", "content": parts}]
    chat = tok.encode_chat(messages, chat_template=template, continue_final_message=True)
    assert chat.text == "l|l"
    with pytest.raises(TypeError, match=r"^field 'content' of the last message is list; expected a text$"):
        tok.continue_chat(chat, tok.encode("ow"))
    messages[0] = {"role": "user", "content": "l"}
    chat = tok.encode_chat(messages, chat_template=template, continue_final_message=True)
    with pytest.raises(TypeError, match=r"^field 'content' of the last message is list; expected a text$"):
        tok.continue_chat(chat, tok.encode("ow"))


def test_an_end_that_the_template_never_writes(tok):
    """The token that the model sampled stays, and the text of the template follows it."""
    template = "{% for m in messages %}{{ m.role }}: {{ m.content }}\n{% endfor %}"
    template += "{% if add_generation_prompt %}assistant: {% endif %}"
    messages = [{"role": "user", "content": "low"}]
    chat = tok.encode_chat(messages, chat_template=template, add_generation_prompt=True)
    end = tok.special_tokens["<|im_end|>"]
    for new, rest in ([], "\n"), ([{"role": "user", "content": "é"}], "\nuser: é\nassistant: "):
        more = tok.continue_chat(chat, [*tok.encode("lower"), end], new)
        assert more.text == f"user: low\nassistant: lower<|im_end|>{rest}"
        assert tok.decode(more.ids) == more.text
        whole = tok.encode_chat([*messages, {"role": "assistant", "content": "lower"}, *new], chat_template=template)
        differing = [one != other for one, other in zip(more.ids.tolist(), whole.ids.tolist(), strict=False)]
        assert more.differs_at == differing.index(True)
