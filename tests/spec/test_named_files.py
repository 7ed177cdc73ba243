"""The files of a tokenizer that name the same thing: which of them counts."""

from __future__ import annotations

import json
from typing import Any

import pytest
from vocabularies import small_spec

from bbpe.errors import VocabularyError
from bbpe.records import replace
from bbpe.spec.chat_templates import choose_template
from bbpe.spec.models import WordPieceModel
from bbpe.spec.named_tokens import named_tokens, template_tokens
from bbpe.spec.rules import RowPadding, Template, bert_template
from bbpe.spec.spec import TokenizerSpec

CONFIG, MAP = "tokenizer_config.json", "special_tokens_map.json"
JINJA, MORE, PROCESSOR = "chat_template.jinja", "additional_chat_templates/tool_use.jinja", "chat_template.json"


def spec_of(files: dict[str, Any], **changes: Any) -> TokenizerSpec:
    written = {name: (value if isinstance(value, str) else json.dumps(value)).encode() for name, value in files.items()}
    return replace(small_spec(special_tokens={"<s>": 300, "<p>": 301}), files=written, **changes)


def test_the_map_names_tokens_before_the_configuration() -> None:
    config = {"pad_token": {"content": "<p>"}, "x_token": "<p>"}
    spec = spec_of({MAP: {"pad_token": "<s>", "bos_token": "<s>"}, CONFIG: config})
    found = named_tokens(spec)
    assert found == {"pad": "<s>", "bos": "<s>"}
    assert template_tokens(spec, found) == {"x_token": "<p>", "pad_token": "<s>", "bos_token": "<s>"}
    # what is named already leaves the files unread
    assert named_tokens(replace(spec, names={"bos": "<p>"})) == {"bos": "<p>"}
    both = spec_of({MAP: {"x_token": "of the map"}, CONFIG: {"x_token": "of the configuration"}})
    assert template_tokens(both, {}) == {"x_token": "of the map"}


@pytest.mark.parametrize(("padding", "named"), [
    (RowPadding(301, "<p>"), {"pad": "<p>"}), (RowPadding(300, "<p>"), {}), (RowPadding(301, "<s>"), {}),
    (RowPadding(7, "[PAD]"), {}), (None, {}),
])  # fmt: skip
def test_the_padding_of_a_file_names_a_token_that_is_there(padding: RowPadding | None, named: dict[str, str]) -> None:
    assert named_tokens(spec_of({}, padding=padding)) == named


def test_the_unknown_token_is_named_by_the_model() -> None:
    """A special token may be the unknown one, whether or not the vocabulary has its text."""
    spec = replace(
        small_spec(), vocab={0: b"[UNK]", 1: b"a"}, merges=None, model=WordPieceModel(0), special_tokens={"[UNK]": 0}
    )
    assert named_tokens(spec) == {"unk": "[UNK]"}
    alone = replace(spec, vocab={1: b"a"}, special_tokens={"<unknown>": 0})
    assert named_tokens(alone) == {"unk": "<unknown>"}
    assert named_tokens(replace(spec, special_tokens={})) == {"unk": "[UNK]"}


def test_what_is_no_text_of_a_token_is_named() -> None:
    for name in (CONFIG, MAP):
        with pytest.raises(VocabularyError, match=rf"{name}: eos_token: found 5; expected the text of a token"):
            named_tokens(spec_of({name: {"eos_token": {"content": 5}}}))
    for broken in ("{", "[1]", "5", "", "null"):
        assert named_tokens(spec_of({CONFIG: broken})) == {}


TEMPLATES: list[tuple[dict[str, Any], dict[bool, str]]] = [
    ({JINJA: "{{1}}", CONFIG: {"chat_template": "{{2}}"}}, {False: "{{1}}", True: "{{1}}"}),
    ({CONFIG: {"chat_template": "{{2}}"}, PROCESSOR: {"chat_template": "{{3}}"}}, {False: "{{2}}", True: "{{2}}"}),
    ({CONFIG: {}, PROCESSOR: {"chat_template": "{{3}}"}}, {False: "{{3}}", True: "{{3}}"}),
    ({JINJA: "{{1}}", MORE: "{{4}}"}, {False: "{{1}}", True: "{{4}}"}),
    ({CONFIG: {"chat_template": {"tool_use": "{{4}}", "default": "{{5}}"}}}, {False: "{{5}}", True: "{{4}}"}),
]


@pytest.mark.parametrize(("files", "chosen"), TEMPLATES)
def test_the_template_of_a_call(files: dict[str, Any], chosen: dict[bool, str]) -> None:
    for has_tools, source in chosen.items():
        found = choose_template(spec_of(files), None, has_tools=has_tools)
        assert found is not None
        assert found.source == source
    assert choose_template(spec_of({}), None, has_tools=True) is None
    given = choose_template(spec_of(files), "{{ 6 }}", has_tools=False)
    assert given is not None
    assert (given.source, given.file) == ("{{ 6 }}", None)


@pytest.mark.parametrize("value", ["[1]", "5", "null", '"a"', "{}"])
def test_files_without_fields_have_no_template(value: str) -> None:
    assert choose_template(spec_of({CONFIG: value}), None, has_tools=False) is None
    with pytest.raises(VocabularyError, match="the file is not JSON"):
        choose_template(spec_of({CONFIG: "{" + value}), None, has_tools=False)


def test_there_may_be_no_default() -> None:
    only = spec_of({MORE: "{{4}}"})
    with pytest.raises(VocabularyError, match="none is the default; give chat_template=, one of 'tool_use'"):
        choose_template(only, None, has_tools=False)
    named = choose_template(only, "tool_use", has_tools=False)
    assert named is not None
    assert (named.source, named.file) == ("{{4}}", MORE)
    with pytest.raises(ValueError, match=r"neither a template nor the name of one; .*read_text\(\).*: 'tool_use'$"):
        choose_template(only, "default", has_tools=False)


@pytest.mark.parametrize("missing", ["[CLS]", "[SEP]"])
def test_berts_template_needs_both_of_its_tokens(missing: str) -> None:
    specials = {"[CLS]": 5, "[SEP]": 6, "[MASK]": 7}
    template = bert_template(specials)
    assert template is not None
    assert template.around == ((5,), (6,))
    assert template.pair == ((5, 0), ("A", 0), (6, 0), ("B", 1), (6, 1))
    del specials[missing]
    assert bert_template(specials) is None


def test_all_ids_around_a_text_are_around_it() -> None:
    template = Template(((1, 0), (2, 0), ("A", 0), (3, 0), (4, 0), (5, 1)))
    assert template.around == ((1, 2), (3, 4, 5))
