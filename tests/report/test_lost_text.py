"""Text that has no token, of models without an unknown token, is counted sign by sign."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

import bbpe
from bbpe.spec.models import WordLevelModel
from bbpe.spec.rules import Characters

TEXTS = ["low lower", "", "lost zq\u4e16 low", "zzz"]
BYTES = bbpe.train_from_iterator(["low lower lost"], 262)
LETTERS = bbpe.train_from_iterator(["low lower lost"], 12, model=bbpe.BPE(alphabet="chars", word_start="\u2581"))
PIECES = bbpe.train_from_iterator(["low lower lost"], 30, model="wordpiece")
MISSING = bbpe.Tokenizer(replace(
    BYTES.spec, vocab={token_id: token for token_id, token in BYTES.spec.vocab.items() if token != b"z"},
    characters=Characters(are_bytes=True),
))  # fmt: skip


def without_unknown(tok: bbpe.Tokenizer) -> bbpe.Tokenizer:
    spec: Any = tok.spec
    if spec.model is not None:
        return bbpe.Tokenizer(replace(spec, model=replace(spec.model, unknown=None)))
    return bbpe.Tokenizer(replace(spec, characters=replace(spec.characters, unknown=None)))


def letters_of(tok: bbpe.Tokenizer, text: str) -> int:
    return sum(letter.encode() not in set(tok.spec.vocab.values()) for letter in text)


LOSSY = {
    "characters": (without_unknown(LETTERS), sum(letters_of(LETTERS, text) for text in TEXTS)),
    "bytes": (MISSING, sum(text.count("z") for text in TEXTS)),
    "pieces": (without_unknown(PIECES), 3),
    "words": (bbpe.Tokenizer(replace(PIECES.spec, model=WordLevelModel(None), special_tokens={})), 3),
}


@pytest.mark.parametrize("name", LOSSY)
def test_what_is_left_out_is_counted_and_said(name: str) -> None:
    tok, lost = LOSSY[name]
    found = bbpe.evaluate({"lossy": tok, "bytes": BYTES}, texts=TEXTS)
    assert found.rows[0].lost == lost > 0
    assert f"lossy leaves out what has no token (corpus {lost})" in " ".join(str(found).split())
    assert found.table("tokens").best == {(0, 2)}
    assert found.rows[0].tokens == sum(len(tok.encode(text)) for text in TEXTS)


@pytest.mark.parametrize("tok", [BYTES, PIECES, LETTERS, LOSSY["characters"][0]])
def test_nothing_is_left_out(tok: bbpe.Tokenizer) -> None:
    assert bbpe.evaluate(tok, texts=["low lower"]).rows[0].lost == 0
