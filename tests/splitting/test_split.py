"""The compiled splitter against the `regex` package: short strings, at every place of a block, and broken UTF-8."""

from __future__ import annotations

import itertools
import pickle
import random
import re
import time
from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import lru_cache

import numpy as np
import pytest
from seeds import full_then_long, then_full
from split_cases import (
    EDGES,
    ONE_A_CLASS,
    SCHEMES,
    WIDE,
    at_all_alignments,
    check,
    ends_by_regex,
    join_ends,
    same,
    short_strings,
    soups,
    splitter,
)
from strings import adversarial_strings, byte_soups, is_settled

from bbpe.core.split import ISAS, Splitter, utf8_ends
from bbpe.splitting.patterns import PATTERNS
from bbpe.splitting.scheme import Scheme

#: What parts short strings in a long text: words and a line end, a run of rest, a line end, a letter without case.
PARTED_BY = ["x\nA", ". ", "\n", "中"]

by_scheme = pytest.mark.parametrize("name", SCHEMES)


def settled_bytes(texts: Iterable[bytes]) -> Iterator[bytes]:
    """Leave out bytes that spell a character which is too new."""
    return (text for text in texts if all(map(is_settled, text.decode("utf-8", "ignore"))))


def check_joined(name: str, cases: Iterable[str]) -> None:
    """Hold all instruction sets against the reference on one long text of short strings."""
    strings = list(cases)
    for border in PARTED_BY:
        data = border.join(strings).encode()
        expected = ends_by_regex(data, name)
        for isa in ISAS:
            same(splitter(name, isa), data, expected)


@by_scheme
def test_short_strings(name: str) -> None:
    for length in range(4):
        check(name, ISAS, map(str.encode, short_strings(length)))
    rng = random.Random(1)
    check(name, ISAS, ("".join(rng.choices(WIDE + "stlve", k=rng.randint(3, 9))).encode() for _ in range(300)))


@by_scheme
def test_short_strings_in_a_long_text(name: str) -> None:
    check_joined(name, short_strings(3))
    check_joined(name, map("".join, itertools.product(WIDE, repeat=2)))


@by_scheme
def test_runs_of_a_class_around_the_length_that_is_read_one_by_one(name: str) -> None:
    """Those of each class, which others end, and which follow a character that may begin the same pretoken."""
    for one, other in itertools.product(ONE_A_CLASS + "éя한𠀀", repeat=2):
        runs = [one * length for length in (15, 16, 17, 18, 40)]
        check(name, ISAS, [other.join(["", *runs, ""]).encode()])


@pytest.mark.parametrize("step", full_then_long([5], [1]))
@by_scheme
def test_all_strings_of_four(name: str, step: int) -> None:
    """A fifth of them has all pairs of characters at all places."""
    check(name, ["scalar"], map(str.encode, itertools.islice(short_strings(4), None, None, step)))  # short for others
    check_joined(name, itertools.islice(short_strings(4), None, None, step))
    check_joined(name, map("".join, itertools.islice(itertools.product(WIDE, repeat=3), None, None, step)))


@by_scheme
@pytest.mark.parametrize("number", [4, *full_then_long([50], [250])])
def test_every_place_of_a_block(name: str, number: int) -> None:
    rng = random.Random(number)
    for _ in range(number):
        case = "".join(rng.choices(WIDE + "''stlve", k=rng.randint(1, 4)))
        check(name, ISAS, at_all_alignments(case.encode()))


@by_scheme
@pytest.mark.parametrize("number", [250, pytest.param(20_000, marks=pytest.mark.full)])
def test_blocks_that_go_on_within_a_word(name: str, number: int) -> None:
    rng = random.Random(number)
    breaks = [*WIDE, "", "X", "xX", "'s", "'S", "'ſ", "x's", "、X", "中X", "X中", " 中", "。。", "。\n", "12", "３４"]
    words = ["中", "あ", "漢字カナ", "한", "中x", "xé", "я", "x", "中\u3099"]

    def text() -> str:
        parts = [rng.choice(["", " ", "!", "x "])]
        for _ in range(3):  # a word to the end of a block or next to it, or anywhere
            word, size = rng.choice(words), len("".join(parts).encode())
            room = (-size % 64 + 64 + rng.randint(-3, 3)) // len(word.encode())
            parts += [word * rng.choice([room, room, rng.randint(1, 60)]), rng.choice(breaks)]
        return "".join(parts) + rng.choice(words) * rng.randint(0, 80)

    check(name, ISAS, (text().encode() for _ in range(number)))


@by_scheme  # the inner loop, so that one set of soups is kept
@pytest.mark.parametrize("number", [250, *full_then_long([20_000], [100_000])])
def test_soups(name: str, number: int) -> None:
    assert check(name, ISAS, some_soups(number)) == number
    check(name, ISAS, map(str.encode, adversarial_strings(number // 5, seed=2)))


@lru_cache(1)
def some_soups(number: int) -> list[bytes]:
    """The same ones for every scheme."""
    return list(soups(number, seed=number))


@by_scheme
def test_bytes_that_are_not_utf8(name: str) -> None:
    check(name, ISAS, map(bytes, itertools.product(EDGES, repeat=2)))
    rng = random.Random(3)
    check(name, ISAS, settled_bytes(bytes(rng.choices(EDGES, k=rng.randint(3, 8))) for _ in range(500)))
    check(name, ISAS, settled_bytes(bytes(rng.choices(EDGES, k=150)) for _ in range(60)))
    check(name, ISAS, byte_soups(60, seed=4))


@pytest.mark.full
@by_scheme
def test_all_bytes_of_three_and_four(name: str) -> None:
    check(name, ["scalar"], settled_bytes(map(bytes, itertools.product(EDGES, repeat=3))))
    for border in (b"x\nA", b"0"):
        data = border.join(settled_bytes(map(bytes, itertools.product(EDGES, repeat=4))))
        expected = ends_by_regex(data, name)
        for isa in ISAS:
            same(splitter(name, isa), data, expected)


@by_scheme
def test_more_pretokens_than_a_block_and_longer_than_any_buffer(name: str) -> None:
    texts = ["a " * 10_000, "a" * 150_000, " " * 150_000, " " * 70_000 + "a", "\n" * 70_000 + "!", "\r\n \n" * 9_999]
    texts += ["'s" * 9_999, "x's" * 9_999, "'" * 9_999, "中" * 30_000, "1" * 69_999, "!\n/" * 9_999, "aA" * 9_999]
    check(name, ISAS, map(str.encode, texts))
    check(name, ISAS, [b"\xff" * 30_000, b"\xe4\xb8" * 9_999])


@by_scheme
def test_two_stretches_of_ascii_in_turn(name: str) -> None:
    """Words of one length, then another, so that either stretch is done first; contractions; a letter behind ASCII."""
    rng = random.Random(7)
    between = [" ", " ", " ", ", ", "'s ", "'ll", "'T", "  ", "\n", " 1234 ", ".\n\n    "]

    def text(first: int, second: int) -> bytes:
        lengths = [length for length in (first, second) for _ in range(1500 // length)]
        words = ["a" * rng.randint(0, length) + rng.choice(between) for length in lengths]
        words[rng.randrange(len(words))] += rng.choice(["", "é", "語", "\ud800"])
        return "".join(words).encode("utf-8", "surrogatepass")

    check(name, ISAS, (text(rng.randint(1, 60), rng.randint(1, 60)) for _ in range(40)))


@by_scheme
def test_lines_are_texts_of_their_own(name: str) -> None:
    scheme = PATTERNS[name].scheme
    assert scheme is not None
    ways = [Splitter(replace(scheme, by_line=True), isa) for isa in ISAS]
    whole, rng = splitter(name, "scalar"), random.Random(8)
    pieces = ["\n", "\n", "\n\n", "\r\n", " ", "   ", "\t", "\u3000", "the", " it's", "Zz"]
    pieces += ["/", "!", "//", "12345", "中", "é"]
    dense = ("".join(rng.choices(pieces, k=rng.randint(1, 200))).encode() for _ in range(60))
    for data in itertools.chain(dense, soups(25, seed=9), byte_soups(25, seed=10), [b"\n" * 1_000, b"\n /" * 999]):
        lines = re.findall(rb"[^\n]*\n|[^\n]+", data)
        if lines:
            expected = join_ends(whole.spans(line)[1:] for line in lines)
            for way in ways:
                same(way, data, expected)


@by_scheme
def test_named_rows_are_compiled(name: str) -> None:
    same_rule = {"cl100k_older": "llama3"}
    assert splitter(name).specialised == same_rule.get(name, name)


def test_isas() -> None:
    assert ISAS[0] == "scalar"
    assert set(ISAS) <= {"scalar", "avx2", "avx512", "neon"}
    for isa in {"scalar", "avx2", "avx512", "neon"} - set(ISAS):
        with pytest.raises(ValueError, match=f"lacks {isa}"):
            Splitter(Scheme(), isa)


@pytest.mark.parametrize("isa", ["auto", *ISAS])
def test_spans_of_any_buffer(isa: str) -> None:
    way = splitter("gpt2", isa)
    data = b"it's 10 o'clock, " * 9
    expected = way.spans(data)
    assert expected.dtype == np.int64
    for alike in (bytearray(data), memoryview(data), np.frombuffer(data, np.uint8), memoryview(b"??" + data)[2:]):
        assert way.spans(alike).tolist() == expected.tolist()
    assert way.spans(b"").tolist() == [0]
    again = pickle.loads(pickle.dumps(way))
    assert again.spans(data).tolist() == expected.tolist()
    assert (again.scheme, again.isa) == (way.scheme, isa)


def test_counting_in_blocks() -> None:
    """As many as there are spans, from none to more than a block of 1,024."""
    for words in (0, 1, 1024, 1025, 5000):
        text = b"ab " * words
        assert splitter("gpt2").count(text) == len(splitter("gpt2").spans(text)) - 1


def test_wrong_arguments() -> None:
    scheme = PATTERNS["gpt2"].scheme
    assert scheme is not None
    with pytest.raises(ValueError, match="sse9"):
        Splitter(scheme, "sse9")
    with pytest.raises(TypeError):
        Splitter(scheme).spans("text")  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        Splitter(None)  # type: ignore[arg-type]


def test_utf8_ends() -> None:
    pretokens = ["a", "", "é\u07ff", "中\uffff\ue000", "😀\U0010ffff", "\udc80\udcff", "x" * 100]
    ends = np.cumsum([len(pretoken.encode("utf-8", "surrogateescape")) for pretoken in pretokens])
    assert utf8_ends(pretokens).tolist() == ends.tolist()
    assert utf8_ends([]).tolist() == []


#: Units of repeated texts: the vector refuses the first ones at every pretoken.
UNITS = [
    "A\u0301!", "A\u0e01'", "\t/\u4e2d", "\u0661\u0301A", "\n", "\n\n ",
    *("".join(random.Random(seed).choices(WIDE, k=1 + seed % 3)) for seed in range(400)),
]  # fmt: skip


@by_scheme
@pytest.mark.parametrize("units", then_full([slice(12)], [slice(12, None)]))
def test_repeated_units_in_linear_time(name: str, units: slice) -> None:
    """To look for the end of all that is repeated at each pretoken takes 64 times as long for eight times the text."""
    scheme = PATTERNS[name].scheme
    assert scheme is not None
    for way in (Splitter(scheme), Splitter(replace(scheme, by_line=True))):
        for unit in UNITS[units]:
            data = unit.encode() * (160_000 // len(unit.encode()))
            taken = {}
            for size in (len(data) // 8, len(data)):
                rounds = []
                for _ in range(2):
                    began = time.thread_time()
                    way.count(data[:size])
                    rounds.append(time.thread_time() - began)
                taken[size] = min(rounds)
            assert taken[len(data)] < 20 * taken[len(data) // 8] + 0.02, unit
