"""The compiled splitter against the `regex` package and HF, on short strings, soups and every character."""

from __future__ import annotations

import itertools
import pickle
import random
import sys
from collections.abc import Callable, Iterable, Iterator

import numpy as np
import pytest
from strings import adversarial_strings, byte_soups, is_settled

from bbpe import reference
from bbpe.core.split import Splitter, utf8_ends
from bbpe.patterns import PATTERNS

SCHEMES = [name for name, pattern in PATTERNS.items() if pattern.scheme is not None]

# one character of each class that the pattern tells apart, and the letters of contractions
SHORT = "xX中\u0301" "1½" " \n\r\t\xa0\u3000" "!😀\x00\u200b" "'stmdlverſS"
SHORT = "".join(dict.fromkeys(SHORT))
# every kind of byte in UTF-8, and those at the edges of what is well-formed
EDGES = b" a'0\x7f\x80\x8f\x90\x9f\xa0\xbf\xc0\xc1\xc2\xdf\xe0\xe3\xed\xee\xef\xf0\xf1\xf4\xf5\xff"


def settled_bytes(texts: Iterable[bytes]) -> Iterator[bytes]:
    """Leave out bytes that spell a character which is too new."""
    return (text for text in texts if all(map(is_settled, text.decode("utf-8", "ignore"))))


def check(scheme: str, texts: Iterable[str | bytes]) -> int:
    """Compare the splitter with the reference; returns how many texts there were."""
    splitter = Splitter(scheme)
    number = 0
    for text in texts:
        number += 1
        data = text if isinstance(text, bytes) else text.encode()
        offsets = splitter.spans(data).tolist()
        assert [data[i:j] for i, j in itertools.pairwise(offsets)] == reference.split(text, scheme), text
        assert offsets[0] == 0
        assert offsets[-1] == len(data)
    return number


@pytest.mark.parametrize("scheme", SCHEMES)
def test_all_short_strings(scheme: str) -> None:
    for length in range(4):
        check(scheme, map("".join, itertools.product(SHORT, repeat=length)))


@pytest.mark.full
@pytest.mark.parametrize("scheme", SCHEMES)
def test_all_strings_of_four(scheme: str) -> None:
    assert check(scheme, map("".join, itertools.product(SHORT, repeat=4))) == len(SHORT) ** 4


@pytest.mark.parametrize("scheme", SCHEMES)
def test_sampled_longer_strings(scheme: str) -> None:
    rng = random.Random(1)
    check(scheme, ("".join(rng.choices(SHORT, k=rng.randint(4, 9))) for _ in range(20_000)))


@pytest.mark.parametrize("scheme", SCHEMES)
def test_soups(scheme: str) -> None:
    check(scheme, adversarial_strings(3_000, seed=2))


@pytest.mark.parametrize("scheme", SCHEMES)
def test_bytes_that_are_not_utf8(scheme: str) -> None:
    check(scheme, map(bytes, itertools.product(EDGES, repeat=2)))
    rng = random.Random(3)
    check(scheme, settled_bytes(bytes(rng.choices(EDGES, k=rng.randint(3, 8))) for _ in range(20_000)))
    check(scheme, byte_soups(2_000, seed=4))


@pytest.mark.full
@pytest.mark.parametrize("scheme", SCHEMES)
def test_all_bytes_of_four(scheme: str) -> None:
    check(scheme, settled_bytes(map(bytes, itertools.product(EDGES, repeat=4))))


@pytest.mark.parametrize("scheme", SCHEMES)
def test_every_character(scheme: str) -> None:
    """All that this interpreter's Unicode assigns, in a context that shows the class."""
    points = (chr(point) for point in range(sys.maxunicode + 1) if not 0xD800 <= point < 0xE000)
    assigned = [char for char in points if is_settled(char)]
    check(scheme, ("".join(f"a{char}1 {char}\n" for char in assigned[i::100]) for i in range(100)))


def test_every_character_as_hf_splits_it() -> None:
    """Assigned or not, because HF classifies by the same version; of the large empty and private planes a few."""
    tokenizers = pytest.importorskip("tokenizers")
    by_hf = tokenizers.pre_tokenizers.Split(tokenizers.Regex(PATTERNS["gpt2"].steps[0]), behavior="isolated")
    points = [*range(0xD800), *range(0xE000, 0x33500), *range(0x33500, sys.maxunicode, 61)]
    splitter = Splitter("gpt2")
    for i in range(0, len(points), 20_000):
        text = "".join(f"a{chr(point)}1\n" for point in points[i : i + 20_000])
        ends = np.cumsum([len(piece.encode()) for piece, _ in by_hf.pre_tokenize_str(text)])
        assert splitter.spans(text.encode())[1:].tolist() == ends.tolist()


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("name", ["en", "code", "multi", "ja", "zh"])
def test_real_text(scheme: str, name: str, corpus: Callable[..., str]) -> None:
    check(scheme, [corpus(name, 300_000)])


@pytest.mark.parametrize("scheme", SCHEMES)
def test_more_pretokens_than_a_block_and_longer_than_any_buffer(scheme: str) -> None:
    check(scheme, ["a " * 10_000, "a" * 1_000_000, " " * 1_000_000, " " * 100_000 + "a", "\n" * 100_000 + "!"])
    check(scheme, ["'s" * 9_999, "'" * 9_999, "中" * 300_000, b"\xff" * 300_000])


def test_spans_of_any_buffer() -> None:
    splitter = Splitter("gpt2")
    data = b"it's 10 o'clock"
    expected = splitter.spans(data)
    assert expected.dtype == np.int64
    for same in (bytearray(data), memoryview(data), np.frombuffer(data, np.uint8), memoryview(b"??" + data)[2:]):
        assert splitter.spans(same).tolist() == expected.tolist()
    assert splitter.spans(b"").tolist() == [0]
    assert pickle.loads(pickle.dumps(splitter)).spans(data).tolist() == expected.tolist()


def test_wrong_arguments() -> None:
    with pytest.raises(ValueError, match="gpt17"):
        Splitter("gpt17")
    with pytest.raises(TypeError):
        Splitter("gpt2").spans("text")
    with pytest.raises(TypeError):
        Splitter(None)


def test_utf8_ends() -> None:
    pretokens = ["a", "", "é\u07ff", "中\uffff\ue000", "😀\U0010ffff", "\udc80\udcff", "x" * 100]
    ends = np.cumsum([len(pretoken.encode("utf-8", "surrogateescape")) for pretoken in pretokens])
    assert utf8_ends(pretokens).tolist() == ends.tolist()
    assert utf8_ends([]).tolist() == []
