"""The numbers of a summary, each of them by hand, of texts and of files, and how people read them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import bbpe
from bbpe import Summary

TEXTS = ["a b\n", "", "a<s>b<s>", "xx yy\nzz"]
#: Options, and the fields of the summary that are not those of the first row.
ROWS: list[tuple[dict[str, Any], dict[str, int]]] = [
    ({}, {}),
    ({"special_tokens": ["<s>"]}, {"pretokens": 9, "special_tokens_found": 2, "unique": 7}),
    ({"special_tokens": ["<s>", "b<s>"]}, {"pretokens": 8, "special_tokens_found": 2, "unique": 6}),
    ({"max_pretoken_bytes": 1}, {"pretokens": 20, "cut": 4, "unique": 10}),
    ({"max_pretoken_bytes": 2}, {"pretokens": 16, "cut": 1, "unique": 11}),
    ({"max_pretoken_bytes": 3}, {}),
    ({"pattern": "whitespace"}, {"pretokens": 6, "dropped": 4, "unique": 6}),
    ({"pattern": r"[a-z]+|<"}, {"pretokens": 17}),
    ({"pattern": "none"}, {"pretokens": 3, "unique": 3}),
]


@pytest.mark.parametrize(("options", "changes"), ROWS, ids=lambda value: "-".join(map(str, value)) or "usual")
@pytest.mark.parametrize("threads", [1, 2])
def test_numbers_of_a_summary(options: dict[str, Any], changes: dict[str, int], threads: int, tmp_path: Path) -> None:
    expected = {"documents": 4, "bytes": 20, "pretokens": 15, "unique": 10, **changes}
    options = {"pattern": "gpt2", "threads": threads, **options}
    counts = bbpe.count_from_iterator(TEXTS, **options)
    assert counts.summary == Summary(**expected)
    for number, text in enumerate(TEXTS):
        (tmp_path / f"{number}.txt").write_bytes(text.encode())
    of_files = bbpe.count(tmp_path, **options)
    assert of_files.summary == Summary(files=4, **expected)
    assert list(of_files) == list(counts)
    twice = bbpe.count_from_iterator([*TEXTS, *TEXTS], **options, unique=True)
    # what is left out was read, too
    assert twice.summary == Summary(**{**expected, "bytes": 40}, duplicates=4)
    assert list(twice) == list(counts)


@pytest.mark.parametrize(
    ("summary", "expected"),
    [
        (Summary(), "0 documents of 0 files, 0 bytes; 0 pretokens, 0 unique"),
        (Summary(1, 1, 1, 1, 1), "1 document of 1 file, 1 byte; 1 pretoken, 1 unique"),
        (
            Summary(2, 3000, 40_000, 5000, 1000, 1, 1, 1, 1, 1, 1, 1),
            "3,000 documents of 2 files, 40,000 bytes; 5,000 pretokens, 1,000 unique; 1 document left out by the "
            "sample; 1 duplicate left out; 1 record without text skipped; 1 record that cannot be read skipped; "
            "1 special token; 1 pretoken cut; 1 byte between pretokens dropped",
        ),
        (Summary(skipped=2, cut=3000), "0 documents of 0 files, 0 bytes; 0 pretokens, 0 unique; "
         "2 records without text skipped; 3,000 pretokens cut"),
    ],
)  # fmt: skip
def test_a_summary_for_people(summary: Summary, expected: str) -> None:
    assert str(summary) == expected


def test_summaries_add_up_field_by_field() -> None:
    one, other = Summary(*range(12)), Summary(*range(100, 1300, 100))
    assert vars(one + other) == {name: number + 100 * (number + 1) for number, name in enumerate(vars(one))}


@pytest.mark.parametrize(
    ("texts", "lines"),
    [([""], 0), (["", ""], 0), (["", "a\nb"], 2), (["a", "", "b"], 2), (["\n"], 1), (["a\n", "\n\nb"], 4)],
    ids=repr,
)
@pytest.mark.parametrize("threads", [1, 2])
def test_an_empty_text_has_no_lines(texts: list[str], lines: int, threads: int, tmp_path: Path) -> None:
    """Alone, beside others, or as a record, with the same bounds of a text as `str.splitlines`."""
    options: dict[str, Any] = {"pattern": "gpt2", "document": "line", "threads": threads}
    assert bbpe.count_from_iterator(texts, **options).summary.documents == lines
    for number, text in enumerate(texts):
        (tmp_path / f"{number}.txt").write_bytes(text.encode())
        assert bbpe.count(tmp_path / f"{number}.txt", **options).summary.documents == len(text.splitlines())
    assert bbpe.count(tmp_path, **options).summary.documents == lines
    (tmp_path / "records.jsonl").write_text("".join(json.dumps({"text": text}) + "\n" for text in texts), "utf-8")
    assert bbpe.count(tmp_path / "records.jsonl", **options).summary.documents == lines
    assert bbpe.count(tmp_path, **options).summary.documents == 2 * lines
