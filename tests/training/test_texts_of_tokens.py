"""A token whose text no text can have is refused where it is given, by the name of the argument."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import bbpe

HALF = "a\ud800"
TEXTS = ["low lower"]


@pytest.mark.parametrize(
    ("make", "name"),
    [
        (lambda: bbpe.BPE(alphabet="chars", unk_token=HALF), "BPE.unk_token"),
        (lambda: bbpe.BPE(alphabet="chars", end_of_word=HALF), "BPE.end_of_word"),
        (lambda: bbpe.WordPiece(unk_token=HALF), "WordPiece.unk_token"),
        (lambda: bbpe.Unigram(user_defined_symbols=["b", HALF]), r"Unigram.user_defined_symbols\[1\]"),
        (lambda: bbpe.train_from_iterator(TEXTS, 300, special_tokens=[HALF]), "special_tokens"),
        (lambda: bbpe.train_from_iterator(TEXTS, 256).with_added_tokens([HALF]), "tokens"),
        (lambda: bbpe.train_from_iterator(TEXTS, 256).with_added_tokens([HALF], special=True), "tokens"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_half_a_surrogate_pair_is_refused(make: Callable[[], Any], name: str) -> None:
    with pytest.raises(ValueError, match=rf"^{name}:? 'a\\ud800' holds half a surrogate pair; expected Unicode text"):
        make()


def test_an_empty_unknown_token_is_refused_by_name() -> None:
    with pytest.raises(ValueError, match=r"WordPiece.unk_token is empty; expected a text, such as '\[UNK\]'"):
        bbpe.WordPiece(unk_token="")


@pytest.mark.parametrize("size", [None, "x", 2.5, True])
@pytest.mark.parametrize("model", ["bpe", bbpe.BPE(alphabet="chars", end_of_word="</w>"), "wordpiece", "unigram"])
def test_vocab_size_is_checked_by_every_model(model: Any, size: Any) -> None:
    with pytest.raises(TypeError, match=f"^vocab_size must be an int, not {type(size).__name__}$"):
        bbpe.train_from_iterator(TEXTS, size, model=model)
