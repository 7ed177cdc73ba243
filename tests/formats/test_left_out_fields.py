"""Fields that a tokenizer.json leaves out, or has as null, mean what `tokenizers` takes them for."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest
from rule_files import named
from tokenizers import Tokenizer

import bbpe
from bbpe.errors import VocabularyError
from bbpe.records import replace
from bbpe.spec.spec import TokenizerSpec

WORDS = {"[UNK]": 0, "a": 1, "##b": 2, "b": 3, "<s>": 4, "</s>": 5, "ab": 6, "\u2581": 7, "\u2581a": 8}
BPE = named("BPE", dropout=None, unk_token="[UNK]", continuing_subword_prefix=None, end_of_word_suffix=None,
            fuse_unk=False, byte_fallback=False, ignore_merges=False, vocab=WORDS,
            merges=["a b", "\u2581 a"])  # fmt: skip
PIECES = [["[UNK]", 0.0], ["a", -1.0], ["b", -2.0], ["ab", -1.5], ["\u2581", -3.0], ["\u2581a", -1.2]]
ALL = {"add_prefix_space": True, "trim_offsets": True, "use_regex": True}
AROUND = {"sep": ["</s>", 5], "cls": ["<s>", 4]}
SLOTS: dict[str, list[dict[str, Any]]] = {
    "model": [
        BPE, named("WordLevel", vocab=WORDS, unk_token="[UNK]"),
        named("WordPiece", unk_token="[UNK]", continuing_subword_prefix="##", max_input_chars_per_word=9, vocab=WORDS),
        named("Unigram", unk_id=0, vocab=PIECES, byte_fallback=False),
    ],
    "normalizer": [
        named("BertNormalizer", clean_text=True, handle_chinese_chars=True, strip_accents=None, lowercase=True),
        named("Strip", strip_left=True, strip_right=True), named("Prepend", prepend="\u2581"),
        named("Replace", pattern={"Regex": " +"}, content="\u2581"), named("Sequence", normalizers=[named("NFC")]),
    ],
    "pre_tokenizer": [
        named("ByteLevel", **ALL), named("Metaspace", replacement="\u2581", prepend_scheme="first", split=True),
        named("Metaspace", replacement="\u2581", add_prefix_space=False, prepend_scheme="never", split=False),
        named("Metaspace", replacement="\u2581", add_prefix_space=True),
        named("Split", pattern={"Regex": "\\s"}, behavior="Isolated", invert=False),
        named("Punctuation", behavior="Isolated"), named("Digits", individual_digits=True),
        named("FixedLength", length=2), named("CharDelimiterSplit", delimiter="-"),
        named("Sequence", pretokenizers=[named("Whitespace")]),
    ],
    "post_processor": [
        named("ByteLevel", **ALL), named("BertProcessing", **AROUND),
        named("Sequence", processors=[named("ByteLevel", **ALL)]),
        named("RobertaProcessing", **AROUND, add_prefix_space=False, trim_offsets=False),
        named("RobertaProcessing", **AROUND, add_prefix_space=True, trim_offsets=True),
        named("TemplateProcessing", single=[{"Sequence": {"id": "A", "type_id": 0}}], special_tokens={},
              pair=[{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 1}}]),
    ],
    "decoder": [
        named("ByteLevel", **ALL), named("Metaspace", replacement="\u2581", prepend_scheme="never", split=True),
        named("Metaspace", replacement="\u2581", add_prefix_space=False),
        named("WordPiece", prefix="##", cleanup=False),
        named("BPEDecoder", suffix="</w>"), named("Strip", content=" ", start=1, stop=0),
        named("CTC", pad_token="<pad>", word_delimiter_token="|", cleanup=True),
        named("Replace", pattern={"String": "\u2581"}, content=" "), named("Sequence", decoders=[named("Fuse")]),
    ],
    "truncation": [{"direction": "Right", "max_length": 5, "strategy": "LongestFirst", "stride": 0}],
    "padding": [{"strategy": "BatchLongest", "direction": "Right", "pad_to_multiple_of": None, "pad_id": 0,
                 "pad_type_id": 0, "pad_token": "[UNK]"}],
}  # fmt: skip
FLAGS = dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized", "special"), False)
ADDED = {"id": 20, "content": "<x>", **FLAGS}


def thinned(value: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """A component without some of its fields, or with null in one's place."""
    names = [name for name in value if name != "type"]
    for count in range(min(3, len(names)) + 1):
        for left_out in combinations(names, count):
            yield {name: field for name, field in value.items() if name not in left_out}
    yield from ({**value, name: None} for name in names if not isinstance(value[name], dict | list))


def files_of(slot: str) -> Iterator[dict[str, Any]]:
    whole = {"version": "1.0", "truncation": None, "padding": None, "added_tokens": [], "normalizer": None,
             "pre_tokenizer": None, "post_processor": None, "decoder": None, "model": BPE}  # fmt: skip
    if slot == "added_tokens":
        yield from ({**whole, slot: [value]} for value in thinned(ADDED))
    elif slot == "file":
        yield from thinned(whole)
    else:
        yield from ({**whole, slot: value} for each in SLOTS[slot] for value in thinned(each))


@pytest.mark.parametrize("slot", [*SLOTS, "added_tokens", "file"])
def test_fields_that_are_left_out(slot: str, tmp_path: Path) -> None:
    """A file that `tokenizers` reads is the one that it writes then, in which all fields are there, or is refused."""

    def loaded(text: str) -> TokenizerSpec | str:
        (tmp_path / "tokenizer.json").write_text(text)
        try:
            return replace(bbpe.load(tmp_path / "tokenizer.json").spec, files={})
        except VocabularyError as error:
            return str(error)

    equal = refused = 0
    for value in files_of(slot):
        text = json.dumps(value)
        try:
            written = Tokenizer.from_str(text).to_str()
        except Exception:  # `tokenizers` raises no narrower class
            continue
        found, whole = loaded(text), loaded(written)
        if isinstance(found, str):
            assert "found null; expected true or false" in found
            refused += 1
        else:
            assert found == whole, text
            equal += 1
    # most fields of these four may not be left out
    assert equal >= {"truncation": 2, "padding": 3, "added_tokens": 1, "normalizer": 7}.get(slot, 13)
    assert refused <= 4
