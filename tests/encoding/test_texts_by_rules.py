"""Tokenizers with rules: texts of any length, bytes of any kind, and characters by their definition, step by step."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest
from rule_files import METASPACES, named, of_characters
from strings import byte_soups
from vocabularies import added, byte_level, document, keys, write_json

import bbpe
from bbpe.spec.rules import SPACE_MARK

DOCUMENTS: dict[str, Any] = {
    "light": of_characters(),
    "metaspace": of_characters(normalizer=None, pre_tokenizer=METASPACES[0]),
    "unknown": of_characters(fallback=False),
    "nfc": document(normalizer=named("NFC")),
    "prefix": document(pre_tokenizer=byte_level(add_prefix_space=True)),
    "punctuation": of_characters(pre_tokenizer=named("Punctuation", behavior="Isolated")),
    "options": document(
        added_tokens=[added("<a>", 300, lstrip=True), added("<b>", 301, normalized=True, special=False)],
        normalizer=named("Lowercase"),
        model__vocab={**keys(), "<a>": 300, "<b>": 301},
    ),
}


@pytest.fixture(params=DOCUMENTS)
def tok(request: pytest.FixtureRequest, tmp_path: Path) -> bbpe.Tokenizer:
    return bbpe.load(write_json(tmp_path / "tokenizer.json", DOCUMENTS[request.param]))


def test_what_is_no_text_is_refused(tok: bbpe.Tokenizer) -> None:
    for value in (None, 3, ["a"], object()):
        with pytest.raises(TypeError, match="a text is str or bytes-like"):
            tok.encode(value)  # type: ignore[arg-type]
        with pytest.raises(TypeError, match="a text is str or bytes-like"):
            tok.encode_batch([value])  # type: ignore[list-item]


def test_long_texts(tok: bbpe.Tokenizer) -> None:
    rng = random.Random(52)
    for kind in ("the thing in é 中\n", "thé\u2581 中中 \u0416"):
        text = "".join(rng.choices(kind, k=300_000))
        ids = tok.encode_to_numpy(text, threads=1)
        assert (tok.encode_to_numpy(text, threads=2) == ids).all()
        assert (tok.encode_to_numpy(text.encode(), threads=2) == ids).all()


def test_bytes_that_are_not_utf8(tmp_path: Path) -> None:
    for value in (DOCUMENTS["light"], DOCUMENTS["nfc"], DOCUMENTS["punctuation"]):
        tok = bbpe.load(write_json(tmp_path / "tokenizer.json", value))
        for soup in byte_soups(200, seed=53):
            ids = tok.encode(soup)
            assert tok.encode_to_numpy(soup).tolist() == ids
            if value is not DOCUMENTS["nfc"]:
                assert tok.decode_bytes(ids) == soup.replace(SPACE_MARK.encode(), b" ")


@pytest.mark.parametrize("seed", range(6))
def test_characters_by_their_definition(tmp_path: Path, seed: int) -> None:
    """Characters, then bytes of what is no token, and merges of what is: no byte of one merges with another."""
    rng = random.Random(seed)
    alphabet = "ab\u2581é中"
    several = {"".join(rng.choices(alphabet, k=2)) for _ in range(12)}
    pairs = [f"{text[0]} {text[1]}" for text in sorted(several)]
    pairs += [f"{a} {b}" for a in sorted(several) for b in rng.sample(alphabet, k=2)]
    rng.shuffle(pairs)
    pairs = list(dict.fromkeys(pairs))
    value = of_characters(pairs=pairs, normalizer=named("Replace", pattern={"String": " "}, content=SPACE_MARK))
    value["model"]["vocab"] = {text: i for i, text in enumerate(dict.fromkeys([*value["model"]["vocab"], *alphabet]))}
    value["added_tokens"] = []
    tok = bbpe.load(write_json(tmp_path / "tokenizer.json", value))
    vocab = value["model"]["vocab"]
    order = {tuple(part.encode() for part in pair.split(" ")): place for place, pair in enumerate(pairs)}
    for _ in range(300):
        text = "".join(rng.choices("ab éé中x\n😀", k=rng.randint(1, 12)))
        assert [tok.id_to_token(i) for i in tok.encode(text)] == slow(text.replace(" ", SPACE_MARK), vocab, order)


def slow(text: str, vocab: dict[str, int], order: dict[Any, int]) -> list[bytes]:
    symbols: list[str] = list(text)
    while True:
        ranked = [
            (order[a.encode(), b.encode()], i)
            for i, (a, b) in enumerate(zip(symbols, symbols[1:], strict=False))  # noqa: RUF007
            if (a.encode(), b.encode()) in order
        ]
        if not ranked:
            break
        _, i = min(ranked)
        symbols[i : i + 2] = ["".join(symbols[i : i + 2])]
    found: list[bytes] = []
    for symbol in symbols:
        data = symbol.replace(SPACE_MARK, " ").encode()
        found += [data] if symbol in vocab else [bytes((byte,)) for byte in data]
    assert b"".join(found) == text.replace(SPACE_MARK, " ").encode()
    return found
