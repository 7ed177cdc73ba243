"""Published vocabularies give the ids that tiktoken, HF and the reference give, for every text."""

from __future__ import annotations

import random
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from strings import adversarial_strings, byte_soups

import bbpe
from bbpe.core.bpe import Model
from bbpe.reference import SlowTokenizer

CORPORA = ["en", "code", "multi", "ja", "zh"]
RANK_FILES = {
    "gpt2": "gpt2.tiktoken",
    "p50k_base": "p50k_base.tiktoken",
    "cl100k_base": "cl100k_base.tiktoken",
    "o200k_base": "o200k_base.tiktoken",
    "llama3": "llama3.tiktoken",
    "qwen": "qwen.tiktoken",
    "qwen3_6": "qwen3_6.tiktoken",
}
# the regexes as tiktoken itself has them, where they are spelled unlike ours
PUBLISHED = {
    "gpt2": r"'(?:[sdmt]|ll|ve|re)| ?\p{L}++| ?\p{N}++| ?[^\s\p{L}\p{N}]++|\s++$|\s+(?!\S)|\s",
    "cl100k": r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+"
    r"|\s++$|\s*[\r\n]|\s+(?!\S)|\s",
}


@pytest.fixture(scope="session")
def real(vocab_path: Callable[[str], Path]) -> Callable[[str], bbpe.Tokenizer]:
    """`real("o200k_base")`: a published tokenizer."""
    return cache(lambda name: bbpe.load(vocab_path(RANK_FILES.get(name, name))))


@pytest.fixture(scope="session")
def tiktoken_of(real: Callable[[str], bbpe.Tokenizer]) -> Callable[[str], Any]:
    """`tiktoken_of("o200k_base")`: the same ranks, special tokens and regex in tiktoken."""
    tiktoken = pytest.importorskip("tiktoken")

    def make(name: str) -> Any:
        tok = real(name)
        pat_str = PUBLISHED.get(tok.pattern, tok.spec.pattern.steps[0])
        return tiktoken.Encoding(
            name, pat_str=pat_str, mergeable_ranks=tok.ranks, special_tokens=tok.special_tokens
        )

    return cache(make)


def token_bytes(tok: bbpe.Tokenizer) -> list[bytes]:
    return [token for token in tok.spec.vocab.values() if len(token) > 1]


def same_ids(tok: bbpe.Tokenizer, text: str, expected: list[int]) -> None:
    """Compare, and on a difference show the first place instead of a megabyte."""
    ids = tok.encode(text)
    if ids != expected:
        at = next((i for i, pair in enumerate(zip(ids, expected, strict=False)) if pair[0] != pair[1]), None)
        around = slice(0, 20) if at is None else slice(max(at - 3, 0), at + 5)
        ours, theirs = (b"|".join(map(tok.id_to_token, some[around])) for some in (ids, expected))
        pytest.fail(f"token {at}: {ours!r}, expected {theirs!r} of {text[:200]!r}")


def compare_with_tiktoken(tok: bbpe.Tokenizer, peer: Any, texts: list[str]) -> None:
    for text in texts:
        same_ids(tok, text, peer.encode_ordinary(text))


@pytest.mark.parametrize("name", RANK_FILES)
def test_real_text_as_tiktoken(
    name: str,
    real: Callable[[str], bbpe.Tokenizer],
    tiktoken_of: Callable[[str], Any],
    corpus: Callable[..., str],
) -> None:
    compare_with_tiktoken(real(name), tiktoken_of(name), [corpus(text, 100_000) for text in CORPORA])


@pytest.mark.parametrize("name", RANK_FILES)
def test_hard_strings_as_tiktoken(
    name: str, real: Callable[[str], bbpe.Tokenizer], tiktoken_of: Callable[[str], Any]
) -> None:
    tok = real(name)
    texts = adversarial_strings(1_200, seed=10, tokens=token_bytes(tok), surrogates=True)
    compare_with_tiktoken(tok, tiktoken_of(name), texts)


@pytest.mark.full
@pytest.mark.parametrize("name", RANK_FILES)
def test_2_mb_and_20_000_hard_strings_as_tiktoken(
    name: str,
    real: Callable[[str], bbpe.Tokenizer],
    tiktoken_of: Callable[[str], Any],
    corpus: Callable[..., str],
) -> None:
    tok, peer = real(name), tiktoken_of(name)
    compare_with_tiktoken(tok, peer, [corpus(text, 2_000_000) for text in CORPORA])
    compare_with_tiktoken(
        tok, peer, adversarial_strings(20_000, seed=11, tokens=token_bytes(tok), surrogates=True)
    )


@pytest.mark.parametrize("name", RANK_FILES)
def test_bytes_that_are_not_utf8_as_tiktoken(
    name: str, real: Callable[[str], bbpe.Tokenizer], tiktoken_of: Callable[[str], Any]
) -> None:
    """A pretoken's merging alone: tiktoken has no splitting of such bytes that could be compared."""
    tok, peer = real(name), tiktoken_of(name)
    model, ranks, rng = Model(tok.spec.vocab, None), tok.ranks, random.Random(12)
    for soup in byte_soups(300, seed=13):
        pretoken = soup[: rng.randint(1, 60)]
        if pretoken and pretoken not in ranks:
            assert model.encode_pretoken(pretoken) == peer._encode_single_piece(pretoken), pretoken
    for soup in byte_soups(300, seed=14):
        assert tok.decode_bytes(tok.encode(soup)) == soup
        assert peer.decode_bytes(tok.encode(soup)) == soup


@pytest.mark.parametrize("name", RANK_FILES)
def test_special_tokens_as_tiktoken(
    name: str, real: Callable[[str], bbpe.Tokenizer], tiktoken_of: Callable[[str], Any]
) -> None:
    tok, peer = real(name), tiktoken_of(name)
    rng = random.Random(15)
    specials = list(tok.special_tokens)
    for text in adversarial_strings(150, seed=16):
        mixed = "".join(text[i : i + 9] + rng.choice([*specials, "", "<|"]) for i in range(0, len(text), 9))
        allowed: Any
        for allowed in ("all", set(rng.sample(specials, k=1))):
            expected = peer.encode(mixed, allowed_special=allowed, disallowed_special=())
            assert tok.encode(mixed, allowed_special=allowed) == expected
        assert tok.encode(mixed) == peer.encode_ordinary(mixed)


@pytest.mark.parametrize("name", RANK_FILES)
def test_whole_vocabulary_as_tiktoken(
    name: str, real: Callable[[str], bbpe.Tokenizer], tiktoken_of: Callable[[str], Any]
) -> None:
    tok, peer = real(name), tiktoken_of(name)
    tokens = token_bytes(tok)[::7]
    compare_with_tiktoken(tok, peer, [token.decode("utf-8", "replace") for token in tokens])
    ids = [tok.token_to_id(token) for token in tokens]
    assert tok.decode_bytes(ids) == peer.decode_bytes(ids) == b"".join(tokens)


@pytest.mark.parametrize("name", [*RANK_FILES, "gpt2.tokenizer.json", "qwen_gpt2_files"])
def test_real_vocabularies_as_the_reference(
    name: str, real: Callable[[str], bbpe.Tokenizer], corpus: Callable[..., str]
) -> None:
    tok = real(name)
    slow = SlowTokenizer(tok.spec)
    texts: list[str | bytes] = [corpus(text, 2_000) for text in CORPORA]
    texts += adversarial_strings(60, seed=17, tokens=token_bytes(tok), surrogates=True)
    texts += byte_soups(60, seed=18)
    for text in texts:
        assert tok.encode(text) == slow.encode(text), text


@pytest.mark.parametrize("size", [100_000, pytest.param(2_000_000, marks=pytest.mark.full)])
def test_gpt2_tokenizer_json_as_hf(
    size: int,
    real: Callable[[str], bbpe.Tokenizer],
    vocab_path: Callable[[str], Path],
    corpus: Callable[..., str],
) -> None:
    tokenizers = pytest.importorskip("tokenizers")
    tok, hf = real("gpt2.tokenizer.json"), tokenizers.Tokenizer.from_file(str(vocab_path("gpt2.tokenizer.json")))
    texts = [corpus(text, size) for text in CORPORA]
    texts += adversarial_strings(size // 100, seed=19, tokens=token_bytes(tok))
    for text in texts:
        if "<|endoftext|>" not in text:
            same_ids(tok, text, hf.encode(text, add_special_tokens=False).ids)
        expected = hf.encode(text, add_special_tokens=False).ids
        assert tok.encode(text, allowed_special="all") == expected


@pytest.mark.parametrize(("name", "same"), [("qwen_gpt2_files", "qwen"), ("gpt2.tokenizer.json", "gpt2")])
def test_two_files_of_one_vocabulary(
    name: str, same: str, real: Callable[[str], bbpe.Tokenizer], corpus: Callable[..., str]
) -> None:
    """Merge-list mode and rank mode of the same vocabulary."""
    by_list, by_rank = real(name), real(same)
    assert by_list.fingerprint == by_rank.fingerprint
    texts = [corpus(text, 200_000) for text in CORPORA]
    texts += adversarial_strings(1_000, seed=20, tokens=token_bytes(by_rank), surrogates=True)
    for text in texts:
        same_ids(by_list, text, by_rank.encode(text))
