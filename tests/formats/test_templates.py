"""The `post_processor` of a tokenizer.json, with the rows and type ids of `tokenizers`."""

from __future__ import annotations

import json
from itertools import product
from pathlib import Path

import pytest
from tokenizers import Tokenizer, models, pre_tokenizers, processors

import bbpe
from bbpe.errors import VocabularyError

TEMPLATE = processors.TemplateProcessing
COMPONENTS = [
    TEMPLATE(single="<a> $A", pair="<a> $A $B:1", special_tokens=[("<a>", 3)]),
    TEMPLATE(single="$A <b>", pair="$A:2 $B:3 <b>:4", special_tokens=[("<b>", 4)]),
    TEMPLATE(single="$A", pair="$B $A", special_tokens=[]),
    TEMPLATE(single="$A <b>:5", pair="$A $B", special_tokens=[{"id": "<b>", "ids": [4, 5], "tokens": ["<b>", "<c>"]}]),
    processors.BertProcessing(("<b>", 4), ("<a>", 3)),
    processors.RobertaProcessing(("<b>", 4), ("<a>", 3)),
    processors.ByteLevel(),
]


def made(*components: object) -> Tokenizer:
    words = {word: number for number, word in enumerate(["<u>", "x", "y", "<a>", "<b>", "<c>"])}
    hf = Tokenizer(models.WordLevel(words, unk_token="<u>"))
    hf.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    hf.add_special_tokens(["<a>", "<b>", "<c>"])
    hf.post_processor = processors.Sequence(list(components))
    return hf


@pytest.mark.parametrize("numbers", [*product(range(7)), *product(range(7), repeat=2), (0, 4, 2), (6, 5, 4)], ids=str)
def test_sequences(tmp_path: Path, numbers: tuple[int, ...]) -> None:
    hf, path = made(*(COMPONENTS[number] for number in numbers)), tmp_path / "tokenizer.json"
    value = json.loads(hf.to_str())
    path.write_text(json.dumps(value | {"decoder": {"type": "Fuse"}}), "utf-8")
    row = hf.encode("x")
    tok = bbpe.load(path)
    assert tok.encode("x", add_special_tokens=True) == row.ids
    if tok.spec.template is not None:
        assert [kind for _, kind in tok.spec.template.single] == row.type_ids
    if tok.spec.template is not None and tok.spec.template.pair:
        row = hf.encode("x", "y")
        assert tok.encode("x", pair="y", add_special_tokens=True) == row.ids
        assert [kind for _, kind in tok.spec.template.pair] == row.type_ids
    tok.save(tmp_path / "saved.json")
    assert Tokenizer.from_file(str(tmp_path / "saved.json")).encode("x").ids == hf.encode("x").ids


def test_more_parts_than_a_template_has_forms_for(tmp_path: Path) -> None:
    path = tmp_path / "tokenizer.json"
    value = json.loads(made(*COMPONENTS[:2], COMPONENTS[0]).to_str())
    path.write_text(json.dumps(value | {"decoder": {"type": "Fuse"}}))
    with pytest.raises(VocabularyError, match=r"post_processor\.processors\[2\]: the components before it make three"):
        bbpe.load(path)
