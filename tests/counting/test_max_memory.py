"""`max_memory` holds for one endless word, line, cell or compressed file; broken records are named with their place."""

from __future__ import annotations

import gzip
import json
import lzma
import os
import random
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import bbpe
from bbpe import reference
from bbpe.core.count import PretokenTable
from bbpe.corpus.chunks import Cutter
from bbpe.corpus.files import file_of
from bbpe.corpus.sources import Reading
from bbpe.counting import corpus_parts
from bbpe.counting.corpus_parts import Files
from bbpe.counting.counter import PartCounter
from bbpe.counting.counts import Summary
from bbpe.counting.options import Counting


@pytest.fixture
def most(monkeypatch: pytest.MonkeyPatch) -> int:
    """What memory leaves for one text, as if it were little."""
    monkeypatch.setattr(Counting, "most", property(lambda self: 0 if self.max_memory is None else 20_000))
    monkeypatch.setattr("bbpe.counting.options._BLOCK", 4096)
    return 20_000


def counted(path: Path, **options: Any) -> bbpe.PretokenCounts:
    return bbpe.count(path, **{"pattern": "gpt2", "max_memory": "2GB", **options})


@pytest.mark.parametrize("suffix", [".txt", ".txt.gz"])
@pytest.mark.parametrize("text", ["a", " ", "漢", "!", "\n"])
def test_an_endless_word_is_refused_with_its_place(suffix: str, text: str, most: int, tmp_path: Path) -> None:
    data = b"some words, " + text.encode() * 100_000
    path = tmp_path / f"a{suffix}"
    path.write_bytes(gzip.compress(data) if suffix.endswith(".gz") else data)
    said = rf"a{suffix}: there is no place to cut the text before byte 2\d{{4}}, .*max_pretoken_bytes.*larger max_m"
    with pytest.raises(bbpe.MemoryLimitError, match=said):
        counted(path, threads=1)
    assert counted(path, max_memory=None).total
    with pytest.raises(bbpe.MemoryLimitError, match="another max_pretoken_bytes, such as a smaller one"):
        counted(path, threads=1, max_pretoken_bytes=19_000)


@pytest.mark.parametrize(
    ("pattern", "longest", "document"),
    [
        ("gpt2", 1, "file"), ("gpt2", 7, "line"), ("cl100k", 7, "file"), ("cl100k", 1000, "line"),
        ("o200k", 1000, "file"), ("o200k", 1, "line"), ("deepseek_v3", 7, "file"), ("deepseek_v3", 1000, "line"),
    ],
)  # fmt: skip
def test_an_endless_word_is_cut_where_its_pieces_end(
    pattern: str, longest: int, document: Any, most: int, tmp_path: Path
) -> None:
    words = ["a" * 90_001, ".", "漢" * 30_000, "1", "é" * 41_001, "1", " " * 70_000, "x", "!" * 60_000, "abc"]
    data = "".join([*words, "\n" * 50_000]).encode() + b"\x80" * 50_000 + b"<s>" + b"b" * 50_000 + b"<s>\n"
    (tmp_path / "a.txt").write_bytes(data)
    options: dict[str, Any] = {"pattern": pattern, "special_tokens": ["<s>"], "document": document}
    bounded = counted(tmp_path / "a.txt", max_pretoken_bytes=longest, **options)
    free = bbpe.count(tmp_path / "a.txt", max_pretoken_bytes=longest, **options)
    assert list(bounded) == list(free)
    assert bounded.summary == free.summary
    assert free.summary.cut > 3


def test_what_decides_a_pretoken_from_afar_is_not_guessed(most: int, tmp_path: Path) -> None:
    """Of a line feed and blanks cl100k makes one pretoken when another line feed comes, else two."""
    (tmp_path / "a.txt").write_bytes(b"x\n" + b" " * 60_000 + b"x")
    with pytest.raises(bbpe.MemoryLimitError, match=r"a\.txt: there is no place"):
        counted(tmp_path / "a.txt", pattern="cl100k", max_pretoken_bytes=7)
    found = counted(tmp_path / "a.txt", max_pretoken_bytes=7)
    assert list(found) == list(bbpe.count(tmp_path / "a.txt", pattern="gpt2", max_pretoken_bytes=7))


@pytest.mark.parametrize("pattern", [r"\w+|\W", r"(?<=a)b|\s+|\S", r"a+|b"])
def test_a_regex_that_needs_the_whole_text_is_refused(pattern: str, most: int, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"a" * 100_000)
    with pytest.raises(bbpe.MemoryLimitError, match=r"a\.txt: there is no place .*byte 2\d{4}.*named split pattern"):
        counted(tmp_path / "a.txt", pattern=pattern)


def test_a_text_of_an_iterable_may_be_four_times_as_long_as_a_line(most: int) -> None:
    options: dict[str, Any] = {"pattern": "gpt2", "max_memory": "2GB", "threads": 1}
    assert bbpe.count_from_iterator(["see", " x" * (2 * most)], **options).total == 1 + 2 * most
    with pytest.raises(bbpe.MemoryLimitError, match=r"text 1, counted from 0, is longer than the 80\.0 kB"):
        bbpe.count_from_iterator(["see", " x" * (2 * most) + "x"], **options)


@pytest.mark.parametrize("pattern", ["falcon", "bloom", "clip", "whitespace"])
def test_a_long_text_is_split_by_a_named_regex_as_it_is_read(pattern: str, most: int, tmp_path: Path) -> None:
    """It is as long as it likes where each pretoken is short."""
    path = tmp_path / "a.txt"
    path.write_text("some words, 12 " * 5_000)
    assert path.stat().st_size > 3 * most
    counts = counted(path, pattern=pattern, threads=1)
    assert list(counts) == list(counted(path, pattern=pattern, max_memory=None))
    assert counts.summary.documents == 1


def test_a_text_that_the_sample_leaves_out_needs_no_memory(most: int, tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    for text in ("some words " * 10_000, "x" * 100_000):
        path.write_text(text)
        for pattern in ("gpt2", r"\w+(?=\s)|\s|\w+", r"(\w)\1|[^x]"):
            with pytest.raises(bbpe.CorpusError, match="leaves out all of 1 document"):
                counted(path, pattern=pattern, sample=1e-9, threads=1)


def test_a_regex_of_lines_is_within_bounds(most: int, tmp_path: Path) -> None:
    text = "some words\n" * 5_000
    (tmp_path / "a.txt").write_text(text)
    found = counted(tmp_path / "a.txt", pattern=r"\w+|\W", document="line")
    assert dict(found) == reference.count(text.splitlines(keepends=True), pattern=r"\w+|\W")


@pytest.mark.parametrize("suffix", [".jsonl", ".json.gz"])
def test_an_endless_line_is_named(suffix: str, most: int, tmp_path: Path) -> None:
    data = b'{"text": "a"}\n{"text": "' + b"a b " * 20_000 + b'"}\n'
    path = tmp_path / f"a{suffix}"
    path.write_bytes(gzip.compress(data) if suffix.endswith(".gz") else data)
    with pytest.raises(bbpe.MemoryLimitError, match=rf"a{suffix}: line 2 is longer than the 20.0 kB .*larger max_"):
        counted(path)
    assert counted(path, max_memory=None).summary.documents == 2


def test_long_texts_of_an_iterable_are_named(most: int) -> None:
    texts = ["a", "b " * 60_000]
    with pytest.raises(bbpe.MemoryLimitError, match=r"text 1, counted from 0, is longer than the 80.0 kB"):
        bbpe.count_from_iterator(texts, pattern="gpt2", max_memory="2GB")
    with pytest.raises(bbpe.MemoryLimitError, match="text 1,"):
        bbpe.train_from_iterator(iter(texts), 260, counting=bbpe.Counting(max_memory="2GB"))


@pytest.mark.parametrize("sizes", [[30_000], [10] * 600 + [40_000] + [10] * 600, [3000] * 100])
@pytest.mark.parametrize("dictionary", [False, True])
def test_cells(sizes: list[int], dictionary: bool, most: int, tmp_path: Path) -> None:
    pa, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    texts = ["a" * size for size in sizes]
    table = pa.table({"id": range(len(texts)), "text": texts})
    parquet.write_table(table, tmp_path / "a.parquet", use_dictionary=dictionary, row_group_size=700,
                        data_page_size=4000, write_batch_size=4)  # fmt: skip
    if max(sizes) > most:
        said = r"a\.parquet: row group 0: .*20.0 kB.*larger max_memory"
        with pytest.raises(bbpe.MemoryLimitError, match=said):
            counted(tmp_path / "a.parquet")
    else:
        assert counted(tmp_path / "a.parquet").summary.documents == len(sizes)
    assert counted(tmp_path / "a.parquet", max_memory=None).summary.documents == len(sizes)


@pytest.mark.parametrize("suffix", [".xz", ".zst"])
def test_windows_of_decompressors_are_bounded(suffix: str, most: int, tmp_path: Path) -> None:
    data = bytes(random.Random(4).choices(b"abc \n", k=300_000))
    path = tmp_path / f"a.txt{suffix}"
    if suffix == ".xz":
        two = lzma.compress(data[:200_000], preset=0) + b"\0" * 4 + lzma.compress(data[200_000:], preset=0)
        large = lzma.compress(data, preset=6)
    else:
        zstandard = pytest.importorskip("zstandard")
        two = zstandard.compress(data[:200_000], 1) + zstandard.compress(data[200_000:], 1)
        parameters = zstandard.ZstdCompressionParameters.from_level(3, window_log=23, enable_ldm=True)
        maker = zstandard.ZstdCompressor(compression_params=parameters).compressobj()
        large = maker.compress(data) + maker.flush()
    path.write_bytes(large)
    with pytest.raises(bbpe.MemoryLimitError, match=rf"a\.txt{suffix}: .*larger max_memory.*smaller window"):
        counted(path)
    assert dict(counted(path, max_memory=None)) == reference.count([data])
    # within bounds all of it is read, of several streams one after another too
    path.write_bytes(two)
    reading = Reading(most=1 << 20)
    assert b"".join(bytes(event.data) for event in reading.texts(reading.file(path))) == data
    path.write_bytes(two[:-5])
    with pytest.raises(bbpe.CorpusError, match=rf"a\.txt{suffix}: expected a whole"):
        list(reading.texts(reading.file(path)))


def test_places_of_a_forced_cut_are_not_taken_up(tmp_path: Path) -> None:
    """Nobody can go on within a pretoken; the places between stay good."""
    (tmp_path / "a.txt").write_bytes(b"a" * 50_000 + b" b" * 3000)
    task = Counting(max_pretoken_bytes=100).task("gpt2")
    options = replace(task.chunks, reading=Reading(block=2000, most=8000))
    job, summary, table = Files([file_of(tmp_path / "a.txt")], options), Summary(), PretokenTable()
    chunks = list(Cutter(options).chunks(job.sources(corpus_parts.Position())))
    for chunk in chunks:
        summary += PartCounter(options).count_chunk(chunk, table)
    assert sum(chunk.place is None for chunk in chunks) > 3
    assert chunks[-2].place is not None
    assert (summary.cut, summary.bytes, table.items()[0]) == (1, 56_000, (b"a" * 100, 500))


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes with names here")
def test_a_pipe_beside_a_file_is_read_once(tmp_path: Path) -> None:
    (tmp_path / "b.txt").write_text("see my")
    os.mkfifo(tmp_path / "a")
    writer = threading.Thread(target=(tmp_path / "a").write_text, args=("dogs " * 1000,))
    writer.start()
    found = bbpe.count([tmp_path / "a", tmp_path / "b.txt"], pattern="gpt2", max_memory="2GB")
    writer.join()
    assert dict(found) == reference.count(["dogs " * 1000, "see my"])


PEAK = """
import re, sys
from pathlib import Path
import bbpe

try:
    said = str(bbpe.count(sys.argv[1], pattern=sys.argv[2], max_memory=250 << 20).total)
except bbpe.MemoryLimitError as error:
    said = str(error)
print(int(re.search(r"VmHWM:\\s*(\\d+)", Path("/proc/self/status").read_text())[1]) >> 10, said)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.parametrize("kind", ["word.gz", "rows.jsonl.gz", "regex.txt", "cell.parquet"])
def test_the_process_stays_within_its_memory(kind: str, tmp_path: Path) -> None:
    path, size = tmp_path / kind, 240
    block = b"a" * (1 << 20)
    if kind.endswith(".parquet"):
        pa, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
        parquet.write_table(pa.table({"text": ["a"] * 1000 + ["a" * (size << 20)] + ["b"] * 1000}), path)
    else:
        packed = gzip.compress if path.suffix == ".gz" else bytes
        with path.open("wb") as file:
            file.write(packed(b'{"text": "' if "jsonl" in kind else b""))
            file.write(packed(block) * size)
    pattern = r"\w+|\W" if kind.startswith("regex") else "gpt2"
    run = subprocess.run([sys.executable, "-c", PEAK, path, pattern], capture_output=True, text=True, check=True)
    peak, said = run.stdout.split(maxsplit=1)
    assert kind in said
    assert int(peak) <= 250


# -- broken records -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ('{"text": ' + "[" * 5_000, "nested too deeply"),
        ("[" * 5_000, "nested too deeply"),
        ('{"a": ' * 100_000, "nested too deeply"),
        ('{"text": "b", "id": 1' + "0" * 5000 + "}", "expected a JSON object: Exceeds the limit"),
        ('{"text": "b", "id": 2, "text": 1}', "field 'text' is int"),
        ('{"text": "b"} {"text": "c"}', "expected a JSON object: Extra data"),
        ('{"text": {"text": "b"}}', "field 'text' is dict"),
        ('{"text": "caf\xe9"}', "expected a JSON object: 'utf-8'"),
        ('{"text": "b', "expected a JSON object: Invalid control character"),
        ("NaN", "found float"),
        ('{"text": "b"}\x00', "expected a JSON object"),
    ],
    ids=range(11),
)
@pytest.mark.parametrize("name", ["a.jsonl", "a.json"])
def test_faults_of_json_are_named_with_their_line(line: str, said: str, name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(b'{"text": "a"}\n\n' + line.encode("latin-1") + b"\n")
    tok = bbpe.train_from_iterator(["a"], 256)
    with pytest.raises(bbpe.CorpusError, match=rf"{name}: line 3: .*{said}"):
        bbpe.count(tmp_path / name, pattern="gpt2")
    with pytest.raises(bbpe.CorpusError, match=rf"{name}: line 3: .*{said}"):
        list(tok.encode_files(tmp_path / name))


def test_what_json_allows_is_read(tmp_path: Path) -> None:
    records = [
        '{"text": "a\\ud800"}', '{"meta": {"text": 1, "x": ["text"]}, "text": "b"}', '{"text": "\\"text\\""}',
        '{"n": 1e999, "text": "c"}', '{"text": null, "meta": {"text": "no"}}',
    ]  # fmt: skip
    (tmp_path / "a.jsonl").write_text("\r\n".join(records))
    found = bbpe.count(tmp_path / "a.jsonl", pattern="gpt2")
    assert dict(found) == reference.count(["a\ufffd", "b", '"text"', "c"])
    assert (found.summary.documents, found.summary.skipped) == (4, 1)


def test_broken_parquet_files_are_named_with_their_row_group(tmp_path: Path) -> None:
    pa, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    rng, path = random.Random(9), tmp_path / "a.parquet"
    texts = ["".join(rng.choices("abc de", k=50)) for _ in range(3000)]
    parquet.write_table(pa.table({"text": texts}), path, row_group_size=1000, use_dictionary=False)
    whole, metadata = path.read_bytes(), parquet.ParquetFile(path).metadata
    start = metadata.row_group(1).column(0).data_page_offset
    tok, said = bbpe.train_from_iterator(["a"], 256), list[str]()
    for at in [*range(start, start + 60, 5), *(rng.randrange(len(whole)) for _ in range(12))]:
        path.write_bytes(whole[:at] + bytes((whole[at] ^ (1 << rng.randrange(8)),)) + whole[at + 1 :])
        for read in (lambda: bbpe.count(path, pattern="gpt2"), lambda: list(tok.encode_files(path))):
            try:
                read()
            except bbpe.CorpusError as error:
                said.append(str(error))
    assert all("a.parquet" in message for message in said)
    assert sum("row group 1, after row 1" in message for message in said) > 5


# -- special tokens, and texts that are none ----------------------------------------------------------------


def all_ways(tokens: Any) -> Iterator[Any]:
    yield lambda: bbpe.train_from_iterator(["a b"], 300, special_tokens=tokens)
    yield lambda: bbpe.train_from_iterator(["a b"], 300, special_tokens=tokens, model="unigram")
    yield lambda: bbpe.train_from_iterator(["a b"], 300, special_tokens=tokens, model="wordpiece")
    yield lambda: bbpe.train_from_iterator(["a b"], 300, model=bbpe.BPE(alphabet="chars"), special_tokens=tokens)
    yield lambda: bbpe.train_from_counts({"a": 1}, 300, special_tokens=tokens)
    yield lambda: bbpe.train([], 300, special_tokens=tokens)
    yield lambda: bbpe.count([], pattern="gpt2", special_tokens=tokens)
    yield lambda: bbpe.count_from_iterator([], pattern="gpt2", special_tokens=tokens)


@pytest.mark.parametrize(
    ("tokens", "kind", "said"),
    [
        ({"<s>": 300}, TypeError, r"not dict: .*order of the sequence; give list\(special_tokens\)"),
        ({"<s>": 300}.keys(), TypeError, r"not dict_keys.*give sorted\(special_tokens\)"),
        ({"<s>", "</s>"}, TypeError, r"not set: in each run.*give sorted\(special_tokens\)"),
        (frozenset(["<s>"]), TypeError, r"not frozenset: in each run"),
        ((token for token in ("<s>",)), TypeError, "must be a sequence of strings, such as a list, not generator"),
        ("<s>", TypeError, "must be a sequence of strings, such as a list, not str"),
        (None, TypeError, "such as a list, not NoneType"),
        (["<s>", 3], TypeError, r"special_tokens\[1\] must be a str, not int"),
        (["<s>", ""], ValueError, r"special_tokens\[1\] is empty"),
        (["b", "a", "b", "a"], ValueError, "special_tokens: 'b' is given twice"),
    ],
    ids=range(10),
)
def test_special_tokens_are_a_sequence(tokens: Any, kind: type[Exception], said: str) -> None:
    for number, way in enumerate(all_ways(tokens)):
        if tokens is None and number == 4:
            continue  # those of the counts
        with pytest.raises(kind, match=said):
            way()


def test_batches_of_texts_are_texts() -> None:
    texts = ["see my eyes", "see", "", "my dogs"] * 10
    right = bbpe.count_from_iterator(texts, pattern="gpt2")
    for batches in ([texts[:3], tuple(texts[3:9]), [], texts[9:]], (texts[at : at + 7] for at in range(0, 40, 7))):
        found = bbpe.count_from_iterator(batches, pattern="gpt2")
        assert list(found) == list(right)
        assert found.summary == right.summary


@pytest.mark.parametrize("wrong", [None, 3, 2.5, {"text": "a"}])
def test_what_is_no_text_is_numbered(wrong: Any) -> None:
    texts: list[Any] = ["see", "é", b"my", wrong, "dogs"]
    tok = bbpe.train_from_iterator(["see my"], 258)
    for given in (texts, iter(texts), tuple(texts), [["see", "é"], ["my", wrong]]):
        with pytest.raises(TypeError, match=r"text [23], counted from 0: "):
            bbpe.count_from_iterator(given, pattern="gpt2")
    with pytest.raises(TypeError, match=r"expected a list of texts"):
        bbpe.count_from_iterator([["see"], wrong], pattern="gpt2")
    for call in (tok.encode_batch, tok.encode_batch_to_numpy, tok.count_tokens_batch):
        if not isinstance(wrong, dict):
            with pytest.raises(TypeError, match="text 3 of the batch"):
                call(texts)


def test_a_null_column_of_json_is_skipped_and_others_are_numbered(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text("".join(json.dumps({"text": text}) + "\n" for text in ("a", None, 3)))
    with pytest.raises(bbpe.CorpusError, match=r"line 3: field 'text' is int; expected a string or null"):
        bbpe.count(tmp_path / "a.jsonl", pattern="gpt2")
