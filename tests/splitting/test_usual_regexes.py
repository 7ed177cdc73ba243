"""Regexes of published tokenizers, and usual ones: all compile, and match as the `regex` package does."""

from __future__ import annotations

import random

import pytest
import regex

from bbpe.core.automaton import Automaton
from bbpe.splitting.automaton import automaton_of

CONTRACTIONS, TAIL = "(?i:'s|'t|'re|'ve|'m|'ll|'d)", r"\s*[\r\n]+|\s+(?!\S)|\s+"
_MIXED = r"[^\r\n\p{L}\p{N}]?((?=[\p{L}])([^a-z]))*((?=[\p{L}])([^A-Z]))+"
_UPPER, _LOWER = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]", r"[\p{Ll}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]"
_WIDTHS = (512, 256, 128, 64, 32, 16, 8, 4, 2, 1)
USUAL = [
    # of tokenizers
    rf"{_MIXED}{CONTRACTIONS}?|{_MIXED.replace('*', '+')[:-1]}*{CONTRACTIONS}?|\p{{N}}{{1,3}}"
    rf"| ?[^\s\p{{L}}\p{{N}}]+[\r\n/]*|{TAIL}",
    rf"[\p{{Han}}]+|[^\r\n\p{{L}}\p{{N}}]?{_UPPER}*{_LOWER}+{CONTRACTIONS}?|{_UPPER}+{CONTRACTIONS}?|\p{{N}}{{1,3}}|.|\s",
    CONTRACTIONS + r"|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|"
    + "|".join([rf"\s{{{width}}}(?!\S)" for width in _WIDTHS] + [rf"\s{{{width}}}" for width in _WIDTHS]),
    CONTRACTIONS + r"|[^\r\n\p{L}\p{N}]?(?:\p{L}\p{M}*(?: \p{L}\p{M}*)*)+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]?|" + TAIL,
    CONTRACTIONS + r"|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}(?=(?:\p{N}{3})*(?!\p{N}))| ?[^\s\p{L}\p{N}]+[\r\n]*|" + TAIL,
    r"\A\p{Nd}{1,2}(?=(?:\p{Nd}{3})+(?!\p{Nd}))|\G\p{Nd}{3}|\p{Nd}{3}(?=(?:\p{Nd}{3})*(?!\p{Nd}))|.+",
    r"(?=(\d{3})+(?!\d))", r"\d{1,3}(?=(?:\d{3})*\b)", r"(?:(?<=\D)|^)\d{1,3}(?=(\d{3})*\b)|\d{3}",
    r"<sentinel:[0-9]+>", "(IMGIMG)((A|B|C|D|E|F|G|H|I){1,4})Z", "([\\t\\n]|    |  )", r"[\p{P}!-/:-@\[-`{-~]",
    "[가-힣ㄱ-ㆎ]+|[！…“”‘’—：；，、-〿︰-﹏]+|[ㄅ-ㄯ]+|[一-龥぀-ゟ゠-ヿ]+",
    # words, sentences and names
    r"(?<=[.!?])\s+(?=[A-Z])", r"\n(?=#{1,6}\s)", r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])|_|\s+",
    r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|[0-9]+", r"\w+(?:'\w+)?|[^\w\s]", r"(?u)\b\w\w+\b",
    r"--+|\.\.\.|[a-zA-Z]+(?=n't)|n't|'\w+|\w+|\S", r"(?=\S)(?:(?!--)[^\s.,])+|[.,]|--|\s+",
    r"(?<=\p{L}\p{M}*)Σ(?!\p{M}*\p{L})",
    r"(?<![\w])\d+(?:[.,]\d+)*(?![\w])|\w+|\s|.", r"(?<=\d)[.,](?=\d)|(?<!\d)[.,]|[.,](?!\d)",
    # graphemes, markup and code
    r"(?>\p{L}\p{M}*)+|\s", r"(?:\p{L}\p{M}*+)++|\p{N}|.",
    r"\p{Extended_Pictographic}(?:\uFE0F?\u200D\p{Emoji})*+|\w+|\s+|.",
    r"(?:(?!\*\*|__)\S)+|\*\*|__|\s+", r"```[\s\S]*?```|`[^`]*`|\w+|\s+|.", r"<!--.*?-->|<[^>]+>|[^<]+",
    r"(?s)/\*.*?\*/|//[^\n]*|\w+|\s+|.", r'"(?:[^"\\]|\\.)*"|\w+|\s+|.',
    r"&(?!amp|gt|lt|apos|quot)", r"<{([^}]+)}>|{}|}{",
    "(?x) [A-Z][a-z]?\\d*  # an element\n | \\(  | \\)",
    # what reads far in vain
    r"[\s\S]*<end>", r"([^\-\.]*)-([\d+.\-]+)$", r"(\S+)\s+(\S+)\s+([IOB])-?(\S+)?",
    r"((?:(?:\w+\s)+)?\w+)\[((?:\+|\-)\d)\]",
]  # fmt: skip
PIECES = [
    "I", "don't", "'LL", " getHTTPName_x", "\n\n", "  ", " 1234567", "12,345.6", "--", "…", "漢字", "かな", "한국",
    "ΣΑΣ", "é", "e\u0301", "**b**", "<a>", "&amp;", "&x", "/*c*/", '"s\\"', "IMGIMGABZ", "\U0001f469\u200d\U0001f680",
    "a-1.5", "NaCl2", "\t", "\r\n", ". The", "B-NP w",
]  # fmt: skip


def soup(seed: int, size: int) -> str:
    return "".join(random.Random(seed).choices(PIECES, k=size))


@pytest.mark.parametrize("source", USUAL)
def test_usual_regexes(source: str) -> None:
    """Each has an automaton, with the matches of the package."""
    found = automaton_of(source)
    assert found.tables is not None, found.reason
    automaton = Automaton(found.tables)
    for seed in range(12):
        text = soup(seed, 60)
        sizes = [len(text[:at].encode()) for at in range(len(text) + 1)]
        matches = regex.compile(source, regex.V1 if "&&" in source else regex.V0).finditer(text)
        assert automaton.spans(text.encode()) == [(sizes[one.start()], sizes[one.end()]) for one in matches], text
