"""Parts of files for threads: where they are cut, and that a block is counted as what the cutter makes of it."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import bbpe
from bbpe.core.count import PretokenTable
from bbpe.corpus.chunks import ChunkOptions, Cutter, Position
from bbpe.corpus.files import file_of
from bbpe.corpus.sources import Reading
from bbpe.counting.corpus_parts import Files, Iterated
from bbpe.counting.counter import PartCounter
from bbpe.counting.counts import Document, Summary
from bbpe.counting.options import Counting
from bbpe.errors import CorpusError

SPECIALS = ["<|s|>", "\n\n"]
WORDS = ["word", "Word", "é", "漢", "漢字", "1", "'s", ".", "<|s|>", " ", " ", "\n", "\n\n", "\r\n", "\xff"]


def options_of(document: Document, block: int) -> ChunkOptions:
    return replace(Counting(document=document).task("gpt2", SPECIALS).chunks, reading=Reading(block=block))


def files_of(paths: list[Path], options: ChunkOptions) -> Files:
    return Files([file_of(path) for path in paths], options)


@pytest.mark.parametrize("document", ["file", "line"])
def test_a_block_is_counted_as_what_the_cutter_makes_of_it(document: Document, tmp_path: Path) -> None:
    block, paths = 1 << 13, [tmp_path / "a.txt", tmp_path / "b.txt"]
    for seed, path in enumerate(paths):
        text = "".join(random.Random(seed).choices(WORDS, k=50_000))
        path.write_bytes(text.encode("utf-8" if seed else "latin-1", "replace"))  # the latter is not UTF-8
    options = options_of(document, block)
    counter, cutter = PartCounter(options), Cutter(options)
    blocks = 0
    for part in files_of(paths, options).pieces(Position(), 2):
        table, right, summary = PretokenTable(), PretokenTable(), Summary()
        counted = counter.count(part, table)
        sources = [(0, options.reading.texts(file, start=start, stop=stop)) for file, start, stop in part.ranges]
        for chunk in cutter.chunks(sources):
            summary += PartCounter(options).count_chunk(chunk, right)
        assert (counted, table.items()) == (summary, right.items())
        blocks += part.ranges[0][2] is not None
    assert blocks > 20


@pytest.mark.parametrize("lines", [10, 10_001])
def test_a_file_of_another_size_is_an_error_wherever_it_is_read(lines: int, tmp_path: Path) -> None:
    path, block = tmp_path / "a.txt", 1 << 13
    path.write_bytes(b"some words\n" * 10_000)
    options = options_of("file", block)
    first, *_, last = files_of([path], options).pieces(Position(), 2)
    path.write_bytes(b"some words\n" * lines)
    counter = PartCounter(options)
    # only the end of a file can show that it has grown
    for part in (first, last) if lines < 10_000 else (last,):
        with pytest.raises(CorpusError, match=rf"a\.txt: its size changed from 110000 to {11 * lines} bytes"):
            counter.count(part, PretokenTable())


@pytest.mark.parametrize("threads", [2, 5])
def test_the_last_ranges_are_smaller(threads: int, tmp_path: Path) -> None:
    path, block = tmp_path / "a.txt", 1 << 16
    path.write_bytes(b"some words\n" * 100_000)
    parts = list(files_of([path], options_of("file", block)).pieces(Position(), threads))
    ends = [part.read for part in parts]
    sizes = np.diff(ends, prepend=0)
    assert ends[-1] == path.stat().st_size
    assert [part.ranges[0][1] for part in parts] == [0, *ends[:-1]]
    assert block * 3 // 4 < sizes[0] <= sizes.max() <= block
    # none but the last is much larger than the one before, and each thread has small ones in the end
    assert (np.diff(sizes)[:-1] < 128).all()
    assert sizes[-threads:].max() <= block // 2


@pytest.mark.parametrize("threads", [1, 2])
def test_small_files_are_counted_together(threads: int, tmp_path: Path) -> None:
    """Files that are no more than a block go whole to whoever counts them; others between them do not."""
    rng, block = random.Random(threads), 1 << 13
    sizes = [rng.randrange(1, 3000) for _ in range(60)]
    sizes[7], sizes[20], sizes[40] = 0, block, block + 1
    paths = [tmp_path / f"{number:02}.txt" for number in range(60)]
    for path, size in zip(paths, sizes, strict=True):
        path.write_bytes("".join(rng.choices(WORDS, k=size)).encode("latin-1", "replace")[:size])
    options = options_of("file", block)
    parts = list(files_of(paths, options).pieces(Position(), threads))
    whole = [[file.path for file, _, _ in part.ranges] for part in parts if part.ranges]
    assert sorted({*paths} - {path for some in whole for path in some}) == [paths[7], paths[40]]
    assert [paths[20]] in whole
    assert max(map(len, whole)) > 3
    assert all(sum(path.stat().st_size for path in some) <= block for some in whole)
    assert [part.read for part in parts][-1] == sum(sizes)
    counter, table, summary = PartCounter(options), PretokenTable(), Summary()
    for part in parts:
        summary += counter.count(part, table)
    texts = [path.read_bytes() for path in paths]
    expected = bbpe.count_from_iterator(texts, pattern="gpt2", special_tokens=SPECIALS, threads=1)
    assert table.items() == list(expected)
    assert (summary.documents, summary.bytes) == (60, sum(sizes))


def test_parts_are_about_as_large_as_asked(tmp_path: Path) -> None:
    """A packed file counts four times, and what cannot be cut goes whole; texts of an iterable go by their bytes."""
    options = options_of("file", 1 << 12)
    for name in ("a.txt.gz", "b.txt.gz", "c.txt", "d.txt", "e.txt"):
        (tmp_path / name).write_bytes(bytes(1000))
    files = files_of(sorted(tmp_path.iterdir()), options)
    for size, groups in (
        (1, ["a", "b", "c", "d", "e"]), (4000, ["a", "b", "cde"]), (4001, ["ab", "cde"]), (9000, ["abc", "de"]),
        (11_000, ["abcde"]),
    ):  # fmt: skip
        found = ["".join(file.path.name[0] for file, _, _ in part.ranges) for part in files.parts(Position(), size)]
        assert found == groups, size
    texts = Iterated(["word " * 40] * 100, options)
    sizes = [sum(chunk.size for chunk in part.chunks) for part in texts.parts(Position(), 9000)]
    assert sum(sizes) == 20_000
    assert all(9000 <= size < 9000 + 2 * (1 << 12) for size in sizes[:-1])


@pytest.mark.parametrize(
    ("pattern", "document", "is_cut"),
    [("gpt2", "file", True), (r"\w+(?=x)|.", "file", False), (r"\w+(?=x)|.", "line", True)],
)
def test_threads_share_a_large_file_where_it_may_be_cut(
    pattern: str, document: Document, is_cut: bool, tmp_path: Path
) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(b"some words\n" * 20_000)
    chunks = replace(Counting(document=document).task(pattern).chunks, reading=Reading(block=1 << 13))
    files = files_of([path], chunks)
    assert (sum(bool(part.ranges) for part in files.pieces(Position(), 4)) > 10) is is_cut
    assert not any(part.ranges for part in files.pieces(Position(), 1))
    assert (len(list(files.parts(Position(), 1 << 14))) > 5) is is_cut
    sampled = files_of([path], replace(chunks, sample=0.5))
    assert not any(part.ranges for part in sampled.pieces(Position(), 4))


@pytest.mark.parametrize("size", [1, 10, 30])
def test_parts_smaller_than_a_special_token_count_the_same(size: int, tmp_path: Path) -> None:
    path, special = tmp_path / "a.txt", "<|" + "long" * 10 + "|>"
    path.write_text(f"see my eyes {special}first\n" * 12)
    given = {"pattern": "gpt2", "special_tokens": [special]}
    plan = bbpe.plan_count(path, tmp_path / "plan", part_size=size, **given)
    assert len(plan) > 1
    for number in range(len(plan)):
        bbpe.count_part(plan, number)
    assert dict(bbpe.sum_counts(tmp_path / "plan")) == dict(bbpe.count(path, **given))
