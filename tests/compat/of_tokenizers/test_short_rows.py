"""Rows that are truncated to fewer ids than their template has, side by side with `tokenizers` and `transformers`."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

import bbpe
from bbpe.compat.tokenizers import Tokenizer

hf = pytest.importorskip("tokenizers")
from small_hf import KINDS  # noqa: E402 - it imports tokenizers

ROWS = [("see my dogs",), ("see my dogs", "a see my")]


def found(tokenizer: Any, texts: tuple[str, ...], adds: bool, options: dict[str, Any]) -> Any:
    """Return the ids of a row and its overflowing rows; `None` for an error or a panic."""
    try:
        tokenizer.enable_truncation(**options)
        row = tokenizer.encode(*texts, add_special_tokens=adds)
    except BaseException as error:  # `tokenizers` raises a bare Exception or panics, and this package a ValueError
        if type(error) is not Exception and type(error).__name__ not in ("ValueError", "PanicException"):
            raise
        return None
    # the order of more overflowing rows is tested elsewhere
    return row.ids, sorted(each.ids for each in row.overflowing)


@pytest.mark.parametrize("kind", KINDS)
def test_view(kind: str) -> None:
    document = KINDS[kind]().to_str()
    ours, theirs = Tokenizer.from_str(document), hf.Tokenizer.from_str(document)
    for length, stride, strategy in itertools.product(range(5), (0, 1, 5), ("longest_first", "only_first")):
        options = {"max_length": length, "stride": stride, "strategy": strategy}
        for texts, adds in itertools.product(ROWS, (True, False)):
            assert found(ours, texts, adds, options) == found(theirs, texts, adds, options), (options, texts, adds)


@pytest.mark.parametrize("kind", KINDS)
def test_calls(kind: str) -> None:
    transformers = pytest.importorskip("transformers")
    document = KINDS[kind]().to_str()  # `tokenizers` does not train the same tokenizer twice
    inner = [hf.Tokenizer.from_str(document) for _ in range(2)]
    made = [transformers.PreTrainedTokenizerFast(tokenizer_object=each, pad_token="<s>") for each in inner]
    ours, theirs = bbpe.accelerate(made[0]), made[1]
    for length, pads in itertools.product((1, 2, 3), (False, True)):
        options = {"max_length": length, "truncation": True, "padding": pads}
        for batch in ([["see my dogs", "see"]], [["see my dogs", "see"], ["my", "a my dogs"]]):
            assert ours(*batch, **options).data == theirs(*batch, **options).data


def test_ids_that_do_not_fit_in_32_bits() -> None:
    document = KINDS["bytes"]().to_str()
    for tokenizer in (Tokenizer.from_str(document), hf.Tokenizer.from_str(document)):
        assert tokenizer.decode([5000]) == ""
        for number in (1 << 32, -1):
            with pytest.raises((ValueError, OverflowError)):
                tokenizer.decode([number])
