"""`PretokenCounts`: sums, weights, and Parquet files of ours and of other engines."""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import bbpe
from bbpe.core.count import PretokenTable
from bbpe.core.rows import Block, gather, hashes, sum_rows, take
from bbpe.corpus.rowfiles import Rows, regrouped
from bbpe.records import replace
from bbpe.text import text_bytes

pa = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")

TEXTS = ["low lower lowest", "new newer", "low \udcff\x00 é"]


def counts_of(texts: list[str], **options: Any) -> bbpe.PretokenCounts:
    return bbpe.count_from_iterator(texts, **{"pattern": "gpt2", **options})


def test_what_is_saved_comes_back(tmp_path: Path) -> None:
    counts = counts_of(TEXTS, special_tokens=["<s>", "é\ud800"], document="line", max_pretoken_bytes=9)
    counts.save(tmp_path / "c.parquet")
    again = bbpe.load_counts(tmp_path / "c.parquet")
    assert again == counts
    assert list(again) == list(counts)
    assert (again.spec, again.summary, again.total) == (counts.spec, counts.summary, counts.total)
    table = parquet.read_table(tmp_path / "c.parquet")
    assert table.schema.field("pretoken").type == pa.binary()
    assert table.schema.field("count").type == pa.uint64()
    record = json.loads(table.schema.metadata[b"bbpe"])
    assert record["pattern"]["name"] == "gpt2"
    assert record["unicode"] == "16.0.0"
    assert record["normalisation"] is None
    assert record["special_tokens"] == ["<s>", "é\ud800"]
    assert record["document"] == "line"
    assert record["summary"]["bytes"] == counts.summary.bytes
    assert record["summary"]["pretokens"] == counts.total == 8


def test_counts_travel_between_processes() -> None:
    counts = counts_of(TEXTS, special_tokens=["<s>"])
    again = pickle.loads(pickle.dumps(counts))
    assert again == counts
    assert (again.spec, again.summary) == (counts.spec, counts.summary)
    assert list(again + counts) == [(pretoken, 2 * count) for pretoken, count in counts]


@pytest.mark.parametrize("pattern", ["o200k", "clip", "whitespace", r"\d+|\D", ("[0-9]", "[a-z]+")])
def test_every_kind_of_pattern_is_kept(pattern: Any, tmp_path: Path) -> None:
    counts = counts_of(["ab 12 cd"], pattern=pattern)
    counts.save(tmp_path / "c.parquet")
    again = bbpe.load_counts(tmp_path / "c.parquet", pattern=pattern)
    assert again.spec == counts.spec
    assert list(again + counts) == [(pretoken, 2 * count) for pretoken, count in counts]


def test_sizes(tmp_path: Path) -> None:
    counts = counts_of(TEXTS)
    assert len(counts) == len(list(counts)) == counts.summary.unique
    assert counts.total == sum(count for _, count in counts)
    assert counts.most_common(1) == [(b"low", 2)]
    assert counts.most_common() == sorted(counts, key=lambda item: -item[1])
    # equal counts in the order of their first appearance
    several = counts_of(["c b a c b z"])
    assert several.most_common(3) == [(b" b", 2), (b"c", 1), (b" a", 1)]
    assert several.most_common() == [*several.most_common(3), (b" c", 1), (b" z", 1)]
    assert counts.pretoken_bytes() == sum(len(pretoken) for pretoken, _ in counts)
    assert "gpt2" in repr(counts)
    assert counts != 3
    with pytest.raises(TypeError):
        hash(counts)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"pattern": "cl100k"}, "pattern 'gpt2' and 'cl100k'"),
        ({"special_tokens": ["<s>"]}, r"special tokens \[\] and \['<s>'\]"),
        ({"document": "line"}, "document 'file' and 'line'"),
        ({"max_pretoken_bytes": 5}, "max_pretoken_bytes None and 5"),
        ({"pattern": r"\w+"}, r"pattern 'gpt2' and '\\\\w\+'"),
    ],
)
def test_counts_of_different_kinds_do_not_add_up(options: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        counts_of(TEXTS) + counts_of(TEXTS, **options)


def test_counts_of_an_older_unicode_do_not_add_up() -> None:
    counts = counts_of(TEXTS, pattern=r"\w+")
    older = bbpe.PretokenCounts.of_table(counts.table(), replace(counts.spec, unicode="15.1.0"))
    with pytest.raises(ValueError, match=r"Unicode version '16\.0\.0' and '15\.1\.0'"):
        _ = counts + older


def test_counts_normalised_otherwise_do_not_add_up(tmp_path: Path) -> None:
    counts = counts_of(TEXTS)
    spec = replace(counts.spec, normalisation="NFC")
    other = bbpe.PretokenCounts.of_table(counts.table(), spec)
    for a, b, said in ((counts, other, "None and 'NFC'"), (other, counts, "'NFC' and None")):
        with pytest.raises(ValueError, match=f"cannot be added up: normalisation {said}$"):
            a + b
        with pytest.raises(ValueError, match=f"normalisation {said}$"):
            sum([a, b])
        assert a != b
    other.save(tmp_path / "c.parquet")
    assert bbpe.load_counts(tmp_path / "c.parquet").spec.normalisation == "NFC"
    assert (other + other).spec == spec


def test_arguments_that_differ_from_a_file_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "c.parquet"
    counts_of(TEXTS, special_tokens=["<s>"], document="line").save(path)
    options: dict[str, Any] = {"pattern": "gpt2", "special_tokens": ["<s>"], "document": "line"}
    for name, value, said in (
        ("pattern", "cl100k", "pattern 'gpt2' and 'cl100k'"),
        ("special_tokens", ["<x>"], r"special tokens \['<s>'\] and \['<x>'\]"),
        ("special_tokens", [], r"special tokens \['<s>'\] and \[\]"),
        ("document", "file", "document 'line' and 'file'"),
    ):
        for given in ({name: value}, {**options, name: value}):
            with pytest.raises(ValueError, match=rf"c\.parquet: the file and the arguments differ: {said}$"):
                bbpe.load_counts(path, **given)
        assert list(bbpe.load_counts(path, **{name: options[name]})) == list(bbpe.load_counts(path, **options))


def test_only_counts_add_up() -> None:
    with pytest.raises(TypeError):
        counts_of(TEXTS) + {b"a": 1}  # type: ignore[operator]


def test_the_order_of_special_tokens_is_no_difference() -> None:
    a, b = counts_of(TEXTS, special_tokens=["<a>", "<b>"]), counts_of(TEXTS, special_tokens=["<b>", "<a>"])
    assert (a + b).special_tokens == ("<a>", "<b>")


def test_weights_round_half_to_even_and_to_one_at_least() -> None:
    texts = ["a"] * 1 + ["b"] * 3 + ["c"] * 5 + ["d"] * 7
    for weight, right in ((0.5, [1, 2, 2, 4]), (0.01, [1, 1, 1, 1]), (1.5, [2, 4, 8, 10]), (2, [2, 6, 10, 14])):
        scaled = counts_of(texts).scale(weight)
        assert [count for _, count in scaled] == right
        assert [count for _, count in scaled] == [max(1, round(n * weight)) for n in (1, 3, 5, 7)]
        assert scaled.total == sum(right)
    mixture = counts_of(["a b"]).scale(3) + counts_of(["b a"]).scale(0.5)
    assert list(mixture) == [(b"a", 3), (b" b", 3), (b"b", 1), (b" a", 1)]
    for wrong in (0, -1, float("nan"), float("inf")):
        with pytest.raises(ValueError, match="weight"):
            counts_of(texts).scale(wrong)
    for wrong in ("2", None, True):
        with pytest.raises(TypeError):
            counts_of(texts).scale(wrong)  # type: ignore[arg-type]
    with pytest.raises(OverflowError):
        counts_of(texts).scale(2.0**63)


@pytest.mark.parametrize("big", [2**33, 2**40])
def test_counts_beyond_32_bits_train(big: int, tmp_path: Path) -> None:
    table = pa.table({"pretoken": [b"ab", b"cd", b"abcd"], "count": pa.array([big, big + 1, 1], pa.uint64())})
    parquet.write_table(table, tmp_path / "big.parquet")
    counts = bbpe.load_counts(tmp_path / "big.parquet", pattern="gpt2")
    assert counts.total == 2 * big + 2
    doubled = counts + counts
    assert list(doubled) == [(b"ab", 2 * big), (b"cd", 2 * big + 2), (b"abcd", 2)]
    doubled.save(tmp_path / "doubled.parquet")
    assert bbpe.load_counts(tmp_path / "doubled.parquet") == doubled
    for given in (counts, doubled):
        assert bbpe.train_from_counts(given, 258).merges == [(b"c", b"d"), (b"a", b"b")]


# -- files of other engines ----------------------------------------------------------------------------

TYPES = [pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.uint8(), pa.uint64(), pa.float64(), pa.decimal128(20, 0)]

CODED = pa.dictionary(pa.int32(), pa.string())
WORDS = [pa.binary(), pa.large_binary(), pa.string(), pa.large_string(), CODED]


@pytest.mark.parametrize(
    ("number", "text"), [*zip(TYPES, WORDS * 2, strict=False), *((TYPES[2], text) for text in WORDS)], ids=str
)
def test_any_column_types(number: Any, text: Any, tmp_path: Path) -> None:
    path = tmp_path / "c.parquet"
    words = pa.array(["é", "ab", "é", ""]).cast(pa.string())
    words = words.dictionary_encode() if pa.types.is_dictionary(text) else words.cast(text)
    numbers = pa.array([3, 1, 4, 0], pa.int32()).cast(number)
    parquet.write_table(pa.table({"other": [1, 2, 3, 4], "pretoken": words, "count": numbers}), path)
    assert list(bbpe.load_counts(path, pattern="gpt2")) == [("é".encode(), 7), (b"ab", 1), (b"", 0)]
    with pytest.raises(ValueError, match=r"c\.parquet.*pass pattern="):
        bbpe.load_counts(path)


def test_duckdb_makes_and_sums_counts(tmp_path: Path) -> None:
    duckdb = pytest.importorskip("duckdb")
    for name, texts in (("a", TEXTS), ("b", TEXTS[:1])):
        counts_of(texts).save(tmp_path / f"{name}.parquet")
    duckdb.sql(
        f"copy (select pretoken, sum(count) as count from '{tmp_path}/[ab].parquet' group by pretoken) "
        f"to '{tmp_path}/sum.parquet'"
    )
    summed = bbpe.load_counts(tmp_path / "sum.parquet", pattern="gpt2")
    assert dict(summed) == dict(counts_of(TEXTS) + counts_of(TEXTS[:1]))


@pytest.mark.parametrize(
    ("columns", "said"),
    [
        ({"pretoken": ["a"]}, "'count'"),
        ({"count": [1]}, "'pretoken'"),
        ({"pretoken": [1], "count": [1]}, "'pretoken' is int64"),
        ({"pretoken": ["a"], "count": ["1"]}, "'count' is string"),
        ({"pretoken": ["a"], "count": [-1]}, "-1"),
        ({"pretoken": ["a"], "count": [1.5]}, "1.5"),
        ({"pretoken": ["a"], "count": [2.0**53]}, "9007199254740992"),
        ({"pretoken": ["a", None], "count": [1, 2]}, "'pretoken' has a null"),
        ({"pretoken": ["a", "b"], "count": [1, None]}, "'count' has a null"),
    ],
)
def test_columns_that_are_no_counts(columns: dict[str, Any], said: str, tmp_path: Path) -> None:
    parquet.write_table(pa.table(columns), tmp_path / "c.parquet")
    with pytest.raises(bbpe.CorpusError, match=rf"c\.parquet.*{said}"):
        bbpe.load_counts(tmp_path / "c.parquet", pattern="gpt2")


def test_files_that_are_no_counts(tmp_path: Path) -> None:
    path = tmp_path / "c.parquet"
    with pytest.raises(FileNotFoundError):
        bbpe.load_counts(path)
    path.write_bytes(b"text")
    with pytest.raises(bbpe.CorpusError, match=r"c\.parquet"):
        bbpe.load_counts(path)
    table = pa.table({"pretoken": ["a"], "count": [1]})
    for broken in (b"{", b"[]", b"{}", b'{"version": 9}'):
        parquet.write_table(table.replace_schema_metadata({b"bbpe": broken}), path)
        with pytest.raises(bbpe.CorpusError, match=r"c\.parquet"):
            bbpe.load_counts(path)
    counts_of(TEXTS).save(path)
    with pytest.raises(ValueError, match=r"c\.parquet.*'gpt2' and 'o200k'"):
        bbpe.load_counts(path, pattern="o200k")


def test_training_refuses_another_pattern() -> None:
    counts = counts_of(TEXTS, special_tokens=["<s>"])
    assert bbpe.train_from_counts(counts, 270, pattern="r50k_base").special_tokens == {"<s>": 269}
    assert bbpe.train_from_counts(counts, 270, special_tokens=["<t>", "<u>"]).special_tokens == {"<t>": 268, "<u>": 269}
    with pytest.raises(ValueError, match="'gpt2' and 'o200k'"):
        bbpe.train_from_counts(counts, 270, pattern="o200k")


def test_an_error_while_saving_leaves_what_was_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "c.parquet"
    counts_of(TEXTS).save(path)
    before = path.read_bytes()

    def fail(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("bbpe.corpus.rowfiles.RowFileWriter.write", fail)
    with pytest.raises(KeyboardInterrupt):
        counts_of(["other"]).save(path)
    assert path.read_bytes() == before
    assert [file.name for file in tmp_path.iterdir()] == ["c.parquet"]


def test_without_pyarrow_the_error_says_how_to_get_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "pyarrow", None)
    monkeypatch.setitem(__import__("sys").modules, "pyarrow.parquet", None)
    with pytest.raises(ImportError, match=r"pip install 'bbpe\[data\]'"):
        counts_of(TEXTS).save(tmp_path / "c.parquet")
    with pytest.raises(ImportError, match="pyarrow"):
        counts_of(TEXTS, max_memory="4GB")


# -- rows ----------------------------------------------------------------------------------------------


def rows_of(words: list[bytes]) -> Rows:
    offsets = np.cumsum([0, *map(len, words)], dtype=np.int64)
    return Rows(np.frombuffer(b"".join(words), np.uint8), offsets, np.arange(len(words), dtype=np.uint64))


def words_of(rows: Rows) -> list[bytes]:
    return [rows.data[a:b].tobytes() for a, b in zip(rows.offsets[:-1], rows.offsets[1:], strict=True)]


def test_rows_are_taken_summed_and_regrouped() -> None:
    words = [b"a", b"", b"bc", b"a", b"bc", b"", b"d" * 40]
    rows = rows_of(words)
    assert words_of(rows.take(np.array([6, 0, 1, 6]))) == [words[6], b"a", b"", words[6]]
    firsts, sums = sum_rows(rows.data, rows.offsets, rows.counts)
    assert firsts.tolist() == [0, 1, 2, 6]
    assert sums.tolist() == [0 + 3, 1 + 5, 2 + 4, 6]
    for size in (1, 2, 3, 7, 10):
        groups = list(regrouped(iter([rows.slice(0, 2), rows.slice(2, 2), rows.slice(2, 7)]), size))
        assert [len(group) for group in groups[:-1]] == [size] * (len(groups) - 1)
        assert [word for group in groups for word in words_of(group)] == words
    values = hashes(rows.data, rows.offsets)
    assert values[0] == values[3]
    assert len(set(values.tolist())) == 4
    with pytest.raises(OverflowError):
        sum_rows(rows.data, rows.offsets, np.full(7, 2**63, np.uint64))


def test_rows_that_do_not_fit_their_data() -> None:
    data = np.zeros(3, np.uint8)
    for offsets in ([0, 4], [0, 2, 1], [-1, 2], []):
        with pytest.raises(ValueError, match="offsets"):
            hashes(data, np.array(offsets, np.int64))
    with pytest.raises(IndexError):
        take(data, np.array([0, 3]), np.array([1]))


def test_a_count_beyond_64_bits_is_refused() -> None:
    table = PretokenTable()
    table.add(b"a", 2**63)
    with pytest.raises(OverflowError):
        table.add(b"a", 2**63)


def test_a_block_knows_whether_it_is_viewed() -> None:
    block = Block(3)
    assert not block.is_viewed
    view = memoryview(block)
    view[:] = b"abc"
    part = view[1:]
    del view
    assert block.is_viewed
    assert bytes(part) == b"bc"
    array = np.frombuffer(block, np.uint8)
    del part
    assert block.is_viewed
    assert array.tolist() == [97, 98, 99]
    del array
    assert not block.is_viewed
    assert not len(memoryview(Block(0)))
    with pytest.raises(ValueError, match="-1"):
        Block(-1)


def test_texts_are_gathered_up_to_a_limit() -> None:
    texts = iter(["ab", "é", b"xyz", "", memoryview(b"q"), "\ud83d\ude00"])
    assert gather(texts, 4, text_bytes)[1].tolist() == [2, 4]
    data, ends = gather(texts, 100, text_bytes)
    assert (data, ends.tolist()) == (b"xyzq\xf0\x9f\x98\x80", [3, 3, 4, 8])
    assert gather(texts, 100, text_bytes)[1].tolist() == []
    large = b"x" * 50
    for texts in (iter(["", large]), iter(["", large.decode()]), iter(["", memoryview(large)])):
        data, ends = gather(texts, 10, text_bytes)
        assert (data, ends.tolist()) == (large, [0, 50])


def error_of(path: Path) -> str | None:
    try:
        bbpe.load_counts(path)
    except ValueError as error:
        return str(error)
    return None


def test_a_column_whose_name_is_no_utf8(tmp_path: Path) -> None:
    """The fuzzer's finding: arrow's error, a UnicodeDecodeError, named no file."""
    path = tmp_path / "c.parquet"
    counts_of(TEXTS).save(path)
    data = bytearray(path.read_bytes())
    names = data.index(b"schema")  # the first of the names in the footer, columns behind it
    data[data.index(b"count", names)] = 0xEF
    path.write_bytes(data)
    with pytest.raises(bbpe.CorpusError, match=r"c\.parquet.*codec can't decode"):
        bbpe.load_counts(path)


def test_a_broken_file_is_named(tmp_path: Path) -> None:
    """Arrow tells of some of it by an `OSError` that names nothing."""
    path = tmp_path / "counts.parquet"
    bbpe.count_from_iterator(["see my eyes first", "see my dogs"], pattern="gpt2").save(path)
    data = path.read_bytes()
    errors: list[str] = []
    for at in [*range(4, len(data), 17), *range(len(data) - 8, len(data))]:
        path.write_bytes(data[:at] + bytes([data[at] ^ 0x55]) + data[at + 1 :])
        errors += filter(None, [error_of(path)])
    assert len(errors) > 20
    assert [error for error in errors if str(path) not in error] == []


@pytest.mark.parametrize(
    "change",
    [
        lambda record: record["pattern"].update(name=None, steps=[True]),
        lambda record: record.update(special_tokens=[1]),
        lambda record: record.update(document="page"),
        lambda record: record.update(max_pretoken_bytes="9"),
        lambda record: record["summary"].update(files="9"),
        lambda record: record.update(pattern=[]),
    ],
)
def test_metadata_of_other_types(change: Any, tmp_path: Path) -> None:
    path = tmp_path / "counts.parquet"
    bbpe.count_from_iterator(["see my dogs"], pattern="gpt2").save(path)
    table = parquet.read_table(path)
    (key,) = [key for key in table.schema.metadata if key.startswith(b"bbpe")]
    record = json.loads(table.schema.metadata[key])
    change(record)
    parquet.write_table(table.replace_schema_metadata({key: json.dumps(record)}), path)
    with pytest.raises(bbpe.CorpusError, match="is broken") as caught:
        bbpe.load_counts(path)
    assert str(path) in str(caught.value)
