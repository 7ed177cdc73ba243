"""Strings that are hard to split and to encode, the same ones for the same seed.

Only characters that Unicode 16 assigns: our tables and the peers classify by Unicode 16, `regex` by a newer one.
"""

from __future__ import annotations

import random
import unicodedata
from collections.abc import Sequence
from itertools import accumulate

UCD = unicodedata if int(unicodedata.unidata_version.split(".")[0]) <= 16 else unicodedata.ucd_3_2_0

# a character or two of every class that a pattern can tell apart
CLASSES: dict[str, str] = {
    "lower": "asdmtlver",
    "upper": "ASDMTLVEZ",
    "title": "ǅᾈ",
    "modifier": "ʰˆー",
    "other_letter": "אعक가ªሀ",
    "han": "中文々漢𠀀",
    "kana": "あアんン",
    "hangul": "한국각",
    "folding": "ſKİıßÉñ",
    "mark": "\u0301\u0345\u0903\u20dd\u05b0\ufe0f",
    "digit": "0179",
    "number": "٣५Ⅷ½²𝟘",
    "apostrophe": "'’",
    "punctuation": "!.,/-_(…。،",
    "symbol": "$+<=^`|~€©",
    "emoji": "😀👩🏽🤝🇩🇪",
    "joiner": "\u200d\u200b\u2060\ufeff\u00ad",
    "blank": " ",
    "tab": "\t\x0b\x0c",
    "newline": "\n\r",
    "space": "\xa0\u3000\u2003\u2028\x85\u1680",
    "control": "\x00\x1c\x1f\x7f\u180e",
    "private": "\ue000\uffff",
}
ALPHABET = "".join(CLASSES.values())
CONTRACTIONS = [
    "'s", "'S", "'t", "'re", "'VE", "'m", "'Ll", "'ll", "'d", "'ſ", "'ſx", "'", "''s", "’s", "'l", "'v", "'r", "'K",
]
SCRAPS = [
    *CONTRACTIONS,
    *[" ", "  ", "   ", "\n", "\r\n", "\r\n\r\n", "\n\n\n", "\t", " \n", "\n ", "  \r\n  ", "\xa0", "\u3000 "],
    "\u200b",
    *["a", "an", "the ", " Hello", "World", "HTTPServer", "ßtraße", "don't", "I'LL", "ñ", "İ", "K", "ǅ", "ʰ"],
    *["0", "12", "123", "1234", "1234567", "３４", "½", "٣٤٥٦", "𝟘𝟙", "$1,000.00"],
    *["e\u0301", "\u0301", "a\u0301\u0323b", "नमस्ते", "สวัสดี", "\uabcd\uabed"],
    *["你好", "世界", "こんにちは", "カタカナー", "안녕", "𠀀𠀁"],
    *["👩\u200d👩\u200d👧", "🇩🇪🇫🇷", "👍🏽", "🫨", "\ue000", "\x00", "\x1c", "\x85", "\u2028", "\ufeff"],
    *["...", "!?", "//", "/*\n", "->", "==", "_x_", "(", ")\n", "C:\\a", "http://a.b/c?d=e#f"],
    *["<|endoftext|>", "<|end"],
]
BROKEN = [b"\xff", b"\x80", b"\xc3", b"\xe4\xb8", b"\xf0\x9f\x98", b"\xed\xa0\x80", b"\xc0\xaf", b"\xf4\x90\x80\x80"]
SURROGATES = ["\ud800", "\udfff", "\ud83d\ude00", "\ude00\ud83d", "\ud83d", "a\udc80b"]

# regexes that are no named pattern, with look-around beyond a pretoken
CUSTOM_PATTERNS = [r"[a-z]+|\s+(?!\S)|\d{1,3}(?=(?:\d{3})*\b)", r"\w+$|\w|(?<=a)b+"]


def is_settled(char: str) -> bool:
    """Whether every version of Unicode from 16 on classifies a character alike."""
    return UCD.category(char) != "Cn" and char != "ʕ"  # a letter with case up to 16


def adversarial_strings(
    n: int, seed: int, *, tokens: Sequence[bytes] = (), surrogates: bool = False
) -> list[str]:
    """Return `n` strings of up to a few hundred characters, with pieces of `tokens` mixed in when given."""
    rng = random.Random(seed)
    scraps = SCRAPS + SURROGATES if surrogates else SCRAPS
    kinds = [_soup, _words, _transitions, _runs, _scraps]
    strings = []
    for i in range(n):
        if tokens and i % 6 == 5:
            parts = rng.choices(tokens, k=rng.randint(1, 4))
            strings.append(b"".join(parts).decode("utf-8", "ignore"))
        else:
            strings.append(kinds[i % len(kinds)](rng, scraps))
    return strings


def byte_soups(n: int, seed: int) -> list[bytes]:
    """Return `n` byte strings, most of them not UTF-8: cut, flipped and random ones."""
    rng = random.Random(seed)
    soups = []
    for text in adversarial_strings(n, seed + 1):
        data = bytearray(text.encode())
        for _ in range(rng.randint(0, 4)):
            i = rng.randint(0, len(data))
            data[i:i] = rng.choice(BROKEN)
            del data[: rng.randint(0, 2)]
        soups.append(bytes(data))
    return soups


def _soup(rng: random.Random, _: Sequence[str]) -> str:
    return "".join(rng.choices(ALPHABET, k=rng.randint(0, 40)))


def _words(rng: random.Random, _: Sequence[str]) -> str:
    blanks = [" ", " ", " ", "  ", "\n", "\r\n", "\t", "'", "'s ", "\u3000"]
    lengths = [rng.randint(1, 9) for _ in range(rng.randint(1, 30))]
    return "".join("".join(rng.choices("etaoinsrhldcu", k=n)) + rng.choice(blanks) for n in lengths)


def _transitions(rng: random.Random, _: Sequence[str]) -> str:
    classes = rng.choices(list(CLASSES.values()), k=rng.randint(2, 20))
    return "".join("".join(rng.choices(chars, k=rng.randint(1, 4))) for chars in classes)


def _runs(rng: random.Random, _: Sequence[str]) -> str:
    chars = rng.choices(ALPHABET, k=rng.randint(1, 3))
    return "".join(char * rng.randint(1, 120) for char in chars)


def _scraps(rng: random.Random, scraps: Sequence[str]) -> str:
    return "".join(rng.choices(scraps, k=rng.randint(1, 25)))


def byte_offsets(text: str) -> list[int]:
    """The bytes before each character, and before the end, of a text that is encoded with "surrogateescape"."""
    sizes = (1 if char < "\x80" or "\udc80" <= char <= "\udcff" else len(char.encode()) for char in text)
    return [0, *accumulate(sizes)]
