"""Messages about a value of JSON show it, shortened, and name the field that it is in."""

from __future__ import annotations

from typing import Any

import pytest

from bbpe.errors import VocabularyError
from bbpe.formats.common.reading import Fields, parts_of, shown


def fields(**values: Any) -> Fields:
    return Fields(values, path="x.json", place="model")


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("a" * 58, '"' + "a" * 58 + '"'),  # 60 characters with its quotes
        ("a" * 59, '"' + "a" * 56 + "..."),
        ([1] * 20, "[" + ", ".join(["1"] * 20) + "]"),
        ([1] * 21, "[" + "1, " * 18 + "1," + "..."),
        ("\u4e2d", '"\u4e2d"'),
        ({"b": None, "a": [True]}, '{"b": null, "a": [true]}'),
        ("", '""'),
    ],
    ids=str,
)
def test_a_long_value_is_shown_in_60_characters(value: object, expected: str) -> None:
    assert shown(value) == expected
    assert len(expected) <= 60


@pytest.mark.parametrize(
    ("value", "is_whole"), [(-2, False), (-1, True), (0, True), (7, True), (8, False), (True, False), (1.0, False)]
)
def test_a_number_is_within_its_bounds_and_whole(value: Any, is_whole: bool) -> None:
    if is_whole:
        assert fields(n=value).take_int("n", -1, 7) == value
        return
    with pytest.raises(VocabularyError, match=r"model\.n: found .*; expected (-1 to 7|a whole number)"):
        fields(n=value).take_int("n", -1, 7)


@pytest.mark.parametrize("kind", [dict, list, str, int, bool])
def test_a_field_has_its_type_and_no_other(kind: type) -> None:
    values: dict[type, tuple[Any, str]] = {
        dict: ({}, "an object"), list: ([], "a list"), str: ("", "a string"), int: (0, "a whole number"),
        bool: (False, "true or false"),
    }  # fmt: skip
    for own, (value, _) in values.items():
        if own is kind:
            assert fields(x=value).take_type("x", kind) == value
        else:
            with pytest.raises(VocabularyError, match=rf"x\.json: model\.x: found .*; expected {values[kind][1]}$"):
                fields(x=value).take_type("x", kind)


@pytest.mark.parametrize(("value", "is_accepted"), [(1, True), (None, True), (True, False), (1.0, False), ("1", False)])
def test_only_the_accepted_values_of_a_field_are_taken(value: Any, is_accepted: bool) -> None:
    given = fields(x=value, y=2)
    if is_accepted:
        given.only("x", None, 1)
        assert given.names() == ["y"]
        return
    with pytest.raises(VocabularyError, match=r"model\.x: .* is not supported; expected null or 1"):
        given.only("x", None, 1)


def test_of_several_unknown_fields_the_first_by_its_name_is_named() -> None:
    given = fields(c=1, b=2, a=3, taken=4)
    assert given.take("taken") == 4
    with pytest.raises(VocabularyError, match=r"x\.json: model: unknown field 'a'"):
        given.done()
    assert [given.peek("b"), given.take("b"), given.peek("b"), given.take("b", 5)] == [2, 2, None, 5]
    assert ("b" in given, "c" in given) == (False, True)
    with pytest.raises(VocabularyError, match=r"x\.json: model: field 'b' is missing"):
        given.take("b")


def test_parts_of_sequences_have_their_places_in_order() -> None:
    inner = {"type": "Sequence", "parts": [{"type": "A"}, 5, {"type": "Sequence", "parts": []}]}
    value = {"type": "Sequence", "parts": [{"type": "B"}, inner, {"type": "C"}]}
    assert parts_of(value, "parts", "x.json", "decoder") == [
        ({"type": "B"}, "decoder.parts[0]"), ({"type": "A"}, "decoder.parts[1].parts[0]"),
        (5, "decoder.parts[1].parts[1]"), ({"type": "C"}, "decoder.parts[2]"),
    ]  # fmt: skip
    assert parts_of({"type": "A"}, "parts", "x.json", "decoder") == [({"type": "A"}, "decoder")]
    with pytest.raises(VocabularyError, match=r"x\.json: decoder\.parts\[0\]: unknown field 'more'"):
        parts_of({"type": "Sequence", "parts": [{**inner, "more": 1}]}, "parts", "x.json", "decoder")
