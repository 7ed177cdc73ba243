"""Added tokens with options in texts of other cases, forms and white space, side by side with `tokenizers`."""

from __future__ import annotations

import itertools
import random

import pytest

from bbpe.compat.tokenizers import Tokenizer
from bbpe.compat.transformers.backend import Backend

hf = pytest.importorskip("tokenizers")
from small_hf import KINDS  # noqa: E402 - it imports tokenizers
from tokenizers import models, normalizers  # noqa: E402

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
        for _ in range(9):
            text = "".join(rng.choices(POOL, k=rng.randint(1, 7)))
            one, other = ours.encode(text), theirs.encode(text)
            for name in LISTS:
                assert getattr(one, name) == getattr(other, name), (text, flags, name)


def test_a_token_of_the_model_with_the_id_of_an_added_one() -> None:
    """The added token is searched with the blank that the normalizer adds; that of the model may have none."""
    vocab = {key: number for number, key in enumerate(["<unk>", "\u2581", "s", "w", "_", "x", "sw", "\u2581sw"])}
    theirs = hf.Tokenizer(models.BPE(vocab=vocab, merges=[("s", "w"), ("\u2581", "sw")], unk_token="<unk>"))
    theirs.normalizer = normalizers.Sequence([normalizers.Prepend("\u2581"), normalizers.Replace(" ", "\u2581")])
    theirs.add_special_tokens(["<unk>"])
    theirs.add_tokens(["sw"])
    ours = Tokenizer.from_str(theirs.to_str())
    for parts in itertools.product(("", "sw", " ", "_", "x", "<unk>"), repeat=4):
        text = "".join(parts)
        one, other = ours.encode(text), theirs.encode(text)
        assert (one.ids, one.tokens, one.offsets) == (other.ids, other.tokens, other.offsets), text
