"""What is unusual in a tokenizer: each sentence where it is true, with its numbers, and none where it is not."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from rule_files import named, of_characters, replaced
from vocabularies import added, document, keys

import bbpe
from bbpe.report.unusual import missing_bytes, treatment, unusual
from bbpe.text import bytes_to_alphabet

TEXTS = ["see my eyes first, see my dogs"] * 3


def loaded(folder: Path, content: dict[str, Any]) -> bbpe.Tokenizer:
    (folder / "tokenizer.json").write_text(json.dumps(content))
    return bbpe.load(folder / "tokenizer.json")


def without(*bytes_: int) -> dict[str, Any]:
    """Return a file of bytes that lacks some of them."""
    gone = {bytes_to_alphabet(bytes([byte])) for byte in bytes_}
    vocab = {key: number for key, number in keys().items() if key not in gone}
    return document(model__vocab=vocab, model__merges=[])


@pytest.mark.parametrize(("gone", "sentence"), [
    ((0x24,), "1 byte has no token (0x24) and is left out, so texts do not come back"),
    ((0x24, 0x25, 0x26, 0x27), "4 bytes have no token (0x24 0x25 0x26 and 1 more) and are left out, so texts do not "
     "come back"),
    ((0xC0,), "1 byte that no text in UTF-8 has has no token; this has no effect on texts"),
    ((0xC1, 0xF5, 0xFF), "3 bytes that no text in UTF-8 has have no token; this has no effect on texts"),
    ((0xC1, 0xF4), "1 byte has no token (0xF4) and is left out, so texts do not come back"),
    ((0xC2,), "1 byte has no token (0xC2) and is left out, so texts do not come back"),
    ((), None),
])  # fmt: skip
def test_bytes_without_a_token(gone: tuple[int, ...], sentence: str | None, tmp_path: Path) -> None:
    tok = loaded(tmp_path, without(*gone))
    found = [line for line in unusual(tok.spec) if " no token" in line and line[0].isdigit() and "byte" in line]
    assert found == ([] if sentence is None else [sentence])
    assert missing_bytes(tok.spec) == [f"0x{byte:02X}" for byte in gone]


@pytest.mark.parametrize(("changes", "becomes"), [
    ({"fallback": True}, "written as the tokens of their bytes"),
    ({"fallback": False, "model__byte_fallback": False, "model__unk_token": "<unk>"}, "written as '<unk>'"),
    ({"fallback": False, "model__byte_fallback": False, "model__unk_token": None}, "left out"),
])  # fmt: skip
def test_characters_without_a_token(changes: dict[str, Any], becomes: str, tmp_path: Path) -> None:
    spec = loaded(tmp_path, of_characters(**changes)).spec
    assert treatment(spec) == becomes
    lines = [line for line in unusual(spec) if line.startswith("characters of a text")]
    said = f"characters of a text that have no token are {becomes}"
    assert lines == ([] if changes["fallback"] else [said])


def test_words_without_a_token() -> None:
    tok = bbpe.train_from_iterator(TEXTS, 60, model="wordpiece")
    lost = "words of a text that have no token are left out, because the file has no unknown token"
    assert lost not in unusual(tok.spec)
    model: Any = tok.spec.model
    assert lost in unusual(replace(tok.spec, model=replace(model, unknown=None)))


def test_merges() -> None:
    known = [bytes([byte]) for byte in range(256)]
    for tokens, whole, sentence in (
        ([b"xyz"], False, "no merges make 1 token ('xyz'), so texts never have its id"),
        ([b"xyz"], True, "no merges make 1 token ('xyz'); it is found where a whole pretoken is one"),
        ([b"xyz", b"uvw"], False, "no merges make 2 tokens ('xyz' 'uvw'), so texts never have their ids"),
        ([b"xyz", b"uvw"], True, "no merges make 2 tokens ('xyz' 'uvw'); they are found where a whole pretoken is one"),
        ([b"xy"], False, None),
    ):
        vocab = dict(enumerate([*known, *tokens]))
        merges = [(b"x", b"y")] if tokens == [b"xy"] else []
        spec = replace(bbpe.Tokenizer.from_merges(vocab, merges, pattern="gpt2").spec, whole_pretokens=whole)
        assert [line for line in unusual(spec) if "merges make" in line] == ([] if sentence is None else [sentence])
    dropped = replace(spec, dropout=0.125)
    assert [line for line in unusual(dropped) if "dropout" in line] == [
        "the file has dropout 0.125; `encode` drops merges only where a call gives `dropout`"
    ]
    assert not [line for line in unusual(spec) if "dropout" in line or "equal scores" in line]


@pytest.mark.parametrize(("rules", "names"), [
    ([named("Lowercase"), named("Lowercase"), named("NFKC")], "Lowercase, UnicodeForm"),
    ([named("NFC")], None), ([named("NFD")], None), ([named("Prepend", prepend="\u2581")], None),
    ([replaced(" ", "\u2581")], None), ([replaced("a", "b")], "Replace"), ([named("StripAccents")], "StripAccents"),
    ([replaced(" ", "\u2581"), named("Strip", strip_left=True, strip_right=True)], "Strip"),
])  # fmt: skip
def test_texts_that_are_changed(rules: list[Any], names: str | None, tmp_path: Path) -> None:
    spec = loaded(tmp_path, document(normalizer=named("Sequence", normalizers=rules))).spec
    found = [line for line in unusual(spec) if line.startswith("texts are changed")]
    expected = f"texts are changed before the model by {names}; `decode` does not undo it"
    assert found == ([] if names is None else [expected])


def test_tokens_with_options(tmp_path: Path) -> None:
    tokens = [
        added("<a>", 267, lstrip=True), added("<b>", 268, rstrip=True), added("<c>", 269, single_word=True),
        added("<d>", 270, normalized=True), added("<e>", 271), added("<f>", 272, lstrip=True, rstrip=True),
    ]  # fmt: skip
    spec = loaded(tmp_path, document(added_tokens=tokens, normalizer=named("Lowercase"))).spec
    found = [line for line in unusual(spec) if "special or" in line]
    assert found == [
        "3 special or added tokens take white space ('<a>' '<b>' '<f>')",
        "1 special or added tokens are found as whole words only ('<c>')",
        "1 special or added tokens are looked for in the normalized text ('<d>')",
    ]


def test_rows(tmp_path: Path) -> None:
    truncation = {"direction": "Right", "max_length": 9, "strategy": "LongestFirst", "stride": 0}
    padding = {"strategy": "BatchLongest", "direction": "Right", "pad_to_multiple_of": None, "pad_id": 0,
               "pad_type_id": 0, "pad_token": "!"}  # fmt: skip
    for given, names in (
        ({"padding": padding}, "padding"), ({"truncation": truncation}, "truncation"),
        ({"padding": padding, "truncation": truncation}, "padding and truncation"), ({}, None),
    ):  # fmt: skip
        found = [line for line in unusual(loaded(tmp_path, document(**given)).spec) if "encode_padded" in line]
        said = f"the file has {names}: defaults of `encode_padded`, without effect on `encode`"
        assert found == ([] if names is None else [said])


def test_an_ordinary_tokenizer_is_not_unusual() -> None:
    for options in ({}, {"pattern": "o200k"}, {"special_tokens": ["<s>"]}):
        assert unusual(bbpe.train_from_iterator(TEXTS, 280, **options).spec) == []  # type: ignore[arg-type]
