"""Calls whose options are the same objects as before: they may hold something else, and threads may use others."""

from __future__ import annotations

import gc
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

import bbpe

TEXT = "low <a> lower <b>"


@pytest.fixture(scope="module")
def tok() -> bbpe.Tokenizer:
    return bbpe.train_from_iterator(["low lower lowest"] * 3, 270, special_tokens=["<a>", "<b>"])


def expected(tok: bbpe.Tokenizer, allowed: set[str]) -> list[int]:
    """The ids by a path that remembers nothing: parts around the allowed tokens."""
    ids: list[int] = []
    rest = TEXT
    while rest:
        cut = min((rest.find(token) for token in allowed if token in rest), default=len(rest))
        ids += tok.encode(rest[:cut])
        token = rest[cut : cut + 3]
        ids += [tok.special_tokens[token]] if token else []
        rest = rest[cut + 3 :]
    return ids


def test_a_set_that_has_changed_is_another_selection(tok: bbpe.Tokenizer) -> None:
    allowed: set[str] = set()
    for token in ("<a>", "<b>"):
        assert tok.encode(TEXT, allowed_special=allowed) == expected(tok, allowed)
        allowed.add(token)
        assert tok.encode(TEXT, allowed_special=allowed) == expected(tok, allowed)
    refused: set[str] = set()
    assert tok.encode(TEXT, disallowed_special=refused) == expected(tok, set())
    refused.add("<b>")
    with pytest.raises(bbpe.SpecialTokenError, match="<b>"):
        tok.encode(TEXT, disallowed_special=refused)


def test_an_object_at_the_address_of_another_one(tok: bbpe.Tokenizer) -> None:
    for number in range(200):
        allowed = tuple(["<a>", "<b>"][number % 2 : number % 2 + 1])
        assert tok.encode(TEXT, allowed_special=allowed) == expected(tok, set(allowed))
        del allowed
        gc.collect(0)


def test_options_that_are_refused_stay_refused(tok: bbpe.Tokenizer) -> None:
    choices: list[Any] = [("<a>", []), "some", ("<c>",), 3]
    for wrong in choices:
        for _ in range(3):
            with pytest.raises((TypeError, ValueError)):
                tok.encode(TEXT, allowed_special=wrong)
    assert tok.encode(TEXT, allowed_special="all") == expected(tok, {"<a>", "<b>"})


def test_threads_with_options_of_their_own(tok: bbpe.Tokenizer) -> None:
    choices: list[Any] = ["all", ("<a>",), frozenset(["<b>"]), ()]

    def work(number: int) -> bool:
        allowed = choices[number % len(choices)]
        right = expected(tok, {"<a>", "<b>"} if allowed == "all" else set(allowed))
        return all(tok.encode(TEXT, allowed_special=allowed) == right for _ in range(500))

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(work, range(16)))
