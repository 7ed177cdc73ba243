"""A str is encoded as its UTF-8 would be, a window of 64 KiB at a time, whatever lies near a window's border."""

from __future__ import annotations

import mmap
import random
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from strings import adversarial_strings

import bbpe

WINDOW = 1 << 16
#: How far before the end of a window a cut is looked for at first, then, and then.
BACK = (1 << 10, 1 << 13, 1 << 16)
# what makes a str of one, two and four bytes a character; nothing makes it ASCII
WIDEST = {"ascii": "", "latin-1": "é", "ucs-2": "中", "ucs-4": "😀"}
SURROGATES = ["\ud83d", "\ude00", "\ud83d\ude00", "\ude00\ud83d", "\ud83d\ud83d\ude00"]
FILLERS = ["a ", "word\n", "é ", "é", "中", "中文 "]
UNITS = ["x", "é", "я", "中", "中文", "あ中", "한", "😀", "é中", "\n", " ", "1", "!", "xX", "中X"]
PATTERNS = ["gpt2", "o200k", "qwen3_5", "deepseek_v3", "none"]


def by_codecs(text: str) -> bytes:
    """A pair of surrogates is its code point, a lone one U+FFFD."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace").encode()


def check(tok: bbpe.Tokenizer, text: str) -> None:
    data = by_codecs(text)
    expected = tok.encode_to_numpy(data, threads=1)
    assert np.array_equal(tok.encode_to_numpy(text, threads=1), expected), text[:80]
    assert tok.encode(text) == expected.tolist(), text[:80]


@pytest.mark.parametrize(
    ("kind", "pattern"), [*((kind, "o200k") for kind in WIDEST), *zip(WIDEST, PATTERNS[:1] + PATTERNS[2:], strict=True)]
)
def test_text_of_many_windows(kind: str, pattern: str, tok_of: Callable[[str], bbpe.Tokenizer]) -> None:
    tok, rng = tok_of(pattern), random.Random(81)
    highest = {"ascii": 0x7F, "latin-1": 0xFF, "ucs-2": 0xFFFF, "ucs-4": 0x10FFFF}[kind]
    texts = adversarial_strings(1_500, seed=82, surrogates=kind.startswith("ucs"))
    text = WIDEST[kind].join("".join(char for char in text if ord(char) <= highest) for text in texts)
    check(tok, text)
    for _ in range(10):
        start = rng.randint(0, len(text))
        check(tok, text[start : start + rng.randint(0, 3 * WINDOW)])


@pytest.mark.parametrize(
    ("filler", "surrogate"),
    [(filler, SURROGATES[(at + step) % 5]) for at, filler in enumerate(FILLERS) for step in (0, 2)],
    ids=ascii,
)
def test_surrogates_at_the_border_of_a_window(
    filler: str, surrogate: str, tok_of: Callable[[str], bbpe.Tokenizer]
) -> None:
    tok = tok_of("o200k")
    before = filler * (WINDOW // len(filler.encode()) + 1)
    size = WINDOW // len(filler.encode()) * len(filler)  # characters of a window
    behind = filler * 2_000
    for at in range(size - 12, size + 3):
        for last in ("", "😀"):
            check(tok, before[:at] + surrogate + behind + last)


@pytest.mark.parametrize(("unit", "pattern"), [(unit, ("o200k", "none")[at % 2]) for at, unit in enumerate(UNITS)])
def test_one_endless_pretoken(unit: str, pattern: str, tok_of: Callable[[str], bbpe.Tokenizer]) -> None:
    tok = tok_of(pattern)
    for size in (WINDOW, WINDOW + 1, 4 * WINDOW):
        run = unit * (size // len(unit.encode()))
        for text in (run, f"é {run} é.", f"words before\n{run}\u3042 {run}"):
            check(tok, text)


def test_buffers_of_many_windows(tok_of: Callable[[str], bbpe.Tokenizer], tmp_path: Path) -> None:
    tok = tok_of("cl100k")
    text = "".join(adversarial_strings(1_500, seed=83))
    data = text.encode()
    expected = tok.encode(data)
    (tmp_path / "text.txt").write_bytes(data)
    with (tmp_path / "text.txt").open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as mapped:
        array = np.frombuffer(data, np.uint8)
        for kind in (bytearray(data), memoryview(data), memoryview(b"?" + data)[1:], mapped, array, text):
            assert tok.encode(kind) == expected
            assert tok.encode_to_numpy(kind, threads=1).tolist() == expected
        assert tok.encode_batch([data, mapped, text]) == [expected] * 3
    array.flags.writeable = False
    assert tok.encode(array) == expected
    changing = bytearray(data)
    assert tok.encode(changing) == expected
    changing.append(1)  # which an open buffer would forbid


@pytest.mark.parametrize(
    ("unit", "threads"), [(" ab", 1), ("ab", 2), ("\u00e9\u4e2d", 1), ("\U0001f600 ", 2), ("\u00e9\u4e2d", 2)]
)
def test_3_mb_in_one_line(unit: str, threads: int, tok_of: Callable[[str], bbpe.Tokenizer]) -> None:
    tok = tok_of("gpt2")
    text = unit * (3_000_000 // len(unit.encode()))
    ids = tok.encode_to_numpy(text, threads=threads)
    assert np.array_equal(ids, tok.encode_to_numpy(text.encode(), threads=3 - threads))
    assert tok.decode(ids) == text
    # what repeats in the text repeats in the ids, but for the ends
    period = tok.encode(unit * 2000)
    assert np.array_equal(ids[: len(period) // 2], period[: len(period) // 2])


@pytest.mark.parametrize("pattern", ["gpt2", "o200k", "whitespace", "none"])
@pytest.mark.parametrize("letters", ["\u0301\u0308", "\u0430\u044f", "\u4e2d\u3042", "\U0001f600\u2764"])
def test_a_cut_may_be_anywhere_before_the_end_of_a_window(
    letters: str, pattern: str, tok_of: Callable[[str], bbpe.Tokenizer]
) -> None:
    """One place to cut, a little before or after where one is looked for, or none for two windows."""
    tok, rng = tok_of(pattern), random.Random(7)
    size = len(letters[0].encode())
    run = "".join(rng.choices(letters, k=3 * WINDOW // size))
    for place in (WINDOW - 40, *(WINDOW - back for back in BACK), WINDOW + 30, 3 * WINDOW - BACK[0], 3 * WINDOW):
        for beside in (-9, 0, 7):
            at = max(place + beside, 1) // size
            text = f"{run[:at]} 1, b{run[at:]}"
            expected = tok.encode_to_numpy(text.encode(), threads=1)
            assert np.array_equal(tok.encode_to_numpy(text, threads=1), expected)
            assert tok.count_tokens(text) == len(expected)
