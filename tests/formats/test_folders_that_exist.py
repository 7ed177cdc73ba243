"""Tokenizers saved to a folder that exists get the files of a new one, or an error where the file has no name."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from systems import needs_links

import bbpe
from bbpe import VocabularyError
from bbpe.cli import main
from bbpe.formats import FORMATS

TEXTS = ["see my eyes first, see my dogs"] * 3
MODELS: dict[str, Any] = {
    "bytes": {"vocab_size": 270},
    "pieces": {"vocab_size": 290, "model": "unigram"},
    "words": {"vocab_size": 40, "model": "wordpiece"},
    "characters": {"vocab_size": 24, "model": bbpe.BPE(alphabet="chars", end_of_word="</w>")},
}
#: The model that each format can hold, and its files in a folder; a suffix where the file has any name.
FILES: dict[str, tuple[str, set[str]]] = {
    "huggingface": ("bytes", {"tokenizer.json", "tokenizer_config.json"}),
    "unigram_json": ("pieces", {"unigram.json"}),
    "youtokentome": ("bytes", {".yttm"}),
    "tiktoken": ("bytes", {".tiktoken"}),
    "gpt2": ("bytes", {"vocab.json", "merges.txt", "tokenizer_config.json"}),
    "vocab_txt": ("bytes", {"vocab.txt", "merges.txt", "tokenizer_config.json"}),
    "wordpiece": ("words", {"vocab.txt", "tokenizer_config.json"}),
    "codes": ("characters", {"bpe_simple_vocab_16e6.txt"}),
    "tekken": ("bytes", {"tekken.json"}),
    "minbpe": ("bytes", {".model"}),
    "rwkv": ("bytes", {"rwkv_vocab_v20230424.txt"}),
    "gguf": ("bytes", {".gguf"}),
    "sentencepiece": ("pieces", {"tokenizer.model"}),
}
#: Formats that hold none of these models, which the error says with the name of the file.
REFUSED = {"tekken", "rwkv", "unigram_json"}


def _names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


@pytest.fixture(scope="module")
def made() -> dict[str, bbpe.Tokenizer]:
    return {name: bbpe.train_from_iterator(TEXTS, **options) for name, options in MODELS.items()}


def test_each_format_is_here() -> None:
    assert FILES.keys() == FORMATS.keys()


@pytest.mark.parametrize("name", FILES)
def test_files_of_a_folder_that_exists(name: str, made: dict[str, bbpe.Tokenizer], tmp_path: Path) -> None:
    model, files = FILES[name]
    folder = tmp_path / "there"
    folder.mkdir()
    suffix = next(iter(files)) if len(files) == 1 else ""
    if suffix.startswith("."):
        with pytest.raises(ValueError, match="is a folder, and ") as caught:
            made[model].save(folder, format=name)
        assert str(caught.value).endswith(f"; give one, such as {folder / f'tokenizer{suffix}'}")
        assert _names(folder) == set()
        return
    if name in REFUSED:
        with pytest.raises(VocabularyError, match=re.escape(next(iter(files)))):
            made[model].save(folder, format=name)
        assert _names(folder) == set()
        return
    made[model].save(folder, format=name)
    assert _names(folder) == files
    assert bbpe.load(folder).tokenize(TEXTS[0]) == made[model].tokenize(TEXTS[0])  # codes have other ids


@pytest.mark.parametrize("name", [name for name, (_, files) in FILES.items() if "tokenizer_config.json" in files])
def test_a_new_folder_gets_the_same(name: str, made: dict[str, bbpe.Tokenizer], tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    for folder in ("there", "new"):
        made[FILES[name][0]].save(tmp_path / folder, format=name)
    found = [{path.name: path.read_bytes() for path in (tmp_path / folder).iterdir()} for folder in ("there", "new")]
    assert found[0] == found[1]
    assert found[0].keys() == FILES[name][1]


def test_a_configuration_that_is_there_is_kept(made: dict[str, bbpe.Tokenizer], tmp_path: Path) -> None:
    config = {"model_max_length": 512, "tokenizer_class": "LlamaTokenizerFast"}
    path = tmp_path / "tokenizer_config.json"
    path.write_text(json.dumps(config), "utf-8")
    made["bytes"].save(tmp_path)
    assert json.loads(path.read_text("utf-8")) == config
    assert bbpe.load(tmp_path) == made["bytes"]


#: What another tokenizer left in a folder, the model that is saved into it, and what would become of that.
LEFT: dict[str, tuple[dict[str, dict[str, Any]], str, str]] = {
    "a class that reads another model": (
        {"tokenizer_config.json": {"tokenizer_class": "BertTokenizer"}},
        "bytes", "(tokenizer_config.json), the tokenizer would not be readable: the model of tokenizer.json is BPE",
    ),
    "a class with a token of its own": (
        {"tokenizer_config.json": {"tokenizer_class": "GPT2Tokenizer"}},
        "bytes", "it would lose or change special tokens;",
    ),
    "a class with rules of its own": (
        {"tokenizer_config.json": {"tokenizer_class": "Qwen2Tokenizer"}},
        "bytes", "special tokens, the pattern, normalizers and pre-tokenizers;",
    ),
    "a class for pieces": (
        {"tokenizer_config.json": {"tokenizer_class": "T5Tokenizer"}},
        "pieces", "it would lose or change special tokens",
    ),
    "a token of an unknown class": (
        {"tokenizer_config.json": {"tokenizer_class": "Ours", "bos_token": "<s>"}}, "bytes", "change special tokens;",
    ),
    "tokens of old files": (
        {"added_tokens.json": {"<new>": 999}, "special_tokens_map.json": {"eos_token": "</s>"}},
        "bytes", "(added_tokens.json, special_tokens_map.json), it would lose or change special tokens, added tokens;",
    ),
    "the type of a model": (
        {"tokenizer_config.json": {}, "config.json": {"model_type": "bert"}},
        "bytes", "(config.json, tokenizer_config.json), the tokenizer would not be readable",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", LEFT)
@pytest.mark.parametrize("file", ["", "tokenizer.json"])
def test_what_is_there_may_not_change_the_tokenizer(
    name: str, file: str, made: dict[str, bbpe.Tokenizer], tmp_path: Path
) -> None:
    left, model, message = LEFT[name]
    for other, value in left.items():
        (tmp_path / other).write_text(json.dumps(value), "utf-8")
    tok = made[model]
    if file:  # which is read alone
        tok.save(tmp_path / file)
        assert bbpe.load(tmp_path / file) == tok
        return
    with pytest.raises(VocabularyError, match=re.escape(message)) as caught:
        tok.save(tmp_path / file)
    assert str(caught.value).endswith("; save to another folder, or remove what is of another tokenizer")
    assert _names(tmp_path) == left.keys()


@needs_links
def test_a_link_out_of_the_folder_is_refused_as_load_refuses_it(
    made: dict[str, bbpe.Tokenizer], tmp_path: Path
) -> None:
    (tmp_path / "elsewhere.json").write_text("{}", "utf-8")
    folder = tmp_path / "model"
    folder.mkdir()
    (folder / "added_tokens.json").symlink_to(tmp_path / "elsewhere.json")
    with pytest.raises(VocabularyError, match=r"already \(added_tokens.json\), .* out of its folder, "):
        made["bytes"].save(folder)
    assert _names(folder) == {"added_tokens.json"}


def test_what_is_there_and_changes_nothing(made: dict[str, bbpe.Tokenizer], tmp_path: Path) -> None:
    left = {"config.json": '{"model_type": "llama"}', "README.md": "a", "chat_template.jinja": "{{ messages }}"}
    for name, text in left.items():
        (tmp_path / name).write_text(text, "utf-8")
    (tmp_path / "additional_chat_templates").mkdir()
    (tmp_path / "additional_chat_templates/rag.jinja").write_text("r", "utf-8")
    for model in ("words", "bytes"):  # the second replaces the first
        made[model].save(tmp_path)
        assert bbpe.load(tmp_path) == made[model]
    assert {name: (tmp_path / name).read_text("utf-8") for name in left} == left


@pytest.mark.parametrize("name", ["gpt2", "vocab_txt"])
def test_a_vocabulary_that_is_there_is_read_first(
    name: str, made: dict[str, bbpe.Tokenizer], tmp_path: Path
) -> None:
    made["bytes"].save(tmp_path)
    (tmp_path / "tokenizer_config.json").unlink()  # which would not name the rules of the other files
    made["bytes"].save(tmp_path, format=name)  # both have the same tokenizer
    other = bbpe.train_from_iterator(["other words"] * 3, vocab_size=262)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    with pytest.raises(VocabularyError, match=r"already \(tokenizer.json\), it would lose or ch"):
        other.save(tmp_path, format=name)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_a_command_says_so_before_it_learns(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "text.txt").write_text(" ".join(TEXTS), "utf-8")
    folder = tmp_path / "model"
    folder.mkdir()
    (folder / "tokenizer_config.json").write_text('{"tokenizer_class": "Qwen2Tokenizer"}', "utf-8")
    assert main(["train", str(tmp_path / "text.txt"), "--vocab-size", "270", "-o", str(folder)]) != 0
    said = capsys.readouterr().err
    assert "with what is in the folder already (tokenizer_config.json), it would lose or change " in said
    assert "counted" not in said
    assert _names(folder) == {"tokenizer_config.json"}


def test_a_folder_called_like_a_file_is_one(made: dict[str, bbpe.Tokenizer], tmp_path: Path) -> None:
    folder = tmp_path / "x.json"
    folder.mkdir()
    made["bytes"].save(folder)
    assert _names(folder) == {"tokenizer.json", "tokenizer_config.json"}
