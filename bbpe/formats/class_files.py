"""Folders with `vocab.json` and `merges.txt` whose class gives them more than a pattern: CLIP and Qwen2.

Source: the classes `CLIPTokenizer` and `Qwen2Tokenizer` of HF's `transformers`, which make a `tokenizer.json` of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ..spec.spec import TokenizerSpec
from ..splitting.patterns import PATTERNS, Pattern
from .huggingface.dialects import to_oniguruma
from .huggingface.tokenizer_json import read_document
from .keys import CONFIG, class_of
from .reading import read_json, read_text

_END_OF_TEXT = "<|endoftext|>"


def load_class(
    vocab_path: Path,
    merges_path: Path,
    *,
    pattern: str | Sequence[str] | Pattern | None,
    special_tokens: Mapping[str, int] | None,
    name: str | None,
) -> TokenizerSpec | None:
    """Return the spec of two files as the class in the folder makes it; `None` for other classes."""
    config = vocab_path.with_name(CONFIG)
    kind = class_of(config).removesuffix("Fast")
    if kind not in _CLASSES:
        return None
    values, keys = read_json(config), read_json(vocab_path)
    merges = [line for line in read_text(merges_path).splitlines() if line]
    document = _CLASSES[kind](values, keys)
    document["model"] |= {"vocab": keys, "merges": merges}
    return read_document(document, path=vocab_path, pattern=pattern, special_tokens=special_tokens, name=name)


def _clip(config: Mapping[str, Any], keys: Mapping[str, int]) -> dict[str, Any]:
    tokens = _named(config, {"bos_token": "<|startoftext|>", "eos_token": _END_OF_TEXT, "unk_token": _END_OF_TEXT})
    space = {"type": "Replace", "pattern": {"Regex": r"\s+"}, "content": " "}
    first, last = tokens["bos_token"], tokens["eos_token"]
    around = {"type": "RobertaProcessing", "trim_offsets": False, "add_prefix_space": False}
    ends = {"cls": [first, keys.get(first, 0)], "sep": [last, keys.get(last, 0)]}
    return _document(
        tokens.values(), keys, normalizers=[{"type": "NFC"}, space, {"type": "Lowercase"}], pattern="clip",
        is_removed=True, level={"add_prefix_space": False, "use_regex": True},
        post_processor={**around, **ends} if first in keys and last in keys else None,
        model={"end_of_word_suffix": "</w>", "unk_token": tokens["unk_token"]},
    )  # fmt: skip


def _qwen2(config: Mapping[str, Any], keys: Mapping[str, int]) -> dict[str, Any]:
    tokens = _named(config, {"bos_token": None, "eos_token": _END_OF_TEXT, "pad_token": _END_OF_TEXT})
    return _document(
        tokens.values(), keys, normalizers=[{"type": "NFC"}], pattern="qwen2", is_removed=False,
        level={"add_prefix_space": config.get("add_prefix_space") is True, "use_regex": False},
        post_processor=None, model={},
    )  # fmt: skip


_CLASSES = {"CLIPTokenizer": _clip, "Qwen2Tokenizer": _qwen2}


def _named(config: Mapping[str, Any], usual: Mapping[str, str | None]) -> dict[str, Any]:
    """Return the tokens that a config names by their uses, or the usual ones of a class."""
    found = {}
    for use, text in usual.items():
        value = config.get(use, text)
        found[use] = value.get("content") if isinstance(value, dict) else value
    return found


def _document(
    texts: Any, keys: Mapping[str, int], *, normalizers: list[Any], pattern: str, is_removed: bool,
    level: dict[str, Any], post_processor: Any, model: dict[str, Any],
) -> dict[str, Any]:  # fmt: skip
    """Return a `tokenizer.json` without its vocabulary and merges; `texts` with a key are special tokens."""
    flags = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}
    split = {
        "type": "Split",
        "pattern": {"Regex": to_oniguruma(PATTERNS[pattern].steps)[0]},
        "behavior": "Removed" if is_removed else "Isolated",
        "invert": is_removed,
    }
    byte_level = {"type": "ByteLevel", "trim_offsets": True}
    return {
        "added_tokens": [{"id": keys[text], "content": text, **flags} for text in dict.fromkeys(texts) if text in keys],
        "normalizer": {"type": "Sequence", "normalizers": normalizers},
        "pre_tokenizer": {"type": "Sequence", "pretokenizers": [split, {**byte_level, **level}]},
        "post_processor": post_processor,
        "decoder": {**byte_level, "add_prefix_space": True, "use_regex": True},
        "model": {"type": "BPE", **model},
    }
