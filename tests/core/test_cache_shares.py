"""The tables of several tokenizers in one process: none goes without because others came first."""

from __future__ import annotations

import gc
import random
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest
from caches import fresh

import bbpe
from bbpe.core import states

TEXT = "some words in a row " * 10_000
SECOND = 10**9


class Clock:
    """A clock that a test moves."""

    def __init__(self) -> None:
        self.now = 1

    def __call__(self) -> int:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(states, "monotonic_ns", made)
    return made


@pytest.fixture
def others() -> int:
    """The memory of caches of tokenizers that other tests made: none is left that could be freed."""
    gc.collect()
    bbpe.set_cache_limit(0)
    return bbpe.train_from_iterator(["a"], 256).cache_info().process


def size(tok: bbpe.Tokenizer) -> int:
    return tok.cache_info().tokenizer


@pytest.fixture
def alone(tok_of: Callable[[str], bbpe.Tokenizer], limit: Callable[[int], None], others: int) -> int:
    """The tables that a tokenizer takes for the text when it may have any."""
    limit(1 << 30)
    tok = fresh(tok_of("gpt2"))
    tok.encode(TEXT)
    return size(tok)


@pytest.mark.parametrize("count", [2, 5, 14])
def test_tokenizers_in_turns_get_shares_and_keep_them(
    count: int, tok_of: Callable[[str], bbpe.Tokenizer], limit: Callable[[int], None], clock: Clock, others: int,
    alone: int,
) -> None:  # fmt: skip
    room = 3 * alone
    limit(others + room)
    toks = [fresh(tok_of("gpt2")) for _ in range(count)]
    expected = tok_of("gpt2").encode(TEXT)
    tok_of("gpt2").clear_cache()
    rounds = []
    for _ in range(8):
        for tok in toks:
            assert tok.encode(TEXT) == expected
            assert tok.cache_info().process <= others + room
        rounds.append([size(tok) for tok in toks])
    # sizes are powers of two, roughly, and a table is freed for one of half its size
    assert min(rounds[-1]) >= min(alone, room // count // 4)
    assert rounds[-1] == rounds[-2] == rounds[-3]


def test_the_memory_of_tokenizers_that_are_no_longer_used_serves_those_that_are(
    tok_of: Callable[[str], bbpe.Tokenizer], limit: Callable[[int], None], clock: Clock, others: int, alone: int
) -> None:
    limit(others + 3 * alone)
    toks = [fresh(tok_of("gpt2")) for _ in range(9)]
    for _ in range(3):
        for tok in toks:
            tok.encode(TEXT)
    late = fresh(tok_of("gpt2"))
    late.encode(TEXT)
    assert 0 < size(late) <= alone // 2
    before = [size(tok) for tok in toks]
    clock.now += SECOND - 1
    late.encode(TEXT)
    assert [size(tok) for tok in toks] == before
    # one of them is used, and the others were not for a second
    toks[4].encode(TEXT[:2000])
    clock.now += 1
    late.encode(TEXT)
    assert size(late) == alone
    assert size(toks[4]) == before[4]
    assert sum(size(tok) == 0 for tok in toks) > 0


@pytest.mark.parametrize("used", [0, 1])
def test_the_least_recently_used_go_first(
    used: int, tok_of: Callable[[str], bbpe.Tokenizer], limit: Callable[[int], None], clock: Clock, others: int,
    alone: int,
) -> None:  # fmt: skip
    def encoded() -> bbpe.Tokenizer:
        tok = fresh(tok_of("gpt2"))
        tok.encode(TEXT)
        return tok

    limit(others + 3 * alone)
    first = [encoded() for _ in range(3)]
    late = [encoded()]
    left = [tok for tok in first if size(tok)]
    assert len(left) == 2  # the late one has half of what the third had
    clock.now += SECOND // 2
    left[used].encode("a")
    late.append(encoded())  # gets the other half, and sees who was used
    assert [size(tok) for tok in (*left, *late)] == [alone, alone, alone // 2, alone // 2]
    clock.now += SECOND // 2
    late.append(encoded())
    assert size(late[2]) == alone
    assert [size(tok) for tok in (left[used], left[not used])] == [alone, 0]


def test_a_lower_limit_frees_what_is_idle(
    tok_of: Callable[[str], bbpe.Tokenizer], limit: Callable[[int], None], others: int, alone: int
) -> None:
    toks = [fresh(tok_of("gpt2")) for _ in range(4)]
    expected = tok_of("gpt2").encode(TEXT)
    tok_of("gpt2").clear_cache()
    for tok in toks:
        assert tok.encode(TEXT) == expected
    assert toks[0].cache_info().process == others + 4 * alone
    limit(others + 4 * alone)
    assert toks[0].cache_info().process == others + 4 * alone
    limit(others + 4 * alone - 1)
    assert toks[0].cache_info().process == others + 3 * alone
    limit(0)
    assert [size(tok) for tok in toks] == [0] * 4
    assert toks[0].cache_info().process == others
    for tok in toks:
        assert tok.encode(TEXT) == expected
    assert toks[0].cache_info().process == others


def test_dropped_tokenizers_give_their_memory_back(
    tok_of: Callable[[str], bbpe.Tokenizer], limit: Callable[[int], None], others: int, alone: int
) -> None:
    limit(others + 2 * alone)
    for _ in range(50):
        tok = fresh(tok_of("gpt2"))
        tok.encode(TEXT)
        assert size(tok) == alone  # the one before it is dropped only now
    del tok
    gc.collect()
    assert tok_of("gpt2").cache_info().process == others


@pytest.mark.parametrize("rounds", [30, pytest.param(600, marks=pytest.mark.full)])
def test_threads_share_less_than_they_want(
    rounds: int, tok_of: Callable[[str], bbpe.Tokenizer], limit: Callable[[int], None], others: int
) -> None:
    """Tables are freed for others while threads take them, clear them, and drop their tokenizers."""
    limit(others + (1 << 20))
    kinds = [tok_of(pattern) for pattern in ("gpt2", "cl100k", "o200k")]
    rng = random.Random(5)
    texts = [" ".join(f"w{rng.randrange(9000)}" for _ in range(rng.choice([3, 900, 9000]))) for _ in range(6)]
    expected = [[tok.encode(text) for text in texts] for tok in kinds]
    for tok in kinds:
        tok.clear_cache()
    toks = [(kind, fresh(kinds[kind])) for kind in (0, 1, 2, 0)]

    def work(number: int) -> None:
        rng = random.Random(number)
        for _ in range(rounds):
            place, at = rng.randrange(len(toks)), rng.randrange(len(texts))
            kind, tok = toks[place]
            assert tok.encode(texts[at]) == expected[kind][at]
            assert tok.encode_to_numpy(texts[at], threads=2).tolist() == expected[kind][at]
            assert tok.cache_info().process <= others + (1 << 20)
            if not rng.randrange(8):
                toks[place] = kind, fresh(kinds[kind])
            elif not rng.randrange(8):
                tok.clear_cache()

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(work, range(4)))
    toks.clear()
    gc.collect()
    assert kinds[0].cache_info().process == others
