"""Chat messages: templates from the files of a tokenizer, and numbers of tokens."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import bbpe

pytest.importorskip("jinja2")

TEMPLATE = (
    "{{ bos_token }}{% for message in messages %}\n"
    "    {%- if message.role == 'nobody' %}{{ raise_exception('no such role') }}{% endif %}\n"
    "<|{{ message.role }}|>{% generation %}{{ message.content }}{% endgeneration %}{{ eos_token }}\n"
    "{% if loop.last %}{% break %}{% endif %}\n"
    "{% endfor %}\n"
    "{% if tools %}{{ tools | tojson }}{% endif %}{% if add_generation_prompt %}<|assistant|>{% endif %}"
)
MESSAGES = [{"role": "user", "content": "Hi <é>"}, {"role": "assistant", "content": "low"}]
TEXT = "<s><|user|>Hi <é></s>\n<|assistant|>low</s>\n"
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


def loaded(folder: Path, **files: Any) -> bbpe.Tokenizer:
    tok = bbpe.train_from_iterator(["low lower"], 264, special_tokens=["<s>", "</s>", "<|user|>", "<|assistant|>"])
    tok.save(folder / "tokenizer.json")
    config = {"bos_token": "<s>", "eos_token": "</s>", **files.pop("config", {})}
    (folder / "tokenizer_config.json").write_text(json.dumps(config))
    for name, text in files.items():
        (folder / f"{name}.jinja").write_text(text)
    return bbpe.load(folder)


def test_the_template_of_the_files(tmp_path: Path) -> None:
    tok = loaded(tmp_path, chat_template=TEMPLATE)
    assert tok.apply_chat_template(MESSAGES) == TEXT
    assert tok.apply_chat_template(MESSAGES, add_generation_prompt=True) == TEXT + "<|assistant|>"
    assert tok.apply_chat_template([], [{"name": "é<"}]) == '<s>[{"name": "é<"}]'
    whole = tok.encode(TEXT + "<|assistant|>", allowed_special="all")
    assert tok.count_messages(MESSAGES) == len(whole)
    assert tok.apply_chat_template(MESSAGES, chat_template="{{ x }}{{ messages | length }}", x=3) == "32"


def test_templates_of_the_configuration(tmp_path: Path) -> None:
    rows = [{"name": "default", "template": "plain"}, {"name": "tool_use", "template": "tools"}]
    tok = loaded(tmp_path, config={"chat_template": rows})
    assert (tok.apply_chat_template(MESSAGES), tok.apply_chat_template(MESSAGES, TOOLS)) == ("plain", "tools")
    assert loaded(tmp_path, config={"chat_template": "one"}).apply_chat_template(MESSAGES) == "one"


def test_refusals(tmp_path: Path) -> None:
    tok = loaded(tmp_path, chat_template=TEMPLATE)
    with pytest.raises(bbpe.VocabularyError, match="no such role"):
        tok.apply_chat_template([{"role": "nobody"}])
    with pytest.raises(bbpe.VocabularyError, match="chat template: line 1"):
        tok.apply_chat_template(MESSAGES, chat_template="{% if %}")
    for hostile in ("{{ ''.__class__.__mro__ }}", "{{ messages.append(1) }}"):
        with pytest.raises(bbpe.VocabularyError, match=r"unsafe|not safely callable"):
            tok.apply_chat_template(list(MESSAGES), chat_template=hostile)
    bare = bbpe.train_from_iterator(["low"], 256)
    with pytest.raises(bbpe.VocabularyError, match="no chat template"):
        bare.apply_chat_template(MESSAGES)
    for model in (None, "claude-sonnet-4-5"):
        with pytest.raises(bbpe.VocabularyError, match="expected a chat template, or a model of OpenAI"):
            bare.count_messages(MESSAGES, model=model)


def test_models_of_openai() -> None:
    tok = bbpe.train_from_iterator(["x"], 256)  # a byte is a token
    plain = [{"role": "user", "content": "four"}, {"role": "user", "content": [{"type": "text", "text": "ab"}]}]
    assert tok.count_messages(plain, model="gpt-4o") == 3 + (3 + 4 + 4) + (3 + 4 + 2)
    assert tok.count_messages([{"role": "user", "name": "me", "content": None}], model="gpt-4") == 3 + 3 + 4 + 2 + 1
    lines = len("weather:The weather") + len("unit:string:a unit") + len("C") + len("F")
    fixed = 12 + 3 + 3 - 3 + 3 + 3
    for model, function in (("gpt-4o", 7), ("gpt-4", 10)):
        assert tok.count_messages([], TOOLS, model=model) == 3 + fixed + function + lines
    with pytest.raises(ValueError, match="expected a text"):
        tok.count_messages([{"role": "user", "content": [{"type": "image_url"}]}], model="gpt-4o")
