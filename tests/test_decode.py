"""Ids become bytes and text again; what is no id is named."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import bbpe


def test_decoding_any_sequence(tok_of: Callable[[str], bbpe.Tokenizer]) -> None:
    tok = tok_of("gpt2")
    ids = tok.encode("some words, é<s>", allowed_special="all")
    dtypes = [np.uint32, np.int64, np.uint16, np.int32, ">i4", np.uint64]
    for kind in (ids, tuple(ids), *(np.array(ids, dtype) for dtype in dtypes), np.array(ids * 2)[: len(ids)]):
        assert tok.decode(kind) == "some words, é<s>"
        assert tok.decode_bytes(kind) == "some words, é<s>".encode()
    assert tok.decode(np.array(ids)[::-1]) == tok.decode(ids[::-1])
    assert tok.decode([]) == tok.decode(np.array([], np.uint32)) == ""
    assert tok.decode_bytes([]) == b""
    assert tok.decode([np.int64(ids[0])]) == tok.decode(ids[:1])


def test_decoding_errors_argument(tok_of: Callable[[str], bbpe.Tokenizer]) -> None:
    tok = tok_of("gpt2")
    ids = tok.encode(b"a\xff")
    assert tok.decode(ids) == "a\ufffd"
    assert tok.decode(ids, errors="ignore") == "a"
    assert tok.decode(ids, errors="surrogateescape") == "a\udcff"
    assert tok.decode_batch([ids, ids], errors="ignore") == ["a", "a"]
    with pytest.raises(UnicodeDecodeError):
        tok.decode(ids, errors="strict")


WITH_HOLES = {**{byte: bytes((byte,)) for byte in range(256)}, 300: b"ab"}


BAD_IDS = [-1, -(2**31), -(2**63), -(2**70), 256, 299, 302, 2**31, 2**32, 2**32 + 97, 2**63, 2**64 + 97, 2**70]


@pytest.mark.parametrize("bad", BAD_IDS)
def test_ids_that_are_no_tokens(bad: int) -> None:
    tok = bbpe.Tokenizer.from_merges(WITH_HOLES, [(b"a", b"b")], pattern="gpt2", special_tokens={"<s>": 301})
    assert tok.decode([300, 301]) == "ab<s>"
    for method in (tok.decode, tok.decode_bytes):
        with pytest.raises(ValueError, match=str(bad)):
            method([97, bad, 97])
        with pytest.raises(ValueError, match=str(bad)):
            method((bad,))
    with pytest.raises(ValueError, match=str(bad)):
        tok.id_to_token(bad)
    with pytest.raises(ValueError, match=str(bad)):
        tok.decode_batch([[97], [bad]])
    for dtype in (np.int64, np.int32, np.uint32, np.uint64, np.uint16):
        if np.iinfo(dtype).min <= bad <= np.iinfo(dtype).max:
            with pytest.raises(ValueError, match=str(bad)):
                tok.decode(np.array([97, bad, 97], dtype))


@pytest.mark.parametrize("ids", ["97", b"ab", [1.5], ["a"], [None], 97, None, np.array([1.5]), [[97]]])
def test_ids_of_wrong_types(ids: Any, tok_of: Callable[[str], bbpe.Tokenizer]) -> None:
    tok = tok_of("gpt2")
    for method in (tok.decode, tok.decode_bytes):
        with pytest.raises(TypeError):
            method(ids)


def test_id_to_token_of_wrong_types(tok_of: Callable[[str], bbpe.Tokenizer]) -> None:
    for token_id in ("a", 97.0, 1.5, None, b"a", True):
        with pytest.raises(TypeError):
            tok_of("gpt2").id_to_token(token_id)


def test_token_to_id(tok_of: Callable[[str], bbpe.Tokenizer]) -> None:
    tok = tok_of("gpt2")
    for token_id, token in tok.spec.vocab.items():
        assert tok.id_to_token(token_id) == token
        assert tok.token_to_id(token) == token_id
    assert [tok.id_to_token(i) for i in tok.special_tokens.values()] == [text.encode() for text in tok.special_tokens]
    assert [tok.token_to_id(text) for text in tok.special_tokens] == list(tok.special_tokens.values())
    for missing in (b"no such token", "no such token", b""):
        with pytest.raises(KeyError):
            tok.token_to_id(missing)
