"""Limits of files to the letter: the largest that is read, and the error for one more."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from class_folders import model
from gguf_files import gguf
from vocabularies import byte_level, document, keys, vocab_of, write_json

import bbpe
from bbpe import formats
from bbpe.errors import VocabularyError
from bbpe.formats.common.given import rank_text
from bbpe.formats.gguf import metadata
from bbpe.formats.sentencepiece.piece_rows import PieceRow, padded

pb2 = pytest.importorskip("sentencepiece.sentencepiece_model_pb2")


def refused(path: Path, problem: str, **options: Any) -> None:
    with pytest.raises(VocabularyError) as caught:
        bbpe.load(path, **options)
    assert str(path) in str(caught.value)
    assert problem in str(caught.value)


def test_the_longest_piece(tmp_path: Path) -> None:
    made = pb2.ModelProto.FromString(model("?<unk> <s>"))
    made.pieces.add(piece="a" * 1024, score=-1.0)
    path = tmp_path / "m.model"
    path.write_bytes(made.SerializeToString())
    assert bbpe.load(path).encode("a" * 1024)[-1:] == [len(made.pieces) - 1]
    made.pieces[-1].piece += "a"
    path.write_bytes(made.SerializeToString())
    refused(path, "has 1025 characters; expected at most 1024")


def test_the_longest_name_of_gguf(tmp_path: Path) -> None:
    path = tmp_path / "x.gguf"
    for length in ((1 << 16) - 1, 1 << 16):
        path.write_bytes(gguf({"x" * length: 5}))
        if length < 1 << 16:
            assert metadata.read_metadata(path, lambda _: True) == {"x" * length: 5}
        else:
            with pytest.raises(VocabularyError, match="a name of 65536 bytes; expected at most 65535"):
                metadata.read_metadata(path, lambda _: True)


def test_the_longest_numbers_and_lines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "merges.txt").write_text("")
    for digits in ("9".zfill(20), "9".zfill(21)):
        lines = [f"{key} {number}" for key, number in keys().items() if number != 9]
        nine = next(key for key, number in keys().items() if number == 9)
        (tmp_path / "vocab.txt").write_text("\n".join([*lines, f"{nine} {digits}"]) + "\n", "utf-8")
        if len(digits) == 20:
            assert bbpe.load(tmp_path / "vocab.txt", pattern="gpt2").vocab_size == len(keys())
        else:
            refused(tmp_path / "vocab.txt", "line 267: ", pattern="gpt2")
    path = tmp_path / "rwkv_vocab_v20230424.txt"
    rows = [f"{byte + 1} {bytes([byte])!r} 1" for byte in range(256)]
    monkeypatch.setattr("bbpe.formats.rwkv._LONGEST", max(map(len, rows)))
    path.write_text("\n".join(rows) + "\n")
    assert bbpe.load(path).encode("a\xff") == [98, 196, 192]
    path.write_text("\n".join([*rows[:-1], f"0{rows[-1]}"]) + "\n")
    refused(path, "line 256: found \"0256 b'")


def test_the_most_named_ranks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bbpe.formats.tiktoken._MOST_NAMED", 5)
    size = len(vocab_of())
    (tmp_path / "x.tiktoken").write_bytes(rank_text(vocab_of()))
    for last in (size + 5, size + 6):
        rows = {str(last): {"content": "<last>", "special": True}}
        write_json(tmp_path / "tokenizer_config.json", {"added_tokens_decoder": rows})
        if last == size + 5:
            tok = bbpe.load(tmp_path, pattern="gpt2")
            assert tok.special_tokens["<last>"] == last
            assert tok.special_tokens[f"<|reserved_token_{size}|>"] == size
            assert len(tok.special_tokens) == 6
        else:
            with pytest.raises(VocabularyError, match=f"found the id {last}; expected at most {size + 5}"):
                bbpe.load(tmp_path, pattern="gpt2")


def test_the_most_padding_of_gguf(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bbpe.formats.sentencepiece.piece_rows._MOST_PADDING", 3)
    rows = {0: PieceRow("a", -1.0, 1), 2: PieceRow("b", -2.0, 1)}
    assert [row.text for row in padded(rows, 7)] == ["a", "[PAD1]", "b", *(f"[PAD{number}]" for number in range(3, 7))]
    with pytest.raises(VocabularyError, match="2 tokens have ids up to 7, but GGUF needs a token for each id"):
        padded(rows, 8)
    with pytest.raises(VocabularyError, match="has the name of the padding for another id"):
        padded({0: PieceRow("[PAD1]", -1.0, 1)}, 2)


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        ({f"x{number}": number for number in range(256)}, "found 256 tokens and ids under another name"),
        ({f"x{number}": number for number in range(255)}, "its fields are 'x0', 'x1', 'x2', 'x3', 'x4'; expected"),
        ({**{f"x{number}": number for number in range(256)}, "y": "z"}, "its fields are 'x0'"),
        ({"unk_id": 0, "vocab": {}}, "model.vocab: found {}; expected a list"),
    ],
)
def test_json_of_another_name(tmp_path: Path, value: Any, problem: str) -> None:
    refused(write_json(tmp_path / "x.json", value), problem)


@pytest.mark.parametrize("name", ["start", "stop"])
def test_the_most_stripped_characters(tmp_path: Path, name: str) -> None:
    for count in (1 << 20, (1 << 20) + 1):
        strip = {"type": "Strip", "content": "x", "start": 0, "stop": 0, name: count}
        decoder = {"type": "Sequence", "decoders": [byte_level(), strip]}
        path = write_json(tmp_path / "tokenizer.json", document(decoder=decoder))
        if count == 1 << 20:
            assert bbpe.load(path).decode(bbpe.load(path).encode("xxaxx")) == {"start": "axx", "stop": "xxa"}[name]
        else:
            refused(path, f"{name}: found {count}; expected 0 to {1 << 20}")


@pytest.mark.parametrize(
    ("name", "lines", "shown", "place"),
    [
        ("tiktoken", ["A" * 70 + " x"], 60, "line 1"), ("tiktoken", ["YQ== 0", "A" * 61], 60, "line 2"),
        ("tiktoken", ["A" * 60], 60, "line 1"), ("codes", ["#version: 0.2", "A" * 70], 60, "line 2"),
        ("codes", ["#version: 0.1", "e n", "A" * 70], 60, "line 3"), ("codes", ["e n", "A" * 70], 60, "line 2"),
        ("codes", ["e n 5", "A" * 70], 60, "line 2"), ("codes", ["#" + "A" * 70], 40, "line 1"),
        ("rwkv", ["A" * 70], 60, "line 1"), ("youtokentome", ["A" * 70], 60, "line 1"),
        ("youtokentome", ["1 0", "A" * 70, "-1 -1 -1 -1"], 60, "line 2"), ("minbpe", ["A" * 70], 40, "line 1"),
        ("minbpe", ["minbpe v1", "", "A" * 70], 40, "line 3"),
        ("minbpe", ["minbpe v1", "", "1", "A" * 70], 40, "line 4"),
        ("minbpe", ["minbpe v1", "", "0", "97 97", "A" * 70], 40, "line 5"),
    ],
)  # fmt: skip
def test_the_beginning_of_a_long_line_is_shown(
    tmp_path: Path, name: str, lines: list[str], shown: int, place: str
) -> None:
    path = tmp_path / "x"
    path.write_text("\n".join(lines) + "\n", "utf-8")
    with pytest.raises(VocabularyError) as caught:
        formats.FORMATS[name].load(path, formats.Given())
    found = next(line for line in lines if "A" * 60 in line)[:shown]
    assert f"x: {place}: found {found!r}; expected " in str(caught.value)


@pytest.mark.parametrize("name", ["gpt2", "vocab_txt"])
@pytest.mark.parametrize("wrong", ["merges.txt", "vocab.txt"])
def test_the_beginning_of_a_long_line_of_a_pair_is_shown(tmp_path: Path, name: str, wrong: str) -> None:
    write_json(tmp_path / "vocab.json", keys())
    rows = "".join(f"{key} {number}\n" for key, number in keys().items())
    (tmp_path / "vocab.txt").write_text(rows + ("A" * 70 if wrong == "vocab.txt" else ""), "utf-8")
    (tmp_path / "merges.txt").write_text("#version: 0.2\nt h\n" + "A" * 70 if wrong == "merges.txt" else "t h\n")
    if (name, wrong) == ("gpt2", "vocab.txt"):  # it reads another file
        assert formats.FORMATS[name].load(tmp_path, formats.Given("gpt2")).vocab
        return
    with pytest.raises(VocabularyError) as caught:
        formats.FORMATS[name].load(tmp_path, formats.Given("gpt2"))
    line = 3 if wrong == "merges.txt" else len(keys()) + 1
    assert f"{wrong}: line {line}: found {'A' * 60!r}; expected " in str(caught.value)
