"""Tokens that merging cannot build: ids of a pretoken that is one, and of parts that are not, as tiktoken's.

llama3 has 588 of them and qwen3_6 201.  A pretoken that is such a token is its id; the same bytes inside a longer
pretoken, also where a cut point makes them a part of their own, are merged and never are.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import pytest
from published import same_ids

import bbpe

NAMES = ["llama3", "qwen3_6"]
NEIGHBOURS = ["a", "Z", "é", "я", "中", "的", "の", "カ", "한", "ไ", "न", "א", " ", "7", "。", "-", "😀", "\n"]


def unmade_tokens(tok: bbpe.Tokenizer) -> list[bytes]:
    return [tok.id_to_token(token_id) for token_id in tok._encoder.encoder.model.live_merges()[1]]


def around(rng: random.Random, token: bytes, tokens: Sequence[bytes], sides: Sequence[bytes]) -> Iterator[bytes]:
    """The token alone, then x.t, t.y, x.t.y and t.t with letters and with other tokens."""
    yield token
    yield token + token
    for side in sides:
        x, y = rng.choice(sides), rng.choice(tokens)
        yield from (side + token, token + side, side + token + x, y + token + side, x + side + token + side + x)


@pytest.mark.parametrize("sides", [4, pytest.param(len(NEIGHBOURS), marks=pytest.mark.full)])
@pytest.mark.parametrize("name", NAMES)
def test_around_every_token_that_merging_cannot_build(
    name: str, sides: int, real: Callable[[str], bbpe.Tokenizer], tiktoken_of: Callable[[str], Any]
) -> None:
    tok, peer = real(name), tiktoken_of(name)
    rng = random.Random(61)
    tokens, neighbours = list(tok.spec.vocab.values()), [side.encode() for side in NEIGHBOURS]
    unmade = unmade_tokens(tok)
    assert len(unmade) > 200
    parted = 0
    for token in unmade:
        pretokens = list(around(rng, token, tokens, rng.sample(neighbours, k=sides)))
        ends = np.cumsum([len(pretoken) for pretoken in pretokens], dtype=np.int64)
        expected = [peer._encode_single_piece(pretoken) for pretoken in pretokens]
        # each one as a pretoken, whatever the pattern would do
        ids = tok._encoder.encoder.encode_given(b"".join(pretokens), ends).tolist()
        assert ids == [token_id for row in expected for token_id in row], token
        parted += sum(tok.token_to_id(token) not in row for row in expected[1:])
        for pretoken in pretokens:
            text = pretoken.decode("utf-8", "ignore")
            same_ids(tok, text, peer.encode_ordinary(text))
            assert tok.encode(text.encode()) == tok.encode(text)
    assert parted > 4 * len(unmade)


@pytest.mark.parametrize("name", NAMES)
def test_a_page_of_them(name: str, real: Callable[[str], bbpe.Tokenizer], tiktoken_of: Callable[[str], Any]) -> None:
    """Again and again in one text, so that what a cache holds of the one meets the other."""
    tok, peer = real(name), tiktoken_of(name)
    rng = random.Random(62)
    words = [token.decode("utf-8", "ignore") for token in unmade_tokens(tok)]
    for _ in range(6):
        chosen = rng.sample(words, k=40)
        text = "".join(
            rng.choice(["", " ", "\n", *NEIGHBOURS]) + rng.choice(chosen) + rng.choice(["", "\n", *NEIGHBOURS])
            for _ in range(4_000)
        )
        same_ids(tok, text, peer.encode_ordinary(text))
        assert tok.encode(text.encode()) == tok.encode(text)
