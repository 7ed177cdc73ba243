"""Special tokens in a text are text, ids or an error, as the call says."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from vocabularies import added, document, keys, write_json

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


def test_each_interface_by_default() -> None:
    """A token in a text is text here, an error as in tiktoken, and its id as in `tokenizers`."""
    tok = bbpe.train_from_iterator(["low lower"], 258, special_tokens=["<|endoftext|>"])
    ids = tok.encode("low<|endoftext|>")
    assert tok.decode(ids) == "low<|endoftext|>"
    end = tok.special_tokens["<|endoftext|>"]
    assert end not in ids
    with pytest.raises(ValueError, match="disallowed special token"):
        tok.as_tiktoken().encode("low<|endoftext|>")
    assert tok.as_tokenizers().encode("low<|endoftext|>").ids == [*tok.encode("low"), end]


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
    for _ in range(200):
        text = "".join(rng.choices(pieces, k=rng.randint(0, 12)))
        allowed = rng.sample(list(tok.special_tokens), k=rng.randint(0, 4))
        assert tok.encode(text, allowed_special=allowed) == slow.encode(text, allowed_special=allowed), text


def test_policies_are_remembered(tok_of: Callable[[str], bbpe.Tokenizer]) -> None:
    specials = tok_of("gpt2")._parts.specials
    first = specials.matcher({"<s>"}, "all")
    assert first is specials.matcher(["<s>"], "all") is specials.matcher(("<s>",), "all")
    assert first is not specials.matcher({"<s>"}, ())
    assert first is not specials.matcher({"<s>>"}, "all")
    # nothing to look for is no matcher
    assert specials.matcher(set(), []) is None
    for number in range(1000):
        assert specials.matcher((), {f"<{number}>"}) is not None
    assert len(specials._policies) <= 256


def test_many_tokens_that_begin_alike() -> None:
    names = [f"<|reserved_{number}|>" for number in range(1000)]
    ranks = {bytes([byte]): byte for byte in range(256)}
    specials = {name: 256 + number for number, name in enumerate(names)}
    tok = bbpe.Tokenizer.from_ranks(ranks, pattern="gpt2", special_tokens=specials)
    text = "<|reserved_" * 400 + "".join(names) + "<|reserved_1"
    ids = tok.encode(text, allowed_special="all")
    assert ids == [*b"<|reserved_" * 400, *range(256, 1256), *b"<|reserved_1"]
    chosen = set(names[::7])
    ids = tok.encode("".join(names), allowed_special=chosen)
    assert [i for i in ids if i >= 256] == list(range(256, 1256, 7))
    with pytest.raises(bbpe.SpecialTokenError, match=r"'<\|reserved_3\|>' at byte 4410;"):
        tok.encode("<|reserved_" * 400 + "0123456789" + names[3], disallowed_special="all")


@pytest.mark.parametrize(("lstrip", "rstrip"), [(True, False), (False, True), (True, True)])
def test_white_space_around_many_tokens(lstrip: bool, rstrip: bool, tmp_path: Path) -> None:
    """Each stretch of white space is read once: a text of tokens alone takes no more than its length."""
    number = max(keys().values()) + 1
    mask = {**added("<mask>", number), "lstrip": lstrip, "rstrip": rstrip}
    write_json(tmp_path / "t.json", document(added_tokens=[mask]))
    tok = bbpe.load(tmp_path / "t.json")
    text = "a" + " \t<mask>\u3000\n" * 4000 + "b"
    first = tok.encode("a" if lstrip else "a \t")
    last = tok.encode("b" if rstrip else "\u3000\nb")
    expected = [*first, *[number] * 4000, *last]
    assert tok.encode(text, allowed_special="all") == expected


def test_tokens_are_found_in_batches(monkeypatch: pytest.MonkeyPatch, tok_of: Callable[[str], bbpe.Tokenizer]) -> None:
    """What is found does not depend on where a batch ends, nor does the error of a refused token."""
    tok = tok_of("gpt2")
    texts = ["<s>" * 7, "a<s>" * 6, "<s><s>>x" * 5 + "<s>", "<s>" * 3 + "b" * 9, "", "<s"]
    longest = max(len(text) for text in tok.special_tokens)
    monkeypatch.setattr("bbpe.pipeline.special_tokens._BATCH", 1)
    for repeats in (1, longest, 3 * longest):
        for text in texts:
            many = [*tok.encode_iterable([text * repeats], allowed_special="all")]
            assert many == tok.encode(text * repeats, allowed_special="all")


@pytest.mark.parametrize("ids", [(300, 301), (301, 300)])
def test_of_tokens_that_are_normalised_alike_the_lower_id_counts(ids: tuple[int, int], tmp_path: Path) -> None:
    texts = dict(zip(("<A>", "<a>"), ids, strict=True))
    tokens = [added(text, number, normalized=True, special=False) for text, number in sorted(texts.items())]
    vocab = {**keys(), **texts}
    value = document(normalizer={"type": "Lowercase"}, added_tokens=tokens, model__vocab=vocab)
    tok = bbpe.load(write_json(tmp_path / "tokenizer.json", value))
    assert tok.encode("<a>") == tok.encode("<A>") == [300]
    assert tok.encode("x<a><A>") == [*tok.encode("x"), 300, 300]
