"""The padding and truncation of a tokenizer.json: defaults of `encode_padded`, with the rows of `tokenizers`."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest
from tokenizers import Tokenizer
from vocabularies import document

import bbpe
from bbpe.errors import VocabularyError
from bbpe.formats.huggingface.row_lengths import read_padding, read_truncation

TEXTS = ["", "a", "the inning", "中 12's the the the the", "aaaa" * 9]
TEMPLATE = {
    "type": "TemplateProcessing",
    "single": [{"SpecialToken": {"id": "a", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}],
    "pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 0}}],
    "special_tokens": {"a": {"id": "a", "ids": [64], "tokens": ["a"]}},
}


def padding(**changes: Any) -> dict[str, Any]:
    plain = {"strategy": "BatchLongest", "direction": "Right", "pad_to_multiple_of": None}
    return {**plain, "pad_id": 0, "pad_type_id": 0, "pad_token": "[PAD]", **changes}


def truncation(**changes: Any) -> dict[str, Any]:
    return {"direction": "Right", "max_length": 5, "strategy": "LongestFirst", "stride": 0, **changes}


@pytest.mark.parametrize("is_cut", [False, True])
def test_rows(tmp_path: Path, is_cut: bool) -> None:
    path, rng = tmp_path / "tokenizer.json", random.Random(1)
    for _ in range(9):
        padded = padding(
            strategy=rng.choice(["BatchLongest", {"Fixed": rng.choice([1, 7, 40])}]),
            direction=rng.choice(["Left", "Right"]),
            pad_to_multiple_of=rng.choice([None, 0, 1, 8]),
            pad_id=rng.choice([0, 9]),
        )
        cut = truncation(max_length=rng.randint(2, 12), direction=rng.choice(["Left", "Right"])) if is_cut else None
        path.write_text(json.dumps(document(padding=padded, truncation=cut, post_processor=TEMPLATE)), "utf-8")
        hf, tok = Tokenizer.from_file(str(path)), bbpe.load(path)
        for adds in (False, True):
            rows = hf.encode_batch(TEXTS, add_special_tokens=adds)
            if len({len(row) for row in rows}) > 1:  # `tokenizers` leaves rows that are longer than the fixed length
                continue
            ids, mask = tok.encode_padded(TEXTS, add_special_tokens=adds)
            assert ids.tolist() == [row.ids for row in rows]
            assert mask.astype(int).tolist() == [row.attention_mask for row in rows]
        # texts alone are neither padded nor truncated
        assert len(tok.encode(TEXTS[-1])) == 9
        saved = tmp_path / "saved.json"
        tok.save(saved)
        assert bbpe.load(saved) == tok
        written = json.loads(saved.read_text("utf-8"))
        padded["pad_to_multiple_of"] = {0: None, 1: None}.get(*[padded["pad_to_multiple_of"]] * 2)
        lengthens = padded["strategy"] != "BatchLongest" or padded["pad_to_multiple_of"] is not None
        assert (written["padding"], written["truncation"]) == (None if lengthens else padded, cut)
        assert written["model"].get("bbpe") == ({"padding": padded} if lengthens else None)
        # `tokenizers` gives one text the same ids as `encode`
        short = "a"
        assert Tokenizer.from_file(str(saved)).encode(short, add_special_tokens=False).ids == tok.encode(short)
        with pytest.raises(VocabularyError, match=r"padding.*drop=\['padding'\]"):
            tok.save(tmp_path / "folder", format="vocab_txt", drop=["template"])


def test_arguments_replace_the_defaults_of_the_file(tmp_path: Path) -> None:
    path = tmp_path / "tokenizer.json"
    given = padding(strategy={"Fixed": 4}, direction="Left", pad_to_multiple_of=4, pad_id=3)
    path.write_text(json.dumps(document(padding=given, truncation=truncation(max_length=2))), "utf-8")
    tok = bbpe.load(path)
    assert tok.encode_padded(["bcdef"])[0].tolist() == [[3, 3, 65, 66]]
    ids, mask = tok.encode_padded(["bcdef"], 3, 7, "right", 1)
    assert ids.tolist() == [[65, 66, 67, 7]]
    assert mask.tolist() == [[True, True, True, False]]


def test_the_token_for_padding_is_named(tmp_path: Path) -> None:
    path = tmp_path / "tokenizer.json"
    flags = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}
    tokens = [{"id": 267, "content": "[PAD]", **flags}]
    path.write_text(json.dumps(document(padding=padding(pad_id=267), added_tokens=tokens)), "utf-8")
    assert (bbpe.load(path).pad_token, bbpe.load(path).pad_token_id) == ("[PAD]", 267)
    path.write_text(json.dumps(document(padding=padding(pad_id=0))), "utf-8")
    assert bbpe.load(path).pad_token is None


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"padding": padding(strategy="Longest")}, 'padding.strategy: found "Longest"; expected "BatchLongest"'),
        ({"padding": padding(strategy={"Fixed": -1})}, "padding.strategy.Fixed: found -1; expected 0"),
        ({"padding": padding(strategy={"Fixed": 1, "x": 2})}, "padding.strategy: unknown field 'x'"),
        ({"padding": padding(direction="Up")}, "padding.direction: found 'Up'; expected Right or Left"),
        ({"padding": padding(pad_id="a")}, "padding.pad_id"),
        ({"padding": padding(pad_to_multiple_of=0.5)}, "padding.pad_to_multiple_of"),
        ({"padding": padding(more=1)}, "padding: unknown field 'more'"),
        ({"padding": 3}, "padding: found 3; expected an object"),
        ({"truncation": truncation(strategy="Both")}, "truncation.strategy: found 'Both'; expected LongestFirst"),
        ({"truncation": truncation(max_length=-1)}, "truncation.max_length: found -1"),
        ({"truncation": {"max_length": "a"}}, "truncation.max_length"),
    ],
)
def test_errors_name_the_field(tmp_path: Path, changes: dict[str, Any], problem: str) -> None:
    path = tmp_path / "tokenizer.json"
    path.write_text(json.dumps(document(**changes)), "utf-8")
    with pytest.raises(VocabularyError) as caught:
        bbpe.load(path)
    assert problem in str(caught.value)


@pytest.mark.parametrize(
    ("field", "most"),
    [
        ("truncation.max_length", 2**62 - 1), ("truncation.stride", 2**62 - 1), ("padding.strategy.Fixed", 2**62 - 1),
        ("padding.pad_to_multiple_of", 2**62 - 1), ("padding.pad_type_id", 2**32 - 1), ("padding.pad_id", 2**28 - 1),
    ],
)  # fmt: skip
def test_the_largest_and_the_least_numbers(field: str, most: int) -> None:
    part, _, name = field.partition(".")

    def read(number: int) -> Any:
        if part == "truncation":
            return read_truncation(truncation(**{name: number}), path="x.json")
        change = {"strategy": {"Fixed": number}} if "." in name else {name: number}
        return read_padding(padding(**change), path="x.json")

    written = {"max_length": "max_length", "stride": "stride", "pad_id": "pad_id", "pad_type_id": "pad_type_id"}
    attribute = written.get(name, "length" if "." in name else "multiple")
    assert [getattr(read(number), attribute) for number in (1, most)] == [1, most]
    # no rows of a multiple of 0 tokens
    assert getattr(read(0), attribute) == (1 if attribute == "multiple" else 0)
    for number in (-1, most + 1):
        with pytest.raises(VocabularyError, match=rf"x\.json: {field}: found {number}; expected 0 to {most}"):
            read(number)
