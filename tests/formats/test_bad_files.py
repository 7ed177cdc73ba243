"""Broken vocabulary files: the error's type, the file, the place and what was expected."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from vocabularies import (
    added,
    byte_level,
    document,
    keys,
    merge_lines,
    sequence,
    split,
    vocab_of,
    write_json,
    write_pair,
)

from bbpe import formats
from bbpe.errors import PatternError, VocabularyError
from bbpe.formats.common.given import rank_text
from bbpe.spec.spec import MAX_ID

RANKS = rank_text(vocab_of())


def fails(path: Path, *named: str, file: str | None = None, **options: Any) -> None:
    """Loading must fail with a `VocabularyError` that names the file, then each of `named`, in this order."""
    with pytest.raises(VocabularyError) as caught:
        formats.load(path, **{"pattern": "gpt2", **options})
    expected = ".*".join(map(re.escape, (file or path.name, *named)))
    assert re.search(expected, str(caught.value), re.DOTALL), str(caught.value)


@pytest.mark.parametrize(
    ("ranks", "named"),
    [
        (RANKS + b"IQ 300\n", ("line 268", "'IQ 300'", "expected a token in base64")),
        (RANKS + b"I*== 300\n", ("line 268", "'I*== 300'", "base64")),
        (RANKS + b"IQ==IQ== 300\n", ("line 268", "base64")),
        (RANKS + b"IQ==\n", ("line 268", "expected a token in base64, a blank and its rank")),
        (RANKS + b"IQ== 300 1\n", ("line 268", "a blank and its rank")),
        (RANKS + b"YWJj 3x\n", ("line 268", "expected a rank of decimal digits")),
        (RANKS + b"YWJj -3\n", ("line 268", "expected a rank of decimal digits")),
        (RANKS + b"YWJj 3_0\n", ("line 268", "expected a rank of decimal digits")),
        (RANKS + b"YWJj " + b"9" * 5000, ("line 268", f"expected a rank of 0 to {MAX_ID}")),
        (RANKS + b"YWJj 4294967295\n", ("id 4294967295", f"expected 0 to {MAX_ID}")),
        (RANKS + b"YWJj 5\n", ("line 268", "rank 5 is already in line 6")),
        (RANKS + b"IQ== 300\n", ("line 268", "token b'!' is already in line 1")),
        (RANKS.replace(b"IQ== 0\n", b""), ("0x21", "each of the 256 bytes")),
        (RANKS + b"\xff\xfe\n", ("line 268", "'\\\\xff\\\\xfe'")),
        (b"\xef\xbb\xbf" + RANKS, ("a byte order mark (BOM)", "save it as UTF-8 without one")),
        (RANKS + b"YWJj 268435455\n", ("268 tokens with ids up to 268435455", "expected ids up to")),
        (b"", ("expected lines of base64",)),
        (b"\n \n", ("expected lines of base64",)),
    ],
)
def test_rank_files(tmp_path: Path, ranks: bytes, named: tuple[str, ...]) -> None:
    path = tmp_path / "broken.tiktoken"
    path.write_bytes(ranks)
    fails(path, *named)


@pytest.mark.parametrize(
    ("vocab", "merges", "named"),
    [
        ('{"a": 1, "b"', None, ("vocab.json", "line 1 column 13", "ends too early")),
        ('{"a": 1,\n "b": }', None, ("vocab.json", "line 2 column 7", "expected JSON")),
        ('{"a": 1, "a": 2}', None, ("vocab.json", "'a' is listed twice")),
        ('{"a": 1, "b": 2, "b": 3}', None, ("vocab.json", "'b' is listed twice")),
        ('{"a": NaN}', None, ("vocab.json", "NaN")),
        ('{"a": ' + "[" * 5_000, None, ("vocab.json", "nested too deeply")),
        ('{"a": ' + "9" * 5000 + "}", None, ("vocab.json", "expected JSON")),
        ("[1, 2]", None, ("vocab.json", "[1, 2]", "expected an object")),
        ("", None, ("vocab.json", "ends too early")),
        ({**keys(), "x": "300"}, None, ("vocab.json", "'x'", '"300"', "expected a whole number")),
        ({**keys(), "xy": 3.0}, None, ("vocab.json", "'xy'", "3.0", "expected a whole number")),
        ({**keys(), "xy": True}, None, ("vocab.json", "'xy'", "true", "expected a whole number")),
        ({**keys(), "xy": -3}, None, ("vocab.json", "'xy'", "-3", "expected 0 to")),
        ({**keys(), "xy": 5}, None, ("vocab.json", "'&'", "'xy'", "same id 5")),
        ({**keys(), "": 300, "!": 0} | {"!": 301, '"': 301}, None, ("vocab.json", "same id 301")),
        (None, ["t h", "t"], ("merges.txt", "line 3", "'t'", "two tokens with one blank between")),
        (None, ["t h", "", "i n"], ("merges.txt", "line 3", "two tokens with one blank between")),
        (None, ["t h", "a b c"], ("merges.txt", "line 3", "'a b c'")),
        (None, ["t  h"], ("merges.txt", "line 2", "'t  h'")),
        (None, [" t"], ("merges.txt", "line 2", "' t'")),
        (None, ["t h", "q q"], ("merges.txt", "line 3", "'qq' has no id", "expected both parts and the result")),
        (None, ["th zz"], ("merges.txt", "line 2", "'zz' has no id")),
        (None, ["中 a"], ("merges.txt", "line 2", "'中' has no id")),
    ],
)
def test_pairs(tmp_path: Path, vocab: Any, merges: list[str] | None, named: tuple[str, ...]) -> None:
    fails(write_pair(tmp_path / "pair", vocab, merges), *named)


def test_pairs_that_are_not_text(tmp_path: Path) -> None:
    folder = write_pair(tmp_path / "pair")
    (folder / "merges.txt").write_bytes(b"#version: 0.2\nt h\n\xff\n")
    fails(folder, "merges.txt", "byte 18", "0xFF", "UTF-8")
    (folder / "vocab.json").write_bytes(b'{"\x80": 1}')
    fails(folder / "vocab.json", "byte 2", "0x80", "UTF-8")


def test_a_download_that_stopped_within_a_character(tmp_path: Path) -> None:
    """The same byte is named where more follows it."""
    for char, size in (("\u00a1", 1), ("\u4e2d", 1), ("\u4e2d", 2)):
        for name in ("tokenizer.json", "vocab.json", "tekken.json"):
            path = tmp_path / name
            path.write_bytes(b'{"model": "' + char.encode()[:size])
            fails(path, "byte 11", "the file ends within a character")
            path.write_bytes(b'{"model": "' + char.encode()[:size] + b'"}')
            fails(path, "byte 11", f"found byte 0x{char.encode()[0]:02X}", "expected UTF-8 text")


def test_pairs_that_are_not_there(tmp_path: Path) -> None:
    folder = write_pair(tmp_path / "pair")
    (folder / "merges.txt").unlink()
    with pytest.raises(FileNotFoundError, match=r"vocab\.json is read together with this file.*merges\.txt"):
        formats.load(folder / "vocab.json", pattern="gpt2")
    fails(folder, "vocab.json", "expected one of", "vocab.json with merges.txt")


@pytest.mark.parametrize(
    ("line", "named"),
    [
        ("abc", ("line 268", "'abc'", "expected a token, a blank and its id")),
        ("abc x", ("line 268", "decimal digits")),
        ("abc -1", ("line 268", "decimal digits")),
        ("abc " + "9" * 5000, ("line 268", "decimal digits")),
        ("abc 200000000", ("tokens with ids up to 200000000", "expected ids up to")),
        ("abc ³", ("line 268", "decimal digits")),
        ("! 300", ("line 268", "'!' is listed twice")),
        ("abc 5", ("'&'", "'abc'", "same id 5")),
    ],
)
def test_vocab_txt(tmp_path: Path, line: str, named: tuple[str, ...]) -> None:
    folder = write_pair(tmp_path / "pair")
    lines = [f"{key} {token_id}" for key, token_id in keys().items()]
    (folder / "vocab.txt").write_text("\n".join([*lines, line, ""]), encoding="utf-8")
    fails(folder / "vocab.txt", *named)


def _template() -> dict[str, object]:
    return {"type": "TemplateProcessing", "single": [], "pair": [], "special_tokens": {}}


def _around() -> dict[str, object]:
    return {"type": "BertProcessing", "sep": ["</s>", 1], "cls": ["<s>", 0]}


def _metaspace(scheme: str) -> dict[str, object]:
    return {"type": "Metaspace", "replacement": "\u2581", "prepend_scheme": scheme, "split": True}


TOKENIZER_JSON: list[tuple[dict[str, Any], tuple[str, ...]]] = [
    ({"version": "2.0"}, ("version", '"2.0"', 'expected "1.0"')),
    ({"truncation": {"length": 5}}, ("truncation", "'max_length'")),
    ({"padding": {"length": 5}}, ("padding", "'strategy' is missing")),
    ({"surprise": 1}, ("unknown field 'surprise'",)),
    ({"normalizer": {"type": "Nmq"}}, ("normalizer", "'Nmq' is not supported", "expected NFC")),
    (
        {"normalizer": {"type": "Sequence", "normalizers": [{"type": "NFC"}, {"type": "Nmq"}]}},
        ("normalizer.normalizers[1]", "'Nmq'", "not supported"),
    ),
    (
        {"normalizer": {"type": "Precompiled", "precompiled_charsmap": "*"}},
        ("precompiled_charsmap", "not valid base64"),
    ),
    (
        {"normalizer": {"type": "BertNormalizer", "clean_text": True, "handle_chinese_chars": True, "lowercase": True,
                        "strip_accents": 1}},
        ("normalizer.strip_accents", "expected true, false or null"),
    ),
    ({"post_processor": _template()}, ("post_processor.single", "expected one Sequence A")),
    ({"post_processor": {**_around(), "sep": ["</s>"]}}, ("post_processor.sep", "expected a token and its id")),
    (
        {"post_processor": {**_template(), "special_tokens": {"<s>": {"id": "<s>", "ids": ["0"], "tokens": []}}}},
        ("special_tokens.<s>.ids", "expected a list of ids"),
    ),
    (
        {"post_processor": {**_template(), "single": [{"Sequence": {"id": "C", "type_id": 0}}]}},
        ("single[0].Sequence.id", "'C' is not a sequence"),
    ),
    (
        {"post_processor": {**_template(), "single": [{"SpecialToken": {"id": "<s>", "type_id": 0}}]}},
        ("single[0].SpecialToken.id", "'<s>' is not among special_tokens"),
    ),
    (
        {"post_processor": {"type": "Sequence", "processors": [byte_level(), _template()]}},
        ("post_processor.processors[1].single", "expected one Sequence A"),
    ),
    ({"decoder": {"type": "Spaces"}}, ("decoder", "'Spaces' is not supported", "expected ByteLevel")),
    ({"decoder": {"type": "Sequence", "decoders": [{"type": "CTC"}]}}, ("decoders[0]", "'pad_token' is missing")),
    ({"decoder": {"type": "Strip", "content": "", "start": 1, "stop": 0}}, ("decoder.content", "one character")),
    ({"decoder": {"type": "Metaspace"}}, ("decoder", "'replacement' is missing")),
    ({"decoder": {**_metaspace("never"), "replacement": "__"}}, ("decoder.replacement", "one character")),
    ({"decoder": _metaspace("sometimes")}, ("decoder.prepend_scheme", '"sometimes"', "always, first or never")),
    ({"pre_tokenizer": {"type": "Sentences"}}, ("pre_tokenizer", "'Sentences' is not supported")),
    ({"pre_tokenizer": sequence({"type": "Metaspace"}, byte_level())}, ("pretokenizers[0]", "'replacement'")),
    (
        {"pre_tokenizer": sequence(byte_level(), _metaspace("never"))},
        ("pre_tokenizer", "Metaspace is not supported after ByteLevel"),
    ),
    ({"pre_tokenizer": sequence(*[split("a")] * 2000)}, ("pre_tokenizer", "found 2000 components; expected at most")),
    (
        {"pre_tokenizer": {"type": "CharDelimiterSplit", "delimiter": "ab"}},
        ("pre_tokenizer.delimiter", "'ab'", "expected one character"),
    ),
    ({"pre_tokenizer": {"type": "ByteLevel"}}, ("pre_tokenizer", "'add_prefix_space' is missing")),
    ({"pre_tokenizer": byte_level(new=1)}, ("pre_tokenizer", "unknown field 'new'")),
    (
        {"pre_tokenizer": sequence(split("a", behavior="MergedWithBoth"), byte_level())},
        ("pretokenizers[0].behavior", "'MergedWithBoth'", "Isolated"),
    ),
    ({"pre_tokenizer": sequence(split("a", invert=1), byte_level())}, ("pretokenizers[0].invert", "true or false")),
    ({"pre_tokenizer": sequence(split("a", pattern={}), byte_level())}, ("pattern", "'Regex' is missing")),
    ({"added_tokens": {}}, ("added_tokens", "expected a list")),
    ({"added_tokens": [added("<s>", 300, lstrip=1)]}, ("added_tokens[0].lstrip", "expected true or false")),
    ({"added_tokens": [added("<s>", 300, rstrip=1)]}, ("added_tokens[0].rstrip", "expected true or false")),
    ({"added_tokens": [added("<s>", 300, single_word=1)]}, ("added_tokens[0].single_word", "expected true or false")),
    ({"added_tokens": [added("<s>", "300")]}, ("added_tokens[0].id", '"300"', "expected a whole number")),
    ({"added_tokens": [added("<s>", -1)]}, ("added_tokens[0].id", "found -1", "expected 0 to")),
    ({"added_tokens": [added("\ud800", 300)]}, ("added_tokens[0].content", "half a surrogate pair")),
    ({"added_tokens": [{"id": 3}]}, ("added_tokens[0]", "'content' is missing")),
    ({"model": []}, ("model", "[]", "expected an object")),
    ({"model__type": "Words"}, ("model.type", '"Words"', 'expected "BPE"')),
    ({"model__dropout": 1.1}, ("model.dropout", "1.1", "expected null or a probability")),
    ({"model__continuing_subword_prefix": "##"}, ("model.merges[0]", "continuing_subword_prefix")),
    ({"model__byte_fallback": 1}, ("model.byte_fallback", "expected true or false")),
    ({"model__ignore_merges": 1}, ("model.ignore_merges", "expected true or false")),
    ({"model__fuse": True}, ("model", "unknown field 'fuse'")),
    ({"model__vocab": [["a", 1]]}, ("model.vocab", "expected an object")),
    ({"model__vocab": {**keys(), "xy": 5}}, ("model.vocab", "same id 5")),
    ({"model__vocab": {**keys(), "xy": None}}, ("model.vocab", "'xy'", "null", "expected a whole number")),
    ({"model__merges": "t h"}, ("model.merges", "expected a list")),
    ({"model__merges": ["t h", "t"]}, ("model.merges[1]", '"t"', 'expected "a b"')),
    ({"model__merges": [["t", "h", "e"]]}, ("model.merges[0]", 'expected "a b"')),
    ({"model__merges": [["t", 5]]}, ("model.merges[0]", 'expected "a b"')),
    ({"model__merges": ["t h", "q q"]}, ("model.merges[1]", "'qq' has no id")),
]


@pytest.mark.parametrize(("changes", "named"), TOKENIZER_JSON)
def test_tokenizer_json(tmp_path: Path, changes: dict[str, Any], named: tuple[str, ...]) -> None:
    fails(write_json(tmp_path / "tokenizer.json", document(**changes)), *named, pattern=None)


@pytest.mark.parametrize("part", [0.001, 0.3, 0.9, 0.999])
def test_truncated_tokenizer_json(tmp_path: Path, part: float) -> None:
    text = json.dumps(document(), indent=1)
    path = tmp_path / "tokenizer.json"
    path.write_text(text[: int(len(text) * part)], encoding="utf-8")
    fails(path, "line ", "column ", "expected JSON")


def test_regex_that_does_not_compile(tmp_path: Path) -> None:
    value = document(pre_tokenizer=sequence(split("(a"), byte_level()))
    with pytest.raises(PatternError, match=r"tokenizer\.json: pre_tokenizer: .*not a valid regex"):
        formats.load(write_json(tmp_path / "tokenizer.json", value))


@pytest.mark.parametrize("kind", ["ranks", "pair", "vocab.txt"])
def test_no_pattern_is_an_error(tmp_path: Path, kind: str) -> None:
    path = write_pair(tmp_path / "pair")
    if kind == "ranks":
        path = tmp_path / "mine.tiktoken"
        path.write_bytes(RANKS)
    elif kind == "vocab.txt":
        lines = [f"{key} {token_id}\n" for key, token_id in keys().items()]
        (path / "vocab.txt").write_text("".join(lines), encoding="utf-8")
        path = path / "vocab.txt"
    with pytest.raises(VocabularyError) as caught:
        formats.load(path)
    for name in (path.name, "gpt2", "cl100k", "o200k", "whitespace", "pattern="):
        assert name in str(caught.value)
    with pytest.raises(PatternError, match="unknown pattern name 'gpt3'"):
        formats.load(path, pattern="gpt3")
    for special_tokens in (["<s>"], {"<s>": "1"}, {1: "<s>"}, {"<s>": True}):
        with pytest.raises(TypeError, match="special_tokens"):
            formats.load(path, pattern="gpt2", special_tokens=special_tokens)  # type: ignore[arg-type]


def test_special_token_missing_among_those_given(tmp_path: Path) -> None:
    folder = write_pair(tmp_path / "pair", {**keys(), "<中>": 300})
    fails(folder, "vocab.json", "'<中>'", "not a special token", special_tokens={})


@pytest.mark.parametrize(
    ("name", "data", "found"),
    [
        ("tokenizer.json", b"version https://git-lfs.github.com/spec/v1\noid sha256:0", "a pointer of Git LFS"),
        ("tokenizer.json", b"<!DOCTYPE html><html>", "a web page"),
        ("a.tiktoken", b"\x1f\x8b\x08\x00", "a gzip file"),
        ("tokenizer.json", b"(\xb5/\xfd\x00", "a zstd file"),
        ("a.tiktoken", b"\xfd7zXZ\x00", "an xz file"),
        ("model.bin", b"PK\x03\x04\x00", "a zip file"),
        ("a.txt", b"hello world, this is text\n", "begins with b'hello world"),
        ("a.bin", b"", "an empty file"),
    ],
)
def test_files_that_are_no_vocabulary(tmp_path: Path, name: str, data: bytes, found: str) -> None:
    path = tmp_path / name
    path.write_bytes(data)
    fails(path, found, "expected one of", "tokenizer.json", ".tiktoken", "vocab.json with merges.txt")
    if name == "tokenizer.json":  # a file of a folder is as well known
        fails(tmp_path, name, found, "expected one of")


@pytest.mark.parametrize(
    ("data", "named"),
    [
        (b'{"add_bos_token": false}', ('without the field "model"', "its fields are 'add_bos_token'", "a tekken.json")),
        (b'{"x": 1}', ('without the field "model"', "its fields are 'x'")),
        (b"{}", ("its fields are none",)),
        (b"[1]", ("found JSON that is [1]", "expected one of")),
        (b'{"model":', ("line 1 column 10", "expected JSON", "ends too early")),
        (b'{"a": 1,\n "b": }', ("line 2 column 7", "expected JSON")),
        (b"\xef\xbb\xbf{}", ("byte order mark (BOM)", "save it as UTF-8 without one")),
        (json.dumps({str(i): i for i in range(300)}).encode(), ("300 tokens and ids under another name", "merges.txt")),
    ],
)
def test_json_that_is_no_vocabulary(tmp_path: Path, data: bytes, named: tuple[str, ...]) -> None:
    (tmp_path / "odd.json").write_bytes(data)
    fails(tmp_path / "odd.json", *named)


def test_folders_that_hold_no_vocabulary(tmp_path: Path) -> None:
    fails(tmp_path, "an empty folder", "expected one of")
    (tmp_path / "readme.md").write_text("x", encoding="utf-8")
    (tmp_path / "merges.txt").write_text("\n".join(merge_lines()), encoding="utf-8")
    fails(tmp_path, "merges.txt, readme.md", "expected one of")
    with pytest.raises(TypeError):
        formats.load(5)  # type: ignore[arg-type]
