"""DeepSeek's tokenizer.json, of splits in a chain, special and added tokens: the ids of HF's `tokenizers`."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import pytest
from published import same_ids
from seeds import full_then_long
from strings import adversarial_strings

import bbpe

CORPORA = ["en", "code", "multi", "ja", "zh"]
every_version = pytest.mark.parametrize("name", ["deepseek_v3.tokenizer.json", "deepseek_v4.tokenizer.json"])


@pytest.mark.parametrize("size", [9_000, *full_then_long([500_000], [2_000_000])])
@every_version
def test_deepseek_as_hf(
    name: str,
    size: int,
    real: Callable[[str], bbpe.Tokenizer],
    vocab_path: Callable[[str], Path],
    corpus: Callable[..., str],
) -> None:
    tokenizers = pytest.importorskip("tokenizers")
    tok, hf = real(name), tokenizers.Tokenizer.from_file(str(vocab_path(name)))
    for source in CORPORA:
        text = corpus(source, size)
        same_ids(tok, text, hf.encode_batch_fast([text], add_special_tokens=False)[0].ids)
    rng = random.Random(41)
    tokens = [token for token in tok.spec.vocab.values() if len(token) > 1]
    texts = adversarial_strings(size // 150, seed=42, tokens=tokens)
    texts += [b"".join(rng.choices(tokens, k=2)).decode("utf-8", "ignore") for _ in range(size // 300)]
    named = [*tok.special_tokens, *tok.added_tokens, " ", "\n", "a"]
    texts += ["".join(rng.choices(named, k=rng.randint(1, 6))) for _ in range(size // 300)]
    for template in (False, True):
        for text, row in zip(texts, hf.encode_batch_fast(texts, add_special_tokens=template), strict=True):
            assert tok.encode(text, allowed_special="all", add_special_tokens=template) == row.ids, text


@every_version
def test_deepseek_is_written(
    name: str, real: Callable[[str], bbpe.Tokenizer], tmp_path: Path, corpus: Callable[..., str]
) -> None:
    tokenizers = pytest.importorskip("tokenizers")
    tok = real(name)
    tok.save(tmp_path / "tokenizer.json")
    assert bbpe.load(tmp_path) == tok
    hf = tokenizers.Tokenizer.from_file(str(tmp_path / "tokenizer.json"))
    for text in [*(corpus(source, 5_000) for source in CORPORA), *adversarial_strings(80, seed=43)]:
        same_ids(tok, text, hf.encode(text, add_special_tokens=False).ids)
