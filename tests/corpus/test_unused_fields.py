"""Options of reading are refused where nothing is read so: fields of plain text, and anything of texts and counts."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import bbpe
from bbpe.corpus.files import check_fields, file_of

PLAIN, RECORDS = "a.txt", "b.jsonl"
TOK = bbpe.train_from_iterator(["see my eyes first"], 262, pattern="gpt2")
#: Calls with files and the options of reading, by function; each of them takes `text_field`.
READING: dict[str, Callable[..., Any]] = {
    "train": lambda files, **options: bbpe.train(files, 258, counting=bbpe.Counting(**options)),
    "extend": lambda files, **options: bbpe.extend(TOK, files, 264, counting=bbpe.Counting(**options)),
    "count": lambda files, **options: bbpe.count(files, pattern="gpt2", **options),
    "plan_count": lambda files, **options: bbpe.plan_count(files, "plan", pattern="gpt2", **options),
    "shard": lambda files, **options: bbpe.shard(files, "shards", TOK, **options),
    "plan_shards": lambda files, **options: bbpe.plan_shards(files, "shards", TOK, **options),
    "count_tokens": lambda files, **options: bbpe.count_tokens(files, TOK, **options),
    "encode_files": lambda files, **options: [*TOK.encode_files(files, **options)],
    "evaluate": lambda files, **options: bbpe.evaluate(TOK, {"one": files}, **options),
    "learning_curve": lambda files, **options: bbpe.learning_curve(TOK, [258], files, **options),
    "compare": lambda files, **options: bbpe.compare(TOK, TOK, files, **options),
    "lint": lambda files, **options: bbpe.lint(TOK, files, **options),
}  # fmt: skip
#: Calls of reports with texts, or with nothing to read.
TEXTS: dict[str, Callable[..., Any]] = {
    "evaluate": lambda **options: bbpe.evaluate(TOK, texts=["see"], **options),
    "learning_curve": lambda **options: bbpe.learning_curve(TOK, [258], texts=["see"], **options),
    "compare": lambda **options: bbpe.compare(TOK, TOK, texts=["see"], **options),
    "compare of nothing": lambda **options: bbpe.compare(TOK, TOK, **options),
    "lint": lambda **options: bbpe.lint(TOK, texts=["see"], **options),
    "lint of nothing": lambda **options: bbpe.lint(TOK, **options),
}


@pytest.fixture(autouse=True)
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Plain text, and records whose field is called "body"."""
    monkeypatch.chdir(tmp_path)
    Path(PLAIN).write_text("see my eyes\n")
    Path(RECORDS).write_text(json.dumps({"body": "see my dogs", "key": "k"}) + "\n")


@pytest.mark.parametrize("name", READING)
def test_plain_text_has_no_field(name: str) -> None:
    """Some records are enough: a corpus may have files of both kinds."""
    with pytest.raises(ValueError, match=r"^(Counting\.)?text_field is 'body'; a\.txt is plain text, which has no f"):
        READING[name](PLAIN, text_field="body")
    READING[name]([PLAIN, RECORDS], text_field="body")


@pytest.mark.parametrize("name", TEXTS)
def test_texts_are_read_without_options(name: str) -> None:
    for option, value in (("text_field", "body"), ("format", "jsonl"), ("format", "text")):
        with pytest.raises(ValueError, match=f"^{option} is '{value}'; expected it only with files, not with texts$"):
            TEXTS[name](**{option: value})
    TEXTS[name](text_field="text", format=None)


def test_corpora_are_checked_together() -> None:
    """One of several corpora may be plain text; texts beside files have no say."""
    bbpe.evaluate(TOK, {"one": PLAIN, "two": RECORDS}, text_field="body")
    bbpe.evaluate(TOK, {"two": RECORDS}, texts={"one": ["see"]}, text_field="body")
    with pytest.raises(ValueError, match=r"a\.txt and 1 other file are plain text"):
        bbpe.evaluate(TOK, {"one": PLAIN, "two": [PLAIN]}, text_field=("body", "text"))


def test_the_message_names_the_fields() -> None:
    found = [file_of(Path(PLAIN))]
    check_fields(found, "text")
    check_fields([], "body")
    with pytest.raises(ValueError, match=r"^text_field is 'body' or 'text'; .* give format='jsonl' if there are recor"):
        check_fields(found, ("body", "text"))


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("text_field", "body"), ("format", "text"), ("on_error", "skip"), ("document", "line"), ("sample", 0.5),
        ("unique", True), ("max_pretoken_bytes", 9), ("checkpoint", "state"),
    ],
)  # fmt: skip
def test_counts_are_not_counted_again(option: str, value: object) -> None:
    """Neither for `extend` nor for `prune`, which also counts nothing without `used_in`."""
    counts, how = bbpe.count(PLAIN, pattern="gpt2"), bbpe.Counting(**{option: value})
    for call, instead in (
        (lambda **more: bbpe.extend(TOK, counts, 1, **more), "counts"),
        (lambda **more: bbpe.prune(TOK, used_in=counts, **more), "counts"),
        (lambda **more: bbpe.prune(TOK, 258, **more), "keep alone"),
    ):
        problem = rf"^Counting\.{option} is {value!r}; expected it only with files to count, not with {instead}$"
        with pytest.raises(ValueError, match=problem):
            call(counting=how)
        call(counting=bbpe.Counting(threads=1, max_memory="2GB"))


def test_uses_are_not_asked_for_where_nothing_is_counted() -> None:
    with pytest.raises(ValueError, match=r"^min_count is 2; expected it only with used_in$"):
        bbpe.prune(TOK, 258, min_count=2)
