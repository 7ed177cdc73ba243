"""Byte fallback where not all bytes have tokens: a character becomes its bytes, or is unknown, as in `tokenizers`."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest
import tokenizers
from tokenizers import Tokenizer

import bbpe
from bbpe.errors import VocabularyError

CHARS = "ab éçñ中丮文😀x▁"
OTHER = "cdü東\u0301🙂\t"


def random_keys(rng: random.Random) -> list[str]:
    known = [char for char in CHARS if rng.random() < 0.5]
    spelled = {byte for char in CHARS + OTHER if rng.random() < 0.5 for byte in char.encode()}
    keys = ["<unk>", *known, *(f"<0x{byte:02X}>" for byte in sorted(spelled))]
    rng.shuffle(keys)
    return keys


def random_model(rng: random.Random, kind: str) -> dict[str, Any]:
    keys = random_keys(rng)
    known = [key for key in keys if len(key) == 1]
    merges = [rng.choices(known, k=2) for _ in range(4)] if known else []
    merges = [list(pair) for pair in dict.fromkeys(map(tuple, merges))]
    keys += [key for key in dict.fromkeys("".join(pair) for pair in merges) if key not in keys]
    if kind == "Unigram":
        rows = [[key, -rng.randint(1, 40) / 4] for key in keys]
        return {"type": kind, "unk_id": keys.index("<unk>"), "vocab": rows, "byte_fallback": True}
    return {
        "type": kind, "vocab": {key: number for number, key in enumerate(keys)}, "merges": merges,
        "byte_fallback": True, "unk_token": rng.choice([None, "<unk>"]), "fuse_unk": rng.random() < 0.5,
        "dropout": None, "continuing_subword_prefix": None, "end_of_word_suffix": None,
        "ignore_merges": rng.random() < 0.3,
    }  # fmt: skip


def random_document(rng: random.Random, kind: str) -> dict[str, Any]:
    fallback = [{"type": "ByteFallback"}, {"type": "Fuse"}]
    marked = {"type": "Metaspace", "replacement": "▁", "prepend_scheme": rng.choice(["never", "first"]), "split": True}
    blanks = {"type": "Replace", "pattern": {"String": " "}, "content": "▁"}
    return {
        "version": "1.0", "truncation": None, "padding": None, "added_tokens": [], "post_processor": None,
        "normalizer": rng.choice([None, blanks]), "model": random_model(rng, kind),
        "pre_tokenizer": rng.choice([None, marked, {"type": "WhitespaceSplit"}]),
        "decoder": rng.choice([None, {"type": "Sequence", "decoders": fallback}, {"type": "ByteFallback"}]),
    }  # fmt: skip


@pytest.mark.parametrize("kind", ["BPE", "Unigram"])
def test_random_vocabularies(tmp_path: Path, kind: str) -> None:
    rng = random.Random(kind)
    path, saved = tmp_path / "tokenizer.json", tmp_path / "saved.json"
    decoded = 0
    for _ in range(12):
        path.write_text(json.dumps(random_document(rng, kind)), encoding="utf-8")
        hf, tok = Tokenizer.from_file(str(path)), bbpe.load(path)
        tok.save(saved)
        assert bbpe.load(saved) == tok
        names = ["<0xC3>"] if kind == "Unigram" else []  # which are tokens in a text; in BPE with `ignore_merges` only
        texts = ["".join(rng.choices([*CHARS, *OTHER, *names], k=rng.randint(0, 9))) for _ in range(40)]
        for text in texts:
            ids = hf.encode(text).ids
            assert tok.encode(text) == ids, (text, path.read_text("utf-8"))
            assert tok.count_tokens(text) == len(ids)
            # `tokenizers` writes one U+FFFD for each byte of a run that is not UTF-8
            expected = hf.decode(ids)
            if "\ufffd" not in expected:
                assert tok.decode(ids) == expected, (ids, path.read_text("utf-8"))
                decoded += 1
        assert tok.encode_batch(texts) == [encoding.ids for encoding in hf.encode_batch(texts)]
    assert decoded > 145


@pytest.mark.parametrize("kind", ["BPE", "Unigram"])
def test_a_long_run_without_tokens(tmp_path: Path, kind: str) -> None:
    """A run is one for Unigram, however long it is: one character without bytes makes all of it unknown."""
    keys = ["<unk>", "a", *(f"<0x{byte:02X}>" for byte in "中".encode())]
    path = tmp_path / "tokenizer.json"
    rows = [[key, -1.0] for key in keys]
    unigram = {"type": kind, "unk_id": 0, "vocab": rows, "byte_fallback": True}
    vocab = {key: number for number, key in enumerate(keys)}
    bpe = {"type": kind, "vocab": vocab, "merges": [], "unk_token": "<unk>", "byte_fallback": True, "fuse_unk": True}
    path.write_text(json.dumps({"version": "1.0", "model": unigram if kind == "Unigram" else bpe}), encoding="utf-8")
    hf, tok = Tokenizer.from_file(str(path)), bbpe.load(path)
    for text in ("中" * 5000, "中" * 5000 + "東", "a東" + "中" * 5000 + "a" + "中" * 400, "東" * 3000 + "中a"):
        assert tok.encode(text) == hf.encode(text).ids


def test_offsets_are_those_of_characters_or_refused(tmp_path: Path) -> None:
    """In BPE an unknown token is written after the bytes of the characters that follow it in the text."""
    keys = ["<unk>", "a", *(f"<0x{byte:02X}>" for byte in "中".encode())]
    rows = [[key, -1.0] for key in keys]
    path = tmp_path / "tokenizer.json"
    unigram = {"type": "Unigram", "unk_id": 0, "vocab": rows, "byte_fallback": True}
    path.write_text(json.dumps({"version": "1.0", "model": unigram}), encoding="utf-8")
    ids, spans = bbpe.load(path).encode_with_offsets("a中a東中a")
    assert list(ids) == [1, 2, 3, 4, 1, 0, 1]
    assert spans.tolist() == [[0, 1], [1, 2], [1, 2], [1, 2], [2, 3], [3, 5], [5, 6]]
    vocab = {key: number for number, key in enumerate(keys)}
    model = {"type": "BPE", "vocab": vocab, "merges": [], "unk_token": "<unk>", "byte_fallback": True}
    path.write_text(json.dumps({"version": "1.0", "model": model}), encoding="utf-8")
    tok = bbpe.load(path)
    assert tok.encode("東中a") == [2, 3, 4, 0, 1]
    assert tok.encode_with_offsets("a東a")[1].tolist() == [[0, 1], [1, 2], [2, 3]]
    with pytest.raises(VocabularyError, match="do not spell the text"):
        tok.encode_with_offsets("東中a")


@pytest.mark.parametrize(
    ("known", "near"),
    [
        ("é", "êèëƩ鄁鄀"), ("ÿ", "ߧ߿Ŀ翿"), ("\x80", "\xc1\x81ĀЀ"), ("丮", "丯东両且乮亮帮"), ("ⴭ", "⴬⴮⵭⬭ㄭ"),
        ("😀", "😁😂🙀🚀🨀🁀"), ("🜜", "🜝🜞🝜🛜"), ("a", "bAéᡡ"),
    ],
)  # fmt: skip
def test_characters_without_tokens_for_all_bytes_are_left_out(tmp_path: Path, known: str, near: str) -> None:
    """Without an unknown token; what stays has its own place, whatever bytes with tokens are near those."""
    vocab = {f"<0x{byte:02X}>": number for number, byte in enumerate(sorted({*known.encode(), *b"x"}))}
    path = tmp_path / "tokenizer.json"
    model = {"type": "BPE", "vocab": vocab, "merges": [], "byte_fallback": True}
    path.write_text(json.dumps({"version": "1.0", "model": model}), encoding="utf-8")
    hf, tok = Tokenizer.from_file(str(path)), bbpe.load(path)
    for char in near:
        text = f"{char}x{char}{char}x"
        ids, places = tok.encode_with_offsets(text)
        assert ids == hf.encode(text).ids == [vocab["<0x78>"]] * 2
        assert places.tolist() == [[1, 2], [4, 5]], text


def test_dropped_characters_do_not_keep_others_apart(tmp_path: Path) -> None:
    model = {"type": "BPE", "vocab": {"a": 0, "b": 1, "ab": 2, "<0x78>": 3}, "merges": ["a b"], "byte_fallback": True}
    path = tmp_path / "tokenizer.json"
    path.write_text(json.dumps({"version": "1.0", "model": model}), encoding="utf-8")
    tok = bbpe.load(path)
    assert tok.encode("a中b axb") == Tokenizer.from_file(str(path)).encode("a中b axb").ids == [2, 0, 3, 1]


def test_a_unigram_piece_that_is_the_unknown_token(tmp_path: Path) -> None:
    """`tokenizers` fuses it with unknown neighbours, and writes a run as the token of its text, else as its bytes."""
    rng, models, pre = random.Random(5), tokenizers.models, tokenizers.pre_tokenizers
    for number in range(24):
        pieces = {"\u2581": -2.5}
        while len(pieces) < 9:
            pieces.setdefault("".join(rng.choices("abc\u2581\u00e9x", k=rng.randint(1, 4))), -rng.random() * 10)
        pieces["<unk>"] = rng.choice((0.0, -3.0))
        for byte in rng.sample(range(256), (0, 200, 256)[number % 3]):
            pieces[f"<0x{byte:02X}>"] = -rng.random() * 10
        vocab = rng.sample(list(pieces.items()), len(pieces))
        ordinary = [i for i, (text, _) in enumerate(vocab) if "\u2581" not in text and not text.startswith("<0x")]
        has_bytes = number % 3 > 0
        judge = tokenizers.Tokenizer(models.Unigram(vocab, unk_id=rng.choice(ordinary), byte_fallback=has_bytes))
        judge.pre_tokenizer = pre.Metaspace(split=number % 2 == 0)
        judge.decoder = tokenizers.decoders.Metaspace()
        judge.save(str(tmp_path / "t.json"))
        tok = bbpe.load(tmp_path / "t.json")
        for _ in range(30):
            text = "".join(rng.choices([*"abcx \u00e9z<", "<unk>", "<0x41>"], k=rng.randint(0, 8)))
            assert tok.encode(text) == judge.encode(text).ids, (vocab, text)
            assert tok.encode_nbest(text, 1)[0][0] == tok.encode(text)
        tok.save(tmp_path / "again.json")
        assert bbpe.load(tmp_path / "again.json") == tok


def test_a_blank_that_is_the_unknown_token_has_no_bytes(tmp_path: Path) -> None:
    vocab = [("\u2581", -1.0), ("a", -2.0), *((f"<0x{byte:02X}>", -3.0) for byte in range(256))]
    judge = tokenizers.Tokenizer(tokenizers.models.Unigram(vocab, unk_id=0, byte_fallback=True))
    judge.pre_tokenizer = tokenizers.pre_tokenizers.Metaspace()
    judge.save(str(tmp_path / "t.json"))
    with pytest.raises(VocabularyError, match=r"model\.unk_id: the unknown token is a piece with U\+2581"):
        bbpe.load(tmp_path / "t.json")
