"""Files of old versions of `tokenizers`, and odd ones that it loads: the same ids and texts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from vocabularies import document, write_json

import bbpe


def _without(value: dict[str, Any], *names: str) -> dict[str, Any]:
    return {name: part for name, part in value.items() if name not in names}


WORDS = {"type": "WordLevel", "vocab": {"<unk>": 0, "the": 1, "in": 2}, "unk_token": "<unk>"}
PIECES: dict[str, Any] = {"vocab": {"[UNK]": 0, "the": 1, "##s": 2, "in": 3}, "unk_token": "[UNK]"}
OLD_FILES: dict[str, dict[str, Any]] = {
    "no components": {"version": "1.0", "model": document()["model"]},
    "nulls": document(model__fuse_unk=None, model__byte_fallback=None, model__ignore_merges=None),
    "version line": document(model__merges=["#version: 0.2", *document()["model"]["merges"]]),
    "dropout": document(model__dropout=0.0),
    "words without a type": document(model=_without(WORDS, "type"), pre_tokenizer={"type": "Whitespace"}, decoder=None),
    "pieces without a type": document(
        model={**PIECES, "continuing_subword_prefix": "##", "max_input_chars_per_word": 9},
        pre_tokenizer={"type": "Whitespace"}, decoder=None,
    ),
    "unigram without a type": document(
        model={"unk_id": 0, "vocab": [["<unk>", 0.0], ["\u2581the", -1.0], ["in", -2.0], ["t", -3.0]]},
        pre_tokenizer={"type": "Metaspace", "replacement": "\u2581", "str_rep": "_", "add_prefix_space": True},
        decoder=None,
    ),
    "tokens with blanks": document(
        model={"type": "BPE", "unk_token": "<unk>", "merges": [["a", "b"]],
               "vocab": {"<unk>": 0, "a b": 1, "a": 2, "b": 3, "\u2581": 4, "ab": 5}},
        pre_tokenizer={"type": "Metaspace", "replacement": "\u2581", "add_prefix_space": True}, decoder=None,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", OLD_FILES)
def test_old_and_odd_files_load_as_in_tokenizers(tmp_path: Path, name: str) -> None:
    tokenizers = pytest.importorskip("tokenizers")
    path = write_json(tmp_path / "x.json", OLD_FILES[name])
    tok, hf = bbpe.load(path), tokenizers.Tokenizer.from_file(str(path))
    tok.save(tmp_path / "y.json")
    again = bbpe.load(tmp_path / "y.json")
    assert again == tok
    for text in ("", "the in", "a b ab", " thes\u2581 in", "the\n\nin 12"):
        ids = hf.encode(text, add_special_tokens=False).ids
        assert tok.encode(text, allowed_special="all") == ids, text
        assert tok.decode(ids) == hf.decode(ids, skip_special_tokens=False)


def test_the_dropout_of_a_file_is_kept_and_not_applied(tmp_path: Path) -> None:
    path = write_json(tmp_path / "x.json", document(model__dropout=0.5))
    tok = bbpe.load(path)
    assert {tuple(tok.encode("the thing")) for _ in range(20)} == {tuple(tok.encode("the thing", dropout=0.0))}
    tok.save(tmp_path / "y.json")
    assert json.loads((tmp_path / "y.json").read_text("utf-8"))["model"]["dropout"] == 0.5
    assert bbpe.load(tmp_path / "y.json") == tok


@pytest.mark.parametrize("value", [{"type": "BPE", "vocab": {}, "merges": []}, {"type": "Unigram", "vocab": []}])
def test_a_vocabulary_without_tokens(tmp_path: Path, value: dict[str, Any]) -> None:
    path = write_json(tmp_path / "x.json", document(model=value, pre_tokenizer=None, decoder=None, added_tokens=[]))
    tok = bbpe.load(path)
    assert (tok.vocab_size, tok.encode("see"), tok.decode([]), tok.get_vocab()) == (0, [], "", {})
    ids, offsets = tok.encode_with_offsets("see")
    assert (list(ids), offsets.tolist()) == ([], [])
    tok.save(tmp_path / "y.json")
    assert bbpe.load(tmp_path / "y.json") == tok
