"""Tokens that are added at run time, with the ids of HF's `tokenizers`."""

from __future__ import annotations

from pathlib import Path

import pytest

import bbpe
from bbpe.spec.rules import Lowercase
from bbpe.spec.spec import TextRules

TOKENS = ["<tool>", "low", "Ġlow", " low", "é", "<s>", "lowe", "<tool>"]
TEXTS = ["low lower<tool>lowest é", "<s>low", " lowlow <TOOL>", "slow"]


@pytest.fixture(scope="module")
def tok() -> bbpe.Tokenizer:
    return bbpe.train_from_iterator(["low lower lowest low low"], 262, special_tokens=["<s>"])


@pytest.mark.parametrize("special", [False, True])
def test_as_tokenizers(tok: bbpe.Tokenizer, special: bool, tmp_path: Path) -> None:
    hf = pytest.importorskip("tokenizers")
    tok.save(tmp_path / "tokenizer.json")
    peer = hf.Tokenizer.from_file(str(tmp_path / "tokenizer.json"))
    (peer.add_special_tokens if special else peer.add_tokens)(TOKENS)
    more = tok.with_added_tokens(TOKENS, special=special)
    for text in TEXTS:
        assert more.encode(text, allowed_special="all") == peer.encode(text).ids, text
    assert more.vocab_size == peer.get_vocab_size()
    assert {token: more.token_to_id(token) for token in TOKENS} == {token: peer.token_to_id(token) for token in TOKENS}
    more.save(tmp_path / "more.json")
    assert bbpe.load(tmp_path / "more.json") == more
    assert tok.vocab_size == 262


def test_tokens_are_found_in_normalized_text() -> None:
    spec = bbpe.train_from_iterator(["low lower"], 260).spec
    tok = bbpe.Tokenizer(type(spec)(**{**vars(spec), "rules": TextRules((Lowercase(),))}))
    assert tok.with_added_tokens(["<T>"]).encode("<t><T>") == [tok.vocab_size] * 2
    assert tok.with_added_tokens(["<T>"], special=True).encode("<t>", allowed_special="all") != [tok.vocab_size]


def test_wrong_tokens(tok: bbpe.Tokenizer) -> None:
    for wrong in ("<s>", [b"<s>"], [3]):
        with pytest.raises(TypeError):
            tok.with_added_tokens(wrong)  # type: ignore[arg-type]
    # their ids would differ from run to run, or are not those that are given
    with pytest.raises(TypeError, match=r"not set: in each run.*give sorted\(tokens\)"):
        tok.with_added_tokens({"<b>", "<a>"})
    with pytest.raises(TypeError, match=r"not dict: .*give list\(tokens\)"):
        tok.with_added_tokens({"<a>": 300})
    assert tok.with_added_tokens({"<a>": 300}.keys()) == tok.with_added_tokens(["<a>"])
    with pytest.raises(ValueError, match="empty"):
        tok.with_added_tokens([""])
    assert tok.with_added_tokens([]) == tok


def test_a_token_that_is_added_again_is_of_the_last_kind() -> None:
    """A special token is found as written, whatever it was before; and the other way round."""
    spec = bbpe.train_from_iterator(["low lower"], 260).spec
    plain = bbpe.Tokenizer(type(spec)(**{**vars(spec), "rules": TextRules((Lowercase(),))}))
    added = plain.with_added_tokens(["<T>"])
    special = added.with_added_tokens(["<T>"], special=True)
    number = plain.vocab_size
    assert (added.encode("<t>"), added.added_tokens, added.special_tokens) == ([number], {"<T>": number}, {})
    assert (special.added_tokens, special.special_tokens) == ({}, {"<T>": number})
    assert number not in special.encode("<t>", allowed_special="all")
    assert special.encode("<T>", allowed_special="all") == [number]
    assert [tok.is_special_token(number) for tok in (plain, added, special)] == [False, False, True]
    assert [len(tok) for tok in (plain, added, special)] == [260, 261, 261]
    again = special.with_added_tokens(["<T>"])
    assert again == added
    # a token of the vocabulary is counted once
    known = plain.with_added_tokens(["low", "<x>"], special=True)
    assert len(known) == len(set(known.get_vocab().values())) == 261
    assert sorted(known.special_tokens.values()) == sorted([plain.token_to_id("low"), number])
