"""Texts that a regex nearly matches, made from its tree: most matches of a regex lie in none of the usual texts."""

from __future__ import annotations

import random
from bisect import bisect

from strings import ALPHABET, SCRAPS, is_settled

from bbpe.splitting.character_sets import CharacterSet
from bbpe.splitting.regex_tree import (
    Alternation,
    Atomic,
    LastLineEnd,
    Look,
    LookAround,
    Node,
    OneCharacter,
    Repeat,
    Sequence,
)

#: Characters that a set is asked for first, in this order of likelihood.
_USUAL = "ab AB1\n'.-é漢"


def texts_of(tree: Node, rng: random.Random, count: int, *, size: int = 60) -> list[str]:
    """Return texts of some characters that a tree matches, or nearly does."""
    texts = []
    for _ in range(count):
        parts: list[str] = []
        while sum(map(len, parts)) < size and len(parts) < size:
            parts.append(_changed(matched(tree, rng), rng))
            if rng.random() < 0.3:
                parts.append(rng.choice(SCRAPS))
        texts.append("".join(parts)[: 4 * size])
    return texts


def matched(node: Node, rng: random.Random) -> str:
    """Return a text that a tree matches, if its conditions on what is around are true."""
    match node:
        case OneCharacter(chosen):
            return _member(chosen, rng)
        case Sequence(items):
            return "".join(matched(item, rng) for item in items)
        case Alternation(items):
            return matched(rng.choice(items), rng)
        case Atomic(item):
            return matched(item, rng)
        case Repeat(item, least, most, _):
            times = least
            while (most is None or times < most) and rng.random() < 0.6:
                times += 1
            times = most if most is not None and rng.random() < 0.1 else times
            return "".join(matched(item, rng) for _ in range(min(times, 40 + least)))
        case Look(chosen):
            return _member(chosen, rng) if chosen and rng.random() < 0.5 else ""
        case LookAround(item, _, negative):
            return matched(item, rng) if rng.random() < (0.2 if negative else 0.5) else ""
        case LastLineEnd():
            return rng.choice(["", "\n"])
    return ""


def _member(chosen: CharacterSet, rng: random.Random) -> str:
    """Return a character of a set: a usual one, one at the edge of a range, or any."""
    usual = [char for char in _USUAL if bisect(chosen, ord(char)) % 2]
    if usual and rng.random() < 0.6:
        return rng.choice(usual)
    if rng.random() < 0.3 and (some := [char for char in rng.choices(ALPHABET, k=8) if bisect(chosen, ord(char)) % 2]):
        return some[0]
    for _ in range(20):
        at = rng.randrange(0, len(chosen), 2) if chosen else -1
        if at < 0:
            break
        first, end = chosen[at], chosen[at + 1]
        point = rng.choice([first, end - 1, rng.randrange(first, end)])
        if not 0xD800 <= point < 0xE000 and is_settled(chr(point)):
            return chr(point)
    return "a"


def _changed(text: str, rng: random.Random) -> str:
    """Return a text with a character left out, doubled, put in, or in another case; or as it is."""
    at, kind = rng.randint(0, len(text)), rng.random()
    if kind < 0.15:
        return text[:at] + text[at + 1 :]
    if kind < 0.3:
        return text[:at] + text[at - 1 : at] + text[at:]
    if kind < 0.45:
        return text[:at] + rng.choice(ALPHABET) + text[at:]
    if kind < 0.5:
        return text.swapcase()
    return text
