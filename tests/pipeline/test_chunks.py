"""Encoding in chunks gives the ids of the joined text, wherever it was cut."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from strings import CUSTOM_PATTERNS, adversarial_strings, byte_soups

import bbpe
from bbpe.pipeline.streaming import pieces
from bbpe.splitting.patterns import PATTERNS


def cut_units(text: str, rng: random.Random, cuts: int) -> list[str]:
    """Cut a string anywhere, also within what UTF-16 writes as two units."""
    data = text.encode("utf-16-le", "surrogatepass")
    units = "".join(chr(data[i] | data[i + 1] << 8) for i in range(0, len(data), 2))
    places = sorted(rng.randint(0, len(units)) for _ in range(cuts))
    return [units[i:j] for i, j in zip([0, *places], [*places, len(units)], strict=True)]


def cut_bytes(data: bytes, rng: random.Random, cuts: int) -> list[bytes]:
    places = sorted(rng.randint(0, len(data)) for _ in range(cuts))
    return [data[i:j] for i, j in zip([0, *places], [*places, len(data)], strict=True)]


@pytest.mark.parametrize("pattern", [*PATTERNS, *CUSTOM_PATTERNS])
def test_chunks_are_encoded_as_the_joined_text(pattern: str, tok_of: Callable[[str], bbpe.Tokenizer]) -> None:
    tok, rng = tok_of(pattern), random.Random(27)
    texts = adversarial_strings(40, seed=28, surrogates=True)
    for i in range(0, len(texts), 2):
        text = rng.choice(["", *tok.special_tokens]).join(texts[i : i + 2])
        allowed: Any = rng.choice(["all", (), {"<s>"}])
        chunks = cut_units(text, rng, rng.choice([0, 1, 5, 3 * len(text)]))
        assert list(tok.encode_iterable(chunks, allowed_special=allowed)) == tok.encode(
            text, allowed_special=allowed
        ), chunks
    for soup in byte_soups(15, seed=29):
        data = rng.choice(["", *tok.special_tokens]).encode() + soup
        chunks_of_bytes = cut_bytes(data, rng, rng.choice([0, 1, 5, 2 * len(data)]))
        assert list(tok.encode_iterable(chunks_of_bytes, allowed_special="all")) == tok.encode(
            data, allowed_special="all"
        ), chunks_of_bytes


@pytest.mark.parametrize("pattern", [*PATTERNS, *CUSTOM_PATTERNS])
def test_all_cuts_of_short_strings(pattern: str, tok_of: Callable[[str], bbpe.Tokenizer]) -> None:
    """What follows a cut changes what was before it: blanks, contractions, digits, marks, special tokens."""
    tok, rng = tok_of(pattern), random.Random(30)
    alphabet = "aA's1 \n\r\xa0!e\u0301中l/,r<>|"
    for _ in range(40):
        text = "".join(rng.choices(alphabet, k=rng.randint(2, 9)))
        expected = tok.encode(text, allowed_special="all")
        assert list(tok.encode_iterable(text, allowed_special="all")) == expected, text
        for i in range(1, len(text)):
            chunks = [text[:i], text[i:]]
            assert list(tok.encode_iterable(chunks, allowed_special="all")) == expected, chunks


def test_what_follows_may_join_three_pretokens() -> None:
    tok = bbpe.train_from_iterator(["<|endoftext|>"], 300, pattern="clip")
    assert tok.encode("<|endoftext|>") != tok.encode("<|endoftext|") + tok.encode(">")
    assert list(tok.encode_iterable(["<|endoftext|", ">"])) == tok.encode("<|endoftext|>")


def test_chunks_of_all_kinds(tok_of: Callable[[str], bbpe.Tokenizer]) -> None:
    tok = tok_of("gpt2")
    chunks = ["a\ud83d", b" b", "", b"", "\ud83d", "\ude00", bytearray(b"\xe4\xb8"), memoryview(b"\xad"), "\ude00"]
    joined = "a\ufffd b😀中\ufffd"
    assert list(tok.encode_iterable(chunks)) == tok.encode(joined)
    assert list(tok.encode_iterable([])) == []
    assert list(tok.encode_iterable([""])) == []
    with pytest.raises(TypeError):
        list(tok.encode_iterable(["a", 3]))
    with pytest.raises(TypeError):
        list(tok.encode_iterable(3))


def test_chunks_are_taken_as_ids_are_asked_for(tok_of: Callable[[str], bbpe.Tokenizer]) -> None:
    taken = []

    def chunks() -> Any:
        for i in range(1_000):
            taken.append(i)
            yield "some words and more words\n"

    ids = tok_of("gpt2").encode_iterable(chunks())
    next(ids)
    assert len(taken) < 10


@pytest.mark.parametrize("chunks", [["abc"], ["ab", "c"], ["a", "b", "c"], ["xab", "c ab"], ["abab", "", "c"]])
def test_a_refused_token_may_overlap_an_allowed_one(chunks: list[str]) -> None:
    """It is looked for in the joined text, also where the allowed token is settled already."""
    tok = bbpe.train_from_iterator(["ab bc"], 258, special_tokens=["ab", "bc"])
    with pytest.raises(bbpe.SpecialTokenError, match="bc"):
        tok.encode("".join(chunks), allowed_special={"ab"}, disallowed_special={"bc"})
    with pytest.raises(bbpe.SpecialTokenError, match="bc"):
        list(tok.encode_iterable(chunks, allowed_special={"ab"}, disallowed_special={"bc"}))


@pytest.mark.parametrize("text", ["see <|3|> my <|39|><|3|> dogs", "see my dogs", "<|0", "<|39|>"])
def test_many_special_tokens_are_found_as_few_are(text: str) -> None:
    """More tokens than are looked for one by one count as those of them that stand in the text."""
    many = [f"<|{number}|>" for number in range(40)]
    few = [token for token in many if token in text]
    all_of_them = bbpe.count_from_iterator([text, "see"], pattern="gpt2", special_tokens=many)
    expected = bbpe.count_from_iterator([text, "see"], pattern="gpt2", special_tokens=few)
    assert dict(all_of_them) == dict(expected)
    assert all_of_them.summary == expected.summary


@pytest.mark.parametrize("pattern", ["gpt2", "none", "whitespace", r"(?!)(a)\1|\w+|\W"])
@pytest.mark.parametrize("tokens", [("<|end", "<|end|>"), ("ab", "abc", "abcd"), ("é", "éé", "ééé!")])
def test_a_token_that_another_one_begins_with_at_every_cut(tokens: tuple[str, ...], pattern: str) -> None:
    """The longest wins, also where its last byte comes with the next chunk; what is refused is named by its place."""
    ranks = {bytes([byte]): byte for byte in range(256)}
    specials = {token: 300 + number for number, token in enumerate(tokens)}
    tok = bbpe.Tokenizer.from_ranks(ranks, pattern=pattern, special_tokens=specials)
    text = f"x {tokens[-1]}y{tokens[0]} {tokens[-1][:-1]}{tokens[-1]}{tokens[0]}"
    expected, data = tok.encode(text, allowed_special="all"), text.encode()
    cuts = [[data[:i], data[i:]] for i in range(len(data))]
    cuts += [[data[i : i + n] for i in range(0, len(data), n)] for n in (1, 2, 3)]
    for chunks in cuts:
        assert list(tok.encode_iterable(chunks, allowed_special="all")) == expected, chunks
        for refused in tokens:
            with pytest.raises(bbpe.SpecialTokenError) as whole:
                tok.encode(text, disallowed_special={refused})
            with pytest.raises(bbpe.SpecialTokenError) as caught:
                list(tok.encode_iterable(chunks, disallowed_special={refused}))
            assert str(caught.value) == str(whole.value), chunks


def test_a_long_pretoken_in_tiny_chunks_is_split_a_few_times_only() -> None:
    """What waits is split again only when there is twice as much of it."""
    looked_at: list[int] = []

    def cut(data: bytes) -> Any:
        looked_at.append(len(data))
        ends = np.array([len(data)] if data else [], np.int64)
        return data, ends, ends

    found = list(pieces(["ab"] * 5_000, cut, 1, None))
    assert [bytes(piece[0]) for piece in found if not isinstance(piece, int)] == [b"ab" * 5_000]
    # at the first chunk, whenever what waits has doubled, and at the end
    assert looked_at == [*(2 << doubled for doubled in range(13)), 10_000]
