"""Commands refuse options of reading that nothing they read has: fields of plain text, and anything of counts."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from commands import Call

pytestmark = pytest.mark.usefixtures("here")
OPTION = " --text-field body"


@pytest.mark.parametrize(
    "words",
    [
        "train a.txt --vocab-size 258 -o out.json", "count a.txt --pattern gpt2 -o out.parquet", "lint a.txt -t t.json",
        "encode a.txt -t t.json", "tokens a.txt -t t.json", "bench a.txt -t t.json", "shard a.txt -t t.json -o out",
        "encode -t t.json", "tokens -t t.json", "encode a.txt - -t t.json", "eval a.txt -t t.json",
        "compare t.json u.json a.txt",
    ],
)  # fmt: skip
def test_plain_text_has_no_field(words: str, call: Call) -> None:
    status, output, error = call(words + OPTION, b"see my eyes\n")
    assert (status, output) == (2, "")
    assert "--text-field is 'body'; " in error
    assert "plain text, which has no fields; leave it out, or give --input-format jsonl if there are records" in error
    assert not Path("out").exists()


@pytest.mark.parametrize("words", ["encode a.txt a.jsonl -t t.json", "tokens a.txt a.jsonl -t t.json"])
def test_files_of_both_kinds_are_read(words: str, call: Call) -> None:
    status, output, error = call(words + OPTION)
    assert (status, error) == (0, "")
    assert output.splitlines()[1:] == call(words.replace("a.txt ", "") + OPTION)[1].splitlines() or "total" in output


@pytest.mark.parametrize("words", ["train - --vocab-size 258 -o out.json", "count - --pattern gpt2 -o out.parquet"])
def test_standard_input_is_text_unless_it_is_said_otherwise(words: str, call: Call) -> None:
    status, _, error = call(words + OPTION, b"see my eyes\n")
    assert status == 2
    assert "--text-field is 'body'; standard input is plain text where --input-format does not name another" in error
    assert not Path("out.json").exists()
    assert not Path("out.parquet").exists()
    assert call(words, b"see my eyes\n")[0] == 0


@pytest.mark.parametrize("words", ["encode --lines", "tokens --per-line", "tokens --truncate 3", "tokens --chunk 3"])
def test_lines_have_no_field(words: str, call: Call) -> None:
    status, _, error = call(f"{words} a.txt -t t.json{OPTION}")
    assert status == 2
    assert "--text-field 'body' does not go with an option that takes text, which has no fields" in error


@pytest.mark.parametrize(
    "option",
    [
        "--text-field body", "--input-format text", "--on-error skip", "--document line", "--sample 0.5", "--unique",
        "--max-pretoken-bytes 9", "--checkpoint state",
    ],
)  # fmt: skip
def test_counts_are_not_counted_again(option: str, call: Call) -> None:
    """How to train on them may still be said."""
    assert call("count a.txt --pattern gpt2 -o c.parquet")[0] == 0
    train = "train --counts c.parquet --vocab-size 258 -o out.json"
    for words in (train, "extend -t t.json --counts c.parquet --add 2 -o out.json"):
        status, _, error = call(f"{words} {option}")
        assert status == 2
        assert re.search(f"{option.split()[0]} is .*; expected it only with files to count, not with counts", error)
    assert not Path("out.json").exists()
    assert call(f"{train} --threads 1 --max-memory 2GB")[0] == 0


@pytest.mark.parametrize("option", ["--text-field body", "--input-format text", "--on-error skip"])
def test_nothing_is_counted_to_keep_a_number(option: str, call: Call) -> None:
    assert call("count a.txt --pattern gpt2 -o c.parquet")[0] == 0
    for source, instead in (("--keep 258", "keep alone"), ("--counts c.parquet", "counts")):
        status, _, error = call(f"prune -t t.json -o out.json {source} {option}")
        assert status == 2
        assert re.search(f"{option.split()[0]} is .*; expected it only with files to count, not with {instead}", error)
    status, _, error = call("prune -t t.json -o out.json --keep 258 --min-count 2")
    assert (status, "--min-count is 2; expected it only with --used-in" in error) == (2, True)
