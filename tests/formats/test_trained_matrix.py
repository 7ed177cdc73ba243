"""Pipelines that HF's `tokenizers` trained: every model with normalizers, pre-tokenizers and decoders."""

from __future__ import annotations

import itertools
import random
from pathlib import Path
from typing import Any

import pytest
from strings import adversarial_strings

import bbpe

tokenizers = pytest.importorskip("tokenizers")
decoders, models, normalizers = tokenizers.decoders, tokenizers.models, tokenizers.normalizers
pre, trainers = tokenizers.pre_tokenizers, tokenizers.trainers

CORPUS = ["See my eyes first", "see my 12 dogs, na\u00efve caf\u00e9!", "\u4e2d\u6587 \u0e44\u0e17\u0e22 and so"] * 20
BPE, WORDS, PIECES, LEVELS = "BPE", "WordPiece", "Unigram", "WordLevel"
NORMALIZERS: dict[str, Any] = {
    "none": None,
    "nfkc": normalizers.NFKC(),
    "bert": normalizers.BertNormalizer(),
    "lower": normalizers.Sequence([normalizers.NFD(), normalizers.StripAccents(), normalizers.Lowercase()]),
    "strip": normalizers.Sequence([normalizers.Strip(), normalizers.Replace("see", "look")]),
}
SPLITTERS: dict[str, Any] = {
    "bytes": pre.ByteLevel(add_prefix_space=False),
    "prefixed bytes": pre.Sequence([pre.Digits(individual_digits=True), pre.ByteLevel()]),
    "metaspace": pre.Metaspace(),
    "metaspace words": pre.Sequence([pre.WhitespaceSplit(), pre.Metaspace(prepend_scheme="first", split=False)]),
    "whitespace": pre.Whitespace(),
    "bert": pre.BertPreTokenizer(),
    "punctuation": pre.Sequence([pre.WhitespaceSplit(), pre.Punctuation()]),
}
DECODERS: dict[str, Any] = {
    "bytes": decoders.ByteLevel(),
    "prefixed bytes": decoders.ByteLevel(),
    "metaspace": decoders.Metaspace(),
    "metaspace words": decoders.Metaspace(),
}
ROWS = [
    row
    for row in itertools.product((BPE, WORDS, PIECES, LEVELS), NORMALIZERS, SPLITTERS)
    if not (row[0] != BPE and "bytes" in row[2])
]


def trained(kind: str, normalizer: str, splitter: str) -> Any:
    special = ["<unk>", "<s>"]
    unknown = {"unk_token": "<unk>"}
    made, trainer = {
        BPE: (lambda: models.BPE(**unknown), trainers.BpeTrainer),
        WORDS: (lambda: models.WordPiece(**unknown), trainers.WordPieceTrainer),
        PIECES: (models.Unigram, trainers.UnigramTrainer),
        LEVELS: (lambda: models.WordLevel(**unknown), trainers.WordLevelTrainer),
    }[kind]
    hf = tokenizers.Tokenizer(made())
    if NORMALIZERS[normalizer] is not None:
        hf.normalizer = NORMALIZERS[normalizer]
    hf.pre_tokenizer = SPLITTERS[splitter]
    hf.decoder = DECODERS.get(splitter, decoders.WordPiece() if kind == WORDS else decoders.Fuse())
    options = unknown if kind == PIECES else {}
    hf.train_from_iterator(
        CORPUS, trainer(vocab_size=120, special_tokens=special, show_progress=False, **options)
    )
    return hf


def texts(count: int) -> list[str]:
    rng = random.Random(7)
    pool = [*"SseEmy dogs12,! \n\u00ef\u00e9\u4e2d\u0e17\u2581", "e\u0301", "  ", "see", "<s>"]
    soups = ["".join(rng.choices(pool, k=rng.randint(1, 20))) for _ in range(count // 2)]
    return ["", " ", "See my eyes", *soups, *adversarial_strings(count // 2, seed=8)]


def check(row: tuple[str, str, str], path: Path, sample: list[str]) -> None:
    hf = trained(*row)
    hf.save(str(path))
    tok = bbpe.load(path)
    for text in sample:
        expected = hf.encode(text).ids
        assert tok.encode(text, allowed_special="all") == expected, text
        if "\u2581" not in text and "</w>" not in text:  # which Metaspace's decoder deletes
            assert tok.decode(expected) == hf.decode(expected, skip_special_tokens=False), text


@pytest.mark.parametrize("row", ROWS[::17], ids=" ".join)
def test_trained_pipelines(row: tuple[str, str, str], tmp_path: Path) -> None:
    check(row, tmp_path / "tokenizer.json", texts(60))


@pytest.mark.parametrize("kind", [WORDS, PIECES, LEVELS])
def test_words_in_the_byte_alphabet(kind: str, tmp_path: Path) -> None:
    theirs = trained(kind, "none", "bytes")
    theirs.save(str(tmp_path / "tokenizer.json"))
    tok = bbpe.load(tmp_path)
    for text in texts(60):
        assert tok.encode(text, allowed_special="all") == theirs.encode(text, add_special_tokens=False).ids, text


@pytest.mark.long
@pytest.mark.parametrize("row", ROWS, ids=" ".join)
def test_all_trained_pipelines(row: tuple[str, str, str], tmp_path: Path) -> None:
    check(row, tmp_path / "tokenizer.json", texts(474))
