"""Protocol Buffers on the wire, judged by the package `protobuf`; SentencePiece models load without it."""

from __future__ import annotations

import random
import subprocess
import sys
from pathlib import Path

import pytest

import bbpe
from bbpe.formats.sentencepiece.model_file import _model_of
from bbpe.formats.sentencepiece.protobuf import Message, WireError, bytes_field, fields_of, float_of, number_field

NUMBERS = [0, 1, 127, 128, 300, (1 << 31) - 1, 1 << 40, -1, -(1 << 63), (1 << 63) - 1]


def test_numbers_and_bytes() -> None:
    for number in NUMBERS:
        message = Message.of(number_field(3, 5) + bytes_field(200, b"x" * 300) + number_field(3, number))
        assert message.number(3, 9) == number
        assert message.data(200) == b"x" * 300
    assert Message.of(b"").number(1, 7) == 7
    assert Message.of(b"").data(1, b"a") == b"a"


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (b"\x08", "ends within a number"),
        (b"\x08" + b"\xff" * 11, "more than ten bytes"),
        (b"\x12\x05ab", "found 2 of 5 bytes"),
        (b"\x15ab", "found 2 of 4 bytes"),
        (b"\x0b", "the kind 3"),
        (b"\x00\x01", "field 0"),
    ],
)
def test_what_is_no_message(data: bytes, problem: str) -> None:
    with pytest.raises(WireError, match=problem):
        list(fields_of(data))


def test_wrong_kinds() -> None:
    message = Message.of(number_field(1, 1) + bytes_field(2, b"a"))
    for read in (lambda: message.data(1), lambda: message.number(2, 0), lambda: float_of(b"ab")):
        with pytest.raises(WireError):
            read()


def test_models_of_any_spelling() -> None:
    """Long texts, types, missing and unusual fields, and fields in another order."""
    proto = pytest.importorskip("sentencepiece.sentencepiece_model_pb2")
    rng = random.Random(2)
    for _ in range(30):
        model = proto.ModelProto()
        for number in range(rng.randint(1, 40)):
            row = model.pieces.add(piece=rng.choice("ab\u4e2d") * rng.choice((1, 2, 40, 130)) + str(number))
            if rng.random() < 0.8:
                row.score = rng.uniform(-9, 9)
            if rng.random() < 0.5:
                row.type = rng.choice((1, 2, 3, 4, 6))
        model.trainer_spec.model_type = rng.choice((1, 2, 3, 4))
        model.trainer_spec.byte_fallback = rng.random() < 0.5
        model.trainer_spec.input.append("corpus.txt")
        model.normalizer_spec.add_dummy_prefix = rng.random() < 0.5
        data = model.SerializeToString()
        other = proto.ModelProto(normalizer_spec={"remove_extra_whitespaces": False}).SerializeToString()
        for joined in (data, data + other, other + data):
            expected = proto.ModelProto.FromString(joined)
            found = _model_of(joined)
            assert [tuple(row) for row in found.pieces] == [(row.piece, row.score, row.type) for row in expected.pieces]
            assert found.byte_fallback == expected.trainer_spec.byte_fallback
            assert found.add_dummy_prefix == expected.normalizer_spec.add_dummy_prefix
            assert found.remove_extra_whitespaces == expected.normalizer_spec.remove_extra_whitespaces
            assert found.unknown_text == expected.trainer_spec.unk_surface


def test_without_packages(tmp_path: Path) -> None:
    tok = bbpe.train_from_iterator(["see my dogs"] * 9, 290, model="unigram")
    tok.save(tmp_path / "a.model")
    code = (
        "import sys; sys.modules['sentencepiece'] = sys.modules['google.protobuf'] = None; import bbpe\n"
        f"tok = bbpe.load({str(tmp_path / 'a.model')!r}); tok.save({str(tmp_path / 'b.model')!r})"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
    assert (tmp_path / "a.model").read_bytes() == (tmp_path / "b.model").read_bytes()
    if sys.modules.get("sentencepiece"):
        proto = pytest.importorskip("sentencepiece.sentencepiece_model_pb2")
        data = (tmp_path / "a.model").read_bytes()
        assert proto.ModelProto.FromString(data).SerializeToString() == data
