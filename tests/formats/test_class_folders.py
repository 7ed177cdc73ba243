"""Folders without tokenizer.json but with a class of tokenizers: the ids that `transformers` makes of them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import class_folders
import pytest
from class_folders import PAIR, TEXTS, USES, cases, fill, is_plain

import bbpe
from bbpe.cli import main
from bbpe.errors import VocabularyError

sentencepiece = pytest.importorskip("sentencepiece")
pytest.importorskip("sentencepiece.sentencepiece_model_pb2")
CASES = [pytest.param(name, *case, id=name) for name, *case in cases()]
IDS = json.loads(class_folders.KEPT.read_text("utf-8"))["ids"]


def encoded(tok: bbpe.Tokenizer, text: str, pair: str | None = None) -> list[int]:
    return tok.encode(text, pair=pair, allowed_special="all", add_special_tokens=True)


@pytest.mark.parametrize(("name", "kind", "config", "files"), CASES)
def test_ids(tmp_path: Path, name: str, kind: str, config: dict[str, Any], files: dict[str, Any]) -> None:
    fill(tmp_path, kind, config, files)
    tok = bbpe.load(tmp_path)
    found = [encoded(tok, text) for text in TEXTS]
    assert [*found, encoded(tok, TEXTS[0], PAIR)] == IDS[name]
    if not is_plain(name):
        return
    assert [getattr(tok, f"{use}_token") for use in USES] == IDS[f"{name} names"]
    assert [tok.decode(ids) for ids in IDS[name]] == IDS[f"{name} decoded"]
    tok.save(tmp_path / "saved")
    again = bbpe.load(tmp_path / "saved")
    assert again == tok
    for text, ids in zip(TEXTS, found, strict=True):
        assert encoded(again, text) == ids
        stream = tok.stream_decoder()
        assert "".join(map(stream.push, ids)) + stream.finish() == tok.decode(ids)


def test_a_file_alone_has_the_ids_of_sentencepiece(tmp_path: Path) -> None:
    fill(tmp_path, "XLMRobertaTokenizer", {}, {})
    path = tmp_path / "sentencepiece.bpe.model"
    judge = sentencepiece.SentencePieceProcessor(model_file=str(path))
    for target in (path, tmp_path):
        tok = bbpe.load(target)
        assert [tok.encode(text) for text in TEXTS[:2]] == judge.encode(TEXTS[:2])
        # a folder without a class has no other ids
        (tmp_path / "tokenizer_config.json").unlink(missing_ok=True)


@pytest.mark.parametrize(
    ("kind", "config", "problem"),
    [
        ("RemBertTokenizer", {}, "tokenizer_class: the class 'RemBertTokenizer' is not supported"),
        ("M2M100Tokenizer", {}, "tokenizer_class: the class 'M2M100Tokenizer' is not supported"),
        ("FNetTokenizer", {}, "tokenizer_class: the class 'FNetTokenizer' is supported only"),
        ("Qwen3_5TokenizerFast", {}, "tokenizer_class: the class 'Qwen3_5TokenizerFast' is supported only"),
        ("T5Tokenizer", {}, "tokenizer_class: the class 'T5Tokenizer' reads spiece.model"),
        ("MBartTokenizer", {"src_lang": "xx_XX"}, "src_lang: the vocabulary has no token 'xx_XX'"),
        ("MBartTokenizer", {"src_lang": 3}, "src_lang: found 3; expected a string"),
        ("MBartTokenizer", {"padding_side": "top"}, 'padding_side: found "top"; expected "left" or "right"'),
        ("XLMRobertaTokenizer", {"add_prefix_space": 1}, "add_prefix_space: found 1"),
        ("XLMRobertaTokenizer", {"bos_token": None}, "bos_token: found null; expected the text of a token"),
    ],
)
def test_refusals(tmp_path: Path, kind: str, config: dict[str, Any], problem: str) -> None:
    fill(tmp_path, "MBartTokenizer", {}, {})
    (tmp_path / "tokenizer_config.json").write_text(json.dumps({"tokenizer_class": kind, **config}), "utf-8")
    with pytest.raises(VocabularyError) as caught:
        bbpe.load(tmp_path)
    assert f"tokenizer_config.json: {problem}" in str(caught.value)


def test_prompts_for_infilling_are_refused(tmp_path: Path) -> None:
    """The class splits a text at this token in Python, and puts the parts in another order."""
    problem = r"tokenizer_config\.json: fill_token: .*'{}', which is not supported; expected null$"
    for config, text in (({}, "<FILL_ME>"), ({"fill_token": "<f>"}, "<f>")):
        fill(tmp_path, "CodeLlamaTokenizer", config, {})
        with pytest.raises(VocabularyError, match=problem.format(text)):
            bbpe.load(tmp_path)


@pytest.mark.parametrize(
    ("config", "problem"),
    [
        ({"tokenizer_class": "HerbertTokenizer"}, "tokenizer_class: the class 'HerbertTokenizer' reads vocab.json"),
        ({"tokenizer_class": "SplinterTokenizer"}, "tokenizer_class: the class 'SplinterTokenizer' is not supported"),
        ({"tokenizer_class": "OwnTokenizer"}, "tokenizer_class: the class 'OwnTokenizer' is not supported"),
        ({"unk_token": "<none>"}, "unk_token: no line of vocab.txt is <none>; expected one"),
        ({"unk_token": None}, "unk_token: found null; expected the text of a token"),
        ({"cls_token": None}, "cls_token: found null; expected the text of a token"),
        ({"sep_token": 3}, "sep_token: found 3; expected an object"),
        ({"do_lower_case": 1}, "do_lower_case: found 1; expected true or false"),
        ({"padding_side": "top"}, 'padding_side: found "top"; expected "left" or "right"'),
    ],
    ids=str,
)
def test_refused_folders_of_words(tmp_path: Path, config: dict[str, Any], problem: str) -> None:
    fill(tmp_path, "BertTokenizer", config, {})
    with pytest.raises(VocabularyError) as caught:
        bbpe.load(tmp_path)
    assert f"tokenizer_config.json: {problem}" in str(caught.value)


def test_words_without_a_class(tmp_path: Path) -> None:
    """Files may name tokens without a class; usual tokens that the words lack are not added."""
    (tmp_path / "vocab.txt").write_text("[CLS]\n[SEP]\n[UNK]\n<c>\nsee\n", "utf-8")
    assert bbpe.load(tmp_path).encode("See x", add_special_tokens=True) == [0, 4, 2, 1]
    assert bbpe.load(tmp_path).vocab_size == 5
    (tmp_path / "special_tokens_map.json").write_text('{"cls_token": "<c>", "unk_token": "[SEP]"}', "utf-8")
    assert bbpe.load(tmp_path).encode("See x", add_special_tokens=True) == [3, 4, 1, 1]
    (tmp_path / "vocab.txt").rename(tmp_path / "words.txt")
    assert bbpe.load(tmp_path / "words.txt").encode("See x", add_special_tokens=True) == [0, 4, 2, 1]


def test_numbers_and_missing_tokens(tmp_path: Path) -> None:
    fill(tmp_path, "T5Tokenizer", {"extra_ids": -1}, {})
    with pytest.raises(VocabularyError, match=r"extra_ids: found -1; expected 0 to 65536"):
        bbpe.load(tmp_path)
    fill(tmp_path, "T5Tokenizer", {"extra_ids": "3"}, {})
    with pytest.raises(VocabularyError, match=r'extra_ids: found "3"; expected a whole number'):
        bbpe.load(tmp_path)
    given = bbpe.load(tmp_path / "spiece.model", special_tokens={"<pad>": 0}).special_tokens
    fill(tmp_path, "T5Tokenizer", {}, {})
    assert given == bbpe.load(tmp_path, special_tokens={"<pad>": 0}).special_tokens == {"<pad>": 0}
    assert bbpe.load(tmp_path, special_tokens={}).special_tokens == {}
    fill(tmp_path, "PegasusTokenizer", {"unk_token": "<none>"}, {})
    with pytest.raises(VocabularyError, match=r"unk_token: the vocabulary has no token '<none>'"):
        bbpe.load(tmp_path)


@pytest.mark.parametrize("special", [[], ["<|endoftext|>"], ["<b>", "<a>"], ["<a>", "<|endoftext|>"]])
def test_saved_files_name_their_special_tokens(tmp_path: Path, special: list[str]) -> None:
    lines = ["see my eyes first", "see my dogs"]
    path, config = tmp_path / "two-files", tmp_path / "two-files" / "tokenizer_config.json"
    for tokens in (["<other>"], special):
        tok = bbpe.train_from_iterator(lines, 280, pattern="gpt2", special_tokens=tokens)
        tok.save(path, format="gpt2")
        assert bbpe.load(path) == tok
        config.write_text(json.dumps({**json.loads(config.read_bytes()), "model_max_length": 7}), "utf-8")
    values = json.loads(config.read_bytes())
    assert values["model_max_length"] == 7
    assert [row["content"] for row in values["added_tokens_decoder"].values()] == special
    # the usual token of the class is not added where the tokenizer does not have it
    assert "<|endoftext|>" in special or values["bos_token"] is None


def test_the_type_of_a_model_names_a_class(tmp_path: Path) -> None:
    """`config.json` counts where `tokenizer_config.json` names no class."""
    config, model = tmp_path / "tokenizer_config.json", tmp_path / "config.json"
    cases = (("MBart", {"model_type": "mbart"}), ("XLMRoberta", {"tokenizer_class": "XLMRobertaTokenizer"}))
    for kind, values in cases:
        fill(tmp_path, "MBartTokenizer", {}, {})
        config.unlink()
        model.write_text(json.dumps(values), "utf-8")
        assert [encoded(bbpe.load(tmp_path), text) for text in TEXTS] == IDS[f"{kind}Tokenizer 0"][:-1]
        config.write_text("{}", "utf-8")
        assert [encoded(bbpe.load(tmp_path), text) for text in TEXTS] == IDS[f"{kind}Tokenizer 0"][:-1]
    fill(tmp_path, "RobertaTokenizer", {}, {})
    config.unlink()
    model.write_text('{"model_type": "bart"}', "utf-8")
    (tmp_path / "sentencepiece.bpe.model").unlink()
    assert [encoded(bbpe.load(tmp_path), text) for text in TEXTS] == IDS["RobertaTokenizer 0"][:-1]
    (tmp_path / "merges.txt").unlink()
    fill(tmp_path, "MBartTokenizer", {}, {})
    config.unlink()
    model.write_text('{"model_type": "m2m_100"}', "utf-8")
    with pytest.raises(VocabularyError, match=r"config\.json: model_type: the class 'M2M100Tokenizer' is not supp"):
        bbpe.load(tmp_path)


def test_inspect_names_the_class(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    dialects = {"T5Tokenizer": "none: such a model", "GPT2Tokenizer": "none in the file: known by its class"}
    for kind, shown in dialects.items():
        (tmp_path / kind).mkdir()
        fill(tmp_path / kind, kind, {}, {})
        assert main(["inspect", str(tmp_path / kind)]) == 0
        lines = capsys.readouterr().out.splitlines()
        assert f"class            {kind}" in lines
        assert any(line.startswith(f"pattern_dialect  {shown}") for line in lines)


@pytest.mark.parametrize(
    ("kind", "config", "row"),
    [
        # what `transformers` 5.24 makes of a shorter text in a batch
        ("XLNetTokenizer", {}, [5, 5, 9, 4, 3]),
        ("XLNetTokenizer", {"padding_side": "right"}, [9, 4, 3, 5, 5]),
        ("T5Tokenizer", {}, [3, 1, 0, 0]),
        ("T5Tokenizer", {"padding_side": "left", "pad_token": "<pad>"}, [0, 0, 3, 1]),
        ("GemmaTokenizer", {}, [0, 0, 269]),
        ("RobertaTokenizer", {}, [0, 261, 2, 1, 1]),
    ],
)
def test_padding(tmp_path: Path, kind: str, config: dict[str, Any], row: list[int]) -> None:
    fill(tmp_path, kind, config, {})
    tok = bbpe.load(tmp_path)
    ids, mask = tok.encode_padded(["the the the", "the"], add_special_tokens=True)
    assert ids.tolist()[1] == row
    assert mask[1].sum() < len(row)
