"""UTF-8 in blocks, with every instruction set, against Python's own codecs."""

from __future__ import annotations

import random
import sys
from collections.abc import Callable
from itertools import chain, pairwise

import pytest
from strings import ALPHABET, CLASSES, SURROGATES

from bbpe.core.transcode import ISAS, utf8_blocks

EVERY_ISA = ("auto", *ISAS)
LEADS = ("", "a", "é", "文", "😀")
EDGES = "\0a\x7f\x80\xff\u0100\u07ff\u0800\u4e2d\ud7ff\ue000\ufeff\uffff\U00010000\U0001f600\U0010ffff"
HALVES = "\ud800\ud83d\udbff\udc00\ude00\udfff"


def by_codecs(text: str) -> bytes:
    """As tiktoken repairs a str: a pair is its code point, a lone surrogate U+FFFD."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace").encode()


def kind(text: str) -> int:
    """The bytes that a str has for each code point."""
    return 1 if max(text) < "\u0100" else 2 if max(text) < "\U00010000" else 4


def check(text: str, room: int, expected: bytes | None = None) -> None:
    expected = by_codecs(text) if expected is None else expected
    for isa in EVERY_ISA:
        blocks = utf8_blocks(text, room, isa=isa)
        assert b"".join(blocks) == expected, (isa, room)
        assert all(0 < len(block) <= room for block in blocks), (isa, room)
        for block, following in pairwise(blocks):
            following.decode()  # a block begins and ends with a whole character
            assert len(block) + len(following.decode()[0].encode()) > room, f"{isa}: one more fits into {room}"


def test_tiktoken_has_the_same_rule() -> None:
    tiktoken = pytest.importorskip("tiktoken")
    ranks = {bytes([byte]): byte for byte in range(256)}
    raw = tiktoken.Encoding("raw", pat_str=r"[\s\S]+", mergeable_ranks=ranks, special_tokens={})
    for text in ["", "\ufeff\ud800", *SURROGATES, *(a + b for a in EDGES + HALVES for b in EDGES + HALVES)]:
        assert bytes(raw.encode_ordinary(text)) == b"".join(utf8_blocks(text, 16)) == by_codecs(text)


@pytest.mark.parametrize("isa", EVERY_ISA)
def test_every_code_point(isa: str) -> None:
    lone = "\ufffd".encode()
    # some of each size alone, all about the ends of sizes; every one comes together with others below
    ends = [range(end - 32, end + 32) for end in (0x80, 0x800, 0xD800, 0xE000, 0x10000)]
    some = [range(0x80), range(0x80, 0x11000, 17), range(0x11000, sys.maxunicode, 509), [sys.maxunicode]]
    for point in chain(*ends, *some):
        char = chr(point)
        expected = lone if 0xD800 <= point < 0xE000 else char.encode()
        assert utf8_blocks(char, 16, isa=isa) == [expected]
    for start in range(0, sys.maxunicode + 1, 1 << 15):
        text = "".join(map(chr, range(start, start + (1 << 15))))
        for lead in (LEADS[(start >> 15) % 5], LEADS[(start >> 15) % 5 - 2]):
            assert b"".join(utf8_blocks(lead + text, 4099, isa=isa)) == by_codecs(lead + text)


@pytest.mark.parametrize("filler", ["a", "é", "文", "😀"])
def test_pairs_at_every_place(filler: str) -> None:
    """Two characters anywhere in a vector, in the rooms that end before, within and behind them."""
    pairs = [a + b for a in EDGES + HALVES for b in EDGES + HALVES]
    for number, pair in enumerate(pairs):
        for before in range(number % 23, 70, 23):
            text = filler * before + pair + filler * (70 - before)
            expected = by_codecs(text)
            size = len(by_codecs(filler * before))
            for room in range(max(16, size - 1), max(16, size + 8), 2):
                check(text, room, expected)


@pytest.mark.parametrize("units", [1, 2, 4])
def test_random_soups(units: int) -> None:
    rng = random.Random(units)
    classes = ["".join(char for char in chars if kind(char) <= units) for chars in [*CLASSES.values(), EDGES]]
    classes = [chars for chars in classes if chars]
    if units > 1:
        classes += [HALVES, "\ud83d\ude00"]
    for _ in range(500):
        lengths = rng.choices([1, 3, 20, 90], k=rng.randint(1, 12))
        runs = ["".join(rng.choices(rng.choice(classes), k=length)) for length in lengths]
        text = "".join(runs) + {1: "", 2: "\u0100", 4: "\U00010000"}[units]
        assert kind(text) == units
        check(text, rng.randint(16, 100))
        check(text, rng.choice([200, 256, 300, 1000, 10_000]))


@pytest.mark.parametrize("name", ["en", "code", "multi", "ja", "zh"])
def test_real_text(name: str, corpus: Callable[..., str]) -> None:
    text = corpus(name, 30_000)
    narrow = "".join(char for char in text if char <= "\xff")
    middle = "".join(char for char in text if char <= "\uffff") + "\u0100"
    for wide, units in [(narrow, None), (middle, 2), (text + "\U0001f600", 4)]:
        assert units is None or kind(wide) == units
        for room in (64, 1000, 4096, 1 << 30):
            check(wide, room, wide.encode())


def test_text_without_blocks() -> None:
    assert utf8_blocks("", 16) == []
    assert utf8_blocks(ALPHABET, sys.maxsize) == [ALPHABET.encode()]


def test_bad_arguments() -> None:
    with pytest.raises(ValueError, match="most is 15; expected at least 16"):
        utf8_blocks("a", 15)
    with pytest.raises(ValueError, match="isa is 'abacus'; this machine has 'auto', 'scalar'"):
        utf8_blocks("a", 16, isa="abacus")
    with pytest.raises(TypeError):
        utf8_blocks(b"a", 16)  # type: ignore[arg-type]
