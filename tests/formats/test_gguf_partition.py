"""llama.cpp cuts the longest token out of the whole text first, then the next one, and every call finds the same."""

from __future__ import annotations

import pickle
import random
from dataclasses import replace
from pathlib import Path

import pytest
from gguf_files import gguf, vocabulary
from seeds import then_full
from vocabularies import keys

import bbpe
from bbpe.errors import VocabularyError


def loaded(path: Path, tokens: list[str], kinds: list[int]) -> bbpe.Tokenizer:
    """A file with these tokens after the ordinary ones, which have the ids from 267 on."""
    types = [1] * len(keys()) + kinds
    path.write_bytes(gguf(vocabulary(tokens=[*keys(), *tokens], token_type=types, bos_token_id=0, eos_token_id=0)))
    return bbpe.load(path)


def partition(text: str, tokens: list[tuple[str, int]]) -> list[str | int]:
    """The definition: each token in turn, from left to right in each part that is left."""
    parts: list[str | int] = [text]
    for token, number in sorted(tokens, key=lambda row: (-len(row[0]), row[1])):
        left: list[str | int] = []
        for part in parts:
            if isinstance(part, int):
                left.append(part)
                continue
            for piece in part.split(token):
                left += [piece, number]
            left.pop()
        parts = [part for part in left if part != ""]
    return parts


@pytest.mark.parametrize("seed", then_full(range(20), range(20, 60)))
def test_every_call_finds_the_longest_first(tmp_path: Path, seed: int) -> None:
    rng = random.Random(seed)
    letters = ["ab", "<>a", " a", "abc"][seed % 4]
    tokens = sorted({"".join(rng.choices(letters, k=rng.randint(2, 5))) for _ in range(8)} - {*keys()})
    rng.shuffle(tokens)
    kinds = [rng.choice((3, 4, 4)) for _ in tokens]
    tok = loaded(tmp_path / "x.gguf", tokens, kinds)
    plain = bbpe.load(tmp_path / "x.gguf", special_tokens={})
    ids = {token: 267 + number for number, token in enumerate(tokens)}
    for allowed in ((), "all"):
        found = [row for row, kind in zip(ids.items(), kinds, strict=True) if kind == 4 or allowed]
        for size in (*range(12), 40):
            text = "".join(rng.choices(letters + "x", k=size))
            expected: list[int] = []
            for part in partition(text, found):
                expected += [part] if isinstance(part, int) else bbpe.Tokenizer(plain.spec).encode(part)
            assert tok.encode(text, allowed_special=allowed) == expected, (text, found)
            assert tok.encode_batch([text], allowed_special=allowed) == [expected]
            assert tok.count_tokens(text, allowed_special=allowed) == len(expected)
            assert tok.encode_with_offsets(text, allowed_special=allowed)[0] == expected
            chunks = [text[at : at + 3] for at in range(0, len(text), 3)]
            assert list(tok.encode_iterable(chunks, allowed_special=allowed)) == expected
            if allowed:
                assert tok.as_tokenizers().encode(text, add_special_tokens=False).ids == expected
    assert pickle.loads(pickle.dumps(tok)) == tok


def test_a_long_text(tmp_path: Path) -> None:
    tok = loaded(tmp_path / "x.gguf", ["<ab>", "b><cde>", "><"], [4, 4, 4])
    assert tok.encode("<ab><cde>") == [*tok.encode("<"), *tok.encode("a"), 268]
    part = "<ab>b><cde>x<ab><cde> the thing\n"
    text, ids = part * 20_000, tok.encode(part)
    assert tok.encode(text) == ids * 20_000
    assert tok.encode_to_numpy(text, threads=2).tolist() == ids * 20_000


def test_runs_of_blanks_have_one_turn(tmp_path: Path) -> None:
    """They overlap, but the longest at each place is the longest of all."""
    runs = [" " * size for size in range(2, 32)]
    tok = loaded(tmp_path / "x.gguf", runs, [4] * len(runs))
    assert not tok.spec.token_options
    assert tok.encode(" " * 33) == [267 + 29, 267]


def test_only_gguf_holds_them(tmp_path: Path) -> None:
    pytest.importorskip("gguf")
    pytest.importorskip("transformers")
    tok = loaded(tmp_path / "x.gguf", ["<ab>", "b><cde>"], [4, 3])
    tok.save(tmp_path / "y.gguf")
    assert bbpe.load(tmp_path / "y.gguf") == tok
    assert bbpe.load(tmp_path / "y.gguf").fingerprint == tok.fingerprint
    with pytest.raises(VocabularyError, match=r"cannot hold '<ab>', which is found after longer .* write a GGUF file"):
        tok.save(tmp_path / "tokenizer.json")
    with pytest.raises(VocabularyError, match="'<ab>'"):
        tok.as_huggingface()
    leftmost = bbpe.Tokenizer(replace(tok.spec, token_options={}))
    with pytest.raises(VocabularyError, match="would lose or change options of tokens"):
        leftmost.save(tmp_path / "z.gguf")


def test_too_many_that_overlap(tmp_path: Path) -> None:
    tokens = [f"<{number:04}<" for number in range(1100)]
    with pytest.raises(VocabularyError, match=r"x\.gguf: tokenizer\.ggml\.tokens: more than 1048576 pairs"):
        loaded(tmp_path / "x.gguf", tokens, [4] * len(tokens))


@pytest.mark.parametrize(
    ("about", "text", "decoded"),
    [
        # by llama.cpp v0.5.0: the text of its ids where special tokens are found
        ({}, "a <mask> \n<|u|> b </s> c", "a <mask> \n<|u|> b </s> c"),
        ({"tokenizer.ggml.pre": "jina-v2-code"}, "a \t\n<mask> b", "a<mask> b"),
        ({"general.architecture": "nomic-bert-moe"}, "a <mask> b", "a<mask> b"),
        ({"general.name": "Phi-3 mini"}, "a <mask> \n<|u|> b </s> c <unk> d", "a <mask><|u|>b </s>c <unk> d"),
        ({"general.name": "ModernBERT"}, "x [MASK] y", "x [MASK] y"),
        ({"general.name": "a Modern-BERT"}, "x [MASK] y", "x[MASK] y"),
    ],
)
def test_tokens_take_white_space_by_the_name_of_the_model(
    tmp_path: Path, about: dict[str, str], text: str, decoded: str
) -> None:
    tokens, kinds = ["<mask>", "<|u|>", "</s>", "<unk>", "[MASK]"], [3, 4, 3, 2, 3]
    values = vocabulary(tokens=[*keys(), *tokens], token_type=[1] * len(keys()) + kinds, bos_token_id=0, eos_token_id=0)
    (tmp_path / "x.gguf").write_bytes(gguf(values | about))
    tok = bbpe.load(tmp_path / "x.gguf")
    assert tok.decode(tok.encode(text, allowed_special="all")) == decoded
