"""SentencePiece models of BPE whose pieces have equal scores: of equal pairs the leftmost merges first."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import bbpe
from bbpe.errors import VocabularyError
from bbpe.spec.fingerprint import fingerprint

sentencepiece = pytest.importorskip("sentencepiece")
pytest.importorskip("google.protobuf")
proto = pytest.importorskip("sentencepiece.sentencepiece_model_pb2")

LETTERS = "ab\u4e2d\u6587\u2581"
BYTES = [f"<0x{byte:02X}>" for byte in range(256)]


def written(path: Path, rng: random.Random, scores: list[float], *, has_bytes: bool) -> Any:
    """A model with random pieces of a few letters, and SentencePiece's processor of it."""
    model = proto.ModelProto()
    model.trainer_spec.model_type = 2
    model.trainer_spec.byte_fallback = has_bytes
    model.normalizer_spec.remove_extra_whitespaces = False
    model.pieces.add(piece="<unk>", score=0, type=2)
    for key in BYTES if has_bytes else ():
        model.pieces.add(piece=key, score=0, type=6)
    for letter in LETTERS:
        model.pieces.add(piece=letter, score=-99.0)
    words = {"".join(rng.choices(LETTERS, k=rng.choice((2, 2, 3, 4, 5)))) for _ in range(rng.randint(2, 40))}
    for word in sorted(words, key=lambda _: rng.random()):
        model.pieces.add(piece=word, score=rng.choice(scores))
    path.write_bytes(model.SerializeToString())
    return sentencepiece.SentencePieceProcessor(model_file=str(path))


@pytest.mark.parametrize("has_bytes", [False, True])
@pytest.mark.parametrize("scores", [[0.0], [0.0, -1.0], [-1.5, -2.5, -3.5, -4.5, -5.5, -6.5]], ids=len)
def test_random_models(tmp_path: Path, scores: list[float], has_bytes: bool) -> None:
    rng = random.Random(len(scores))
    for number in range(3):
        path = tmp_path / f"{number}.model"
        judge = written(path, rng, scores, has_bytes=has_bytes)
        tok = bbpe.load(path)
        assert tok.spec.characters is not None
        texts = ["".join(rng.choices("ab\u4e2d\u6587 \u6771", k=rng.randint(0, 24))) for _ in range(30)]
        texts += ["".join(rng.choices("ab\u4e2d\u6587 ", k=rng.randint(150, 600))) for _ in range(2)]
        expected = [judge.encode(text) for text in texts]
        assert [tok.encode(text) for text in texts] == expected
        assert tok.encode_batch(texts) == expected
        assert [tok.count_tokens(text) for text in texts] == list(map(len, expected))
        for text, ids in zip(texts, expected, strict=True):
            assert tok.encode_with_offsets(text)[0] == ids
        for suffix in ("model", "gguf") if has_bytes else ("model",):
            tok.save(tmp_path / f"again.{suffix}")
            again = bbpe.load(tmp_path / f"again.{suffix}")
            # GGUF has a text of its own for the unknown token, and no names
            spec = replace(again.spec, characters=tok.spec.characters, names=tok.spec.names)
            assert fingerprint(spec) == fingerprint(tok.spec)
            assert again.encode_batch(texts) == expected


def test_levels_are_part_of_a_tokenizer(tmp_path: Path) -> None:
    """The order of equal pairs is a part of what is compared and saved, and a list of merges cannot have it."""
    rng = random.Random(3)
    written(tmp_path / "equal.model", rng, [0.0], has_bytes=True)
    tok = bbpe.load(tmp_path / "equal.model")
    assert len(set(tok.spec.merge_levels)) == 1
    with pytest.raises(VocabularyError, match="equal scores"):
        tok.save(tmp_path / "tokenizer.json")
    written(tmp_path / "other.model", random.Random(3), [float(-number) for number in range(900)], has_bytes=True)
    other = bbpe.load(tmp_path / "other.model")
    assert other.vocab_size == tok.vocab_size
    assert other != tok
    other.save(tmp_path / "tokenizer.json")


def test_a_long_text_in_parts(tmp_path: Path) -> None:
    """Threads part a text where no piece crosses; the parts merge as the whole does."""
    rng = random.Random(8)
    judge = written(tmp_path / "m.model", rng, [0.0, -1.0], has_bytes=True)
    tok = bbpe.load(tmp_path / "m.model")
    text = "".join(rng.choices("ab\u4e2d\u6587\u6771 ", k=300_000))
    expected = judge.encode(text)
    assert tok.encode_to_numpy(text, threads=2).tolist() == expected
    assert list(tok.encode_iterable(text[i : i + 777] for i in range(0, len(text), 777))) == expected
