"""The numbers of YouTokenToMe's models: which are read, and which are refused with their line."""

from __future__ import annotations

from pathlib import Path

import pytest
from word_tools import yttm_file

import bbpe
from bbpe.errors import VocabularyError

ROWS = ["2 1", "97 4", "98 5", "4 5 6", "1 0 2 3"]


def changed(path: Path, number: int, row: str) -> Path:
    return yttm_file(path / "x.yttm", [*ROWS[: number - 1], row, *ROWS[number:]])


@pytest.mark.parametrize(
    ("number", "row"), [(2, "97 00000000004"), (1, "00000000002 1"), (3, " 98\t5 "), (4, "4 5  6"), (5, "1 0 2 3 ")]
)
def test_zeros_in_front_and_blanks_change_nothing(tmp_path: Path, number: int, row: str) -> None:
    assert bbpe.load(changed(tmp_path, number, row)) == bbpe.load(yttm_file(tmp_path / "y.yttm", ROWS))


def test_a_special_token_of_the_id_minus_one_is_none(tmp_path: Path) -> None:
    tok = bbpe.load(changed(tmp_path, 5, "1 -1 2 -1"))
    assert tok.special_tokens == {"<UNK>": 1, "<BOS>": 2}


@pytest.mark.parametrize(
    ("number", "row", "expected"),
    [
        (1, "2", 2), (1, "-2 1", 2), (1, "2 x", 2), (2, "x 4", 2), (2, "97 4x", 2), (2, "97 4.0", 2), (2, "97 --4", 2),
        (2, "97 -4", 2), (2, "97 -", 2), (2, "\u0669\u0667 4", 2), (2, "97 \u0664", 2), (2, "97 000000000004", 2),
        (2, "97 4 4", 2), (2, "97", 2), (4, "4 5", 3), (4, "4 5 +6", 3), (4, "4 -5 6", 3), (5, "1 0 -2 3", 4),
        (5, "1 0 2 x", 4), (5, "1 0 2 3 4", 4),
    ],
)  # fmt: skip
def test_other_numbers_are_refused_with_their_line(tmp_path: Path, number: int, row: str, expected: int) -> None:
    with pytest.raises(VocabularyError) as caught:
        bbpe.load(changed(tmp_path, number, row))
    least = -1 if expected == 4 else 0
    assert f"line {number}: found {row!r}; expected {expected} numbers, {least} to" in str(caught.value)
