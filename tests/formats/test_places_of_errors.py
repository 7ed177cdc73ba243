"""Errors name the place to the letter, and what is as long as it may be is read."""

from __future__ import annotations

import math
from pathlib import Path
from struct import pack
from typing import Any

import pytest
from gguf_files import PREFIX, gguf, string, vocabulary
from test_gguf_characters import KINDS, TOKENS
from test_gguf_characters import values as gemma
from vocabularies import MERGES, added, document, small_spec, vocab_of, write_json

import bbpe
from bbpe import formats
from bbpe.errors import VocabularyError
from bbpe.formats.common.ranks import ranks_of
from bbpe.formats.gguf import metadata
from bbpe.formats.gguf.metadata import read_metadata
from bbpe.formats.huggingface.scores import score_of
from bbpe.spec.spec import MAX_ID, make_spec
from bbpe.splitting.patterns import get_pattern
from bbpe.tokenizer import Tokenizer


def refused(path: Path, problem: str, **options: Any) -> None:
    with pytest.raises(VocabularyError) as caught:
        bbpe.load(path, **options)
    assert f"{path}: {problem}" in str(caught.value)


# -- GGUF: a header of 24 bytes, and a name that ends at byte 35 ----------------------------------------------


@pytest.mark.parametrize(
    ("of", "problem"),
    [
        (pack("<I", 77), "byte 35: a.b has type 77; expected 0 to 12"),
        (pack("<IIQ", 9, 9, 1) + bytes(9), "byte 39: a.b is a list of type 9; expected numbers or strings"),
        (pack("<IIQ", 9, 8, 2) + bytes(15), "byte 43: found 2 strings in a.b, but 15 bytes are left; expected a whole"),
        (pack("<IIQ", 9, 2, 2) + bytes(3), "byte 43: found 2 numbers in a.b, but 3 bytes are left; expected a whole"),
        (pack("<IIQ", 9, 5, 9) + bytes(36), "byte 43: found 9 numbers in a.b; expected at most 8"),
        (pack("<IIQ", 9, 8, 7) + bytes(56), "byte 43: found 7 strings in a.b; expected at most 6"),
        (pack("<IQ", 8, 3) + b"ab", "byte 47: a.b takes 3 bytes, but the file ends after 2; expected a whole file"),
        (pack("<IQ", 8, 21) + bytes(21), "byte 39: a.b has 21 bytes, which makes more than 20 in all strings"),
        (pack("<I", 4) + b"abc", "byte 39: a.b takes 4 bytes, but the file ends after 3; expected a whole file"),
        (pack("<I", 9) + b"abc", "byte 39: the type of the items of a.b takes 4 bytes, but the file ends after 3"),
        (pack("<II", 9, 8) + b"abc", "byte 43: the length of a.b takes 8 bytes, but the file ends after 3"),
        (b"abc", "byte 35: the type of a.b takes 4 bytes, but the file ends after 3"),
    ],
)
def test_places_in_a_gguf_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, of: bytes, problem: str) -> None:
    for name, most in (("_MOST_NUMBERS", 8), ("_MOST_STRINGS", 6), ("_MOST_BYTES", 20)):
        monkeypatch.setattr(metadata, name, most)
    path = tmp_path / "x.gguf"
    path.write_bytes(gguf({"a.b": of}))
    with pytest.raises(VocabularyError) as caught:
        read_metadata(path, lambda _: True)
    assert f"{path}: {problem}" in str(caught.value)


def test_limits_of_a_gguf_file_count_for_values_that_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, most in (("_MOST_NUMBERS", 8), ("_MOST_BYTES", 20)):
        monkeypatch.setattr(metadata, name, most)
    path = tmp_path / "x.gguf"
    values: dict[str, Any] = {"a": "x" * 21, "b": [*range(9)], "c": ["y" * 11, "z" * 10], "d": 5, "e": "w"}
    path.write_bytes(gguf(values))
    assert read_metadata(path, lambda name: name in ("d", "e")) == {"d": 5, "e": b"w"}
    for name in ("a", "b", "c"):
        with pytest.raises(VocabularyError, match=rf"in {name}; expected at most 8|makes more than 20 in all strings"):
            read_metadata(path, lambda each, name=name: each == name)
    path.write_bytes(gguf({"a": "x" * 9, "b": [*range(8)], "c": ["y" * 11]}))
    assert read_metadata(path, lambda _: True) == {"a": b"x" * 9, "b": [*range(8)], "c": [b"y" * 11]}


@pytest.mark.parametrize("order", "<>")
def test_every_kind_of_value_of_a_gguf_file(tmp_path: Path, order: str) -> None:
    path = tmp_path / "x.gguf"
    numbers = {0: ("B", 200), 1: ("b", -3), 2: ("H", 60_000), 3: ("h", -300), 4: ("I", 1 << 31), 5: ("i", -(1 << 30)),
               6: ("f", 0.5), 7: ("?", True), 10: ("Q", 1 << 63), 11: ("q", -(1 << 62)), 12: ("d", 1e300)}  # fmt: skip
    values: dict[str, Any] = {}
    for kind, (code, number) in numbers.items():
        values[f"n{kind}"] = pack(f"{order}I{code}", kind, number)
        values[f"l{kind}"] = pack(f"{order}IIQ2{code}", 9, kind, 2, number, number)
    values["text"], values["texts"] = "é", ["", "ab", ""]
    values["empty"] = pack(order + "IIQ", 9, 8, 0)
    path.write_bytes(gguf(values, order=order))
    expected = {f"n{kind}": number for kind, (_, number) in numbers.items()}
    expected |= {f"l{kind}": [number, number] for kind, (_, number) in numbers.items()}
    expected |= {"text": "é".encode(), "texts": [b"", b"ab", b""], "empty": []}
    assert read_metadata(path, lambda _: True) == expected
    for name in expected:
        assert read_metadata(path, lambda each, name=name: each == name) == {name: expected[name]}


def test_values_that_end_with_the_file_are_whole(tmp_path: Path) -> None:
    """The smallest value has 14 bytes; of lists of empty texts and of numbers no byte is too few."""
    path = tmp_path / "x.gguf"
    for of, expected in (
        (pack("<IB", 0, 7), 7), (pack("<IIQ", 9, 8, 3) + bytes(24), [b""] * 3),
        (pack("<IIQ", 9, 2, 3) + bytes(6), [0] * 3), (pack("<IQ", 8, 2) + b"ab", b"ab"),
    ):  # fmt: skip
        path.write_bytes(gguf({"x": of}))
        assert read_metadata(path, lambda _: True) == {"x": expected}
        path.write_bytes(gguf({"x": of})[:-1])
        with pytest.raises(VocabularyError, match="expected a whole file"):
            read_metadata(path, lambda _: True)
    path.write_bytes(b"GGUF" + pack("<IQQ", 3, 0, 2) + string("x") + pack("<IB", 0, 7))
    with pytest.raises(VocabularyError, match=r"byte 16: found 2 values, but 14 bytes are left"):
        read_metadata(path, lambda _: True)


def test_a_usual_id_that_a_small_vocabulary_lacks_is_missing(tmp_path: Path) -> None:
    path = tmp_path / "x.gguf"
    few: dict[str, Any] = {"bos_token_id": ..., "eos_token_id": ..., "add_bos_token": ..., "pre": "llama-bpe"}
    letters = [*"abcdefghijkl"]
    for count in (11, 12):
        path.write_bytes(gguf(vocabulary(tokens=letters[:count], token_type=[1] * count, merges=[], **few)))
        if count == 11:
            refused(path, f"{PREFIX}bos_token_id: the value is missing; expected an id, 0 to 10, because add_bos_token")
        else:
            tok = bbpe.load(path)
            assert tok.encode("ba", add_special_tokens=True) == [11, 1, 0]


def test_characters_of_gguf_need_all_bytes(tmp_path: Path) -> None:
    path = tmp_path / "x.gguf"
    for byte in (0x00, 0x61, 0x78, 0xFF):
        at = 3 + byte
        path.write_bytes(gguf(gemma(tokens=TOKENS[:at] + TOKENS[at + 1 :], token_type=KINDS[:at] + KINDS[at + 1 :])))
        if byte == 0x61:  # a letter with a token of its own never becomes its byte
            assert bbpe.load(path).encode("ax") == [TOKENS.index("a") - 1, TOKENS.index("<0x78>") - 1]
            continue
        refused(path, f"{PREFIX}tokens: byte_fallback is true, but {TOKENS[at]!r} has no id, nor has its character; ")


# -- JSON -----------------------------------------------------------------------------------------------------


A_TOKEN = f"expected a token and its id, 0 to {MAX_ID}"


def bert(sep: list[Any]) -> dict[str, Any]:
    return {"type": "BertProcessing", "sep": sep, "cls": ["b", MAX_ID]}


def template(ids: list[Any], kind: int = 255, *, single: int = 1) -> dict[str, Any]:
    """A template of a token and a text, or the text more than once."""
    row = [{"SpecialToken": {"id": "<s>", "type_id": kind}}, *[{"Sequence": {"id": "A", "type_id": 255}}] * single]
    special = {"<s>": {"id": "<s>", "ids": ids, "tokens": ["<s>"] * len(ids)}}
    return {"type": "TemplateProcessing", "single": row, "pair": row, "special_tokens": special}


def test_the_largest_ids_and_types_of_templates(tmp_path: Path) -> None:
    values = document(post_processor=template([267, 0]), added_tokens=[added("<s>", 267)])
    spec = bbpe.load(write_json(tmp_path / "tokenizer.json", values)).spec
    assert spec.template is not None
    assert spec.template.single == ((267, 255), (0, 255), ("A", 255))


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"version": "x" * 58}, f'version: "{"x" * 58}" is not supported; expected "1.0"'),
        ({"version": "x" * 59}, f'version: "{"x" * 56}... is not supported; expected "1.0"'),
        ({"version": 1.0}, 'version: 1.0 is not supported; expected "1.0"'),
        ({"zz": 1, "aa": 2, "mm": 3}, "unknown field 'aa'"),
        (
            {"normalizer": {"type": "Sequence", "normalizers": [
                {"type": "NFC"}, {"type": "Sequence", "normalizers": [{"type": "NFD"}, {"type": "Nope"}]}]}},
            "normalizer.normalizers[1].normalizers[1]: 'Nope' is not supported; expected NFC",
        ),
        ({"normalizer": {"type": "Sequence", "normalizers": [], "x": 1}}, "normalizer: unknown field 'x'"),
        ({"normalizer": {"type": "Sequence"}}, "normalizer: field 'normalizers' is missing"),
        ({"added_tokens": [added("a", 0), added("b\udfff", 300)]}, "added_tokens[1].content: 'b\\udfff' holds half a"),
        ({"added_tokens": [added("b\ud800", 300)]}, "added_tokens[0].content: 'b\\ud800' holds half a surrogate pair"),
        ({"truncation": {"max_length": -1}}, "truncation.max_length: found -1; expected 0 to 4611686018427387903"),
        ({"post_processor": bert(["a", -1])}, f'post_processor.sep: found ["a", -1]; {A_TOKEN}'),
        ({"post_processor": bert(["a", MAX_ID + 1])}, f'post_processor.sep: found ["a", {MAX_ID + 1}]; {A_TOKEN}'),
        ({"post_processor": bert(["a", True])}, f'post_processor.sep: found ["a", true]; {A_TOKEN}'),
        ({"post_processor": bert([1, 1])}, f"post_processor.sep: found [1, 1]; {A_TOKEN}"),
        ({"post_processor": bert(["a", 1, 2])}, f'post_processor.sep: found ["a", 1, 2]; {A_TOKEN}'),
        ({"post_processor": template([])}, "post_processor.special_tokens.<s>.ids: found []; expected a list"),
        ({"post_processor": template([1, -1])}, "post_processor.special_tokens.<s>.ids: found [1, -1]; expected a"),
        (
            {"post_processor": template([MAX_ID + 1])},
            f"post_processor.special_tokens.<s>.ids: found [{MAX_ID + 1}]; expected a list of ids, 0 to {MAX_ID}",
        ),
        ({"post_processor": template([True])}, "post_processor.special_tokens.<s>.ids: found [true]; expected a list"),
        (
            {"post_processor": template([1], 256)},
            "post_processor.single[0].SpecialToken.type_id: found 256; expected 0 to 255",
        ),
        (
            {"post_processor": template([1], single=2)},
            "post_processor.single: expected one Sequence A",
        ),
        ({"pre_tokenizer": {"type": "FixedLength", "length": 0}}, "pre_tokenizer.length: found 0; expected at least 1"),
        ({"model": 5}, "model: found 5; expected an object"),
        ({"model__dropout": 1.5}, "model.dropout: found 1.5; expected null or a probability, 0 to 1"),
        ({"model__dropout": -0.5}, "model.dropout: found -0.5; expected null or a probability, 0 to 1"),
        ({"model__dropout": True}, "model.dropout: found true; expected null or a probability, 0 to 1"),
        ({"model__merges": ["t h", "th"]}, 'model.merges[1]: found "th"; expected "a b" or ["a", "b"]'),
        ({"model__merges": ["#version: 0.2", "t h", "t  h"]}, 'model.merges[2]: found "t  h"; expected "a b" or'),
        ({"model__merges": [["t", "h"], ["t", "h", "e"]]}, 'model.merges[1]: found ["t", "h", "e"]; expected "a b"'),
        ({"model__merges": [["t", ""]]}, 'model.merges[0]: found ["t", ""]; expected "a b" or ["a", "b"]'),
        ({"model__merges": [["t", 1]]}, 'model.merges[0]: found ["t", 1]; expected "a b" or ["a", "b"]'),
    ],
    ids=str,
)  # fmt: skip
def test_places_in_a_tokenizer_json(tmp_path: Path, changes: dict[str, Any], problem: str) -> None:
    made = {name: change for name, change in changes.items() if name not in ("zz", "aa", "mm")}
    extra = {name: change for name, change in changes.items() if name in ("zz", "aa", "mm")}
    refused(write_json(tmp_path / "tokenizer.json", document(**made) | extra), problem)


def test_text_at_the_borders_of_surrogates_and_dropout_of_whole_numbers(tmp_path: Path) -> None:
    rows = [added(f"a{char}", 300 + number) for number, char in enumerate("\ud7ff\ue000")]
    values = document(added_tokens=rows, model__dropout=0, model__merges=["#version: 0.2", "t h"])
    tok = bbpe.load(write_json(tmp_path / "tokenizer.json", values))
    assert [*tok.special_tokens] == ["a\ud7ff", "a\ue000"]
    assert [*(tok.spec.merges or ())] == [(83, 71, 256)]
    for dropout in (0, 1, 0.5):
        values = document(model__dropout=dropout)
        assert bbpe.load(write_json(tmp_path / "tokenizer.json", values)).spec.dropout == dropout


def test_json_that_ends_too_early_before_blanks(tmp_path: Path) -> None:
    path = tmp_path / "tokenizer.json"
    for text, end in (('{"model": 1, \n\n', "; the file ends too early"), ('{"model": 1 x}\n', "")):
        path.write_text(text, "utf-8")
        with pytest.raises(VocabularyError) as caught:
            bbpe.load(path)
        assert str(caught.value).endswith(f"; expected JSON{end}")


@pytest.mark.parametrize(
    ("text", "score"),
    [
        ("1e-309", 1e-309), ("1e-308", 1e-308), ("1e-310", 1e-310), ("0.1e-308", 1e-309), ("1e308", 1e308),
        ("1e309", math.inf), ("-1e309", -math.inf), ("10e308", math.inf), ("0e309", 0.0), ("1e-700", 0.0),
        ("25", 25.0), ("-25", -25.0), ("2.5E1", 25.0), ("0", 0.0),
    ],
)  # fmt: skip
def test_scores_with_large_exponents(text: str, score: float) -> None:
    assert score_of(text) == score


def test_a_special_token_that_the_rules_make_is_a_word_if_the_model_has_it(tmp_path: Path) -> None:
    """The ids are those of `tokenizers`, before and after saving."""
    tokenizers = pytest.importorskip("tokenizers")
    vocab = {key: number for number, key in enumerate([*"ab<st>", "ab", "<s>"])}
    model = {"type": "BPE", "vocab": vocab, "merges": [["a", "b"]], "ignore_merges": True}
    values = document(
        model=model, normalizer={"type": "Lowercase"}, pre_tokenizer={"type": "WhitespaceSplit"}, decoder=None,
        added_tokens=[added("<s>", 7), added("<t>", 8)],
    )  # fmt: skip
    path = write_json(tmp_path / "tokenizer.json", values)
    tok = bbpe.load(path)
    tok.save(tmp_path / "again.json")
    again = bbpe.load(tmp_path / "again.json")
    assert again == tok
    for file in (path, tmp_path / "again.json"):
        judge = tokenizers.Tokenizer.from_file(str(file))
        for text in ("<S> ab <T>", "<s> AB <t>", "<S>", "<T>"):
            expected = judge.encode(text).ids
            assert tok.encode(text, allowed_special="all") == again.encode(text, allowed_special="all") == expected


# -- names and messages ---------------------------------------------------------------------------------------

SYNONYMS = {
    "huggingface": "hf json tokenizer.json tokenizers transformers Transformers", "youtokentome": "yttm",
    "tiktoken": "ranks RANKS", "gpt2": "vocab.json bpe", "wordpiece": "bert vocab.txt", "codes": "subword-nmt fastbpe",
    "tekken": "mistral", "gguf": "llama.cpp ggml GGML", "sentencepiece": "spm model",
}  # fmt: skip


def test_other_names_of_formats_lead_to_theirs() -> None:
    pairs = [(text, name) for name, texts in SYNONYMS.items() for text in texts.split()]
    for text, name in pairs:
        with pytest.raises(ValueError, match=rf"format is '{text}'; expected .*; did you mean '{name}'\?"):
            formats.checked_format(text)
    for name in formats.FORMATS:
        assert formats.checked_format(name) == name


LOST: list[tuple[str, dict[str, Any], str]] = [
    (
        "x.tiktoken", {"special_tokens": {"<a>": 270}},
        "a .tiktoken rank file cannot hold this tokenizer: it would lose or change special tokens ('<a>'); write "
        "tokenizer.json, or leave it out on purpose with drop=['special_tokens']",
    ),
    (
        "x.tiktoken", {"special_tokens": {f"<{letter}>": 270 + at for at, letter in enumerate("abcde")}},
        "it would lose or change special tokens ('<a>', '<b>', '<c>' and 2 more); write tokenizer.json, or leave",
    ),
    (
        "x.tiktoken", {"special_tokens": {"<a>": 270}, "added_tokens": {"<t>": 271}},
        "it would lose or change special tokens ('<a>'), added tokens ('<t>'); write tokenizer.json, or leave it",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("name", "options", "message"), LOST, ids=str)
def test_tokens_that_a_format_would_lose_are_named(
    tmp_path: Path, name: str, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(VocabularyError) as caught:
        Tokenizer(small_spec(**options)).save(tmp_path / name)
    assert message in str(caught.value)
    assert not (tmp_path / name).exists()


def test_the_first_step_in_which_ranks_and_merges_differ_is_named() -> None:
    swapped = [MERGES[0], MERGES[3], MERGES[1], *MERGES[4:], MERGES[2]]
    fewer = MERGES[:-1]
    cases: list[tuple[Any, str]] = [
        (swapped, "step 1 is b'th' + b'e' (id 257) by rank and b'i' + b'n' (id 259) in the list; expected ids in the"),
        (fewer, f"step {len(fewer)} is b\"'\" + b's' (id 266) by rank and none in the list; expected ids in the order"),
    ]
    for merges, message in cases:
        spec = make_spec(vocab_of(), merges, pattern=get_pattern("gpt2"))
        with pytest.raises(VocabularyError) as caught:
            ranks_of(spec)
        assert message in str(caught.value)




def test_written_texts_are_plain_text(tmp_path: Path) -> None:
    """No writer escapes what a reader may want to see."""
    vocab = {1 + byte: bytes([byte]) for byte in range(256)} | {257: "\u00e9".encode()}
    spec = make_spec(
        vocab, None, pattern=get_pattern("tekken"), special_tokens={"<\u4e2d>": 0}, whole_pretokens=True
    )
    for name in ("tekken.json", "tokenizer.json"):
        (data,) = formats.written(spec, tmp_path / name).values()
        assert "<\u4e2d>" in data.decode(), name
        assert "\\u4e2d" not in data.decode(), name
