"""Tokenizers saved to a folder that exists get the files of a new one, or an error where the file has no name."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

import bbpe
from bbpe import VocabularyError
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
    assert (tmp_path / "tokenizer.json").exists()


def test_a_folder_called_like_a_file_is_one(made: dict[str, bbpe.Tokenizer], tmp_path: Path) -> None:
    folder = tmp_path / "x.json"
    folder.mkdir()
    made["bytes"].save(folder)
    assert _names(folder) == {"tokenizer.json", "tokenizer_config.json"}
