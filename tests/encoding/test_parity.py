"""Published vocabularies give the ids that tiktoken, HF and the reference give, for every text."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from compared import compared
from published import RANK_FILES, same_ids
from seeds import full_then_long
from strings import adversarial_strings, byte_soups

import bbpe
from bbpe.core.bpe import CompiledBPE
from bbpe.reference import SlowTokenizer

CORPORA = ["en", "code", "multi", "ja", "zh"]


def token_bytes(tok: bbpe.Tokenizer) -> list[bytes]:
    return [token for token in tok.spec.vocab.values() if len(token) > 1]


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
    compare_with_tiktoken(real(name), tiktoken_of(name), [corpus(text, 40_000) for text in CORPORA])


@pytest.mark.parametrize("name", RANK_FILES)
def test_hard_strings_as_tiktoken(
    name: str, real: Callable[[str], bbpe.Tokenizer], tiktoken_of: Callable[[str], Any]
) -> None:
    tok = real(name)
    texts = adversarial_strings(400, seed=10, tokens=token_bytes(tok), surrogates=True)
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


def slices_at_line_ends(text: str) -> Iterator[str]:
    """Pieces that no pattern splits unlike the whole: behind something, a line end, and before a letter.

    Of a million characters, and five or more.
    """
    start, size = 0, min(1 << 20, len(text) // 6)
    for cut in re.finditer(r"(?<=\S\n)(?=[^\W\d_])", text):
        if cut.start() - start >= size:
            yield text[start : cut.start()]
            start = cut.start()
    yield text[start:]


@pytest.mark.parametrize("source", full_then_long(("multi",), ("code", "zh", "en", "ja")))
def test_whole_corpora_as_tiktoken(
    source: str,
    real: Callable[[str], bbpe.Tokenizer],
    tiktoken_of: Callable[[str], Any],
    corpus: Callable[..., str],
) -> None:
    """Every byte with every rank file, ours in one call, with the threads that it takes."""
    text = corpus(source)
    slices = list(slices_at_line_ends(text))
    assert len(slices) > 4
    with compared(at_least=6) as one_more:
        for name in RANK_FILES:
            try:
                tok, peer, at = real(name), tiktoken_of(name), 0
            except pytest.skip.Exception:  # no package has llama3
                continue
            ids = tok.encode_to_numpy(text)
            for piece in slices:
                expected = peer.encode_to_numpy(piece, disallowed_special=())
                if not np.array_equal(ids[at : at + len(expected)], expected):
                    same_ids(tok, piece, expected.tolist())
                    pytest.fail(f"{name}: the ids of a piece are right, in the whole text they are not: {piece[:80]!r}")
                at += len(expected)
            assert at == len(ids), name
            one_more()


@pytest.mark.parametrize("name", RANK_FILES)
def test_bytes_that_are_not_utf8_as_tiktoken(
    name: str, real: Callable[[str], bbpe.Tokenizer], tiktoken_of: Callable[[str], Any]
) -> None:
    """A pretoken's merging alone: tiktoken has no splitting of such bytes that could be compared."""
    tok, peer = real(name), tiktoken_of(name)
    model, ranks, rng = CompiledBPE(tok.spec.vocab, None), tok.ranks, random.Random(12)
    for soup in byte_soups(120, seed=13):
        pretoken = soup[: rng.randint(1, 60)]
        if pretoken and pretoken not in ranks:
            assert model.encode_pretoken(pretoken) == peer._encode_single_piece(pretoken), pretoken
    for soup in byte_soups(120, seed=14):
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
    tokens = token_bytes(tok)[::29]
    compare_with_tiktoken(tok, peer, [token.decode("utf-8", "replace") for token in tokens])
    ids = [tok.token_to_id(token) for token in tokens]
    assert tok.decode_bytes(ids) == peer.decode_bytes(ids) == b"".join(tokens)


@pytest.mark.parametrize("name", [*RANK_FILES, "gpt2.tokenizer.json", "qwen_gpt2_files"])
def test_real_vocabularies_as_the_reference(
    name: str, real: Callable[[str], bbpe.Tokenizer], corpus: Callable[..., str]
) -> None:
    tok = real(name)
    slow = SlowTokenizer(tok.spec)
    texts: list[str | bytes] = [corpus(text, 400) for text in CORPORA]
    texts += adversarial_strings(12, seed=17, tokens=token_bytes(tok), surrogates=True)
    texts += byte_soups(12, seed=18)
    for text in texts:
        assert tok.encode(text) == slow.encode(text), text


@pytest.mark.parametrize("size", [100_000, *full_then_long([500_000], [2_000_000])])
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
        expected = hf.encode_batch_fast([text], add_special_tokens=False)[0].ids
        if "<|endoftext|>" not in text:
            same_ids(tok, text, expected)
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
