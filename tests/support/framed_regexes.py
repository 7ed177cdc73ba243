"""Random regexes of all dialects, of sets of characters in frames, and the characters of texts for them."""

from __future__ import annotations

import random

SETS = r"""
\p{L} \p{Lu} \P{L} \p{N} \s \S \w \W \d \D \h [\p{L}\p{M}] [^\s\p{L}\p{N}] [^\r\n\p{L}\p{N}] [a-zA-Z] \N
[[:alpha:]] [[:punct:]] [[:space:]] [[:^word:]] [A-Z&&[^AEIOU]] [\w--[0-9_]] [0-9a-f] [^\n] . \x{41} \u00e9
[\u4e00-\u9fff] \p{Han} \p{Greek} a 1 ' [!-/] \e
[\p{Ll}\p{Lo}] \p{Emoji} [-.,] [^\W\d_] \p{Script=Cyrillic} [\h\x20] \R \t
""".split()
FRAMES = [
    "{}+", "{}", " ?{}+", "{}{{1,3}}", "{}+?", "{}++", "(?i:{}+)", "(?i){}", "{}+(?!{})", "(?={}){}", "(?<={}){}",
    "{}+$", "(?:{}|{})+", "\\b{}+\\b", "(?i)[{}x]+", "(?>{}+)", "{}*{}", "(?s:.){}", "(?m:^){}", "^{}+", "'(?:{}|{})",
    "({})\\1", "{}{{2}}",
]  # fmt: skip
TAILS = ["", r"\s+(?!\S)|\s+", r"\s*[\r\n]+|\s+", r"\s++$|\s", r".|\n", r"[\s\S]"]
CHARACTERS = [*"abAEkKsSzZ019 _'!.,-/\\\n\r\t{}", "  ", "\r\n", *"éÉßſKİıiI中漢αΩдЯ٣²½ \u200d\u0301😀★ʕ\x1b\x08"]


def random_pattern(rng: random.Random) -> str:
    clauses = []
    for _ in range(rng.randint(1, 4)):
        frame = rng.choice(FRAMES)
        clauses.append(frame.format(*rng.choices(SETS, k=2)))
    if any("\\1" in clause for clause in clauses):
        clauses = [next(clause for clause in clauses if "\\1" in clause)]
    tail = rng.choice(TAILS)
    return "|".join([*clauses, tail] if tail else clauses)
