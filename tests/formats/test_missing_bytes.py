"""Vocabularies with byte_fallback in which an ASCII character is a token instead of its byte, as in Gemma 1 and 2."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest

import bbpe
from bbpe.spec.rules import BYTE_KEYS

tokenizers = pytest.importorskip("tokenizers")
MISSING = ["\t", "\t\n aZ~\x00", "".join(map(chr, range(128)))]


def document(kind: str, missing: str, *, unknown: bool, marks: bool, **options: Any) -> dict[str, Any]:
    """A model with tokens of characters in place of the bytes of `missing`, and some other characters and words."""
    bytes_left = [key for byte, key in enumerate(BYTE_KEYS) if chr(byte) not in missing or byte >= 0x80]
    own = [("▁" if marks and char == " " else char) for char in missing]
    words = ["\t\t", "ab", "b", "é", "▁", "\t\t\t"]
    keys = list(dict.fromkeys(["<unk>", *bytes_left, *own, "a", "\t", *words]))
    if kind == "Unigram":
        scores = [[key, -1.5 * number**0.5] for number, key in enumerate(keys)]
        # without an id `tokenizers` raises an error for any other character
        model = {"type": kind, "unk_id": 0, "vocab": scores, "byte_fallback": True}
    else:
        merges = [["\t", "\t"], ["a", "b"], ["\t", "\t\t"]]
        model = {"type": kind, "unk_token": "<unk>" if unknown else None, "byte_fallback": True, **options}
        model |= {"vocab": {key: number for number, key in enumerate(keys)}, "merges": merges}
    found: dict[str, Any] = {"version": "1.0", "model": model}
    found["decoder"] = {"type": "Sequence", "decoders": [{"type": "ByteFallback"}, {"type": "Fuse"}]}
    if marks:
        found["normalizer"] = {"type": "Replace", "pattern": {"String": " "}, "content": "▁"}
        undone = {"type": "Replace", "pattern": {"String": "▁"}, "content": " "}
        found["decoder"]["decoders"].insert(0, undone)
    return found


def texts() -> list[str]:
    draw = random.Random(1)
    alphabet = [*map(chr, range(128)), *"\t\t\t\n  ab", "é", "ü", "中", "\U0001f600"]
    alone = ["".join(map(chr, range(128))), *MISSING[1], *map(chr, range(0, 128, 7))]
    return [*alone, *("".join(draw.choices(alphabet, k=draw.randint(2, 12))) for _ in range(60))]


@pytest.mark.parametrize("missing", MISSING, ids=["tab", "some", "all"])
@pytest.mark.parametrize("marks", [False, True])
@pytest.mark.parametrize("unknown", [False, True])
@pytest.mark.parametrize(
    ("kind", "options"), [("BPE", {}), ("BPE", {"fuse_unk": True}), ("BPE", {"ignore_merges": True}), ("Unigram", {})]
)
def test_ids_and_texts_as_hf(
    kind: str, options: dict[str, bool], unknown: bool, marks: bool, missing: str, tmp_path: Path
) -> None:
    path, saved = tmp_path / "tokenizer.json", tmp_path / "saved.json"
    path.write_text(json.dumps(document(kind, missing, unknown=unknown, marks=marks, **options)), encoding="utf-8")
    ours, theirs = bbpe.load(path), tokenizers.Tokenizer.from_file(str(path))
    ours.save(saved)
    again, judge = bbpe.load(saved), tokenizers.Tokenizer.from_file(str(saved))
    assert again == ours
    assert ours.vocab_size == theirs.get_vocab_size() == judge.get_vocab_size()
    for text in texts():
        expected = theirs.encode(text)
        assert ours.encode(text, allowed_special="all") == again.encode(text) == expected.ids, text
        assert judge.encode(text).ids == expected.ids
        assert ours.decode(expected.ids) == theirs.decode(expected.ids, skip_special_tokens=False)
        if kind == "BPE":  # with Unigram all byte tokens of a run span the run there
            assert [tuple(span) for span in ours.encode_with_offsets(text)[1].tolist()] == expected.offsets


@pytest.mark.parametrize("kind", ["BPE", "Unigram"])
@pytest.mark.parametrize("key", ["<0x07>", "<0x80>", "<0xC3>"])
def test_a_byte_without_a_token(kind: str, key: str, tmp_path: Path) -> None:
    value = document(kind, "\t", unknown=True, marks=False)
    vocab = value["model"]["vocab"]
    if kind == "Unigram":
        value["model"]["vocab"] = [row for row in vocab if row[0] != key]
    else:
        del vocab[key]
    path = tmp_path / "tokenizer.json"
    path.write_text(json.dumps(value), encoding="utf-8")
    hf, tok = tokenizers.Tokenizer.from_file(str(path)), bbpe.load(path)
    for text in ("a\x07b", "\u00e9", "\u0400\u4e00", "a\t"):
        ids = hf.encode(text, add_special_tokens=False).ids
        assert tok.encode(text) == ids
        assert tok.decode(ids) == hf.decode(ids)
