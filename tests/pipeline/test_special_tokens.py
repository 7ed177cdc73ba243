"""Special tokens in a text are text, ids or an error, as the call says."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest

import bbpe
from bbpe.reference import SlowTokenizer


def test_special_token_policy(tok_of: Callable[[str], bbpe.Tokenizer]) -> None:
    tok = tok_of("gpt2")
    s, longer = tok.special_tokens["<s>"], tok.special_tokens["<s>>"]
    assert tok.encode("<s>") != [s]
    assert tok.encode("<s>", allowed_special="all") == [s]
    assert tok.encode("<s>", allowed_special={"<s>"}) == tok.encode("<s>", allowed_special=["<s>"]) == [s]
    # the longest wins, among those that are allowed
    assert tok.encode("<s>>", allowed_special="all") == [longer]
    assert tok.encode("<s>>", allowed_special={"<s>"}) == [s, *tok.encode(">")]
    assert tok.encode("<s><s>>x", allowed_special="all") == [s, longer, *tok.encode("x")]
    assert tok.encode("a <s>", allowed_special="all") == [*tok.encode("a "), s]
    assert tok.encode(b"\xff<s>\xff", allowed_special="all") == [*tok.encode(b"\xff"), s, *tok.encode(b"\xff")]


def test_disallowed_special_tokens_raise(tok_of: Callable[[str], bbpe.Tokenizer]) -> None:
    tok = tok_of("gpt2")
    for method in (tok.encode, tok.encode_to_numpy):
        with pytest.raises(bbpe.SpecialTokenError, match="<s>"):
            method("a<s>", disallowed_special="all")
        with pytest.raises(bbpe.SpecialTokenError, match="<s>"):
            method("a<s>", allowed_special={"<|end|>"}, disallowed_special="all")
        with pytest.raises(bbpe.SpecialTokenError, match="nowhere"):
            method("a", allowed_special={"nowhere"})
        # what is allowed is not disallowed, and what is not in the text does no harm
        assert list(method("a<s>", allowed_special="all", disallowed_special="all"))[-1] == tok.special_tokens["<s>"]
        assert list(method("a", disallowed_special="all")) == tok.encode("a")
        assert list(method("a<s>", disallowed_special={"<|end|>"})) == tok.encode("a<s>")
    with pytest.raises(bbpe.SpecialTokenError):
        tok.encode_batch(["a", "<s>"], disallowed_special={"<s>"})
    with pytest.raises(bbpe.SpecialTokenError):
        tok.encode_batch_to_numpy(["a", "<s>"], disallowed_special={"<s>"})
    with pytest.raises(bbpe.SpecialTokenError):
        list(tok.encode_iterable(["a<", "s", ">"], disallowed_special={"<s>"}))


@pytest.mark.parametrize("selection", ["<s>", "none", b"all", [b"<s>"], 3, None, {"<s>", 3}])
def test_selections_of_wrong_types(selection: Any, tok_of: Callable[[str], bbpe.Tokenizer]) -> None:
    for option in ("allowed_special", "disallowed_special"):
        with pytest.raises(TypeError):
            tok_of("gpt2").encode("text", **{option: selection})


@pytest.mark.parametrize("pattern", ["gpt2", "o200k", "whitespace"])
def test_special_tokens_as_the_reference(pattern: str, tok_of: Callable[[str], bbpe.Tokenizer]) -> None:
    tok = tok_of(pattern)
    slow, rng = SlowTokenizer(tok.spec), random.Random(26)
    pieces = [*tok.special_tokens, "<", ">", "s>", "é", " ", "a", "'s", "\ud83d", "\ude00", "<|end|"]
    for _ in range(500):
        text = "".join(rng.choices(pieces, k=rng.randint(0, 12)))
        allowed = rng.sample(list(tok.special_tokens), k=rng.randint(0, 4))
        assert tok.encode(text, allowed_special=allowed) == slow.encode(text, allowed_special=allowed), text
