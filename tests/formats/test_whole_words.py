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


@pytest.mark.parametrize("added", [["\u3000", "<x>"], ["<x>", "\u3000"], ["\u3000", "<x>", "\u2003", "y z"]])
def test_added_characters_are_saved_before_other_tokens(added: list[str], tmp_path: Path) -> None:
    """A character in the vocabulary would be found as one, so it and all tokens after it are outside the model."""
    pieces = ["<unk>", "\u2581", "a", "b", "x", "<", ">", *(f"<0x{byte:02X}>" for byte in range(256))]
    made = tokenizers.Tokenizer(
        tokenizers.models.BPE(
            {piece: number for number, piece in enumerate(pieces)}, [], unk_token="<unk>", byte_fallback=True
        )
    )
    made.normalizer = tokenizers.normalizers.Replace(" ", "\u2581")
    made.decoder = tokenizers.decoders.Sequence(
        [tokenizers.decoders.Replace("\u2581", " "), tokenizers.decoders.ByteFallback(), tokenizers.decoders.Fuse()]
    )
    made.add_special_tokens(["<unk>"])
    made.add_tokens([tokenizers.AddedToken(text, normalized=False) for text in added])
    made.save(str(tmp_path / "tokenizer.json"))
    ours = bbpe.load(tmp_path / "tokenizer.json")
    ours.save(tmp_path / "saved.json")
    assert bbpe.load(tmp_path / "saved.json") == ours
    again = tokenizers.Tokenizer.from_file(str(tmp_path / "saved.json"))
    for text in ("a<x>b\u3000a", "\u3000 <x>", "a\u2003b y z"):
        assert again.encode(text).ids == made.encode(text).ids == ours.encode(text, allowed_special="all")
