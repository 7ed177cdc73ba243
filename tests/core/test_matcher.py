"""Tokens looked for in bytes: the longest at each place, from left to right, by a policy, whatever the text."""

from __future__ import annotations

import itertools
import random

import pytest

from bbpe.core.matcher import TokenMatcher


def slow(tokens: list[bytes], numbers: set[int], data: bytes) -> list[tuple[int, int, int]]:
    """The definition."""
    found, at = [], 0
    by_first: dict[int, list[int]] = {}
    for number in numbers:
        by_first.setdefault(tokens[number][0], []).append(number)
    while at < len(data):
        here = [number for number in by_first.get(data[at], ()) if data.startswith(tokens[number], at)]
        best = max(here, key=lambda number: len(tokens[number]), default=None)
        if best is not None:
            found.append((at, at + len(tokens[best]), best))
        at += 1 if best is None else len(tokens[best])
    return found


ALPHABET = [bytes(chars) for size in (1, 2, 3) for chars in itertools.product(b"ab", repeat=size)]


@pytest.mark.parametrize("seed", range(16))
def test_short_texts(seed: int) -> None:
    rng = random.Random(seed)
    tokens = rng.sample(ALPHABET, rng.randint(1, 8))
    matcher = TokenMatcher(tokens)
    for _ in range(4):
        numbers = set(rng.sample(range(len(tokens)), rng.randint(0, len(tokens))))
        policy = matcher.policy(numbers)
        assert policy.longest == max((len(tokens[number]) for number in numbers), default=0)
        for size in range(8):
            for chars in itertools.product(b"abc", repeat=size) if size < 6 else ():
                assert policy.find(bytes(chars)) == slow(tokens, numbers, bytes(chars))


@pytest.mark.parametrize("seed", range(30))
def test_policies_in_turn(seed: int) -> None:
    """A policy searches the whole text, and the next one what is left between its tokens."""
    rng = random.Random(seed)
    tokens = rng.sample(ALPHABET, rng.randint(2, 9))
    matcher, turns = TokenMatcher(tokens), [set[int]() for _ in range(rng.randint(2, 4))]
    for number in range(len(tokens)):
        rng.choice(turns).add(number)
    policy = None
    for numbers in reversed(turns):
        policy = matcher.policy(numbers, policy)
    assert policy is not None
    assert policy.longest == sum(max((len(tokens[number]) for number in numbers), default=0) for numbers in turns)
    for _ in range(60):
        data = bytes(rng.choices(b"abc", k=rng.randint(0, 40)))
        left, expected = [(0, len(data))], list[tuple[int, int, int]]()
        for numbers in turns:
            for start, end in left:
                found = slow(tokens, numbers, data[start:end])
                expected += [(start + first, start + last, number) for first, last, number in found]
            ends = sorted({0, len(data), *(at for start, end, _ in expected for at in (start, end))})
            taken = {start for start, _, _ in expected}
            left = [(a, b) for a, b in itertools.pairwise(ends) if a not in taken]
        assert policy.find(data) == sorted(expected)
        assert policy.find(data, 0, 2) == sorted(expected)[:2]


@pytest.mark.parametrize("firsts", [1, 2, 3, 4, 5, 40, 256])
def test_soups(firsts: int) -> None:
    """Texts of any bytes, with tokens that begin with so many different bytes, and in blocks of any alignment."""
    rng = random.Random(firsts)
    begins = rng.sample(range(256), firsts)
    made = (bytes([begins[i % firsts], *rng.choices(range(256), k=rng.randint(0, 9))]) for i in range(300))
    tokens = list(dict.fromkeys(made))
    matcher = TokenMatcher(tokens)
    for size in (0, 1, 63, 64, 65, 1000, 5000):
        parts = [rng.choice(tokens) if rng.random() < 0.1 else rng.randbytes(rng.randint(0, 90)) for _ in range(size)]
        data = b"".join(parts)[:size]
        numbers = set(rng.sample(range(len(tokens)), len(tokens) * 2 // 3))
        found = matcher.policy(numbers).find(data)
        assert found == slow(tokens, numbers, data)
        start = rng.randint(0, size)
        later = [(start + a, start + b, number) for a, b, number in slow(tokens, numbers, data[start:])]
        assert matcher.policy(numbers).find(data, start) == later
        assert matcher.policy(numbers).find(data, 0, 2) == found[:2]


NESTED = [b"a", b"a" * 1000 + b"b", b"aab", b"ba", b"c" * 70_000]


@pytest.mark.parametrize("numbers", [{0, 1}, {1}, {1, 2}, {0, 1, 2, 3, 4}, {1, 4}])
def test_tokens_that_begin_alike(numbers: set[int]) -> None:
    """Walks over the same bytes again and again are given up for an automaton; what is found is the same."""
    matcher = TokenMatcher(NESTED)
    policy = matcher.policy(numbers)
    rng = random.Random(5)
    long = b"".join(b"a" * rng.randint(1, 1300) + rng.choice([b"b", b"c", b"ba"]) for _ in range(40))
    for data in (b"a" * 12_000, long, b"a" * 999 + b"b" + b"a" * 5000 + b"b", b"c" * 80_000 + b"a" * 5_000):
        found = policy.find(data)
        assert found == nested_slow(numbers, data)
        assert policy.find(data, 0, 3) == found[:3]


def nested_slow(numbers: set[int], data: bytes) -> list[tuple[int, int, int]]:
    by_length = sorted(numbers, key=lambda number: -len(NESTED[number]))
    found, at = [], 0
    while at < len(data):
        best = next((number for number in by_length if data.startswith(NESTED[number], at)), None)
        if best is not None:
            found.append((at, at + len(NESTED[best]), best))
        at += 1 if best is None else len(NESTED[best])
    return found


def test_a_long_text_of_beginnings() -> None:
    """Walks alone would read 2e10 bytes here."""
    policy = TokenMatcher([b"a", b"a" * 20_000 + b"b"]).policy([0, 1])
    assert len(policy.find(b"a" * 1_000_000)) == 1_000_000


def test_many_tokens() -> None:
    tokens = [f"<|token_{number}|>".encode() for number in range(100_000)]
    policy = TokenMatcher(tokens).policy(range(0, 100_000, 2))
    data = b"".join(tokens[number] + b" see <|token_" for number in range(2000))
    assert [number for *_, number in policy.find(data)] == list(range(0, 2000, 2))


def test_what_is_no_policy() -> None:
    matcher = TokenMatcher([b"a"])
    with pytest.raises(IndexError, match="token 1 of a matcher of 1"):
        matcher.policy([1])
    with pytest.raises((OverflowError, IndexError)):
        matcher.policy([-1])
    assert TokenMatcher([]).policy([]).find(b"a") == []
    assert matcher.policy([0]).find(b"") == []
    with pytest.raises(TypeError):
        TokenMatcher(["a"])  # type: ignore[list-item]
