"""Masks where templates write turns in unusual ways: several ends, nothing at all, parts alone, results of tools."""

from __future__ import annotations

from typing import Any

import pytest

import bbpe

pytest.importorskip("jinja2")
SPECIALS = ["<|user|>", "<|assistant|>", "<|end|>", "<|stop|>", "<s>", "<|tool_response>", "<|name|>"]


@pytest.fixture(scope="module")
def tok() -> bbpe.Tokenizer:
    return bbpe.train_from_iterator(["low lower"], 256 + len(SPECIALS), special_tokens=SPECIALS)


def learned(tok: bbpe.Tokenizer, template: str, *contents: Any, **options: Any) -> list[str]:
    """The runs of text that a mask has."""
    messages = [
        {"role": ("user", "assistant")[number % 2], **(content if isinstance(content, dict) else {"content": content})}
        for number, content in enumerate(contents)
    ]
    chat = tok.encode_chat(messages, chat_template=template, **options)
    assert chat.text == tok.apply_chat_template(messages, chat_template=template)
    marked = "".join(
        f"\x00{chat.text[start:end]}" if mask and not before else chat.text[start:end] if mask else ""
        for mask, before, (start, end) in zip(
            chat.mask.tolist(), [0, *chat.mask.tolist()], chat.places.tolist(), strict=False
        )
    )
    return marked.split("\x00")[1:]


SEVERAL = (
    "{% for m in messages %}<|{{ m.role }}|>{{ m.content }}<|end|><|stop|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|assistant|>{% endif %}"
)


def test_all_tokens_that_end_a_turn_are_learned(tok: bbpe.Tokenizer) -> None:
    assert learned(tok, SEVERAL, "low", "see", "my", "dogs") == ["see<|end|><|stop|>", "dogs<|end|><|stop|>"]
    assert learned(tok, SEVERAL, "low", "see", turn_end=False) == ["see"]
    other = SEVERAL.replace("<|end|><|stop|>", "<|end|> <|stop|>")
    assert learned(tok, other, "low", "see", "my", "dogs") == ["see<|end|>", "dogs<|end|>"]


def test_turns_without_a_text_end_too(tok: bbpe.Tokenizer) -> None:
    for template in (
        SEVERAL,
        SEVERAL.replace("<|{{ m.role }}|>", "{{ '<|user|>' if loop.index is odd else '<|assistant|>' }}"),
    ):
        assert learned(tok, template, "low", "", "my", "") == ["<|end|><|stop|>", "<|end|><|stop|>"]
        assert learned(tok, template, "low", "", "my", "dogs") == ["<|end|><|stop|>", "dogs<|end|><|stop|>"]
        assert learned(tok, template, "low", "", "my", "", turn_end=False) == []
        assert learned(tok, template, "low", "", train_on="user") == ["low<|end|><|stop|>"]
    skipped = SEVERAL.replace("messages %}", "messages if m.content %}")
    assert learned(tok, skipped, "low", "", "my", "dogs") == ["dogs<|end|><|stop|>"]


def test_a_template_of_parts_alone(tok: bbpe.Tokenizer) -> None:
    template = SEVERAL.replace("{{ m.content }}", "{% for p in m.content %}{{ p.text }}{% endfor %}")
    parts = [[{"type": "text", "text": text}] for text in ("low", "see", "my", "dogs")]
    assert learned(tok, template, *parts) == ["see<|end|><|stop|>", "dogs<|end|><|stop|>"]


def test_a_template_that_ends_prompts_in_another_way(tok: bbpe.Tokenizer) -> None:
    """Without the prompt the text ends with a token that begins as the header does."""
    template = (
        "{% for m in messages %}{{ '<|user|>' if m.role == 'user' else '<|assistant|>' }}\n{{ m.content }}<|end|>\n"
        "{% endfor %}{{ '<|assistant|>\n' if add_generation_prompt else '<|stop|>' }}"
    )
    assert learned(tok, template, "low", "see", "my", "") == ["see<|end|>", "<|end|>"]


@pytest.mark.parametrize("thought", ["", "<think>", "<think>\n", "<|think|>\n"])
def test_a_prompt_that_begins_a_thought(tok: bbpe.Tokenizer, thought: str) -> None:
    """The turns of a chat begin as the prompt does before the thought, also where an answer is empty."""
    template = (
        "{% for m in messages %}{{ '<|user|>' if m.role == 'user' else '<|assistant|>\n' }}{{ m.content }}<|end|>\n"
        f"{{% endfor %}}{{% if add_generation_prompt %}}<|assistant|>\n{thought}{{% endif %}}"
    )
    assert learned(tok, template, "low", "", "my", "dogs") == ["<|end|>", "dogs<|end|>"]
    assert learned(tok, template, "low", f"{thought}see", "my", "") == [f"{thought}see<|end|>", "<|end|>"]


def test_a_template_that_asks_for_tools(tok: bbpe.Tokenizer) -> None:
    """Without a list of tools it fails, so that nothing else tells how turns begin and end."""
    template = (
        "{% for t in tools %}[{{ t.function.name }}]{% endfor %}{% for m in messages %}<|{{ m.role }}|>{{ m.content }}"
        "{% for call in m.calls or [] %}<|name|>{{ call | tojson }}<|stop|>{% endfor %}<|end|>{% endfor %}"
        "{% if add_generation_prompt %}<|assistant|>{% endif %}"
    )
    tools = [{"type": "function", "function": {"name": "dogs"}}]
    messages = [{"role": "user", "content": "low"}, {"role": "assistant", "content": "", "calls": [{"name": "dogs"}]}]
    chat = tok.encode_chat(messages, tools, chat_template=template)
    assert tok.decode(chat.ids[chat.mask == 1]) == '<|name|>{"name": "dogs"}<|stop|><|end|>'


def test_an_end_that_is_no_token_of_this_tokenizer(tok: bbpe.Tokenizer) -> None:
    template = (
        "{% for m in messages %}<|{{ m.role }}|>\n{{ m.content }}<|done|>\n{% endfor %}"
        "{{ '<|assistant|>\n' if add_generation_prompt else '<|stop|>' }}"
    )
    assert learned(tok, template, "low", "see", "my", "dogs") == ["see<|done|>", "dogs<|done|>"]
    adjacent = template.replace("<|done|>\n", "<|done|>")
    assert learned(tok, adjacent, "low", "see") == ["see<|done|><|stop|>"]


def test_the_result_of_a_tool_within_a_turn_is_not_learned(tok: bbpe.Tokenizer) -> None:
    template = (
        "{% for m in messages %}<|{{ m.role }}|>{{ m.content }}{% for call in m.calls or [] %}[{{ call.name }}]"
        "<|tool_response>{{ call.name }}: {{ messages[0].content }}{% endfor %}<|end|>{% endfor %}"
        "{% if add_generation_prompt %}<|assistant|>{% endif %}"
    )
    called = {"content": "see", "calls": [{"name": "dogs"}]}
    assert learned(tok, template, "low", called) == ["see[dogs]"]


def test_roles_are_parts_of_tokens_and_other_fields_are_not(tok: bbpe.Tokenizer) -> None:
    template = "{% for m in messages %}<|{{ m.role }}|><|{{ m.name }}|>{{ m.content }}{% endfor %}"
    ids = tok.special_tokens

    def tokens(role: str, name: str) -> list[int]:
        chat = tok.encode_chat([{"role": role, "name": name, "content": "low"}], chat_template=template)
        assert tok.decode(chat.ids) == chat.text == f"<|{role}|><|{name}|>low"
        return [token_id for token_id in chat.ids.tolist() if token_id in ids.values()]

    assert tokens("user", "name") == [ids["<|user|>"]]
    assert tokens("assistant", "user") == [ids["<|assistant|>"]]
    assert tokens("end", "user") == []
    assert tokens("user|><|end", "a") == []
    assert tokens("stop", "end|><|user") == []
