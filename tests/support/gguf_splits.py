"""How each pre-tokenizer of GGUF files splits a text, kept in gguf_splits.json: regexes of llama.cpp, whose names last.

`python tests/support/gguf_splits.py` writes that file from the product; look at what changed in it.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from bbpe.formats.gguf.bpe import _PRE
from bbpe.splitting.patterns import PATTERNS, get_pattern

KEPT = Path(__file__).with_name("gguf_splits.json")
#: Contractions, cases, digits, marks, line ends, runs of blanks, and the scripts that some of the regexes name, also
#: without a blank before and after them.
TEXTS = [
    "I'M don't 12345678 x\r\n  y\n\n\n(a) 'tis ESCapeD_name,12,345.5 $1,000!?...\r\n ",
    "日本語漢字カナ русский Ünï éa\u0301 ไทย12 가각ㄱㄴ ǅungla ሀ !！… \u3000、。“x” \u0661\u0662\u0663\u0664²½ ＡＢ",
    "<sentinel:12>IMGIMGABCZ\tx    y  z {}[]~`+=<>^|\\/@#" + " " * 70 + "end \n \u00a0\u2003w ",
    "a\u4e2dб\u3042ñ\uac00c\u0e14d\u30ab\u00e9\u3105z\u4e2d\u4e2d5\u4e2d!\u3001a\u0661b'S\u4e2d_\u1000\u1780x'lld",
]


def rows() -> dict[str, list[Any]]:
    """Return whether whole pretokens are looked up, and the pretokens of the texts, by the name of a pre-tokenizer."""
    found: dict[str, list[Any]] = {}
    for name, row in _PRE.items():
        pattern = PATTERNS[row.pattern] if isinstance(row.pattern, str) else get_pattern(row.pattern)
        found[name] = [row.whole, *("\u2502".join(pattern.split(text)) for text in TEXTS)]
    return found


def kept() -> dict[str, list[Any]]:
    """Return the rows as they were written."""
    groups = json.loads(KEPT.read_text("utf-8"))
    return {name: row for row, names in groups for name in names.split()}


def main() -> None:
    groups: dict[str, list[str]] = {}
    for name, row in sorted(rows().items()):
        groups.setdefault(json.dumps(row, ensure_ascii=False), []).append(name)
    lines = [f"[{row},\n {json.dumps(' '.join(names))}]" for row, names in groups.items()]
    KEPT.write_text("[" + ",\n".join(lines) + "]\n", "utf-8")


if __name__ == "__main__":
    main()
