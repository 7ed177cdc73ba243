"""Alternative segmentations: how many may be asked for, which arguments are refused, and what is canonical."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import bbpe
from bbpe.records import replace
from bbpe.spec.rules import UnicodeForm
from bbpe.spec.spec import TextRules

TEXTS = ["low lower lowest", "slow slower"] * 4
PIECES = bbpe.train_from_iterator(TEXTS, 280, model="unigram")
BYTES = bbpe.train_from_iterator(TEXTS, 266, special_tokens=["<s>", "</s>"])


@pytest.mark.parametrize("call", [
    lambda n: PIECES.encode_nbest("l", n)[0][0], lambda n: PIECES.encode_sampled("l", nbest=n, alpha=1e9, seed=1),
])  # fmt: skip
def test_the_most_segmentations_of_a_call(call: Any) -> None:
    assert call(1) == call(65_536) == call(np.int64(2)) == PIECES.encode("l")
    for wrong in (0, 65_537, -1):
        with pytest.raises(ValueError, match=rf"^(n|nbest) is {wrong}; expected 1 to 65536$"):
            call(wrong)
    for kind in (True, "2", 2.0):
        with pytest.raises(TypeError, match=r"^n(best)? must be an int( or None)?, not "):
            call(kind)


@pytest.mark.parametrize(("options", "error", "said"), [
    ({"alpha": -1e-9}, ValueError, "alpha is -1e-09; expected 0 or more"),
    ({"alpha": float("nan")}, ValueError, "alpha is nan; expected 0 or more"),
    ({"alpha": float("inf")}, ValueError, "alpha is inf; expected 0 or more"),
    ({"alpha": "1"}, TypeError, "alpha must be a number, not str"),
    ({"seed": "1"}, TypeError, "seed must be an int or None, not str"),
    ({"seed": 1.5, "nbest": 2}, TypeError, "seed must be an int or None, not float"),
])  # fmt: skip
def test_what_no_segmentation_is_drawn_with(options: dict[str, Any], error: type[Exception], said: str) -> None:
    with pytest.raises(error, match=f"^{said}$"):
        PIECES.encode_sampled("low", **options)


def test_a_seed_is_any_whole_number_and_none_draws_anew() -> None:
    text = "low lower lowest" * 20
    for seed in (0, -1, 1 << 70):
        assert PIECES.encode_sampled(text, seed=seed) == PIECES.encode_sampled(text, seed=seed)
    assert PIECES.encode_sampled(text, seed=0) != PIECES.encode_sampled(text, seed=1)
    assert PIECES.encode_sampled(text) != PIECES.encode_sampled(text)
    assert {PIECES.decode(PIECES.encode_sampled(text, alpha=0.0, seed=seed)) for seed in range(3)} == {text}


@pytest.mark.parametrize("rules", [TextRules(), TextRules(normalizers=(UnicodeForm("NFC"),))], ids=["none", "NFC"])
def test_a_row_is_canonical_if_each_of_its_stretches_is(rules: TextRules) -> None:
    """Special tokens divide a row into stretches, the first and the last too; one stretch that is not is enough."""
    tok = bbpe.Tokenizer(replace(BYTES.spec, rules=rules))
    begin, end = (tok.special_tokens[text] for text in ("<s>", "</s>"))
    good, bad = tok.encode("low"), [tok.encode(letter)[0] for letter in "low"]
    assert good != bad
    for row, is_canonical in (
        ([], True), ([begin], True), ([begin, end, end], True), (good, True), (bad, False),
        ([begin, *good], True), ([*good, end], True), ([begin, *good, end, *good, begin], True),
        ([begin, *bad], False), ([*bad, end], False), ([*good, begin, *good, end, *bad], False),
        ([*bad, begin, *good], False), ([*good, begin, *bad, end, *good], False),
    ):  # fmt: skip
        assert tok.is_canonical(row) is is_canonical, row
        assert tok.is_canonical(np.array(row, np.uint16)) is is_canonical, row


@pytest.mark.parametrize("row", [[97, 98], [0xC3], [0xE6, 0xB7], [0xFF], [0xC3, 0xA9]])
def test_bytes_that_are_no_text_are_canonical_as_they_are(row: list[int]) -> None:
    tok = bbpe.Tokenizer.from_ranks({bytes([byte]): byte for byte in range(256)} | {b"ab": 256}, pattern="gpt2")
    assert tok.is_canonical(row) is (row != [97, 98])
