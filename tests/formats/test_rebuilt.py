"""A tokenizer.json in a folder whose class replaces rules of the file, and what is said of it.

`test_as_auto_tokenizer.py` compares ids with `transformers`.
"""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any

import pytest
from vocabularies import byte_level, document, write_json

import bbpe
from bbpe.cli import main
from bbpe.errors import VocabularyError, VocabularyWarning
from bbpe.splitting.patterns import PATTERNS


def folder(path: Path, config: dict[str, Any], of_model: dict[str, Any] | None = None, **changes: Any) -> Path:
    path.mkdir(exist_ok=True)
    for name, value in (
        ("tokenizer.json", document(**changes)),
        ("tokenizer_config.json", config),
        ("config.json", of_model),
    ):
        if value is not None:
            (path / name).write_text(json.dumps(value), "utf-8")
    return path


def loaded(path: Path) -> tuple[bbpe.Tokenizer, str]:
    """Return the tokenizer of a folder, and what warnings say of it."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", VocabularyWarning)
        tok = bbpe.load(path, cache=False)
    return tok, " ".join(str(each.message) for each in caught).replace(str(path), "")


@pytest.mark.parametrize("cache", [False, True])
def test_the_type_of_a_model_replaces_the_pattern(tmp_path: Path, cache: bool) -> None:
    """The file alone counts as it is; finished tables, which a large vocabulary gets, keep the note."""
    made = document(pre_tokenizer=byte_level())["model"]
    made["vocab"] |= {f"zq{number:09}": number for number in range(len(made["vocab"]), 8000)}
    path, tables = folder(tmp_path / "f", {}, {"model_type": "qwen2"}, model=made), tmp_path / "tables"
    tables.mkdir(mode=0o700)
    options: Any = {"cache": tables if cache else False}
    for _ in range(2):
        with pytest.warns(VocabularyWarning, match=r"Qwen2Tokenizer \(model_type in config.json\) replaces the norm"):
            tok = bbpe.load(path, **options)
    assert bool([*tables.iterdir()]) == cache
    alone = bbpe.load(path / "tokenizer.json", **options)
    assert alone.encode("e\u0301") != tok.encode("e\u0301") == tok.encode("\u00e9")
    assert not alone.spec.notes


def test_a_class_of_the_same_rules_has_no_note(tmp_path: Path) -> None:
    for name in ("PreTrainedTokenizerFast", "TokenizersBackend", "OwnTokenizer", "GPT2Tokenizer"):
        tok, said = loaded(folder(tmp_path, {"tokenizer_class": name}, pre_tokenizer=byte_level()))
        assert not said
        assert tok.encode("the") == bbpe.load(tmp_path / "tokenizer.json").encode("the")
    # bytes beside Llama's class are read as they are
    assert not loaded(folder(tmp_path, {"tokenizer_class": "LlamaTokenizer"}))[1]


def test_ids_of_classes(tmp_path: Path) -> None:
    template = {
        "type": "TemplateProcessing", "single": [{"SpecialToken": {"id": "<s>", "type_id": 0}},
        {"Sequence": {"id": "A", "type_id": 0}}], "pair": [{"Sequence": {"id": "A", "type_id": 0}},
        {"Sequence": {"id": "B", "type_id": 1}}], "special_tokens": {"<s>": {
        "id": "<s>", "ids": [267], "tokens": ["<s>"]}},
    }  # fmt: skip
    row = {"id": 267, "content": "<s>", "special": True, "lstrip": False, "rstrip": False, "single_word": False,
           "normalized": False}  # fmt: skip
    for name, keeps in (("GPT2", True), ("Qwen2", True), ("Blenderbot", True), ("Roberta", False), ("GPTNeoX", False)):
        config = {"tokenizer_class": f"{name}Tokenizer", "bos_token": "<s>", "add_bos_token": True}
        tok, said = loaded(folder(tmp_path, config, added_tokens=[row], post_processor=template))
        first = tok.encode("the", add_special_tokens=True)[0]
        assert (first == tok.special_tokens["<s>"] and len(tok.encode("the", add_special_tokens=True)) == 2) == keeps
        assert ("template" in said) == (not keeps)
        # the usual tokens of the class follow those of the file
        expected = {"GPT2": "<|endoftext|>", "Qwen2": "<|endoftext|>"}.get(name, "</s>" if name != "GPTNeoX" else "<s>")
        assert expected in tok.special_tokens


def test_a_table_of_tokens_replaces_that_of_the_file(tmp_path: Path) -> None:
    row = {"content": "<s>", "special": True}
    row |= dict.fromkeys(("lstrip", "rstrip", "single_word", "normalized"), False)
    added = [{"id": 267, **row}, {"id": 268, **row, "content": "<x>"}]
    config = {"tokenizer_class": "GPT2Tokenizer", "added_tokens_decoder": {"267": row}}
    tok, _ = loaded(folder(tmp_path, config, added_tokens=added, pre_tokenizer=byte_level()))
    assert set(tok.special_tokens) == {"<s>", "<|endoftext|>"}
    config["tokenizer_class"] = "PreTrainedTokenizerFast"
    tok, _ = loaded(folder(tmp_path, config, added_tokens=added, pre_tokenizer=byte_level()))
    assert set(tok.special_tokens) == {"<s>", "<x>"}


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("Canine", "is written in Python and reads no tokenizer.json"),
        ("BioGpt", "is written in Python and reads no tokenizer.json"),
        ("Marian", "is written in Python and reads no tokenizer.json"),
        ("RoFormer", "replaces rules of a tokenizer.json by its own"),
        ("LayoutLMv2", "replaces rules of a tokenizer.json by its own"),
    ],
)
def test_a_class_that_bbpe_does_not_know(tmp_path: Path, name: str, problem: str) -> None:
    path = folder(tmp_path, {"tokenizer_class": f"{name}TokenizerFast"})
    with pytest.raises(VocabularyError, match=f"the class '{name}TokenizerFast' {problem}") as caught:
        bbpe.load(path)
    assert "the path of tokenizer.json alone gives the ids of `tokenizers`" in str(caught.value)
    bbpe.load(path / "tokenizer.json")


@pytest.mark.parametrize(
    ("of_model", "is_class"),
    [
        # what AutoTokenizer of transformers 5.24 does
        ({"model_type": "qwen3"}, True),
        ({"model_type": "encoder-decoder", "encoder": {"model_type": "qwen2"}}, True),
        ({"model_type": "nllb"}, False),
        ({"model_type": "byt5"}, False),
        ({"model_type": "phi3"}, False),
        ({"model_type": "own"}, False),
    ],
)
def test_types_of_models(tmp_path: Path, of_model: dict[str, Any], is_class: bool) -> None:
    assert bool(loaded(folder(tmp_path, {}, of_model))[1]) == is_class


def test_another_model(tmp_path: Path) -> None:
    with pytest.raises(VocabularyError, match="is BPE, which the class 'BertTokenizer' reads as WordPiece"):
        bbpe.load(folder(tmp_path, {"tokenizer_class": "BertTokenizer"}))


def test_mbart_50_without_a_language(tmp_path: Path) -> None:
    """Its tokens are then not those of the file; one language of them is enough."""
    texts = ["<s>", "<pad>", "</s>", "<unk>", "\u2581", "a", "<mask>"]
    model = {"type": "Unigram", "unk_id": 3, "vocab": [[text, -1.0] for text in texts], "byte_fallback": False}
    config = {"tokenizer_class": "MBart50Tokenizer"}
    with pytest.raises(VocabularyError, match=r"tokenizer_config\.json: the vocabulary of tokenizer\.json has no code"):
        bbpe.load(folder(tmp_path, config, model=model))
    model["vocab"] = [*([text, -1.0] for text in texts), ["en_XX", 0.0]]
    tok = loaded(folder(tmp_path, config, model=model))[0]
    assert tok.encode("a", add_special_tokens=True) == [7, 4, 5, 2]


@pytest.mark.parametrize(
    ("of_model", "size", "is_patched"),
    [
        ({"model_type": "mistral", "transformers_version": "4.50.0"}, 100_001, True),
        ({"model_type": "pixtral"}, 100_001, True),
        ({"transformers_version": "5.0.0rc1"}, 100_001, True),
        ({"model_type": "mistral", "transformers_version": "5.0.0"}, 100_001, False),
        ({"model_type": "mistral", "transformers_version": "10.0.0"}, 100_001, False),
        ({"model_type": "ministral3"}, 100_001, False),
        ({"model_type": "llama"}, 100_001, False),
        ({"model_type": "mistral"}, 100_000, False),
        ({}, 100_001, False),
    ],
)
def test_fix_mistral_regex(tmp_path: Path, of_model: dict[str, Any], size: int, is_patched: bool) -> None:
    made = document(pre_tokenizer=byte_level())
    vocab = made["model"]["vocab"]
    vocab |= {f"zq{number}": number for number in range(len(vocab), size)}
    path = folder(tmp_path, {"fix_mistral_regex": True}, of_model, model=made["model"], pre_tokenizer=byte_level())
    tok, said = loaded(path)
    assert ("fix_mistral_regex" in said) == is_patched
    assert (str(tok.spec.pattern) != str(bbpe.load(path / "tokenizer.json").spec.pattern)) == is_patched


@pytest.mark.parametrize(
    ("split", "steps"),
    [
        (byte_level(), 2),
        ({"type": "Sequence", "pretokenizers": [{"type": "WhitespaceSplit"}, byte_level(use_regex=False)]}, 1),
        ({"type": "Metaspace", "replacement": "\u2581", "prepend_scheme": "first", "split": True}, 1),
    ],
)
def test_fix_mistral_regex_takes_the_place_of_the_first_split(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, split: dict[str, Any], steps: int
) -> None:
    monkeypatch.setattr("bbpe.formats.transformers.rebuilt._LEAST_OF_MISTRAL", 10)
    path = folder(tmp_path, {"fix_mistral_regex": True}, {"model_type": "mistral"}, pre_tokenizer=split)
    tok, said = loaded(path)
    assert "fix_mistral_regex in tokenizer_config.json replaces the pre-tokenizer" in said
    assert (tok.spec.pattern.steps[0], len(tok.spec.pattern.steps)) == (PATTERNS["tekken"].steps[0], steps)
    assert not tok.spec.rules.pre_tokenizers


def test_rules_that_bbpe_does_not_read_are_other_ones(tmp_path: Path) -> None:
    config = {"tokenizer_class": "Qwen2Tokenizer"}
    tok, said = loaded(folder(tmp_path, config, normalizer={"type": "Nope"}, pre_tokenizer=byte_level()))
    assert "replaces the normalizer and the pre-tokenizer of tokenizer.json" in said
    assert tok.encode("e\u0301") == tok.encode("\u00e9")


def test_prompts_for_infilling_are_said(tmp_path: Path) -> None:
    model = {"type": "BPE", "vocab": {"<unk>": 0, "\u2581": 1, "a": 2}, "merges": [], "unk_token": "<unk>"}
    for fill, text in (({}, "<FILL_ME>"), ({"fill_token": "<f>"}, "<f>"), ({"fill_token": None}, "")):
        _, said = loaded(folder(tmp_path, {"tokenizer_class": "CodeLlamaTokenizer", **fill}, model=model))
        words = f"CodeLlamaTokenizer of transformers makes an infilling prompt of a text with {text!r}; bbpe does not"
        assert (words in said) == bool(text)


def test_inspect_shows_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = folder(tmp_path, {}, {"model_type": "qwen2"}, pre_tokenizer=byte_level())
    assert main(["inspect", str(path)]) == 0
    shown = capsys.readouterr()
    assert "unusual          Qwen2Tokenizer (model_type in config.json) replaces" in shown.out
    assert not shown.err
    (tmp_path / "a.txt").write_text("x")
    assert main(["encode", "-t", str(path), str(tmp_path / "a.txt")]) == 0
    assert capsys.readouterr().err.startswith("note: ")


def test_saving_keeps_the_ids(tmp_path: Path) -> None:
    """A saved folder has the ids of the tokenizer, also where its class would replace rules of the file."""
    config = {"tokenizer_class": "Qwen2Tokenizer", "model_max_length": 5}
    path = folder(tmp_path / "a", config, pre_tokenizer=byte_level())
    for source in (path, path / "tokenizer.json"):
        tok = bbpe.load(source) if source.suffix else loaded(source)[0]
        tok.save(tmp_path / "b")
        again, said = loaded(tmp_path / "b")
        assert again == tok
        assert not said
        assert json.loads((tmp_path / "b" / "tokenizer_config.json").read_bytes())["model_max_length"] == 5


def test_ends_that_only_the_file_adds(tmp_path: Path) -> None:
    """Added tokens of the file have their ids before those of the class, so the template has these."""
    row = {"special": True, "lstrip": False, "rstrip": False, "single_word": False, "normalized": False}
    added = [{"id": 267 + place, "content": text, **row} for place, text in enumerate(("<q>", "<s>", "</s>"))]
    tok, said = loaded(folder(tmp_path, {"tokenizer_class": "RobertaTokenizer"}, added_tokens=added))
    assert [tok.special_tokens[text] for text in ("<q>", "<s>", "</s>")] == [267, 268, 269]
    ids = tok.encode("the", add_special_tokens=True)
    assert (ids[0], ids[-1]) == (268, 269)
    assert "replaces the template of" in said


def test_the_view_of_tokenizers_reads_the_file(tmp_path: Path) -> None:
    """`Tokenizer.from_pretrained` of `tokenizers` knows no classes."""
    path = folder(tmp_path, {}, {"model_type": "qwen2"})
    view = type(bbpe.load(path / "tokenizer.json").as_tokenizers()).from_pretrained(str(path))
    assert view.encode("e\u0301").ids == bbpe.load(path / "tokenizer.json").encode("e\u0301")


def test_a_list_of_the_map_beside_a_usual_one(tmp_path: Path) -> None:
    """The class T5 puts both together, in an order of its own."""
    path = folder(tmp_path, {"tokenizer_class": "T5Tokenizer"})
    write_json(path / "special_tokens_map.json", {"additional_special_tokens": ["<q>", "<extra_id_0>"]})
    with pytest.raises(VocabularyError, match=r"special_tokens_map\.json: additional_special_tokens: a list beside"):
        bbpe.load(path)
