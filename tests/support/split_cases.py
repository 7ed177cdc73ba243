"""What splitters are tried on, and what they are held against.

`SCHEMES` are the patterns with a compiled splitter.  The vector path reads blocks of 64 bytes, so short texts prove
it only inside longer ones.
"""

from __future__ import annotations

import itertools
import random
import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pytest
import regex
from strings import ALPHABET, BROKEN, CONTRACTIONS, is_settled

from bbpe import reference
from bbpe.core.split import ISAS, Splitter, utf8_ends
from bbpe.formats.huggingface.normalizers import to_oniguruma
from bbpe.splitting.patterns import PATTERNS
from bbpe.splitting.scheme import Scheme

if TYPE_CHECKING:
    import tokenizers

Ends = npt.NDArray[np.int64]

SCHEMES = [name for name, pattern in PATTERNS.items() if pattern.scheme is not None]
BEST = ISAS[-1]

# one character of each class of csrc/text/uclass_table.h, both line ends, and the characters that clauses name
ONE_A_CLASS = "Xxא\u0301" "1 \n\r\t!\x00" "中㐀〇⺀\U00016ff0" "あ\u3099・\u3040" "'/"
# letters that matter behind an apostrophe only
CONTRACTED = "stmdlverSTMDLVERſ"
# the classes again in characters of every length, as the vector path meets them
WIDE = ONE_A_CLASS + "éÉªяЯ가힣ǅʰˆ\u0903\ufe0f½①𝟘\xa0\u3000\u2028\x85…，。€×😀\u200b\ue000\U0010fffd𠀀龥龦䷀アー゠゛"
WIDE = "".join(dict.fromkeys(WIDE))
# every kind of byte in UTF-8, and those at the edges of what is well-formed
EDGES = b" a'0\x7f\x80\x8f\x90\x9f\xa0\xbf\xc0\xc1\xc2\xdf\xe0\xe3\xed\xee\xef\xf0\xf1\xf4\xf5\xff"
# what fills the bytes before a case, so that the vector path meets it at any place of a block
FILLERS = ["x", "X", " ", "!", "\n", "1", "'", "é", "中", "\x00"]

_KINDS: list[Sequence[str | bytes]] = [
    ["the", " of", "and", "x", " I", "Zz", "camelCase", "HTTPServer", "eta"],
    ["it's", "I'LL", "we've", *CONTRACTIONS, "\"'", "x'", "'re're", "a'd'm", "D'T"],
    [" ", " ", "  ", "   ", "\t", "    ", "\xa0", "\u3000", " \t ", "\u2028"],
    ["\n", "\n", "\r\n", "\n\n", " \n", "\n ", "\r", "  \r\n\t", "\n \n  "],
    ["0", "7", "12", "123", "1234", "1234567", "½", "٣٤٥٦", "３", "Ⅷ", "〇", "𝟘𝟙𝟚𝟛"],
    ["!", ".", ",", "...", "/", "//", "/*", "*/\n", "();", "_", "->", "=", "!\n", "…", "。", "，", "、", "«"],
    ["中", "文字", "漢字中文", "龥", "龦", "㐀", "𠀀𠀁", "々", "〆", "䷀", "鿿"],
    ["あ", "ひらがな", "ア", "カタカナ", "ー", "・", "ゞ", "゛", "\u3099", "か\u3099", "゠", "\u3040", "ヿ"],
    ["한", "국어", "한국어", "가", "힣", "ㄱ", "\u1100\u1161"],
    ["я", "слово", "Слово", "СЛОВО", "Ё", "ё", "ѐ", "Ѡ", "ѡ", "ӂ"],
    ["é", "É", "ñandú", "ÀÉ", "ß", "×", "÷", "\xaa", "ſ", "İ", "ǅ", "ʰ", "Ω", "λόγος", "ә"],
    ["\u0301", "e\u0301", "\u0903", "नमस्ते", "\ufe0f", "\u20dd", "\U00016ff0", "ั"],
    ["😀", "👩\u200d👩", "🇩🇪", "👍🏽", "€", "→", "©", "\u200b", "\x00", "\x7f", "\ue000", "\ufeff"],
    [*BROKEN, b"\xc3", b"\xe4\xb8", b"\xd0", b"\xbf", b"\xf0\x90"],
]


def as_bytes(part: str | bytes) -> bytes:
    return part if isinstance(part, bytes) else part.encode()


def random_soup(rng: random.Random) -> bytes:
    """70 to 400 bytes of one to six kinds of pieces, now and then one of them repeated."""
    kinds = rng.choices(_KINDS, k=rng.randint(1, 6))
    length, size, parts = rng.randint(70, 400), 0, []
    while size < length:
        if rng.random() < 0.02:
            part = as_bytes(rng.choice(ALPHABET)) * rng.randint(2, 90)
        else:
            part = as_bytes(rng.choice(rng.choice(kinds)))
        parts.append(part)
        size += len(part)
    start = rng.choice((0, 0, 0, 1, 2))  # the first character may be cut
    return b"".join(parts)[start:length]


def soups(n: int, seed: int) -> Iterator[bytes]:
    """`n` soups behind fillers of any length below 64, of characters that every version of Unicode knows."""
    rng = random.Random(seed)
    while n:
        soup = rng.choice(FILLERS).encode() * rng.choice((0, rng.randrange(64))) + random_soup(rng)
        if all(map(is_settled, soup.decode("utf-8", "ignore"))):
            yield soup
            n -= 1


def short_strings(length: int) -> Iterator[str]:
    """All strings of a length over the classes, and over the letters of contractions behind an apostrophe."""
    letters = [*ONE_A_CLASS, *CONTRACTED]
    for quote in range(length):
        heads = itertools.product(ONE_A_CLASS.replace("'", ""), repeat=quote)
        tails = list(map("".join, itertools.product(letters, repeat=length - quote - 1)))
        for head in heads:
            for tail in tails:
                yield f"{''.join(head)}'{tail}"
    yield from map("".join, itertools.product(ONE_A_CLASS.replace("'", ""), repeat=length))


def at_all_alignments(case: bytes) -> Iterator[bytes]:
    """A text at every place of a block, between all kinds of neighbours, with a block and more behind it."""
    for filler in map(str.encode, FILLERS):
        for i in range(64 // len(filler) + 1):
            yield filler * i + case + b"x and y" * 12


@cache
def splitter(name: str, isa: str = "auto") -> Splitter:
    scheme = PATTERNS[name].scheme
    assert isinstance(scheme, Scheme)
    return Splitter(scheme, isa)


def ends_by_regex(data: bytes, name: str) -> Ends:
    """Where pretokens end, as `bbpe.reference` has it; in one go where a single regex takes all of the text."""
    ends = utf8_ends(_pieces(name, data.decode("utf-8", "surrogateescape")))
    if not len(data) or (len(ends) and ends[-1] == len(data)):
        return ends
    return np.cumsum([len(piece) for piece in reference.split(data, name)], dtype=np.int64)


def _pieces(name: str, text: str) -> list[str]:
    """The matches of a single regex; of several, all that one leaves cut by the next."""
    first, *others = _compiled(name)
    if not others:
        return first.findall(text)
    pieces = [text]
    for step in (first, *others):
        pieces = [part for piece in pieces for part in step.split(piece) if part]
    return pieces


@cache
def _compiled(name: str) -> list[regex.Pattern[str]]:
    """The steps of a pattern; where there are several, in a group, so that `split` keeps what they match."""
    steps = PATTERNS[name].steps
    sources = steps if len(steps) == 1 else [f"({step})" for step in steps]
    compiled = [regex.compile(source, regex.V1 if "&&" in source else regex.V0) for source in sources]
    assert all(step.groups == (len(steps) > 1) for step in compiled)
    return compiled


def ends_by_hf(text: str, name: str) -> Ends:
    """Where pretokens end, as HF's `Split` has it; it classifies by Unicode 16, as the compiled splitter does."""
    pieces = _hf_split(name).pre_tokenize_str(text)
    return np.cumsum([len(piece.encode()) for piece, _ in pieces], dtype=np.int64)


@cache
def _hf_split(name: str) -> tokenizers.pre_tokenizers.Sequence:
    import tokenizers

    steps = map(tokenizers.Regex, to_oniguruma(PATTERNS[name].steps))
    return tokenizers.pre_tokenizers.Sequence([tokenizers.pre_tokenizers.Split(step, "isolated") for step in steps])


def slices(data: bytes, size: int) -> list[bytes]:
    """A text in parts of `size` bytes and a little more, cut where every pattern cuts and what follows is new.

    That is between a line end, behind something visible, and a letter: no clause takes both, and white space that is
    one line end is one pretoken whatever follows.
    """
    settled = re.compile(rb"(?:[!-~]|[\xe4-\xe9][\x80-\xbf]{2})\n(?=[A-Za-z\xe4-\xe9])")
    starts = [0]
    while (found := settled.search(data, starts[-1] + size)) is not None:
        starts.append(found.end())
    return [data[i:j] for i, j in itertools.pairwise([*starts, len(data)])]


def join_ends(parts: Iterable[Ends]) -> Ends:
    """Ends in the whole of a text from the ends in its parts, in order."""
    shifted, start = [], 0
    for ends in parts:
        shifted.append(ends + start)
        start = int(shifted[-1][-1])
    return np.concatenate(shifted)


def check(name: str, isas: Iterable[str], texts: Iterable[bytes]) -> int:
    """Hold splitters against the reference; returns how many texts there were."""
    ways = [splitter(name, isa) for isa in isas]
    number = 0
    for data in texts:
        number += 1
        expected = ends_by_regex(data, name)
        for way in ways:
            same(way, data, expected)
    return number


def same(way: Splitter, data: bytes, expected: Ends) -> None:
    """Fail with the place where offsets begin to differ."""
    offsets = way.spans(data)
    if offsets[0] == 0 and offsets[1:].tobytes() == expected.tobytes():  # of short ones cheaper than by numpy
        return
    assert offsets[-1] == len(data), (way.specialised, way.isa, data[:200])
    common = min(len(offsets) - 1, len(expected))
    first = int(np.argmax(offsets[1 : common + 1] != expected[:common]))
    start = int(expected[first - 1]) if first else 0
    got, wanted = offsets[first : first + 4], [start, *expected[first : first + 3]]
    cut = [[data[i:j] for i, j in itertools.pairwise(places)] for places in (got, wanted)]
    pytest.fail(
        f"{way.specialised} {way.isa}: byte {start} of {len(data)}: got {cut[0]}, expected {cut[1]}; "
        f"text {data[max(0, start - 150) : start + 150]!r}"
    )
