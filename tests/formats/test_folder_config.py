"""The files beside a vocabulary: tokens and flags as `transformers` reads them, or an error that names the field."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from class_folders import fill
from tokenizers import Tokenizer
from vocabularies import added, byte_level, document, keys, merge_lines, write_json

import bbpe
from bbpe.errors import VocabularyError

SIZE = 267
FLAGS = {"lstrip": False, "rstrip": False, "normalized": False, "special": True, "single_word": False}


def row(text: str, **changes: Any) -> dict[str, Any]:
    return {"content": text, **FLAGS, **changes}


def folder(tmp_path: Path, files: dict[str, Any], **changes: Any) -> Path:
    write_json(tmp_path / "tokenizer.json", document(**changes))
    for name, value in files.items():
        write_json(tmp_path / name, value)
    return tmp_path


@pytest.mark.parametrize(
    ("files", "special", "plain"),
    [
        (
            {"tokenizer_config.json": {"added_tokens_decoder": {"268": row("<b>"), "267": row("<a>", special=False)}}},
            {"<b>": 268},
            {"<a>": 267},
        ),
        ({"tokenizer_config.json": {"added_tokens_decoder": {"400": row("<b>")}}}, {"<b>": 267}, {}),
        ({"tokenizer_config.json": {"pad_token": "<p>", "eos_token": row("<e>")}}, {"<e>": 267, "<p>": 268}, {}),
        ({"tokenizer_config.json": {"additional_special_tokens": ["<x>", row("<y>")]}}, {"<x>": 267, "<y>": 268}, {}),
        ({"tokenizer_config.json": {"extra_special_tokens": {"image_token": "<i>"}}}, {"<i>": 267}, {}),
        ({"special_tokens_map.json": {"cls_token": "<c>", "sep_token": row("<s>")}}, {"<s>": 267, "<c>": 268}, {}),
        ({"added_tokens.json": {"<q>": 268, "<r>": 267}}, {}, {"<r>": 267, "<q>": 268}),
        (
            {"added_tokens.json": {"<q>": 267}, "special_tokens_map.json": {"mask_token": "<q>"}},
            {"<q>": 267},
            {},
        ),
        (
            {
                "tokenizer_config.json": {"added_tokens_decoder": {}},
                "added_tokens.json": {"<q>": 267},
                "special_tokens_map.json": {"mask_token": "<q>"},
            },
            {},
            {},
        ),
        ({"tokenizer_config.json": {"unk_token": "the"}}, {"the": 257}, {}),
        ({"tokenizer_config.json": {"bos_token": None, "pad_token": "a"}}, {"a": 64}, {}),
    ],
    ids=str,
)
def test_tokens(tmp_path: Path, files: dict[str, Any], special: dict[str, int], plain: dict[str, int]) -> None:
    tok = bbpe.load(folder(tmp_path, files))
    assert (dict(tok.special_tokens), dict(tok.added_tokens)) == (special, plain)
    for text, token_id in (special | plain).items():
        assert tok.encode(f"c{text}c", allowed_special="all") == [66, token_id, 66]
    # the saved folder and the file alone give the same tokenizer, in `tokenizers` too
    tok.save(tmp_path / "again")
    assert bbpe.load(tmp_path / "again") == tok
    tok.save(tmp_path / "alone.json")
    assert bbpe.load(tmp_path / "alone.json") == tok
    hf = Tokenizer.from_file(str(tmp_path / "alone.json"))
    for text, token_id in (special | plain).items():
        assert hf.token_to_id(text) == token_id
    # a file under another name has no folder
    (tmp_path / "tokenizer.json").rename(tmp_path / "other.json")
    assert bbpe.load(tmp_path / "other.json").special_tokens == {}


def test_the_file_alone_has_its_own_tokens(tmp_path: Path) -> None:
    """As in `tokenizers`; the other files are kept, and saved with it."""
    config = {"added_tokens_decoder": {"300": row("<q>")}, "bos_token": "<b>"}
    made = folder(tmp_path, {"tokenizer_config.json": config}, pre_tokenizer=byte_level())
    theirs = Tokenizer.from_file(str(made / "tokenizer.json"))
    alone, whole = bbpe.load(made / "tokenizer.json"), bbpe.load(made)
    assert not alone.special_tokens
    assert {"<q>", "<b>"} <= set(whole.special_tokens)
    for text in ("<q>x<b>", "see my eyes"):
        assert list(alone.encode(text, allowed_special="all")) == theirs.encode(text).ids
    assert "tokenizer_config.json" in alone.spec.files


def test_options_of_the_configuration_count(tmp_path: Path) -> None:
    config = {"added_tokens_decoder": {"267": row("<a>", lstrip=True, special=False)}, "pad_token": "<a>"}
    path = folder(tmp_path, {"tokenizer_config.json": config}, added_tokens=[added("<a>", 267)])
    tok = bbpe.load(path)
    assert tok.spec.token_options["<a>"].lstrip
    assert (tok.pad_token, tok.pad_token_id, tok.special_tokens["<a>"]) == ("<a>", 267, 267)
    assert tok.encode("a  <a>", allowed_special="all") == [64, 267]


@pytest.mark.parametrize("kind", ["Llama", "LlamaTokenizerFast", "GPT2", "Blenderbot", "PreTrainedTokenizerFast"])
@pytest.mark.parametrize("flag", [False, True])
def test_flags_for_bos_and_eos_beside_a_template(tmp_path: Path, kind: str, flag: bool) -> None:
    """`transformers` 5 drops both flags where there is a tokenizer.json; version 4 applied them for some classes."""
    config = {"tokenizer_class": kind if kind.endswith("Fast") else f"{kind}Tokenizer", "bos_token": "<s>"}
    config |= {"eos_token": "</s>", "add_bos_token": flag, "add_eos_token": flag, "add_prefix_space": False}
    path = folder(tmp_path, {"tokenizer_config.json": config})
    assert bbpe.load(path).encode("a", add_special_tokens=True) == [64]
    parts = [{"SpecialToken": {"id": "<s>", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}]
    pair = [*parts, {"Sequence": {"id": "B", "type_id": 1}}]
    ends = {"<s>": {"id": "<s>", "ids": [267], "tokens": ["<s>"]}}
    template = {"type": "TemplateProcessing", "single": parts, "pair": pair, "special_tokens": ends}
    path = folder(tmp_path, {}, added_tokens=[added("<s>", 267)], post_processor=template)
    assert bbpe.load(path).encode("a", add_special_tokens=True) == [267, 64]
    assert bbpe.load(path).encode("a", pair="b", add_special_tokens=True) == [267, 64, 65]


@pytest.mark.parametrize("kind", [None, "PreTrainedTokenizerFast", "LlamaTokenizer", "FalconTokenizer"])
def test_a_blank_in_front_is_that_of_the_file(tmp_path: Path, kind: str | None) -> None:
    """`transformers` 4 took the flag of the configuration; 5.24 does so only for classes that replace the rules."""
    named = {} if kind is None else {"tokenizer_class": kind}
    path = folder(tmp_path, {"tokenizer_config.json": {"add_prefix_space": True, **named}})
    assert bbpe.load(path).encode("the") == [257]
    write_json(path / "tokenizer_config.json", {"add_prefix_space": False, **named})
    write_json(path / "tokenizer.json", document(pre_tokenizer=byte_level(add_prefix_space=True)))
    assert bbpe.load(path).encode("the") == [258]


@pytest.mark.parametrize("format_name", ["gpt2", "vocab_txt", "wordpiece", "sentencepiece"])
def test_folders_without_tokenizer_json(tmp_path: Path, format_name: str) -> None:
    texts = ["see my eyes first", "see my dogs"] * 9
    models: dict[str, Any] = {
        "wordpiece": bbpe.WordPiece(), "sentencepiece": bbpe.BPE(alphabet="chars", word_start="▁"), "gpt2": bbpe.BPE()
    }  # fmt: skip
    model, specials = models.get(format_name, bbpe.BPE()), [] if format_name == "wordpiece" else ["<unk>"]
    base = bbpe.train_from_iterator(texts, 300, model=model, special_tokens=specials)
    if format_name == "sentencepiece":
        (tmp_path / "d").mkdir()
        base.save(tmp_path / "d" / "tokenizer.model")
    else:
        base.save(tmp_path / "d", format=format_name)
    options: Any = {"pattern": "gpt2"} if format_name == "vocab_txt" else {}
    plain = bbpe.load(tmp_path / "d", **options)
    size = plain.vocab_size
    config_path = tmp_path / "d" / "tokenizer_config.json"
    config = json.loads(config_path.read_text("utf-8")) if config_path.exists() else {}
    config |= {"added_tokens_decoder": {str(size): row("<a>"), str(size + 1): row("<b>", special=False)}}
    write_json(config_path, config | {"pad_token": "<p>"})
    tok = bbpe.load(tmp_path / "d", **options)
    ends = 2 if format_name == "sentencepiece" else 0  # "<s>" and "</s>", which come before it
    assert (tok.special_tokens["<a>"], tok.added_tokens["<b>"], tok.pad_token_id) == (size, size + 1, size + 2 + ends)
    assert tok.encode("see my<b>") == [*plain.encode("see my"), size + 1]
    tok.save(tmp_path / "again")
    assert bbpe.load(tmp_path / "again") == tok


@pytest.mark.parametrize(
    ("name", "value", "problem"),
    [
        ("tokenizer_config.json", {"added_tokens_decoder": []}, "added_tokens_decoder: found []"),
        ("tokenizer_config.json", {"added_tokens_decoder": {"x": row("<a>")}}, "added_tokens_decoder: found"),
        ("tokenizer_config.json", {"added_tokens_decoder": {"5": 3}}, "added_tokens_decoder.5: found 3"),
        ("tokenizer_config.json", {"added_tokens_decoder": {"5": {"content": 3}}}, "added_tokens_decoder.5.content"),
        ("tokenizer_config.json", {"pad_token": 3}, "pad_token: found 3"),
        ("tokenizer_config.json", {"pad_token": ""}, "pad_token.content: the token is the empty string"),
        ("tokenizer_config.json", {"add_prefix_space": 1}, "add_prefix_space: found 1; expected true or false"),
        ("tokenizer_config.json", {"additional_special_tokens": "<a>"}, "additional_special_tokens: found"),
        ("tokenizer_config.json", [], "found []; expected an object"),
        ("added_tokens.json", {"<a>": "3"}, '<a>: found "3"'),
        ("special_tokens_map.json", {"eos_token": {"lstrip": 1, "content": "a"}}, "eos_token.lstrip"),
    ],
)
def test_errors_name_file_and_field(tmp_path: Path, name: str, value: Any, problem: str) -> None:
    path = folder(tmp_path, {name: value})
    with pytest.raises(VocabularyError) as caught:
        bbpe.load(path)
    assert f"{name}: {problem}" in str(caught.value)


GPT2_CLASSES = [
    ({"tokenizer_class": "GPT2Tokenizer"}, False, ([], [])),
    ({"tokenizer_class": "GPT2Tokenizer", "add_prefix_space": True}, True, ([], [])),
    ({"tokenizer_class": "GPT2TokenizerFast", "add_bos_token": True}, False, (["<|endoftext|>"], [])),
    ({"tokenizer_class": "GPT2Tokenizer", "add_bos_token": True, "bos_token": "<s>"}, False, (["<s>"], [])),
    ({"tokenizer_class": "RobertaTokenizer"}, False, (["<s>"], ["</s>"])),
    ({"tokenizer_class": "BartTokenizer", "add_prefix_space": True}, True, (["<s>"], ["</s>"])),
    ({"tokenizer_class": "RobertaTokenizer", "cls_token": "<c>", "sep_token": "<e>"}, False, (["<c>"], ["<e>"])),
]


@pytest.mark.parametrize(("config", "has_prefix", "around"), GPT2_CLASSES, ids=str)
def test_slow_tokenizers(
    tmp_path: Path, config: dict[str, Any], has_prefix: bool, around: tuple[list[str], list[str]]
) -> None:
    """vocab.json and merges.txt with a class: what `transformers` 5.24 gives for texts, framed texts and pairs."""
    ends = ["<|endoftext|>", "<s>", "</s>", "<c>", "<e>"]
    vocab = {**keys(), **{text: SIZE + number for number, text in enumerate(ends)}}
    write_json(tmp_path / "vocab.json", vocab)
    (tmp_path / "merges.txt").write_text("\n".join(["#version: 0.2", *merge_lines()]) + "\n", "utf-8")
    write_json(tmp_path / "tokenizer_config.json", config)
    plain = document(model__vocab=vocab, pre_tokenizer=byte_level(add_prefix_space=has_prefix), added_tokens=[])
    (tmp_path / "peer").mkdir()
    peer = Tokenizer.from_file(str(write_json(tmp_path / "peer" / "tokenizer.json", plain)))
    tok = bbpe.load(tmp_path)
    first, last = ([vocab[text] for text in row] for row in around)
    for text in ("", "the in", " the", "the\nin 12", "é"):
        ids = peer.encode(text).ids
        assert tok.encode(text) == ids, text
        assert tok.encode(text, add_special_tokens=True) == [*first, *ids, *last]
    one, other = peer.encode("the").ids, peer.encode("in").ids
    expected = [*first, *one, *last, *(last or first), *other, *last]
    assert tok.encode_aligned("the", "in", add_special_tokens=True).ids == expected
    tok.save(tmp_path / "saved")
    assert bbpe.load(tmp_path / "saved") == tok


@pytest.mark.parametrize(
    ("config", "ids"),
    [
        # what AutoTokenizer of transformers 5.24 does with the model of Gemma without a class
        ({}, [323, 263, 324, 266]),
        ({"add_bos_token": True}, [323, 323, 263, 324, 266]),
        ({"add_eos_token": True, "bos_token": "<zz>"}, [280, 307, 296, 308, 269, 324, 266, 324]),
        ({"bos_token": None, "eos_token": None, "add_bos_token": True},
         [280, 307, 296, 308, 269, 307, 310, 296, 308, 266]),
    ],
)  # fmt: skip
@pytest.mark.parametrize("kind", [None, "phi3", "mistral"])
def test_a_model_without_a_class_has_usual_ends(
    tmp_path: Path, config: dict[str, Any], ids: list[int], kind: str | None
) -> None:
    pytest.importorskip("sentencepiece.sentencepiece_model_pb2")
    fill(tmp_path, "GemmaTokenizer", {}, {})
    (tmp_path / "tokenizer_config.json").unlink()
    if config or kind is None:
        write_json(tmp_path / "tokenizer_config.json", config)
    if kind is not None:
        write_json(tmp_path / "config.json", {"model_type": kind})
    assert bbpe.load(tmp_path).encode("<s>the</s> in", allowed_special="all", add_special_tokens=True) == ids
    assert bbpe.load(tmp_path / "tokenizer.model").special_tokens.keys().isdisjoint(("<s>", "</s>"))


def test_the_configuration_replaces_the_map(tmp_path: Path) -> None:
    """As in `transformers`: where both name a token for a use of the model's own, and for lists, an empty one too."""
    config = {"image_token": "<a>", "additional_special_tokens": []}
    names = {"image_token": "<b>", "additional_special_tokens": ["<c>"]}
    made = folder(tmp_path, {"tokenizer_config.json": config, "special_tokens_map.json": names})
    assert set(bbpe.load(made).special_tokens) == {"<a>"}
    write_json(made / "tokenizer_config.json", {"image_token": "<a>", "extra_special_tokens": []})
    assert set(bbpe.load(made).special_tokens) == {"<a>"}
    # but not by an object, whose place it keeps
    objects = {"image_token": {"__type": "AddedToken", **row("<a>")}, "x_token": {"__type": "AddedToken", **row("<x>")}}
    write_json(made / "tokenizer_config.json", objects)
    write_json(made / "special_tokens_map.json", {"y_token": "<y>", "image_token": "<b>"})
    assert list(bbpe.load(made).special_tokens) == ["<b>", "<x>", "<y>"]


def test_a_list_that_lacks_symbols_of_a_model(tmp_path: Path) -> None:
    """Without a class, `transformers` 5.24 finds such symbols as pieces; the list may be empty."""
    pytest.importorskip("sentencepiece.sentencepiece_model_pb2")
    fill(tmp_path, "GemmaTokenizer", {}, {})
    for config in ({"additional_special_tokens": []}, {"extra_special_tokens": ["<pad>", "<bos>", "<q>"]}):
        write_json(tmp_path / "tokenizer_config.json", config)
        with pytest.raises(VocabularyError, match=r"finds '<(pad|eos)>', which this list lacks, as a piece"):
            bbpe.load(tmp_path)
    write_json(tmp_path / "tokenizer_config.json", {"extra_special_tokens": ["<pad>", "<bos>"], "eos_token": "<eos>"})
    assert bbpe.load(tmp_path).encode("the<pad>in<eos>", allowed_special="all") == [263, 0, 266, 1]


def test_tokens_of_added_tokens_json_that_the_file_has(tmp_path: Path) -> None:
    """The options of tokenizer.json count; a special token stays one, so that plain text does not become it."""
    rows = [{**added("<Q>", 267), "special": True}, {**added("<R>", 268), "special": False, "lstrip": True}]
    files = {"tokenizer_config.json": {}, "added_tokens.json": {"<Q>": 267, "<R>": 268, "<n>": 269}}
    made = folder(tmp_path, files, normalizer={"type": "Lowercase"}, added_tokens=rows)
    tok = bbpe.load(made)
    assert (tok.special_tokens, tok.added_tokens) == ({"<Q>": 267}, {"<R>": 268, "<n>": 269})
    assert tok.encode("a <R>") == [64, 268]
    assert tok.encode("<q>", allowed_special="all") != [267]
    write_json(made / "added_tokens.json", {"<n>": 267})
    assert "<n>" not in {**bbpe.load(made).added_tokens, **bbpe.load(made).special_tokens}


@pytest.mark.parametrize(
    ("config", "ids"),
    [
        # what AutoTokenizer of transformers 5.24 does: the last one counts, but for equal ones
        ({"sep_token": row("<a>", lstrip=True), "additional_special_tokens": ["<a>"]}, [64, 220, 267]),
        ({"bos_token": "<a>", "mask_token": row("<a>", lstrip=True)}, [64, 267]),
        ({"bos_token": row("<a>", lstrip=True), "mask_token": "<a>"}, [64, 220, 267]),
        ({"bos_token": row("<a>", lstrip=True), "mask_token": row("<a>")}, [64, 220, 267]),
        ({"bos_token": "<a>", "sep_token": row("<a>", lstrip=True), "mask_token": "<a>"}, [64, 267]),
        ({"tokenizer_class": "GPT2Tokenizer", "eos_token": "<a>", "cls_token": row("<a>", lstrip=True)}, [64, 268]),
    ],
)
def test_a_token_that_is_named_twice(tmp_path: Path, config: dict[str, Any], ids: list[int]) -> None:
    objects = {use: {"__type": "AddedToken", **value} for use, value in config.items() if isinstance(value, dict)}
    made = folder(tmp_path, {"tokenizer_config.json": config | objects}, pre_tokenizer=byte_level())
    assert bbpe.load(made).encode("a <a>", allowed_special="all") == ids


def test_a_symbol_of_the_user_with_a_use(tmp_path: Path) -> None:
    """It becomes a special token, so that the text after it begins anew; a file may not rename a piece."""
    pytest.importorskip("sentencepiece.sentencepiece_model_pb2")
    fill(tmp_path, "GemmaTokenizer", {}, {})
    write_json(tmp_path / "tokenizer_config.json", {})
    assert bbpe.load(tmp_path).encode("the <image>x", allowed_special="all") == [263, 280, 5, 301]
    write_json(tmp_path / "tokenizer_config.json", {"image_token": "<image>"})
    assert bbpe.load(tmp_path).encode("the <image>x", allowed_special="all") == [263, 5, 280, 301]
    write_json(tmp_path / "added_tokens.json", {"<s>": 0})
    with pytest.raises(VocabularyError, match=r"added_tokens\.json: <s>: '<s>' is another text for the piece '<pad>'"):
        bbpe.load(tmp_path)


def test_a_model_without_a_class(tmp_path: Path) -> None:
    """U+2581 stays at the end of a text, unlike in SentencePiece; another unknown token than the model's is refused."""
    pytest.importorskip("sentencepiece.sentencepiece_model_pb2")
    fill(tmp_path, "GemmaTokenizer", {}, {})
    write_json(tmp_path / "tokenizer_config.json", {"pad_token": "<q>"})
    tok, alone = bbpe.load(tmp_path), bbpe.load(tmp_path / "tokenizer.model")
    assert (tok.encode("the\u2581"), alone.encode("the\u2581")) == ([263, 280], [263])
    assert tok.encode("the\u2581<q>the ", allowed_special="all") == [263, 280, tok.special_tokens["<q>"], 263]
    write_json(tmp_path / "tokenizer_config.json", {"unk_token": "<pad>"})
    with pytest.raises(VocabularyError, match="unk_token: found '<pad>'; expected '<unk>', the unknown piece"):
        bbpe.load(tmp_path)
    write_json(tmp_path / "tokenizer_config.json", {"pad_token": row("<q>", normalized=True)})
    with pytest.raises(VocabularyError, match="the token '<q>' has normalized, which is not supported for a model"):
        bbpe.load(tmp_path)
    write_json(tmp_path / "tokenizer_config.json", {"pad_token": row("<pad>", normalized=True)})
    assert bbpe.load(tmp_path).encode("the <pad>", allowed_special="all") == [263, 0]
