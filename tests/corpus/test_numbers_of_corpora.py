"""The numbers that a count tells of its corpus: each document is counted, left out, or there already, once."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

import bbpe
from bbpe.corpus.fields import value_of
from bbpe.corpus.files import File
from bbpe.corpus.sources import Reading
from bbpe.corpus.unique import digest_of_file
from bbpe.errors import CorpusError

#: Documents of few bytes and of several blocks, some of them twice.
TEXTS = ["low", "", "lower low\n" * 90, "see", "low", "my eyes " * 300, "my eyes " * 300, "a\nb"] * 3


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bbpe.counting.options._BLOCK", 500)
    monkeypatch.setattr("bbpe.counting.count._TEXTS_PART", 1500)


def corpus(form: str, folder: Path, given: list[str]) -> list[Path]:
    if form == "jsonl":
        path = folder / "a.jsonl"
        path.write_text("".join(json.dumps({"text": text}) + "\n" for text in given))
        return [path]
    paths = [folder / f"{number:02}.txt" for number in range(len(given))]
    for path, text in zip(paths, given, strict=True):
        path.write_text(text)
    return paths


@pytest.mark.parametrize("form", ["jsonl", "txt", "texts"])
@pytest.mark.parametrize("pattern", ["gpt2", r"\w+(?=\s)|\s|\w+"])
@pytest.mark.parametrize("unique", [False, True])
@pytest.mark.parametrize("document", ["file", "line"])
def test_what_is_counted_of_all_documents(
    form: str, pattern: str, unique: bool, document: Any, tmp_path: Path
) -> None:
    options: dict[str, Any] = {"pattern": pattern, "unique": unique, "document": document, "threads": 1}
    given = [text for text in TEXTS if text or document == "file"]
    if form == "texts":
        counts = bbpe.count_from_iterator(given, **options)
    else:
        counts = bbpe.count(corpus(form, tmp_path, given), **options)
    texts = [line for text in given for line in text.splitlines(keepends=True)] if document == "line" else given
    kept = list(dict.fromkeys(texts)) if unique else texts
    found = counts.summary
    assert found.documents == len(kept)
    assert (found.duplicates, found.left_out, found.skipped) == (len(texts) - len(kept), 0, 0)
    assert "".join(kept).count("l") == sum(pretoken.count(b"l") * count for pretoken, count in counts)


@pytest.mark.parametrize("sample", [1e-9, 0.1, 0.5, 0.99, 1 - 1e-12])
@pytest.mark.parametrize("form", ["jsonl", "txt"])
def test_what_a_sample_leaves_out_and_keeps_is_all(sample: float, form: str, tmp_path: Path) -> None:
    texts = [f"document {number}" for number in range(150)]
    if form == "jsonl":
        (tmp_path / "a.jsonl").write_text("".join(json.dumps({"text": text}) + "\n" for text in texts))
        options: dict[str, Any] = {}
    else:
        (tmp_path / "a.txt").write_text("".join(f"{text}\n" for text in texts))
        options = {"document": "line"}
    if sample < 1e-3:
        with pytest.raises(CorpusError, match="leaves out all of 150 documents; use a larger one"):
            bbpe.count(tmp_path, pattern="gpt2", sample=sample, **options)
        return
    counts = bbpe.count(tmp_path, pattern="gpt2", sample=sample, **options)
    found = counts.summary
    assert (found.documents + found.left_out, found.duplicates) == (150, 0)
    assert (found.left_out == 0) == (sample > 0.999)
    assert dict(counts)[b"document"] == found.documents
    assert abs(found.documents - 150 * sample) < 25


@pytest.mark.parametrize("specials", [["<ab>", "a"], ["<ab>", "a", *(f"<{number}>" for number in range(20))]])
def test_a_token_that_would_end_in_the_next_text_is_none(specials: list[str]) -> None:
    """A shorter one that stands in the text itself is one, wherever in the longer one it begins."""
    texts = ["x<a", "b>", "zz<ab>y", "a", "<a", "b>a<"]
    counts = bbpe.count_from_iterator(texts, pattern="whitespace", special_tokens=specials, threads=1)
    assert dict(counts) == {b"x<": 1, b"b>": 2, b"zz": 1, b"y": 1, b"<": 2}
    assert counts.summary.special_tokens_found == 5
    assert counts.summary.documents == 6
    others = ["b>" if special == "a" else special for special in specials]
    counts = bbpe.count_from_iterator(["x<a", "b>q"], pattern="whitespace", special_tokens=others, threads=1)
    assert (dict(counts), counts.summary.special_tokens_found) == ({b"x<a": 1, b"q": 1}, 1)


def test_a_value_that_is_nowhere_is_an_error_unless_there_is_another() -> None:
    record = {"a": {"b": 1}, "c": None}
    assert [value_of(record, name) for name in ("a.b", "c", ("x", "a.b"), ("c", "x"))] == [1, None, 1, None]
    for name in ("x", "a.c", ("x", "y")):
        with pytest.raises(KeyError) as caught:
            value_of(record, name)
        assert caught.value.args == (name,)
        assert value_of(record, name, 7) == 7


def test_a_pipe_is_not_read_twice(tmp_path: Path) -> None:
    with pytest.raises(CorpusError, match=r"pipe: unique=True reads a large file twice, and a pipe .* document='line'"):
        digest_of_file(Reading(), File(tmp_path / "pipe", "text", None))


@pytest.mark.parametrize("suffix", ["", ".gz"])
def test_equal_files_of_several_blocks_are_known(suffix: str, tmp_path: Path) -> None:
    text = b"my eyes see low and lower words\n" * 200
    for name, more in (("a", b""), ("b", b"x"), ("c", b""), ("d", b"")):
        data = text + more
        (tmp_path / f"{name}.txt{suffix}").write_bytes(gzip.compress(data) if suffix else data)
    found = bbpe.count(tmp_path, pattern="gpt2", unique=True).summary
    assert (found.documents, found.duplicates, found.bytes) == (2, 2, 2 * len(text) + 1)
