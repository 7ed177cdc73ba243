"""The pre-tokenizer ByteLevel before models of characters and of words, whose tokens are texts in its alphabet."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from random_files import HARD
from rule_files import named
from vocabularies import added, byte_level, sequence, split

import bbpe
from bbpe.pipeline.pre_tokenizer_steps import compiled_rules
from bbpe.reference.pre_tokenizers import pretokens
from bbpe.spec.rules import ByteAlphabet, ByteLevel, Digits, Punctuation, Whitespace
from bbpe.text import BYTE_ORDER, bytes_to_alphabet

tokenizers = pytest.importorskip("tokenizers")
LINES = ["see my dogs, the naïve café 中文 12", "the ing the in ĠÃ"] * 20
ALPHABET = [bytes_to_alphabet(bytes((byte,))) for byte in BYTE_ORDER]
TEXTS = [text for text in (*LINES[:2], *HARD) if len(text) < 150]


def trained(kind: str) -> Any:
    """A tokenizer of HF's own training, with the recipe of its documentation."""
    models, trainers = tokenizers.models, tokenizers.trainers
    match kind:
        case "Unigram":
            model, trainer = models.Unigram(), trainers.UnigramTrainer(
                vocab_size=300, initial_alphabet=ALPHABET, special_tokens=["<unk>"], unk_token="<unk>"
            )  # fmt: skip
        case "WordPiece":
            model = models.WordPiece(unk_token="<unk>")
            trainer = trainers.WordPieceTrainer(vocab_size=400, initial_alphabet=ALPHABET, special_tokens=["<unk>"])
        case _:
            model = models.WordLevel(unk_token="<unk>")
            trainer = trainers.WordLevelTrainer(vocab_size=300, special_tokens=["<unk>"])
    found = tokenizers.Tokenizer(model)
    found.normalizer = tokenizers.normalizers.NFKC()
    found.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=kind != "WordLevel")
    found.decoder = tokenizers.decoders.ByteLevel()
    found.train_from_iterator(LINES, trainer=trainer)
    return found


def same(path: Path, again: Path) -> None:
    """Ids, tokens, offsets, words and texts are those of `tokenizers`, also after saving."""
    theirs, tok = tokenizers.Tokenizer.from_file(str(path)), bbpe.load(path)
    tok.save(again)
    assert bbpe.load(again) == tok
    saved, view = tokenizers.Tokenizer.from_file(str(again)), tok.as_tokenizers()
    for text in TEXTS:
        expected, found = theirs.encode(text), view.encode(text)
        assert tok.encode(text, allowed_special="all", add_special_tokens=True) == expected.ids, text
        for name in ("ids", "tokens", "offsets", "word_ids"):
            assert getattr(found, name) == getattr(expected, name), (text, name)
        assert saved.encode(text).ids == expected.ids
        assert tok.decode(expected.ids) == theirs.decode(expected.ids, skip_special_tokens=False), text


@pytest.mark.parametrize("kind", ["Unigram", "WordPiece", "WordLevel"])
def test_other_models(tmp_path: Path, kind: str) -> None:
    trained(kind).save(str(tmp_path / "tokenizer.json"))
    same(tmp_path / "tokenizer.json", tmp_path / "again.json")


def bpe(**changes: Any) -> dict[str, Any]:
    tokens = [*ALPHABET, "th", "the", "Ġthe", "Ã©"]
    model = named(
        "BPE", vocab={key: number for number, key in enumerate(tokens)},
        merges=["t h", "th e", "Ġ the", "Ã ©"], dropout=None, unk_token=None, continuing_subword_prefix=None,
        end_of_word_suffix=None, fuse_unk=False, byte_fallback=False, ignore_merges=False,
    )  # fmt: skip
    return {**model, **changes}


def vocab(*more: str, without: str = "") -> dict[str, int]:
    keys = [key for key in bpe()["vocab"] if key not in without]
    return {key: number for number, key in enumerate([*keys, *more])}


BYTES = [f"<0x{byte:02X}>" for byte in range(256)]
WORDS = [f"##{key}" for key in ALPHABET]
ENDS = [*(f"{key}</w>" for key in ALPHABET), "hÿ</w>"]


@pytest.mark.parametrize(
    "model",
    [
        bpe(vocab=vocab("中", "▁the")),
        bpe(vocab=vocab("hÿ", "hÿ</w>", *ENDS[:-1]), end_of_word_suffix="</w>", merges=["h ÿ</w>"]),
        bpe(vocab=vocab("##ýa", *WORDS), continuing_subword_prefix="##", merges=["##ý ##a"]),
        bpe(vocab=vocab(*BYTES, without="xs"), byte_fallback=True),
        bpe(vocab=vocab("<unk>", *BYTES, without="xs"), byte_fallback=True, unk_token="<unk>", fuse_unk=True),
        bpe(vocab=vocab(*BYTES), byte_fallback=True),
        bpe(vocab=vocab("中", "中the"), ignore_merges=True),
    ],
    ids=["another key", "end after 0xFF", "prefix before 0xFD", "bytes", "bytes and unknown", "all bytes", "whole"],
)
@pytest.mark.parametrize("before", [(), (named("Digits", individual_digits=True),)], ids=["alone", "digits"])
def test_vocabularies_that_bytes_do_not_fit(tmp_path: Path, model: dict[str, Any], before: Sequence[Any]) -> None:
    document = {
        "version": "1.0", "truncation": None, "padding": None, "added_tokens": [], "normalizer": None,
        "pre_tokenizer": sequence(*before, byte_level()), "post_processor": None, "decoder": byte_level(),
        "model": model,
    }  # fmt: skip
    (tmp_path / "tokenizer.json").write_text(json.dumps(document), "utf-8")
    theirs = tokenizers.Tokenizer.from_file(str(tmp_path / "tokenizer.json"))
    tok = bbpe.load(tmp_path / "tokenizer.json")
    tok.save(tmp_path / "again.json")
    again = bbpe.load(tmp_path / "again.json")
    for text in TEXTS:
        ids = theirs.encode(text).ids
        assert tok.encode(text) == again.encode(text) == ids, text
        assert tok.encode_batch([text, text]) == [ids, ids]
        assert tok.encode_with_offsets(text)[0] == ids


def test_the_step_writes_what_the_rule_defines() -> None:
    rng = random.Random(4)
    for chain in (
        (ByteLevel(False, False), ByteAlphabet()),
        (Whitespace(), ByteLevel(True, True), Digits(True), ByteAlphabet()),
        (ByteLevel(False, True), Punctuation("Isolated"), ByteAlphabet()),
    ):
        steps = compiled_rules(chain).steps
        assert steps is not None
        for _ in range(200):
            text = "".join(rng.choices([*"ab 1,\n\t", "é", "漢", "\xad", "Ġ", "\udcff"], k=rng.randint(0, 14)))
            data, starts, ends = steps.split(text.encode("utf-8", "surrogateescape"))
            found = [bytes(data[start:end]) for start, end in zip(starts.tolist(), ends.tolist(), strict=True)]
            assert found == pretokens(chain, text), (chain, text)


def test_another_pattern(tmp_path: Path) -> None:
    trained("Unigram").save(str(tmp_path / "tokenizer.json"))
    tok = bbpe.load(tmp_path / "tokenizer.json", pattern="whitespace")
    assert tok.decode(tok.encode("see my")) == "seemy"


SMALL: dict[str, dict[str, Any]] = {
    "an empty string": {"pre_tokenizer": split("", pattern={"String": ""})},
    "an empty regex": {"pre_tokenizer": split("", behavior="MergedWithNext")},
    "characters removed": {"pre_tokenizer": split("", behavior="Removed", invert=True)},
    "fields of BPE": {"model__byte_fallback": True, "model__ignore_merges": True, "model__dropout": 0.1},
}


@pytest.mark.parametrize("name", SMALL)
def test_components_of_little_effect(tmp_path: Path, name: str) -> None:
    keys = ["<unk>", "see", "my", "s", "e", "m", "y", " "]
    value: dict[str, Any] = {
        "version": "1.0", "truncation": None, "padding": None, "added_tokens": [], "normalizer": None,
        "pre_tokenizer": named("Whitespace"), "post_processor": None, "decoder": None,
        "model": named("WordLevel", vocab={key: number for number, key in enumerate(keys)}, unk_token="<unk>"),
    }  # fmt: skip
    for field, change in SMALL[name].items():
        target = value["model"] if field.startswith("model__") else value
        target[field.removeprefix("model__")] = change
    (tmp_path / "tokenizer.json").write_text(json.dumps(value), "utf-8")
    theirs, tok = tokenizers.Tokenizer.from_file(str(tmp_path / "tokenizer.json")), bbpe.load(tmp_path)
    for text in ("see my", "my\nsee", "", " "):
        ids = theirs.encode(text).ids
        assert tok.encode(text, allowed_special="all") == ids
        for skips in (False, True):
            assert tok.decode(ids, skip_special_tokens=skips) == theirs.decode(ids, skip_special_tokens=skips)


def test_added_tokens_that_are_pieces_of_unigram(tmp_path: Path) -> None:
    """Only special tokens are not pieces; others are, where they are not found as tokens."""
    value = json.loads(trained("Unigram").to_str())
    value["pre_tokenizer"] = None
    value["model"]["vocab"].append(["the", -2.5])
    value["added_tokens"].append(added("the", 0, special=False, single_word=True))
    (tmp_path / "tokenizer.json").write_text(json.dumps(value), "utf-8")
    theirs, tok = tokenizers.Tokenizer.from_file(str(tmp_path / "tokenizer.json")), bbpe.load(tmp_path)
    for text in ("the", "xthe", "the the", "athe1"):
        assert tok.encode(text) == theirs.encode(text).ids, text
