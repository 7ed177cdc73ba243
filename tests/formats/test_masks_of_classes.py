"""Where the mask of a tokenizer's class is found, in every spelling: beside blanks, and as normalization makes it."""

from __future__ import annotations

from pathlib import Path

import pytest
from class_folders import cases, fill

import bbpe

transformers = pytest.importorskip("transformers")
pytest.importorskip("sentencepiece")

#: The first folder of each class of SentencePiece's models that has a mask.
FOLDERS = {name: case for name, *case in cases() if name in {
    "CamembertTokenizer 0", "MBartTokenizer 0", "MBart50Tokenizer 0", "NllbTokenizer 0", "XLMRobertaTokenizer 0",
}}  # fmt: skip
TEXTS = [
    "<mask>", " <mask> a", "a <mask>", "a<mask>b", "a  <mask>  b", "\uff1cmask\uff1e", "a \uff1cmask\uff1e b", "<MASK>",
]  # fmt: skip


@pytest.mark.parametrize("name", FOLDERS)
def test_masks_are_found_where_transformers_finds_them(tmp_path: Path, name: str) -> None:
    fill(tmp_path, *FOLDERS[name])
    judge = transformers.AutoTokenizer.from_pretrained(str(tmp_path))
    tok = bbpe.load(tmp_path, cache=False)
    found = {text: tok.encode(text, allowed_special="all") for text in TEXTS}
    assert found == {text: judge(text, add_special_tokens=False)["input_ids"] for text in TEXTS}
    assert found["<mask>"] == [judge.mask_token_id]
