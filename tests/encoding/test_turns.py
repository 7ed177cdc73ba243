"""Threads that call at once take turns at the interpreter's lock: their results are those of one thread."""

from __future__ import annotations

import random
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import bbpe

SPECIAL = "<|endoftext|>"


@pytest.fixture
def quick_switches() -> Iterator[None]:
    """Threads change places so often that each finds the other at any point of a call."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    yield
    sys.setswitchinterval(before)


def texts() -> list[str]:
    rng = random.Random(71)
    words = ["the", "of", "low", "lower,", "12345", "naïve", "漢字", SPECIAL, "\n", "def f(x):"]
    return [" ".join(rng.choices(words, k=rng.choice((5, 300, 900, 2000, 4000)))) for _ in range(6)]


@pytest.mark.usefixtures("quick_switches")
@pytest.mark.parametrize("count", [2, 5])
def test_threads_take_turns(tok_of: Callable[[str], bbpe.Tokenizer], count: int) -> None:
    tok, items = tok_of("gpt2"), texts()
    works: dict[str, Callable[[str], Any]] = {
        "encode": lambda text: tok.encode(text, allowed_special="all"),
        "plain": tok.encode,
        "array": lambda text: tok.encode_to_numpy(text).tolist(),
        "batch": lambda text: tok.encode_batch([text[:900], text[900:1800]]),
        "count": tok.count_tokens,
        "places": lambda text: tok.encode_with_offsets(text)[1].tolist(),
        "decode": lambda text: tok.decode(tok.encode(text)),
        "first": lambda text: tok.truncate(text, 50),
    }
    right = {name: list(map(work, items)) for name, work in works.items()}
    found: list[tuple[str, bool]] = []

    def run(first: int) -> None:
        names = list(works)
        for name in names[first:] + names[:first]:
            found.append((name, list(map(works[name], items)) == right[name]))

    threads = [threading.Thread(target=run, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert not any(thread.is_alive() for thread in threads)
    assert len(found) == count * len(works)
    assert all(is_right for _, is_right in found), found
