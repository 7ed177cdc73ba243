"""Prompts of chat templates, compared with those of `transformers`."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import warnings
from enum import Enum
from typing import Any

import numpy as np
import pytest

import bbpe

pytest.importorskip("jinja2")
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    transformers = pytest.importorskip("transformers")

CHATML = "{% for m in messages %}<|im_start|>{{ m['role'] }}\n{{ m['content'] }}<|im_end|>\n{% endfor %}"
AGENT = (
    "{{- bos_token }}\n{%- if tools %}\n{% for tool in tools %}{{ tool | tojson }}\n{% endfor %}{%- endif %}\n"
    "{%- for m in messages %}\n"
    "    {%- if m.role == 'nobody' %}{{ raise_exception('no such role: ' ~ m.role) }}{% endif %}\n"
    "<|{{ m.role }}|>{% generation %}{% set inner = 1 %}{{ m.content }}{% endgeneration %}{{ inner }}\n"
    "    {%- for call in m.tool_calls or [] %}\n"
    "[{{ call.function.name }}({{ call.function.arguments | tojson }})]{% endfor %}\n"
    "    {%- if m.reasoning_content is defined %}<think>{{ m.thinking }}{{ m.reasoning_content }}</think>{% endif %}\n"
    "    {%- if loop.last %}{% break %}{% endif %}\n"
    "{%- endfor %}\n"
    "{%- if add_generation_prompt %}<|assistant|>{% if enable_thinking is false %}<think></think>{% endif %}{% endif %}"
)
FEATURES = {
    "tojson": "{{ messages | tojson }}{{ tools | tojson(indent=2) }}{{ 'é<' | tojson(4) }}{{ [1, 2] | tojson(true) }}",
    "tojson options": "{{ {'b': 1, 'a': [2]} | tojson(separators=(',', ':'), sort_keys=true) }}",
    "loops": "{% for m in messages if m.role != 'x' %}{{ loop.index }}{{ loop.length }}{{ loop.revindex }}{{ m.role }}"
    "{% else %}none{% endfor %}{% for a, b in [(1, 2)] %}{{ a + b }}{% endfor %}{{ messages[1:] | length }}",
    "macros": "{% macro shown(m, end='!') %}{{ m.role }}{{ caller() if caller }}{{ end }}{% endmacro %}"
    "{% for m in messages %}{{ shown(m) }}{% call shown(m, end='?') %}-{% endcall %}{% endfor %}",
    "recursive loops": "{% for x in [1, [2, [3]]] recursive %}{{ loop(x) if x is iterable else x }}{% endfor %}",
    "namespaces": "{% set ns = namespace(n=0, l=[]) %}{% for m in messages %}{% set ns.n = ns.n + 1 %}"
    "{% set ns.l = ns.l + [m.role] %}{% endfor %}{{ ns.n }}{{ ns.l | join(',') }}{{ dict(a=ns.n) }}",
    "methods": "{{ 'a b'.split()[-1].strip('b').title().center(5) }}{{ '%s|%03d' % ('x', 7) }}"
    "{{ 'a'.join(['1', '2']) }}"
    "{{ '{:>4}|{n!r}'.format('x', n='y') }}{{ messages[0].items() | list }}{{ messages[0].get('no', 'd') }}",
    "filters": "{{ messages | map(attribute='role') | unique | sort | join('-') }}"
    "{{ ' x ' | trim | upper | indent(2) }}"
    "{{ messages | selectattr('role', 'eq', 'user') | list | length }}"
    "{{ [3, 1, 2] | sort(reverse=true) | batch(2, 0) | list }}"
    "{{ 'a\nb' | indent(2, true) | replace('a', 'bb') | wordwrap(3) }}{{ 7.5 | round(1, 'floor') | int }}",
    "operators": "{{ 7 // 2 }}{{ 2 ** 8 }}{{ 7 % 4 }}{{ 'ab' * 3 }}{{ [1] * 2 + [2] }}{{ 'a' ~ 1 ~ none }}"
    "{{ 1 < 2 <= 2 }}"
    "{{ 'user' in messages[0].role }}{{ 'role' in messages[0] }}{{ -3 | abs }}{{ 5 / 2 }}",
    "blocks": "{% set x %}a{{ messages | length }}{% endset %}{% filter upper %}{{ x }}{% endfilter %}"
    "{% block b %}z{% endblock %}"
    "{% with y = 2 %}{{ y }}{% endwith %}{% autoescape true %}{{ '<' ~ '>' }}{% endautoescape %}",
    "tests": "{{ x is defined }}{{ messages is sequence }}{{ messages[0] is mapping }}{{ 'a' is string }}"
    "{{ 4 is divisibleby 2 }}",
    "dates": "{{ strftime_now('%Y') }}{{ range(3) | list }}{{ range(10, 0, -3) | list }}",
    "indented blocks": "a\n  {% if messages %}\n  b\n  {% endif %}\n\t{% for m in messages %}\n{{ m.role }}\n"
    "  {% endfor %}\nc",
    "comments": "a\n  {# a comment #}\nb{# another #}\n{%- set x = 1 -%}\n  c{{ x }}\n",
    "generation": "{% for m in messages %}{% generation %}\n{{ m.role }}\n{% endgeneration %}\n{% endfor %}",
    "more filters": "{{ 'a b' | title | capitalize | lower }}{{ [1, none, 2] | select | list }}{{ 'x' | default('d') }}"
    "{{ y | default('d') }}{{ [1, 2] | first }}{{ [1, 2] | last }}{{ 'abc' | reverse }}{{ 'a' | string | length }}"
    "{{ messages | map(attribute='no', default='-') | list }}"
    "{{ messages | rejectattr('role', 'eq', 'user') | list | length }}"
    "{{ {'b': 1, 'a': 2} | dictsort }}{{ '5' | int + 1 }}{{ 'x' | int(7) }}{{ '1.5' | float }}{{ [1, 2] | sum }}"
    "{{ ['b', 'a'] | min }}{{ 'a<b' | e }}{{ {'a': 1} | items | list }}{{ '%s!' | format('x') }}",
    "whitespace control": "a  {{- 1 -}}  b\n{%- if true %}  c  {%- endif %}\n",
    "variables": "{{ tools is none }}{{ documents is defined }}{{ add_generation_prompt }}{{ messages is iterable }}"
    "{{ bos_token is defined }}",
    "continue": "{% for m in messages %}{% if m.role == 'user' %}{% continue %}{% endif %}{{ m.role }}{% endfor %}",
}  # fmt: skip
TOOLS = [{"type": "function", "function": {"name": "get_weather", "parameters": {"type": "object", "properties": {}}}}]


def of(role: str, content: object = "see", **fields: Any) -> dict[str, Any]:
    return {"role": role, "content": content, **fields}


CALL = {"id": "c1", "type": "function", "function": {"name": "get_weather", "arguments": {"city": "Zürich"}}}
CHATS: dict[str, list[dict[str, Any]]] = {
    "plain": [of("system"), of("user", " Hi <é>\n"), of("assistant", " low ")],
    "a call": [of("user"), of("assistant", None, tool_calls=[CALL], refusal=None), of("tool", "21", tool_call_id="c1")],
    "no call": [of("user"), of("assistant", "It rains.", tool_calls=None)],
    **{name: [of("assistant", "12", **{name: "I count."})] for name in ("reasoning_content", "reasoning", "thinking")},
    "two thoughts": [of("assistant", "12", reasoning="a", thinking="b")],
    "parts": [of("user", [{"type": "text", "text": "a"}, {"type": "image"}])],
}


@pytest.fixture(scope="module")
def tok() -> bbpe.Tokenizer:
    return bbpe.train_from_iterator(["low lower"], 260, special_tokens=["<s>"])


@pytest.fixture(scope="module")
def judge(tok: bbpe.Tokenizer) -> Any:
    return tok.as_huggingface()


def expect(tok: bbpe.Tokenizer, judge: Any, messages: object, template: str, **options: Any) -> Any:
    """Compare with `transformers`; return the text, or the error of both."""
    variables = options.pop("variables", {})
    got: Any
    try:
        want = judge.apply_chat_template(messages, chat_template=template, tokenize=False, **options, **variables)
    except Exception:
        with pytest.raises((ValueError, TypeError)) as caught:
            tok.apply_chat_template(messages, chat_template=template, variables=variables, **options)
        return caught.value
    got = tok.apply_chat_template(messages, chat_template=template, variables=variables, **options)
    assert got == want
    return got


@pytest.mark.parametrize("chat", CHATS.values(), ids=CHATS)
@pytest.mark.parametrize(
    "options",
    [{}, {"add_generation_prompt": True, "variables": {"enable_thinking": False}}, {"tools": TOOLS}],
    ids=["plain", "prompt", "tools"],
)
def test_chats(tok: bbpe.Tokenizer, judge: Any, chat: list[dict[str, Any]], options: dict[str, Any]) -> None:
    before = json.dumps(chat)
    for template in (CHATML, AGENT, AGENT.replace("reasoning_content", "thinking")):
        text = expect(tok, judge, chat, template, **options)
        assert "None" not in text
    assert json.dumps(chat) == before


@pytest.mark.parametrize("template", FEATURES.values(), ids=FEATURES)
def test_features_of_templates(tok: bbpe.Tokenizer, judge: Any, template: str) -> None:
    for chat in CHATS.values():
        assert isinstance(expect(tok, judge, chat, template, tools=TOOLS), str)


def test_a_template_refuses_messages(tok: bbpe.Tokenizer, judge: Any) -> None:
    error = expect(tok, judge, [of("nobody")], AGENT)
    assert str(error) == "chat template: line 6: no such role: nobody"


PARTS = [{"type": "text", "text": "one"}, {"type": "text", "text": "ab "}, {"type": "image"}]


@pytest.mark.parametrize("content", ["The answer", " The answer \n", "", "a\n\n", PARTS[1:2], PARTS[:2], PARTS])
@pytest.mark.parametrize("write", ["{{ m.content }}", "{{ m.content|trim }}", "{{ m.content|upper }}", "{{ m.role }}"])
def test_the_last_message_goes_on(tok: bbpe.Tokenizer, judge: Any, content: Any, write: str) -> None:
    if isinstance(content, list):
        write = "{% for p in m.content if p.text %}" + write.replace("m.content", "p.text") + "{% endfor %}"
    template = "{% for m in messages %}<|" + write + "|>\n{% endfor %}"
    chat = [of("user", content), of("assistant", content)]
    got = expect(tok, judge, chat, template, continue_final_message=True)
    assert isinstance(got, ValueError) or not got.endswith("|>\n")


def test_a_thought_goes_on(tok: bbpe.Tokenizer, judge: Any) -> None:
    template = "{% for m in messages %}<think>{{ m.thinking }}</think>{{ m.content }}{% endfor %}"
    chat = [of("assistant", "12", reasoning_content="I count")]
    for name in ("reasoning_content", "thinking"):
        assert expect(tok, judge, chat, template, continue_final_message=name) == "<think>I count"
    for name in ("reasoning", "tool_calls"):
        expect(tok, judge, chat, template, continue_final_message=name)


def test_of_two_thoughts_the_one_that_is_named_goes_on(tok: bbpe.Tokenizer) -> None:
    last = {"role": "assistant", "thinking": "I think", "reasoning_content": "I reason"}
    template = "{{ messages[0].reasoning_content }}.{{ messages[0].thinking }}.end"
    for field, text in (("thinking", "I reason.I think"), ("reasoning_content", "I reason")):
        assert tok.apply_chat_template([last], chat_template=template, continue_final_message=field) == text
    same = {"role": "assistant", "thinking": "I think"}
    with pytest.raises(ValueError, match=r"writes the end of messages\[0\] more than once"):
        tok.apply_chat_template([same], chat_template=template, continue_final_message="thinking")


def test_what_cannot_go_on_is_named(tok: bbpe.Tokenizer) -> None:
    def refused(words: str, chat: Any, **options: Any) -> None:
        with pytest.raises(ValueError, match=words):
            tok.apply_chat_template(chat, chat_template=CHATML, **options)

    refused(r"messages\[1\] has no 'content'", [of("user"), of("assistant", None)], continue_final_message=True)
    refused(r"messages\[0\]\[0\] has no 'thinking'", [[of("user")]], continue_final_message="thinking")
    refused("does not write the field 'name'", [of("user", name="x")], continue_final_message="name")
    refused("field 'content' is int", [of("user", 5)], continue_final_message=True)
    for field in (True, "content"):
        refused("exclude each other", [of("user")], continue_final_message=field, add_generation_prompt=True)
    several = [[of("user")], [of("user"), of("assistant", None)]]
    refused(r"messages\[1\]\[1\] has no 'content'", several, continue_final_message=True)
    refused("field 'content' is list", [of("user", [{"type": "image"}])], continue_final_message=True)
    twice = "{% for m in messages %}{{ m.content }}|{{ m.content }}{% endfor %}"
    with pytest.raises(ValueError, match=r"writes the end of messages\[0\] more than once"):
        tok.apply_chat_template([of("user")], chat_template=twice, continue_final_message=True)


def test_several_chats_are_a_list(tok: bbpe.Tokenizer, judge: Any) -> None:
    chat = CHATS["plain"]
    for chats in ([chat, chat[:1]], (tuple(chat), chat), [chat]):
        assert isinstance(expect(tok, judge, chats, CHATML), list)
    assert expect(tok, judge, [chat, chat[:2]], CHATML, continue_final_message=True)[1].endswith("Hi <é>\n")


def test_documents(tok: bbpe.Tokenizer, judge: Any) -> None:
    template = "{% for d in documents %}{{ d.title }}{% endfor %}{{ tools }}"
    expect(tok, judge, [of("user")], template, documents=[{"title": "T", "text": "x"}])


@dataclasses.dataclass
class Said:
    role: str
    content: object
    name: str | None = None


class Dumped:
    def model_dump(self) -> dict[str, Any]:
        return {"role": "user", "content": "dumped", "name": None}


class Role(str, Enum):  # noqa: UP042 - it has another text than its value
    USER = "user"


class Chat:
    messages = (of("user"),)


def test_messages_are_plain_data(tok: bbpe.Tokenizer, judge: Any) -> None:
    """Templates never see an object of the caller, whose methods may do anything."""
    chats: list[Any] = [
        [Said("user", "x"), Dumped(), of("user", (1, 2.5, True, None))],
        [of(Role.USER, np.int64(3), ok=np.bool_(False), array=np.zeros(2), object=object())],
        [{Role.USER: 1, **of("user", {np.str_("k"): np.float32(0.5), Role.USER: [Role.USER]})}],
        Chat(), [Chat(), Chat()], (of("user"),),
    ]  # fmt: skip
    template = "{{ messages }}{% for m in messages %}{{ m.role }}{{ m.ok is false }}{% endfor %}"
    for chat in chats:
        expect(tok, judge, chat, template)
    assert tok.apply_chat_template([of("user")], chat_template="{{ x }}", variables={"x": open}) == (
        f"<{type(open).__name__}>"
    )
    given = {Role.USER: 1, np.str_("b"): (Role.USER, np.int64(5)), "c": Role, "d": Said("a", Role.USER)}
    shown = tok.apply_chat_template([of("user")], chat_template="{{ x }}", variables={"x": given})
    assert shown == (
        "{'user': 1, 'b': ('user', 5), 'c': '<EnumType>', 'd': {'role': 'a', 'content': 'user', 'name': None}}"
    )


def test_nothing_is_left_of_a_rendering(tok: bbpe.Tokenizer) -> None:
    """Neither its budget, nor what it has set."""
    from bbpe.compat.chat import budget

    for template in ("{{ 1 }}", "{{ 1 / 0 }}", "{{ 9 ** 99999 }}"):
        with contextlib.suppress(bbpe.VocabularyError):
            tok.apply_chat_template([of("user")], chat_template=template)
        with pytest.raises(LookupError):
            budget.current()
    setting = "{% set x = 1 %}{{ x }}"
    assert tok.apply_chat_template([of("user")], chat_template=setting) == "1"
    assert tok.apply_chat_template([of("user")], chat_template="{{ x }}") == ""
    # each chat of several has a budget of its own, and no message sees another chat
    rows = tok.apply_chat_template([[of("user", "a")], [of("user", "b")]], chat_template="{{ messages }}")
    assert ["'a'" in row for row in rows] == [True, False]


@pytest.mark.parametrize(
    ("messages", "words"),
    [
        ([], "messages is empty"), ("see", "messages is str 'see'"), (None, "messages is NoneType"),
        (["see"], r"messages\[0\] is str 'see'; expected a dict"), ([of("user"), 5], r"messages\[1\] is int 5"),
        ([[of("user")], [5]], r"messages\[1\]\[0\] is int 5"), ([[of("user")], of("user")], r"messages\[1\] is dict"),
        ([of("user"), [of("user")]], r"messages\[1\] is list"), ({"role": "user"}, "messages is dict"),
        ("x" * 50, rf"^messages is str '{'x' * 39}; expected a list of dicts"), (b"see", "messages is bytes b'see'"),
    ],
)  # fmt: skip
def test_wrong_messages_are_named(tok: bbpe.Tokenizer, messages: Any, words: str) -> None:
    with pytest.raises((TypeError, ValueError), match=words):
        tok.apply_chat_template(messages, chat_template=CHATML)


def test_messages_that_hold_themselves(tok: bbpe.Tokenizer) -> None:
    message = of("user")
    message["content"] = [message]
    with pytest.raises(ValueError, match=r"messages\[0\] is nested too deeply"):
        tok.apply_chat_template([message], chat_template=CHATML)


def test_wrong_tools_and_documents_are_named(tok: bbpe.Tokenizer) -> None:
    for options, words in (
        ({"tools": [5]}, r"tools\[0\] is int 5; expected a JSON schema"), ({"tools": "f"}, "tools is str"),
        ({"tools": TOOLS[0]}, "tools is dict"), ({"documents": ["x"]}, r"documents\[0\] is str"),
        ({"documents": {"a": 1}}, "documents is dict"), ({"variables": ["x"]}, "variables is list"),
        ({"variables": {"messages": []}}, "variables has 'messages'"), ({"variables": {1: 2}}, "variables has 1"),
    ):  # fmt: skip
        with pytest.raises(TypeError, match=words):
            tok.apply_chat_template([of("user")], chat_template=CHATML, **options)


def test_flags_are_true_or_false(tok: bbpe.Tokenizer) -> None:
    def rendered(**options: Any) -> Any:
        return tok.apply_chat_template([of("user")], chat_template="{{ messages[0].content }}", **options)

    assert rendered(add_generation_prompt=np.bool_(True), continue_final_message=np.bool_(False)) == "see"
    for name, values in {"add_generation_prompt": ("no", 1, None), "continue_final_message": ("", 1, None)}.items():
        for value in values:
            with pytest.raises(TypeError, match=f"^{name} is {type(value).__name__} .*expected True"):
                rendered(**{name: value})


def test_variables_of_the_template(tok: bbpe.Tokenizer) -> None:
    some: list[dict[str, Any]] = [
        {"x": 3}, {"variables": {"x": 3}}, {"variables": {"x": 3, "unread": 4}}, {"variables": {"x": 1}, "x": 3},
    ]  # fmt: skip
    for options in some:
        assert tok.apply_chat_template([of("user")], chat_template="{{ x }}", **options) == "3"


def test_a_misspelt_option_is_an_error(tok: bbpe.Tokenizer) -> None:
    for name, near in (("add_generation_promt", "add_generation_prompt"), ("enable_thinkng", "enable_thinking")):
        with pytest.raises(bbpe.VocabularyError, match="chat template: line 1: the template is malformed"):
            tok.apply_chat_template([of("user")], chat_template="{% if %}", **{name: 1})
        with pytest.raises(TypeError, match=rf"unexpected keyword argument '{name}'.* did you mean '{near}'\?"):
            tok.apply_chat_template([of("user")], chat_template="{{ enable_thinking }}", **{name: True})
        with pytest.raises(TypeError, match=rf"^encode_chat\(\) got an unexpected keyword argument '{name}'"):
            tok.encode_chat([of("user")], chat_template="{{ enable_thinking }}", **{name: True})
    with pytest.raises(TypeError, match="unexpected keyword argument 'enable_thinking'"):
        tok.apply_chat_template([], enable_thinking=True)  # whatever else is wrong
    with pytest.raises(TypeError):
        tok.count_messages([of("user")], modle="gpt-4o")  # type: ignore[call-arg]


@pytest.mark.parametrize(
    ("name", "values"),
    {
        "tokenize": [True], "return_dict": [True], "return_assistant_tokens_mask": [True], "padding": [True, "longest"],
        "truncation": [True], "max_length": [8], "return_tensors": ["np"], "tokenizer_kwargs": [{}],
        "sanitize_control_tokens": [True],
    }.items(),
)  # fmt: skip
def test_options_about_ids_are_refused(tok: bbpe.Tokenizer, name: str, values: list[Any]) -> None:
    """`apply_chat_template` always returns a text; its type never depends on an option."""
    for value in values:
        with pytest.raises(ValueError, match=f"^{name} is "):
            tok.apply_chat_template([of("user")], chat_template=CHATML, **{name: value})
    for value in (None, False):
        assert tok.apply_chat_template([of("user")], chat_template="{{ 1 }}", **{name: value}) == "1"
