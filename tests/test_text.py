"""Texts in the byte alphabet, and what a terminal shows of others."""

from __future__ import annotations

import numpy as np
import pytest

from bbpe.errors import VocabularyError
from bbpe.text import (
    WHITE_SPACE,
    aligned,
    alphabet_to_bytes,
    bytes_to_alphabet,
    check_unicode,
    columns_of,
    counted,
    distinct,
    first_few,
    readable,
    shortened,
    sized,
    text_bytes,
    text_of_file,
    tokens_to_alphabet,
    well_formed,
)


@pytest.mark.parametrize("char", [" ", "\n", "\x7f", "\xa0", "\xad", "\u0144", "世", "\ud800"])
def test_a_character_outside_the_byte_alphabet_is_named(char: str) -> None:
    # some of these have a byte of their own in Latin-1
    with pytest.raises(ValueError, match=rf"U\+{ord(char):04X}\) is not in the byte alphabet"):
        alphabet_to_bytes(f"a{char}b")


def test_the_byte_alphabet_has_every_byte() -> None:
    data = bytes(range(256))
    assert alphabet_to_bytes(bytes_to_alphabet(data)) == data
    assert bytes_to_alphabet(b"\x00 \x7f\xad~") == "\u0100\u0120\u0121\u0143~"


def test_many_tokens_are_written_as_one_is() -> None:
    for tokens in ([], [b""], [b"a", b"", b" \xff\n", bytes(range(256))]):
        assert tokens_to_alphabet(tokens) == [bytes_to_alphabet(token) for token in tokens]


def test_the_byte_of_a_file_that_is_no_text_is_named() -> None:
    assert text_of_file("é漢".encode(), "x") == "é漢"
    for data, found, place in (
        (b"ab\xff", "found byte 0xFF", 2), (b"a\xe6\xb7", "the file ends within a character", 1),
        (b"\xe6\xb7a", "found byte 0xE6", 0),
    ):  # fmt: skip
        with pytest.raises(VocabularyError, match=f"x: byte {place}: {found}; expected UTF-8 text"):
            text_of_file(data, "x")


def test_texts_as_bytes() -> None:
    data = "é".encode()
    for text in ("é", data, bytearray(data), memoryview(data), np.frombuffer(data, np.uint8)):
        assert bytes(text_bytes(text)) == data
    signed = memoryview(b"\xff").cast("b")
    assert text_bytes(signed)[0] == 0xFF
    assert text_bytes("a\ud800\ud83d\ude00") == "a\ufffd😀".encode() == well_formed("a\ud800\ud83d\ude00").encode()
    with pytest.raises(TypeError, match="a text is str or bytes-like, not int"):
        text_bytes(5)  # type: ignore[arg-type]
    for wrong, found in (
        (np.zeros((2, 2), np.uint8), "2 dimensions and format 'B'"),
        (np.zeros(2, np.int32), "1 dimensions and format 'i'"), (np.zeros(4, np.uint8)[::2], "1 dimensions"),
    ):  # fmt: skip
        with pytest.raises(TypeError, match=f"must be a contiguous buffer of bytes, not one of {found}"):
            text_bytes(wrong)


@pytest.mark.parametrize(
    ("token", "shown"),
    [(b"", ""), (b"a\xc3\xa9", "aé"), (b"\xff", "<0xFF>"), (b"\xe6\xb7a\x80", "<0xE6><0xB7>a<0x80>")],
)
def test_bytes_of_no_whole_character_are_hex(token: bytes, shown: str) -> None:
    assert readable(token) == shown


@pytest.mark.parametrize(("text", "columns"), [("", 0), ("low", 3), ("世Ａ", 4), ("e\u0301", 1), ("éa", 2)])
def test_columns(text: str, columns: int) -> None:
    assert columns_of(text) == columns


@pytest.mark.parametrize(
    ("text", "most", "shown"),
    [
        ("abcdefgh", 8, "abcdefgh"), ("abcdefghi", 8, "abc...hi"), ("abcdefghi", 9, "abcdefghi"),
        ("abcdefghij", 3, "a...j"),
        ("世世世世", 8, "世世世世"), ("世世世世世", 8, "世...世"), ("世世世世世", 9, "世...世"), ("a\tb", 40, "a\\tb"),
        ("a" * 128 + "b", 8, "aaa...ab"), ("a" * 129 + "b" * 99, 8, "aaa...bb"),
        (b"\xff" * 4, 24, "<0xFF><0xFF><0xFF><0xFF>"), (b"a\xffb", 40, "a<0xFF>b"), ("\u200bx", 40, "\\u200bx"),
    ],
)  # fmt: skip
def test_a_text_in_so_many_columns(text: str | bytes, most: int, shown: str) -> None:
    assert shortened(text, most) == shown


def test_a_quoted_text() -> None:
    assert shortened("a'b", quoted=True) == '"a\'b"'
    assert shortened("a" * 41) == "a" * 19 + "..." + "a" * 18
    assert shortened("a" * 40) == "a" * 40


def test_numbers_of_things() -> None:
    assert [counted(number, "part") for number in (0, 1, 2, 1000)] == ["0 parts", "1 part", "2 parts", "1,000 parts"]
    assert [counted(number, "id", "is", "are") for number in (0, 1)] == ["0 ids are", "1 id is"]


@pytest.mark.parametrize(
    ("size", "shown"),
    [
        (0, "0 bytes"), (1, "1 byte"), (0.6, "1 byte"), (999.4, "999 bytes"), (999.5, "1.0 kB"), (9_949, "9.9 kB"),
        (9_950, "10 kB"), (999_499, "999 kB"), (999_500, "1.0 MB"), (10**9, "1.0 GB"), (10**12, "1.0 TB"),
        (10**15, "1.0 PB"), (2 * 10**18, "2,000 PB"),
    ],
)  # fmt: skip
def test_numbers_of_bytes(size: float, shown: str) -> None:
    assert sized(size) == shown


def test_figures_have_as_many_columns_as_they_may_and_go_on_below() -> None:
    rows = [("name", "tokens", "\u4e16\u754c"), ("a", "1,024", "5")]
    whole = "name  tokens  \u4e16\u754c\na      1,024     5"
    apart = "name  tokens\na      1,024\n\nname  \u4e16\u754c\na        5"
    for most, shown in ((None, whole), (19, whole), (18, whole), (17, apart), (12, apart), (1, apart)):
        assert aligned(rows, most=most) == shown


def test_rows_may_have_several_names_which_each_table_repeats() -> None:
    rows = [("n", "m", "x", "y"), ("a", "b", "10", "200")]
    whole = "n  m   x    y\na  b  10  200"
    apart = "n  m   x\na  b  10\n\nn  m    y\na  b  200"
    for most, shown in ((None, whole), (13, whole), (12, apart), (8, apart), (1, apart)):
        assert aligned(rows, 2, most) == shown
    assert aligned([("ab", "c"), ("d", "e")], 5) == "ab  c\nd   e"
    assert aligned([("ab", ""), ("d", "")], 2) == "ab\nd"


def test_the_first_of_a_list() -> None:
    assert [first_few(list("abcd")[:count], 2) for count in range(5)] == [
        "none", "a", "a, b", "a, b and 1 more", "a, b and 2 more",
    ]  # fmt: skip
    assert first_few(["x"] * 1003, 3, " ") == "x x x and 1,000 more"


def test_equal_names_have_their_places() -> None:
    assert distinct(["x", "y", "x", "z", "x"]) == ["x (1)", "y", "x (3)", "z", "x (5)"]
    assert distinct([]) == []


def test_half_a_surrogate_pair_is_no_text() -> None:
    for text in ("", "a", "\u00e9", "\U0001f600", "\uffff"):
        check_unicode("name", text)
    for text in ("\ud800", "\udfff", "a\ud83d\ude00", "\u00e9\udc80"):
        with pytest.raises(ValueError, match="half a surrogate pair") as caught:
            check_unicode("name", text)
        assert str(caught.value) == f"name: {text!r} holds half a surrogate pair; expected Unicode text"


def test_white_space_is_that_of_python_but_for_four_separators() -> None:
    assert set(WHITE_SPACE) == {chr(code) for code in range(0x10000) if chr(code).isspace()} - set("\x1c\x1d\x1e\x1f")
    assert len(WHITE_SPACE) == len(set(WHITE_SPACE))
