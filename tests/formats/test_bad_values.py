"""Bad values in every field of every component: an error of ours that names file and place, never a raw one."""

from __future__ import annotations

import copy
import json
import math
import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from struct import pack
from typing import Any

import pytest
from gguf_files import PREFIX, gguf, piece_vocabulary, vocabulary
from seeds import then_full
from tekken_files import tekken
from vocabularies import added, byte_level, document, sequence, split

import bbpe
from bbpe.errors import BBPEError, TokenIdError, VocabularyError
from bbpe.spec.spec import MAX_ID

Place = tuple[str | int, ...]
BYTE_KEYS = [f"<0x{byte:02X}>" for byte in range(256)]


def numbered(*texts: str) -> dict[str, int]:
    return {text: number for number, text in enumerate(texts)}


def pieces() -> dict[str, Any]:
    """BPE of characters with byte fallback and a template."""
    first, second = ({"Sequence": {"id": name, "type_id": kind}} for name, kind in (("A", 0), ("B", 1)))
    steps = [
        {"type": "Replace", "pattern": {"String": "▁"}, "content": " "},
        {"type": "ByteFallback"},
        {"type": "Fuse"},
    ]
    return document(
        model__vocab=numbered("<unk>", "<s>", "</s>", *BYTE_KEYS, "▁", "a", "b", "ab", "▁a"),
        model__merges=["a b", "▁ a"],
        model__unk_token="<unk>",
        model__fuse_unk=True,
        model__byte_fallback=True,
        normalizer={
            "type": "Sequence",
            "normalizers": [
                {"type": "NFC"},
                {"type": "Prepend", "prepend": "▁"},
                {"type": "Replace", "pattern": {"String": " "}, "content": "▁"},
            ],
        },
        pre_tokenizer=None,
        decoder={"type": "Sequence", "decoders": [*steps, {"type": "Strip", "content": " ", "start": 1, "stop": 0}]},
        added_tokens=[added("<s>", 1)],
        post_processor={
            "type": "TemplateProcessing",
            "single": [{"SpecialToken": {"id": "<s>", "type_id": 0}}, first],
            "pair": [first, second],
            "special_tokens": {"<s>": {"id": "<s>", "ids": [1], "tokens": ["<s>"]}},
        },
    )


def wordpiece() -> dict[str, Any]:
    vocab = numbered("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "a", "##b", "ab")
    model = {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##"}
    flags = {"clean_text": True, "handle_chinese_chars": True, "strip_accents": None, "lowercase": True}
    return document(
        model={**model, "max_input_chars_per_word": 100, "vocab": vocab},
        normalizer={"type": "BertNormalizer", **flags},
        pre_tokenizer={"type": "BertPreTokenizer"},
        decoder={"type": "WordPiece", "prefix": "##", "cleanup": True},
        added_tokens=[added(text, number) for text, number in vocab.items() if text[0] == "["],
        post_processor={"type": "BertProcessing", "sep": ["[SEP]", 3], "cls": ["[CLS]", 2]},
    )


def unigram() -> dict[str, Any]:
    metaspace = {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always", "split": True}
    vocab = [["<unk>", 0.0], ["▁", -1.5], ["a", -2.0], ["▁a", -1.0], ["b", -3]]
    around = {"sep": ["<unk>", 0], "cls": ["<unk>", 0], "trim_offsets": True, "add_prefix_space": False}
    return document(
        model={"type": "Unigram", "unk_id": 0, "byte_fallback": False, "vocab": vocab},
        pre_tokenizer=metaspace,
        decoder=metaspace,
        added_tokens=[added("<unk>", 0)],
        post_processor={"type": "RobertaProcessing", **around},
    )


def rules() -> dict[str, Any]:
    parts = [
        {"type": "Digits", "individual_digits": True},
        {"type": "Punctuation", "behavior": "Isolated"},
        {"type": "CharDelimiterSplit", "delimiter": "|"},
        split("a+", behavior="MergedWithNext"),
    ]
    steps = [
        {"type": "Strip", "strip_left": True, "strip_right": True},
        {"type": "Replace", "pattern": {"Regex": "x+"}, "content": "y"},
        {"type": "Precompiled", "precompiled_charsmap": ""},
    ]
    return document(
        normalizer={"type": "Sequence", "normalizers": steps},
        pre_tokenizer=sequence(*parts, byte_level(use_regex=False)),
        added_tokens=[added("<s>", 267)],
        model__dropout=0.0,
    )


def words() -> dict[str, Any]:
    return document(
        model__vocab=numbered("<unk>", "a", "b</w>", "ab</w>"),
        model__merges=["a b</w>"],
        model__unk_token="<unk>",
        model__end_of_word_suffix="</w>",
        pre_tokenizer={"type": "WhitespaceSplit"},
        decoder={"type": "BPEDecoder", "suffix": "</w>"},
        added_tokens=[added("<unk>", 0)],
    )


DOCUMENTS: dict[str, tuple[str, Callable[[], dict[str, Any]]]] = {
    "pieces": ("tokenizer.json", pieces),
    "wordpiece": ("tokenizer.json", wordpiece),
    "unigram": ("tokenizer.json", unigram),
    "rules": ("tokenizer.json", rules),
    "words": ("tokenizer.json", words),
    "tekken": ("tekken.json", tekken),
}


class Raw(str):
    """What stands in a file as it is, where no Python value is written so."""


INFINITE, LONG, DEEP = Raw("1e999"), Raw("9" * 5000), Raw("[" * 5_000 + "]" * 5_000)
NUMBERS = [2**64, 2**63, 2**32, MAX_ID, -1, -(2**70), 0.5, 1e308, INFINITE, Raw("-1e999"), LONG, Raw("9" * 400)]
OTHERS = [True, None, "", "\ud800", "\x00", "a" * 2000, [], {}, [[]], [2**70], ["a", 2**70], {"a": 2**70}, DEEP]


def places(value: object, at: Place = ()) -> Iterator[Place]:
    """The place of each value in a document, but of long lists and objects of some parts only."""
    if isinstance(value, dict | list):
        names = [*value] if isinstance(value, dict) else [*range(len(value))]
        for name in names if len(names) < 12 else [names[0], names[-1]]:
            yield from places(value[name], (*at, name))
    yield at


def written(whole: object, at: Place, value: object) -> str:
    """A document with another value at a place, as JSON."""
    changed = [copy.deepcopy(whole)]
    inner: Any = changed
    for name, then in zip((0, *at), at, strict=False):
        inner = inner[name]
        assert then in inner or isinstance(inner, list)
    inner[at[-1] if at else 0] = "RAW" if isinstance(value, Raw) else value
    text = json.dumps(changed[0])
    return text.replace('"RAW"', value, 1) if isinstance(value, Raw) else text


def use(tok: bbpe.Tokenizer) -> None:
    text = "ab <s>[CLS] a1|xx!"
    ids = tok.encode(text, allowed_special="all", add_special_tokens=True)
    assert tok.encode_to_numpy(text, allowed_special="all", add_special_tokens=True).tolist() == ids
    tok.encode_batch_to_numpy([text, ""], add_special_tokens=True)
    tok.encode_padded([text, ""], pad_id=0, add_special_tokens=True)
    with suppress(TokenIdError):  # what is unknown need not be a token
        assert isinstance(tok.decode(tok.encode(text)), str)
    assert tok.count_tokens(text) == len(tok.encode(text)) == len(list(tok.encode_iterable([text[:3], text[3:]])))
    hash(tok)


def loaded(path: Path) -> bbpe.Tokenizer | str:
    """A tokenizer, or the message of an error of ours."""
    try:
        return bbpe.load(path)
    except BBPEError as error:
        return str(error)


@pytest.mark.parametrize("name", DOCUMENTS)
@pytest.mark.parametrize("values", [NUMBERS, OTHERS], ids=["numbers", "others"])
@pytest.mark.parametrize("share", then_full([0], range(1, 8)))
def test_each_value_of_each_field(name: str, values: list[object], share: int, tmp_path: Path) -> None:
    """Each field gets an eighth of the values, and the next field another eighth."""
    file, make = DOCUMENTS[name]
    path, whole = tmp_path / file, make()
    path.write_text(json.dumps(whole))
    use(bbpe.load(path))
    refused = 0
    for number, at in enumerate(places(whole)):
        for value in values[(number + share) % 8 :: 8]:
            path.write_text(written(whole, at, value))
            found = loaded(path)
            if isinstance(found, str):
                refused += 1
                assert found.startswith(str(path)), (at, value, found)
            else:
                use(found)
    assert refused > 18


HUGE = [2**64, 2**70, -1]


@pytest.mark.parametrize(
    ("name", "at", "place", "values", "expected"),
    [
        ("pieces", ("added_tokens", 0, "id"), "added_tokens[0].id", [2**32, *HUGE], f"expected 0 to {MAX_ID}"),
        ("pieces", ("decoder", "decoders", 3, "start"), "decoder.decoders[3].start", HUGE, "expected 0 to 1048576"),
        ("pieces", ("post_processor", "single", 1, "Sequence", "type_id"), "post_processor.single[1].Sequence.type_id",
         HUGE, "expected 0 to 255"),
        ("pieces", ("post_processor", "special_tokens", "<s>", "ids", 0), "post_processor.special_tokens.<s>.ids",
         [2**32, *HUGE], f"expected a list of ids, 0 to {MAX_ID}"),
        ("pieces", ("normalizer", "normalizers", 1, "prepend"), "normalizer.normalizers[1].prepend", ["\ud800"],
         "expected Unicode text"),
        ("wordpiece", ("post_processor", "sep", 1), "post_processor.sep", [2**32, *HUGE],
         f"expected a token and its id, 0 to {MAX_ID}"),
        ("wordpiece", ("model", "max_input_chars_per_word"), "model.max_input_chars_per_word", HUGE,
         f"expected 0 to {2**64 - 1}"),
        ("wordpiece", ("model", "vocab", "ab"), "", [2**32, *HUGE], f"expected 0 to {MAX_ID}"),
        ("wordpiece", ("model", "vocab", "ab"), "", [MAX_ID], "expected ids up to"),
        ("unigram", ("model", "vocab", 2, 1), "model.vocab[2]", [INFINITE, Raw("-1e999"), Raw("9" * 400)],
         "expected a token and its score"),
        ("unigram", ("model", "unk_id"), "model.unk_id", HUGE, "expected the id of a token"),
        ("rules", ("model", "dropout"), "model.dropout", [1.1, -0.1, INFINITE, 2**70],
         "expected null or a probability, 0 to 1"),
        ("rules", ("normalizer", "normalizers", 1, "content"), "normalizer.normalizers[1].content", ["\udfff"],
         "expected Unicode text"),
        ("tekken", ("config", "default_vocab_size"), "config.default_vocab_size", [2**64, 2**70], "expected at most"),
        ("tekken", ("vocab", 0, "rank"), "vocab[0].rank", HUGE, "expected 0"),
    ],
)  # fmt: skip
def test_numbers(name: str, at: Place, place: str, values: list[object], expected: str, tmp_path: Path) -> None:
    file, make = DOCUMENTS[name]
    for value in values:
        (tmp_path / file).write_text(written(make(), at, value))
        with pytest.raises(VocabularyError) as caught:
            bbpe.load(tmp_path / file)
        assert str(caught.value).startswith(f"{tmp_path / file}: {place}"), value
        assert expected in str(caught.value), value


def test_large_limits_of_wordpiece_that_can_be_followed(tmp_path: Path) -> None:
    path = tmp_path / "tokenizer.json"
    path.write_text(written(wordpiece(), ("model", "max_input_chars_per_word"), 2**64 - 1))
    assert bbpe.load(path).encode("ab a") == [7, 5]


@pytest.mark.parametrize(
    ("name", "kind"), [("normalizer", "normalizers"), ("decoder", "decoders"), ("post_processor", "processors")]
)
@pytest.mark.parametrize("depth", [100, 600, 50_000])
def test_components_in_components(name: str, kind: str, depth: int, tmp_path: Path) -> None:
    path = tmp_path / "tokenizer.json"
    inner = f'{{"type": "Sequence", "{kind}": ['
    value = Raw(inner * depth + '{"type": "Nothing"}' + "]}" * depth)
    path.write_text(written(document(), (name,), value))
    with pytest.raises(
        VocabularyError, match=re.escape(str(path)) + ".*(nested too deeply|'Nothing' is not supported)"
    ):
        bbpe.load(path)


@pytest.mark.parametrize("name", ["bos_token_id", "eos_token_id"])
@pytest.mark.parametrize("value", [2**64 - 1, 2**63, 2**32 - 1])
def test_ids_of_gguf(name: str, value: int, tmp_path: Path) -> None:
    path = tmp_path / "x.gguf"
    changes: dict[str, Any] = {name: pack("<IQ", 10, value), f"add_{name.removesuffix('_id')}": True}
    path.write_bytes(gguf(vocabulary(**changes)))
    with pytest.raises(VocabularyError, match=rf"x\.gguf: {PREFIX}{name}: found {value}; expected an id, 0 to 269"):
        bbpe.load(path)


@pytest.mark.parametrize("score", [float("nan"), float("inf"), float("-inf")])
@pytest.mark.parametrize("model", ["llama", "t5"])
def test_scores_of_gguf(model: str, score: float, tmp_path: Path) -> None:
    path = tmp_path / "x.gguf"
    values = piece_vocabulary(model=model)
    values[PREFIX + "scores"][-2] = score
    path.write_bytes(gguf(values))
    if model == "llama" and not math.isnan(score):  # the first, or the last, to merge
        use(bbpe.load(path))
        return
    with pytest.raises(VocabularyError, match=r"x\.gguf: .*score"):
        bbpe.load(path)
