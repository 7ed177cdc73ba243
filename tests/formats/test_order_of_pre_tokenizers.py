"""Metaspace may stand before ByteLevel, whose letters have no blanks for it, and not after it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from class_folders import fill
from vocabularies import byte_level, document, sequence, write_json

import bbpe
from bbpe.errors import VocabularyError

METASPACE = {"type": "Metaspace", "replacement": "\u2581", "prepend_scheme": "always", "split": True}
DIGITS = {"type": "Digits", "individual_digits": True}


@pytest.mark.parametrize(
    "parts",
    [
        (byte_level(), METASPACE), (byte_level(use_regex=False), DIGITS, METASPACE), (DIGITS, byte_level(), METASPACE),
        (METASPACE, byte_level(), METASPACE),
    ],
)  # fmt: skip
def test_metaspace_after_byte_level_is_refused(tmp_path: Path, parts: tuple[dict[str, Any], ...]) -> None:
    path = write_json(tmp_path / "tokenizer.json", document(pre_tokenizer=sequence(*parts)))
    with pytest.raises(VocabularyError, match="pre_tokenizer: Metaspace is not supported after ByteLevel"):
        bbpe.load(path)


@pytest.mark.parametrize("parts", [(DIGITS, byte_level()), (METASPACE, byte_level()), (byte_level(), DIGITS)])
def test_other_orders_are_as_in_tokenizers(tmp_path: Path, parts: tuple[dict[str, Any], ...]) -> None:
    tokenizers = pytest.importorskip("tokenizers")
    path = write_json(tmp_path / "tokenizer.json", document(pre_tokenizer=sequence(*parts)))
    tok, judge = bbpe.load(path), tokenizers.Tokenizer.from_file(str(path))
    for text in ("the in", " 12 the", "a\u2581the 1", "the\n", ""):
        assert tok.encode(text) == judge.encode(text).ids, text


#: The last normalizer of Llama's files, which writes U+2581 for blanks, so that no pre-tokenizer needs to.
MARKS = {"type": "Replace", "pattern": {"String": " "}, "content": "\u2581"}
PREPENDS = {"type": "Prepend", "prepend": "\u2581"}


@pytest.mark.parametrize(
    ("normalizers", "scheme", "splits"),
    [
        ([PREPENDS, MARKS], None, False), ([MARKS], None, False), ([MARKS], "never", True), ([MARKS], "first", False),
        ([MARKS], "always", True), ([], "never", False), ([], "never", True), ([], "first", False),
        ([], "first", True), ([], "always", False), ([], "always", True), ([PREPENDS], "never", False),
        ([MARKS, PREPENDS], "never", False),
    ],
)  # fmt: skip
def test_a_tokenizer_of_marked_blanks_is_saved_with_the_pre_tokenizer_it_had(
    tmp_path: Path, normalizers: list[dict[str, Any]], scheme: str | None, splits: bool
) -> None:
    tokenizers = pytest.importorskip("tokenizers")
    vocab = {key: number for number, key in enumerate(["<unk>", "\u2581", "a", "b", "ab", "\u2581a"])}
    given = None if scheme is None else {**METASPACE, "prepend_scheme": scheme, "split": splits}
    value = document(
        normalizer={"type": "Sequence", "normalizers": normalizers} if normalizers else None, pre_tokenizer=given,
        decoder=None, model__vocab=vocab, model__merges=["a b", "\u2581 a"], model__unk_token="<unk>",
    )  # fmt: skip
    tok = bbpe.load(write_json(tmp_path / "a.json", value))
    tok.save(tmp_path / "tokenizer.json")
    assert json.loads((tmp_path / "tokenizer.json").read_text("utf-8"))["pre_tokenizer"] == given
    judges = [tokenizers.Tokenizer.from_file(str(tmp_path / name)) for name in ("a.json", "tokenizer.json")]
    for text in ("ab a", " a  ab", "a\u2581b ", "c", ""):
        assert [judge.encode(text).ids for judge in judges] == [tok.encode(text)] * 2, text


@pytest.mark.parametrize("kind", ["GemmaTokenizer", "LlamaTokenizer"])
def test_symbols_of_the_user_are_no_special_tokens(tmp_path: Path, kind: str) -> None:
    """Those of a model are control symbols; of the user's only those that a file names."""
    pb2 = pytest.importorskip("sentencepiece.sentencepiece_model_pb2")
    fill(tmp_path, kind, {}, {})
    (path,) = tmp_path.glob("*.model")
    made = pb2.ModelProto.FromString(path.read_bytes())
    made.pieces[-1].piece, made.pieces[-1].type = "<user>", 4
    made.pieces[-2].piece, made.pieces[-2].type = "<control>", 3
    path.write_bytes(made.SerializeToString())
    tok = bbpe.load(tmp_path)
    count = len(made.pieces)
    assert tok.added_tokens["<user>"] == count - 1
    assert tok.special_tokens["<control>"] == count - 2
    assert "<user>" not in tok.special_tokens
    assert tok.encode("<user>")[-1] == count - 1
    assert count - 2 not in tok.encode("<control>")


@pytest.mark.parametrize("behavior", ["Isolated", "MergedWithPrevious", "MergedWithNext", "Contiguous", "Removed"])
@pytest.mark.parametrize(
    ("normalizers", "invert", "scheme"),
    [
        ([{"type": "NFC"}], False, "always"), ([{"type": "NFC"}], False, "never"), ([MARKS], False, "never"),
        ([MARKS, {"type": "Replace", "pattern": {"String": "b"}, "content": " b"}], False, "always"),
        ([MARKS, {"type": "Prepend", "prepend": " "}], False, "always"), ([MARKS, PREPENDS], False, "never"),
        ([MARKS], True, "never"), ([{"type": "Lowercase"}], True, "always"),
    ],
)  # fmt: skip
def test_a_split_at_blanks_counts_where_blanks_are_left(
    tmp_path: Path, normalizers: list[dict[str, Any]], invert: bool, scheme: str, behavior: str
) -> None:
    """Only where all are marked by then there is nothing to split at."""
    tokenizers = pytest.importorskip("tokenizers")
    vocab = {f"<0x{byte:02X}>": byte for byte in range(256)}
    vocab |= {text: 256 + number for number, text in enumerate(["a", "b", "\u2581", "\u2581a", "a\u2581", "<unk>"])}
    merges = ["\u2581 a", "a \u2581"]
    value = document(
        model={"type": "BPE", "vocab": vocab, "merges": merges, "byte_fallback": True, "unk_token": "<unk>"},
        normalizer={"type": "Sequence", "normalizers": normalizers}, added_tokens=[], post_processor=None,
        pre_tokenizer=sequence(
            {"type": "Split", "pattern": {"String": " "}, "behavior": behavior, "invert": invert},
            METASPACE | {"prepend_scheme": scheme},
        ), decoder=METASPACE,
    )  # fmt: skip
    path = write_json(tmp_path / "tokenizer.json", value)
    tok, judge = bbpe.load(path), tokenizers.Tokenizer.from_file(str(path))
    for text in ("a b", " a", "a  b ", "a", "ba ab", "  ", "b"):
        assert tok.encode(text) == tok.encode_aligned(text).ids == judge.encode(text).ids, text
