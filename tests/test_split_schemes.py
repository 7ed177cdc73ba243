"""Schemes that no pattern has yet: each instruction set must do what the scalar loop does with any row."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator
from itertools import pairwise

import numpy as np
import pytest

from bbpe.characters import joined_pairs
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


def test_vocabularies_that_part_bytes() -> None:
    """In place of a pattern: cut where no token joins two bytes, by a loop and by each instruction set."""
    rng = random.Random(6)
    for seed in range(40):
        sample = b"".join(texts(seed, 3))
        starts = [rng.randrange(len(sample)) for _ in range(rng.choice((5, 60, 900)))]
        tokens = [sample[start : start + rng.randint(1, 6)] for start in starts]
        joined = {pair for token in tokens for pair in pairwise(token)}
        scheme = Scheme(joins=joined_pairs(tokens))
        for data in (b"", b"a", *texts(seed, 6)):
            inner = [i for i in range(1, len(data)) if not 0x80 <= data[i] < 0xC0]
            cuts = [i for i in inner if (data[i - 1], data[i]) not in joined]
            expected = [0, *cuts, len(data)] if data else [0]
            for isa in ISAS:
                splitter = Splitter(scheme, isa)
                assert splitter.spans(data).tolist() == expected, (isa, data)
                for start in rng.sample(range(len(data) + 1), k=min(5, len(data))):
                    assert splitter.safe_cut(data, start) == next((i for i in cuts if i >= start), -1)


def test_joins_of_the_wrong_size_are_refused() -> None:
    with pytest.raises(ValueError, match="expected 8192"):
        Splitter(Scheme(joins=b"\0" * 100))


@pytest.mark.full
def test_every_scheme() -> None:
    check(list(schemes()), 3)
