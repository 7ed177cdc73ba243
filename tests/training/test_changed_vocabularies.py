"""A tokenizer that was made shorter or longer is another one: it has no name, and a size that is too small is told."""

from __future__ import annotations

from dataclasses import replace

import pytest

import bbpe

TOK = bbpe.train_from_iterator(["low lower"], 260, special_tokens=["<s>", "</s>"])


def test_what_is_pruned_or_extended_has_not_the_name_of_the_whole() -> None:
    named = bbpe.Tokenizer(replace(TOK.spec, name="low"))
    assert named.name == "low"
    assert bbpe.prune(named, keep=259)[0].name is None
    assert bbpe.extend(named, bbpe.count_from_iterator(["low slow"], pattern="gpt2"), 1).name is None


def test_the_least_size_counts_bytes_and_special_tokens() -> None:
    assert len(bbpe.prune(TOK, keep=258)[0]) == 258
    for keep in (257, 1):
        with pytest.raises(ValueError, match=f"^keep is {keep}; expected at least 258, the bytes and special tokens$"):
            bbpe.prune(TOK, keep=keep)
