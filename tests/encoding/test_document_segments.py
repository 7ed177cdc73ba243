"""The bytes of many documents of ids at once, against those of each."""

from __future__ import annotations

import json
import random
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest

import bbpe
from bbpe.records import replace
from bbpe.spec.decoders import BPEDecoder
from bbpe.spec.rules import BYTE_KEYS

TEXT = "see my eyes, don't be lower than 1,234 slow ones\n\n  x = y 中文汉字 かな Äpfel 🙂🙂 aaaa aaaaaaa "


def sequence(name: str, *steps: dict[str, Any]) -> dict[str, Any]:
    return {"type": "Sequence", name: steps}


def pieces(*steps: dict[str, Any], prepends: bool = True) -> bbpe.Tokenizer:
    """Characters with byte tokens, as in Llama 2, whose decoder ends with these steps."""
    keys = ["<unk>", "<s>", *BYTE_KEYS, *"▁abcdelmnowsy中文", "lo", "low", "▁s", "ee", "▁see", "▁▁", "中文"]
    merges = ["l o", "lo w", "▁ s", "e e", "▁s ee", "▁ ▁", "中 文"]
    marked = {"type": "Replace", "pattern": {"String": " "}, "content": "▁"}
    unmarked = {"type": "Replace", "pattern": {"String": "▁"}, "content": " "}
    value = {
        "version": "1.0",
        "model": {
            "type": "BPE", "vocab": {key: at for at, key in enumerate(keys)}, "merges": merges, "byte_fallback": True,
            "unk_token": "<unk>", "fuse_unk": True,
        },
        "normalizer": sequence("normalizers", *([{"type": "Prepend", "prepend": "▁"}] * prepends), marked),
        "decoder": sequence("decoders", unmarked, {"type": "ByteFallback"}, {"type": "Fuse"}, *steps),
    }  # fmt: skip
    with TemporaryDirectory() as folder:
        Path(folder, "tokenizer.json").write_text(json.dumps(value), "utf-8")
        return bbpe.load(folder)


def strip(count: int) -> dict[str, Any]:
    return {"type": "Strip", "content": " ", "start": count, "stop": 0}


KINDS = {
    "bytes": lambda: bbpe.train_from_iterator([TEXT] * 3, 320),
    "no blank": lambda: pieces(prepends=False),
    "one blank": lambda: pieces(strip(1)),
    "three blanks": lambda: pieces(strip(3)),
    "first word": lambda: bbpe.train_from_iterator([TEXT] * 3, 320, model=bbpe.BPE(alphabet="chars", word_start="▁")),
    "words": lambda: bbpe.train_from_iterator(["see my eyes"] * 3, 60, model=bbpe.WordPiece()),
    "last word": lambda: bbpe.Tokenizer(replace(tokenizer("words").spec, decoder=(BPEDecoder("y"),))),
}


@lru_cache
def tokenizer(kind: str) -> bbpe.Tokenizer:
    return KINDS[kind]()


@pytest.mark.parametrize("dtype", [np.uint16, np.uint32])
@pytest.mark.parametrize("kind", KINDS)
def test_documents_have_their_own_bytes(kind: str, dtype: type) -> None:
    tok, rng = tokenizer(kind), random.Random(5)
    blank = [ids[-1:] for text in (" ", "  ", "\u2581") if (ids := tok.encode(text))]
    rows = [rng.choices(range(tok.vocab_size), k=rng.randrange(7)) for _ in range(300)]
    rows += [[*rng.choice(blank) * rng.randrange(5), *row] for row in rows] if blank else []
    rows += [tok.encode(TEXT), tok.encode(TEXT * 400), [], tok.encode("  see")]
    ids = np.array([each for row in rows for each in [7, *row]], dtype)
    ends = np.cumsum([1 + len(row) for row in rows], dtype=np.int64)
    starts = ends - [len(row) for row in rows]  # 7 is in no document
    decoder, right = tok._parts.decoder, [tok.decode_bytes(row) for row in rows]
    data, bounds = decoder.segments(ids, starts, ends, np.empty(0, np.int64), np.ones(len(rows), np.int64))
    assert [data[start:end] for start, end in pairwise([0, *bounds.tolist()])] == right
    flat = np.array([each for row in rows for each in row], dtype)
    data, bounds = decoder.documents(flat, np.cumsum([0, *map(len, rows)], dtype=np.int64))
    assert [data[start:end] for start, end in pairwise([0, *bounds.tolist()])] == right


@pytest.mark.parametrize("kind", ["bytes", "one blank"])
def test_an_id_without_a_token_is_named(kind: str) -> None:
    tok = tokenizer(kind)
    for row in ([60_000], [5, 6, 60_000]):
        with pytest.raises(bbpe.TokenIdError, match="id 60000 is out of range"):
            tok._parts.decoder.documents(np.array(row, np.uint32), np.array([0, len(row)]))


def test_wrong_rows() -> None:
    forms = tokenizer("one blank")._parts.decoder._forms
    ids = np.array([5, 6], np.uint16)
    for starts, ends, shown in (([1], [3], "text 0 is ids 1 to 3; expected a part of 2 ids"), ([0], [], "1 starts")):
        with pytest.raises(ValueError, match=shown):
            forms.rows(ids, np.array(starts, np.int64), np.array(ends, np.int64))
    with pytest.raises(ValueError, match="where the last token is as others"):
        tokenizer("last word")._parts.decoder._forms.rows(ids, np.array([0]), np.array([1]))
    with pytest.raises(ValueError, match="other numbers of ends or heads"):
        tokenizer("bytes")._parts.decoder.token_bytes.rows(ids, np.array([0]), np.array([1]), [b"a", b"b"])
