"""Plans of counts in words and numbers: what a part holds, what differs, what is missing, and what is expected."""

from __future__ import annotations

import gzip
import re
from pathlib import Path
from typing import Any

import pytest

import bbpe

pytest.importorskip("pyarrow")


@pytest.fixture
def four(tmp_path: Path) -> Path:
    """Four files of 100 bytes each."""
    folder = tmp_path / "corpus"
    folder.mkdir()
    for number, name in enumerate("abcd"):
        (folder / f"{name}.txt").write_text(f"{number} low" * 20)
    return folder


def names(plan: bbpe.CountPlan) -> list[str]:
    """The names of the files in each part."""
    return ["".join(Path(path).name[0] for path, *_ in part) for part in plan.parts]


@pytest.mark.parametrize(
    ("size", "expected"),
    [
        (1, ["a", "b", "c", "d"]), (100, ["a", "b", "c", "d"]), (101, ["ab", "cd"]), (200, ["ab", "cd"]),
        (201, ["abc", "d"]), (300, ["abc", "d"]), (301, ["abcd"]), ("64MB", ["abcd"]),
    ],
)  # fmt: skip
def test_a_part_has_as_many_files_as_reach_its_size(
    size: int | str, expected: list[str], four: Path, tmp_path: Path
) -> None:
    plan = bbpe.plan_count(four, tmp_path / "counts", pattern="gpt2", part_size=size)
    assert names(plan) == expected
    assert len(plan) == len(expected)
    assert [[row[1] for row in part] for part in plan.parts] == [[100] * len(part) for part in expected]
    assert {row[3:] for part in plan.parts for row in part} == {(0, None)}


def test_packed_files_count_four_times(four: Path, tmp_path: Path) -> None:
    (four / "a.txt").unlink()
    packed = gzip.compress(bytes(range(33, 127)))
    (four / "a.txt.gz").write_bytes(packed)
    for size, expected in ((4 * len(packed), "a"), (4 * len(packed) + 1, "ab"), (4 * len(packed) + 101, "abc")):
        plan = bbpe.plan_count(four, tmp_path / str(size), pattern="gpt2", part_size=size)
        assert names(plan)[0] == expected


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"document": "line"}, "document 'file' and 'line'"),
        ({"max_pretoken_bytes": 7}, "max_pretoken_bytes None and 7"),
        ({"sample": 0.5, "on_error": "skip"}, "sample 1.0 and 0.5, on_error 'raise' and 'skip'"),
        ({"special_tokens": ["<s>", "</s>"]}, "special tokens [] and ['</s>', '<s>']"),
        ({"pattern": "cl100k"}, "pattern 'gpt2' and 'cl100k'"),
        ({"format": "text", "document": "line"}, "document 'file' and 'line', format None and 'text'"),
        ({"part_size": 100}, "other files, or the same ones changed or in parts of another size"),
        (
            {"part_size": 100, "pattern": r"\w+", "sample": 0.25},
            "pattern 'gpt2' and '\\\\w+', sample 1.0 and 0.25, other files, or the same ones changed or in parts of "
            "another size",
        ),
    ],
    ids=lambda value: "-".join(value) if isinstance(value, dict) else "",
)
def test_a_difference_of_plans_is_named_once_with_both_values(
    changes: dict[str, Any], expected: str, four: Path, tmp_path: Path
) -> None:
    bbpe.plan_count(four, tmp_path / "counts", pattern="gpt2")
    with pytest.raises(bbpe.CorpusError) as error:
        bbpe.plan_count(four, tmp_path / "counts", **{"pattern": "gpt2", **changes})
    assert str(error.value) == f"{tmp_path / 'counts'}: the folder has another plan, with {expected}"


def test_missing_parts_are_counted_and_the_first_is_named(four: Path, tmp_path: Path) -> None:
    plan = bbpe.plan_count(four, tmp_path / "counts", pattern="gpt2", part_size=100)
    for done, expected in ((0, "3 of 4 parts are missing, first part 1"),
    (2, "2 of 4 parts are missing, first part 1")):
        bbpe.count_part(plan, done)
        with pytest.raises(bbpe.CorpusError, match=f"^{re.escape(str(plan.folder))}: {expected}$"):
            bbpe.sum_counts(plan)


def test_a_part_that_is_done_is_not_counted_again(four: Path, tmp_path: Path) -> None:
    plan = bbpe.plan_count([four / "a.txt", four / "a.txt", four / "b.txt"], tmp_path / "counts", pattern="gpt2")
    first = bbpe.count_part(plan, 0)
    assert (first.documents, first.bytes, first.pretokens) == (3, 300, 120)
    (four / "a.txt").unlink()
    assert bbpe.count_part(plan, 0) == first
    counts = bbpe.sum_counts(plan)
    assert counts.summary.files == 3
    assert list(counts) == [(b"0", 40), (b" low", 60), (b"1", 20)]


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("run-00000.json", "[]", "run-00000.json: expected the record of a part: "),
        ("run-00000.json", "{", "run-00000.json: expected the record of a part: "),
        ("run-00000.json", '{"words": 1}', "run-00000.json: expected the record of a part: "),
        ("plan.json", "[]", "plan.json: expected a plan of a count: "),
        ("plan.json", '{"version": 99}', r"plan.json: expected a plan of a count: .*version is 99; expected \d"),
        ("plan.json", "\xff{", "plan.json: expected a plan of a count: "),
    ],
)
def test_damaged_records_are_named(name: str, content: str, said: str, four: Path, tmp_path: Path) -> None:
    plan = bbpe.plan_count(four, tmp_path / "counts", pattern="gpt2")
    bbpe.count_part(plan, 0)
    (plan.folder / name).write_text(content, "latin-1")
    with pytest.raises(bbpe.CorpusError, match=f"^{re.escape(str(plan.folder))}.{said}"):
        bbpe.sum_counts(plan.folder)


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"pattern": "cl100k"}, "pattern 'gpt2' and 'cl100k'"),
        ({"pattern": "whitespace"}, "pattern 'gpt2' and 'whitespace', pattern drops gaps False and True"),
        ({"document": "line", "special_tokens": ["b", "a"]},
        "special tokens [] and ['a', 'b'], document 'file' and 'line'"),
        ({"max_pretoken_bytes": 4}, "max_pretoken_bytes None and 4"),
    ],
)  # fmt: skip
def test_counts_of_different_kinds_name_all_that_differs(changes: dict[str, Any], expected: str) -> None:
    one = bbpe.count_from_iterator(["x"], pattern="gpt2")
    other = bbpe.count_from_iterator(["x"], **{"pattern": "gpt2", **changes})
    assert one != other
    with pytest.raises(ValueError, match="added up") as error:
        one + other
    assert str(error.value) == f"counts of different kinds cannot be added up: {expected}"


@pytest.mark.parametrize("content", ["\n\n\n", '{"text": ""}\n' * 2])
def test_a_plan_of_a_corpus_without_text_expects_nothing(content: str, tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text(content)
    seen: list[Any] = []
    counts = bbpe.count(tmp_path / "a.jsonl", pattern="gpt2", max_memory="4GB", progress=seen.append)
    assert len(counts) == 0
    assert re.search(r"about 0 unique pretokens of 0 bytes expected, 0 bytes of tables$", seen[0].note)
