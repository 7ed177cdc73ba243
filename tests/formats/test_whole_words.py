"""Vocabularies of bytes with ignore_merges whose added tokens have characters of the byte alphabet."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from vocabularies import byte_level

import bbpe
from bbpe.records import replace
from bbpe.text import BYTE_ORDER, bytes_to_alphabet

tokenizers = pytest.importorskip("tokenizers")
TEXTS = ["café wörld", "x café y", "é", "É é", "Ã©", "aÃ©b", "Ġa", " a", "ab ab", "naïve caf"]


def document(added: list[str], *, special: bool, ignore_merges: bool) -> dict[str, Any]:
    keys = [bytes_to_alphabet(bytes((byte,))) for byte in BYTE_ORDER]
    options = dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized"), False)
    vocab = {key: token_id for token_id, key in enumerate([*keys, "ab"])}
    return {
        "version": "1.0",
        "added_tokens": [{"id": 0, "content": text, "special": special, **options} for text in added],
        "pre_tokenizer": byte_level(),
        "model": {"type": "BPE", "vocab": vocab, "merges": ["a b"], "ignore_merges": ignore_merges},
    }


@pytest.mark.parametrize("special", [False, True])
@pytest.mark.parametrize("ignore_merges", [False, True])
@pytest.mark.parametrize("added", [["café"], ["wörld"], ["é"], ["Ġa"], ["Ã©"], ["x", "café", "Ã©"]])
def test_added_tokens_are_saved(added: list[str], ignore_merges: bool, special: bool, tmp_path: Path) -> None:
    path, saved = tmp_path / "tokenizer.json", tmp_path / "saved.json"
    path.write_text(json.dumps(document(added, special=special, ignore_merges=ignore_merges)), encoding="utf-8")
    made = bbpe.load(path)
    made.save(saved)
    assert bbpe.load(saved) == made
    judges = [tokenizers.Tokenizer.from_file(str(each)) for each in (path, saved)]
    for text in TEXTS:
        ids = made.encode(text, allowed_special="all")
        assert [judge.encode(text, add_special_tokens=False).ids for judge in judges] == [ids, ids], text


def test_a_key_that_would_be_another_text_is_refused(tmp_path: Path) -> None:
    """HF numbers added tokens after the vocabulary, so one with another id has to be one of its keys."""
    path = tmp_path / "tokenizer.json"
    path.write_text(json.dumps(document([], special=False, ignore_merges=True)), encoding="utf-8")
    made = bbpe.load(path)
    spec = replace(made.spec, added_tokens={"Ã©": 300})
    with pytest.raises(bbpe.VocabularyError, match=r"'Ã©' .id 300. would be read as 'é'; expected added tokens with"):
        bbpe.Tokenizer(spec).save(tmp_path / "saved.json")
