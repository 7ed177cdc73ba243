"""Columns of Arrow in and out: the same ids as of lists, no object for each row, everything released once."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from random import Random
from typing import Any

import numpy as np
import pytest
from arrow_structs import Column, Streamed, numbers, text
from strings import adversarial_strings

import bbpe

pa = pytest.importorskip("pyarrow")

TEXTS = ["see", "my dogs", "", "café", "x" * 30, "see my dogs", "\u4e2d\u6587", "<s>a", ""]
TYPES = {
    "string": pa.string(), "large_string": pa.large_string(), "string_view": pa.string_view(), "binary": pa.binary(),
    "large_binary": pa.large_binary(), "binary_view": pa.binary_view(),
}  # fmt: skip
INDICES = [pa.int8(), pa.uint16(), pa.int32(), pa.uint64()]


@pytest.fixture(scope="module")
def tok() -> bbpe.Tokenizer:
    return bbpe.train_from_iterator(["see my dogs, see my eyes"] * 3, 280, special_tokens=["<s>"])


def columns(texts: list[Any], kind: Any) -> dict[str, Any]:
    array = pa.array(texts, kind)
    padded = pa.array([*texts[:1], "pad" if pa.types.is_string(kind) else b"pad", *texts], kind)
    return {
        "array": array,
        "sliced": padded.slice(2),
        "chunked": pa.chunked_array([array[:3], array[3:3], padded.slice(2).slice(3)]),
        **{
            f"dictionary of {index}": pa.DictionaryArray.from_arrays(pa.array(range(len(texts)), index), array)
            for index in INDICES
        },
    }


def same(tok: bbpe.Tokenizer, column: Any, texts: list[Any]) -> None:
    """Every batch method gives the ids of the list."""
    for options in ({}, {"allowed_special": "all"}):
        assert tok.encode_batch(column, **options) == tok.encode_batch(texts, **options)
        assert tok.encode_batch_to_numpy(column, **options) == tok.encode_batch_to_numpy(texts, **options)
        assert np.array_equal(tok.count_tokens_batch(column, **options), tok.count_tokens_batch(texts, **options))
        for found, right in zip(
            tok.encode_padded(column, 5, 0, **options), tok.encode_padded(texts, 5, 0, **options), strict=True
        ):
            assert np.array_equal(found, right)


@pytest.mark.parametrize("kind", TYPES)
def test_each_type(tok: bbpe.Tokenizer, kind: str) -> None:
    for column in columns(TEXTS, TYPES[kind]).values():
        same(tok, column, TEXTS)
        same(tok, column[2:7], TEXTS[2:7])


def test_soups(tok: bbpe.Tokenizer) -> None:
    """Chunks and slices at random, bytes that are not UTF-8 too; long enough for threads."""
    random, soup = Random(5), adversarial_strings(60, seed=9)
    ends = [b"", b"\xff", b"\xe4\xb8"]
    texts = [random.choice(soup).encode("utf-8", "replace") + random.choice(ends) for _ in range(900)]
    for kind in (pa.binary(), pa.large_binary(), pa.binary_view()):
        array, cuts = pa.array(texts, kind), sorted(random.sample(range(901), 20))
        column = pa.chunked_array([array[start:stop] for start, stop in zip([0, *cuts], [*cuts, 900], strict=True)])
        assert tok.encode_batch_to_numpy(column, threads=2) == tok.encode_batch_to_numpy(texts)
        assert tok.encode_batch(column, threads=2) == tok.encode_batch(texts)


def test_empty_columns(tok: bbpe.Tokenizer) -> None:
    for column in (pa.array([]), pa.array([], pa.string()), pa.chunked_array([], pa.string_view())):
        assert tok.encode_batch(column) == []
        assert len(tok.encode_batch_to_numpy(column)) == 0
        assert list(tok.count_tokens_batch(column)) == []
        assert tok.encode_padded(column, pad_id=0)[0].shape[0] == 0


@pytest.mark.parametrize("method", ["encode_batch", "encode_batch_to_numpy", "count_tokens_batch"])
def test_a_null_is_named(tok: bbpe.Tokenizer, method: str) -> None:
    for kind in TYPES.values():
        array = pa.array(["a"] * 300 + [None, "b", None], kind)
        for column, row in (
            (array, 300), (array[299:], 1), (pa.chunked_array([array[:200], array[200:]]), 300),
            (array[301:], 1), (pa.array([None, None]), 0),
        ):  # fmt: skip
            with pytest.raises(TypeError, match=f"text {row} of the batch, counted from 0, is null"):
                getattr(tok, method)(column)
    encoded = pa.DictionaryArray.from_arrays(pa.array([0, None, 1], pa.int8()), pa.array(["a", None]))
    with pytest.raises(TypeError, match=r"text 1 of the batch.* is null"):
        getattr(tok, method)(encoded)
    with pytest.raises(TypeError, match=r"text 1 of the batch.* is null"):
        getattr(tok, method)(encoded.take([0, 2]))


def test_other_types_are_named(tok: bbpe.Tokenizer) -> None:
    for column, name in (
        (pa.array([1]), "int64"), (pa.table({"text": ["a"]}), "one column of a table"), (pa.array([["a"]]), "list"),
        (pa.chunked_array([], pa.float32()), "float"),
    ):  # fmt: skip
        with pytest.raises(TypeError, match=f"a column of texts has strings or bytes, not the Arrow type .*{name}"):
            tok.encode_batch(column)


def test_no_object_for_each_row(tok: bbpe.Tokenizer) -> None:
    column = pa.chunked_array([pa.array(["see my dogs"] * 20_000), pa.array(["my"] * 20_000)])
    right = len(tok.encode_batch_to_numpy(column).ids)
    tracemalloc.start()
    try:
        for threads in (1, 2):
            before = tracemalloc.get_traced_memory()[0]
            tracemalloc.reset_peak()
            rows = tok.encode_batch_to_numpy(column, threads=threads)
            rows.to_arrow()
            counts = tok.count_tokens_batch(column, threads=threads)
            arrays = rows.ids.nbytes + 2 * rows.offsets.nbytes + 3 * counts.nbytes
            # the memory of arrays that numpy allocates, and less than 4 bytes for each row beside them
            assert tracemalloc.get_traced_memory()[1] - before < arrays + 4 * len(column)
            assert len(rows.ids) == right == counts.sum()
    finally:
        tracemalloc.stop()


def ragged_of(rows: list[list[int]]) -> bbpe.Ragged:
    return bbpe.Ragged.from_rows(np.array(row, np.uint32) for row in rows)


ROWS = [[1, 2, 3], [], [7], [2**31 - 1, 0], []]


def test_rows_out() -> None:
    rows = ragged_of(ROWS)
    array = rows.to_arrow()
    array.validate(full=True)
    assert array.type == pa.list_(pa.int32())
    assert array.to_pylist() == ROWS
    assert array.values.buffers()[1].address == rows.ids.ctypes.data  # no copy
    assert pa.chunked_array(rows).to_pylist() == ROWS
    assert pa.DataType._import_from_c_capsule(rows.__arrow_c_schema__()) == pa.list_(pa.int32())
    for kind in (pa.large_list(pa.uint32()), pa.large_list(pa.int32()), pa.list_(pa.uint32()), pa.list_(pa.int64())):
        found = rows.to_arrow(kind)
        found.validate(full=True)
        assert found.type == kind
        assert found.to_pylist() == ROWS
    for part in (slice(1, 4), slice(5, 9), slice(None, None, -2)):
        assert rows[part].to_arrow().to_pylist() == ROWS[part]
    assert bbpe.Ragged(rows.ids, rows.offsets[2:]).to_arrow().to_pylist() == ROWS[2:]
    assert ragged_of([]).to_arrow().to_pylist() == []
    assert pa.chunked_array(ragged_of([])).to_pylist() == []


def test_rows_outlive_each_other() -> None:
    rows = ragged_of(ROWS)
    array, values = rows.to_arrow(), rows.to_arrow().values
    del rows
    assert array.to_pylist() == ROWS
    assert values.to_pylist() == [token_id for row in ROWS for token_id in row]
    for capsules in (ragged_of(ROWS).__arrow_c_array__(), ragged_of(ROWS).__arrow_c_stream__()):
        del capsules  # nobody took what is in them


def test_rows_that_do_not_fit() -> None:
    with pytest.raises(OverflowError, match="id 2147483648 does not fit int32"):
        ragged_of([[2**31]]).to_arrow()
    assert ragged_of([[2**31]]).to_arrow(pa.list_(pa.uint32())).to_pylist() == [[2**31]]
    for offsets in ([0, 2], [1, 0], [-1, 1], []):
        with pytest.raises(ValueError, match="offsets are not ascending within 1 ids"):
            bbpe.Ragged(np.array([1], np.uint32), np.array(offsets, np.int64)).to_arrow()
    with pytest.raises(TypeError, match="cast"):
        bbpe.Ragged(np.array([1], np.int64), np.array([0, 1])).to_arrow()  # type: ignore[arg-type]


@pytest.mark.long
def test_many_ids_become_several_arrays() -> None:
    """An array of list<int32> has less than 2**31 ids; memory that nobody has written to takes none."""
    ids, offsets = np.zeros(2**31 + 10, np.uint32), np.array([0, 2**30, 2**31 - 1, 2**31 + 10])
    rows = bbpe.Ragged(ids, offsets)
    assert [len(chunk) for chunk in pa.chunked_array(rows).chunks] == [2, 1]
    with pytest.raises(OverflowError, match="2147483658 ids do not fit"):
        rows.to_arrow()
    with pytest.raises(OverflowError, match="row 0 has more ids"):
        bbpe.Ragged(ids, offsets[[0, 3]]).to_arrow()
    assert len(rows.to_arrow(pa.large_list(pa.uint32()))) == 3


def test_rows_join_and_compare() -> None:
    rows = ragged_of(ROWS)
    assert rows + rows == ragged_of(ROWS * 2) == bbpe.Ragged.concat([rows[:2], rows[2:], rows])
    assert rows[:2] + rows[2:] == rows != rows[2:] + rows[:2]
    assert bbpe.Ragged.concat([]) == ragged_of([])
    assert rows + rows[:0] == rows != rows[1:]
    with pytest.raises(TypeError):
        rows + 1  # type: ignore[operator]


def test_rows_in(tok: bbpe.Tokenizer) -> None:
    ids = tok.encode_batch(TEXTS)
    array, texts = pa.array(ids), TEXTS
    for kind in ("int16", "uint16", "int32", "uint32", "int64", "uint64"):
        for make in (pa.list_, pa.large_list):
            column = array.cast(make(pa.type_for_alias(kind)))
            for given in (column, pa.chunked_array([column[:2], column[2:2], column[2:]])):
                assert tok.decode_batch(given) == texts
                assert tok.decode_batch(given[3:6]) == texts[3:6]
                assert bbpe.Ragged.from_arrow(given) == tok.encode_batch_to_numpy(TEXTS)
    fixed = pa.array([[1, 2], [3, 4], [5, 6]], pa.list_(pa.int8(), 2))
    assert bbpe.Ragged.from_arrow(fixed[1:]) == ragged_of([[3, 4], [5, 6]])
    assert len(bbpe.Ragged.from_arrow(pa.array([], pa.list_(pa.int8())))) == 0
    assert tok.decode_batch(tok.encode_batch_to_numpy(TEXTS).to_arrow()) == texts
    assert tok.decode_batch(pa.array(ids), skip_special_tokens=True, errors="ignore") == texts
    one = array.cast(pa.list_(pa.int32()))
    assert bbpe.Ragged.from_arrow(one).ids.ctypes.data == one.values.buffers()[1].address


@pytest.mark.parametrize(("column", "error", "message"), [
    (pa.array([[1], None]), TypeError, "row 1 of the batch is null"),
    (pa.chunked_array([[[1]], [[], [2, None]]]), TypeError, "row 2 of the batch has a null"),
    (pa.array([1]), TypeError, "lists of integers, not the Arrow type int64"),
    (pa.array(["a"]), TypeError, "not the Arrow type string"),
    (pa.array([["a"]]), TypeError, "not the Arrow type list string"),
    (pa.array([[[1]]]), TypeError, "not the Arrow type list list"),
    (pa.array([[1, -1]]), bbpe.TokenIdError, "id -1 is out of range"),
])  # fmt: skip
def test_rows_that_are_refused(tok: bbpe.Tokenizer, column: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        tok.decode_batch(column)
    with pytest.raises((error, OverflowError), match=message):
        bbpe.Ragged.from_arrow(column)
    with pytest.raises(TypeError, match="expected a column of Arrow, not list"):
        bbpe.Ragged.from_arrow([[1]])


@pytest.mark.parametrize("kind", [pa.uint64(), pa.int64()])
def test_the_highest_id_of_rows(kind: Any) -> None:
    most = 2**32 - 1
    assert bbpe.Ragged.from_arrow(pa.array([[most], [0]], pa.list_(kind))) == ragged_of([[most], [0]])
    for wrong in (most + 1, most + 2, 2**63 - 1):
        with pytest.raises(OverflowError, match=f"id {wrong} is out of range; expected 0 to {most}"):
            bbpe.Ragged.from_arrow(pa.array([[1], [wrong, 0]], pa.list_(kind)))


def test_training(tok: bbpe.Tokenizer) -> None:
    right = list(bbpe.count_from_iterator(TEXTS, pattern="gpt2"))
    for column in columns(TEXTS, pa.string()).values():
        assert list(bbpe.count_from_iterator(column, pattern="gpt2")) == right
        assert bbpe.train_from_iterator(column, 260).merges == bbpe.train_from_iterator(TEXTS, 260).merges
    with pytest.raises(TypeError, match=r"^text 1 of the batch, counted from 0, is null"):
        bbpe.count_from_iterator(pa.array(["a", None]), pattern="gpt2")


# -- columns made by hand: broken ones, and how often each is released

ENDS, DATA = numbers([0, 1, 3, 3]), text(b"abc")
VIEW = text((1).to_bytes(4, "little") + b"a" + bytes(11) + (13).to_bytes(4, "little") + b"abcd" + bytes(8))
SIZES = numbers([13], "i8")


LONG = text(b"x" * 13)


def views(length: int = 13, number: int = 0, start: int = 0, size: int = 13, data: Any = LONG) -> Column:
    view = b"".join(value.to_bytes(4, "little", signed=True) for value in (length, 0, number, start))
    return Column(b"vu", [None, text(view), data, numbers([size], "i8")], 1)


def good() -> Column:
    return Column(b"u", [None, ENDS, DATA], 3, nulls=0)


BROKEN: dict[str, Callable[[], Column]] = {
    "falling": lambda: Column(b"u", [None, numbers([0, 2, 1, 3]), DATA], 3),
    "past the end": lambda: Column(b"u", [None, numbers([0, 9, 3]), DATA], 2),
    "negative": lambda: Column(b"U", [None, numbers([-1, 1], "i8"), DATA], 1),
    "negative end": lambda: Column(b"U", [None, numbers([0, -1], "i8"), DATA], 1),
    "no data": lambda: Column(b"z", [None, ENDS, None], 3),
    "no offsets": lambda: Column(b"Z", [None, None, DATA], 3),
    "few buffers": lambda: Column(b"u", [None, ENDS], 3),
    "negative length": lambda: Column(b"u", [None, ENDS, DATA], -1),
    "negative offset": lambda: Column(b"u", [None, ENDS, DATA], 1, offset=-1),
    "huge offset": lambda: Column(b"u", [None, ENDS, DATA], 2, offset=2**63 - 2),
    "view of no buffer": lambda: views(number=1),
    "view of buffer -1": lambda: views(number=-1),
    "view of length -1": lambda: views(length=-1),
    "view before": lambda: views(start=-1),
    "view past": lambda: views(start=1),
    "view of small data": lambda: views(size=12),
    "view of NULL": lambda: views(data=None),
    "index past": lambda: Column(b"u", [None, ENDS, DATA], 3, dictionary=(b"c", [None, numbers([3], "i1")], 1)),
    "index before": lambda: Column(b"u", [None, ENDS, DATA], 3, dictionary=(b"l", [None, numbers([-1], "i8")], 1)),
    "no indices": lambda: Column(b"u", [None, ENDS, DATA], 3, dictionary=(b"i", [None, None], 1)),
}


@pytest.mark.parametrize("name", BROKEN)
def test_broken_columns(tok: bbpe.Tokenizer, name: str) -> None:
    for method in (tok.encode_batch, tok.encode_batch_to_numpy, tok.count_tokens_batch):
        column = BROKEN[name]()
        with pytest.raises(ValueError, match=r"the buffers of (its|the) Arrow (column|type)"):
            method(column)  # type: ignore[operator]
        assert column.released == {"schema": 1, "array": 1, "stream": 0}


BROKEN_LISTS: dict[str, Callable[[], Column]] = {
    "falling": lambda: Column(b"i", [None, ENDS], 4, lists=(b"+l", [None, numbers([0, 2, 1])], 2)),
    "past the end": lambda: Column(b"i", [None, ENDS], 4, lists=(b"+L", [None, numbers([0, 5], "i8")], 1)),
    "negative": lambda: Column(b"i", [None, ENDS], 4, lists=(b"+L", [None, numbers([-1, 1], "i8")], 1)),
    "too wide": lambda: Column(b"i", [None, ENDS], 4, lists=(b"+w:3", [None], 2)),
    "no offsets": lambda: Column(b"i", [None, ENDS], 4, lists=(b"+l", [None, None], 1)),
    "no ids": lambda: Column(b"i", [None, None], 4, lists=(b"+l", [None, numbers([0, 1])], 1)),
    "negative length": lambda: Column(b"i", [None, ENDS], -4, lists=(b"+l", [None, numbers([0, 0])], 1)),
}


@pytest.mark.parametrize("name", BROKEN_LISTS)
def test_broken_lists(tok: bbpe.Tokenizer, name: str) -> None:
    column = BROKEN_LISTS[name]()
    with pytest.raises(ValueError, match="the buffers of its Arrow"):
        tok.decode_batch(column)
    assert column.released == {"schema": 1, "array": 1, "stream": 0}


def test_made_by_hand(tok: bbpe.Tokenizer) -> None:
    same(tok, good_texts := pa.array(["a", "bc", ""]), ["a", "bc", ""])
    assert tok.encode_batch(good()) == tok.encode_batch(good_texts)
    for view in (views(), Column(b"vz", [None, text(b"\x01\0\0\0a" + bytes(11)), SIZES], 1, nulls=0)):
        assert tok.count_tokens_batch(view).sum() > 0
    assert bbpe.Ragged.from_arrow(
        Column(b"i", [None, ENDS], 4, lists=(b"+w:2", [None], 2))
    ) == ragged_of([[0, 1], [3, 3]])


def test_each_is_released_once(tok: bbpe.Tokenizer) -> None:
    for method in (tok.encode_batch, tok.encode_batch_to_numpy, tok.count_tokens_batch):
        column = good()
        method(column)  # type: ignore[operator]
        assert column.released == {"schema": 1, "array": 1, "stream": 0}
    column = Column(b"i", [None, numbers([1, 2])], 2, lists=(b"+l", [None, numbers([0, 1, 2])], 2))
    rows = bbpe.Ragged.from_arrow(column)
    assert column.released["array"] == 0
    assert rows.ids.tolist() == [1, 2]
    del rows
    assert column.released == {"schema": 1, "array": 1, "stream": 0}


def test_streams(tok: bbpe.Tokenizer) -> None:
    """A stream is its capsule's, which here releases nothing; its arrays are released once each, after an error too."""
    column = good()
    assert tok.encode_batch(Streamed(column, 3)) == tok.encode_batch(["a", "bc", ""] * 3)
    assert column.released == {"schema": 1, "array": 3, "stream": 0}
    column = good()
    with pytest.raises(ValueError, match="the Arrow stream of the column failed: error 5"):
        tok.encode_batch(Streamed(column, 2, code=5))
    assert column.released == {"schema": 1, "array": 2, "stream": 0}
    column = Column(b"i", [None, ENDS], 3)
    with pytest.raises(TypeError, match="int32"):
        tok.encode_batch(Streamed(column, 2))
    assert column.released == {"schema": 1, "array": 2, "stream": 0}


def test_texts_by_pandas_and_polars(tok: bbpe.Tokenizer) -> None:
    pd = pytest.importorskip("pandas")
    right = tok.encode_batch(TEXTS)
    for dtype in (object, "string", None):
        assert tok.encode_batch(pd.Series(TEXTS, dtype=dtype)) == right
    pairs = pd.Series([("see", "my"), "dogs"])  # Python's objects, not a column of Arrow
    assert tok.encode_batch(pairs) == tok.encode_batch([("see", "my"), "dogs"])


def test_columns_of_polars(tok: bbpe.Tokenizer) -> None:
    pl = pytest.importorskip("polars")
    series = pl.Series(TEXTS)
    same(tok, series, TEXTS)
    same(tok, series.cast(pl.Categorical), TEXTS)
    same(tok, pl.concat([series[:3], series[3:]], rechunk=False), TEXTS)
    rows = tok.encode_batch_to_numpy(TEXTS)
    assert pl.Series(rows).to_list() == tok.encode_batch(TEXTS)
    assert tok.decode_batch(pl.Series(rows)) == TEXTS
