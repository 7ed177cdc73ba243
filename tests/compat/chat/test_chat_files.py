"""Chat templates among the files of a tokenizer: read, chosen, saved, and given to `transformers`."""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from typing import Any

import pytest
from systems import link

import bbpe
from bbpe.compat.chat import warm_up

pytest.importorskip("jinja2")

MESSAGES = [{"role": "user", "content": "Hi"}]
TOOLS = [{"type": "function", "function": {"name": "f"}}]
PLAIN, WITH_TOOLS, RAG = "PLAIN{{ messages|length }}", "TOOLS{{ tools|length }}", "RAG{{ documents|length }}"
DOCUMENTS = [{"title": "t", "text": "x"}]
ROWS = [{"name": "default", "template": PLAIN}, {"name": "tool_use", "template": WITH_TOOLS}]


def folder(path: Path, files: dict[str, Any]) -> Path:
    path.mkdir(exist_ok=True)
    bbpe.train_from_iterator(["low lower"], 264, special_tokens=["<s>", "</s>", "<img>"]).save(path / "tokenizer.json")
    for name, value in {"tokenizer_config.json": {}, **files}.items():
        (path / name).parent.mkdir(exist_ok=True)
        (path / name).write_text(value if isinstance(value, str) else json.dumps(value))
    return path


FILES: dict[str, dict[str, Any]] = {
    "files": {
        "chat_template.jinja": PLAIN,
        "additional_chat_templates/tool_use.jinja": WITH_TOOLS,
        "additional_chat_templates/rag.jinja": RAG,
    },
    "list": {"tokenizer_config.json": {"chat_template": [*ROWS, {"name": "rag", "template": RAG}]}},
    "files before the field": {
        "tokenizer_config.json": {"chat_template": "FIELD{{ 1 }}"},
        "additional_chat_templates/default.jinja": PLAIN,
        "additional_chat_templates/tool_use.jinja": WITH_TOOLS,
        "additional_chat_templates/rag.jinja": RAG,
    },
}


@pytest.mark.parametrize("files", FILES.values(), ids=FILES)
def test_several_templates(tmp_path: Path, files: dict[str, Any]) -> None:
    """`tool_use` is for calls with tools; every copy of the tokenizer has all of them."""
    first = bbpe.load(folder(tmp_path / "a", files))
    first.save(tmp_path / "b")
    first.save(tmp_path / "c" / "tokenizer.json")
    for tok in (first, bbpe.load(tmp_path / "b"), bbpe.load(tmp_path / "c"), pickle.loads(pickle.dumps(first))):
        assert tok.apply_chat_template(MESSAGES) == "PLAIN1"
        assert tok.apply_chat_template(MESSAGES, TOOLS) == "TOOLS1"
        assert tok.apply_chat_template(MESSAGES, []) == "TOOLS0"
        assert tok.apply_chat_template(MESSAGES, documents=DOCUMENTS, chat_template="rag") == "RAG1"
        assert tok.count_messages(MESSAGES, TOOLS) == len(tok.encode("TOOLS1"))


@pytest.mark.parametrize("files", FILES.values(), ids=FILES)
def test_several_templates_as_transformers(tmp_path: Path, files: dict[str, Any]) -> None:
    transformers = pytest.importorskip("transformers")
    path = folder(tmp_path, {"tokenizer_config.json": {}, **files})
    config = json.loads((path / "tokenizer_config.json").read_text())
    (path / "tokenizer_config.json").write_text(json.dumps({**config, "tokenizer_class": "PreTrainedTokenizerFast"}))
    theirs, tok = transformers.AutoTokenizer.from_pretrained(path), bbpe.load(path)
    for judge in (theirs, tok.as_huggingface()):
        for options in ({}, {"tools": TOOLS}, {"documents": DOCUMENTS, "chat_template": "rag"}):
            want = judge.apply_chat_template(MESSAGES, tokenize=False, **options)
            assert tok.apply_chat_template(MESSAGES, **options) == want


def test_one_template(tmp_path: Path) -> None:
    for number, files in enumerate(
        ({"tokenizer_config.json": {"chat_template": PLAIN}}, {"chat_template.json": {"chat_template": PLAIN}})
    ):
        tok = bbpe.load(folder(tmp_path / str(number), files))
        assert tok.apply_chat_template(MESSAGES, TOOLS) == "PLAIN1"


def test_the_cache_of_finished_tables_knows_the_templates(tmp_path: Path) -> None:
    path = folder(tmp_path, FILES["files"])
    assert bbpe.load(path).apply_chat_template(MESSAGES, TOOLS) == "TOOLS1"
    (path / "additional_chat_templates" / "tool_use.jinja").write_text("OTHER{{ 1 }}")
    assert bbpe.load(path).apply_chat_template(MESSAGES, TOOLS) == "OTHER1"


@pytest.mark.parametrize(
    ("files", "words"),
    [
        ({"additional_chat_templates/rag.jinja": RAG}, "none is the default; give chat_template=, one of 'rag'"),
        ({"tokenizer_config.json": {"chat_template": 5}}, "tokenizer_config.json: chat_template: found 5"),
        ({"tokenizer_config.json": {"chat_template": ["a"]}}, r"tokenizer_config.json: chat_template\[0\]: found"),
        ({"tokenizer_config.json": {"chat_template": [{"name": "a"}]}}, "chat_template: a: found null"),
        ({"chat_template.json": "{"}, "chat_template.json: the file is not JSON"),
    ],
)
def test_templates_that_cannot_be_chosen(tmp_path: Path, files: dict[str, Any], words: str) -> None:
    tok = bbpe.load(folder(tmp_path, files))
    with pytest.raises(bbpe.VocabularyError, match=words):
        tok.apply_chat_template(MESSAGES)


def test_a_template_that_is_malformed_is_named_by_warm_up(tmp_path: Path) -> None:
    """Whichever of several it is."""
    for number, rows in enumerate(([*ROWS, {"name": "b", "template": "{% if %}"}], [{"name": "a", "template": "{{"}])):
        tok = bbpe.load(folder(tmp_path / str(number), {"tokenizer_config.json": {"chat_template": rows}}))
        with pytest.raises(bbpe.VocabularyError, match="the template is malformed"):
            warm_up(tok.spec)
    warm_up(bbpe.load(folder(tmp_path / "whole", FILES["list"])).spec)


def test_a_template_that_is_not_utf8(tmp_path: Path) -> None:
    (folder(tmp_path, {}) / "chat_template.jinja").write_bytes(b"{{ 1 }}\xff")
    with pytest.raises(bbpe.VocabularyError, match=r"chat_template.jinja: byte 7: found byte 0xFF"):
        bbpe.load(tmp_path).apply_chat_template(MESSAGES)


def test_what_is_neither_a_name_nor_a_template(tmp_path: Path) -> None:
    tok = bbpe.load(folder(tmp_path, FILES["files"]))
    with pytest.raises(ValueError, match=r"chat_template='tool' is neither .*'default', 'rag', 'tool_use'"):
        tok.apply_chat_template(MESSAGES, chat_template="tool")
    with pytest.raises(TypeError, match=r"chat_template is \w+; expected a template or the name"):
        tok.apply_chat_template(MESSAGES, chat_template=Path("x"))  # type: ignore[arg-type]
    bare = bbpe.train_from_iterator(["low"], 256)
    with pytest.raises(bbpe.VocabularyError, match="have no chat template; expected chat_template="):
        bare.apply_chat_template(MESSAGES)


def test_a_link_out_of_the_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("a private key")
    path = folder(tmp_path / "a", FILES["files"])
    link((path / "additional_chat_templates" / "x.jinja"), tmp_path / "secret")
    with pytest.raises(bbpe.VocabularyError, match="out of its folder"):
        bbpe.load(path)


def test_a_snapshot_of_the_hub_has_links_to_its_blobs(tmp_path: Path) -> None:
    (tmp_path / "snapshots").mkdir()
    path = folder(tmp_path / "snapshots" / "rev", FILES["files"])
    (tmp_path / "blobs").mkdir()
    (tmp_path / "blobs" / "1").write_text(WITH_TOOLS)
    linked = path / "additional_chat_templates" / "tool_use.jinja"
    linked.unlink()
    link(linked, "../../../blobs/1")
    assert bbpe.load(path).apply_chat_template(MESSAGES, TOOLS) == "TOOLS1"


def test_tokens_of_the_configuration_are_variables(tmp_path: Path) -> None:
    config = {
        "tokenizer_class": "PreTrainedTokenizerFast", "bos_token": "<s>", "image_token": "<img>",
        "eos_token": {"content": "</s>", "__type": "AddedToken", "lstrip": False, "rstrip": False, "normalized": False},
        "extra_special_tokens": {"audio_token": "<img>", "video": "<img>"}, "add_bos_token": True,
        "chat_template": "{{ bos_token }}|{{ eos_token }}|{{ image_token }}|{{ audio_token }}|{{ video }}"
        "{{ pad_token }}",
    }  # fmt: skip
    tok = bbpe.load(folder(tmp_path, {"tokenizer_config.json": config}))
    assert tok.apply_chat_template(MESSAGES) == "<s>|</s>|<img>|<img>|<img>"
    assert tok.apply_chat_template(MESSAGES, variables={"bos_token": "B"}).startswith("B|")
    transformers = pytest.importorskip("transformers")
    for theirs in (transformers.AutoTokenizer.from_pretrained(tmp_path), tok.as_huggingface()):
        assert theirs.apply_chat_template(MESSAGES, tokenize=False) == "<s>|</s>|<img>|<img>|<img>"
