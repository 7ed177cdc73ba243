"""The compiled splitter on real text, with every scheme and instruction set."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Executor
from functools import partial

import numpy as np
import pytest
from seeds import full_then_long
from split_cases import SCHEMES, ends_by_hf, ends_by_regex, join_ends, same, slices, splitter
from strings import is_settled

from bbpe.core.split import ISAS

CORPORA = ["en", "code", "multi", "ja", "zh"]


@pytest.mark.parametrize("corpus_name", CORPORA)
@pytest.mark.parametrize("name", SCHEMES)
def test_beginnings(name: str, corpus_name: str, corpus: Callable[..., str]) -> None:
    text = corpus(corpus_name, 20_000)
    data = text.encode()
    expected = ends_by_regex(data, name)
    for isa in ISAS:
        same(splitter(name, isa), data, expected)


@pytest.mark.parametrize("corpus_name", full_then_long(("code", "multi", "zh"), ("en", "ja")))
def test_whole_corpora(corpus_name: str, corpus: Callable[..., str], processes: Executor) -> None:
    data = corpus(corpus_name).encode()
    parts = slices(data, 1 << 20)
    assert len(parts) > len(data) >> 22
    for name in SCHEMES:
        expected = join_ends(processes.map(partial(ends_of_real_text, name=name), parts))
        for isa in ISAS:
            same(splitter(name, isa), data, expected)


def ends_of_real_text(data: bytes, name: str) -> np.ndarray:
    """By `regex`, or by HF where there is a character that `regex` may know from a newer Unicode."""
    text = data.decode()
    return ends_by_regex(data, name) if all(map(is_settled, set(text))) else ends_by_hf(text, name)


@pytest.mark.full
@pytest.mark.parametrize("corpus_name", CORPORA)
def test_corpora_at_any_offset(corpus_name: str, corpus: Callable[..., str]) -> None:
    """Cut anywhere, also within a character, and a few bytes on: instruction sets agree with the scalar one."""
    data = corpus(corpus_name, 4_000_000).encode()
    for name in SCHEMES:
        for start in range(0, 64, 7):
            place = start * (len(data) // 67) + start
            part = data[place : place + 100_000]
            assert len(part) > 1_000
            expected = splitter(name, "scalar").spans(part)[1:]
            for isa in ISAS[1:]:
                same(splitter(name, isa), part, expected)
