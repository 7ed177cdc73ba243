"""The number of tokens of messages: by the template of the files, or by the rules of OpenAI."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import bbpe

TOOLS: list[dict[str, Any]] = [
    {
        "type": "function",
        "function": {
            "name": "weather",
            "description": "The weather.",
            "parameters": {"properties": {"unit": {"type": "string", "description": "a unit", "enum": ["C", "F"]}}},
        },
    }
]
ARGUMENTS = '{"city": "Paris"}'


@pytest.fixture(scope="module")
def tok() -> bbpe.Tokenizer:
    return bbpe.train_from_iterator(["x"], 256)  # a byte is a token


def of(*, role: str = "assistant", **fields: Any) -> dict[str, Any]:
    return {"role": role, **fields}


def test_models_of_openai(tok: bbpe.Tokenizer) -> None:
    plain = [{"role": "user", "content": "four"}, {"role": "user", "content": [{"type": "text", "text": "ab"}]}]
    assert tok.count_messages(plain, model="gpt-4o") == 3 + (3 + 4 + 4) + (3 + 4 + 2)
    assert tok.count_messages([{"role": "user", "name": "me", "content": None}], model="gpt-4") == 3 + 3 + 4 + 2 + 1
    lines = len("weather:The weather") + len("unit:string:a unit") + len("C") + len("F")
    fixed = 12 + 3 + 3 - 3 + 3 + 3
    for model, function in (("gpt-4o", 7), ("gpt-4", 10)):
        assert tok.count_messages([], TOOLS, model=model) == 3 + fixed + function + lines


def test_a_call_counts_as_its_name_and_arguments(tok: bbpe.Tokenizer) -> None:
    """The messages of OpenAI's clients have null fields, ids and types, which are no part of a prompt."""
    written = 3 + 3 + len("assistant") + 3 + len("weather") + len(ARGUMENTS)
    function = {"name": "weather", "arguments": ARGUMENTS}
    call = {"id": "call_1", "type": "function", "function": function}
    for fields in (
        {"tool_calls": [call]},
        {"tool_calls": [call], "refusal": None, "annotations": []},
        {"tool_calls": [{"function": {**function, "arguments": json.loads(ARGUMENTS)}}]},
        {"tool_calls": [{"type": "custom", "custom": {"name": "weather", "input": ARGUMENTS}}]},
        {"tool_calls": [function]},
        {"function_call": function},
    ):
        assert tok.count_messages([of(content=None, **fields)], model="gpt-4o") == written, fields
    twice = tok.count_messages([of(content=None, tool_calls=[call, call])], model="gpt-4o")
    assert twice - written == 3 + len("weather") + len(ARGUMENTS)


def test_a_thought_counts_once(tok: bbpe.Tokenizer) -> None:
    for name in ("reasoning_content", "reasoning", "thinking"):
        got = tok.count_messages([of(content="12", **{name: "I count."})], model="gpt-4o")
        assert got >= 3 + 3 + len("assistant12I count."), name
    assert tok.count_messages([of(content="12", thinking="I count.")], model="gpt-4o") == 6 + len("assistant12I count.")


def test_functions_as_tools(tok: bbpe.Tokenizer) -> None:
    def weather(unit: str) -> None:
        """The weather.

        Args:
            unit: a unit (choices: ["C", "F"])
        """

    assert tok.count_messages([], [weather], model="gpt-4o") == tok.count_messages([], TOOLS, model="gpt-4o")


@pytest.mark.parametrize(
    ("messages", "words"),
    [
        ("see my dogs", ("messages is str 'see my dogs'", "expected a list of dicts")),
        (["see my dogs"], ("messages[0] is str 'see my dogs'", "expected a dict")),
        ([of(content="a"), 5], ("messages[1] is int 5",)),
        ([[of(content="a")]], ("messages[0] is list", "expected a dict")),
        ([of(content=[{"type": "image_url"}])], ("messages[0].content[0] is a part of the type 'image_url'",)),
        ([of(content="a"), of(content=7)], ("messages[1].content is int 7", "expected a text")),
        ([of(tool_calls=[{"function": {"name": "f", "arguments": 5}}])], ("[0].tool_calls[0].function.arguments",)),
        ([of(tool_calls=[{"function": {}}])], ("messages[0].tool_calls[0].function.name is NoneType",)),
        ([of(tool_calls="f")], ("messages[0].tool_calls is str 'f'",)),
        ([of(function_call="f")], ("messages[0].function_call is str",)),
    ],
)
def test_what_cannot_be_counted_is_named(tok: bbpe.Tokenizer, messages: Any, words: tuple[str, ...]) -> None:
    with pytest.raises((TypeError, ValueError)) as caught:
        tok.count_messages(messages, model="gpt-4o")
    assert all(word in str(caught.value) for word in words), caught.value


def test_wrong_tools_are_named(tok: bbpe.Tokenizer) -> None:
    for tools, words in (("f", "tools is str"), ([5], r"tools\[0\] is int 5"), ([{}], r"tools\[0\].name is NoneType")):
        with pytest.raises((TypeError, ValueError), match=words):
            tok.count_messages([], tools, model="gpt-4o")  # type: ignore[arg-type]


def test_no_template_and_no_model_of_openai(tok: bbpe.Tokenizer) -> None:
    for model in (None, "claude-sonnet-4-5"):
        with pytest.raises(bbpe.VocabularyError, match="expected a chat template, or a model of OpenAI"):
            tok.count_messages([of(content="a")], model=model)


def test_the_template_of_the_files_counts(tmp_path: Path) -> None:
    pytest.importorskip("jinja2")
    tok = bbpe.train_from_iterator(["low lower"], 264, special_tokens=["<s>", "</s>"])
    tok.save(tmp_path / "tokenizer.json")
    (tmp_path / "tokenizer_config.json").write_text(json.dumps({"eos_token": "</s>"}))
    (tmp_path / "chat_template.jinja").write_text(
        "{% for m in messages %}<s>{{ m.content }}{{ eos_token }}{% endfor %}"
        "{% if add_generation_prompt %}<s>{% endif %}"
    )
    tok = bbpe.load(tmp_path)
    messages = [of(content="low"), of(content=None, tool_calls=[])]
    assert tok.count_messages(messages) == len(tok.encode("<s>low</s><s></s><s>", allowed_special="all"))
