"""Which list of special tokens of a folder counts, and in which order its tokens come."""

from __future__ import annotations

from typing import Any

import pytest

from bbpe.errors import VocabularyError
from bbpe.formats.common.reading import Fields
from bbpe.formats.transformers.tokens import (
    FolderToken,
    chosen_tokens,
    document_tokens,
    flag,
    listed_tokens,
    named_tokens,
    numbered_tokens,
    table_tokens,
)
from bbpe.spec.rules import TokenOptions

EXTRA, ADDITIONAL = "extra_special_tokens", "additional_special_tokens"


def fields(value: dict[str, Any], path: str = "tokenizer_config.json") -> Fields:
    return Fields(value, path=path, place="")


def texts(of_map: dict[str, Any], config: dict[str, Any], usual: list[str]) -> list[str]:
    sources = [fields(of_map, "special_tokens_map.json"), fields(config)]
    return [token.text for token in listed_tokens(sources, [FolderToken(text) for text in usual])]


@pytest.mark.parametrize(
    ("of_map", "config", "alone", "beside_usual"),
    [
        ({}, {}, [], ["u", "v"]),
        ({ADDITIONAL: ["c"]}, {}, ["c"], ["u", "v"]),
        ({EXTRA: ["c", "d"]}, {}, ["c", "d"], ["c", "d"]),
        ({}, {ADDITIONAL: ["a", "b"]}, ["a", "b"], ["a", "b"]),
        ({}, {EXTRA: ["b", "a"]}, ["b", "a"], ["b", "a"]),
        ({}, {EXTRA: ["e"], ADDITIONAL: ["a"]}, ["e"], ["e"]),
        ({ADDITIONAL: ["c"]}, {ADDITIONAL: ["a"]}, ["a"], ["a"]),
        ({ADDITIONAL: ["c"]}, {ADDITIONAL: []}, [], []),
        ({ADDITIONAL: ["c"]}, {EXTRA: []}, [], []),
        ({}, {EXTRA: {"image_token": "i"}}, [], ["u", "v"]),
        ({}, {EXTRA: {"image_token": "i"}, ADDITIONAL: ["a"]}, ["a"], ["u", "v"]),
        ({ADDITIONAL: ["c"]}, {EXTRA: {"image_token": "i"}}, ["c"], ["u", "v"]),
    ],
)
def test_one_list_counts(
    of_map: dict[str, Any], config: dict[str, Any], alone: list[str], beside_usual: list[str]
) -> None:
    assert texts(of_map, config, []) == alone
    assert texts(of_map, config, ["u", "v"]) == beside_usual


@pytest.mark.parametrize("use", [EXTRA, ADDITIONAL])
@pytest.mark.parametrize(
    ("value", "place"), [("ab", ""), (["a", 5], "[1]"), (["a", "b", {"content": ""}], "[2].content")]
)
def test_a_list_that_is_none_is_named(use: str, value: Any, place: str) -> None:
    with pytest.raises(VocabularyError) as caught:
        texts({}, {use: value}, [])
    assert f"tokenizer_config.json: {use}{place}: " in str(caught.value)


def test_tokens_are_named_in_the_order_of_their_uses() -> None:
    named = {use: f"<{use}>" for use in ("mask_token", "cls_token", "pad_token", "sep_token", "unk_token", "eos_token")}
    found = named_tokens([fields({"bos_token": "<1>", "eos_token": None}), fields({**named, "bos_token": "<2>"})], {})
    assert [(use, token.text) for use, token in found.items()] == [
        ("bos_token", "<1>"), ("unk_token", "<unk_token>"), ("sep_token", "<sep_token>"), ("pad_token", "<pad_token>"),
        ("cls_token", "<cls_token>"), ("mask_token", "<mask_token>"),
    ]  # fmt: skip


def test_a_text_has_the_options_of_the_class_and_an_object_its_own() -> None:
    usual = {"mask_token": FolderToken("<m>", TokenOptions(lstrip=True)), "x_token": FolderToken("<x>")}
    (found, own, null) = (
        named_tokens([fields(value)], usual)
        for value in ({"mask_token": "<n>"}, {"mask_token": {"content": "<n>", "rstrip": True}}, {"x_token": None})
    )
    assert (found["mask_token"].text, found["mask_token"].options) == ("<n>", TokenOptions(lstrip=True))
    assert (own["mask_token"].text, own["mask_token"].options) == ("<n>", TokenOptions(rstrip=True))
    assert (found["mask_token"].is_object, own["mask_token"].is_object) == (True, True)
    assert {use: token.text for use, token in found.items()} == {"mask_token": "<n>", "x_token": "<x>"}
    assert {use: token.text for use, token in null.items()} == {"mask_token": "<m>"}


def test_flags_are_no_tokens_of_a_model() -> None:
    config = {"add_bos_token": True, "image_token": "<i>", "x_token": 5, "image": "<j>"}
    config |= {"model_specific_special_tokens": {"boi_token": "<k>"}, EXTRA: {"video": "<v>"}}
    found = named_tokens([fields({"image_token": "<h>", "z_token": {"content": "<z>"}}), fields(config)], {})
    assert {use: token.text for use, token in found.items()} == {
        "image_token": "<i>", "z_token": "<z>", "boi_token": "<k>", "video": "<v>"
    }  # fmt: skip


def test_of_two_tokens_with_one_text_the_last_one_counts_unless_it_is_equal_to_one_before() -> None:
    plain, left, right = (FolderToken("<a>", options) for options in (
        TokenOptions(), TokenOptions(lstrip=True), TokenOptions(rstrip=True)
    ))  # fmt: skip
    other, whole = FolderToken("<b>"), FolderToken("<a>", is_object=True)
    assert chosen_tokens([plain, other, left]) == {"<a>": left, "<b>": other}
    assert chosen_tokens([left, right, left]) == {"<a>": right}
    assert chosen_tokens([plain, left, whole])["<a>"] is whole
    assert chosen_tokens([]) == {}


@pytest.mark.parametrize(("value", "expected"), [(True, True), (False, False), (None, None)])
def test_flags(value: bool | None, expected: bool | None) -> None:
    assert flag(fields({"x": value}), "x") is expected
    assert flag(fields({}), "x") is None


@pytest.mark.parametrize("value", [0, 1, "true", []])
def test_a_flag_that_is_none_is_named(value: Any) -> None:
    with pytest.raises(VocabularyError, match=r"x: found .*; expected true or false"):
        flag(fields({"x": value}), "x")


def test_a_table_is_in_the_order_of_its_numbers() -> None:
    rows = {"10": {"content": "<c>", "special": True}, "9": {"content": "<b>"}, "0": {"content": "<a>", "special": 1}}
    found = list(table_tokens(fields({"added_tokens_decoder": rows})))
    assert [(token_id, token.text, token.is_special, token.is_named) for token_id, token in found] == [
        (0, "<a>", False, False), (9, "<b>", False, False), (10, "<c>", True, False),
    ]  # fmt: skip
    assert list(table_tokens(fields({}))) == []


@pytest.mark.parametrize(
    ("rows", "place"),
    [
        ([], ""), ({"x": {"content": "a"}}, ""), ({"-1": {"content": "a"}}, ""), ({"\u0661": {"content": "a"}}, ""),
        ({"0": {"content": "a"}, "00000000001": {"content": "b"}}, ""), ({"0": {"content": "a"}, "7": "b"}, ".7"),
        ({"9999999999": {"content": "a"}}, ".9999999999"), ({"7": {"content": "a"}, "8": {"content": 8}}, ".8.content"),
    ],
)  # fmt: skip
def test_a_table_that_is_none_is_named(rows: Any, place: str) -> None:
    with pytest.raises(VocabularyError) as caught:
        list(table_tokens(fields({"added_tokens_decoder": rows})))
    assert f"added_tokens_decoder{place}: " in str(caught.value)


def test_added_tokens_of_both_files_have_their_ids() -> None:
    rows = [{"id": 7, "content": "<a>", "rstrip": True}, {"id": 5, "content": "<b>"}]
    found = list(document_tokens(fields({"added_tokens": rows}, "tokenizer.json")))
    assert [(token_id, token.text, token.options.rstrip, token.is_named) for token_id, token in found] == [
        (7, "<a>", True, False), (5, "<b>", False, False),
    ]  # fmt: skip
    numbered = numbered_tokens(fields({"<c>": 9, "<d>": 8}, "added_tokens.json"), {"<d>"})
    assert numbered == [
        (8, FolderToken("<d>", TokenOptions(), True, False)),
        (9, FolderToken("<c>", TokenOptions(normalized=True), False, False)),
    ]
    with pytest.raises(VocabularyError, match=r"<d>: '<c>' has the id 9 too; expected one token for each id"):
        numbered_tokens(fields({"<c>": 9, "<d>": 9}, "added_tokens.json"), set())
