"""Write bert_table.h: what BERT's normaliser and pre-tokeniser make of every code point, as a two-stage table.

Run `python bert_generate.py > bert_table.h` with `bbpe` installed.  The slow definitions are
bbpe/pipeline/normalizers.py and bbpe/pipeline/pre_tokenizers.py, which do what HF's `tokenizers` does on any
version of Python: its tables are of several versions of Unicode, normal forms of 9.0 and lower case of 17.0.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Sequence

import regex

from bbpe.pipeline.normalizers import Function, is_dropped, is_nonspacing, normalizer
from bbpe.pipeline.pre_tokenizers import pretokens
from bbpe.pipeline.unicode_ages import NEWER_THAN_9
from bbpe.spec.rules import BertNormalizer, BertPreTokenizer, UnicodeForm

BLOCK = 128
FLAGS = ("DROPPED", "SPACE", "PUNCTUATION", "IDEOGRAPH", "NONSPACING", "MOVES")
HANGUL = range(0xAC00, 0xD7A4)
SPACE = regex.compile(r"\s")

_apart = normalizer([BertNormalizer(False, True, False, False)])
_decomposed = normalizer([UnicodeForm("NFD")])
_lowered = normalizer([BertNormalizer(False, False, False, True)])
_newer = {point for first, last in NEWER_THAN_9 for point in range(first, last + 1)}


def combining(char: str) -> int:
    """Return the class by which a normal form sorts a mark; 0: it stays where it is."""
    return 0 if ord(char) in _newer else unicodedata.combining(char)


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


def block_rows(points: range) -> Iterator[tuple[int, str, str]]:
    """Yield the flags of each code point, and what it becomes decomposed and in lower case."""
    chars = list(map(chr, points))
    if 0xD800 <= points[0] < 0xE000:
        yield from ((0, char, char) for char in chars)
        return
    columns = (each(function, chars) for function in (_apart, _decomposed, _lowered))
    for char, is_parted, apart, decomposed, lowered in zip(chars, are_parted(chars), *columns, strict=True):
        is_space = SPACE.match(char) is not None
        found = (
            is_dropped(char),
            is_space,
            not is_space and is_parted,
            apart != char,
            is_nonspacing(char),
            combining(char) > 0,
        )
        flags = sum(bit << number for number, bit in enumerate(found))
        yield flags, char if ord(char) in HANGUL else decomposed, lowered


def lines(values: list[int], width: int = 24) -> str:
    """Format numbers as the body of a C array."""
    parts = (values[i : i + width] for i in range(0, len(values), width))
    return "\n".join("    " + ",".join(map(str, part)) + "," for part in parts)


def table() -> str:
    """Return the whole header."""
    rows: dict[tuple[int, int, int], int] = {}
    texts: list[int] = [0]
    places: dict[str, int] = {}
    blocks: dict[tuple[int, ...], int] = {}
    moving: list[int] = []

    def place(char: str, text: str) -> int:
        """Where what a character becomes stands in `texts`; 0 for the character itself."""
        if text == char:
            return 0
        if text not in places:
            places[text] = len(texts)
            texts.extend((len(text), *map(ord, text)))
        return places[text]

    def number(char: str, flags: int, decomposed: str, lowered: str) -> int:
        if flags >> 5:
            moving.extend((ord(char), combining(char)))
        found = (flags, place(char, decomposed), place(char, lowered))
        return rows.setdefault(found, len(rows))

    stage_1 = []
    for start in range(0, 0x110000, BLOCK):
        points = range(start, start + BLOCK)
        block = tuple(number(chr(point), *row) for point, row in zip(points, block_rows(points), strict=True))
        stage_1.append(blocks.setdefault(block, len(blocks)))
    if max(len(rows), len(texts), len(blocks)) > 1 << 16:
        raise SystemExit("an index does not fit 16 bits")
    stage_2 = [value for block in blocks for value in block]
    return written(stage_1, stage_2, list(rows), texts, moving)


def written(
    stage_1: list[int], stage_2: list[int], rows: list[tuple[int, int, int]], texts: list[int], moving: list[int]
) -> str:
    """Return the header of these tables."""
    defines = "\n".join(f"#define BBPE_BERT_{name} {1 << bit}u" for bit, name in enumerate(FLAGS))
    row_lines = "\n".join(
        "    " + ",".join(f"{{{a},{b},{c}}}" for a, b, c in rows[i : i + 8]) + "," for i in range(0, len(rows), 8)
    )
    return f"""/* BERT's normaliser and pre-tokeniser by code point, in two stages of {BLOCK} code points a block.
 * python bert_generate.py > bert_table.h   (as HF tokenizers 0.23: normal forms of Unicode 9.0) */
#ifndef BBPE_BERT_TABLE_H
#define BBPE_BERT_TABLE_H

#include <stdint.h>

#define BBPE_BERT_BLOCK {BLOCK}
{defines}

typedef struct {{
    uint16_t flags, decomposed, lowered; /* places in bbpe_bert_texts; 0: the character itself */
}} bbpe_bert_row;

static const uint16_t bbpe_bert_block[{len(stage_1)}] = {{
{lines(stage_1)}
}};

static const uint16_t bbpe_bert_value[{len(stage_2)}] = {{
{lines(stage_2)}
}};

static const bbpe_bert_row bbpe_bert_rows[{len(rows)}] = {{
{row_lines}
}};

/* The number of characters, and these. */
static const uint32_t bbpe_bert_texts[{len(texts)}] = {{
{lines(texts)}
}};

/* Code points that a normal form sorts, and by what, in order. */
static const uint32_t bbpe_bert_moving[{len(moving)}] = {{
{lines(moving)}
}};

#endif"""


if __name__ == "__main__":
    print(table())
