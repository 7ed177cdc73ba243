"""Counting: whatever the way, chunks, threads and memory, the counts are those of the definition, in order."""

from __future__ import annotations

import random
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from options import model_options, train_options
from processes import package_env
from split_cases import SCHEMES
from strings import adversarial_strings, byte_soups

import bbpe
from bbpe import budget, reference
from bbpe.counting import count as count_module
from bbpe.counting import options as count_options

WORDS = ["word", "Word", "1", "'s", "'ll", ".", "!", "é", "漢", "<|s|>", "<|s|>>", "\xff", "verylongword" * 3]
BLANKS = [" ", "  ", "\n", "\r\n", "\n\n", "\t", "\u3000", "\x85"]
SPECIALS = ["<|s|>", "<|s|>>", "\n\n"]
#: A regex of clauses that the compiled splitter does not know.
REGEX = r"[^\W\d_]+|\d|[^\w]|_"


def soup(seed: int, length: int = 500) -> bytes:
    rng = random.Random(seed)
    text = "".join(rng.choices(WORDS + BLANKS, k=length))
    return text.encode() if seed % 2 else text.encode("latin-1", "replace")  # which is not UTF-8


def lines_of(texts: Sequence[str | bytes]) -> list[bytes]:
    """Lines with their ends, where special tokens come first: one may hold a line feed."""
    found = []
    for text in texts:
        data = text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text
        for stretch in reference.cut_at(reference.characters(data), SPECIALS)[::2]:
            found += split_lines(stretch.encode("utf-8", "surrogateescape"))
    return found


def split_lines(data: bytes) -> list[bytes]:
    return [line + b"\n" for line in data.split(b"\n")[:-1]] + [data.split(b"\n")[-1]]


def expected(texts: Sequence[str | bytes], document: str = "file", pattern: str = "gpt2") -> list[tuple[bytes, int]]:
    parts = texts if document == "file" else lines_of(texts)
    return list(reference.count(parts, pattern=pattern, special_tokens=SPECIALS).items())


@pytest.fixture
def files(tmp_path: Path) -> Path:
    folder = tmp_path / "corpus"
    folder.mkdir()
    for seed in range(4):
        (folder / f"{seed}.txt").write_bytes(soup(seed))
    (folder / "5 empty.txt").touch()
    (folder / "6 small.txt").write_bytes(b"word Word 1")
    return folder


@pytest.fixture
def threads_executor() -> Iterator[Executor]:
    with ThreadPoolExecutor(2) as executor:
        yield executor


def texts_of(folder: Path) -> list[bytes]:
    return [path.read_bytes() for path in sorted(folder.iterdir())]


def small_blocks(monkeypatch: pytest.MonkeyPatch, size: int) -> None:
    monkeypatch.setattr(count_options, "_BLOCK", size)
    monkeypatch.setattr(count_module, "_FILES_PART", 4 * size)
    monkeypatch.setattr(count_module, "_TEXTS_PART", 2 * size)


@pytest.mark.parametrize("document", ["file", "line"])
@pytest.mark.parametrize("pattern", ["gpt2", "o200k", "whitespace", "falcon", "none", REGEX])
def test_files_are_counted_by_the_definition(
    pattern: str, document: str, files: Path, monkeypatch: pytest.MonkeyPatch, threads_executor: Executor
) -> None:
    options: dict[str, Any] = {"pattern": pattern, "document": document, "special_tokens": SPECIALS}
    right = expected(texts_of(files), document, pattern)
    ways: list[dict[str, Any]] = [{"threads": 1}, {"threads": 2}, {"executor": threads_executor}]
    # in blocks of a megabyte all ways have one block
    for size, chosen in ((1 << 20, ways[:1]), (3000, ways[1:]), (100, ways[:2])):
        small_blocks(monkeypatch, size)
        for way in chosen:
            counts = bbpe.count(files, **options, **way)
            assert list(counts) == right, (size, way)
            assert counts.summary.files == 6
            assert counts.summary.bytes == sum(map(len, texts_of(files)))
            if document == "file":
                assert counts.summary.documents == 6
            assert counts.total == sum(count for _, count in right)


@pytest.mark.parametrize("document", ["file", "line"])
@pytest.mark.parametrize("pattern", SCHEMES)
def test_chunks_of_any_size_change_nothing(pattern: str, document: str, monkeypatch: pytest.MonkeyPatch) -> None:
    texts = [soup(1, 100), soup(2, 100), *map(str.encode, adversarial_strings(10, seed=3)), *byte_soups(10, seed=4)]
    options: dict[str, Any] = {"pattern": pattern, "document": document, "special_tokens": SPECIALS}
    right = list(bbpe.count_from_iterator(texts, threads=1, **options))
    assert right == expected(texts, document, pattern)
    for size, threads in ((1, 1), (7, 3), (40, 1)):
        small_blocks(monkeypatch, size)
        counts = bbpe.count_from_iterator(texts, threads=threads, **options)
        assert list(counts) == right, (size, threads)
        assert counts.summary.bytes == sum(map(len, texts))
        assert document == "line" or counts.summary.documents == len(texts)


@pytest.mark.parametrize("threads", [1, 2, 4, 7])
def test_threads_change_nothing(threads: int, files: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    small_blocks(monkeypatch, 200)
    counts = bbpe.count(files, pattern="gpt2", special_tokens=SPECIALS, threads=threads)
    assert list(counts) == expected(texts_of(files))


@pytest.mark.parametrize("document", ["file", "line"])
def test_documents_are_the_same_by_any_number_of_threads(
    document: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    small_blocks(monkeypatch, 1000)
    # ends with a line feed, without one, and within a word that reaches far into the last part
    for name, text in {"a": "ab cd\n" * 1500, "b": "ab cd\n" * 1500 + "ef", "c": "ab " * 2000 + "x" * 3000}.items():
        (tmp_path / name).write_text(text)
    for path in (tmp_path, tmp_path / "a", tmp_path / "b", tmp_path / "c"):
        one = bbpe.count(path, pattern="gpt2", document=document, threads=1)
        for threads in (2, 5):
            counts = bbpe.count(path, pattern="gpt2", document=document, threads=threads)
            assert list(counts) == list(one)
            assert counts.summary == one.summary


def test_any_kind_of_text(tmp_path: Path) -> None:
    texts = ["ab é", b"ab", bytearray(b" ab"), memoryview(b"ab"), np.frombuffer(b"\xff ab", np.uint8), "", "\ud800"]
    counts = bbpe.count_from_iterator(texts, pattern="gpt2")
    assert dict(counts) == reference.count([text if isinstance(text, str) else bytes(text) for text in texts])
    assert counts.summary.documents == len(texts)
    for wrong in ([3], [None], [["a"], "b"], ["a", ["b"]], "one text", b"one text", 3, None):
        with pytest.raises(TypeError):
            bbpe.count_from_iterator(wrong, pattern="gpt2")  # type: ignore[arg-type]


def test_count_of_a_and_of_b_is_count_of_both(files: Path) -> None:
    names = sorted(files.iterdir())
    options: dict[str, Any] = {"pattern": "gpt2", "special_tokens": SPECIALS}
    whole = bbpe.count(names, **options)
    for cut in range(1, len(names)):
        both = bbpe.count(names[:cut], **options) + bbpe.count(names[cut:], **options)
        assert list(both) == list(whole)
        assert both == whole
        assert both.summary == whole.summary


def test_a_vocabulary_from_counts_is_the_one_from_text(files: Path, tmp_path: Path) -> None:
    counts = bbpe.count(files, pattern="o200k", special_tokens=SPECIALS)
    counts.save(tmp_path / "counts.parquet")
    loaded = bbpe.load_counts(tmp_path / "counts.parquet")
    for tie_break in ("ids", "bytes", "first"):
        options: dict[str, Any] = {"tie_break": tie_break}
        tok = bbpe.train(files, 330, **train_options(pattern="o200k", special_tokens=SPECIALS, **options))
        for given in (counts, loaded):
            again = bbpe.train_from_counts(given, 330, **model_options(**options))
            assert again == tok
            assert again.merges == tok.merges


@pytest.mark.parametrize("pattern", ["gpt2", "whitespace"])
def test_long_pretokens_are_cut(pattern: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = b"abcdefg abc " + b"x" * 5000 + b" abcd"
    (tmp_path / "a.txt").write_bytes(text)
    right: dict[bytes, int] = {}
    cut = 0
    for pretoken in reference.split(text, pattern):
        cut += len(pretoken) > 4
        for start in range(0, len(pretoken), 4):
            piece = pretoken[start : start + 4]
            right[piece] = right.get(piece, 0) + 1
    for size in (1 << 20, 100):
        small_blocks(monkeypatch, size)
        counts = bbpe.count(tmp_path / "a.txt", pattern=pattern, max_pretoken_bytes=4)
        assert dict(counts) == right
        assert counts.summary.cut == cut
    assert bbpe.train(
        tmp_path / "a.txt", 300, pattern=pattern, counting=bbpe.Counting(max_pretoken_bytes=4)
    ).merges == (bbpe.train_from_counts(counts, 300).merges)


def test_what_is_not_counted_is_told(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"a  b<s>c\n<s>")
    counts = bbpe.count(tmp_path, pattern="whitespace", special_tokens=["<s>"])
    assert counts.summary.special_tokens_found == 2
    assert counts.summary.dropped == 3
    assert counts.summary.documents == 1
    lines = bbpe.count(tmp_path, pattern="gpt2", special_tokens=["<s>"], document="line")
    assert lines.document == "line"
    assert lines.summary.documents == 2
    assert "2 special tokens" in str(lines.summary)


def test_overlapping_special_tokens(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = random.Random(7)
    specials = ["aa", "aab", "ba", "b b"]
    for size in (1, 5, 30):
        small_blocks(monkeypatch, size)
        for _ in range(15):
            texts = ["".join(rng.choices("aab  \n", k=rng.randint(0, 80))) for _ in range(4)]
            right = reference.count(texts, special_tokens=specials)
            found = bbpe.count_from_iterator(texts, pattern="gpt2", special_tokens=specials)
            assert list(found) == list(right.items()), texts


# -- samples -------------------------------------------------------------------------------------------


def test_a_sample_is_of_whole_documents_and_the_same_each_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, threads_executor: Executor
) -> None:
    for number in range(200):
        (tmp_path / f"{number:03}.txt").write_text(f"doc{number} " * 300)
    counts = bbpe.count(tmp_path, pattern="gpt2", sample=0.3)
    kept = {pretoken.strip() for pretoken, _ in counts if pretoken.startswith(b" doc")}
    summary = counts.summary
    assert summary.documents + summary.left_out == 200
    assert 30 < summary.documents < 90
    assert summary.files == 200
    for size in (1 << 20, 4000):  # as large as the head that decides
        small_blocks(monkeypatch, size)
        for way in ({"threads": 1}, {"threads": 3}, {"executor": threads_executor}):
            again = bbpe.count(tmp_path, pattern="gpt2", sample=0.3, **way)
            assert again == counts
    more = bbpe.count(tmp_path, pattern="gpt2", sample=0.6)
    assert kept < {pretoken.strip() for pretoken, _ in more}
    with pytest.raises(bbpe.CorpusError, match="leaves out all of 200"):
        bbpe.count(tmp_path, pattern="gpt2", sample=1e-9)


def test_a_sample_of_lines_and_of_texts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = [f"line{number} of text\n" for number in range(500)] + ["line1 of text\n"] * 2
    (tmp_path / "a.txt").write_text("".join(lines))
    counts = bbpe.count(tmp_path, pattern="gpt2", document="line", sample=0.25)
    assert counts.summary.documents + counts.summary.left_out == 502
    assert 80 < counts.summary.documents < 170
    small_blocks(monkeypatch, 64)
    assert bbpe.count(tmp_path, pattern="gpt2", document="line", sample=0.25) == counts
    by_text = bbpe.count_from_iterator(lines, pattern="gpt2", sample=0.25)
    assert list(by_text) == list(counts)
    assert by_text.summary.left_out == counts.summary.left_out


# -- memory --------------------------------------------------------------------------------------------


def spilling(monkeypatch: pytest.MonkeyPatch, tables: int) -> None:
    """Make tables full at so many bytes, whatever the memory."""
    monkeypatch.setattr(budget.Budget, "of", classmethod(lambda cls, limit, buffers: cls(1 << 40, tables)))


@pytest.mark.parametrize(("tables", "threads"), [(3000, 3), (20000, 1)])
def test_spilling_changes_nothing(
    tables: int, threads: int, files: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("pyarrow")
    options: dict[str, Any] = {"pattern": "gpt2", "special_tokens": SPECIALS}
    whole = bbpe.count(files, **options)
    spilling(monkeypatch, tables)
    small_blocks(monkeypatch, 2000)
    spilled = bbpe.count(files, **options, max_memory="1GB", threads=threads)
    assert spilled.nbytes == 0  # they lie in a file
    assert list(spilled) == list(whole)
    assert spilled.summary == whole.summary
    whole.save(tmp_path / "whole.parquet")
    spilled.save(tmp_path / "spilled.parquet")
    assert (tmp_path / "whole.parquet").read_bytes() == (tmp_path / "spilled.parquet").read_bytes()
    assert spilled + whole == whole + spilled
    assert spilled.most_common(5) == whole.most_common(5)
    assert list(spilled.scale(0.5)) == list(whole.scale(0.5))
    tok = bbpe.train(files, 320, **train_options(**options))
    room = budget.resident_bytes() + 10**9  # of a process that may hold more than that, under a sanitizer
    assert bbpe.train(files, 320, **train_options(**options, max_memory=room)).merges == tok.merges
    first = bbpe.train_from_counts(whole, 320, model=bbpe.BPE(tie_break="first"))
    assert bbpe.train_from_counts(spilled, 320, model=bbpe.BPE(tie_break="first")).merges == first.merges


def test_spilling_by_an_executor(files: Path, monkeypatch: pytest.MonkeyPatch, threads_executor: Executor) -> None:
    pytest.importorskip("pyarrow")
    whole = bbpe.count(files, pattern="gpt2")
    spilling(monkeypatch, 4000)
    small_blocks(monkeypatch, 500)
    assert bbpe.count(files, pattern="gpt2", max_memory="1GB", executor=threads_executor) == whole


@pytest.mark.parametrize("size", ["0", "4 XB", "many", -1, 0, "1.5.1GB", "iB"])
def test_sizes_that_are_none(size: Any) -> None:
    with pytest.raises(ValueError, match=r"size"):
        bbpe.count_from_iterator(["a"], pattern="gpt2", max_memory=size)


def test_too_little_memory_is_refused_at_once() -> None:
    with pytest.raises(ValueError, match=r"max_memory is 1\.0 MB.*expected at least"):
        bbpe.count_from_iterator(["a"], pattern="gpt2", max_memory="1MB")


def test_the_plan_is_shown_before_the_long_part(files: Path) -> None:
    pytest.importorskip("pyarrow")
    seen: list[bbpe.progress.Progress] = []
    counts = bbpe.count(files, pattern="gpt2", max_memory="4GB", progress=seen.append)
    assert seen[0].phase == "plan"
    assert "unique pretokens" in seen[0].note
    assert "4.0 GB" in seen[0].note
    assert seen[-1].note == str(counts.summary)


def test_merging_that_does_not_fit_is_refused_before_it_starts(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("pyarrow")
    rng = random.Random(5)
    texts = ["".join(rng.choices("abcdefghij klmnop", k=200_000)) for _ in range(10)]
    base = budget.resident_bytes()
    spilling(monkeypatch, 1 << 22)
    said = r"unique pretokens.*needs about.*sample=0\.\d+ should fit.*max_memory='"
    with pytest.raises(bbpe.MemoryLimitError, match=said):
        bbpe.train_from_iterator(texts, 40_000, counting=bbpe.Counting(max_memory=base + (24 << 20)))
    assert len(bbpe.train_from_iterator(texts, 300, counting=bbpe.Counting(max_memory=base + (1 << 30))).merges) == 44


# -- arguments -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"pattern": "gpt17"}, ValueError),
        ({"document": "page"}, ValueError),
        ({"special_tokens": "<s>"}, TypeError),
        ({"special_tokens": ["a", "a"]}, ValueError),
        ({"threads": 0}, ValueError),
        ({"executor": 3}, TypeError),
        ({"sample": 0}, ValueError),
        ({"sample": 1.5}, ValueError),
        ({"sample": "0.5"}, TypeError),
        ({"max_pretoken_bytes": 0}, ValueError),
        ({"max_pretoken_bytes": 2.5}, TypeError),
        ({"max_memory": 2.5}, TypeError),
    ],
    ids=str,
)
def test_bad_arguments(options: dict[str, Any], error: type[Exception]) -> None:
    with pytest.raises(error):
        bbpe.count_from_iterator(["text"], **{"pattern": "gpt2", **options})


# -- whole corpora -------------------------------------------------------------------------------------

BOUNDED = """
import re, sys
from pathlib import Path
import bbpe

*files, limit, output = sys.argv[1:]
counts = bbpe.count(files, pattern="gpt2", max_memory=limit or None)
counts.save(output)
print(re.search(r"VmHWM:\\s*(\\d+)", Path("/proc/self/status").read_text())[1])
"""


@pytest.mark.full
@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_five_corpora_within_256_mb(corpus: Callable[..., str], tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    files = []
    for name in ("code", "en", "ja", "multi", "zh"):
        files.append(tmp_path / f"{name}.txt")
        files[-1].write_text(corpus(name), newline="")
    if sum(file.stat().st_size for file in files) < 50_000_000:
        pytest.skip("no corpora that need more memory")
    peaks = {}
    for limit in ("", "256MB"):
        command = [sys.executable, "-c", BOUNDED, *map(str, files), limit, str(tmp_path / f"{limit}.parquet")]
        environment = package_env()
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
        peaks[limit] = int(done.stdout)
    assert peaks["256MB"] <= 300_000
    assert (tmp_path / ".parquet").read_bytes() == (tmp_path / "256MB.parquet").read_bytes()


@pytest.mark.parametrize("document", ["file", "line"])
@pytest.mark.parametrize("threads", [1, 2])
def test_10_mb_in_one_line(threads: int, document: Any, tmp_path: Path) -> None:
    (tmp_path / "words.txt").write_bytes(b" ab" * 3_000_000 + b" \xff\n")
    counts = bbpe.count(tmp_path, pattern="gpt2", document=document, threads=threads)
    assert list(counts) == [(b" ab", 3_000_000), (b" \xff", 1), (b"\n", 1)]
    (tmp_path / "words.txt").write_bytes(b"a" * 10_000_000)
    counts = bbpe.count(tmp_path, pattern="gpt2", document=document, threads=threads, max_pretoken_bytes=1_000_000)
    assert list(counts) == [(b"a" * 1_000_000, 10)]
    assert counts.summary.cut == 1
