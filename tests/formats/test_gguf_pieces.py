"""GGUF files of SentencePiece's pieces give its ids where llama.cpp does, written and read back; others are refused."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from struct import pack
from typing import Any

import pytest
from gguf_files import PREFIX, piece_rows, piece_vocabulary
from test_gguf import fails, write
from test_sentencepiece import CORPORA, REAL, hard_strings, peer, same, same_ids  # skips all where there is none
from test_sentencepiece import trained as trained_bpe
from trained_pieces import trained as trained_unigram

import bbpe
from bbpe import formats
from bbpe.cli import main
from bbpe.errors import VocabularyError
from bbpe.spec.fingerprint import fingerprint
from bbpe.spec.spec import TokenizerSpec

sentencepiece = pytest.importorskip("sentencepiece")
pytest.importorskip("google.protobuf")

TEXTS = ["", " ", "the  in", "\u2581the 中中中", " <tool>the<s></s>", "x\0é\n", "in\u2581 the", "<0x41>", "[PAD0]"]
WORDS = ["The thing is in the thick of things; the   thinking thins.", "Ｆｕｌｌ width, ﬁne 12", "é e\u0301 漢字"] * 9


def model_file(path: Path, rows: list[tuple[str, float, int]], **normalizer: Any) -> Path:
    """SentencePiece's own file of the same pieces, for it to judge by."""
    from sentencepiece import sentencepiece_model_pb2

    model = sentencepiece_model_pb2.ModelProto()
    is_bpe = any(kind == 6 for _, _, kind in rows)
    model.trainer_spec.model_type = 2 if is_bpe else 1
    model.trainer_spec.byte_fallback = is_bpe
    model.trainer_spec.unk_surface = "<unk>"  # as llama.cpp writes it
    for text, score, kind in rows:
        model.pieces.add(piece=text, score=score, type=kind)
    for name, value in normalizer.items():
        setattr(model.normalizer_spec, name, value)
    path.write_bytes(model.SerializeToString())
    return path


def test_control_tokens_that_pieces_make(tmp_path: Path) -> None:
    """Neighbours merge into any token of the file but one with a blank, which is U+2581 by then."""
    texts, scores, kinds = zip(*piece_rows(), strict=True)
    made = {"he": 3, "xyz": 3, "a ": 3, "i\u2581": 4}
    tokens = [*texts, *(text for text in made if text not in texts)]
    values = piece_vocabulary(
        tokens=tokens, scores=[*scores, *[-3.0] * (len(tokens) - len(texts))],
        token_type=[made.get(text, kind) for text, kind in zip(tokens, [*kinds, *[1] * 9], strict=False)],
        add_space_prefix=False,
    )  # fmt: skip
    tok = bbpe.load(write(tmp_path / "x.gguf", values))
    assert {"he", "xyz", "a "} <= tok.special_tokens.keys()
    assert tok.encode("he") == [tokens.index("he")]
    assert tok.encode("xyz") == [tokens.index(f"<0x{byte:02X}>") for byte in b"xyz"]
    assert tok.encode("a ") == [tokens.index("a"), tokens.index("\u2581")]
    assert tok.encode("i ") == [tokens.index("i\u2581")]


def test_a_second_unknown_piece_is_a_special_token(tmp_path: Path) -> None:
    """No text has it, and what a text cannot spell is still the first one."""
    texts, scores, kinds = zip(*piece_rows(has_bytes=False), strict=True)
    values = piece_vocabulary(
        "t5", tokens=[*texts, "zq"], scores=[*scores, -3.0], token_type=[*(min(kind, 3) for kind in kinds), 2]
    )
    tok = bbpe.load(write(tmp_path / "x.gguf", values))
    unknown = kinds.index(2)
    assert (tok.special_tokens[texts[unknown]], tok.special_tokens["zq"]) == (unknown, len(texts))
    assert tok.encode("zq", allowed_special="all") == [len(texts)]
    assert {unknown} == {*tok.encode("zq")} - {*tok.encode("")} - {texts.index("\u2581")}


@pytest.mark.parametrize("squeezes", [False, True])
@pytest.mark.parametrize("prefix", [False, True, ...])
@pytest.mark.parametrize("model", ["llama", "t5"])
def test_what_is_read(tmp_path: Path, model: str, prefix: Any, squeezes: bool) -> None:
    rows = [(text, score, 3 if kind == 4 else kind) for text, score, kind in piece_rows(has_bytes=model == "llama")]
    changes = {"add_space_prefix": prefix, "remove_extra_whitespaces": squeezes}
    path = write(tmp_path / "x.gguf", piece_vocabulary(model, token_type=[*(row[2] for row in rows), 5], **changes))
    assert formats.sniff(path) == "gguf"
    # what llama.cpp takes where the file does not say; it squeezes blanks for "t5" alone, and then adds one anyway
    prefix, squeezes = model == "llama" if prefix is ... else prefix, squeezes and model == "t5"
    judge = model_file(
        tmp_path / "x.model", rows, add_dummy_prefix=prefix or squeezes, remove_extra_whitespaces=squeezes
    )
    tok = bbpe.load(path)
    # a .model says nothing of what is put around a text
    if prefix or not squeezes:
        assert fingerprint(replace(tok.spec, template=None)) == fingerprint(formats.load(judge))
    for text in [*TEXTS, *hard_strings(tok, 80, seed=3)]:
        same(tok, peer(judge), text.replace("\0", ""))
    assert formats.load(path, special_tokens={"<s>": 1}).special_tokens == {"<s>": 1}
    assert formats.load(path, pattern="gpt2").pattern.name == "gpt2"


@pytest.mark.parametrize(
    ("model", "changes", "around"),
    [
        ("llama", {}, ([1], [])),
        ("t5", {}, ([], [2])),
        ("llama", {"bos_token_id": ...}, ([1], [])),
        ("llama", {"add_bos_token": False}, ([], [])),
        ("t5", {"add_eos_token": False, "add_bos_token": True}, ([1], [])),
        ("llama", {"add_eos_token": True}, ([1], [2])),
    ],
)
def test_what_stands_around_a_text(
    tmp_path: Path, model: str, changes: dict[str, Any], around: tuple[list[int], list[int]]
) -> None:
    pytest.importorskip("gguf")
    tok = bbpe.load(write(tmp_path / "x.gguf", piece_vocabulary(model, **changes)))
    ids = tok.encode("the in")
    assert tok.encode("the in", add_special_tokens=True) == around[0] + ids + around[1]
    tok.save(tmp_path / "y.gguf")
    assert bbpe.load(tmp_path / "y.gguf").spec.template == tok.spec.template


def test_lists_of_merges_are_not_looked_at(tmp_path: Path) -> None:
    path, other = tmp_path / "x.gguf", tmp_path / "y.gguf"
    write(path, piece_vocabulary(merges=["t h"]))
    assert formats.load(path) == formats.load(write(other, piece_vocabulary()))


ROWS = [*piece_rows(), ("[PAD0]", 0.0, 5)]
TEXTS_OF, COUNT = [text for text, _, _ in ROWS], len(ROWS)
SCORES, KINDS = [score for _, score, _ in ROWS], [kind for _, _, kind in ROWS]
LAST = f"tokens[{COUNT - 1}]"


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"pre": "llama-bpe"}, ("pre", "'llama-bpe' is not supported", "expected 'default'")),
        ({"pre": 3}, ("pre", "expected a string")),
        ({"tokens": ...}, ("tokens", "the value is missing; expected a list")),
        ({"tokens": [*TEXTS_OF[:-1], b"\xff"]}, (LAST, "0xFF", "UTF-8")),
        ({"tokens": [*TEXTS_OF[:-1], "he"], "token_type": [*KINDS[:-1], 1]}, (LAST, "'he'", "listed twice")),
        ({"tokens": [*TEXTS_OF[:-1], ""], "token_type": [*KINDS[:-1], 1]}, (LAST, "'' is empty")),
        ({"tokens": [*TEXTS_OF[:-1], "h e"], "token_type": [*KINDS[:-1], 1]}, (LAST, "'h e' has a blank")),
        (
            {"tokens": [*TEXTS_OF[:-1], "x" * 2000], "token_type": [*KINDS[:-1], 1]},
            (LAST, "2000 characters; expected at most 1024"),
        ),
        ({"tokens": [*TEXTS_OF[:-1], "xy"]}, (LAST, "'xy' has the type UNUSED")),
        ({"tokens": TEXTS_OF[:-1]}, ("scores", f"found {COUNT} numbers; expected {COUNT - 1}")),
        ({"scores": ...}, ("scores", "the value is missing; expected a list")),
        ({"scores": [1, 2]}, ("scores", "expected a list of floats")),
        ({"scores": SCORES[:-1]}, ("scores", f"found {COUNT - 1} numbers; expected {COUNT}")),
        ({"scores": [float("nan")] * COUNT}, ("tokens[260]", "is NaN; expected a number")),
        ({"token_type": ...}, ("token_type", "the value is missing")),
        ({"token_type": KINDS[:-1]}, ("token_type", f"found {COUNT - 1} numbers; expected {COUNT}")),
        ({"token_type": [*KINDS[:-1], 7]}, (LAST, "has the type 7; expected 1 to 6")),
        ({"token_type": [*KINDS[:-1], 0]}, (LAST, "has the type 0; expected 1 to 6")),
        ({"token_type": [*KINDS[:-1], 6]}, (LAST, "expected <0x00> to <0xFF>")),
        ({"token_type": [3, *KINDS[1:]]}, ("no piece has the type UNKNOWN",)),
        ({"token_type": [*KINDS[:9], 3, *KINDS[10:]]}, ("255 bytes have pieces; expected all 256",)),
        ({"add_space_prefix": 1}, ("add_space_prefix", "expected true or false")),
        ({"remove_extra_whitespaces": "no"}, ("remove_extra_whitespaces", "expected true or false")),
        ({"precompiled_charsmap": [70_000]}, ("precompiled_charsmap", "expected a list of bytes")),
        ({"precompiled_charsmap": 5}, ("precompiled_charsmap", "expected a list of bytes")),
        ({"model": "t5", "precompiled_charsmap": pack("<IIQ", 9, 0, 9) + b"\xff" * 9}, ("table of the normalizer",)),
        ({"bos_token_id": 9999}, ("bos_token_id", f"found 9999; expected an id, 0 to {COUNT - 1}")),
        ({"add_eos_token": 1}, ("add_eos_token", "expected true or false")),
        ({"surprise": 1}, ("surprise", "the value is not supported")),
    ],
)
def test_broken_vocabularies(tmp_path: Path, changes: dict[str, Any], named: tuple[str, ...]) -> None:
    fails(write(tmp_path / "x.gguf", piece_vocabulary(**changes)), *named)


def as_llama_cpp_writes(model: Path, path: Path) -> Path:
    """The file that the `gguf` package writes of a model's pieces, in the order of llama.cpp's converter."""
    from gguf import GGUFWriter
    from sentencepiece import sentencepiece_model_pb2

    proto = sentencepiece_model_pb2.ModelProto()
    proto.ParseFromString(model.read_bytes())
    rows = [(piece.piece.encode(), piece.score, piece.type) for piece in proto.pieces]
    rows += [(f"[PAD{number}]".encode(), -1000.0, 5) for number in range(len(rows), len(rows) + 3)]
    writer = GGUFWriter(path, "llama")
    writer.add_tokenizer_model({1: "t5", 2: "llama"}[proto.trainer_spec.model_type])
    writer.add_tokenizer_pre("default")
    writer.add_token_list([text for text, _, _ in rows])
    writer.add_token_scores([score for _, score, _ in rows])
    writer.add_token_types([kind for _, _, kind in rows])
    writer.add_add_space_prefix(proto.normalizer_spec.add_dummy_prefix)
    writer.add_remove_extra_whitespaces(proto.normalizer_spec.remove_extra_whitespaces)
    if proto.normalizer_spec.precompiled_charsmap:
        writer.add_precompiled_charsmap(proto.normalizer_spec.precompiled_charsmap)
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(2)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.close()
    return path


def digest(spec: TokenizerSpec) -> str:
    """The fingerprint without what a .model has of its own: no template, and a text for the unknown token."""
    assert spec.characters is not None
    return fingerprint(replace(spec, template=None, characters=replace(spec.characters, unknown_text=None)))


def round_trip(model: Path, folder: Path, texts: list[str]) -> None:
    """The ids of a model's files, ours and the `gguf` package's, are those of SentencePiece."""
    tok, judge = bbpe.load(model), peer(model)
    tok.save(folder / "ours.gguf")
    theirs, ours = bbpe.load(as_llama_cpp_writes(model, folder / "theirs.gguf")), bbpe.load(folder / "ours.gguf")
    ours.save(folder / "again.model")
    assert digest(tok.spec) == digest(ours.spec) == digest(theirs.spec)
    assert fingerprint(bbpe.load(folder / "again.model").spec) == fingerprint(ours.spec)
    again = peer(folder / "again.model")
    for text in texts:
        expected = judge.encode(text)
        for some in (tok, ours, theirs):
            same_ids(some, text, expected)
        assert tok.encode_to_numpy(text.encode(), threads=2).tolist() == expected
        assert again.encode(text) == expected
        assert ours.decode(expected) == tok.decode(expected).replace(" \u2047 ", "<unk>")


@pytest.mark.parametrize("size", [3_000, pytest.param(2_000_000, marks=pytest.mark.long)])
@pytest.mark.parametrize("name", REAL)
def test_real_models(
    name: str, size: int, vocab_path: Callable[[str], Path], tmp_path: Path, corpus: Callable[..., str]
) -> None:
    pytest.importorskip("gguf")
    model = vocab_path(name)
    tok, texts = bbpe.load(model), [corpus(source, size) for source in CORPORA]
    assert all(tok.decode(tok.encode(text)) == text for text in texts)
    texts += hard_strings(tok, size // 100, seed=41)
    if name == "mistral_v1.model":
        round_trip(model, tmp_path, texts)
        return
    for text in texts:
        same(tok, peer(model), text)
    with pytest.raises(VocabularyError, match=r"user-defined symbols such as .* llama\.cpp cuts out"):
        tok.save(tmp_path / "ours.gguf")


OPTIONS: list[dict[str, Any]] = [
    {"normalization_rule_name": rule, "remove_extra_whitespaces": squeezes, "add_dummy_prefix": prefix}
    for rule, squeezes, prefix in (("identity", False, False), ("nmt_nfkc", True, True), ("nmt_nfkc", False, True))
]


@pytest.mark.parametrize("options", OPTIONS, ids=lambda options: "-".join(map(str, options.values())))
def test_trained_unigram_models(tmp_path: Path, options: dict[str, Any]) -> None:
    pytest.importorskip("gguf")
    model = trained_unigram(tmp_path / "a.model", WORDS, 120, **options)
    round_trip(model, tmp_path, [*WORDS[:3], *(text.replace("\0", "") for text in TEXTS)])


def test_convert_verifies_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("gguf")
    model = trained_bpe(tmp_path, byte_fallback=True, normalization_rule_name="identity",
                        remove_extra_whitespaces=False)  # fmt: skip
    (tmp_path / "text.txt").write_text("\n".join(WORDS))
    target = tmp_path / "b.gguf"
    assert main(["convert", str(model), str(target), "--verify", str(tmp_path / "text.txt")]) == 0
    assert "the same ids" in capsys.readouterr().out
    assert digest(bbpe.load(target).spec) == digest(bbpe.load(model).spec)


@pytest.mark.parametrize(
    ("is_unigram", "options", "problem"),
    [
        (False, {"byte_fallback": True}, "found a normalization table, which llama.cpp does not apply for BPE"),
        (False, {"normalization_rule_name": "identity", "byte_fallback": True}, "runs of blanks become one"),
        (
            False,
            {"normalization_rule_name": "identity", "remove_extra_whitespaces": False},
            "no byte tokens, which llama.cpp needs",
        ),
        (True, {"byte_fallback": True}, "byte tokens, which llama.cpp does not use"),
    ],
)
def test_what_llama_cpp_does_not_follow_is_not_written(
    tmp_path: Path, is_unigram: bool, options: dict[str, Any], problem: str
) -> None:
    pytest.importorskip("gguf")
    if is_unigram:
        model = trained_unigram(tmp_path / "a.model", WORDS, 380, **options)
    else:
        model = trained_bpe(tmp_path, **options)
    with pytest.raises(VocabularyError, match=rf"b\.gguf: .*{problem}"):
        bbpe.load(model).save(tmp_path / "b.gguf")
    assert not (tmp_path / "b.gguf").exists()


def test_holes_between_ids_are_padded(tmp_path: Path) -> None:
    reader = pytest.importorskip("gguf").GGUFReader
    rows = [*piece_rows(), ("[PAD99]", 0.0, 5), ("last", -99.0, 4)]
    texts, scores, kinds = zip(*rows, strict=True)
    changes = {"tokens": [*texts], "scores": [*scores], "token_type": [*kinds]}
    tok = bbpe.load(write(tmp_path / "x.gguf", piece_vocabulary(**changes)))
    with pytest.raises(VocabularyError, match="options of tokens"):  # a .model finds user-defined symbols otherwise
        tok.save(tmp_path / "x.model")
    tok.save(tmp_path / "y.gguf")
    fields = reader(tmp_path / "y.gguf").fields
    hole = len(rows) - 2
    assert fields[PREFIX + "tokens"].contents()[hole:] == [f"[PAD{hole}]", "last"]
    assert fields[PREFIX + "token_type"].contents()[hole:] == [5, 4]
    assert fingerprint(bbpe.load(tmp_path / "y.gguf").spec) == fingerprint(tok.spec)
