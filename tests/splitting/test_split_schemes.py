"""Schemes that no pattern has yet: each instruction set must do what the scalar loop does with any row."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator
from itertools import pairwise

import numpy as np
import pytest
from seeds import full_then_long

from bbpe.core.split import ISAS, Splitter
from bbpe.spec.characters import joined_pairs
from bbpe.splitting.scheme import Scheme

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
_STRINGS = [
    *"aAzZéÉдДʰ漢字の゛・한\u0301٣〇⺀ſ\u3099\u302a!.,/'😀\x00\u200b；。",
    *("1", "12", "12345", " ", " ", "  ", "    ", "\n", "\n\n", "\r\n", "\n  ", "\t", "\xa0", "\u3000"),
    *("'s", "'LL", "'rE", "re", "word", "Word", "WORD", "❤\ufe0f", "()", "!\n", "!/\n/", "漢" * 30, "word" * 30),
]
PIECES = [piece.encode() for piece in _STRINGS]


def texts(rng: np.random.Generator, number: int) -> Iterator[bytes]:
    for _ in range(number):
        some = rng.permutation(len(PIECES))[: rng.integers(2, len(PIECES), endpoint=True)]
        chosen = some[rng.integers(0, len(some), (20, 60, 200)[rng.integers(3)])]
        yield b"".join([PIECES[i] for i in chosen.tolist()])


def schemes() -> Iterator[Scheme]:
    for values in itertools.product(*FIELDS.values()):
        yield Scheme(**dict(zip(FIELDS, values, strict=True)))  # type: ignore[arg-type]


def check(chosen: list[Scheme], texts_each: int) -> None:
    rng = np.random.default_rng(5)
    for scheme in chosen:
        scalar = Splitter(scheme, "scalar")
        others = [Splitter(scheme, isa) for isa in ISAS if isa != "scalar"]
        for data in texts(rng, texts_each):
            expected = scalar.spans(data).tobytes()
            for other in others:
                assert other.spans(data).tobytes() == expected, (scheme, other.isa, data)


def test_a_sample_of_schemes() -> None:
    check(random.Random(5).sample(list(schemes()), 70), 3)


def test_schemes_of_deepseek() -> None:
    """Those that the masks know: CJK apart, punctuation with ASCII letters after it, characters without a clause."""
    fixed = {"prefix": "no_punct", "rest": "PS", "contraction": "none", "numbers_apart": True, "cjk_apart": True}
    off = {"cased": False, "end_first": False, "han_run": False, "number_space": False}
    known = [each for each in schemes() if all(getattr(each, name) == value for name, value in (fixed | off).items())]
    assert len(known) == 120
    check(known, 1)


def test_vocabularies_that_part_bytes() -> None:
    """In place of a pattern: cut where no token joins two bytes, by a loop and by each instruction set."""
    rng, numbers = random.Random(6), np.random.default_rng(6)
    for _ in range(40):
        sample = b"".join(texts(numbers, 3))
        starts = [rng.randrange(len(sample)) for _ in range(rng.choice((5, 60, 900)))]
        tokens = [sample[start : start + rng.randint(1, 6)] for start in starts]
        joined = {pair for token in tokens for pair in pairwise(token)}
        scheme = Scheme(joins=joined_pairs(dict(enumerate(dict.fromkeys(tokens)))))
        for data in (b"", b"a", *texts(numbers, 6)):
            inner = [i for i in range(1, len(data)) if not 0x80 <= data[i] < 0xC0]
            cuts = [i for i in inner if (data[i - 1], data[i]) not in joined]
            expected = [0, *cuts, len(data)] if data else [0]
            for isa in ISAS:
                splitter = Splitter(scheme, isa)
                assert splitter.spans(data).tolist() == expected, (isa, data)
                for start in rng.sample(range(len(data) + 1), k=min(5, len(data))):
                    assert splitter.safe_cut(data, start) == next((i for i in cuts if i >= start), -1)


def test_a_vocabulary_that_parts_nothing() -> None:
    scheme = Scheme(joins=b"\xff" * 8192)
    for data in (b"", b"a", b"a b\n" * 500, bytes(range(256))):
        for isa in {*ISAS, "auto"}:
            splitter = Splitter(scheme, isa)
            assert splitter.spans(data).tolist() == ([0, len(data)] if data else [0]), (isa, data)
            assert splitter.safe_cut(data, 0) == -1


def test_joins_of_the_wrong_size_are_refused() -> None:
    with pytest.raises(ValueError, match="expected 8192"):
        Splitter(Scheme(joins=b"\0" * 100))


@pytest.mark.parametrize("part", full_then_long([0], [1, 2, 3]))
def test_every_scheme(part: int) -> None:
    check(list(schemes())[part::4], 3)
