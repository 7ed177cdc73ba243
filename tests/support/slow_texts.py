"""A search for texts that take long: hill climbing on the time per byte, from seeds, for any tokenizer and call.

A text is a recipe of a few short parts, so a slow one is kept as one line of code and not as a blob.  The climb mixes
characters of all scripts, tokens of the vocabulary, beginnings and ends of its longest ones, repeats, and separators.
"""

from __future__ import annotations

import json
import random
import time
from collections.abc import Callable
from dataclasses import dataclass, replace

from strings import adversarial_strings

import bbpe
from bbpe.spec.rules import ByteLevel, Digits, Lowercase, Punctuation, UnicodeForm, UnicodeScripts
from bbpe.spec.spec import TextRules
from bbpe.splitting.patterns import PATTERNS

SIZE = 100_000
#: The first and the last character of a stretch of Unicode, each as likely as the others whatever its size.
STRETCHES = (
    "az", "AZ", "09", "!/", ":@", "[`", "{~", "\x00\x1f", "\u00a0\u00bf", "\u00c0\u00ff", "\u0100\u024f",
    "\u0300\u036f", "\u0391\u03c9", "\u0410\u044f", "\u0531\u0587", "\u05d0\u05ea", "\u0621\u064a", "\u064b\u0652",
    "\u0904\u0939", "\u093e\u094d", "\u0985\u09cd", "\u0b85\u0bcd", "\u0e01\u0e3a", "\u0e40\u0e4d", "\u1000\u103f",
    "\u10a0\u10ff", "\u1100\u11ff", "\u1780\u17d3", "\u1e00\u1eff", "\u2000\u200f", "\u2010\u205e", "\u2190\u21ff",
    "\u2460\u24ff", "\u2500\u257f", "\u3041\u3096", "\u30a1\u30fa", "\u3000\u301f", "\u4e00\u9fff", "\ua000\ua48c",
    "\uac00\ud7a3", "\uf900\ufaff", "\ufb50\ufdff", "\ufe00\ufe0f", "\uff01\uff5e", "\U00010330\U0001034a",
    "\U0001d400\U0001d7ff", "\U0001f1e6\U0001f1ff", "\U0001f300\U0001f64f", "\U0001f3fb\U0001f3ff",
    "\U00020000\U0002a6df", "\U000e0020\U000e007f", "\U000f0000\U000ffffd",
)  # fmt: skip
JOINS = (
    "", " ", "\n", "  ", "\r\n", "\t", "\u200d", "'", "'s ", ".", ", ", "_", "\u3000", "\u2581", "\u0301", "-", "\xa0",
)  # fmt: skip
GROUPS = (1, 2, 3, 4, 6, 9, 16, 60, 300, 1 << 20)


@dataclass(frozen=True)
class Recipe:
    """Parts one after another, in turns or at random, and `join` after each `group` of them."""

    parts: tuple[str, ...]
    join: str = ""
    group: int = 1
    is_random: bool = True

    def text(self, size: int = SIZE) -> str:
        """About `size` bytes of UTF-8, always the same."""
        parts = [part for part in self.parts if part] or ["a"]
        mean = sum(len(part.encode()) for part in parts) / len(parts) + len(self.join.encode()) / self.group
        count = int(size / mean) + 1
        rng = random.Random(1)
        chosen = rng.choices(parts, k=count) if self.is_random else (parts * (count // len(parts) + 1))[:count]
        if self.join and self.group == 1:
            text = self.join.join(chosen)
        elif self.join:
            groups = ("".join(chosen[at : at + self.group]) for at in range(0, count, self.group))
            text = self.join.join(groups)
        else:
            text = "".join(chosen)
        return text.encode()[:size].decode("utf-8", "ignore")


class Words:
    """The strings that a climb takes parts from."""

    def __init__(self, tok: bbpe.Tokenizer) -> None:
        texts = {token.decode("utf-8", "ignore") for token in tok.spec.vocab.values()}
        tokens = sorted(texts, key=lambda text: (len(text), text))
        self.tokens = [token for token in tokens if token] or ["a"]
        self.longest = self.tokens[-max(len(self.tokens) // 20, 50) :]
        self.specials = list(tok.special_tokens) or ["<s>"]

    def character(self, rng: random.Random) -> str:
        first, last = rng.choice(STRETCHES)
        return chr(rng.randint(ord(first), ord(last)))

    def part(self, rng: random.Random) -> str:
        """A short string of one kind or another."""
        kind = rng.randrange(9)
        if kind <= 1:
            return self.character(rng)
        if kind == 2:
            return self.character(rng) * rng.choice((2, 3, 5, 17, 40, 300))
        if kind == 3:
            return "".join(self.character(rng) for _ in range(rng.randrange(2, 6)))
        if kind == 4:
            return rng.choice(self.tokens)
        token = rng.choice(self.longest)
        if kind == 5:
            return token
        at = rng.randrange(len(token)) + 1
        if kind == 6:
            return token[:at]
        if kind == 7:
            return token[-at:]
        special = rng.choice(self.specials)
        return special[: rng.randrange(len(special)) + 1]

    def start(self, rng: random.Random) -> Recipe:
        """A recipe to begin with: of one kind of characters, or of anything."""
        if rng.random() < 0.5:
            first, last = rng.choice(STRETCHES)
            parts = [chr(rng.randint(ord(first), ord(last))) for _ in range(rng.choice((2, 4, 20, 200)))]
        else:
            parts = [self.part(rng) for _ in range(rng.choice((1, 2, 4, 12)))]
        return Recipe(tuple(parts), rng.choice(JOINS), rng.choice(GROUPS), rng.random() < 0.7)

    def changed(self, recipe: Recipe, rng: random.Random) -> Recipe:
        """A recipe with one change."""
        parts = list(recipe.parts)
        at = rng.randrange(len(parts))
        kind = rng.randrange(12)
        if kind == 0:
            return replace(recipe, join=rng.choice(JOINS) if rng.random() < 0.7 else self.part(rng))
        if kind == 1:
            return replace(recipe, group=rng.choice(GROUPS))
        if kind == 2:
            return replace(recipe, is_random=not recipe.is_random)
        if kind == 3:
            del parts[at : at + rng.choice((1, 1, len(parts) // 2 + 1))]
        elif kind == 4:
            parts[at] += rng.choice(parts)
        elif kind == 5:
            parts[at] = parts[at][: rng.randrange(len(parts[at]) + 1)]
        elif kind == 6:
            parts[at] = rng.choice((parts[at].upper(), parts[at].lower(), parts[at][::-1], " " + parts[at]))
        elif kind == 7:
            parts[at] *= rng.choice((2, 3, 8))
        elif kind == 8:
            parts[at] = self.part(rng)
        else:
            parts += [self.part(rng) for _ in range(rng.choice((1, 1, 2, 8)))]
        return replace(recipe, parts=tuple(part[:400] for part in parts[:400] if part) or ("a",))


def fresh(tok: bbpe.Tokenizer, text: str) -> Callable[[], object]:
    tok.clear_cache()
    return lambda: tok.encode_to_numpy(text, threads=1)


def decoding(tok: bbpe.Tokenizer, text: str) -> Callable[[], object]:
    ids = tok.encode_to_numpy(text, threads=1)
    return lambda: tok.decode(ids)


#: What is timed: made ready for a text, then called.
CALLS: dict[str, Callable[[bbpe.Tokenizer, str], Callable[[], object]]] = {
    "encode": fresh,
    "encode again": lambda tok, text: lambda: tok.encode_to_numpy(text, threads=1),
    "count": lambda tok, text: lambda: tok.count_tokens(text, threads=1),
    "places": lambda tok, text: lambda: tok.encode_with_offsets(text),
    "decode": decoding,
}


def seconds(tok: bbpe.Tokenizer, call: str, text: str, times: int = 2) -> float:
    """The least CPU time of so many calls; what is not the first pass has had one before."""
    prepare, least = CALLS[call], float("inf")
    if call != "encode":
        prepare(tok, text)()
    for _ in range(times):
        run = prepare(tok, text)
        begin = time.thread_time()
        run()
        least = min(least, time.thread_time() - begin)
    return least


@dataclass(frozen=True)
class Found:
    """A slow text of a call: bytes a second."""

    call: str
    recipe: Recipe
    speed: float


def speed(tok: bbpe.Tokenizer, call: str, recipe: Recipe, times: int = 2) -> float:
    text = recipe.text()
    return len(text.encode()) / seconds(tok, call, text, times)


def search(
    tok: bbpe.Tokenizer, call: str, seed: int, *, starts: int = 40, climbs: int = 4, steps: int = 60
) -> list[Found]:
    """The slowest texts of a call, each climbed to from one of the slowest starts."""
    rng, words = random.Random(seed), Words(tok)
    recipes = [words.start(rng) for _ in range(starts)]
    ranked = sorted(((speed(tok, call, recipe), n) for n, recipe in enumerate(recipes)))
    found = []
    for best, n in ranked[:climbs]:
        recipe = recipes[n]
        for _ in range(steps):
            other = words.changed(recipe, rng)
            reached = speed(tok, call, other)
            if reached < best * 0.97:
                best, recipe = reached, other
        found.append(Found(call, recipe, speed(tok, call, recipe, 5)))
    return sorted(found, key=lambda one: one.speed)


#: Tokenizers that are made here, each with the bytes a second that its texts reach at least; of several normalizers and
#: pre-tokenizers each one reads the text.
KINDS: dict[str, float] = {
    **dict.fromkeys(PATTERNS, 15e6), "characters": 10e6, "wordpiece": 15e6, "unigram": 5e6, "rules": 2e6,
}  # fmt: skip


def of_characters() -> bbpe.Tokenizer:
    """Merges of characters in words that nothing splits, as vocabularies of DNA and proteins have them."""
    rng, keys = random.Random(5), list("ACGT")
    merges: list[list[str]] = []
    while len(keys) < 300:
        pair = [rng.choice(keys), rng.choice(keys)]
        if len("".join(pair)) < 40 and "".join(pair) not in keys:
            merges.append(pair)
            keys.append("".join(pair))
    model = {"type": "BPE", "vocab": {key: number for number, key in enumerate(keys)}, "merges": merges}
    return bbpe.load(json.dumps({"version": "1.0", "added_tokens": [], "model": model}).encode())


def made(kind: str) -> bbpe.Tokenizer:
    """A small tokenizer of a pattern, of a model, or with normalizers and pre-tokenizers one after another."""
    texts = ["".join(adversarial_strings(300, seed=23))]
    if kind in PATTERNS:
        return bbpe.train_from_iterator(texts, 600, pattern=kind, special_tokens=["<s>", "<|end|>"])
    if kind == "characters":
        return of_characters()
    if kind == "wordpiece":
        return bbpe.train_from_iterator(texts, 900, model="wordpiece", special_tokens=["[UNK]", "<s>"])
    if kind == "unigram":
        return bbpe.train_from_iterator(texts, 900, model="unigram", special_tokens=["[UNK]", "<s>"])
    spec = bbpe.train_from_iterator(texts, 600).spec
    splits = (Punctuation("Isolated"), Digits(True), UnicodeScripts(), ByteLevel(False, True))
    return bbpe.Tokenizer(replace(spec, rules=TextRules((UnicodeForm("NFKC"), Lowercase()), None, splits)))


_FULLWIDTH = Recipe(tuple("\uff45\uff1f\uff09\uff5d\uff06\uff0b\uff12\uff16\uff1c\uff23\uff2b\uff4d"), "\u2581", 300)
_LATIN = Recipe(tuple("\u0221\u0181\u0142\u0104\u021f\u0113\u022e\u016f\u01eb\u0157\u023e\u0204\u01c1\u0166"), "", 4)
_PUNCTUATION = Recipe(tuple("[_\\`]^:@;?>=<.&*)$('!-+#\""), "_", 9)
_PRIVATE = Recipe(("\U000f414c", "\U000f1e2f", "}", "\u0398", "qqq", " P", "<"), "-", 60)
#: The worst finds, by vocabulary: the call, the text, and the most instructions a byte, a quarter more than it takes.
GOLDEN: dict[str, tuple[tuple[str, Recipe, float], ...]] = {
    "o200k_base.tiktoken": (
        ("encode again", Recipe(("\U00010341", " \u0643"), ".", 6, is_random=False), 95),
        ("encode again", Recipe(tuple("!\u0301aA"), "", 4), 117),
        ("places", Recipe(("\U00010341", "^"), ".", 6, is_random=False), 206),
        ("decode", Recipe(tuple("\U000f414c\u55e2\u05dc"), "-", 16), 59),
        ("encode", _LATIN, 253),
        # which blocks are cut into pieces decides these four
        ("encode again", Recipe((" \u0111\u01b0\u1ee3c", " Vi\u1ec7t", " s\u1eed", " d\u1ee5ng", " ng\u01b0")), 35),
        ("encode", Recipe(tuple("\uac00\ub098\ub2e4\ub77c\ub9c8\ubc14\uc0ac\uc544"), " ", 6), 61),
        ("encode again", Recipe(("\ufffd", "\u2581a", "q")), 41),
        ("encode again", Recipe(tuple(map(chr, range(0x1F600, 0x1F640)))), 134),
    ),
    "cl100k_base.tiktoken": (
        ("count", Recipe(("\uff18", "gs"), "", 4, is_random=False), 44),
        ("encode", Recipe(tuple("\u044e\u0413\uff18"), "\u3000", 16), 61),
        ("encode again", Recipe(tuple("\u0307\u0367$"), ".", 4), 210),
        ("places", Recipe(tuple("\x04\x06\x0e"), "\u0301", 9), 195),
        # blocks whose pretokens are short are not cut into pieces
        ("encode again", Recipe(tuple("\u0939\u0948\u0902\u0915\u0940\u0928\u0947"), " ", 3), 31),
    ),
    "gpt2.tiktoken": (
        ("encode", _PUNCTUATION, 182),
        ("encode again", _PUNCTUATION, 168),
        ("places", _PUNCTUATION, 246),
    ),
    "llama3.tiktoken": (("encode", _FULLWIDTH, 83), ("encode again", _FULLWIDTH, 36)),
    "qwen.tiktoken": (("encode", Recipe(("L", "\u0413"), "\u519c\u526f", 16), 232), ("places", _PUNCTUATION, 255)),
    "tekken_240911.json": (("encode", _LATIN, 254), ("encode again", Recipe(tuple("^]``"), "'", 2), 207)),
    "mistral_v1.model": (("encode", Recipe(("\u044e", "\u0413"), "\u3000", 16), 288), ("places", _PRIVATE, 211)),
    "mistral_v3.model": (
        ("encode again", Recipe(("[" * 16,), "\u3000", 300, is_random=False), 271),
        ("places", _PRIVATE, 211),
    ),
    "characters": (
        ("encode again", Recipe(tuple("ACGT"), "", 1), 359),
        ("places", Recipe(("G",), "\u200d", 1 << 20, is_random=False), 509),
    ),
    "wordpiece": (
        ("encode", Recipe(("3", "6"), " ", 16), 339),
        ("places", Recipe(tuple("\u6bba\ufa18\u79ae\u5c62"), "", 9), 109),
    ),
}  # fmt: skip
