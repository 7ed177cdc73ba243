"""A trained Unigram vocabulary has each key once, whatever texts its fixed tokens have, and files hold it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import bbpe

MARK = "\u2581"
ONE_WORD = r"\S+|\s+"


@pytest.mark.parametrize("name", ["a.json", "a.model"])
@pytest.mark.parametrize(
    ("texts", "options", "model"),
    [
        (["low A lower x"] * 3, {"special_tokens": [f"{MARK}low"]}, {}),
        (["a <e of> b <e of>"] * 9, {"special_tokens": [f"<e{MARK}of>"], "pattern": "none"}, {}),
        (["<unk> a <unk>x <unk>"] * 9, {"pattern": ONE_WORD}, {}),
        (["<0x41> a <0x41>x <0x41>"] * 9, {"pattern": ONE_WORD}, {}),
        (["<0x41> a <0x41>x <0x41>"] * 9, {"pattern": ONE_WORD}, {"byte_fallback": False}),
        (["<|reserved_0|> a <|reserved_0|>x"] * 9, {"pattern": ONE_WORD}, {"pad_vocab_to": 8}),
        (["low lower"] * 3, {"special_tokens": [f"{MARK}lower"]}, {"user_defined_symbols": [" low"]}),
    ],
    ids=["special", "inner mark", "unknown", "byte", "no bytes", "reserved", "symbol"],
)
def test_no_learned_token_has_the_key_of_another(
    texts: list[str], options: Any, model: Any, name: str, tmp_path: Path
) -> None:
    tok = bbpe.train_from_iterator(texts, 320, model=bbpe.Unigram(**model), **options)
    assert len(tok.get_vocab()) == len(tok)
    tok.save(tmp_path / name)
    again = bbpe.load(tmp_path / name)
    assert again.get_vocab() == tok.get_vocab()
    assert [again.encode(text) for text in texts] == [tok.encode(text) for text in texts]


@pytest.mark.parametrize(
    ("symbol", "specials", "problem"),
    [
        ("<0x41>", [], r"user_defined_symbols\[0\]: '<0x41>' is how files write a byte"),
        (f"{MARK}low", [], r"user_defined_symbols\[0\]: '▁low' holds U\+2581"),
        ("a\ud800", [], r"user_defined_symbols\[0\]: .* holds half a surrogate pair"),
        (" low", [f"{MARK}low"], r"'▁low' is empty or given twice .* \(files write U\+2581 for a blank\)"),
    ],
)
def test_a_symbol_whose_key_is_another_is_refused(symbol: str, specials: list[str], problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        bbpe.train_from_iterator(
            ["low"], 300, model=bbpe.Unigram(user_defined_symbols=[symbol]), special_tokens=specials
        )
