"""Chats of the kinds of templates that families of models have: texts, origins, masks, and hostile contents.

The templates are of our own writing.  `[[` and `]]` are where a template that marks the text of the assistant has its
tags: without them our masks must be the same.
"""

from __future__ import annotations

import os
import warnings
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("jinja2")
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    pytest.importorskip("transformers")
import chat_families
from chat_families import Judge, cases, families, forged, hostile

FAMILIES = {
    "chat markup": (
        "{% for m in messages %}<|im_start|>{{ m.role }}\n[[{{ m.content }}<|im_end|>]]\n{% endfor %}"
        "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
    ),
    "headers": (
        "{{ bos_token }}{% for m in messages %}{{ '<|start_header_id|>' + m['role'] + '<|end_header_id|>\n\n' }}"
        "[[{{ m['content'] | trim + '<|eot_id|>' }}]]{% endfor %}"
        "{% if add_generation_prompt %}<|start_header_id|>assistant<|end_header_id|>\n\n{% endif %}"
    ),
    "roles renamed, and alternating": (
        "{{ bos_token }}{% for m in messages %}"
        "{% if m.role == 'system' %}{{ raise_exception('no system') }}{% endif %}"
        "{% if (m.role == 'user') != (loop.index0 % 2 == 0) %}{{ raise_exception('roles must alternate') }}{% endif %}"
        "{% set role = 'model' if m.role == 'assistant' else m.role %}<start_of_turn>{{ role }}\n"
        "[[{% if m.content is string %}{{ m.content.strip() }}{% else %}"
        "{% for p in m.content %}{{ '<start_of_image>' if p.type == 'image' else p.text | trim }}{% endfor %}"
        "{% endif %}<end_of_turn>]]\n{% endfor %}{% if add_generation_prompt %}<start_of_turn>model\n{% endif %}"
    ),
    "instructions": (
        "{% set ns = namespace(system='') %}{{ bos_token }}{% for m in messages %}"
        "{% if m.tool_calls %}{{ raise_exception('no tools') }}{% endif %}"
        "{% if m.role == 'system' %}{% set ns.system = m.content ~ '\n\n' %}"
        "{% elif m.role == 'assistant' %}[[{{ m.content | trim ~ eos_token }}]]"
        "{% else %}[INST] {{ ns.system ~ m.content }} [/INST]{% set ns.system = '' %}{% endif %}{% endfor %}"
    ),
    "thoughts": (
        "{% set ns = namespace(last=-1) %}{% for m in messages %}{% if m.role == 'user' %}"
        "{% set ns.last = loop.index0 %}{% endif %}{% endfor %}"
        "{% for m in messages %}{% set content = m.content if m.content is string else '' %}"
        "{% if m.role == 'assistant' %}{% set thought = m.reasoning_content or '' %}"
        "{% if not thought and '</think>' in content %}"
        "{% set thought = content.split('</think>')[0].split('<think>')[-1].strip('\n') %}"
        "{% set content = content.split('</think>')[-1].lstrip('\n') %}{% endif %}"
        "{{ '<|im_start|>assistant\n' }}[["
        "{% if loop.index0 > ns.last and thought %}{{ '<think>\n' + thought.strip('\n') + '\n</think>\n\n' }}"
        "{% endif %}{{ content }}{% for call in m.tool_calls or [] %}{% set f = call.function %}"
        "{{ '\n' if content or not loop.first }}<tool_call>\n"
        '{"name": "{{ f.name }}", "arguments": '
        "{{ f.arguments if f.arguments is string else f.arguments | tojson }}}\n</tool_call>{% endfor %}<|im_end|>]]\n"
        "{% elif m.role == 'tool' %}<|im_start|>user\n<tool_response>\n{{ content }}\n</tool_response><|im_end|>\n"
        "{% else %}{{ '<|im_start|>' + m.role + '\n' + content + '<|im_end|>\n' }}{% endif %}{% endfor %}"
        "{% if add_generation_prompt %}<|im_start|>assistant\n"
        "{% if enable_thinking is false %}<think>\n\n</think>\n\n{% endif %}{% endif %}"
    ),
    "several ends": (
        "{% macro text(content) %}{% if content is string %}{{ content }}{% else %}"
        "{% for p in content if p.text %}{{ p.text }}{% endfor %}{% endif %}{% endmacro %}"
        "{{ bos_token }}{% for m in messages %}{% if m.role == 'assistant' %}<|START_OF_TURN_TOKEN|><|CHATBOT_TOKEN|>"
        "[[<|START_RESPONSE|>{{ text(m.content) }}<|END_RESPONSE|><|END_OF_TURN_TOKEN|>]]"
        "{% else %}<|START_OF_TURN_TOKEN|>{{ '<|' ~ m.role | upper ~ '_TOKEN|>' ~ text(m.content) }}"
        "<|END_OF_TURN_TOKEN|>{% endif %}{% endfor %}"
        "{% if add_generation_prompt %}<|START_OF_TURN_TOKEN|><|CHATBOT_TOKEN|>{% endif %}"
    ),
    "functions in tags": (
        "{% for t in tools or [] %}<|system|>{{ t | tojson }}<|end|>{% endfor %}{% for m in messages %}"
        "{% if m.role == 'assistant' %}<|assistant|>\n[[{{ m.content }}{% for call in m.tool_calls or [] %}"
        "\n<tool_call>\n<function={{ call.function.name }}>\n{% for name, value in call.function.arguments | items %}"
        "<parameter={{ name }}>\n{{ value if value is string else value | tojson }}\n</parameter>\n{% endfor %}"
        "</function>\n</tool_call>{% endfor %}<|end|>]]\n"
        "{% elif m.role == 'tool' %}<|observation|>\n{{ m.content }}<|end|>\n"
        "{% else %}<|{{ m.role }}|>\n{{ m.content }}<|end|>\n{% endif %}{% endfor %}"
        "{% if add_generation_prompt %}<|assistant|>\n{% endif %}"
    ),
    "bars of full width": (
        "{{ bos_token }}{% for m in messages if m.role == 'system' %}{{ m.content }}{% endfor %}{% for m in messages %}"
        "{% if m.role == 'user' %}{{ '<\uff5cUser\uff5c>' + m.content }}"
        "{% elif m.role == 'tool' %}<\uff5ctool\u2581output\u2581begin\uff5c>{{ m.content }}"
        "<\uff5ctool\u2581output\u2581end\uff5c>"
        "{% elif m.role == 'assistant' %}<\uff5cAssistant\uff5c>"
        "[[{{ m.content.split('</think>')[-1] }}{% for call in m.tool_calls or [] %}{% set f = call.function %}"
        "<\uff5ctool\u2581call\u2581begin\uff5c>{{ call.type }}<\uff5ctool\u2581sep\uff5c>"
        "{{ f.name + '\n```json\n' + f.arguments + '\n```' }}"
        "<\uff5ctool\u2581call\u2581end\uff5c>{% endfor %}<\uff5cend\u2581of\u2581sentence\uff5c>]]"
        "{% endif %}{% endfor %}{% if add_generation_prompt %}<\uff5cAssistant\uff5c>{% endif %}"
    ),
}


def marked(text: str) -> str:
    """The template with its tags, which mark the turns of the assistant alone."""
    opened = "{% if m.role == 'assistant' %}{% generation %}"
    first, *rest = text.split("[[")
    for each in rest:
        inside, _, after = each.partition("]]")
        # a line feed after a block would be dropped
        first += f"{opened}{inside}{{% endgeneration %}}{{% else %}}{inside}{{% endif +%}}{after}"
    return first


class With:
    """A tokenizer that encodes chats with other options."""

    def __init__(self, tok: Any, **options: Any) -> None:
        self._tok, self._options = tok, options

    def encode_chat(self, *given: Any, **options: Any) -> Any:
        return self._tok.encode_chat(*given, **{**self._options, **options})

    def __getattr__(self, name: str) -> Any:
        return getattr(self._tok, name)


@pytest.fixture(scope="module")
def judge(tmp_path_factory: pytest.TempPathFactory) -> Judge:
    return Judge(FAMILIES, tmp_path_factory.mktemp("judge"))


@pytest.mark.parametrize("name", FAMILIES)
def test_chats_of_a_family(judge: Judge, name: str) -> None:
    source, twin = FAMILIES[name].replace("[[", "").replace("]]", ""), marked(FAMILIES[name])
    results = {kind: judge.compare(source, twin, case) for kind, case in cases().items()}
    texts = [result.text for result in results.values()]
    assert set(texts) <= {"equal", "refused"}, results
    assert texts.count("equal") >= 6
    for kind, result in results.items():
        assert result.origins in ("found", ""), kind
        assert result.mask in ("equal", ""), kind


@pytest.mark.parametrize("name", FAMILIES)
def test_hostile_contents(judge: Judge, name: str) -> None:
    taken, faults = forged(judge, FAMILIES[name].replace("[[", "").replace("]]", ""), hostile(judge.controls, 60))
    assert faults == []
    assert taken >= 30


def test_the_judge_finds_faults(judge: Judge, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where contents may hold control tokens, and where the twin marks something else."""
    source, case = FAMILIES["chat markup"].replace("[[", "").replace("]]", ""), cases()["turns"]
    twin = marked(FAMILIES["chat markup"].replace("<|im_end|>]]", "]]<|im_end|>"))
    assert judge.compare(source, twin, case).mask.startswith("ours alone: '<|im_end|>'")
    assert judge.compare(source, source.replace("im_end", "end"), case).mask == "another text"
    monkeypatch.setattr(judge, "ours", With(judge.ours, content_special="all"))
    assert forged(judge, source, hostile(judge.controls, 20))[1] != []
    monkeypatch.setattr(judge, "ours", With(judge.ours, content_special=(), train_on="user"))
    assert judge.compare(source, None, case).origins.startswith("'whyq0q' is of message 0 with mask 1")


def test_a_folder_of_templates(tmp_path: Path) -> None:
    """That of BBPE_CHAT_TEMPLATES, with those of published models, if there is one; else one with some of these."""
    folder = Path(os.environ.get("BBPE_CHAT_TEMPLATES", tmp_path / "templates"))
    if folder.parent == tmp_path:
        folder.mkdir()
        for name in ("headers", "several ends"):
            (folder / f"{name}.jinja").write_text(FAMILIES[name].replace("[[", "").replace("]]", ""))
            (folder / f"{name}{chat_families.TWIN}.jinja").write_text(marked(FAMILIES[name]))
        (folder / "own.jinja").write_text(marked(FAMILIES["chat markup"]))
    known = families(folder)
    assert all(twin is not None for _, twin in known.values()) or folder.parent != tmp_path
    judge = Judge({name: text for name, (text, _) in known.items()}, tmp_path / "judge")
    for name, (source, twin) in known.items():
        results = {kind: judge.compare(source, twin, case) for kind, case in cases().items()}
        for kind, result in results.items():
            assert result.text in ("equal", "refused"), (name, kind)
            assert result.origins in ("found", ""), (name, kind)
            assert chat_families.agrees(result.mask), (name, kind, result.mask)
        assert "equal" in {result.text for result in results.values()}, name
        assert forged(judge, source, hostile(judge.controls, 30))[1] == [], name
