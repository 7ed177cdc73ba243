"""Which ids come from a character, and which from spans of a text, among some ids of it."""

from __future__ import annotations

import numpy as np
import pytest

import bbpe
from bbpe.compat.tokenizers import Tokenizer
from bbpe.compat.tokenizers.texts import TextSource

RANKS = {bytes([byte]): byte for byte in range(256)} | {b"ab": 256, b"cd": 257}
VIEW = Tokenizer(bbpe.Tokenizer.from_ranks(RANKS, pattern="gpt2"))
#: Ids of two characters each; and a character of two ids, between others.
PLAIN, SPLIT = "abcdab", "a\u00e9b"


def source(text: str) -> TextSource:
    return TextSource(VIEW._hf_texts, text, None)


@pytest.mark.parametrize(("text", "spans", "ids", "mask", "is_whole"), [
    (PLAIN, [], (0, 3), [0, 0, 0], True), (PLAIN, [(0, 2)], (0, 3), [1, 0, 0], True),
    (PLAIN, [(0, 4)], (0, 3), [1, 1, 0], True), (PLAIN, [(0, 6)], (0, 3), [1, 1, 1], True),
    (PLAIN, [(0, 2), (4, 6)], (0, 3), [1, 0, 1], True), (PLAIN, [(1, 2), (2, 3)], (0, 3), [1, 1, 0], True),
    # an id is of a span that has only some of its characters
    (PLAIN, [(1, 3)], (0, 3), [1, 1, 0], True), (PLAIN, [(3, 4)], (0, 3), [0, 1, 0], True),
    # an empty span between two ids has none
    (PLAIN, [(2, 2)], (0, 3), [0, 0, 0], True), (PLAIN, [(0, 0), (6, 6)], (0, 3), [0, 0, 0], True),
    # ids that were cut off
    (PLAIN, [(0, 2)], (1, 3), [0, 0], False), (PLAIN, [(4, 6)], (0, 2), [0, 0], False),
    (PLAIN, [(0, 6)], (1, 3), [1, 1], False), (PLAIN, [(0, 6)], (0, 2), [1, 1], False),
    (PLAIN, [(0, 2), (4, 6)], (1, 3), [0, 1], False), (PLAIN, [(2, 4)], (1, 2), [1], True),
    (PLAIN, [(0, 1)], (3, 3), [], False), (PLAIN, [], (3, 3), [], True),
    # all ids of a character are of a span that has it
    (SPLIT, [(1, 2)], (0, 4), [0, 1, 1, 0], False), (SPLIT, [(0, 2)], (0, 4), [1, 1, 1, 0], False),
    (SPLIT, [(1, 3)], (0, 4), [0, 1, 1, 1], True), (SPLIT, [(2, 3)], (0, 4), [0, 0, 0, 1], True),
])  # fmt: skip
def test_the_ids_of_spans(
    text: str, spans: list[tuple[int, int]], ids: tuple[int, int], mask: list[int], is_whole: bool
) -> None:
    found = source(text).covered(np.array(spans, np.int64).reshape(-1, 2), *ids)
    assert found == (mask, is_whole)


@pytest.mark.parametrize(("text", "ids", "expected"), [
    (PLAIN, (0, 3), [0, 0, 1, 1, 2, 2, None]), (PLAIN, (1, 3), [None, None, 1, 1, 2, 2, None]),
    (PLAIN, (0, 2), [0, 0, 1, 1, None, None, None]), (PLAIN, (1, 1), [None] * 7), (SPLIT, (0, 4), [0, 1, 3, None]),
    (SPLIT, (2, 4), [None, 2, 3, None]),
])  # fmt: skip
def test_the_first_id_of_a_character(text: str, ids: tuple[int, int], expected: list[int | None]) -> None:
    assert [source(text).at(character, *ids) for character in range(len(expected))] == expected
