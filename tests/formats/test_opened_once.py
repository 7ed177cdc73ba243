"""A folder of any kind is loaded with one opening of each of its files, and one parse of each of its JSON files."""

from __future__ import annotations

import collections
import json
import sys
import warnings
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import class_folders
import pytest
from class_folders import cases, fill
from tekken_files import tekken
from vocabularies import document, keys, merge_lines, vocab_of

import bbpe
from bbpe.formats.common import reading

OPENED: list[str] = []
#: The names of parsed files.
PARSED: list[str] = []
OLD = {"special_tokens_map.json": {"bos_token": "<s>"}, "added_tokens.json": {"<q>": 900}, "chat_template.jinja": "x"}


def _hook(event: str, args: tuple[Any, ...]) -> None:
    if event == "open" and args[1] is not None:  # a call of `open`, not of its opener
        OPENED.append(str(args[0]))


@cache
def _listen() -> None:
    """Hear of each opening, once and for good: a process may come back to these tests after others."""
    sys.addaudithook(_hook)


@pytest.fixture(scope="module", autouse=True)
def _listens() -> None:
    _listen()


@pytest.fixture(autouse=True)
def _spied(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    parse = reading.loads
    monkeypatch.setattr(reading, "loads", lambda text, *rest: PARSED.append(text) or parse(text, *rest))
    yield
    OPENED.clear()
    PARSED.clear()


def opened_once(folder: Path, **options: Any) -> dict[str, int]:
    """Check what a load opens, and return it."""
    OPENED.clear()
    PARSED.clear()
    bbpe.load(folder, **options)
    found = collections.Counter(Path(name).name for name in OPENED if Path(name).is_relative_to(folder))
    assert found
    assert set(found.values()) == {1}, found
    assert set(collections.Counter(PARSED).values()) <= {1}
    return found


@pytest.mark.parametrize(("kind", "config", "files"), [pytest.param(*case[1:], id=case[0]) for case in cases()])
def test_a_class(tmp_path: Path, kind: str, config: dict[str, Any], files: dict[str, Any]) -> None:
    pytest.importorskip("sentencepiece.sentencepiece_model_pb2")
    fill(tmp_path, kind, config, files)
    assert "tokenizer_config.json" in opened_once(tmp_path)


@pytest.mark.parametrize("model_type", ["t5", "llama", "mistral"])
def test_pieces_by_the_type_of_a_model(tmp_path: Path, model_type: str) -> None:
    pytest.importorskip("sentencepiece.sentencepiece_model_pb2")
    fill(tmp_path, "T5Tokenizer", {}, {})
    (tmp_path / "tokenizer_config.json").unlink()
    write(tmp_path, {"config.json": {"model_type": model_type}, **OLD})
    assert opened_once(tmp_path).keys() == {"config.json", "spiece.model", *OLD}


def write(folder: Path, files: dict[str, Any]) -> None:
    for name, value in files.items():
        (folder / name).write_text(value if isinstance(value, str) else json.dumps(value), "utf-8")


PAIR = {"vocab.json": keys(vocab_of()), "merges.txt": "\n".join(merge_lines())}
LINES = "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\nthe\n##s\n"
FOLDERS: dict[str, dict[str, Any]] = {
    "pair": PAIR,
    "pair of a class without rules": {**PAIR, "tokenizer_config.json": {"tokenizer_class": "TokenizersBackend"}, **OLD},
    "pair of a type": {**PAIR, "config.json": {"model_type": "gpt2"}, **OLD},
    "pair with other names": {
        "encoder.json": PAIR["vocab.json"], "vocab.bpe": PAIR["merges.txt"],
        "tokenizer_config.json": {"tokenizer_class": "GPT2Tokenizer"},
    },
    "pair of lines": {
        "vocab.txt": "".join(f"{key} {number}\n" for key, number in PAIR["vocab.json"].items()),
        "merges.txt": PAIR["merges.txt"], "tokenizer_config.json": {"tokenizer_class": "GPT2Tokenizer"}, **OLD,
    },
    "words": {"vocab.txt": LINES},
    "words with options": {"vocab.txt": LINES, "tokenizer_config.json": {"do_lower_case": False}, **OLD},
    "words of a type": {"vocab.txt": LINES, "config.json": {"model_type": "bert"}},
    "pair with a broken file": {**PAIR, "special_tokens_map.json": "{"},
}  # fmt: skip


@pytest.mark.parametrize("name", FOLDERS)
def test_other_folders(tmp_path: Path, name: str) -> None:
    write(tmp_path, FOLDERS[name])
    has_class = "GPT2Tokenizer" in str(FOLDERS[name])  # which has a pattern
    options = {"pattern": "gpt2"} if "pair" in name and not has_class else {}
    assert opened_once(tmp_path, **options) == dict.fromkeys(FOLDERS[name], 1)


@pytest.mark.parametrize("beside", [{}, OLD, {"tokenizer_config.json": {"tokenizer_class": "GPT2Tokenizer"}, **OLD}])
@pytest.mark.parametrize("name", ["tokenizer.json", "tekken.json"])
def test_whole_files(tmp_path: Path, name: str, beside: dict[str, Any]) -> None:
    write(tmp_path, {name: document() if name == "tokenizer.json" else tekken(), **beside})
    found = opened_once(tmp_path)
    read = [file for file in beside if name == "tokenizer.json" or file == "tokenizer_config.json"]
    assert found == dict.fromkeys([name, *read], 1)


@pytest.mark.parametrize("kind", ["Qwen2Tokenizer", "GPT2TokenizerFast", "TokenizersBackend"])
def test_a_class_beside_a_whole_file(tmp_path: Path, kind: str) -> None:
    config = {"tokenizer_class": kind, "fix_mistral_regex": True}
    files = {"tokenizer_config.json": config, "config.json": {"model_type": "mixtral"}, **OLD}
    files |= {} if kind == "TokenizersBackend" else {"config.json": {"model_type": "qwen3"}}
    write(tmp_path, {"tokenizer.json": document(), **files})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", bbpe.VocabularyWarning)
        found = opened_once(tmp_path)
    assert found == dict.fromkeys(["tokenizer.json", *files], 1)


@pytest.mark.parametrize("name", ["tokenizer.model", "spm_char.model"])
@pytest.mark.parametrize("model_type", ["unigram", "bpe", "char", "word"])
def test_models_without_a_class(tmp_path: Path, name: str, model_type: str) -> None:
    sentencepiece = pytest.importorskip("sentencepiece")
    with (tmp_path / name).open("wb") as file:
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=iter(["the cat sat on the mat"] * 20), model_writer=file, vocab_size=20,
            hard_vocab_limit=False, model_type=model_type, minloglevel=2,
        )  # fmt: skip
    write(tmp_path, {"tokenizer_config.json": {"add_bos_token": True}, **OLD})
    assert opened_once(tmp_path) == dict.fromkeys((name, "tokenizer_config.json", *OLD), 1)


def test_the_cases_have_all_kinds_of_classes() -> None:
    kinds = {kind for _, kind, *_ in cases()}
    assert {"T5Tokenizer", "LlamaTokenizer", "GPT2Tokenizer", "BertTokenizer"} <= kinds
    assert class_folders.KEPT.exists()


def test_a_folder_of_marian(tmp_path: Path) -> None:
    """The class opens target.spm too, but decodes by source.spm."""
    pytest.importorskip("sentencepiece.sentencepiece_model_pb2")
    for name in ("source.spm", "target.spm"):
        (tmp_path / name).write_bytes(class_folders.model("?<unk> <s> </s>"))
    (tmp_path / "vocab.json").write_text('{"<unk>": 0, "</s>": 1, "in": 2}', "utf-8")
    (tmp_path / "config.json").write_text('{"model_type": "marian"}', "utf-8")
    (tmp_path / "tokenizer_config.json").write_text("{}", "utf-8")
    found = opened_once(tmp_path)
    assert set(found) == {"source.spm", "vocab.json", "config.json", "tokenizer_config.json"}
