"""The log of merges: what was merged, how often it occurred then, and what it became, as a slow count says."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

import bbpe
from bbpe.cli import main

TEXTS = ["low lower lowest", "see my eyes first, see my dogs", "naïve 世界 世界\t\\"] * 3
BYTES = {"a": bbpe.BPE(), "b": bbpe.BPE(tie_break="first"), "c": bbpe.BPE(tie_break="bytes", min_frequency=2),
         "d": bbpe.BPE(forbid="ow"), "e": bbpe.BPE(max_token_length=3)}  # fmt: skip


def rows_of(path: Path) -> list[list[str]]:
    head, *rows = path.read_text("utf-8").removesuffix("\n").split("\n")
    assert head == "rank\tleft\tright\tcount\ttoken"
    return [row.split("\t") for row in rows]


def pairs_of(words: dict[tuple[Any, ...], int]) -> Counter[tuple[Any, Any]]:
    """How often each pair of neighbours occurs; in a run of one symbol as often as it can be merged."""
    found: Counter[tuple[Any, Any]] = Counter()
    for word, count in words.items():
        last = None
        for at, pair in enumerate(pairwise(word)):
            if pair[0] == pair[1] and last == at - 1:
                continue
            last = at if pair[0] == pair[1] else None
            found[pair] += count
    return found


def merged(word: tuple[Any, ...], left: Any, right: Any, token: Any) -> tuple[Any, ...]:
    made: list[Any] = []
    at = 0
    while at < len(word):
        joins = word[at : at + 2] == (left, right)
        made.append(token if joins else word[at])
        at += 2 if joins else 1
    return tuple(made)


@pytest.mark.parametrize("name", BYTES)
def test_merges_of_bytes(name: str, tmp_path: Path) -> None:
    path = tmp_path / "merges.tsv"
    tok = bbpe.train_from_iterator(TEXTS, 290, model=BYTES[name], log_merges=path)
    rows = rows_of(path)
    assert [int(row[0]) for row in rows] == list(range(len(tok.merges)))
    counts = bbpe.count_from_iterator(TEXTS, pattern="gpt2")
    words = {tuple(bytes([byte]) for byte in word): count for word, count in counts}
    for row, (left, right) in zip(rows, tok.merges, strict=True):
        assert int(row[3]) == pairs_of(words)[left, right]
        words = {merged(word, left, right, left + right): count for word, count in words.items()}
    # a merge is what its columns say
    spelled = [(row[1], row[2], row[4]) for row in rows if row[1].isascii() and row[2].isascii() and "<" not in row[1]]
    assert all(left + right == token for left, right, token in spelled)
    assert len(spelled) > 5


WORDS = {
    "wordpiece": bbpe.WordPiece(), "by frequency": bbpe.WordPiece(score="frequency"),
    "chars": bbpe.BPE(alphabet="chars"), "ends": bbpe.BPE(alphabet="chars", end_of_word="</w>"),
}  # fmt: skip


@pytest.mark.parametrize("name", WORDS)
def test_merges_of_words(name: str, tmp_path: Path) -> None:
    path = tmp_path / "merges.tsv"
    tok = bbpe.train_from_iterator(["low lower lowest low"], 60, model=WORDS[name], log_merges=path)
    rows = rows_of(path)
    tokens = {token for row in rows for token in (row[1], row[2], row[4])}
    assert len(rows) > 3
    assert tokens <= {*tok.get_vocab()}
    first = {"wordpiece": ("##e", "##r", "1"), "by frequency": ("l", "##o", "4"), "chars": ("l", "o", "4"),
             "ends": ("l", "o", "4")}  # fmt: skip
    left, right, count = first[name]
    assert (left, right, count) in {(row[1], row[2], row[3]) for row in rows}


def test_controls_and_bytes_are_escaped(tmp_path: Path) -> None:
    path = tmp_path / "merges.tsv"
    bbpe.train_from_iterator(["a\n\n\t\t\\\\世世"] * 5, 300, pattern="none", log_merges=path)
    tokens = {row[4] for row in rows_of(path)}
    assert {r"a\n", "<0xE4><0xB8>"} <= tokens or {r"\n\n", r"\t\t"} & tokens
    assert all(len(row) == 5 for row in rows_of(path))


def test_the_same_of_counts_and_files(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("".join(TEXTS))
    given: dict[str, Any] = {"vocab_size": 280, "model": BYTES["a"]}
    bbpe.train(tmp_path / "a.txt", **given, log_merges=tmp_path / "x.tsv")
    counts = bbpe.count(tmp_path / "a.txt", pattern="gpt2")
    bbpe.train_from_counts(counts, **given, log_merges=str(tmp_path / "y.tsv"))
    assert (tmp_path / "x.tsv").read_bytes() == (tmp_path / "y.tsv").read_bytes()


@pytest.mark.parametrize(("path", "error", "said"), [
    ("none/m.tsv", FileNotFoundError, "there is no such folder to write the merges in"),
    ("s3://bucket/m.tsv", ValueError, "the merges are not written to a URL"),
    (5, TypeError, "log_merges must be"),
    ("m.json", ValueError, r"m\.json: the merges cannot have the suffix '\.json'; expected \.tsv or \.txt"),
    ("s3://bucket/m.csv", ValueError, r"the merges cannot have the suffix '\.csv'"),
])  # fmt: skip
def test_wrong_files_are_found_before_the_work(path: Any, error: type[Exception], said: str) -> None:
    with pytest.raises(error, match=said):
        bbpe.train_from_iterator(iter(lambda: 1 / 0, 1), 300, log_merges=path)  # type: ignore[arg-type]


def test_a_model_without_merges_has_no_log(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(ValueError, match=r"log_merges is 'm\.tsv', and Unigram has no merges"):
        bbpe.train_from_iterator(TEXTS, 280, model="unigram", log_merges="m.tsv")
    (tmp_path / "a.txt").write_text("".join(TEXTS))
    words = ["train", str(tmp_path / "a.txt"), "--vocab-size", "280", "--model", "unigram", "--quiet"]
    assert main([*words, "-o", str(tmp_path / "x.json"), "--log-merges", "m.tsv"]) == 2
    assert capfd.readouterr().err.startswith("bbpe: error: --log-merges is 'm.tsv', and Unigram has no merges")
    assert main([*words, "-o", str(tmp_path / "x.json")]) == 0
    assert " merge" not in capfd.readouterr().out


def test_the_command_writes_it_beside_the_tokenizer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.txt").write_text("".join(TEXTS))
    line = "train a.txt --vocab-size 280 --quiet -o x.json --log-merges"
    assert main([*line.split(), "m.tsv"]) == 0
    assert len(rows_of(Path("m.tsv"))) == len(bbpe.load("x.json").merges)
    assert main([*line.split(), "x.json"]) == 1
    assert main([*line.split(), "a.txt"]) == 1
    assert Path("a.txt").read_text() == "".join(TEXTS)


@pytest.mark.parametrize("named", ["a.txt", ".", "*.txt", "link.txt"])
def test_a_file_of_the_corpus_is_not_replaced(named: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.txt").write_text(TEXTS[0])
    Path("link.txt").symlink_to("a.txt")
    with pytest.raises(ValueError, match=r"^a\.txt: the merges would replace a file of the corpus; choose"):
        bbpe.train(iter([named]), 258, log_merges="a.txt")
    assert Path("a.txt").read_text() == TEXTS[0]
    bbpe.train(iter([named]), 258, log_merges="merges.tsv")
    assert len(rows_of(Path("merges.tsv"))) == 2


def test_a_log_is_written_again_whatever_names_the_corpus(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    path, log = tmp_path / "corpus.txt", tmp_path / "log.tsv"
    path.write_text("low lower lowest low", "utf-8")
    for corpus in (str(path), "corpus.txt", path, [path], (str(path),), iter([path]), iter(["corpus.txt"])):
        log.write_text("old", "utf-8")
        tok = bbpe.train(corpus, 258, log_merges=log)
        assert tok.merges == [(b"l", b"o"), (b"lo", b"w")]
        assert [row[1:3] for row in rows_of(log)] == [["l", "o"], ["lo", "w"]]


@pytest.mark.parametrize("way", ["read-only", "hard links"])
def test_a_log_that_cannot_be_replaced_is_found_before_the_work(way: str, tmp_path: Path) -> None:
    log = tmp_path / "log.tsv"
    log.write_text("old", "utf-8")
    if way == "read-only":
        log.chmod(0o444)
    else:
        (tmp_path / "other.tsv").hardlink_to(log)

    unread: Any = iter(lambda: 1 / 0, 1)
    with pytest.raises(OSError, match=way) as caught:
        bbpe.train_from_iterator(unread, 300, log_merges=log)
    assert caught.value.filename == str(log)
    assert log.read_text("utf-8") == "old"
