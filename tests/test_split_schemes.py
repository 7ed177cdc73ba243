"""Schemes that no pattern has yet: each instruction set must do what the scalar loop does with any row."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator

import numpy as np
import pytest

from bbpe.core.split import ISAS, Splitter
from bbpe.scheme import Scheme

FIELDS = {
    "contraction": ("none", "lead", "lead_fold", "suffix_fold"),
    "han_run": (False, True),
    "prefix": ("space", "any", "no_punct"),
    "word": ("L", "LM"),
    "cased": (False, True),
    "number_max": (0, 1, 2, 3, 5),
    "number_space": (False, True),
    "rest": ("not_sLN", "not_sLMN", "PS"),
    "tail": ("none", "newlines", "newlines_slash"),
    "newline": (False, True),
    "end_first": (False, True),
    "numbers_apart": (False, True),
    "cjk_apart": (False, True),
    "ascii_word": (False, True),
}
PIECES = [
    *"aAzZéÉдДʰ漢字の゛・한\u0301٣〇⺀ſ\u3099\u302a!.,/'😀\x00\u200b；。",
    *("1", "12", "12345", " ", " ", "  ", "    ", "\n", "\n\n", "\r\n", "\n  ", "\t", "\xa0", "\u3000"),
    *("'s", "'LL", "'rE", "re", "word", "Word", "WORD", "❤\ufe0f", "()", "!\n", "!/\n/", "漢" * 30, "word" * 30),
]


def texts(seed: int, number: int) -> Iterator[bytes]:
    rng = random.Random(seed)
    for _ in range(number):
        pieces = rng.sample(PIECES, rng.randint(2, len(PIECES)))
        yield "".join(rng.choices(pieces, k=rng.choice((20, 60, 200)))).encode()


def schemes() -> Iterator[Scheme]:
    for values in itertools.product(*FIELDS.values()):
        yield Scheme(**dict(zip(FIELDS, values, strict=True)))  # type: ignore[arg-type]


def check(chosen: list[Scheme], texts_each: int) -> None:
    for seed, scheme in enumerate(chosen):
        scalar = Splitter(scheme, "scalar")
        others = [Splitter(scheme, isa) for isa in ISAS if isa != "scalar"]
        for data in texts(seed, texts_each):
            expected = scalar.spans(data)
            for other in others:
                assert np.array_equal(other.spans(data), expected), (scheme, other.isa, data)


def test_a_sample_of_schemes() -> None:
    check(random.Random(5).sample(list(schemes()), 1_500), 4)


@pytest.mark.full
def test_every_scheme() -> None:
    check(list(schemes()), 3)
