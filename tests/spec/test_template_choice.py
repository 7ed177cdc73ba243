"""Chat templates by name, from every place that may hold them, and the tokens that they may name."""

from __future__ import annotations

import re
from typing import Any

import pytest
from test_named_files import CONFIG, JINJA, MAP, MORE, PROCESSOR, spec_of

from bbpe.errors import VocabularyError
from bbpe.spec.chat_templates import chat_templates, choose_template, is_template
from bbpe.spec.named_tokens import USES, named_tokens, template_tokens
from bbpe.spec.roles import lost_roles, with_roles

OTHER = "additional_chat_templates/rag.jinja"
ROWS = [{"name": "default", "template": "{{1}}"}, {"name": "rag", "template": "{{2}}"}]


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({}, {}),
        ({JINJA: "{{1}}", MORE: "{{2}}", OTHER: "{{3}}"}, {"default": "{{1}}", "tool_use": "{{2}}", "rag": "{{3}}"}),
        ({MORE: "{{2}}", CONFIG: {"chat_template": "{{4}}"}}, {"tool_use": "{{2}}"}),
        ({CONFIG: {"chat_template": "{{4}}"}, PROCESSOR: {"chat_template": "{{5}}"}}, {"default": "{{4}}"}),
        ({CONFIG: {"chat_template": None}, PROCESSOR: {"chat_template": "{{5}}"}}, {"default": "{{5}}"}),
        ({CONFIG: {"chat_template": ROWS}}, {"default": "{{1}}", "rag": "{{2}}"}),
        ({PROCESSOR: {"chat_template": {"rag": "{{2}}"}}}, {"rag": "{{2}}"}),
        ({CONFIG: {"chat_template": []}}, {}),
        ({CONFIG: {"chat_template": ""}}, {"default": ""}),
        ({CONFIG: [{"chat_template": "{{4}}"}]}, {}),
    ],
)
def test_all_templates_by_their_names(files: dict[str, Any], expected: dict[str, str]) -> None:
    found = chat_templates(spec_of(files))
    assert {name: template.source for name, template in found.items()} == expected


def test_a_template_knows_the_file_it_is_from() -> None:
    files = {JINJA: "{{1}}", OTHER: "{{3}}"}
    assert {name: each.file for name, each in chat_templates(spec_of(files)).items()} == {"default": JINJA,
    "rag": OTHER}
    for file in (CONFIG, PROCESSOR):
        (found,) = chat_templates(spec_of({file: {"chat_template": "{{1}}"}})).values()
        assert (found.file, found.title) == (file, f"chat template of {file}")
    given = choose_template(spec_of(files), "{{ 6 }}", has_tools=False)
    assert given is not None
    assert (given.file, given.title) == (None, "chat template")


@pytest.mark.parametrize(
    ("value", "place", "found"),
    [
        (5, "chat_template", "5; expected a template, or a list of templates with their names"),
        ({"default": 5}, "chat_template: default", "5; expected a template"),
        ({"default": "{{1}}", "rag": None}, "chat_template: rag", "null; expected a template"),
        (["{{1}}"], "chat_template[0]", '"{{1}}"; expected an object with a name and a template'),
        ([*ROWS, {"template": "{{1}}"}], "chat_template[2]", '{"template": "{{1}}"}; expected an object with a name'),
        ([ROWS[0], {"name": 5}], "chat_template[1]", '{"name": 5}; expected an object with a name and a template'),
        ([ROWS[0], {"name": "rag"}], "chat_template: rag", "null; expected a template"),
        (["x" * 90], "chat_template[0]", f'"{"x" * 39}; expected an object'),
    ],
)  # fmt: skip
@pytest.mark.parametrize("file", [CONFIG, PROCESSOR])
def test_what_is_no_template_is_named_with_its_place(value: object, place: str, found: str, file: str) -> None:
    with pytest.raises(VocabularyError, match=f"^{re.escape(f'{file}: {place}: found {found}')}"):
        chat_templates(spec_of({file: {"chat_template": value}}))


def test_names_of_templates_are_in_errors_in_order() -> None:
    files = {OTHER: "{{3}}", MORE: "{{2}}"}
    with pytest.raises(VocabularyError, match=r"none is the default; give chat_template=, one of 'rag', 'tool_use'$"):
        choose_template(spec_of(files), None, has_tools=False)
    tools = choose_template(spec_of(files), None, has_tools=True)
    assert tools is not None
    assert tools.source == "{{2}}"
    with pytest.raises(ValueError, match=r"or a name of this tokenizer: 'rag', 'tool_use'$") as error:
        choose_template(spec_of(files), "x" * 60, has_tools=False)
    assert str(error.value).startswith(f"chat_template={'x' * 40!r} is neither")
    with pytest.raises(ValueError, match=r"or a name of this tokenizer: none$"):
        choose_template(spec_of({}), "rag", has_tools=False)
    wrong: Any = 5
    with pytest.raises(TypeError, match=r"^chat_template is int; expected a template or the name of one as a str$"):
        choose_template(spec_of(files), wrong, has_tools=False)
    # a name counts though it looks like a template
    named = choose_template(spec_of({CONFIG: {"chat_template": {"{{a}}": "{{b}}"}}}), "{{a}}", has_tools=False)
    assert named is not None
    assert named.source == "{{b}}"


@pytest.mark.parametrize(
    ("text", "expected"), [("{{ x }}", True), ("{% if %}", True), ("{# c #}", True), ("{x}", False), ("}}", False),
    ("", False)]
)
def test_what_looks_like_a_template(text: str, expected: bool) -> None:
    assert is_template(text) is expected


# -- tokens ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("is_object", [False, True])
def test_each_use_is_read_from_each_file(use: str, is_object: bool) -> None:
    value = {"content": "<s>"} if is_object else "<s>"
    for file in (CONFIG, MAP):
        spec = spec_of({file: {f"{use}_token": value, "x_token": value, "y": value}})
        assert named_tokens(spec) == {use: "<s>"}
        assert template_tokens(spec, named_tokens(spec)) == {"x_token": "<s>", f"{use}_token": "<s>"}
        assert template_tokens(spec, {}) == {"x_token": "<s>"}


def test_a_newer_configuration_makes_the_map_count_for_nothing() -> None:
    files: dict[str, Any] = {
        CONFIG: {"added_tokens_decoder": {}, "eos_token": "<s>"}, MAP: {"eos_token": "<p>", "pad_token": "<p>"},
    }  # fmt: skip
    assert named_tokens(spec_of(files)) == {"eos": "<s>"}
    files[CONFIG] = {"eos_token": "<s>", "bos_token": "<s>"}
    assert named_tokens(spec_of(files)) == {"eos": "<p>", "bos": "<s>", "pad": "<p>"}
    files[MAP] = {"eos_token": None}
    assert named_tokens(spec_of(files)) == {"bos": "<s>"}


def test_tokens_in_tables_of_a_configuration_are_variables_by_their_own_names() -> None:
    table = {"image": "<i>", "audio_token": {"content": "<a>"}, "eos_token": "<e>", "wrong": 5}
    for name in ("extra_special_tokens", "model_specific_special_tokens"):
        spec = spec_of({CONFIG: {name: table, "image": "no", "z_token": "<z>"}})
        assert template_tokens(spec, {"eos": "<s>"}) == {
            "image": "<i>", "audio_token": "<a>", "z_token": "<z>", "eos_token": "<s>",
        }  # fmt: skip
    listed = spec_of({CONFIG: {"extra_special_tokens": ["<i>"], "z_token": "<z>"}})
    assert template_tokens(listed, {}) == {"z_token": "<z>"}


def test_roles_that_files_do_not_keep_are_named() -> None:
    spec = spec_of({})
    asked = with_roles(spec, {"eos": "<s>", "pad": "<p>"}, "{{ 1 }}")
    assert lost_roles(asked, asked) == []
    assert lost_roles(asked, spec) == ["pad_token", "eos_token", "chat_template"]
    assert lost_roles(asked, with_roles(spec, {"eos": "<p>", "pad": "<p>"}, "{{ 1 }}")) == ["eos_token"]
    assert lost_roles(asked, with_roles(spec, {"eos": "<s>", "pad": "<p>"}, "{{ 2 }}")) == ["chat_template"]
    assert lost_roles(spec, asked) == ["chat_template"]
