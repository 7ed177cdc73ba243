"""Merging by longest compatible tokens gives the ids of merging by rank, whatever the vocabulary."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from bbpe import formats
from bbpe.core.bpe import CompiledBPE
from bbpe.core.encoder import Encoder
from bbpe.reference import by_ranks, merge


def joined_tokens(rng: random.Random, letters: bytes) -> list[bytes]:
    """The bytes, and tokens that are two earlier ones."""
    tokens = [bytes((byte,)) for byte in range(256)]
    parts = [bytes((letter,)) for letter in letters]
    for _ in range(rng.randint(1, 25)):
        token = b"".join(rng.choices(parts, k=2))
        if len(token) <= 12 and token not in tokens:
            parts.append(token)
            tokens.append(token)
    return tokens


def any_tokens(rng: random.Random, letters: bytes) -> list[bytes]:
    words = {bytes(rng.choices(letters, k=rng.randint(2, 6))) for _ in range(rng.randint(0, 40))}
    return [bytes((byte,)) for byte in range(256)] + sorted(words)


def splits(vocab: dict[int, bytes]) -> list[tuple[int, int, int]]:
    """Every way to make a token of two."""
    ids = {token: token_id for token_id, token in vocab.items()}
    return [
        (ids[token[:cut]], ids[token[cut:]], token_id)
        for token_id, token in vocab.items()
        for cut in range(1, len(token))
        if token[:cut] in ids and token[cut:] in ids
    ]


def random_model(rng: random.Random, letters: bytes) -> CompiledBPE:
    tokens = rng.choice((joined_tokens, any_tokens))(rng, letters)
    is_ordered = rng.random() < 0.5
    if not is_ordered:
        rng.shuffle(tokens)
    vocab = dict(enumerate(tokens))
    if rng.random() < 0.5:
        return CompiledBPE(vocab, None)
    merges = [split for split in splits(vocab) if rng.random() < 0.7]
    if not is_ordered:
        rng.shuffle(merges)
    return CompiledBPE(vocab, merges)


def short_texts(letters: bytes, longest: int) -> Iterator[bytes]:
    for length in range(1, longest + 1):
        yield from map(bytes, itertools.product(letters, repeat=length))


@pytest.mark.parametrize(("letters", "longest"), [(b"ab", 7), (b"abc", 4), (b"abcd", 3)])
def test_small_vocabularies(letters: bytes, longest: int) -> None:
    rng = random.Random(len(letters))
    for _ in range(8):
        model = random_model(rng, letters)
        long_texts = [bytes(rng.choices(letters, k=rng.randint(1, 200))) for _ in range(20)]
        for text in itertools.chain(short_texts(letters, longest), long_texts):
            assert model.encode_pretoken(text, how="match") == model.encode_pretoken(text, how="long"), text


@pytest.mark.parametrize("letters", [b"a", b"ab", b"abc"])
def test_runs(letters: bytes) -> None:
    """Runs are merged by their lengths, whatever else a vocabulary makes of their ends."""
    rng = random.Random(len(letters))
    merged = 0
    for _ in range(30):
        model = random_model(rng, letters)
        for _ in range(20):
            runs = [bytes((rng.choice(letters),)) * rng.choice((1, 2, 3, 40, rng.randint(1, 500))) for _ in range(5)]
            text = b"".join(runs)
            try:
                found = model.encode_pretoken(text, how="runs")
            except ValueError:
                continue
            merged += 1
            assert found == model.encode_pretoken(text, how="long"), text
    assert merged > 300
    with pytest.raises(ValueError, match="'runs' does not merge these 8 bytes"):
        model.encode_pretoken(b"abcdefgh", how="runs")


def test_a_token_may_rank_below_its_parts() -> None:
    """ "abc" is made of "ab", which ranks above it: what is made, and when, no longer follows the ranks."""
    tokens = [b"abc", b"cd", b"ab", b"da", b"bcd", b"cda"]
    ranks = {token: rank for rank, token in enumerate([*tokens, *(bytes((byte,)) for byte in range(256))])}
    model = CompiledBPE({rank: token for token, rank in ranks.items()}, None)
    for text in short_texts(b"abcd", 5):
        assert model.encode_pretoken(text, how="match") == [ranks[token] for token in merge(text, by_ranks(ranks))]


def levels_of(rng: random.Random, count: int, fixed: int) -> list[int]:
    """A level for each rank: of the first ones each has its own."""
    steps = [1 if rank <= fixed or rng.random() < 0.3 else 0 for rank in range(count)]
    return list(itertools.accumulate(steps))


@pytest.mark.parametrize(("letters", "longest"), [(b"ab", 6), (b"abc", 4)])
@pytest.mark.parametrize("is_listed", [False, True])
def test_ranks_of_one_level(letters: bytes, longest: int, is_listed: bool) -> None:
    """Of several ranks that are one level the leftmost pair merges first."""
    rng = random.Random(is_listed)
    for _ in range(10):
        vocab = dict(enumerate(rng.choice((joined_tokens, any_tokens))(rng, letters)))
        ids = {token: token_id for token_id, token in vocab.items()}
        merges = rng.sample(found := splits(vocab), len(found)) if is_listed else None
        levels = levels_of(rng, len(vocab if merges is None else merges), 256 if merges is None else 0)
        by_pair = {(vocab[a], vocab[b]): level for (a, b, _), level in zip(merges or (), levels, strict=False)}
        by_token = dict(zip(vocab.values(), levels, strict=False))
        rank = by_ranks(by_token) if merges is None else lambda left, right, by=by_pair: by.get((left, right))
        model = CompiledBPE(vocab, merges, levels=levels)
        long_texts = [bytes(rng.choices(letters, k=rng.randint(1, 100))) for _ in range(10)]
        for text in itertools.chain(short_texts(letters, longest), long_texts):
            expected = [ids[token] for token in merge(text, rank)]
            assert model.encode_pretoken(text, how="long") == expected, text
            assert model.encode_pretoken(text, how="match") == expected, text


def test_levels_are_checked() -> None:
    vocab = {byte: bytes((byte,)) for byte in range(256)}
    for levels in ([0] * 255, [1, 0] * 128):
        with pytest.raises(ValueError, match="expected 256 numbers in order"):
            CompiledBPE(vocab, None, levels=levels)
    with pytest.raises(ValueError, match="'short' does not merge 2 bytes"):
        CompiledBPE(vocab, None, levels=[0] * 256).encode_pretoken(b"ab", how="short")


@pytest.mark.parametrize("seed", range(6))
def test_runs_of_one_sign(seed: int) -> None:
    """Of which tokens of many lengths are made: the longest ones fit at most places, and lead on from hardly any."""
    rng = random.Random(seed)
    lengths = (
        [2, 3, 4, 5, 6, 7, 8, *sorted(rng.sample(range(9, 120), 24))]
        if seed
        else [2, 4, 8, 16, 32, 48, 64, 70, 80, 96, 112]
    )
    tokens = [bytes([byte]) for byte in range(256)] + [b"-" * length for length in rng.sample(lengths, len(lengths))]
    model = CompiledBPE(dict(enumerate(tokens)), None)
    for size in (1, 50, 64, 128, 129, 200, *(rng.randint(200, 3_000) for _ in range(30))):
        for text in (b"-" * size, b"-" * size + b"=", b"=" + b"-" * size, b"-" * size + b"=" + b"-" * size):
            assert model.encode_pretoken(text, how="match") == model.encode_pretoken(text, how="long"), (size, lengths)


def repeating(rng: random.Random, unit: bytes, letters: bytes) -> bytes:
    """A text most of which repeats a unit, in whose midst or beside which something else may be."""
    count = rng.randint(16_000, 40_000) // len(unit) + 1
    text, head, tail = unit * count, *(bytes(rng.choices(letters, k=rng.choice((0, 1, 30, 3_000)))) for _ in range(2))
    at = rng.choice((0, rng.randrange(len(text))))
    return head + text[:at] + (bytes(rng.choices(letters)) if at else b"") + text[at:] + unit[: rng.randrange(9)] + tail


def encoded(model: CompiledBPE, text: bytes) -> list[int]:
    """The ids of a pretoken, as an encoder has them."""
    return Encoder(model).encode_given(text, np.array([len(text)], np.int64)).tolist()


@pytest.mark.parametrize("letters", [b"a", b"ab", b"abc"])
def test_texts_that_repeat_a_unit(letters: bytes) -> None:
    """Few of their units are merged, and what repeats among their ids goes in as often as there are more."""
    rng = random.Random(len(letters))
    for number in range(40):
        tokens = rng.choice((joined_tokens, any_tokens))(rng, letters)
        levels = levels_of(rng, len(tokens), 256) if number % 3 == 0 else None
        by_levels = CompiledBPE(dict(enumerate(tokens)), None, levels=levels)
        model = random_model(rng, letters) if levels is None else by_levels
        for _ in range(3):
            unit = bytes(rng.choices(letters, k=rng.choice((1, 2, 3, 7, 64, 65, rng.randint(1, 64)))))
            text = repeating(rng, unit, letters)
            assert encoded(model, text) == model.encode_pretoken(text, how="match"), (unit, len(text))
        assert encoded(model, text) == model.encode_pretoken(text, how="long"), (unit, len(text))


def worst_cases(rng: random.Random) -> Iterator[bytes]:
    for letter in b"a \n=0":
        yield bytes((letter,)) * 3001
    for letters in (b"abcdefghijklmnopqrstuvwxyz", b"0123456789", bytes(range(256)), b"ab", b" \n\t\r"):
        yield bytes(rng.choices(letters, k=3000))
    yield b"".join(bytes((rng.randrange(128),)) * rng.randint(1, 60) for _ in range(100))


FILES = [f"{name}.tiktoken" for name in ("gpt2", "cl100k_base", "o200k_base", "llama3", "qwen3_6")]


@pytest.mark.parametrize("name", [*FILES, "gpt2.tokenizer.json", "deepseek_v3.tokenizer.json"])
def test_real_vocabularies(name: str, vocab_path: Callable[[str], Path], corpus: Callable[..., str]) -> None:
    """One unit of all there is: no pattern splits it.  Those of llama3 and qwen3_6 have unmade tokens and tokens that
    rank below their parts."""
    spec = formats.load(vocab_path(name), pattern=None if name.endswith(".json") else "none")
    model = CompiledBPE(spec.vocab, spec.merges)
    text = b"".join(
        [*worst_cases(random.Random(5)), *(corpus(name, 10_000).encode() for name in ("en", "code", "zh", "multi"))]
    )
    assert model.encode_pretoken(text, how="match") == model.encode_pretoken(text, how="long")
    units = "a", "ab", "ha", "a\u0301", "\r\n", "=-", "\u4e2d", "la-la ", "\u0627\u0644", "\U0001f600", "thanks", "012"
    for unit in units:
        text = repeating(random.Random(6), unit.encode(), b"ab -")
        assert encoded(model, text) == model.encode_pretoken(text, how="match"), unit
