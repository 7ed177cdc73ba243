"""Unigram models with byte fallback keep U+2581 in texts, and so do their files where a format can express it."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

import bbpe

MARK = "\u2581"
TEXTS = ["see my eyes first", "see my dogs", f"the {MARK} of a{MARK}b"] * 20


@pytest.fixture(scope="module")
def tok() -> bbpe.Tokenizer:
    return bbpe.train_from_iterator(TEXTS, 300, model="unigram")


def soups() -> list[str]:
    rng = random.Random(1)
    pool = [*"aesmy dogs ", MARK, MARK * 2, "see", " my", "\u00e9", "\u6771", "\n"]
    return ["", MARK, "see my dogs", *("".join(rng.choices(pool, k=rng.randint(1, 20))) for _ in range(200))]


def test_every_text_comes_back(tok: bbpe.Tokenizer, tmp_path: Path) -> None:
    assert not any(MARK.encode() in token for token in tok.spec.vocab.values())
    for suffix in ("json", "model"):
        if suffix == "model":
            pytest.importorskip("sentencepiece.sentencepiece_model_pb2")
        tok.save(tmp_path / f"a.{suffix}")
        assert bbpe.load(tmp_path / f"a.{suffix}") == tok
    for text in soups():
        ids = tok.encode(text)
        assert tok.decode(ids) == text
        assert tok.encode_with_offsets(text)[0] == ids
        assert tok.encode_nbest(text, 1)[0][0] == ids
        assert tok.count_tokens(text) == len(ids)


def test_other_tools(tok: bbpe.Tokenizer, tmp_path: Path) -> None:
    """HF's `tokenizers` has the same ids and texts; SentencePiece takes U+2581 for a blank."""
    tokenizers, sentencepiece = pytest.importorskip("tokenizers"), pytest.importorskip("sentencepiece")
    tok.save(tmp_path / "a.json")
    tok.save(tmp_path / "a.model")
    judge = tokenizers.Tokenizer.from_file(str(tmp_path / "a.json"))
    other = sentencepiece.SentencePieceProcessor(model_file=str(tmp_path / "a.model"))
    for text in soups():
        ids = tok.encode(text)
        assert judge.encode(text).ids == ids, text
        assert judge.decode(ids) == text
        assert other.encode(text) == tok.encode(text.replace(MARK, " ")), text


def test_symbols_have_no_mark() -> None:
    with pytest.raises(ValueError, match=r"user_defined_symbols\[0\]: .* holds U\+2581"):
        bbpe.Unigram(user_defined_symbols=[f"a{MARK}"])
