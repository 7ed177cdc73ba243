"""An added token that is a blank, in a vocabulary whose texts have U+2581 for blanks: the ids of `tokenizers`."""

from __future__ import annotations

from pathlib import Path

import pytest
from rule_files import METASPACES, of_characters
from vocabularies import added, write_json

import bbpe

tokenizers = pytest.importorskip("tokenizers")


@pytest.mark.parametrize("text", [" ", "\u2581", "x"])
@pytest.mark.parametrize("number", range(len(METASPACES)))
def test_a_token_that_the_vocabulary_has_too(tmp_path: Path, text: str, number: int) -> None:
    value = of_characters(fallback=False, normalizer=None, pre_tokenizer=METASPACES[number])
    vocab = value["model"]["vocab"]
    token_id = vocab.setdefault(text, len(vocab))
    value["added_tokens"].append({**added(text, token_id), "special": False, "normalized": False})
    path = write_json(tmp_path / "tokenizer.json", value)
    tok, judge = bbpe.load(path), tokenizers.Tokenizer.from_file(str(path))
    for each in ("the in", " the", "a  b", "the\u2581in", "x the xx", "thing ", ""):
        assert tok.encode(each) == judge.encode(each, add_special_tokens=False).ids, each
