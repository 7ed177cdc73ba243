"""Folders of vocab.json and merges.txt whose class is CLIP's or Qwen2's: the ids that `transformers` makes of them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from random_files import HARD

import bbpe
from bbpe.text import BYTE_ORDER, bytes_to_alphabet

tokenizers = pytest.importorskip("tokenizers")
ALPHABET = [bytes_to_alphabet(bytes((byte,))) for byte in BYTE_ORDER]
END = "<|endoftext|>"
CLIP = list(dict.fromkeys([*ALPHABET, *(char + "</w>" for char in ALPHABET), "th", "the</w>", "in", "ing</w>"]))
CLIP_MERGES = ["t h", "th e</w>", "i n", "in g</w>"]
QWEN = [*ALPHABET, "th", "the", "Ġthe", "in", "ing", "Ã©", END, "<|im_start|>"]
QWEN_MERGES = ["t h", "th e", "Ġ the", "i n", "in g", "Ã ©"]
SPLIT = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
CLIP_SPLIT = (
    r"<\|startoftext\|>|<\|endoftext\|>|'s|'t|'re|'ve|'m|'ll|'d|[\p{L}]+|[\p{N}]|[^\s\p{L}\p{N}]+"
)
# what ignoring the case takes for a letter, and what NFC and lower case make of it
MARKS = "\u017f\u0345\u0300\u0307\u036f\u0130\u212a\u1fb3\ufb06\u00df"
CASES = [f"a{mark}b '{mark} {mark}x {mark}{mark}" for mark in MARKS]
CASES += ["a'ſ'ſx'S'RE'ſt I'LL'D", "<|ſtartoftext|><|ENDOFTEXT|> <|startoftext|", "\u0345\u0345a !\u0345! α\u0345"]
TEXTS = [
    *HARD, *CASES, f"The THE é e\u0301 12 don't {END} the<|im_start|>", "<|startoftext|>the", "it's I'LL  in\n\nthing",
]  # fmt: skip


def folder(path: Path, keys: list[str], merges: list[str], **config: Any) -> dict[str, int]:
    vocab = {key: number for number, key in enumerate(keys)}
    (path / "vocab.json").write_text(json.dumps(vocab), "utf-8")
    (path / "merges.txt").write_text("\n".join(["#version: 0.2", *merges, ""]), "utf-8")
    (path / "tokenizer_config.json").write_text(json.dumps(config), "utf-8")
    return vocab


def same(path: Path, judge: Any, *special: str) -> None:
    judge.add_special_tokens([tokenizers.AddedToken(text, special=True, normalized=False) for text in special])
    for name in (path, path / "vocab.json"):
        tok = bbpe.load(name)
        for text in TEXTS:
            expected = judge.encode(text).ids
            assert tok.encode(text, allowed_special="all", add_special_tokens=True) == expected, text
            assert tok.as_tokenizers().encode(text, "the").ids == judge.encode(text, "the").ids
    tok.save(path / "again.json")
    assert bbpe.load(path / "again.json").encode(TEXTS[-1]) == tok.encode(TEXTS[-1])


def test_clip(tmp_path: Path) -> None:
    keys = [*CLIP, "<|startoftext|>", END]
    vocab = folder(tmp_path, keys, CLIP_MERGES, tokenizer_class="CLIPTokenizer", pad_token="!")
    merges = [tuple(line.split()) for line in CLIP_MERGES]
    judge = tokenizers.Tokenizer(
        tokenizers.models.BPE(vocab, merges, end_of_word_suffix="</w>", unk_token=END, continuing_subword_prefix="")
    )
    normalizers, pre_tokenizers = tokenizers.normalizers, tokenizers.pre_tokenizers
    space = normalizers.Replace(tokenizers.Regex(r"\s+"), " ")
    judge.normalizer = normalizers.Sequence([normalizers.NFC(), space, normalizers.Lowercase()])
    judge.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Split(tokenizers.Regex(CLIP_SPLIT), "removed", True), pre_tokenizers.ByteLevel(False)]
    )
    ends = (END, vocab[END]), ("<|startoftext|>", vocab["<|startoftext|>"])
    judge.post_processor = tokenizers.processors.RobertaProcessing(*ends, False, False)
    same(tmp_path, judge, "<|startoftext|>", END, "!")


@pytest.mark.parametrize("prefixed", [False, True])
@pytest.mark.parametrize("suffix", ["", "Fast"])
def test_qwen2(tmp_path: Path, prefixed: bool, suffix: str) -> None:
    config = {"add_prefix_space": True, "eos_token": "<|im_start|>"} if prefixed else {}
    vocab = folder(tmp_path, QWEN, QWEN_MERGES, tokenizer_class=f"Qwen2Tokenizer{suffix}", **config)
    judge = tokenizers.Tokenizer(tokenizers.models.BPE(vocab, [tuple(line.split()) for line in QWEN_MERGES]))
    judge.normalizer = tokenizers.normalizers.NFC()
    split = tokenizers.pre_tokenizers.Split(tokenizers.Regex(SPLIT), "isolated")
    level = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=prefixed, use_regex=False)
    judge.pre_tokenizer = tokenizers.pre_tokenizers.Sequence([split, level])
    same(tmp_path, judge, END, *(["<|im_start|>"] if prefixed else []))


def test_another_pattern_and_a_broken_merge(tmp_path: Path) -> None:
    folder(tmp_path, QWEN, [*QWEN_MERGES, "q q"], tokenizer_class="Qwen2Tokenizer")
    with pytest.raises(bbpe.VocabularyError, match=r"merges\.txt: line 8: .*'qq' has no id"):
        bbpe.load(tmp_path)
    folder(tmp_path, QWEN, QWEN_MERGES, tokenizer_class="Qwen2Tokenizer")
    with pytest.warns(bbpe.VocabularyWarning, match="pattern= replaces how the class Qwen2Tokenizer"):
        assert bbpe.load(tmp_path, pattern="gpt2").spec.pattern.name == "gpt2"


def test_tokens_of_a_list_lose_their_options(tmp_path: Path) -> None:
    """As in `transformers` 5.24, also where a table gives them options; others keep theirs."""
    row = {"lstrip": True, "rstrip": False, "single_word": False, "normalized": False, "special": True}
    table = {"300": {"content": "<q>", **row}, "301": {"content": "<r>", **row}}
    config = {"added_tokens_decoder": table, "additional_special_tokens": ["<q>"]}
    vocab = folder(tmp_path, QWEN, QWEN_MERGES, tokenizer_class="Qwen2Tokenizer", **config)
    tok = bbpe.load(tmp_path)
    ids = tok.special_tokens
    blank = vocab["\u0120"]
    assert tok.encode(" <q> <r>", allowed_special="all") == [blank, ids["<q>"], ids["<r>"]]
