"""GGUF files with a list of merges of characters (Gemma 4), and the patterns of newer pre-tokenizers."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest
from gguf_files import PREFIX, gguf

import bbpe
from bbpe.errors import VocabularyError
from bbpe.formats.gguf.bpe import _PRE
from bbpe.splitting.patterns import get_pattern

MARK = "\u2581"
BYTES = [f"<0x{byte:02X}>" for byte in range(256)]
PIECES = [*f"{MARK}abehlo\u4e2d\n", MARK * 2, "he", f"{MARK}he", "ll", f"{MARK}hell", "\n\n", f"a{MARK}b", f"a{MARK}"]
MERGES = [(MARK, MARK), ("h", "e"), (MARK, "he"), ("l", "l"), (f"{MARK}he", "ll"), ("\n", "\n"), ("a", MARK)]
MERGES.append((f"a{MARK}", "b"))
TOKENS = ["<pad>", "<unk>", "<bos>", *BYTES, *PIECES, "<tool>"]
KINDS = [3, 2, 3, *[6] * 256, *[1] * len(PIECES), 4]


def values(**changes: Any) -> dict[str, Any]:
    found = {
        "model": "gemma4",
        "tokens": TOKENS,
        "token_type": KINDS,
        "merges": [" ".join(pair) for pair in MERGES],
        "bos_token_id": 2,
        "add_bos_token": True,
        **changes,
    }
    return {PREFIX + name: of for name, of in found.items() if of is not ...}


def loaded(path: Path, **changes: Any) -> bbpe.Tokenizer:
    path.write_bytes(gguf(values(**changes)))
    return bbpe.load(path)


@pytest.mark.parametrize(
    "names",
    [{}, {"model": "gpt2", "pre": "gemma4"}, {"model": "gpt2", "pre": "sarvam-moe", "scores": [0.0] * len(TOKENS)}],
    ids=["model", "gemma4", "sarvam-moe"],
)
def test_gemma(tmp_path: Path, names: dict[str, Any]) -> None:
    """Judged by HF's `tokenizers` with the rules of Gemma's tokenizer.json, and the splits of llama.cpp."""
    tokenizers = pytest.importorskip("tokenizers")
    tok = loaded(tmp_path / "a.gguf", **names)
    vocab = {token: token_id for token_id, token in enumerate(TOKENS)}
    judge = tokenizers.Tokenizer(
        tokenizers.models.BPE(vocab, MERGES, unk_token="<unk>", fuse_unk=True, byte_fallback=True)
    )
    judge.normalizer = tokenizers.normalizers.Replace(" ", MARK)
    judge.pre_tokenizer = tokenizers.pre_tokenizers.Split(tokenizers.Regex(r"[^\n]+|\n+"), "isolated")
    judge.add_special_tokens(["<pad>", "<unk>", "<bos>"])
    judge.add_tokens([tokenizers.AddedToken("<tool>", normalized=False)])
    rng = random.Random(4)
    pool = [*"abehlo \n\u4e2d\u6771\u00e9", "hell", " hell", "<tool>", "<bos>", MARK, "\U0001f600", "  "]
    for text in ["", "hello", *("".join(rng.choices(pool, k=rng.randint(1, 25))) for _ in range(200))]:
        expected = judge.encode(text).ids
        assert tok.encode(text, allowed_special="all") == expected, text
        assert tok.decode(expected) == text.replace(MARK, " ")
    assert tok.encode("he", add_special_tokens=True) == [2, vocab["he"]]
    if names.get("pre") != "sarvam-moe":
        # llama.cpp reads neither for the kin of Gemma
        assert loaded(tmp_path / "b.gguf", **names, scores=[0.5] * len(TOKENS), add_bos_token=False) == tok
    tok.save(tmp_path / "tokenizer.json")
    assert bbpe.load(tmp_path / "tokenizer.json") == tok


def test_line_feeds_without_a_merge(tmp_path: Path) -> None:
    """By llama.cpp v0.5.0: a run of line feeds that is a token is found whole for Gemma, but not for Sarvam."""
    changes = {"tokens": [*TOKENS, "\n" * 4], "token_type": [*KINDS, 1]}
    tok = loaded(tmp_path / "a.gguf", **changes)
    two, four = TOKENS.index("\n\n"), len(TOKENS)
    assert tok.encode("he\n\n\n\nhe\n\n\n") == [
        TOKENS.index("he"), four, TOKENS.index("he"), two, TOKENS.index("\n")
    ]  # fmt: skip
    sarvam = loaded(tmp_path / "b.gguf", model="gpt2", pre="sarvam-moe", **changes)
    assert sarvam.encode("\n\n\n\n") == [two, two]
    changes = {"tokens": [*changes["tokens"], "oo"], "token_type": [*KINDS, 1, 1]}
    with pytest.raises(VocabularyError, match=r"no merge makes b'\\n\\n\\n\\n', .* nor b'oo'"):
        loaded(tmp_path / "c.gguf", **changes)


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"add_space_prefix": True}, "add_space_prefix: a blank before texts is not supported"),
        ({"token_type": KINDS[:-1]}, "token_type: found .* types of tokens"),
        ({"token_type": [*KINDS[:-1], 7]}, "type 7; expected 1 to 6"),
        ({"tokens": [*TOKENS[:-1], "he"]}, "'he' already has id"),
        ({"tokens": [*TOKENS[:-1], "a b"], "token_type": [*KINDS[:-1], 1]}, "b'a b' has two ids"),
        ({"tokens": [*TOKENS[:-1], ""], "token_type": [*KINDS[:-1], 1]}, "a token is the empty string"),
        ({"tokens": ["<pad>", "<unk>", "<bos>", "<x>", *TOKENS[4:]], "token_type": [3, 2, 3, 1, *KINDS[4:]]},
         "'<0x00>' has no id, nor has its character; expected tokens for all 256 bytes"),
        ({"merges": ["h x"]}, r"merges\[0\].* has no id"),
        ({"surprise": 1}, "surprise: the value is not supported"),
        ({"model": "gemma"}, r"did you mean 'gemma4'\?"),
        ({"model": "gpt2", "pre": "jais2"}, r"did you mean 'jais-2'\?"),
    ],
)
def test_broken_files(tmp_path: Path, changes: dict[str, Any], problem: str) -> None:
    with pytest.raises(VocabularyError, match=problem):
        loaded(tmp_path / "a.gguf", **changes)


SPLITS = [
    ("superbpe", "a 1234567 b", ["a ", "1", "234", "567", " b"]),
    ("afmoe", "x12345 \u4e2d\u6587", ["x", "12", "345", " ", "\u4e2d\u6587"]),
    ("tiny_aya", "I've 1234", ["I've", " ", "1", "234"]),
    ("youtu", "\u4e2d\ud55c 12", ["\u4e2d", "\ud55c", " ", "1", "2"]),
    ("spark2_5", "12!\n\na", ["1", "2", "!", "\n", "\n", "a"]),
    ("jais-2", "a" + " " * 12 + "b", ["a", " " * 8, "  ", " ", " b"]),
    ("laguna", "a \n b", ["a", " ", "\n", " b"]),
    ("ufakzeka", "it's", ["it", "'s"]),
    ("exaone-moe", "a b 1", ["a b", " ", "1"]),
    ("chameleon", "IMGIMGABZ a  b!", ["IMGIMGABZ", " a", "  ", "b", "!"]),
]


@pytest.mark.parametrize(("pre", "text", "pretokens"), SPLITS)
def test_patterns(pre: str, text: str, pretokens: list[str]) -> None:
    assert list(get_pattern(_PRE[pre].pattern).split(text)) == pretokens
