"""Merges are pairs in an order: what has none, or is no pair, is refused."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

import bbpe

VOCAB = {byte: bytes([byte]) for byte in range(256)} | {256: b"ab", 257: b"bc"}
PAIRS = [(b"a", b"b"), (b"b", b"c")]


@pytest.mark.parametrize("made", [set, frozenset])
def test_a_set_has_no_order(made: Any) -> None:
    with pytest.raises(TypeError, match=r"^merges must be pairs of tokens in the order of their ranks, not \w+$"):
        bbpe.Tokenizer.from_merges(VOCAB, made(PAIRS), pattern="gpt2")


@pytest.mark.parametrize("merges", ["ab", 5, b"ab", [5]])
def test_what_has_no_pairs_is_refused(merges: Any) -> None:
    with pytest.raises(TypeError, match=r"^merges(\[0\])? must be "):
        bbpe.Tokenizer.from_merges(VOCAB, merges, pattern="gpt2")


@pytest.mark.parametrize(("parts", "told"), [((b"a", b"b", b"c"), "3 parts"), ((b"a",), "1 part"), ((), "0 parts")])
def test_a_merge_has_two_parts(parts: tuple[bytes, ...], told: str) -> None:
    with pytest.raises(TypeError, match=rf"^merges\[1\] has {told}; expected a pair of tokens$"):
        bbpe.Tokenizer.from_merges(VOCAB, [(b"a", b"b"), parts], pattern="gpt2")


@pytest.mark.parametrize("made", [list, tuple, iter, lambda pairs: dict(pairs).items()])
def test_the_first_merge_is_made_first(made: Any) -> None:
    for pairs, ids in ((PAIRS, [256, 99]), (PAIRS[::-1], [97, 257])):
        merges: Iterable[tuple[bytes, bytes]] = made(pairs)
        assert bbpe.Tokenizer.from_merges(VOCAB, merges, pattern="gpt2").encode("abc") == ids
