"""Write the class of every code point, as a two-stage table: uclass_table.c, and uclass_table.h, which declares it.

Run `python csrc/text/uclass_generate.py` with `unicodedata2==16.*` and `regex` installed.  General categories come from
unicodedata2 (Unicode 16, the version that HF tokenizers 0.23 and tiktoken 0.14 classify with), the Han script from
`regex`, limited to what Unicode 16 assigns.
"""

from __future__ import annotations

from pathlib import Path

import regex
import unicodedata2

BLOCK = 128
#: those that a pattern mostly treats alike side by side, so that a block's are told from others by one comparison
CLASSES = (
    "UPPER LOWER CASELESS HAN_LETTER HAN_RARE KANA_LETTER MARK HAN_MARK KANA_MARK "
    "PUNCT OTHER HAN_SYMBOL KANA_SYMBOL KANA_OTHER NUMBER HAN_NUMBER SPACE NEWLINE BLANK"
).split()
INDEX = {name: index for index, name in enumerate(CLASSES)}
#: Unicode's White_Space property; it is what `\s` means in every regex engine of the field.
WHITE_SPACE = {*range(9, 14), *range(0x2000, 0x200B), *map(ord, "\x20\x85\xa0\u1680\u2028\u2029\u202f\u205f\u3000")}
HAN = regex.compile(r"\p{Han}")


# General categories to the classes of ordinary characters, of Han, and of the kana blocks.
ORDINARY = {"Lu": "UPPER", "Lt": "UPPER", "Ll": "LOWER", "L": "CASELESS", "M": "MARK", "N": "NUMBER"}
ORDINARY |= {"P": "PUNCT", "S": "PUNCT", "C": "OTHER"}
OF_HAN = {"L": "HAN_RARE", "M": "HAN_MARK", "N": "HAN_NUMBER", "P": "HAN_SYMBOL", "S": "HAN_SYMBOL"}
OF_KANA = {"L": "KANA_LETTER", "M": "KANA_MARK", "P": "KANA_SYMBOL", "S": "KANA_SYMBOL", "C": "KANA_OTHER"}


def classify(point: int) -> str:
    """Return the name of the class of one code point."""
    if point in (0x0A, 0x0D):
        return "NEWLINE"
    if point == 0x20:
        return "SPACE"
    if point in WHITE_SPACE:
        return "BLANK"
    category = unicodedata2.category(chr(point))
    if 0x4E00 <= point <= 0x9FA5:  # with kana what DeepSeek's pattern cuts off
        return "HAN_LETTER"
    if 0x3040 <= point <= 0x30FF:
        return OF_KANA[category[0]]
    if category != "Cn" and HAN.match(chr(point)):
        return OF_HAN[category[0]]
    return ORDINARY.get(category) or ORDINARY[category[0]]


def rows(values: list[int]) -> str:
    """Format numbers as the body of a C array, 32 to a line."""
    lines = (values[i : i + 32] for i in range(0, len(values), 32))
    return "\n".join("    " + ",".join(map(str, line)) + "," for line in lines)


def stages() -> tuple[list[int], list[int]]:
    """Return the block of each range of code points, and the class of each code point of each block."""
    blocks: dict[tuple[int, ...], int] = {}
    stage_1 = []
    for start in range(0, 0x110000, BLOCK):
        block = tuple(INDEX[classify(point)] for point in range(start, start + BLOCK))
        stage_1.append(blocks.setdefault(block, len(blocks)))
    if len(blocks) > 256:
        raise SystemExit(f"{len(blocks)} distinct blocks do not fit a byte")
    if stage_1[0] != 0:
        raise SystemExit("the first block must be ASCII's, which is read without the first stage")
    return stage_1, [value for block in blocks for value in block]


def files() -> dict[str, str]:
    """Return the header and the table, each by the name of its file."""
    stage_1, stage_2 = stages()
    block = f"bbpe_uclass_block[{len(stage_1)} + BBPE_UCLASS_AFTER]"
    value = f"bbpe_uclass_value[{len(stage_2)} + BBPE_UCLASS_AFTER]"
    defines = "\n".join(f"#define BBPE_CLASS_{name} {INDEX[name]}" for name in CLASSES)
    version = unicodedata2.unidata_version
    header = f"""/* The class of every code point, in two stages of {BLOCK} code points a block.
 * python csrc/text/uclass_generate.py   (unicodedata2 {version}) */
#ifndef BBPE_UCLASS_TABLE_H
#define BBPE_UCLASS_TABLE_H

#include "base/bits.h"

#define BBPE_UNICODE_VERSION "{version}"
#define BBPE_UCLASS_AFTER 3 /* bytes after each table that may be read */
#define BBPE_UCLASS_BLOCK {BLOCK}
{defines}

extern BBPE_HIDDEN const uint8_t {block};
extern _Alignas(64) BBPE_HIDDEN const uint8_t {value};

#endif
"""
    table = f"""/* python csrc/text/uclass_generate.py   (unicodedata2 {version}) */
#include "text/uclass_table.h"

const uint8_t {block} = {{
{rows(stage_1)}
}};

_Alignas(64) const uint8_t {value} = {{
{rows(stage_2)}
}};
"""
    return {"uclass_table.h": header, "uclass_table.c": table}


if __name__ == "__main__":
    for name, text in files().items():
        Path(__file__).with_name(name).write_text(text, "utf-8", newline="\n")
