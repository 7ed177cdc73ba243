"""Write characters_table.h: what normalizers do with every code point, as a two-stage table.

Run `python csrc/text/characters_generate.py > csrc/text/characters_table.h` with `bbpe` installed.  The slow
definitions are bbpe/reference/normalizers.py and bbpe/reference/pre_tokenizers.py, which do what HF's `tokenizers` does
on any version of Python: its tables are of several versions of Unicode, normal forms of 9.0 and lower case of 17.0.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, fields
from itertools import combinations

import regex

from bbpe.reference.normalizers import (
    Function,
    is_dropped,
    is_mark,
    is_nmt_blank,
    is_nmt_dropped,
    is_nonspacing,
    normalizer,
)
from bbpe.reference.pre_tokenizers import pretokens
from bbpe.reference.unicode_forms import combining, normal_form
from bbpe.spec.rules import BertNormalizer, BertPreTokenizer, Form, Lowercase

BLOCK = 128
FLAGS = (
    "DROPPED SPACE PUNCTUATION IDEOGRAPH NONSPACING MARK NMT_DROPPED NMT_BLANK NOT_NFC NOT_NFD NOT_NFKC NOT_NFKD JOINS "
    "ORDERED LOWERS"
).split()
BIT = {name: 1 << number for number, name in enumerate(FLAGS)}
FORMS: tuple[Form, ...] = ("NFC", "NFD", "NFKC", "NFKD")
HANGUL = range(0xAC00, 0xD7A4)
JOINING_JAMO = {*range(0x1161, 0x1176), *range(0x11A8, 0x11C3)}
SURROGATES = range(0xD800, 0xE000)
SPACE = regex.compile(r"\s")
#: Kinds of characters in grapheme clusters: the property Grapheme_Cluster_Break, with what rules for pictographs and
#: Indic conjuncts ask.
CLUSTERS = (
    "OTHER CR LF CONTROL EXTEND CONJUNCT_EXTEND LINKER ZWJ REGIONAL PREPEND SPACING L V T LV LVT PICTOGRAPH CONSONANT"
).split()
#: The sets of characters that texts are searched for.
SETS = {
    "NFC": ("NOT_NFC", "JOINS", "ORDERED"),
    "NFD": ("NOT_NFD", "ORDERED"),
    "NFKC": ("NOT_NFKC", "JOINS", "ORDERED"),
    "NFKD": ("NOT_NFKD", "ORDERED"),
    "LOWERED": ("LOWERS",),
    "MARKS": ("MARK",),
    "NONSPACING": ("NONSPACING",),
    "CLEANED": ("DROPPED", "SPACE"),
    "IDEOGRAPHS": ("IDEOGRAPH",),
    "NMT": ("NMT_DROPPED", "NMT_BLANK"),
}
PAIR_SLOTS = 2048
CLASSES = 8
#: Products of characters that begin with 0xE0 and that a normal form changes or joins; the others are of marks that it
#: only sorts, which a search may pass by where they stand alone.
FIRM = 5
#: Characters that a search should not stop at without need, as they are frequent in texts; others count little.
FREQUENT = (
    (0x80, 0x250), (0x370, 0x600), (0x600, 0x700), (0x900, 0xA00), (0xB80, 0xC80), (0xE00, 0xE80), (0x10D0, 0x1100),
    (0x1EA0, 0x1F00), (0x2010, 0x2070), (0x2190, 0x2200), (0x2500, 0x2600), (0x3000, 0x3100), (0x4E00, 0xA000),
    (0xAC00, 0xD7A4), (0xFF00, 0xFF60),
)  # fmt: skip


_apart = normalizer([BertNormalizer(False, True, False, False)])
_lowered = normalizer([Lowercase()])


def each(function: Function, chars: Sequence[str]) -> list[str]:
    """Return what becomes of each character, asked once for all of them, with what joins with none between."""
    found = function("\n".join(chars)).split("\n")
    return found if len(found) == len(chars) and "\n" not in chars else list(map(function, chars))


def are_parted(chars: Sequence[str]) -> list[bool]:
    """Return whether the pre-tokeniser makes three of a letter, each character, and a letter."""
    cut = [BertPreTokenizer()]
    if len(pretokens(cut, " ".join(f"a{char}b" for char in chars))) == len(chars):
        return [False] * len(chars)
    return [len(pretokens(cut, f"a{char}b")) == 3 for char in chars]


def pairs() -> dict[tuple[int, int], int]:
    """Return the character that two characters compose to, without Hangul syllables."""
    found = {}
    for point in range(0x110000):
        parts = unicodedata.decomposition(chr(point))
        if parts and parts[0] != "<" and " " in parts:
            first, second = (int(part, 16) for part in parts.split())
            if normal_form("NFC", chr(first) + chr(second)) == chr(point):
                found[first, second] = point
    return found


PAIRS = pairs()
JOINING = JOINING_JAMO | {second for _, second in PAIRS}


def clusters() -> list[int]:
    """Return the kind of each code point in grapheme clusters."""
    found = [0] * 0x110000
    names = "CR LF Control Extend ZWJ Regional_Indicator Prepend SpacingMark L V T LV LVT".split()
    ours = "CR LF CONTROL EXTEND ZWJ REGIONAL PREPEND SPACING L V T LV LVT".split()
    named = [(f"GCB={name}", our, "OTHER") for name, our in zip(names, ours, strict=True)]
    named += [("InCB=Linker", "LINKER", "EXTEND"), ("InCB=Consonant", "CONSONANT", "OTHER")]
    named += [("InCB=Extend", "CONJUNCT_EXTEND", "EXTEND"), ("Extended_Pictographic", "PICTOGRAPH", "OTHER")]
    for name, our, before in named:
        for match in regex.finditer(rf"\p{{{name}}}", "".join(map(chr, range(0x110000)))):
            point = ord(match[0])
            # ZWJ is an extender of conjuncts too; a linker that does not extend never follows the consonant
            if found[point] == CLUSTERS.index(before):
                found[point] = CLUSTERS.index(our)
    return found


@dataclass(frozen=True)
class Row:
    """What a normalizer does with a character."""

    flags: int
    decomposed: str
    compatible: str
    lowered: str
    order: int


def block_rows(points: range) -> Iterator[Row]:
    """Yield the row of each code point."""
    chars = list(map(chr, points))
    if points[0] in SURROGATES:
        yield from (Row(0, char, char, char, 0) for char in chars)
        return
    forms = [each(lambda text, form=form: normal_form(form, text), chars) for form in FORMS]
    columns = zip(chars, are_parted(chars), each(_apart, chars), each(_lowered, chars), *forms, strict=True)
    for char, is_parted, apart, lowered, nfc, nfd, nfkc, nfkd in columns:
        is_space, order, is_syllable = SPACE.match(char) is not None, combining(char), ord(char) in HANGUL
        found = (
            is_dropped(char),
            is_space,
            not is_space and is_parted,
            apart != char,
            is_nonspacing(char),
            is_mark(char),
            is_nmt_dropped(char),
            is_nmt_blank(char),
            nfc != char,
            nfd != char,
            nfkc != char,
            nfkd != char,
            ord(char) in JOINING,
            order > 0,
            lowered != char,
        )
        flags = sum(bit << number for number, bit in enumerate(found))
        yield Row(flags, char if is_syllable else nfd, char if is_syllable else nfkd, lowered, order)


# -- sets: a superset of each, as products of sets of bytes ------------------------------------------------


@dataclass(frozen=True)
class Product:
    """Characters of which each byte is in a set of its own; the last byte of three by its bits."""

    leads: frozenset[int]
    seconds: frozenset[int]
    lasts: int

    def __or__(self, other: Product) -> Product:
        return Product(self.leads | other.leads, self.seconds | other.seconds, self.lasts | other.lasts)


def weight(point: int) -> int:
    """Return how bad it is to stop at a character that is not in the set."""
    if unicodedata.category(chr(point)) in ("Cn", "Cs"):
        return 0
    if 0x900 <= point < 0x980:  # with more marks that stay than other scripts
        return 500
    return 100 if any(first <= point < end for first, end in FREQUENT) else 1


WEIGHTS = [[weight(page * 64 + last) for last in range(64)] for page in range(1024)]


def cost(product: Product, wanted: Sequence[int], seconds: int) -> int:
    """Return the weight of the characters of a product that are not in the set `wanted`."""
    total = 0
    for page in (lead * seconds + second for lead in product.leads for second in product.seconds):
        stray = product.lasts & ~wanted[page]
        total += sum(WEIGHTS[page][last] for last in range(64) if stray >> last & 1)
    return total


def products(wanted: Sequence[int], second_count: int, most: int = CLASSES) -> list[Product]:
    """Return at most so many products that have all characters of a set, and few others.

    `wanted` has the last bytes as bits, by the lead and one of `second_count` second bytes.
    """
    seconds: dict[tuple[int, int], set[int]] = {}
    for page, bits in enumerate(wanted):
        if bits:
            seconds.setdefault((page // second_count, bits), set()).add(page % second_count)
    found = [Product(frozenset([lead]), frozenset(some), bits) for (lead, bits), some in seconds.items()]
    costs: dict[Product, int] = {}

    def price(product: Product) -> int:
        if product not in costs:
            costs[product] = cost(product, wanted, second_count)
        return costs[product]

    while len(found) > most:
        one, other = min(combinations(found, 2), key=lambda two: price(two[0] | two[1]) - price(two[0]) - price(two[1]))
        found = [each for each in found if each not in (one, other)] + [one | other]
    return found


@dataclass
class Bytes:
    """A set as it is searched for: a bit for each product in the tables of its bytes."""

    lead: list[int] = field(default_factory=lambda: [0] * 64)
    last2: list[int] = field(default_factory=lambda: [0] * 64)
    second_e0: list[int] = field(default_factory=lambda: [0] * 64)
    last_e0: list[int] = field(default_factory=lambda: [0] * 64)
    second3: list[int] = field(default_factory=lambda: [0] * 64)
    last3: list[int] = field(default_factory=lambda: [0] * 64)
    second4: list[int] = field(default_factory=lambda: [0] * 64)


def pages_of(members: set[int]) -> list[int]:
    """Return the last six bits of a set's code points as bits, by the upper ones."""
    pages = [0] * (0x110000 // 64)
    for point in members:
        pages[point // 64] |= 1 << point % 64
    return pages


def products_e0(members: set[int], sorted_only: set[int]) -> list[Product]:
    """Return the products of characters that begin with 0xE0, with marks that are only sorted from number `FIRM`."""
    firm, marks = ([0] * 32 + pages_of(some)[32:64] for some in (members - sorted_only, sorted_only))
    if not any(marks):
        return products(firm, 64)
    of_firm = products(firm, 64, FIRM)
    nothing = Product(frozenset(), frozenset(), 0)
    return [*of_firm, *[nothing] * (FIRM - len(of_firm)), *products(marks, 64, CLASSES - FIRM)]


def searched(members: set[int], sorted_only: set[int]) -> Bytes:
    """Return the tables of a set of code points, of which some are marks that normal forms only sort."""
    found, pages = Bytes(), pages_of(members)
    for number, product in enumerate(products([0, 0, *pages[2:32]], 1)):
        for lead in product.leads:
            found.lead[lead] |= 1 << number
        for last in range(64):
            found.last2[last] |= (product.lasts >> last & 1) << number
    for number, product in enumerate(products_e0(members, sorted_only)):
        for second in product.seconds:
            found.second_e0[second] |= 1 << number
        for last in range(64):
            found.last_e0[last] |= (product.lasts >> last & 1) << number
    for number, product in enumerate(products([0] * 64 + pages[64:1024], 64)):
        for lead in product.leads:
            found.lead[0x20 + lead] |= 1 << number
        for second in product.seconds:
            found.second3[second] |= 1 << number
        for last in range(64):
            found.last3[last] |= (product.lasts >> last & 1) << number
    for point in members:
        if point > 0xFFFF:
            found.lead[0x30 + (point >> 18)] |= 1 << (point >> 18)
            found.second4[point >> 12 & 63] |= 1 << (point >> 18)
    return found


# -- the header --------------------------------------------------------------------------------------------


def lines(values: Sequence[int], width: int = 24) -> str:
    """Format numbers as the body of a C array."""
    parts = (values[i : i + width] for i in range(0, len(values), width))
    return "\n".join("    " + ",".join(map(str, part)) + "," for part in parts)


def listed(values: Sequence[tuple[int, ...]], width: int = 6) -> str:
    """Format rows of numbers as the body of a C array."""
    items = ["{" + ",".join(map(str, value)) + "}" for value in values]
    return "\n".join("    " + ",".join(items[i : i + width]) + "," for i in range(0, len(items), width))


def set_of(name: str, found: Bytes) -> str:
    """Format a set as a C struct."""
    flags = "|".join(f"BBPE_CHARACTER_{flag}" for flag in SETS[name])
    tables = "\n".join(
        "    {" + ",".join(map(str, values)) + "},"
        for values in (getattr(found, each.name) for each in fields(found))
    )
    firm = (1 << FIRM) - 1 if "ORDERED" in SETS[name] else 0xFF
    return f"    {{ /* {name} */\n{tables}\n    {flags}, {firm}, {'true' if name in ('CLEANED', 'NMT') else 'false'}}},"


def pair_slots() -> list[tuple[int, int, int]]:
    """Return the hash table of pairs: by the upper bits of a product, and then the next free slot."""
    slots = [(0, 0, 0)] * PAIR_SLOTS
    for (first, second), composed in PAIRS.items():
        at = pair_hash(first, second)
        while slots[at] != (0, 0, 0):
            at = (at + 1) % PAIR_SLOTS
        slots[at] = (first, second, composed)
    return slots


def pair_hash(first: int, second: int) -> int:
    """Return the slot of a pair, as the C code computes it."""
    return ((first * 0x9E3779B1 ^ second * 0x85EBCA6B) & 0xFFFFFFFF) * 0x9E3779B1 % (1 << 32) >> 21


def table() -> str:
    """Return the whole header."""
    rows: dict[tuple[int, ...], int] = {}
    texts: list[int] = [0]
    places: dict[str, int] = {}
    blocks: dict[tuple[int, ...], int] = {}
    kinds = clusters()
    members: dict[str, set[int]] = {name: set() for name in SETS}
    sorted_only: dict[str, set[int]] = {name: set() for name in SETS}

    def place(char: str, text: str) -> int:
        """Where what a character becomes stands in `texts`; 0 for the character itself."""
        if text == char:
            return 0
        if text not in places:
            places[text] = len(texts)
            texts.extend((len(text), *map(ord, text)))
        return places[text]

    def number(char: str, row: Row) -> int:
        for name, flags in SETS.items():
            if ord(char) > 0x7F and any(row.flags & BIT[flag] for flag in flags):
                members[name].add(ord(char))
                if not any(row.flags & BIT[flag] for flag in flags if flag != "ORDERED"):
                    sorted_only[name].add(ord(char))
        texts_of = (place(char, text) for text in (row.decomposed, row.compatible, row.lowered))
        return rows.setdefault((row.flags, *texts_of, row.order, kinds[ord(char)]), len(rows))

    stage_1 = []
    for start in range(0, 0x110000, BLOCK):
        points = range(start, start + BLOCK)
        block = tuple(number(chr(point), row) for point, row in zip(points, block_rows(points), strict=True))
        stage_1.append(blocks.setdefault(block, len(blocks)))
    if max(len(rows), len(texts), len(blocks)) > 1 << 16:
        raise SystemExit("an index does not fit 16 bits")
    stage_2 = [value for block in blocks for value in block]
    sets = {name: searched(members[name], sorted_only[name]) for name in SETS}
    return written(stage_1, stage_2, list(rows), texts, sets)


def written(
    stage_1: list[int], stage_2: list[int], rows: list[tuple[int, ...]], texts: list[int], sets: dict[str, Bytes]
) -> str:
    """Return the header of these tables."""

    sets_of = "\n".join(set_of(name, found) for name, found in sets.items())
    return f"""/* What normalizers do with every code point, in two stages of {BLOCK} code points a block.
 * python csrc/text/characters_generate.py > csrc/text/characters_table.h
 * (as HF tokenizers 0.23: normal forms of Unicode 9.0) */
#ifndef BBPE_CHARACTERS_TABLE_H
#define BBPE_CHARACTERS_TABLE_H

#include "text/characters.h"

const uint16_t bbpe_character_block[{len(stage_1)}] = {{
{lines(stage_1)}
}};

const uint16_t bbpe_character_value[{len(stage_2)}] = {{
{lines(stage_2)}
}};

const bbpe_character_row bbpe_character_rows[{len(rows)}] = {{
{listed(rows)}
}};

/* The number of characters, and these. */
const uint32_t bbpe_character_texts[{len(texts)}] = {{
{lines(texts)}
}};

/* Two characters, and the one that they compose to. */
const uint32_t bbpe_character_pairs[{PAIR_SLOTS}][3] = {{
{listed(pair_slots())}
}};

const bbpe_character_set bbpe_character_sets[{len(sets)}] = {{
{sets_of}
}};

#endif"""


if __name__ == "__main__":
    print(table())
