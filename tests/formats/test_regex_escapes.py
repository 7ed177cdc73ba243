"""The ends of escapes, classes and groups in the regexes of tokenizer.json."""

from __future__ import annotations

import pytest
import regex

from bbpe.errors import PatternError
from bbpe.formats.huggingface.normalizers import from_oniguruma

#: Escapes, and a text that each matches; those that match no character match none.
ESCAPES = {
    r"\w": "a", r"\W": "!", r"\N": "\r", r"\O": "\n", r"\h": "f", r"\H": "g", r"\d": "1", r"\D": "a", r"\s": " ",
    r"\S": "a", r"\R": "\r\n", r"\n": "\n", r"\t": "\t", r"\a": "\a", r"\e": "\x1b", r"\.": ".", r"\-": "-",
    r"\x41": "A", r"\x{41}": "A", r"\x{1F600}": "\U0001f600", r"\u00e9": "\u00e9", r"\07": "\a", r"\012": "\n",
    r"\p{L}": "a", r"\P{L}": "1", r"\p{Alpha}": "a", r"\P{Alpha}": "1", r"\p{^Alpha}": "1", r"\b": "", r"\B": "",
    r"\A": "", r"\z": "",
}  # fmt: skip


def read(source: str) -> str:
    return from_oniguruma(source, path="tokenizer.json", place="pre_tokenizer")


@pytest.mark.parametrize("escape", ESCAPES)
def test_what_follows_an_escape_is_read_too(escape: str) -> None:
    assert read(f"{escape}zq") == f"{read(escape)}zq"
    assert read(f"q{escape}z") == f"q{read(escape)}z"


@pytest.mark.parametrize("escape", [escape for escape, text in ESCAPES.items() if text])
def test_an_escape_matches_one_character_and_takes_no_other(escape: str) -> None:
    text = ESCAPES[escape]
    assert regex.fullmatch(f"{read(escape + 'z')}", f"{text}z")
    assert not regex.fullmatch(read(escape), f"{text}{escape[-1]}")


@pytest.mark.parametrize(
    ("source", "chars"),
    [(r"(?i)[\x00]", "\0"), (r"(?i)[\x7f]", "\x7f"), ("(?i)[y-{]", "yYzZ{"), ("(?i)[@-B]", "@AaBb"), ("(?i)[~]", "~")],
)
def test_a_class_that_ignores_case_has_both_ends_of_ascii_and_of_a_range(source: str, chars: str) -> None:
    found = regex.compile(read(source))
    assert {char for char in map(chr, range(0x80)) if found.fullmatch(char)} == set(chars)


@pytest.mark.parametrize("source", ["a|b?", "ab|cd|d*", "a|b?c?", "a|(?:b|c)?"])
@pytest.mark.parametrize("around", ["{}", "({})", "(?:{})", "((?:{}))"])
def test_an_empty_match_may_come_last_in_a_group_around_all(source: str, around: str) -> None:
    assert read(around.format(source)) == around.format(source)


@pytest.mark.parametrize("source", ["a??", "a|b??", "a?|b", "a|b*?", "|a", "a*?|b?"])
@pytest.mark.parametrize("around", ["{}", "({})", "(?:{})", "((?:{}))"])
def test_an_empty_match_may_not_come_first_in_a_group_around_all(source: str, around: str) -> None:
    with pytest.raises(PatternError, match="may match the empty string"):
        read(around.format(source))
