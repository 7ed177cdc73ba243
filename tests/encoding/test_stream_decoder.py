"""Ids to text one at a time: joined, it is what `decode` returns."""

from __future__ import annotations

from copy import copy

import numpy as np
import pytest
from strings import adversarial_strings, byte_soups
from vocabularies import small_spec

import bbpe
from bbpe.spec.decoders import ByteLevel, Strip
from bbpe.tokenizer import Tokenizer


def check(tok, ids):
    for errors in ("replace", "ignore", "backslashreplace"):
        decoder = tok.stream_decoder(errors=errors)
        pieces = [decoder.push(token_id) for token_id in ids]
        rest = decoder.finish()
        assert "".join(pieces) + rest == tok.decode(ids, errors=errors)
        assert "".join(decoder.stream(ids)) == tok.decode(ids, errors=errors)  # it begins anew


@pytest.mark.parametrize("pattern", ["gpt2", "cl100k"])
def test_joined_output_is_the_text(tok_of, pattern):
    tok = tok_of(pattern)
    rng = np.random.default_rng(3)
    for text in [*adversarial_strings(60, seed=11, surrogates=True), *byte_soups(30, seed=12)]:
        ids = tok.encode(text)
        check(tok, ids)
        check(tok, rng.permutation(ids))
    check(tok, rng.integers(0, tok.vocab_size, 3000).tolist())


def test_complete_characters_and_nothing_else(tok_of):
    tok = tok_of("gpt2")
    for text in adversarial_strings(200, seed=13):
        ids = tok.encode(text)
        decoder = tok.stream_decoder()
        given = ""
        for n, token_id in enumerate(ids, start=1):
            given += decoder.push(token_id)
            # all that is complete, no broken character
            assert given == tok.decode(ids[:n], errors="ignore")
        assert decoder.finish() == ""
        assert given == text


def test_errors_leave_it_as_it_was(tok_of):
    tok = tok_of("gpt2")
    decoder = tok.stream_decoder(errors="strict", skip_special_tokens=True)
    first, second = (tok.token_to_id(bytes([byte])) for byte in "é".encode())
    assert decoder.push(first) == ""
    for wrong in (10_000, -1):
        with pytest.raises(bbpe.TokenIdError):
            decoder.push(wrong)
    assert decoder.push(tok.special_tokens["<s>"]) == ""
    assert decoder.push(second) == "é"
    decoder.push(first)
    with pytest.raises(UnicodeDecodeError):
        decoder.finish()


def test_a_copy_of_a_stream_that_has_ended_begins_as_the_stream_does():
    tok = Tokenizer(small_spec(decoder=(ByteLevel(), Strip(" ", 2, 0))))
    ids = tok.encode("  the")
    for stop in (None, ["the"]):
        decoder = tok.stream_decoder(stop=stop)
        text = "".join(map(decoder.push, ids)) + decoder.finish()
        other = copy(decoder)
        assert other.stopped == decoder.stopped == (None if stop is None else "the")
        assert "".join(map(other.push, ids)) + other.finish() == text


def test_blanks_that_encoding_put_in_front_are_left_out():
    tok = Tokenizer(small_spec(decoder=(ByteLevel(), Strip(" ", 2, 0))))
    blank = tok.token_to_id(" ")
    for ids in ([blank] * 3 + tok.encode("a"), tok.encode(" the"), [blank], tok.encode("a b"), []):
        check(tok, ids)


def next_difference(pieces: str, text: str, at: int) -> tuple[int, str, str]:
    """Where in the text, and what stands there on either side."""
    n = next((n for n, char in enumerate(pieces) if text[at + n : at + n + 1] != char), len(pieces))
    return at + n, pieces[n : n + 40], text[at + n : at + n + 40]


@pytest.mark.full
@pytest.mark.parametrize("name", ["en", "code", "ja", "zh", "multi"])
def test_every_corpus_at_every_token(real, corpus, name):
    tok = real("o200k_base" if name in ("en", "ja") else "gpt2")
    text = corpus(name)
    decoder = tok.stream_decoder()
    ids = tok.encode_to_numpy(text)
    at = 0
    for start in range(0, len(ids), 1 << 18):
        pieces = "".join(map(decoder.push, ids[start : start + (1 << 18)].tolist()))
        assert text.startswith(pieces, at), next_difference(pieces, text, at)
        at += len(pieces)
    assert at == len(text)
    assert decoder.finish() == ""
