"""Many texts encoded as one, against each of them alone: short and long, of every kind, new to the tokenizer or not."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from seeds import then_full
from strings import adversarial_strings, byte_soups

import bbpe
from bbpe.encoding import engine

WINDOW = 1 << 15  # bytes of texts that are encoded as one (csrc/encode/stretches.c)


def check(tok: bbpe.Tokenizer, texts: list[Any]) -> None:
    """A batch, as lists, arrays and numbers, by one thread and two, of a tokenizer that has seen no text, and again."""
    expected = [tok.encode(text) for text in texts]
    for threads in (1, 2):
        tok.clear_cache()
        for _ in range(2):
            assert tok.encode_batch(texts, threads=threads) == expected
            rows = tok.encode_batch_to_numpy(texts, threads=threads)
            assert rows.offsets.tolist() == np.cumsum([0, *map(len, expected)]).tolist()
            assert rows.ids.tolist() == [token for ids in expected for token in ids]
            assert tok.count_tokens_batch(texts, threads=threads).tolist() == list(map(len, expected))


def kinds(rng: random.Random, text: str) -> str | bytes | bytearray:
    data = text.encode("utf-8", "surrogatepass")
    return rng.choice([text, text, data, bytearray(data), data[: rng.randrange(len(data) + 1)]])


@pytest.mark.parametrize("pattern", ["gpt2", "cl100k", "o200k", "whitespace"])
@pytest.mark.parametrize("seed", then_full([0], [1, 2]))
def test_texts_of_every_kind(pattern: str, seed: int, tok_of: Callable[[str], bbpe.Tokenizer]) -> None:
    rng = random.Random(seed)
    strings = ["", "a", " ", "\n", "é", "中", *adversarial_strings(200, seed=seed, surrogates=True)]
    texts = [kinds(rng, "".join(rng.choices(strings, k=rng.choice([1, 1, 1, 5, 200])))) for _ in range(60)]
    check(tok_of(pattern), texts)


@pytest.mark.parametrize("pattern", ["cl100k", "o200k"])
def test_bytes_that_seem_to_go_on(pattern: str, tok_of: Callable[[str], bbpe.Tokenizer]) -> None:
    """A text ends within a character, and the next one begins with the rest of it."""
    rng = random.Random(4)
    text = "中文字a漢 é😀ab".encode() * 400
    cuts = sorted(rng.sample(range(len(text)), 2_000))
    check(tok_of(pattern), [text[start:end] for start, end in zip([0, *cuts], [*cuts, len(text)], strict=True)])
    check(tok_of(pattern), byte_soups(400, seed=6))


@pytest.mark.parametrize("unit", ["a ", "é ", "中", "😀 "])
def test_texts_that_just_fill_a_window(unit: str, tok_of: Callable[[str], bbpe.Tokenizer]) -> None:
    size = WINDOW // {"a": 1, "é": 2, "中": 3, "😀": 4}[unit[0]]
    lengths = [0, 1, size - 40, *range(size - 20, size + 4), 1, 1, size // 2, size // 2 - 8, size // 2 - 8, 2 * size, 3]
    check(tok_of("cl100k"), [(unit * length)[:length] for length in lengths])


def test_more_texts_than_a_window_or_a_stage_has_room_for(tok_of: Callable[[str], bbpe.Tokenizer]) -> None:
    tok = tok_of("cl100k")
    for count in (1, 2, 191, 192, 193, 255, 256, 257, 511, 512, 513, 3_000):
        check(tok, [""] * count)
        check(tok, ["a"] * count)
        check(tok, ["", "a b", ""] * (count // 3) + ["中"])
        check(tok, ["a " * (count % 256), *[""] * 250, "a"])


def test_new_pieces_at_the_ends_of_texts() -> None:
    """Every piece is new, of as many ids as bytes: they wait, and what is behind them moves."""
    rng = random.Random(8)
    tok = bbpe.train_from_iterator(["a"], vocab_size=256)
    texts = [" ".join("".join(rng.choices("abcdefgh", k=rng.randint(1, 15))) for _ in range(rng.randint(0, 40)))
             for _ in range(900)]  # fmt: skip
    check(tok, texts)


@pytest.mark.parametrize("by_rank", [True, False])
def test_a_token_of_no_bytes(by_rank: bool) -> None:
    """Where whole pretokens may be tokens that merging does not make, the end of a text is none of them."""
    spec = bbpe.train_from_iterator(["ab ab"], 258, pattern="llama3").spec
    vocab = {**spec.vocab, 300: b"", 301: "字漢".encode(), 302: b"zq"}
    tok = bbpe.Tokenizer(replace(spec, vocab=vocab, merges=None if by_rank else spec.merges, whole_pretokens=True))
    rng = random.Random(1)
    parts = ["中", "文", "字漢", "。", "ab", " ", "zq", "\ud800"]
    check(tok, ["".join(rng.choices(parts, k=rng.randint(0, 4))) for _ in range(400)])


@pytest.mark.parametrize("name", ["llama3", "o200k_base", "mistral_v3.model", "deepseek_v3.tokenizer.json"])
def test_published_vocabularies(name: str, real: Callable[[str], bbpe.Tokenizer]) -> None:
    """Of the first one whole pretokens are tokens that merging does not make; of the last but one, bytes are tokens."""
    tok = real(name)
    rng = random.Random(3)
    tokens = [tok.decode_bytes([rng.randrange(tok.vocab_size - 1_000)]) for _ in range(1_500)]
    check(tok, [b"".join(rng.choices(tokens, k=rng.choice([1, 2, 30]))) for _ in range(700)])


def test_a_batch_that_loses_texts(tok_of: Callable[[str], bbpe.Tokenizer]) -> None:
    class Emptying(bytearray):
        def __len__(self) -> int:
            texts.clear()
            return 3

    tok = tok_of("gpt2")
    for method in (tok.encode_batch, tok.encode_batch_to_numpy, tok.count_tokens_batch):
        texts: list[Any] = [Emptying(b"abc"), *["text"] * 300]
        with pytest.raises(RuntimeError, match="changed while it was encoded"):
            method(texts)


def test_a_batch_whose_texts_become_longer(
    tok_of: Callable[[str], bbpe.Tokenizer], monkeypatch: pytest.MonkeyPatch
) -> None:
    """As by another thread, once there is room for the ids of those that were there."""
    texts, marks = ["text"] * 300, engine.Batch.marks

    def replacing(batch: engine.Batch) -> npt.NDArray[np.int64]:
        found = marks(batch)
        texts[1] = "longer" * 1_000
        return found

    monkeypatch.setattr(engine.Batch, "marks", replacing)
    with pytest.raises(RuntimeError, match="changed while it was encoded"):
        tok_of("gpt2").encode_batch_to_numpy(texts)


def test_views_of_a_mapping_keep_its_order(tok_of):
    tok, texts = tok_of("gpt2"), {"the cat": 1, "a": 2, "": 3}
    rows = tok.encode_batch(list(texts))
    assert tok.encode_batch(texts.keys()) == tok.encode_batch(dict(enumerate(texts)).values()) == rows
    assert tok.count_tokens_batch(texts.keys()).tolist() == list(map(len, rows))
    assert tok.decode_batch(dict(enumerate(rows)).values()) == list(texts)
