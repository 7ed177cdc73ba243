"""A comparison has the tokens that texts get, also of tokenizers that put a blank in front of a text."""

from __future__ import annotations

from dataclasses import replace
from itertools import permutations

import pytest

import bbpe
from bbpe.spec.rules import Prefix
from bbpe.spec.spec import TextRules

TEXTS = ["the cat sat on the mat and (the cat) sat on it", "mats", " the dog ", "", "the cat sat", "  sat  on"]
BYTES = bbpe.train_from_iterator(TEXTS * 9, 290)


def characters(size: int) -> bbpe.Tokenizer:
    return bbpe.train_from_iterator(TEXTS * 9, size, model=bbpe.BPE(alphabet="chars", word_start="\u2581"))


TOKS = {
    "bytes": BYTES,
    "prefix": bbpe.Tokenizer(replace(BYTES.spec, rules=TextRules(prefix=Prefix(" ")))),
    "first": bbpe.Tokenizer(replace(BYTES.spec, rules=TextRules(prefix=Prefix(" ", first=True)))),
    "characters": characters(22),
    "more": characters(40),
    "unigram": bbpe.train_from_iterator(TEXTS * 9, 290, model="unigram"),
    "wordpiece": bbpe.train_from_iterator(TEXTS * 9, 50, model="wordpiece"),
}


def tokens_of(tok: bbpe.Tokenizer, text: str) -> tuple[bytes, ...]:
    return tuple(map(tok.id_to_token, tok.encode(text)))


@pytest.mark.parametrize(("left", "right"), [*permutations(TOKS, 2)])
def test_tokens_are_those_of_the_texts(left: str, right: str) -> None:
    both = TOKS[left], TOKS[right]
    found = bbpe.compare(*both, texts=TEXTS, most=1000)
    rows = [bbpe.evaluate(tok, texts=TEXTS).rows[0].tokens for tok in both]
    assert found.tokens == tuple(rows) == tuple(sum(len(tok.encode(text)) for text in TEXTS) for tok in both)
    for pair in found.pairs:
        for tok, tokens in zip(both, (pair.left, pair.right), strict=True):
            every = [tokens_of(tok, text) for text in TEXTS if pair.pretoken.decode() in text]
            assert any(row[start : start + len(tokens)] == tokens for row in every for start in range(len(row) + 1))


def test_pretokens_that_differ_most_come_first() -> None:
    """By tokens more or fewer in all, then by how often they occur, then as they come in the corpus."""
    known = [*(bytes([byte]) for byte in range(256)), b"ab", b"cd", b"cdcd"]
    one, two = (
        bbpe.Tokenizer.from_ranks({token: rank for rank, token in enumerate(known[:size])}, pattern="none")
        for size in (256, 259)
    )
    texts = ["xxxxxxab", "cdcd", "zzzzzz", "yab", "ab", "ab", "yab", "ab", "yab"]
    expected = [(b"yab", 3, 3), (b"ab", 3, 3), (b"cdcd", 1, 3), (b"xxxxxxab", 1, 1)]
    for most in range(6):
        found = bbpe.compare(one, two, texts=texts, most=most)
        assert [(pair.pretoken, pair.count, -pair.more) for pair in found.pairs] == expected[:most]
        assert found.first is not None
        assert found.first.text == b"xxxxxxab"
        assert (found.texts, found.equal, found.tokens) == (5, 1, (8 + 4 + 6 + 9 + 6, 7 + 1 + 6 + 6 + 3))
    found = bbpe.compare(two, one, texts=texts)
    assert [(pair.pretoken, pair.count, pair.more) for pair in found.pairs] == expected


def test_a_word_has_one_blank() -> None:
    """Of a model whose pieces begin with one, and of one for which blanks are apart."""
    found = bbpe.compare(TOKS["more"], TOKS["wordpiece"], texts=["the cat sat"], most=9)
    assert found.tokens == (3, 3)
    assert (found.texts, found.equal, found.pairs) == (3, 3, ())


def test_the_first_difference_is_that_of_the_word() -> None:
    one, two = TOKS["more"], TOKS["characters"]
    found = bbpe.compare(one, two, texts=["the mats"], names=("one", "two"))
    assert found.first is not None
    first = next(pair for pair in found.pairs if pair.pretoken == found.first.text)
    assert tuple(token for _, token in found.first.left) == first.left[: len(found.first.left)]
