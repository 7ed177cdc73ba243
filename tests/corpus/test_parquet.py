"""Parquet files as any program may write them: the sizes of pages, read before the pages are, and the texts."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest
from seeds import full_then_long

import bbpe
from bbpe.corpus.files import file_of
from bbpe.corpus.parquet_pages import Page, pages
from bbpe.corpus.rowfiles import _numbers, buffers_of
from bbpe.corpus.sources import Reading

pa, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")

CODECS = ["none", "snappy", "gzip", "brotli", "zstd", "lz4"]
WORDS = ["see", "my", "eyes", "first", "naïve", "漢字", "\n\n", "12", "don't", "a" * 70]


def drawn_table(generator: random.Random) -> Any:
    """Texts of lengths of one order of magnitude, of any type, some of them null or repeated; other columns beside."""
    count, words = generator.choice([1, 2, 9, 100, 700]), generator.choice([0, 1, 5, 60, 600])
    texts: list[str | None] = [" ".join(generator.choices(WORDS, k=generator.randint(0, words))) for _ in range(count)]
    if generator.random() < 0.3:
        texts = generator.choices(texts[:5], k=count)
    if generator.random() < 0.3:
        texts = [None if generator.random() < 0.2 else text for text in texts]
    kind = generator.choice([pa.string(), pa.large_string(), pa.binary(), pa.string_view(), pa.binary_view()])
    beside = [{"a": [text] * generator.randint(0, 2), "b": None} for text in texts]
    columns = {"id": pa.array(range(count)), "text": pa.array(texts, kind), "nested": pa.array(beside)}
    if generator.random() < 0.2:
        columns["text"] = pa.array(texts, pa.string()).dictionary_encode()
    return pa.table(columns)


def drawn_options(generator: random.Random) -> dict[str, Any]:
    """How a file may be written."""
    yes_or_no = {name: generator.random() < 0.5 for name in (
        "use_dictionary", "write_statistics", "write_page_index", "write_page_checksum", "store_schema",
    )}  # fmt: skip
    return {
        **yes_or_no,
        "version": generator.choice(["1.0", "2.4", "2.6"]),
        "data_page_version": generator.choice(["1.0", "2.0"]),
        "data_page_size": generator.choice([1, 200, 5000, 1 << 20]),
        "write_batch_size": generator.choice([1, 10, 1024]),
        "row_group_size": generator.choice([1, 50, 1 << 20]),
    }


def all_pages(path: Path) -> list[tuple[Any, list[Page]]]:
    """The pages of each column of each row group, and what the footer says of it."""
    metadata = parquet.read_metadata(path)
    groups = [metadata.row_group(number) for number in range(metadata.num_row_groups)]
    columns = [group.column(number) for group in groups for number in range(group.num_columns)]
    with path.open("rb") as file:
        return [
            (each, list(pages(file, each.dictionary_page_offset or each.data_page_offset, each.total_compressed_size)))
            for each in columns
        ]


HUNDREDS = [range(first, first + 100) for first in range(100, 2100, 100)]
SEEDS = [range(6), *full_then_long(HUNDREDS[:3], HUNDREDS[3:])]


@pytest.mark.parametrize("seeds", SEEDS, ids=str)
def test_sizes_of_pages_and_texts_are_right_in_random_files(seeds: range, tmp_path: Path) -> None:
    for seed in seeds:
        generator = random.Random(seed)
        table, options = drawn_table(generator), drawn_options(generator)
        packed, plain = tmp_path / "packed.parquet", tmp_path / "plain.parquet"
        parquet.write_table(table, packed, compression=CODECS[seed % len(CODECS)], **options)
        parquet.write_table(table, plain, compression="none", **options)
        for (column, found), (twin, expected) in zip(all_pages(packed), all_pages(plain), strict=True):
            # the codec does not change where pages end; without one the headers are what the sizes leave
            assert found == expected, seed
            assert sum(values for _, values in found) == column.num_values, seed
            headers = twin.total_uncompressed_size - sum(size for size, _ in found)
            assert twin.total_compressed_size == twin.total_uncompressed_size, seed
            assert 10 * len(found) <= headers, seed
            assert abs(column.total_uncompressed_size - twin.total_uncompressed_size) <= 4 * len(found), seed
        texts = [text for text in parquet.read_table(packed, columns=["text"])["text"].to_pylist() if text is not None]
        right = list(bbpe.count_from_iterator(texts, pattern="gpt2"))
        for memory in (None, "4GB"):
            counts = bbpe.count(packed, pattern="gpt2", max_memory=memory)
            assert (list(counts), counts.summary.documents) == (right, len(texts)), (seed, memory)


def test_a_document_with_statistics_is_counted_within_memory(tmp_path: Path) -> None:
    parquet.write_table(pa.table({"text": ["zz see my dogs."]}), tmp_path / "web.parquet")
    counts = bbpe.count(tmp_path / "web.parquet", pattern="gpt2", max_memory="4GB")
    assert list(counts) == [(b"zz", 1), (b" see", 1), (b" my", 1), (b" dogs", 1), (b".", 1)]


TYPES = ["string", "large_string", "string_view", "binary", "large_binary", "binary_view", "dictionary"]


@pytest.mark.parametrize("memory", [None, "4GB"])
@pytest.mark.parametrize("kind", TYPES)
def test_texts_of_every_type_are_read_by_all_readers(kind: str, memory: str | None, tmp_path: Path) -> None:
    texts = ["see my eyes first, all twelve of them", None, "", "see my dogs", "naïve"] * 3
    column = pa.array(texts).dictionary_encode() if kind == "dictionary" else pa.array(texts).cast(kind)
    keys = pa.array(range(len(texts))).cast("string").cast("string_view")
    parquet.write_table(pa.table({"text": column, "key": keys}), tmp_path / "a.parquet", row_group_size=4)
    kept = [text for text in texts if text is not None]
    tok = bbpe.train_from_iterator(kept, 270)
    counts = bbpe.count(tmp_path / "a.parquet", pattern="gpt2", max_memory=memory)
    assert list(counts) == list(bbpe.count_from_iterator(kept, pattern="gpt2"))
    assert (counts.summary.documents, counts.summary.skipped) == (len(kept), 3)
    assert bbpe.train(tmp_path / "a.parquet", 270, counting=bbpe.Counting(max_memory=memory)) == tok
    ids = [tok.encode(text) for text in kept]
    assert [each.tolist() for each in tok.encode_files(tmp_path / "a.parquet")] == ids
    shards = bbpe.shard(tmp_path / "a.parquet", tmp_path / "out", tok, format="parquet", id_field="key", empty="keep")
    assert [each.tolist() for each in shards] == ids


@pytest.mark.parametrize("memory", [None, "4GB"])
def test_a_column_of_nulls_alone_has_no_texts(memory: str | None, tmp_path: Path) -> None:
    parquet.write_table(pa.table({"text": pa.nulls(5)}), tmp_path / "nulls.parquet")
    parquet.write_table(pa.table({"text": ["see"]}), tmp_path / "texts.parquet")
    summary = bbpe.count(tmp_path, pattern="gpt2", max_memory=memory).summary
    assert (summary.documents, summary.skipped) == (1, 5)
    tok = bbpe.train_from_iterator(["see"], 257)
    assert len(list(tok.encode_files(tmp_path))) == 1
    files = [tmp_path / "nulls.parquet", tmp_path / "texts.parquet"]
    assert len(bbpe.shard(files, tmp_path / "out", tok, eos=None)) == 1


def test_counts_of_other_engines_may_be_views(tmp_path: Path) -> None:
    for kind in TYPES[:-1]:
        pretokens = pa.array(["see", " my"]).cast(kind)
        parquet.write_table(pa.table({"pretoken": pretokens, "count": [2, 1]}), tmp_path / "counts.parquet")
        assert list(bbpe.load_counts(tmp_path / "counts.parquet", pattern="gpt2")) == [(b"see", 2), (b" my", 1)]


def test_a_page_with_a_wrong_checksum_is_named(tmp_path: Path) -> None:
    path = tmp_path / "counts.parquet"
    table = pa.table({"pretoken": pa.array([b"see", b" my"]), "count": [2, 1]})
    options = {"compression": "none", "use_dictionary": False, "write_statistics": False}
    parquet.write_table(table, path, write_page_checksum=True, **options)
    assert list(bbpe.load_counts(path, pattern="gpt2")) == [(b"see", 2), (b" my", 1)]
    path.write_bytes(path.read_bytes().replace(b"see", b"sea", 1))
    with pytest.raises(bbpe.CorpusError, match=rf"{path.name}.*(checksum|CRC|corrupt)"):
        list(bbpe.load_counts(path, pattern="gpt2"))


def test_rows_are_numbered_over_all_row_groups(tmp_path: Path) -> None:
    """With nulls, and more rows than are read at once."""
    path, texts = tmp_path / "a.parquet", [None if number % 7 == 3 else f"text {number}" for number in range(1400)]
    parquet.write_table(pa.table({"text": texts}), path, row_group_size=700)
    right = [(number, text.encode()) for number, text in enumerate(texts) if text is not None]
    assert list(Reading().records(file_of(path))) == right


@pytest.fixture
def few_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows of counts are read two at a time, so that arrays begin within a column of the file."""
    monkeypatch.setattr("bbpe.corpus.rowfiles.ROWS", 2)


@pytest.mark.usefixtures("few_rows")
@pytest.mark.parametrize("number", ["int8", "uint16", "int32", "uint64", "float64", "decimal128"])
def test_counts_are_read_a_few_rows_at_a_time(number: str, tmp_path: Path) -> None:
    kind = pa.decimal128(20, 0) if number == "decimal128" else getattr(pa, number)()
    words, counts = [f"w{n}" for n in range(7)], [5, 1, 0, 9, 3, 2, 7]
    table = pa.table({"pretoken": words, "count": pa.array(counts, pa.int32()).cast(kind)})
    parquet.write_table(table, tmp_path / "c.parquet")
    found = bbpe.load_counts(tmp_path / "c.parquet", pattern="gpt2")
    assert list(found) == [(word.encode(), count) for word, count in zip(words, counts, strict=True)]


def test_numbers_and_texts_of_a_part_of_an_array_are_those_of_the_part() -> None:
    for kind in ("int8", "uint16", "int32", "uint64", "float64"):
        numbers = pa.array([5, 1, 0, 9], getattr(pa, kind)())
        assert _numbers(numbers.slice(1, 2)).tolist() == [1, 0]
        parts = pa.chunked_array([numbers.slice(3), numbers.slice(0, 0), numbers.slice(1, 1)])
        assert _numbers(parts).tolist() == [9, 1]
    for kind in TYPES[:-1]:
        data, offsets = buffers_of(pa.array(["see", "my", "", "eyes"]).cast(kind).slice(1, 3))
        assert (data.tobytes(), offsets.tolist()) == (b"myeyes", [0, 2, 2, 6]), kind


@pytest.mark.usefixtures("few_rows")
@pytest.mark.parametrize(
    ("column", "values", "said"),
    [
        ("count", [1, 2, 3, 4, None], "column 'count' has a null after row 4"),
        ("pretoken", ["a", "b", "c", None, "e"], "column 'pretoken' has a null after row 2"),
        ("count", [1, 2, 3, 4, -6], "a count after row 4 is -6"),
        ("count", [1.0, 2.0, 0.25, 4.0, 5.0], "a count after row 2 is 0.25"),
        ("count", [2.0**60, 2.0, 0.25, 4.0, 5.0], r"a count after row 0 is 1\.15"),
        ("count", pa.array(["1.5", "2", "3", "4", "5"]).cast(pa.decimal128(9, 1)), r"'count' is decimal128\(9, 1\)"),
    ],
)
def test_what_is_wrong_with_counts_is_named_with_its_row(column: str, values: Any, said: str, tmp_path: Path) -> None:
    columns: dict[str, Any] = {"pretoken": list("abcde"), "count": [1, 2, 3, 4, 5], column: values}
    parquet.write_table(pa.table(columns), tmp_path / "c.parquet")
    with pytest.raises(bbpe.CorpusError, match=rf"c\.parquet: (column |){said}"):
        bbpe.load_counts(tmp_path / "c.parquet", pattern="gpt2")


def test_long_statistics_in_the_header_of_a_page_are_read(tmp_path: Path) -> None:
    """They hold the first and the last text, of nearly 4 KiB each."""
    path, texts = tmp_path / "a.parquet", ["a" + "x" * 4000, "z" + "y" * 4000]
    parquet.write_table(pa.table({"text": texts}), path, compression="none", use_dictionary=False)
    ((column, found),) = all_pages(path)
    assert column.total_compressed_size - sum(size for size, _ in found) > 1 << 12
    assert [values for _, values in found] == [2]
    assert bbpe.count(path, pattern="gpt2", max_memory="4GB").summary.documents == 2
