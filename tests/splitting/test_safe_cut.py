"""Where a text may be cut for parallel work: both parts together have the pretokens of the whole."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Iterable, Iterator

import numpy as np
import pytest
from seeds import full_then_long
from split_cases import EDGES, ONE_A_CLASS, SCHEMES, random_soup, short_strings, slices, splitter
from strings import adversarial_strings, byte_soups

from bbpe.core.split import Splitter

by_scheme = pytest.mark.parametrize("name", SCHEMES)


def cuts(way: Splitter, data: bytes) -> Iterator[int]:
    """All places, found from one to the next."""
    cut = way.safe_cut(data, 0)
    while cut != -1:
        yield cut
        if cut == len(data):
            return
        cut = way.safe_cut(data, cut + 1)


def check_cuts(name: str, texts: Iterable[bytes]) -> tuple[int, int]:
    """Cut every text everywhere it may be; returns how many texts and cuts there were."""
    way = splitter(name, "scalar")
    text_count = cut_count = 0
    for data in texts:
        whole = way.spans(data)
        last = -1
        for cut in cuts(way, data):
            assert last < cut <= len(data), (name, data, cut)
            parts = np.concatenate([way.spans(data[:cut])[:-1], way.spans(data[cut:]) + cut])
            assert np.array_equal(parts, whole), (name, data[max(0, cut - 60) : cut], data[cut : cut + 60])
            last = cut
            cut_count += 1
        text_count += 1
    return text_count, cut_count


@by_scheme
def test_cutting_changes_nothing(name: str) -> None:
    rng = random.Random(12)
    texts, found = check_cuts(name, (random_soup(rng)[:150] for _ in range(60)))
    assert found > 3 * texts
    check_cuts(name, (text.encode()[:120] for text in adversarial_strings(40, seed=13)))
    check_cuts(name, (data[:120] for data in byte_soups(15, seed=14)))
    check_cuts(name, (bytes(rng.choices(EDGES, k=12)) for _ in range(40)))
    for length in range(4):
        check_cuts(name, map(str.encode, short_strings(length)))


@pytest.mark.parametrize("step", full_then_long([5], [1]))
@by_scheme
def test_cutting_short_strings_changes_nothing(name: str, step: int) -> None:
    check_cuts(name, map(str.encode, itertools.islice(short_strings(4), None, None, step)))
    rng = random.Random(15)
    letters = ONE_A_CLASS + "''stlve"
    check_cuts(name, ("".join(rng.choices(letters, k=rng.randint(5, 12))).encode() for _ in range(60_000 // step)))
    check_cuts(name, (random_soup(rng) for _ in range(3_000 // step)))


@by_scheme
@pytest.mark.parametrize("corpus_name", ["en", "code", "multi", "ja", "zh"])
def test_cutting_real_text(name: str, corpus_name: str, corpus: Callable[..., str]) -> None:
    way, rng = splitter(name), random.Random(16)
    data = corpus(corpus_name, 30_000).encode()
    whole, found = way.spans(data), 0
    for _ in range(25):
        start = rng.randrange(len(data) - 3_000)
        cut = way.safe_cut(data, start)
        assert cut == -1 or cut >= start
        if cut != -1:
            found += cut - start < 3_000
            parts = np.concatenate([way.spans(data[:cut])[:-1], way.spans(data[cut:]) + cut])
            assert np.array_equal(parts, whole), (name, data[max(0, cut - 60) : cut + 60])
    assert found == 25


@by_scheme
@pytest.mark.parametrize(
    "text",
    [
        "今日は天気がいいです。東京へ行きました、楽しかった!",
        "今天天气很好。我们去北京吧,真不错!",
        "오늘은날씨가좋다.서울에갔다!",
        "for(i=0;i<10;i++){sum+=a[i]*b[j];}",
        "слово,Слово;слово.1",
        "the quick brown fox ",
        "CamelCaseWords,and_more-of-them",
    ],
)
def test_text_without_line_ends(name: str, text: str) -> None:
    """One long line, of most of them without a blank, still comes apart."""
    data = (text * 200).encode()
    places = list(cuts(splitter(name), data))
    assert places
    gaps = np.diff([0, *places, len(data)])
    assert gaps.max() <= 2 * len(text.encode()), (name, text)


@by_scheme
def test_nothing_to_cut(name: str) -> None:
    way = splitter(name)
    for data in (b"x" * 500, b"X" * 500, b" " * 500, b"\n" * 500, b"!" * 500, "é".encode() * 500, b""):
        assert way.safe_cut(data, 0) in (-1, len(data))
        assert way.safe_cut(data, len(data) // 2 + 1 if data else 0) in (-1, len(data))
    with pytest.raises(ValueError, match="start is 4"):
        way.safe_cut(b"abc", 4)


@by_scheme
def test_looks_only_so_far(name: str) -> None:
    data = b"x" * 10_000_000 + b" and then some"
    way = splitter(name)
    for place in range(0, 9_000_000, 1_000_000):
        assert way.safe_cut(data, place) == -1
    assert way.safe_cut(data, 9_999_000) == 10_000_000
    assert way.safe_cut(data, 9_999_000, 100) == -1
    assert way.safe_cut(data, 9_999_000, 1_001) == 10_000_000


def test_slices_of_the_tests_are_safe() -> None:
    """The corpora are judged in slices; cutting there changes nothing either."""
    text = "a b.\nNext 'line'\n\nX \ny,\n漢字\n漢字。\nz\u3000\nq\r\nr" * 50
    parts = slices(text.encode(), 40)
    assert b"".join(parts) == text.encode()
    assert len(parts) > 10
    for name in SCHEMES:
        way = splitter(name)
        ends = [way.spans(part)[1:] for part in parts]
        starts = np.cumsum([0, *map(len, parts[:-1])])
        joined = np.concatenate([part + start for part, start in zip(ends, starts, strict=True)])
        assert np.array_equal(joined, way.spans(text.encode())[1:])
