"""A folder with files of both pairs of names of GPT-2's format."""

from __future__ import annotations

from pathlib import Path

import pytest
from vocabularies import keys, merge_lines, write_json

import bbpe
from bbpe.errors import VocabularyError
from bbpe.formats.gpt2_files import check_partner, find

PAIRS = (("vocab.json", "merges.txt"), ("encoder.json", "vocab.bpe"))


def write(path: Path, *names: str) -> Path:
    path.mkdir(exist_ok=True)
    for name in names:
        if name.endswith(".json"):
            write_json(path / name, keys())
        else:
            (path / name).write_text("\n".join(["#version: 0.2", *merge_lines()]), "utf-8")
    return path


@pytest.mark.parametrize(
    ("there", "expected"),
    [
        (PAIRS[0], PAIRS[0]), (PAIRS[1], PAIRS[1]), ((*PAIRS[1], *PAIRS[0]), PAIRS[0]),
        ((*PAIRS[1], "merges.txt"), PAIRS[1]), (("vocab.json", "vocab.bpe"), PAIRS[0]), (("vocab.bpe",), PAIRS[0]),
        ((), PAIRS[0]),
    ],
)  # fmt: skip
def test_the_vocabulary_that_is_there_chooses_the_pair(
    tmp_path: Path, there: tuple[str, ...], expected: tuple[str, str]
) -> None:
    path = write(tmp_path / "x", *there)
    assert find(path, PAIRS) == (path / expected[0], path / expected[1])


@pytest.mark.parametrize("there", [(*PAIRS[1], "merges.txt"), PAIRS[0], (*PAIRS[0], "vocab.bpe")])
def test_a_folder_with_a_file_more_is_loaded(tmp_path: Path, there: tuple[str, ...]) -> None:
    assert bbpe.load(write(tmp_path / "x", *there), pattern="gpt2").encode("the") == [257]


@pytest.mark.parametrize("prefix", ["", "own-", "a.b."])
@pytest.mark.parametrize(("name", "pair"), [(name, pair) for pair in PAIRS for name in pair])
def test_either_file_finds_the_other_with_its_prefix(
    tmp_path: Path, prefix: str, name: str, pair: tuple[str, str]
) -> None:
    found = find(str(tmp_path / f"{prefix}{name}"), PAIRS)
    assert found == (tmp_path / f"{prefix}{pair[0]}", tmp_path / f"{prefix}{pair[1]}")


def test_a_file_of_another_name_is_refused(tmp_path: Path) -> None:
    with pytest.raises(VocabularyError, match=r"expected vocab\.json next to merges\.txt or encoder\.json next to voc"):
        find(tmp_path / "vocab.txt", PAIRS)


@pytest.mark.parametrize(("there", "missing"), [PAIRS[0], PAIRS[0][::-1], PAIRS[1], PAIRS[1][::-1]])
def test_a_partner_that_is_missing_is_named(tmp_path: Path, there: str, missing: str) -> None:
    path = write(tmp_path / "x", there)
    with pytest.raises(FileNotFoundError) as caught:
        check_partner(*find(path / there, PAIRS))
    assert caught.value.filename == str(path / missing)
    assert f"{there} is read together with this file" in str(caught.value)
    with pytest.raises(FileNotFoundError, match="is read together with this file, which does not exist"):
        bbpe.load(path / there, pattern="gpt2")
