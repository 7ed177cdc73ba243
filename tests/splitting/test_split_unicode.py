"""Every character, assigned or not, in four contexts: as HF's `Split` and tiktoken have it, which know Unicode 16."""

from __future__ import annotations

import random
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import Executor
from functools import partial
from itertools import pairwise
from pathlib import Path

import pytest
from split_cases import BEST, SCHEMES, ends_by_hf, ends_by_regex, same, splitter
from strings import is_settled

import bbpe
from bbpe.core.split import ISAS

AS_HF = ["gpt2", "llama3", "qwen2", "o200k", "deepseek_v3"]
# as tiktoken has it
CL100K = (
    r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+"
    r"|\s++$|\s*[\r\n]|\s+(?!\S)|\s"
)


def in_context(points: range) -> str:
    """Each character alone, between letters, after a space, and before a letter; line ends part them."""
    chars = (chr(point) for point in points if not 0xD800 <= point < 0xE000)
    return "".join(f"{char}\na{char}a {char}\n{char}a\n" for char in chars)


def ranges(size: int, step: int) -> Iterator[range]:
    """All code points in ranges of `size`, or every `step`th of these and the edges of all planes."""
    yield from (range(start, start + size) for start in range(0, sys.maxunicode + 1, size * step))
    if step > 1:
        yield from (range(plane - 8, plane + 8) for plane in range(0x10000, sys.maxunicode, 0x10000))


def as_hf(points: range, name: str) -> tuple[str, object]:
    text = in_context(points)
    return text, ends_by_hf(text, name)


every = pytest.param(1, marks=pytest.mark.full)


@pytest.mark.parametrize("step", [73, every])
@pytest.mark.parametrize("name", AS_HF)
def test_every_character_as_hf_splits_it(name: str, step: int, processes: Executor) -> None:
    pytest.importorskip("tokenizers")
    number = 0
    for text, expected in processes.map(partial(as_hf, name=name), ranges(256, step), chunksize=16):
        number += 1
        for isa in ("scalar", BEST):
            same(splitter(name, isa), text.encode(), expected)
    assert step > 1 or number == 0x1100


@pytest.mark.parametrize("step", [41, every])
@pytest.mark.parametrize("all_pairs", [False, True], ids=["cl100k", "all-pairs"])
def test_every_character_as_tiktoken_encodes_it(
    step: int, all_pairs: bool, vocab_path: Callable[[str], Path]
) -> None:
    """With real tokens, and with all pairs of bytes, where single bytes side by side show a border."""
    tiktoken = pytest.importorskip("tiktoken")
    tok = bbpe.Tokenizer.from_ranks(pairs_of_bytes(), pattern="cl100k") if all_pairs else None
    tok = tok or bbpe.load(vocab_path("cl100k_base.tiktoken"))
    peer = tiktoken.Encoding("peer", pat_str=CL100K, mergeable_ranks=tok.ranks, special_tokens={})
    for points in ranges(4096 if step == 1 else 256, step):
        text = in_context(points)
        assert tok.encode(text) == peer.encode_ordinary(text), points
        data = text.encode()
        same(splitter("cl100k", BEST), data, splitter("cl100k", "scalar").spans(data)[1:])


def pairs_of_bytes() -> dict[bytes, int]:
    """The bytes, and behind them every pair of them in some order."""
    pairs = [bytes((left, right)) for left in range(256) for right in range(256)]
    random.Random(8).shuffle(pairs)
    return {token: rank for rank, token in enumerate([*(bytes((byte,)) for byte in range(256)), *pairs])}


@pytest.mark.parametrize("step", [61, every])
@pytest.mark.parametrize("name", SCHEMES)
def test_every_settled_character(name: str, step: int) -> None:
    """All that this interpreter's Unicode assigns, against the `regex` package."""
    chars = filter(is_settled, map(chr, [*range(0xD800), *range(0xE000, sys.maxunicode + 1)][::step]))
    data = "".join(f"{char}\na{char}a {char}\n{char}a\n1{char}X!{char}{char}" for char in chars).encode()
    expected = ends_by_regex(data, name)
    for isa in ISAS:
        same(splitter(name, isa), data, expected)


@pytest.mark.parametrize("step", [31, every])
@pytest.mark.parametrize("name", SCHEMES)
def test_every_character_in_a_block_with_others_of_four_bytes(name: str, step: int) -> None:
    """Such blocks are classified in another way; characters of all lengths are in each of them, in any order."""
    rng = random.Random(step)
    short = [chr(point) for point in range(0x80, 0x10000, step) if not 0xD800 <= point < 0xE000]
    four = [chr(point) for point in range(0x10000, sys.maxunicode + 1, step)]
    rng.shuffle(short)
    rng.shuffle(four)
    beside = ["".join(short[at : at + 6]) for at in range(0, len(short), 6)]
    parts = [char + beside[number % len(beside)] + " a\n"[number % 3] for number, char in enumerate(four)]
    data = "".join(parts).encode()
    expected = splitter(name, "scalar").spans(data)[1:]
    assert len(expected) > len(parts)
    for isa in ISAS:
        same(splitter(name, isa), data, expected)


@pytest.mark.parametrize("name", SCHEMES)
def test_every_letter_that_vectors_classify_by_ranges(name: str) -> None:
    """Latin, Cyrillic and Vietnamese letters: which of them are capitals, where patterns ask for that."""
    letters = [chr(point) for point in [*range(0xC0, 0x250), *range(0x400, 0x530), *range(0x1E00, 0x1F00)]]
    random.Random(9).shuffle(letters)
    contexts = ["".join(f"a{char}b {char}X{char}x" for char in letters), "".join(f"{char}a" for char in letters)]
    contexts += ["".join(letters), "".join(char + "b" * (number % 70) + "B " for number, char in enumerate(letters))]
    for text in contexts:
        expected = splitter(name, "scalar").spans(text.encode())[1:]
        for isa in ISAS:
            same(splitter(name, isa), text.encode(), expected)


@pytest.mark.parametrize("name", SCHEMES)
def test_every_letter_and_mark_that_vectors_classify_by_ranges(name: str) -> None:
    """Hebrew, Arabic, Devanagari and Thai: letters, marks, digits, signs and what is not assigned, of their pages."""
    for first, last in ((0x580, 0x700), (0x900, 0x980), (0xE00, 0xE80)):
        points = [*range(first, last), *range(first + 0x1000, last + 0x1000)]
        chars = [chr(point) for point in points]
        random.Random(first).shuffle(chars)
        contexts = ["".join(chars[: last - first]), "".join(map(chr, range(first, last))) * 2]
        contexts += ["".join(f"a{char}{char} {char}1{char}!{char}\n" for char in chars)]
        contexts += ["".join(f"{one}{other}{one} " for one, other in pairwise(chars))]
        for text in contexts:
            expected = splitter(name, "scalar").spans(text.encode())[1:]
            for isa in ISAS:
                same(splitter(name, isa), text.encode(), expected)


@pytest.mark.parametrize("name", SCHEMES)
def test_every_symbol_that_vectors_classify_by_ranges(name: str) -> None:
    """Emoji and what is beside them, numbers and what is not assigned, alone in a block and with others."""
    symbols = [chr(point) for point in [*range(0x1F000, 0x1FC00), *range(0xF300, 0xF6C0), *range(0x2F300, 0x2F6C0)]]
    ordered = "".join(f"{symbol}a" for symbol in symbols)
    random.Random(10).shuffle(symbols)
    contexts = [ordered, "".join(f"a {symbol}{symbol}1b\u0301 {symbol}\u0301/\n" for symbol in symbols)]
    contexts += ["".join(symbols), "".join(symbol + "b" * (number % 70) for number, symbol in enumerate(symbols))]
    for text in contexts:
        expected = splitter(name, "scalar").spans(text.encode())[1:]
        for isa in ISAS:
            same(splitter(name, isa), text.encode(), expected)
