"""SentencePiece models of BPE whose pieces have equal scores: of equal pairs the leftmost merges first."""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
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


def written(path: Path, pieces: Iterable[tuple[str, float]], *, has_bytes: bool) -> Any:
    """A model with these pieces beside those of a few letters, and SentencePiece's processor of it."""
    model = proto.ModelProto()
    model.trainer_spec.model_type = 2
    model.trainer_spec.byte_fallback = has_bytes
    model.normalizer_spec.remove_extra_whitespaces = False
    model.pieces.add(piece="<unk>", score=0, type=2)
    for key in BYTES if has_bytes else ():
        model.pieces.add(piece=key, score=0, type=6)
    for letter in LETTERS:
        model.pieces.add(piece=letter, score=-99.0)
    for word, score in pieces:
        model.pieces.add(piece=word, score=score)
    path.write_bytes(model.SerializeToString())
    return sentencepiece.SentencePieceProcessor(model_file=str(path))


def random_pieces(rng: random.Random, scores: Sequence[float], share_of_runs: float = 0.0) -> dict[str, float]:
    """Random pieces, some of which no merge makes; a share of them is one letter several times."""
    words = [
        rng.choice(LETTERS) * rng.randint(2, 9)
        if rng.random() < share_of_runs
        else "".join(rng.choices(LETTERS, k=rng.choice((2, 2, 3, 4, 5))))
        for _ in range(rng.randint(2, 40))
    ]
    return {word: rng.choice(scores) for word in words}


@pytest.mark.parametrize("has_bytes", [False, True])
@pytest.mark.parametrize("scores", [[0.0], [0.0, -1.0], [-1.5, -2.5, -3.5, -4.5, -5.5, -6.5]], ids=len)
def test_random_models(tmp_path: Path, scores: list[float], has_bytes: bool) -> None:
    rng = random.Random(len(scores))
    for number in range(3):
        path = tmp_path / f"{number}.model"
        judge = written(path, random_pieces(rng, scores).items(), has_bytes=has_bytes)
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


def test_runs_of_one_letter(tmp_path: Path) -> None:
    """The leftmost of equal runs is not the longest one where a shorter run merges before them."""
    pieces = {"aa": -1.0, "aaa": -2.0, "aaaa": -3.0, "aaaaa": -3.0}
    judge = written(tmp_path / "m.model", pieces.items(), has_bytes=True)
    tok = bbpe.load(tmp_path / "m.model")
    assert judge.encode("a" * 7, out_type=str)[-2:] == ["aaaa", "aaa"]
    for count in range(40):
        text = "b" + "a" * count
        assert tok.encode(text) == judge.encode(text)
    assert tok.spec.merge_levels
    # that there are levels depends on what merges can make
    written(tmp_path / "m.model", {"aa": -1.0, "aaa": -1.0, "abab": -1.0}.items(), has_bytes=True)
    assert not bbpe.load(tmp_path / "m.model").spec.merge_levels


@pytest.mark.parametrize("share_of_runs", [0.3, 0.6, 0.9, 1.0])
def test_models_of_runs_are_saved(tmp_path: Path, share_of_runs: float) -> None:
    """Pieces that nothing makes get other scores; what can merge keeps its levels, and its ids those of the judge."""
    rng = random.Random(int(10 * share_of_runs))
    with_levels = 0
    for number in range(20):
        has_bytes = number % 4 == 0
        scores = range(-rng.choice((1, 2, 3, 6, 9)), 0)
        judge = written(tmp_path / "m.model", random_pieces(rng, scores, share_of_runs).items(), has_bytes=has_bytes)
        tok = bbpe.load(tmp_path / "m.model")
        with_levels += bool(tok.spec.merge_levels)
        texts = ["".join(rng.choice("ab\u4e2d ") * rng.choice((1, 1, 2, 3, 7)) for _ in range(15)) for _ in range(10)]
        expected = [judge.encode(text) for text in texts]
        assert tok.encode_batch(texts) == expected
        for suffix in ("model", "gguf") if has_bytes else ("model",):
            tok.save(tmp_path / f"again.{suffix}")
            again = bbpe.load(tmp_path / f"again.{suffix}")
            assert again.spec.merge_levels == tok.spec.merge_levels
            assert again.encode_batch(texts) == expected
    assert 5 <= with_levels <= 19


def test_levels_are_part_of_a_tokenizer(tmp_path: Path) -> None:
    """The order of equal pairs is a part of what is compared and saved, and a list of merges cannot have it."""
    rng = random.Random(3)
    pieces = random_pieces(rng, [0.0])
    written(tmp_path / "equal.model", pieces.items(), has_bytes=True)
    tok = bbpe.load(tmp_path / "equal.model")
    assert len(set(tok.spec.merge_levels)) == 1
    with pytest.raises(VocabularyError, match="equal scores"):
        tok.save(tmp_path / "tokenizer.json")
    written(tmp_path / "other.model", ((word, -i) for i, word in enumerate(pieces)), has_bytes=True)
    other = bbpe.load(tmp_path / "other.model")
    assert other.vocab_size == tok.vocab_size
    assert other != tok
    other.save(tmp_path / "tokenizer.json")


def test_a_long_text_in_parts(tmp_path: Path) -> None:
    """Threads part a text where no piece crosses; the parts merge as the whole does."""
    rng = random.Random(8)
    judge = written(tmp_path / "m.model", random_pieces(rng, [0.0, -1.0]).items(), has_bytes=True)
    tok = bbpe.load(tmp_path / "m.model")
    text = "".join(rng.choices("ab\u4e2d\u6587\u6771 ", k=300_000))
    expected = judge.encode(text)
    assert tok.encode_to_numpy(text, threads=2).tolist() == expected
    assert list(tok.encode_iterable(text[i : i + 777] for i in range(0, len(text), 777))) == expected
