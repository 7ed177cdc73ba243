"""BPE of words after BERT's rules: the rules come first, and words are split in what they leave, as in `tokenizers`."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any

import pytest
from test_word_bpe import document

import bbpe

TEXTS = [
    "ab", "a\x85b", "ab\x85ab", "a\u2028b", "a\x00b", "ab\x00 \x00ab", "\ufffdab", "a\ufffdb", "a\u200bb", "a≠b",
    "É a é", "中ab中", "a\tb\r\nab", "a\x1cb", "a\u3000b", "A\u0301B", "a\u0301", "\u0301", "a.b", "a。b", "İ",
    "a\u00adb", " a b ",
]  # fmt: skip
FLAGS = ("clean_text", "handle_chinese_chars", "strip_accents", "lowercase")


@pytest.mark.parametrize("flags", [*itertools.product((True, False), repeat=4)][::3])
@pytest.mark.parametrize("split", ["WhitespaceSplit", "BertPreTokenizer"])
@pytest.mark.parametrize(("prefix", "end"), [("", "</w>"), ("##", "")])
def test_words_are_those_of_the_normalized_text(
    prefix: str, end: str, split: str, flags: tuple[bool, ...], tmp_path: Path
) -> None:
    hf = pytest.importorskip("tokenizers").Tokenizer
    vocab: dict[str, int] = {"<unk>": 0}
    for char in "abeéi中.=\u0301":
        for key in (char, prefix + char, char + end):
            vocab.setdefault(key, len(vocab))
    merges = [["a", f"{prefix}b{end}"], ["e", f"{prefix}a{end}"]]
    vocab |= {f"ab{end}": len(vocab), f"ea{end}": len(vocab) + 1}
    rules: dict[str, Any] = {"type": "BertNormalizer", **dict(zip(FLAGS, flags, strict=True))}
    value = document(vocab, merges, prefix, end, normalizer=rules, pre_tokenizer={"type": split})
    path = tmp_path / "tokenizer.json"
    path.write_text(json.dumps(value), "utf-8")
    tok, theirs = bbpe.load(path), hf.from_file(str(path))
    view = tok.as_tokenizers()
    for text in TEXTS:
        expected = theirs.encode(text, add_special_tokens=False)
        assert tok.encode(text) == expected.ids, ascii(text)
        assert tok.count_tokens(text) == len(expected.ids), ascii(text)
        ids, places = tok.encode_with_offsets(text)
        assert (ids, [*map(tuple, places.tolist())]) == (expected.ids, expected.offsets), ascii(text)
        assert view.encode(text, add_special_tokens=False).word_ids == expected.word_ids, ascii(text)
