"""Tokens that merging cannot build: ids of a pretoken that is one, and of parts that are not, as tiktoken's.

llama3 has 588 of them and qwen3_6 201.  A pretoken that is such a token is its id; the same bytes inside a longer
pretoken, also where a cut point makes them a part of their own, are merged and never are.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from published import same_ids

import bbpe
from bbpe.spec.rules import Characters
from bbpe.spec.spec import make_spec
from bbpe.splitting.patterns import get_pattern

NAMES = ["llama3", "qwen3_6"]
NEIGHBOURS = ["a", "Z", "é", "я", "中", "的", "の", "カ", "한", "ไ", "न", "א", " ", "7", "。", "-", "😀", "\n"]


def unmade_tokens(tok: bbpe.Tokenizer) -> list[bytes]:
    return [tok.id_to_token(token_id) for token_id in tok._parts.encoder.encoder.model.live_merges()[1]]


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
        ids = tok._parts.encoder.encoder.encode_given(b"".join(pretokens), ends).tolist()
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


def by_definition(pretoken: str, ids: dict[str, int], order: dict[tuple[str, str], int]) -> list[int]:
    """A token as it is, or characters merged in order; a character without a token is the tokens of its bytes."""
    if pretoken in ids:
        return [ids[pretoken]]
    symbols = list(pretoken)
    while ranked := [(order[pair], place) for place, pair in enumerate(pairwise(symbols)) if pair in order]:
        _, place = min(ranked)
        symbols[place : place + 2] = ["".join(symbols[place : place + 2])]
    return [token_id for symbol in symbols for token_id in ([ids[symbol]] if symbol in ids else list(symbol.encode()))]


@pytest.mark.parametrize("seed", range(10))
def test_whole_pretokens_of_characters_that_may_be_written_as_bytes(seed: int) -> None:
    """Both at once: a new piece is looked up whole, and a part of it is more ids than symbols."""
    rng = random.Random(seed)
    known, unknown = "abZé中", "c文я😀"
    merges: list[tuple[str, str]] = []
    tokens = list(known)
    for _ in range(12):
        left, right = rng.choice(tokens), rng.choice(tokens)
        if left + right not in tokens:
            merges.append((left, right))
            tokens.append(left + right)
    # what no merge makes, of characters without a token too
    wholes = {" " + "".join(rng.choices(known + unknown, k=rng.randint(1, 7))) for _ in range(20)}
    ids = {token: 256 + number for number, token in enumerate(dict.fromkeys([*tokens, " ", *sorted(wholes)]))}
    spec = make_spec(
        {token_id: token.encode() for token, token_id in ids.items()},
        [(left.encode(), right.encode()) for left, right in merges],
        pattern=get_pattern("gpt2"), whole_pretokens=True, characters=Characters(tuple(range(256))),
    )
    order = {pair: rank for rank, pair in enumerate(merges)}
    for _ in range(20):
        tok = bbpe.Tokenizer(spec)
        words = ["".join(rng.choices(known + unknown, k=rng.randint(1, 12))) for _ in range(150)]
        words += [whole.strip() for whole in wholes]
        text = "".join(rng.choice(["", " "]) + rng.choice(words) for _ in range(400))
        expected = [token_id for part in bbpe.split(text, "gpt2") for token_id in by_definition(part, ids, order)]
        assert tok.encode(text) == expected
        assert tok.encode(text) == expected  # of pieces that are remembered
