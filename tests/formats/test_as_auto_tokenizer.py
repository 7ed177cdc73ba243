"""Folders with a tokenizer.json and any class of `transformers`: ids as AutoTokenizer, or a refusal."""

from __future__ import annotations

import json
import os
import warnings
from pathlib import Path
from typing import Any

import pytest
from seeds import then_full

import bbpe
from bbpe.errors import VocabularyError, VocabularyWarning
from bbpe.formats.transformers.classes import CLASSES
from bbpe.formats.transformers.names import IN_PYTHON, OTHERS, OWN

os.environ.setdefault("HF_HUB_OFFLINE", "1")
tokenizers = pytest.importorskip("tokenizers")
transformers = pytest.importorskip("transformers")

TEXTS = [
    "see my dogs", "See 123 Dogs'  x", "  na\u00efve \u00c9COLE 12,345 \n\tthe", "<s>the</s> [CLS] x",
    "\u2581a \u4eca\u5929 don't ``q'' __", "a<|endoftext|>b [MASK] <mask>", "", "<extra_id_3> see", "en_XX my",
    "a\u0301 \uff26\uff55\uff4c\uff4c  x", " x ",
]  # fmt: skip
SPECIAL = "<s> <pad> </s> <unk> <mask> [PAD] [UNK] [CLS] [SEP] [MASK] <|endoftext|> en_XX".split()
OTHER_CLASSES = [name for name in f"{IN_PYTHON} {OTHERS}".split() if name[0].isupper()]
LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.,'\"`_\u00e9\u00ef\u00c9"
PIECES = [*dict.fromkeys(["\u2581", "\u2581see", "see", "se", "\u2581my", "my", "\u2581dogs", "\u2581the", *LETTERS])]
CONFIGS: list[dict[str, Any]] = [
    {},
    {"add_prefix_space": True, "do_lower_case": False, "legacy": True, "mask_token": "<mask>"},
    {"add_bos_token": True, "additional_special_tokens": ["<q>", "en_XX", "eng_Latn"], "keep_accents": True},
    {"extra_special_tokens": {"image_token": "<image>"}, "strip_accents": False, "bos_token": "</s>"},
    {"added_tokens_decoder": {"0": {"content": "<s>", "lstrip": True, "special": True}}, "pad_token": "<zz>"},
]
#: Classes that no case of `class_folders.py` has.
RARE = "Barthez Cohere FNet Herbert OpenAIGPT Qwen3_5 Siglip2 VideoPrism XGLM".split()
NAMES = [pytest.param(name, marks=() if name in RARE else pytest.mark.full) for name in CLASSES]


def numbered(*groups: Any) -> dict[str, int]:
    return {key: number for number, key in enumerate(dict.fromkeys(key for group in groups for key in group))}


def made(kind: str) -> Any:
    """A tokenizer of a kind of models, with rules that no class has."""
    models, pre, decoders = tokenizers.models, tokenizers.pre_tokenizers, tokenizers.decoders
    if kind == "bytes":
        merges = [("s", "e"), ("se", "e"), ("\u0120", "d"), ("1", "2"), ("12", "3"), ("\u0120", "1"), ("\u01201", "2")]
        keys = numbered(SPECIAL, sorted(pre.ByteLevel.alphabet()), map("".join, merges))
        tok = tokenizers.Tokenizer(models.BPE(keys, merges))
        tok.pre_tokenizer, tok.decoder = pre.ByteLevel(add_prefix_space=False), decoders.ByteLevel()
    elif kind == "pieces":
        keys = numbered(SPECIAL, PIECES, ["\u2581s", "\u2581m"])
        cuts = ((key[:cut], key[cut:]) for key in keys if key not in SPECIAL for cut in range(1, len(key)))
        merges = [pair for pair in cuts if pair[0] in keys and pair[1] in keys]
        tok = tokenizers.Tokenizer(models.BPE(keys, merges, unk_token="<unk>", fuse_unk=True))
        tok.normalizer, tok.decoder = tokenizers.normalizers.Replace(" ", "\u2581"), decoders.Metaspace()
    elif kind == "words":
        keys = numbered(SPECIAL, ["see", "my", "dog", "##s", "the", "See"], LETTERS, (f"##{char}" for char in LETTERS))
        tok = tokenizers.Tokenizer(models.WordPiece(keys, unk_token="[UNK]"))
        tok.pre_tokenizer, tok.decoder = pre.Whitespace(), decoders.WordPiece(cleanup=False)
    else:
        rows = [(key, 0.0) for key in SPECIAL] + [(key, -1 - number / 8) for number, key in enumerate(PIECES)]
        tok = tokenizers.Tokenizer(models.Unigram(rows, unk_id=3, byte_fallback=False))
        tok.pre_tokenizer, tok.decoder = pre.Metaspace(), decoders.Metaspace()
    tok.add_special_tokens(["<s>", "</s>"])
    return tok


def kind_of(name: str) -> str:
    file, parts = CLASSES[name].file, CLASSES[name].parts.__name__
    if file == "vocab.txt":
        return "words"
    if file == "vocab.json" or name == "Qwen3_5":
        return "bytes"
    return "pieces" if parts in ("llama", "code_llama", "gemma", "siglip2", "nllb", "reformer") else "unigram"


@pytest.mark.parametrize("share", then_full([0], [1]))
@pytest.mark.parametrize("name", NAMES)
def test_ids(tmp_path: Path, name: str, share: int) -> None:
    """Every other configuration with a template and the others without one, then the other way round."""
    first = (len(name) + share) % 2
    compare(tmp_path, name, True, CONFIGS[first::2])
    compare(tmp_path, name, False, CONFIGS[1 - first :: 2])


@pytest.mark.parametrize("name", [name for name in CLASSES if name not in RARE])
def test_ids_without_a_configuration(tmp_path: Path, name: str) -> None:
    compare(tmp_path, name, True, CONFIGS[:1])


def compare(tmp_path: Path, name: str, has_template: bool, configs: list[dict[str, Any]]) -> None:
    """Compare the ids of a file with rules of its own beside configurations of a class."""
    tok = made(kind_of(name))
    if has_template:
        processor = tokenizers.processors.TemplateProcessing
        ends = [("<s>", 0), ("<pad>", 1)]
        tok.post_processor = processor(single="<s> $A <pad>", pair="<s> $A <pad> $B", special_tokens=ends)
    tok.save(str(tmp_path / "tokenizer.json"))
    for config in configs:
        if name in ("MBart", "Nllb"):  # without a list they have no language
            config = {"additional_special_tokens": ["en_XX", "eng_Latn"], **config}
        if name == "CodeLlama":
            config = {**config, "fill_token": None}  # which the class splits texts at
        values = {"tokenizer_class": f"{name}Tokenizer", **config}
        (tmp_path / "tokenizer_config.json").write_text(json.dumps(values), "utf-8")
        judge = transformers.AutoTokenizer.from_pretrained(str(tmp_path))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", VocabularyWarning)
            ours = bbpe.load(tmp_path, cache=False)
        for text in TEXTS:
            for special in (True, False):
                found = ours.encode(text, allowed_special="all", add_special_tokens=special)
                assert found == judge(text, add_special_tokens=special)["input_ids"], (config, text, special)


@pytest.mark.full
@pytest.mark.parametrize("name", [name for name in OTHER_CLASSES if name not in OWN])
def test_other_classes(tmp_path: Path, name: str) -> None:
    """A class that bbpe does not support has the ids of the file, or is refused."""
    tok = made("bytes")
    tok.save(str(tmp_path / "tokenizer.json"))
    (tmp_path / "tokenizer_config.json").write_text(json.dumps({"tokenizer_class": f"{name}Tokenizer"}), "utf-8")
    if name != "Parakeet":
        with pytest.raises(VocabularyError, match=f"the class '{name}Tokenizer'"):
            bbpe.load(tmp_path)
        return
    ours = bbpe.load(tmp_path)
    judge = transformers.AutoTokenizer.from_pretrained(str(tmp_path))
    for text in TEXTS:
        assert ours.encode(text, allowed_special="all", add_special_tokens=True) == judge(text)["input_ids"]


@pytest.mark.full
def test_every_class_of_the_library_is_known() -> None:
    from transformers.models.auto import tokenization_auto as auto

    from bbpe.formats.transformers.names import AS_IT_IS, SUPPORTED

    listed = f"{SUPPORTED} {IN_PYTHON} {OTHERS}".split()
    for kind, name in auto.TOKENIZER_MAPPING_NAMES.items():
        if name is None:  # a package that the class needs is missing
            continue
        if name in ("TokenizersBackend", "MistralCommonBackend"):
            assert kind in AS_IT_IS.split(), kind
            continue
        assert kind in listed, kind
        assert str(name).removesuffix("Fast").removesuffix("Tokenizer") in listed, name
