"""Which rules of a tokenizer.json the note of a folder names, because the class of the folder has other ones."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from vocabularies import byte_level, document, write_json

import bbpe
from bbpe.formats.transformers.rebuilt import _NO_SPLIT, _differs

REGEX = {"type": "Split", "pattern": {"Regex": r"\d"}, "behavior": "Isolated", "invert": False}
DIGITS = {"type": "Sequence", "pretokenizers": [REGEX, byte_level(use_regex=False)]}
LOWER = {"type": "Lowercase"}


def note(path: Path, name: str, **changes: Any) -> str:
    write_json(path / "tokenizer.json", document(**{"pre_tokenizer": byte_level(), **changes}))
    write_json(path / "tokenizer_config.json", {"tokenizer_class": f"{name}Tokenizer"})
    with pytest.warns(bbpe.errors.VocabularyWarning) as caught:
        tok = bbpe.load(path, cache=False)
    assert len(caught) == len(tok.spec.notes) == 1
    found = tok.spec.notes[0]
    start, end = f"{name}Tokenizer (tokenizer_class in tokenizer_config.json) replaces ", " of tokenizer.json, as in "
    assert found.startswith(start)
    assert end in found
    return found.removeprefix(start).partition(end)[0]


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"normalizer": LOWER}, "the normalizer"),
        ({"pre_tokenizer": DIGITS}, "the pre-tokenizer"),
        ({"pre_tokenizer": byte_level(add_prefix_space=True)}, "the pre-tokenizer"),
        ({"pre_tokenizer": {"type": "NoSuchSplit"}}, "the pre-tokenizer"),
        ({"normalizer": LOWER, "pre_tokenizer": DIGITS}, "the normalizer and the pre-tokenizer"),
        ({"model__fuse_unk": True}, "options of the model"),
        ({"model__byte_fallback": True}, "options of the model"),
        ({"model__ignore_merges": True}, "options of the model"),
        ({"model__end_of_word_suffix": "</w>"}, "options of the model"),
        ({"model__continuing_subword_prefix": "##"}, "options of the model"),
        ({"normalizer": LOWER, "model__ignore_merges": True}, "the normalizer and options of the model"),
    ],
    ids=str,
)
def test_each_part_that_differs_is_named(tmp_path: Path, changes: dict[str, Any], expected: str) -> None:
    assert note(tmp_path, "GPT2", **changes) == expected


def test_a_template_is_named_where_the_class_has_its_own(tmp_path: Path) -> None:
    assert note(tmp_path, "Roberta") == "the template"
    assert note(tmp_path, "Roberta", pre_tokenizer=DIGITS) == "the pre-tokenizer and the template"


@pytest.mark.parametrize("changes", [
    {}, {"model__fuse_unk": None}, {"model__end_of_word_suffix": ""}, {"model__unk_token": "<unk>"},
    {"normalizer": {"type": "Sequence", "normalizers": []}}, {"decoder": None},
])  # fmt: skip
def test_parts_that_make_the_same_ids_have_no_note(tmp_path: Path, changes: dict[str, Any]) -> None:
    write_json(tmp_path / "tokenizer.json", document(**{"pre_tokenizer": byte_level(), **changes}))
    write_json(tmp_path / "tokenizer_config.json", {"tokenizer_class": "GPT2Tokenizer"})
    assert bbpe.load(tmp_path, cache=False).spec.notes == ()


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        (LOWER, dict(LOWER), False), (None, None, False), (None, _NO_SPLIT, False), (_NO_SPLIT, None, False),
        (LOWER, None, True), (LOWER, {"type": "NFC"}, True), (REGEX, _NO_SPLIT, True), (None, REGEX, True),
        ({"type": "Sequence", "normalizers": [LOWER]}, LOWER, False),
    ],
)  # fmt: skip
def test_parts_that_are_alike_do_not_differ_even_if_they_are_not_supported(
    one: Any, other: Any, expected: bool
) -> None:
    def refuse(value: Any) -> Any:
        raise bbpe.VocabularyError(f"{value} is not supported")

    assert _differs(one, other, refuse) is expected
    # what is supported is compared by what it does
    assert _differs(one, other, lambda value: 5) is False
