"""Refusals and rules that few files meet: each names the file, what was found and what was expected."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from class_folders import fill, model
from tekken_files import tekken
from test_marian import KEYS
from test_marian import fill as fill_marian
from test_marian import small as marian
from vocabularies import added, byte_level, document, keys, sequence, split, write_json

import bbpe
from bbpe import formats
from bbpe.errors import BBPEError, PatternError, VocabularyError
from bbpe.formats import gpt2_files
from bbpe.formats.common.ranks import ranks_of
from bbpe.formats.gguf import metadata
from bbpe.records import replace
from bbpe.splitting.patterns import Pattern

sentencepiece = pytest.importorskip("sentencepiece")
pb2 = pytest.importorskip("sentencepiece.sentencepiece_model_pb2")
LINES = ["see my eyes first", "see my dogs"] * 3
WORDS = bbpe.BPE(alphabet="chars", end_of_word="</w>")
SEQUENCE = {"Sequence": {"id": "A", "type_id": 0}}


def refused(path: Path, problem: str, kind: type[BBPEError] = VocabularyError, **options: Any) -> None:
    with pytest.raises(kind) as caught:
        bbpe.load(path, **options)
    assert str(path) in str(caught.value)
    assert problem in str(caught.value)


# -- files of lines -------------------------------------------------------------------------------------------


def test_lines(tmp_path: Path) -> None:
    clip = tmp_path / "bpe_simple_vocab_16e6.txt"
    clip.write_text('"bpe_simple_vocab_16e6.txt#version: 0.2\ni n\n漢 n\n', "utf-8")
    refused(clip, "merge '漢 n': '漢' (U+6F22) is not in the byte alphabet; expected GPT-2's letters for bytes")
    minbpe = tmp_path / "a.model"
    minbpe.write_text("minbpe v2\n\n0\n")
    refused(minbpe, "line 1: found 'minbpe v2'; expected 'minbpe v1'")


def test_merges_of_version_1_that_never_apply(tmp_path: Path) -> None:
    """`xyz w` is of a token that only `xy z` makes, and nothing makes `xy`."""
    path = tmp_path / "x.codes"
    path.write_text("#version: 0.1\na b\nab c\nxy z\nxyz w\nq r\n")
    longer = [key for key in bbpe.load(path).get_vocab() if len(key.replace("</w>", "")) > 1]
    assert longer == ["<unk>", "ab", "abc", "qr", "ab</w>", "abc</w>", "qr</w>"]


@pytest.mark.parametrize("lines", ["", "\n", "\r\n", "#version: 0.2\n", "#version: 0.2"])
def test_no_merges(tmp_path: Path, lines: str) -> None:
    (tmp_path / "vocab.json").write_text(json.dumps(keys()))
    (tmp_path / "merges.txt").write_text(lines, newline="")
    assert bbpe.load(tmp_path, pattern="gpt2").merges == []


@pytest.mark.parametrize(
    ("key", "is_special"),
    [
        ("<|end|>", True), ("ab", True), ("in", False), ("\u6f22", True), ("a\u6f22", True), ("\u0120\u0120", False),
        ("\u0120a", False), ("a\u0120", False),
    ],
)  # fmt: skip
def test_a_key_that_cannot_be_ordinary_is_special(tmp_path: Path, key: str, is_special: bool) -> None:
    """It is of several ASCII characters and in no merge, or outside the byte alphabet."""
    table = keys({byte: bytes([byte]) for byte in range(256)}) | ({"in": 256, key: 257} if key != "in" else {"in": 256})
    (tmp_path / "vocab.json").write_text(json.dumps(table))
    (tmp_path / "merges.txt").write_text("i n\n")
    tok = bbpe.load(tmp_path, pattern="gpt2")
    assert tok.special_tokens == ({key: table[key]} if is_special else {})
    assert tok.id_to_token(table["a"]) == b"a"


def test_names_of_pairs() -> None:
    with pytest.raises(VocabularyError, match=r"other name; expected vocab\.json next to merges\.txt or encoder\.json"):
        gpt2_files.find("nope.txt", gpt2_files.NAMES)


@pytest.mark.parametrize("name", ["rwkv", "minbpe", "youtokentome", "codes"])
def test_formats_of_other_models(tmp_path: Path, name: str) -> None:
    tok = bbpe.train_from_iterator(LINES, 260)
    with pytest.raises(VocabularyError, match=r"(longest matches|256 bytes|characters of words|characters with </w>)"):
        tok.save(tmp_path / "x", format=name)
    assert not (tmp_path / "x").exists()


def test_special_tokens_of_youtokentome(tmp_path: Path) -> None:
    path = tmp_path / "x.yttm"
    path.write_text("2 0\n9601 4\n97 5\n1 0 2 3\n")
    tok = bbpe.load(path)
    with pytest.raises(ValueError, match="or format='youtokentome' with this name"):
        tok.save(tmp_path / "y.yttm")
    tok.save(tmp_path / "y.yttm", format="youtokentome")
    assert bbpe.load(tmp_path / "y.yttm") == tok
    for special in ({**tok.special_tokens, "<x>": 6}, {"<PAD>": 0}):
        spec = replace(tok.spec, special_tokens=special)
        with pytest.raises(VocabularyError, match="YouTokenToMe holds the special tokens <UNK>"):
            formats.dump(spec, path, format="youtokentome")


def test_ranks_of_other_vocabularies() -> None:
    with pytest.raises(VocabularyError, match="a vocabulary of characters has no ranks of bytes; write"):
        ranks_of(bbpe.train_from_iterator(LINES, 60, model=WORDS).spec)


# -- tokenizer.json -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("regex", "problem"),
    [
        ("a" * 20_001, "pre_tokenizer.pretokenizers[0]: the regexes have 20001 characters; expected at most 20000"),
        ("[a", "in the regex '[a', a class has no end at character 0 does not mean the same"),
        (r"[[b-a]\h]", "the range b-a is empty"),
    ],
)
def test_regexes(tmp_path: Path, regex: str, problem: str) -> None:
    path = write_json(tmp_path / "tokenizer.json", document(pre_tokenizer=sequence(split(regex), byte_level())))
    refused(path, problem, PatternError)


def unigram(**changes: Any) -> dict[str, Any]:
    made = {"type": "Unigram", "unk_id": 0, "vocab": [["<unk>", 0.0], ["a", -1.0]], "byte_fallback": False, **changes}
    return {"version": "1.0", "added_tokens": [], "model": made}


@pytest.mark.parametrize(
    ("values", "problem"),
    [
        (unigram(bbpe={"sums": "float32", "user_defined": [-1]}), "model.bbpe.user_defined: found -1; expected the id"),
        (unigram(bbpe={"sums": "float32", "user_defined": ["a"]}), 'model.bbpe.user_defined: found "a"; expected the'),
        (unigram(bbpe={"sums": "float32", "user_defined": [2]}), "model.bbpe: user_defined has an id without a token"),
        (unigram(bbpe={"scores": [[2, "1.0"]]}), "model.bbpe: scores has the id 2; expected ids of tokens"),
        (unigram(bbpe={"scores": [[1, "inf"]]}), "model.bbpe.scores[0]: found [1, "),
        (unigram(bbpe={"scores": [[1, "x"]]}), "model.bbpe.scores[0]: found [1, "),
        (unigram(bbpe={"scores": [[-1, "1.0"]]}), "model.bbpe.scores[0]: found [-1, "),
        (unigram(unk_id=2), "model.unk_id: found 2; expected the id of a token, or null"),
        (unigram(unk_id=-1), "model.unk_id: found -1; expected the id of a token, or null"),
    ],
)
def test_unigram(tmp_path: Path, values: dict[str, Any], problem: str) -> None:
    refused(write_json(tmp_path / "tokenizer.json", values), problem)


def test_the_last_ids_of_own_fields(tmp_path: Path) -> None:
    own = {"sums": "float32", "user_defined": [1], "scores": [[1, "-0.25"]]}
    tok = bbpe.load(write_json(tmp_path / "tokenizer.json", unigram(bbpe=own, unk_id=1)))
    assert (tok.spec.model.user_defined, tok.spec.model.scores[1]) == ((1,), -0.25)
    assert tok.spec.characters.unknown == 1


def test_marks_of_words_beside_marks_of_blanks(tmp_path: Path) -> None:
    model = {"type": "BPE", "vocab": {"a": 0, "▁": 1, "▁a": 2}, "merges": [], "continuing_subword_prefix": "▁"}
    values = {"version": "1.0", "added_tokens": [], "model": model, "pre_tokenizer": {
        "type": "Metaspace", "replacement": "▁", "prepend_scheme": "never", "split": True}}  # fmt: skip
    refused(write_json(tmp_path / "tokenizer.json", values), "U+2581 for blanks is")


def test_the_rows_of_templates(tmp_path: Path) -> None:
    """A Sequence of templates whose first one has no place for the text."""
    special = {"<s>": {"id": "<s>", "ids": [300], "tokens": ["<s>"]}}
    item = {"SpecialToken": {"id": "<s>", "type_id": 0}}
    first = {"type": "TemplateProcessing", "single": [SEQUENCE, item], "pair": [], "special_tokens": special}
    second = {**first, "single": [SEQUENCE], "pair": [item]}
    values = document(
        post_processor={"type": "Sequence", "processors": [first, second]}, added_tokens=[added("<s>", 300)]
    )
    refused(write_json(tmp_path / "tokenizer.json", values), "post_processor: expected one Sequence A for one text")


def test_an_unknown_id_without_a_token(tmp_path: Path) -> None:
    spec = bbpe.train_from_iterator(LINES, 60, model=WORDS).spec
    assert spec.characters is not None
    wrong = replace(spec, characters=replace(spec.characters, unknown=spec.vocab_size))
    with pytest.raises(VocabularyError, match=f"the unknown token has id {spec.vocab_size}; expected the id"):
        formats.dump(wrong, tmp_path / "tokenizer.json")


# -- tekken.json ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("more", "is_read"), [(1 << 16, True), ((1 << 16) + 1, False)])
def test_special_tokens_without_a_text(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, more: int, is_read: bool
) -> None:
    monkeypatch.setattr("bbpe.formats.tekken._MOST_UNLISTED", 1 << 16)
    changes: Any = {"config__default_num_special_tokens": 2 + more, "config__default_vocab_size": 2 + more + 267}
    path = write_json(tmp_path / "tekken.json", tekken(**changes))
    if is_read:
        assert len(bbpe.load(path).special_tokens) == 2 + more
    else:
        refused(path, f"found {2 + more}, of which 2 have a text; expected at most 65536 without one")


@pytest.mark.parametrize(
    ("step", "problem"),
    [
        (r"(?|a|b)|.", "(?|a|b)|.': pattern '(?|a|b)|.' has a group that begins with"),
        (r"\h", "which has another meaning in tiktoken's dialect"),
        (r"a*", "matches the empty text, for which tiktoken fails"),
    ],
)
def test_patterns_that_tiktoken_does_not_have(tmp_path: Path, step: str, problem: str) -> None:
    path = write_json(tmp_path / "tekken.json", tekken())
    spec = replace(formats.load(path), pattern=Pattern(None, (step,), drops_gaps=True))
    with pytest.raises(VocabularyError) as caught:
        formats.dump(spec, path)
    assert problem in str(caught.value)


# -- GGUF -----------------------------------------------------------------------------------------------------


def test_lists_that_are_too_long(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from gguf_files import gguf

    path = tmp_path / "x.gguf"
    path.write_bytes(gguf({"texts": ["a"] * 3, "numbers": [1] * 3}))
    limits = {"_MOST_STRINGS": "found 3 strings in texts", "_MOST_NUMBERS": "found 3 numbers in numbers"}
    for name, problem in limits.items():
        with monkeypatch.context() as patched:
            patched.setattr(metadata, name, 3)
            assert metadata.read_metadata(path, lambda _: True) == {"texts": [b"a"] * 3, "numbers": [1] * 3}
            patched.setattr(metadata, name, 2)
            with pytest.raises(VocabularyError, match=f"byte .*{problem}; expected at most 2"):
                metadata.read_metadata(path, lambda _: True)
    path.write_bytes(b"GGML" + path.read_bytes()[4:])
    with pytest.raises(VocabularyError, match="byte 0: expected a file that begins with GGUF"):
        metadata.read_metadata(path, lambda _: True)


# -- SentencePiece --------------------------------------------------------------------------------------------


def test_models_of_sentencepiece(tmp_path: Path) -> None:
    path = tmp_path / "m.model"
    made = pb2.ModelProto()
    made.trainer_spec.model_type = 1
    path.write_bytes(made.SerializeToString())
    with pytest.raises(VocabularyError, match="found no piece; expected a SentencePiece model"):
        formats.FORMATS["sentencepiece"].load(path, formats.Given())
    made.ParseFromString(model("?<unk> <s>", is_bpe=True))
    made.pieces.add(piece="zzQ", score=-50.0)
    path.write_bytes(made.SerializeToString())
    refused(path, "'zzQ' is a piece, but its character 'z' is not, which is not supported")
    whole = pb2.ModelProto.FromString(model("?<unk> <s>"))
    whole.trainer_spec.ClearField("model_type")
    field = whole.trainer_spec.SerializeToString() + b"\x18\x09"
    whole.ClearField("trainer_spec")
    path.write_bytes(whole.SerializeToString() + b"\x12" + bytes([len(field)]) + field)
    refused(path, "trainer_spec: the model is of the type 9; expected 1 to 4")


def test_symbols_with_blanks_and_squeezed_blanks(tmp_path: Path) -> None:
    made = pb2.ModelProto.FromString(model("?<unk> <s>"))
    made.pieces.add(piece="a b", score=0.0, type=4)
    made.normalizer_spec.remove_extra_whitespaces = True
    made.normalizer_spec.escape_whitespaces = False
    (tmp_path / "m.model").write_bytes(made.SerializeToString())
    refused(tmp_path / "m.model", "user-defined symbol 'a b' has a blank and remove_extra_whitespaces is true")


# -- folders of classes ---------------------------------------------------------------------------------------


def test_names_that_whisper_lacks(tmp_path: Path) -> None:
    for name in ("language", "task"):
        fill(tmp_path, "WhisperTokenizer", {name: "Nope"}, {})
        refused_in = f"tokenizer_config.json: {name}: the vocabulary has no token '<|nope|>'; expected the code of one"
        with pytest.raises(VocabularyError) as caught:
            bbpe.load(tmp_path)
        assert refused_in in str(caught.value)


def test_pieces_of_another_kind_than_the_class_makes(tmp_path: Path) -> None:
    fill(tmp_path, "T5Tokenizer", {}, {})
    (tmp_path / "spiece.model").write_bytes(model("<pad> </s> ?<unk>", is_bpe=True))
    with pytest.warns(bbpe.VocabularyWarning, match=r"spiece\.model is BPE, of which T5Tokenizer .* makes Unigram"):
        bbpe.load(tmp_path)
    fill(tmp_path, "LlamaTokenizer", {}, {})
    (tmp_path / "tokenizer.model").write_bytes(model("?<unk> <s> </s>", has_bytes=True))
    (tmp_path / "spiece.model").unlink()
    with pytest.warns(bbpe.VocabularyWarning, match=r"tokenizer\.model is Unigram, of which Llama\w+ .* makes BPE"):
        bbpe.load(tmp_path)


def test_vocabularies_of_marian(tmp_path: Path) -> None:
    numbered = {key: number for number, key in enumerate(KEYS)}
    for values, problem in (
        ([], "found []; expected an object of pieces and their ids"),
        ({**numbered, "x": "y"}, "expected an object of pieces and their ids"),
        ({**numbered, "\ud800": len(KEYS)}, "a piece holds half a surrogate pair; expected Unicode text"),
    ):
        (marian(tmp_path) / "vocab.json").write_text(json.dumps(values))
        with pytest.raises(VocabularyError) as caught:
            bbpe.load(tmp_path)
        assert f"{tmp_path / 'vocab.json'}: " in str(caught.value)
        assert problem in str(caught.value)


def test_user_defined_pieces_of_marian(tmp_path: Path) -> None:
    data = model("?<unk> <s> </s> +zq")
    with pytest.raises(VocabularyError, match=r"piece 3: 'zq' is a user-defined or special piece without a plain id"):
        bbpe.load(fill_marian(tmp_path, data, {key: number for number, key in enumerate(KEYS)}, {}))
    found = bbpe.load(fill_marian(tmp_path, data, {key: number for number, key in enumerate([*KEYS, "zq"])}, {}))
    assert found.spec.model.user_defined == (len(KEYS),)


def test_ends_and_padding_of_marian(tmp_path: Path) -> None:
    assert bbpe.load(marian(tmp_path, eos_token=None)).encode("in", add_special_tokens=True) == [7]
    for config, row in (
        ({"pad_token": "<pad>"}, None), ({"padding_side": "left"}, [52, 7, 0]), ({"pad_token": None}, None),
        ({}, [7, 0, 52]),
    ):  # fmt: skip
        tok = bbpe.load(marian(tmp_path, **config))
        if row is None:
            assert tok.spec.padding is None
        else:
            assert tok.encode_padded(["in the", "in"], add_special_tokens=True).ids.tolist()[1] == row


@pytest.mark.parametrize("longer", ["▁ab", "a▁b"])
def test_blanks_that_split_pieces_with_bytes(tmp_path: Path, longer: str) -> None:
    """A split before blanks is left out only where no token has a blank within it."""
    hf = pytest.importorskip("tokenizers")
    found = ["<unk>", *(f"<0x{byte:02X}>" for byte in range(256)), "▁", "a", "b", longer[:2], longer]
    model = {"type": "BPE", "vocab": {key: number for number, key in enumerate(found)}, "unk_token": "<unk>",
             "merges": ["▁ a", "▁a b"] if longer == "▁ab" else ["a ▁", "a▁ b"], "byte_fallback": True}  # fmt: skip
    split = {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "never", "split": True}
    path = write_json(tmp_path / "tokenizer.json", {"version": "1.0", "pre_tokenizer": split, "model": model})
    tok, judge = bbpe.load(path), hf.Tokenizer.from_file(str(path))
    assert (tok._parts.encoder.splitter.pattern.steps == ()) == (longer == "▁ab")
    for text in ("a b", " ab a", "a  b é", "b a b", ""):
        assert tok.encode(text) == judge.encode(text).ids, text
        assert tok.encode_with_offsets(text)[0] == judge.encode(text).ids
