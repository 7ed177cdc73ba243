"""BPE in which not every symbol is a token, and tokens that are added to it: the ids of `tokenizers`."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from tokenizers import Tokenizer
from vocabularies import added, byte_level, document, sequence

import bbpe
from bbpe.cli import main
from bbpe.text import bytes_to_alphabet

CHARS = "abcé中 "
BYTES = [bytes_to_alphabet(char.encode()) for char in "abcé "]


def decoder_of(prefix: str, end: str) -> dict[str, Any]:
    ended = {"type": "BPEDecoder", "suffix": end}
    dropped = {"type": "Replace", "pattern": {"String": prefix}, "content": ""}
    if end:
        return {"type": "Sequence", "decoders": [dropped, ended]} if prefix else ended
    return {"type": "WordPiece", "prefix": prefix, "cleanup": False} if prefix else {"type": "Fuse"}


def random_model(rng: random.Random, symbols: Sequence[str], prefix: str, end: str) -> dict[str, Any]:
    """A random vocabulary of some symbols in some positions, with merges of its tokens in any order."""
    singles = [f"{before}{char}{after}" for char in symbols for before in {"", prefix} for after in {"", end}]
    keys = [key for key in singles if rng.random() < 0.7] or singles[:1]
    merges: list[tuple[str, str]] = []
    for _ in range(rng.randrange(8)):
        left, right = rng.choice(keys), rng.choice(keys)
        if right.startswith(prefix) and right != prefix and not (end and left.endswith(end)):
            merges.append((left, right))
            keys.append(left + right.removeprefix(prefix))
    keys += ["".join(rng.choices(symbols, k=2)) for _ in range(rng.randrange(3))]
    rng.shuffle(keys)
    vocab = {key: number for number, key in enumerate(dict.fromkeys(["<unk>", *keys]))}
    options = {
        "unk_token": rng.choice([None, "<unk>", "<lost>"]),
        "fuse_unk": rng.random() < 0.5,
        "ignore_merges": not prefix and rng.random() < 0.3,
        "dropout": None,
        "byte_fallback": False,
        "continuing_subword_prefix": prefix or None,
        "end_of_word_suffix": end or None,
    }
    rng.shuffle(merges)
    return {"type": "BPE", **options, "vocab": vocab, "merges": [list(pair) for pair in merges]}


def compare(path: Path, texts: Sequence[str]) -> int:
    """Compare ids with `tokenizers`, then those of the saved file, read by both; returns of how many texts."""
    count = 0
    hf, tok = Tokenizer.from_file(str(path)), bbpe.load(path)
    saved = path.with_name("saved.json")
    tok.save(saved)
    again, other = bbpe.load(saved), Tokenizer.from_file(str(saved))
    assert again == tok
    for text in texts:
        try:
            ids = hf.encode(text, add_special_tokens=False).ids
        except Exception:  # the unknown token has no id
            continue
        found = tok.encode(text, allowed_special="all")
        assert found == ids, (text, path.read_text("utf-8"))
        assert tok.encode_batch([text, text], allowed_special="all") == [ids, ids]
        assert again.encode(text, allowed_special="all") == ids
        assert other.encode(text, add_special_tokens=False).ids == ids, text
        count += 1
    compare_calls(tok, texts)
    return count


def compare_calls(tok: bbpe.Tokenizer, texts: Sequence[str]) -> None:
    """Batches, arrays, counts, rows and bytes have the ids of `encode`."""
    for allowed in ((), "all"):
        expected = [tok.encode(text, allowed_special=allowed) for text in texts]
        assert tok.encode_batch(texts, allowed_special=allowed, threads=2) == expected
        found = tok.encode_batch_to_numpy(texts, allowed_special=allowed, threads=2)
        assert [row.tolist() for row in found] == expected
        counts = tok.count_tokens_batch(texts, allowed_special=allowed, threads=2)
        assert list(counts) == list(map(len, expected))
        for text, ids in zip(texts, expected, strict=True):
            assert tok.encode_to_numpy(text, allowed_special=allowed).tolist() == ids
            assert tok.encode(text.encode(), allowed_special=allowed) == ids
            assert tok.encode_bytes(text.encode(), allowed_special=allowed) == ids
            assert list(tok.encode_iterable(text, allowed_special=allowed)) == ids


def test_an_added_token_that_is_the_key_of_a_byte(tmp_path: Path) -> None:
    """Where the byte is no token, the added token stays outside the saved vocabulary."""
    path = tmp_path / "tokenizer.json"
    vocab = {key: number for number, key in enumerate(["a", "b", "ab", *BYTES[3:]])}
    for tokens in ([added("õ", 0, special=False)], [added("õ", 0), added("<x>", 1), added("é", 2, special=False)]):
        model = {"type": "BPE", "vocab": vocab, "merges": ["a b"]}
        path.write_text(json.dumps(document(model=model, added_tokens=tokens)), "utf-8")
        assert compare(path, ["aõb", "õ", "<x>é é", "\u00f5\u00e9ab"]) == 4


@pytest.mark.parametrize("end", ["", "</w>"])
@pytest.mark.parametrize("prefix", ["", "##"])
@pytest.mark.parametrize("is_byte_level", [False, True])
def test_random_vocabularies(tmp_path: Path, prefix: str, end: str, is_byte_level: bool) -> None:
    rng = random.Random(f"{prefix} {end} {is_byte_level}")
    path = tmp_path / "tokenizer.json"
    marked = {"type": "Metaspace", "prepend_scheme": "always", "split": True}
    splits = [
        {"type": "WhitespaceSplit"},
        {"type": "Split", "pattern": {"Regex": "a+"}, "behavior": "Isolated", "invert": False},
    ]
    counts = []
    for _ in range(7):
        model = random_model(rng, "".join(BYTES) if is_byte_level else CHARS, prefix, end)
        marked = {"type": "Metaspace", "replacement": rng.choice("▁ab"), "prepend_scheme": "always", "split": True}
        last = byte_level(use_regex=rng.random() < 0.5)
        steps = [last, sequence(marked, last)] if is_byte_level else [None, *splits, {**marked, "replacement": "a"}]
        pre_tokenizer = rng.choice(steps)
        decoder = byte_level() if is_byte_level else decoder_of(prefix, end)
        path.write_text(
            json.dumps(document(model=model, pre_tokenizer=pre_tokenizer, decoder=decoder, added_tokens=[])), "utf-8"
        )
        texts = ["", *("".join(rng.choices(CHARS + "xü", k=rng.randint(1, 9))) for _ in range(12))]
        counts.append(compare(path, texts))
    assert sum(counts) > 36


@pytest.mark.parametrize("is_special", [False, True])
def test_added_tokens_and_their_ids(tmp_path: Path, is_special: bool) -> None:
    """Tokens that merges also make, tokens of one byte, and ids that `tokenizers` ignores."""
    rng = random.Random(is_special)
    path = tmp_path / "tokenizer.json"
    for _ in range(16):
        vocab = {bytes_to_alphabet(bytes((byte,))): byte for byte in range(256)}
        vocab |= {"ab": 256, "abc": 257, "bc": 258, "<x>": 259}
        texts = rng.sample(["ab", "abc", "a", "é", "<x>", "<y>", "<z>", "cab", "ü"], 4)
        tokens = [added(text, rng.randrange(300), special=is_special, normalized=False) for text in texts]
        model = {"type": "BPE", "vocab": vocab, "merges": ["a b", "ab c", "b c"]}
        path.write_text(json.dumps(document(model=model, added_tokens=tokens)), "utf-8")
        parts = ["a", "b", "c", "é", "<x>", "<y>", "<z>", " "]
        assert compare(path, ["".join(rng.choices(parts, k=9)) for _ in range(20)]) == 20


def test_a_token_that_is_listed_twice_has_the_last_options(tmp_path: Path) -> None:
    path = tmp_path / "tokenizer.json"
    tokens = [
        added("<s>", 300, special=True),
        added("<t>", 301),
        added("", 5),
        added("<s>", 7, special=False, lstrip=True),
    ]
    path.write_text(json.dumps(document(added_tokens=tokens)), "utf-8")
    assert compare(path, ["a <s><t> <s>", "<t>  <s>b"]) == 2
    assert set(bbpe.load(path).added_tokens) == {"<s>"}


def test_bytes_that_are_no_text(tmp_path: Path) -> None:
    """A byte without a token is left out, and the bytes next to it merge; other bytes keep their tokens."""
    vocab = {bytes_to_alphabet(bytes((byte,))): byte for byte in range(256) if byte not in b"\x00\xff"} | {"ab": 300}
    path = tmp_path / "tokenizer.json"
    model = {"type": "BPE", "vocab": vocab, "merges": ["a b"]}
    path.write_text(json.dumps(document(model=model, pre_tokenizer=byte_level(use_regex=False))), "utf-8")
    tok = bbpe.load(path)
    assert tok.encode(b"a\xffb\x80\xfe\x00") == [300, 0x80, 0xFE]
    assert tok.encode(b"\xff\x00") == []
    assert tok.count_tokens("\x00") == 0
    assert tok.encode("a\x00b" * 50_000) == [300] * 50_000
    assert list(tok.encode_iterable(["a\x00", "b"])) == [300]
    assert len(tok.encode("ab" * 50, dropout=1.0, seed=1)) == 100
    assert tok.encode_with_offsets("ab")[1].tolist() == [[0, 2]]
    assert tok.encode_with_offsets("a\x00b")[1].tolist() == [[0, 3]]
    assert tok.encode_with_offsets("c\x00a\x00bd")[1].tolist() == [[0, 1], [2, 5], [5, 6]]


@pytest.mark.parametrize("unknown", [None, "<unk>"])
def test_inspect_reports_the_loss(tmp_path: Path, capsys: pytest.CaptureFixture[str], unknown: str | None) -> None:
    vocab = {bytes_to_alphabet(bytes((byte,))): byte for byte in range(3, 256)} | {"<unk>": 0}
    path = tmp_path / "tokenizer.json"
    model = {"type": "BPE", "vocab": vocab, "merges": [], "unk_token": unknown}
    path.write_text(json.dumps(document(model=model)), "utf-8")
    assert main(["inspect", str(path), "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert (shown["tokenless_bytes"], shown["tokenless_shown"]) == (3, ["0x00", "0x01", "0x02"])
    become = "left out" if unknown is None else "written as '<unk>'"
    assert shown["tokenless_become"] == become
    assert main(["inspect", str(path)]) == 0
    sentence = f"3 bytes have no token (0x00 0x01 0x02) and are {become}, so texts do not come back"
    assert sentence in " ".join(capsys.readouterr().out.split())
