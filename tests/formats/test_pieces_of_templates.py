"""A piece of a template is one sequence or one special token, and has nothing else."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from vocabularies import document, write_json

import bbpe
from bbpe.errors import VocabularyError

TEXT, TOKEN = {"Sequence": {"id": "A", "type_id": 0}}, {"SpecialToken": {"id": "<s>", "type_id": 0}}


@pytest.mark.parametrize(
    ("pieces", "problem"),
    [
        ([TOKEN, {**TEXT, "more": 1}], r"single\[1\]: unknown field 'more'"),
        ([{**TOKEN, "more": 1}, TEXT], r"single\[0\]: unknown field 'more'"),
        ([{**TOKEN, **TEXT}], r"single\[0\]: unknown field 'SpecialToken'"),
        ([{"Sequence": {"id": "A", "type_id": 0, "more": 1}}], r"single\[0\]\.Sequence: unknown field 'more'"),
        ([TEXT, {"Sequence": {"id": "C", "type_id": 0}}], r"single\[1\]\.Sequence\.id: 'C' is not a sequence"),
        ([TEXT, {"SpecialToken": {"id": "</s>", "type_id": 0}}], r"single\[1\]\.SpecialToken\.id: '</s>' is not among"),
        ([{}], r"single\[0\]: field 'SpecialToken' is missing"),
        ([TEXT, 5], r"single\[1\]: found 5; expected an object"),
        ([TOKEN], r"single: expected one Sequence A"),
    ],
)
def test_what_is_no_piece_of_a_template_is_named(tmp_path: Path, pieces: list[Any], problem: str) -> None:
    value = {
        "type": "TemplateProcessing", "single": pieces, "pair": [TEXT, {"Sequence": {"id": "B", "type_id": 1}}],
        "special_tokens": {"<s>": {"id": "<s>", "ids": [0], "tokens": ["<s>"]}},
    }  # fmt: skip
    path = write_json(tmp_path / "tokenizer.json", document(post_processor=value))
    with pytest.raises(VocabularyError, match=rf"post_processor\.{problem}"):
        bbpe.load(path)
