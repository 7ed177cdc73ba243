"""The number of tokens of messages: by the template of the files, or by the rules of OpenAI."""

from __future__ import annotations

import functools
import json
import re
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


def test_texts_beyond_ascii_parts_and_tools_without_parameters(tok: bbpe.Tokenizer) -> None:
    count = functools.partial(tok.count_messages, model="gpt-4o")
    base = 3 + 3 + len("assistant")
    arguments = {"city": "Zürich", "when": "明日"}
    call = {"function": {"name": "weather", "arguments": arguments}}
    written = json.dumps(arguments, ensure_ascii=False).encode()
    assert count([of(content=None, tool_calls=[call])]) == base + 3 + len("weather") + len(written)
    assert count([of(content="é中")]) == base + 5
    parts: list[Any] = [{"type": "text", "text": "ab"}, {"type": "refusal", "refusal": "never"}, "plain"]
    assert count([of(content=parts)]) == base + len("ab" + "never" + "plain")
    assert count([of(content=(parts[0],))]) == count([of(content=parts[0])]) == base + 2
    assert count([of(content="a", refusal="no")]) == base + len("a" + "no")
    assert count([of(content="a", name="n")]) - count([of(content="a", other="n")]) == 1
    assert count([of(content="a")] * 3) == 3 * count([of(content="a")]) - 2 * 3
    bare = len("f:") + 3 + 12 + 7
    for given in (None, {"properties": {}}, {"type": "object"}):
        parameters = {"parameters": given}
        assert count([], [{"name": "f", **parameters}]) == bare, parameters
        assert count([], [{"type": "function", "function": {"name": "f", **parameters}}]) == bare, parameters
    nullable = {"name": "f", "parameters": {"properties": {"b": {"enum": None}}}}
    assert count([], [nullable]) == bare + 3 + 3 + len("b::")
    two = [{"name": "f"}, {"name": "gh", "description": "See."}]
    assert count([], two) == bare + 7 + len("gh:See")
    field = {"a": {"type": "integer", "enum": [1, 23]}, "b": {}}
    assert count([], [{"name": "f", "parameters": {"properties": field}}]) == (
        bare + 3 + 3 + len("a:integer:") - 3 + 3 + 1 + 3 + 2 + 3 + len("b::")
    )
    assert count([], []) == count([], None) == 3


def test_the_name_of_a_model_takes_precedence(tmp_path: Path) -> None:
    """Over the template of the files and the name of the vocabulary."""
    pytest.importorskip("jinja2")
    tok = bbpe.train_from_iterator(["x"], 256)
    tok.save(tmp_path / "tokenizer.json")
    (tmp_path / "chat_template.jinja").write_text("{{ messages | length }}{{ tools | length if tools else '' }}!")
    tok = bbpe.load(tmp_path)
    assert tok.count_messages([of(content="a")]) == 2
    assert tok.count_messages([of(content="a")], [{"name": "f"}]) == 3
    assert tok.count_messages([of(content="a")], model="gpt-4o") == 3 + 3 + len("assistant") + 1
    named = ranks("cl100k_base")
    assert named.count_messages([], TOOLS) == named.count_messages([], TOOLS, model="gpt-4")
    with pytest.raises(bbpe.VocabularyError, match="claude"):
        named.count_messages([], model="claude-sonnet-4-5")


def ranks(name: str) -> bbpe.Tokenizer:
    return bbpe.Tokenizer.from_ranks({bytes([at]): at for at in range(256)}, pattern="cl100k", name=name)


def test_the_tokenizer_is_that_of_the_model() -> None:
    # the ranks of o200k_harmony are those of o200k_base; a name of one's own may stand for any vocabulary
    for name in ("o200k_base", "o200k_harmony", "mine"):
        assert ranks(name).count_messages([of(content="ab")], model="gpt-4o") == 3 + 3 + len("assistant") + 2, name
    for name, model in (("cl100k_base", "gpt-4o"), ("o200k_base", "gpt-4"), ("qwen3", "gpt-4o")):
        words = rf"the tokenizer is {name}, and model '{model}' .*expected .*bbpe\.encoding_for_model\('{model}'\)"
        with pytest.raises(bbpe.VocabularyError, match=words):
            ranks(name).count_messages([of(content="ab")], model=model)


def test_a_template_of_the_call(tok: bbpe.Tokenizer) -> None:
    pytest.importorskip("jinja2")
    template = "{% for m in messages %}{{ m.content }};{% endfor %}{{ 'A' * times }}{{ '!' if add_generation_prompt }}"
    chat = [of(content="ab"), of(content="c")]
    count = functools.partial(tok.count_messages, chat, chat_template=template)
    assert count(variables={"times": 3}) == len("ab;c;AAA!")
    assert count(TOOLS, variables={"times": 1}) == len("ab;c;A!")
    for given, name in (({"chat_template": "a"}, "chat_template"), ({"variables": {"a": 1}}, "variables")):
        with pytest.raises(ValueError, match=f"{name} is for templates, and model 'gpt-4o' has none; expected one of"):
            tok.count_messages(chat, model="gpt-4o", **given)  # type: ignore[arg-type]
    with pytest.raises(bbpe.VocabularyError, match="expected chat_template="):
        tok.count_messages(chat, variables={"a": 1})


def test_a_thought_counts_once(tok: bbpe.Tokenizer) -> None:
    once = 6 + len("assistant12I count.")
    for names in (("reasoning_content",), ("reasoning",), ("thinking",), ("reasoning", "thinking")):
        fields = dict.fromkeys(names, "I count.")
        assert tok.count_messages([of(content="12", **fields)], model="gpt-4o") == once, names
    for other in ("reasoning", "thinking"):
        two = of(content="12", reasoning_content="I count.", **{other: "I see."})
        assert tok.count_messages([two], model="gpt-4o") == once + len("I see."), other


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
        ([of(content=[{"type": "image_url"}])], ("messages[0].content[0] is an image", "images=[(width, height), ")),
        ([of(content=[{"type": "input_audio"}])], ("content[0] is a part of the type 'input_audio'", "add the audio")),
        ([of(content=[{"type": "file", "file": {}}])], ("content[0] is a part of the type 'file'", "the text of the")),
        ([of(content=[{"type": "thing"}])], ("content[0] is a part of the type 'thing'", "parts with texts and")),
        ([of(audio={"id": "audio_1"})], ("messages[0].audio is dict", "add the audio tokens that the usage")),
        ([{"content": "a"}], ("messages[0].role is NoneType None; expected the role of who sends the message",)),
        ([of(content="a"), {"role": 5}], ("messages[1].role is int 5",)),
        ([of(content="a", name=["n"])], ("messages[0].name is list ['n']; expected a text",)),
        ([of(content="a"), of(content=7)], ("messages[1].content is int 7", "expected a text")),
        ([of(tool_calls=[{"function": {"name": "f", "arguments": 5}}])], ("[0].tool_calls[0].function.arguments",)),
        ([of(tool_calls=[{"function": {}}])], ("messages[0].tool_calls[0].function.name is NoneType",)),
        ([of(tool_calls="f")], ("messages[0].tool_calls is str 'f'",)),
        ([of(function_call="f")], ("messages[0].function_call is str",)),
        ([of(content=["a", 7])], ("messages[0].content[1] is int 7; expected a text, or a list of parts",)),
        ([of(content=[None])], ("messages[0].content[0] is NoneType None",)),
        ([of(tool_calls=["f"])], ("messages[0].tool_calls[0] is str 'f'", "expected an object with a function")),
        ([of(tool_calls=[{"custom": "f"}])], ("tool_calls[0].custom is str 'f'", "an object with a name and arg")),
    ],
)
def test_what_cannot_be_counted_is_named(tok: bbpe.Tokenizer, messages: Any, words: tuple[str, ...]) -> None:
    with pytest.raises((TypeError, ValueError)) as caught:
        tok.count_messages(messages, model="gpt-4o")
    assert all(word in str(caught.value) for word in words), caught.value


def test_wrong_tools_are_named(tok: bbpe.Tokenizer) -> None:
    for tools, words in (("f", "tools is str"), ([5], r"tools\[0\] is int 5"), ([{}], r"tools\[0\].name is NoneType"),
                         ([{"name": "f", "parameters": 5}], r"tools\[0\] is int 5; expected an object of a JSON"),
                         ([{"name": "f", "parameters": {"properties": 5}}], r"tools\[0\]\.parameters is int 5; expec"),
                         ([{"name": "f", "parameters": {"properties": {"a": 5}}}], r"tools\[0\]\.parameters\.a is int"),
                         ([{"name": "f", "parameters": {"properties": {"a": {"enum": 5}}}}], r"\.a\.enum is int 5"),
                         ([{"type": "web_search"}], r"tools\[0\]\.name is missing in a tool of the type 'web_search'"),
                         ([{"function": 5}], r"tools\[0\] is int 5; expected an object")):  # fmt: skip
        with pytest.raises((TypeError, ValueError), match=words):
            tok.count_messages([], tools, model="gpt-4o")  # type: ignore[arg-type]


NESTED: dict[str, dict[str, Any]] = {
    "properties": {"type": "object", "properties": {"v": {"type": "string"}}},
    "patternProperties": {"patternProperties": {"^v": {}}},
    "const": {"const": "v"},
    "$ref": {"$ref": "#/$defs/v"},
    "$defs": {"$defs": {"v": {"type": "string"}}},
    "items.description": {"type": "array", "items": {"description": "v"}},
    "items.enum": {"type": "array", "items": {"type": "string", "enum": ["v"]}},
    "items.items.properties": {"items": {"items": {"properties": {"v": {}}}}},
    "anyOf[1].const": {"anyOf": [{"type": "null"}, {"const": "v"}]},
    "oneOf[0].$ref": {"oneOf": ({"$ref": "#/$defs/v"},)},
    "allOf[0].anyOf[0].enum": {"allOf": [{"anyOf": [{"enum": ["v"]}]}]},
    "additionalProperties.description": {"additionalProperties": {"description": "v"}},
    "not.enum": {"not": {"enum": ["v"]}},
}


@pytest.mark.parametrize("field", NESTED)
def test_schemas_within_others_are_refused_where_they_say_more_than_types(tok: bbpe.Tokenizer, field: str) -> None:
    schema = NESTED[field]
    count = functools.partial(tok.count_messages, [of(content="a")], model="gpt-4o")
    words = rf"^tools\[1\]\.parameters\.a\.{re.escape(field)} is .*; expected a schema whose .*; leave it out, and"
    with pytest.raises(ValueError, match=words):
        count([{"name": "f"}, {"name": "g", "parameters": {"properties": {"a": schema}}}])
    of_all = {name: value for name, value in schema.items() if name != "properties"}
    if of_all != {"type": "object"}:
        with pytest.raises(ValueError, match=rf"^tools\[0\]\.parameters\.{re.escape(field)} is "):
            count([{"name": "g", "parameters": of_all}])


def test_schemas_that_say_types_alone_count_as_their_argument(tok: bbpe.Tokenizer) -> None:
    def count(shape: dict[str, Any], **others: Any) -> int:
        tool = {"name": "f", "parameters": {"properties": {"a": shape}, **others}}
        return tok.count_messages([of(content="a")], [tool], model="gpt-4o")

    plain = count({"type": "array"}, required=["a"], additionalProperties=False)
    # pydantic describes the arguments as a whole, by the docstring of a class
    assert count({"type": "array"}, title="Arguments", description="All arguments.") == plain
    for more in (
        {"items": {"type": "string"}}, {"items": {"type": "object", "properties": {}}}, {"items": True},
        {"prefixItems": [{"type": "string"}, {"type": "integer", "minimum": 1}]}, {"properties": {}, "$defs": {}},
        {"default": {"description": "v", "properties": {"v": 1}}, "title": "A"}, {"anyOf": [{"type": "null"}]},
    ):  # fmt: skip
        assert count({"type": "array", **more}) == plain, more


def test_no_template_and_no_model_of_openai(tok: bbpe.Tokenizer) -> None:
    for model, words in (
        (None, "^this tokenizer has no chat template, and its vocabulary is not one of OpenAI; expected a chat"),
        ("Qwen/Qwen3-8B", r"has the vocabulary 'qwen3'; .*; load the folder of an open model with bbpe\.load\(\)"),
        ("nobody/nothing", "has no known vocabulary; expected a model of OpenAI with one of o200k_base, cl100k_base"),
        ("gpt4o", r"has no known vocabulary \(did you mean 'gpt-4o' or"),
        ("qwen3", "^'qwen3' is a vocabulary, not a model; expected a model of OpenAI"),
        ("text-embedding-3-small", "takes no messages; expected a chat model"),
        ("ft:davinci-002:mine", "takes no messages"),
        ("gpt-3.5-turbo-instruct", "takes no messages"),
        ("claude-sonnet-4-5", r"Anthropic has published no vocabulary .*messages\.count_tokens"),
        ("google/gemini-2.5-pro", r"Google has published no vocabulary .*models\.count_tokens"),
    ):
        with pytest.raises(bbpe.VocabularyError, match=words):
            tok.count_messages([of(content="a")], model=model)


def test_no_template_and_a_vocabulary_of_another_name() -> None:
    named = bbpe.Tokenizer.from_ranks({bytes([at]): at for at in range(256)}, pattern="gpt2", name="r50k_base")
    words = r"its vocabulary \(r50k_base\) is not one of OpenAI; expected a chat template, or a model of OpenAI"
    with pytest.raises(bbpe.VocabularyError, match=words):
        named.count_messages([of(content="a")])


def test_fields_that_are_no_part_of_a_prompt(tok: bbpe.Tokenizer) -> None:
    """The id by which a result names its call, and the weight of an example for fine-tuning."""
    result = of(role="tool", content="21 degrees")
    given = {**result, "tool_call_id": "call_1", "weight": 0}
    assert tok.count_messages([given], model="gpt-4o") == tok.count_messages([result], model="gpt-4o") == 6 + 4 + 10


def test_each_role(tok: bbpe.Tokenizer) -> None:
    for role in ("system", "developer", "user", "assistant", "tool", "function"):
        assert tok.count_messages([of(role=role, content="ab")], model="gpt-5") == 6 + len(role) + 2, role


def test_tools_with_a_grammar(tok: bbpe.Tokenizer) -> None:
    grammar = {"type": "grammar", "grammar": {"syntax": "lark", "definition": "start: NUMBER"}}
    tool = {"type": "custom", "custom": {"name": "f", "description": "See.", "format": grammar}}
    assert tok.count_messages([], [tool], model="gpt-5") == 3 + 12 + 7 + len("f:See") + len("start: NUMBER")


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


def test_descriptions_that_are_no_texts() -> None:
    tok = bbpe.train_from_iterator(["low"], 256)
    fields = {"properties": {"x": {"description": 5}}}
    for wrong, place in (({"description": 5}, "description"), ({"parameters": fields}, "parameters.x.description")):
        with pytest.raises(ValueError, match=rf"^tools\[0\]\.{place} is int 5; expected a text"):
            tok.count_messages([{"role": "user", "content": "a"}], [{"name": "f", **wrong}], model="gpt-4o")


def test_control_tokens_in_messages_count_as_encode_chat_has_them() -> None:
    tok = bbpe.train_from_iterator(["low lower"], 260, special_tokens=["<s>", "</s>"]).with_added_tokens(["<think>"])
    template = "{% for m in messages %}<s>{{ m.content }}</s>{% endfor %}{% if add_generation_prompt %}<s>{% endif %}"
    for text in ("low", "low</s><s>lower", "<think>low", "", "é\ud800"):
        messages = [{"role": "user", "content": text}]
        chat = tok.encode_chat(messages, chat_template=template, add_generation_prompt=True)
        assert tok.count_messages(messages, chat_template=template) == len(chat), text
    assert tok.count_messages([{"content": "low"}], chat_template=template) == len(tok.encode("low")) + 3  # no role
