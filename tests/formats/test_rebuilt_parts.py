"""A tokenizer.json beside a class that rebuilds it: options of the mask, and rows that are no rows."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from vocabularies import document

import bbpe
from bbpe.errors import VocabularyError

SYMBOLS = ["<s>", "<pad>", "</s>", "<unk>", "<mask>", "[CLS]", "[SEP]", "[MASK]"]
PIECES: list[Any] = [*([text, 0.0] for text in SYMBOLS), ["\u2581a", -1.0], ["\u2581", -2.0], ["a", -3.0]]


def folder(path: Path, name: str, **changes: Any) -> Path:
    path.mkdir(exist_ok=True)
    model = {"type": "Unigram", "unk_id": 3, "byte_fallback": False, "vocab": PIECES}
    value = document(**{"model": model, "pre_tokenizer": None, "decoder": None, **changes})
    (path / "tokenizer.json").write_text(json.dumps(value), "utf-8")
    (path / "tokenizer_config.json").write_text(json.dumps({"tokenizer_class": f"{name}Tokenizer"}), "utf-8")
    return path


@pytest.mark.filterwarnings("ignore::bbpe.errors.VocabularyWarning")
@pytest.mark.parametrize(
    ("name", "mask"),
    [("Barthez", "<mask>"), ("Camembert", "<mask>"), ("BigBird", "[MASK]"), ("XLNet", "<mask>")],
)
def test_the_mask_of_a_class_takes_the_blank_before_it(tmp_path: Path, name: str, mask: str) -> None:
    tok = bbpe.load(folder(tmp_path, name), cache=False)
    assert tok.spec.token_options[mask].lstrip
    near, far = (tok.encode(f"a{blanks}{mask}", allowed_special="all") for blanks in ("", "  "))
    assert near == far
    assert near[-1] == tok.special_tokens[mask]


@pytest.mark.filterwarnings("ignore::bbpe.errors.VocabularyWarning")
@pytest.mark.parametrize("row", [5, "<s>", None, [], {"id": 0}, {"id": 0, "content": 5}], ids=str)
@pytest.mark.parametrize("name", ["Barthez", "T5", "XLMRoberta"])
def test_an_added_token_that_is_none_is_refused(tmp_path: Path, name: str, row: Any) -> None:
    with pytest.raises(VocabularyError, match=r"tokenizer\.json: added_tokens"):
        bbpe.load(folder(tmp_path, name, added_tokens=[row]), cache=False)


@pytest.mark.filterwarnings("ignore::bbpe.errors.VocabularyWarning")
@pytest.mark.parametrize("row", [5, "<s>", None, [], ["b"], ["b", -1.0, 1], {"b": -1.0}], ids=str)
@pytest.mark.parametrize("name", ["Barthez", "T5", "XLMRoberta"])
def test_a_piece_that_is_none_is_refused(tmp_path: Path, name: str, row: Any) -> None:
    model = {"type": "Unigram", "unk_id": 3, "byte_fallback": False, "vocab": [*PIECES, row]}
    with pytest.raises(VocabularyError, match=r"tokenizer\.json: model\.vocab"):
        bbpe.load(folder(tmp_path, name, model=model), cache=False)
