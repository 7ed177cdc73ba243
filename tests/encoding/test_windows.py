"""Texts that are not UTF-8 in memory are made UTF-8 a window at a time; where a window ends changes no id."""

from __future__ import annotations

import random
from collections.abc import Callable

import numpy as np
import pytest

import bbpe

#: Bytes of a window, and how far before its end a cut is looked for at first, at second and at third.
WINDOW, BACK = 1 << 16, (1 << 10, 1 << 13, 1 << 16)


@pytest.mark.parametrize("pattern", ["gpt2", "o200k", "whitespace", "none"])
@pytest.mark.parametrize("letters", ["\u0301\u0308", "\u0430\u044f", "\u4e2d\u3042", "\U0001f600\u2764"])
def test_a_cut_may_be_anywhere_before_the_end_of_a_window(
    letters: str, pattern: str, tok_of: Callable[[str], bbpe.Tokenizer]
) -> None:
    """One place to cut, a little before or after where one is looked for, or none for two windows."""
    tok, rng = tok_of(pattern), random.Random(7)
    size = len(letters[0].encode())
    run = "".join(rng.choices(letters, k=3 * WINDOW // size))
    for place in (WINDOW - 40, *(WINDOW - back for back in BACK), WINDOW + 30, 3 * WINDOW - BACK[0], 3 * WINDOW):
        for beside in (-9, 0, 7):
            at = max(place + beside, 1) // size
            text = f"{run[:at]} 1, b{run[at:]}"
            expected = tok.encode_to_numpy(text.encode(), threads=1)
            assert np.array_equal(tok.encode_to_numpy(text, threads=1), expected)
            assert tok.count_tokens(text) == len(expected)
