"""Equal documents count once: against a set of the documents, however the corpus is read and counted."""

from __future__ import annotations

import gzip
import json
import random
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import bbpe
from bbpe.budget import _base
from bbpe.cli import main
from bbpe.core.seen import Digester, SeenTexts
from bbpe.counting import count as count_module
from bbpe.counting import options as options_module

WORDS = ["low", "lower", "lowest", "世界", "see", "my", "eyes", "\n", " ", "12345", "it's"]
#: Read in small blocks, so that documents and duplicates lie in different ones.
BLOCK = 1 << 10


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(options_module, "_BLOCK", BLOCK)
    monkeypatch.setattr(count_module, "_TEXTS_PART", 3 * BLOCK)


def documents(seed: int, count: int = 300) -> list[str]:
    """Documents of which many are equal, some of them longer than a block."""
    rng = random.Random(seed)
    different = [" ".join(rng.choices(WORDS, k=rng.choice([0, 1, 3, 20, 900]))) for _ in range(count // 3)]
    return [rng.choice(different) for _ in range(count)]


def once(texts: list[str]) -> list[str]:
    return list(dict.fromkeys(texts))


def same(found: bbpe.PretokenCounts, texts: list[str], **options: Any) -> None:
    """Check counts against those of the documents without duplicates, in their order."""
    expected = bbpe.count_from_iterator(once(texts), pattern=found.pattern, **options)
    assert list(found) == list(expected)
    assert found.summary.duplicates == len(texts) - len(once(texts)) > 0
    assert found.summary.documents == expected.summary.documents


def jsonl(path: Path, texts: list[str]) -> Path:
    path.write_text("".join(json.dumps({"text": text}) + "\n" for text in texts))
    return path


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("pattern", ["gpt2", r"\w+(?<=\w)|[^\w]+?"])
def test_texts_and_records(tmp_path: Path, threads: int, pattern: str) -> None:
    texts = documents(1)
    counts = bbpe.count_from_iterator(iter(texts), pattern=pattern, unique=True, threads=threads)
    same(counts, texts)
    lines = bbpe.count(jsonl(tmp_path / "a.jsonl", texts), pattern=pattern, unique=True, threads=threads)
    same(lines, texts)
    (tmp_path / "b.jsonl.gz").write_bytes(gzip.compress((tmp_path / "a.jsonl").read_bytes()))
    both = bbpe.count([tmp_path / "a.jsonl", tmp_path / "b.jsonl.gz"], pattern=pattern, unique=True, threads=threads)
    same(both, texts * 2)


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("pattern", ["gpt2", r"\w+(?<=\w)|[^\w]+?"])
def test_files_and_columns(tmp_path: Path, threads: int, pattern: str) -> None:
    """A file is a document, as long as it may be, and so is a row of Parquet; they are equal to each other."""
    pa, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    texts = documents(2, 60)
    files = [tmp_path / f"{number:03}.txt" for number in range(len(texts))]
    for file, text in zip(files, texts, strict=True):
        file.write_text(text)
    for number in range(0, 60, 7):
        packed = files[number].with_suffix(".txt.gz")
        packed.write_bytes(gzip.compress(files[number].read_bytes()))
        files[number] = packed
    same(bbpe.count(files, pattern=pattern, unique=True, threads=threads), texts)
    parquet.write_table(pa.table({"text": texts}), tmp_path / "a.parquet")
    found = bbpe.count([*files, tmp_path / "a.parquet"], pattern=pattern, unique=True, threads=threads)
    same(found, texts * 2)


@pytest.mark.parametrize("threads", [1, 3])
def test_lines(tmp_path: Path, threads: int) -> None:
    text = "\n".join(documents(3))
    (tmp_path / "a.txt").write_text(text)
    lines = text.splitlines(keepends=True)
    found = bbpe.count(tmp_path / "a.txt", pattern="gpt2", document="line", unique=True, threads=threads)
    same(found, lines)
    same(bbpe.count_from_iterator([text], pattern="gpt2", document="line", unique=True), lines)
    expected = bbpe.train_from_iterator(once(lines), 300)
    how = bbpe.Counting(document="line", unique=True)
    assert bbpe.train(tmp_path / "a.txt", 300, counting=how).merges == expected.merges


def test_a_sample_is_of_texts_before_duplicates_are_left_out() -> None:
    texts = documents(4)
    kept = [text for text in texts if bbpe.count_from_iterator([text, ""], pattern="gpt2", sample=0.5).summary.bytes]
    found = bbpe.count_from_iterator(texts, pattern="gpt2", unique=True, sample=0.5)
    sampled = bbpe.count_from_iterator(texts, pattern="gpt2", sample=0.5)
    assert found.summary.documents + found.summary.duplicates == sampled.summary.documents
    assert found.summary.left_out == sampled.summary.left_out > 0
    assert kept
    assert list(found) == list(bbpe.count_from_iterator(once(texts), pattern="gpt2", sample=0.5))


@pytest.mark.parametrize("in_flight", [1, 5])
def test_executors(tmp_path: Path, in_flight: int) -> None:
    pytest.importorskip("pyarrow")
    texts = documents(5, 90)
    jsonl(tmp_path / "a.jsonl", texts)
    with ThreadPoolExecutor(3) as executor:
        options: dict[str, Any] = {"unique": True, "executor": executor, "in_flight": in_flight}
        same(bbpe.count(tmp_path / "a.jsonl", pattern="gpt2", **options), texts)
        same(bbpe.count_from_iterator(texts, pattern="gpt2", **options), texts)


class StoppedError(Exception):
    pass


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("executor", [False, True])
def test_a_count_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int, executor: bool) -> None:
    """StoppedError anywhere, by files and by texts, a count knows which documents it had."""
    pytest.importorskip("pyarrow")
    monkeypatch.setattr(count_module, "_CHECKPOINT_SECONDS", 0.0)
    texts = documents(10 + seed, 60)
    half = len(texts) // 2
    files = [jsonl(tmp_path / "a.jsonl", texts[:half]), tmp_path / "b.txt", jsonl(tmp_path / "c.jsonl", texts[half:])]
    files[1].write_text(long := "low lower " * 900)
    corpus = [*texts[:half], long, *texts[half:]]
    rng = random.Random(seed)

    def stopping(stop: int) -> Iterator[str]:
        for number, text in enumerate(corpus):
            if number == stop:
                raise StoppedError
            yield text

    with ThreadPoolExecutor(2) as pool:
        options: dict[str, Any] = {"pattern": "gpt2", "unique": True, **({"executor": pool} if executor else {})}
        for stop in sorted(rng.sample(range(15, len(corpus)), 2)):
            with pytest.raises(StoppedError):
                bbpe.count_from_iterator(stopping(stop), checkpoint=tmp_path / "texts", **options)
        same(bbpe.count_from_iterator(iter(corpus), checkpoint=tmp_path / "texts", **options), corpus)
        seen = 0

        def progress(now: Any) -> None:
            nonlocal seen
            seen += 1
            if now.phase == "count" and seen == stop:
                raise StoppedError

        for at in (4, 9):
            stop, seen = at, 0
            with pytest.raises(StoppedError):
                bbpe.count(files, checkpoint=tmp_path / "files", progress=progress, **options)
        same(bbpe.count(files, checkpoint=tmp_path / "files", **options), corpus)
        with pytest.raises(bbpe.CorpusError, match="unique was True, now False"):
            bbpe.count(files, checkpoint=tmp_path / "files", **{**options, "unique": False})


def test_memory_that_does_not_suffice_is_named() -> None:
    pytest.importorskip("pyarrow")
    texts = (f"{number}" for number in range(400_000))
    with pytest.raises(bbpe.MemoryLimitError, match=r"^Counting\.unique is True: the digests of [\d,]+ different doc"):
        bbpe.count_from_iterator(texts, pattern="gpt2", unique=True, max_memory=_base() + (20 << 20), threads=1)


def test_within_memory(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    texts = documents(6)
    jsonl(tmp_path / "a.jsonl", texts)
    same(bbpe.count(tmp_path / "a.jsonl", pattern="gpt2", unique=True, max_memory="4GB"), texts)


def test_what_cannot_be_exact_is_refused(tmp_path: Path) -> None:
    jsonl(tmp_path / "a.jsonl", documents(7))
    with pytest.raises(TypeError, match="unique"):
        bbpe.plan_count(tmp_path / "a.jsonl", tmp_path / "plan", pattern="gpt2", unique=True)  # type: ignore[call-arg]
    with pytest.raises(TypeError, match=r"^Counting\.unique must be a bool, not int"):
        bbpe.Counting(unique=1)  # type: ignore[arg-type]


def test_the_command_line_tells_the_number(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("pyarrow")
    texts = documents(8)
    path, out = str(jsonl(tmp_path / "a.jsonl", texts)), str(tmp_path / "c.parquet")
    assert main(["count", path, "--unique", "-o", out]) == 0
    assert f"; {len(texts) - len(once(texts)):,} duplicates left out" in capsys.readouterr().out
    same(bbpe.load_counts(out), texts)


@pytest.mark.parametrize("seed", range(20))
def test_digests_do_not_depend_on_the_pieces(seed: int) -> None:
    rng = random.Random(seed)
    texts = [rng.randbytes(rng.randrange(70)) for _ in range(40)] + [b"", b"\0", b"\0" * 16, b"\0" * 32]
    whole, pieces, known = SeenTexts(), SeenTexts(), set[bytes]()
    for text in [*texts, *texts]:
        digester, at = Digester(), 0
        while at < len(text):
            step = rng.randrange(0, 40)
            digester.update(text[at : at + step])
            at += step
        is_new = text not in known
        known.add(text)
        assert pieces.add(digester) == is_new
        assert list(whole.new(text, np.array([len(text)]))) == ([0] if is_new else [])
    assert len(whole) == len(pieces) == len(known)


def test_no_two_short_texts_have_one_digest() -> None:
    data = np.arange(1 << 18, dtype=np.uint32)
    seen = SeenTexts()
    assert len(seen.new(data.tobytes(), np.arange(4, 4 * len(data) + 4, 4))) == len(data)
    sparse = np.zeros((1 << 12, 64), np.uint8)
    sparse[np.arange(1 << 12), np.arange(1 << 12) % 64] = 1 + np.arange(1 << 12) // 64
    assert len(seen.new(sparse.tobytes(), np.arange(64, 64 * len(sparse) + 1, 64))) == len(sparse)
    assert not len(seen.new(sparse.tobytes(), np.arange(64, 64 * len(sparse) + 1, 64)))
