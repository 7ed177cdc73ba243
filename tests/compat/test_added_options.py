"""Added tokens with options in texts of other cases, forms and white space, side by side with `tokenizers`."""

from __future__ import annotations

import itertools
import random

import pytest

from bbpe.compat.backend import Backend

hf = pytest.importorskip("tokenizers")
from small_hf import KINDS  # noqa: E402 - it imports tokenizers

LISTS = ("ids", "tokens", "offsets", "word_ids", "special_tokens_mask")
CONTENTS = ("NRM", "q \u00e9", " lead", "trail ", "\u0130x", "<v>")
POOL = [
    " ", "  ", "\t", "\n", "\u3000", *CONTENTS, "nrm", "Nrm", "Q \u00c9", "q e\u0301", "LEAD ", "TRAIL", "<V>", "see",
    "my", "a", ".",
]  # fmt: skip
FLAGS = ("lstrip", "rstrip", "single_word", "normalized")


@pytest.mark.parametrize("kind", KINDS)
def test_options_of_added_tokens(kind: str) -> None:
    rng = random.Random(kind)
    for flags in itertools.product((False, True), repeat=4):
        theirs = KINDS[kind]()
        theirs.add_tokens([hf.AddedToken(text, **dict(zip(FLAGS, flags, strict=True))) for text in CONTENTS])
        ours = Backend(hf.Tokenizer.from_str(theirs.to_str()))
        for _ in range(40):
            text = "".join(rng.choices(POOL, k=rng.randint(1, 7)))
            one, other = ours.encode(text), theirs.encode(text)
            for name in LISTS:
                assert getattr(one, name) == getattr(other, name), (text, flags, name)
