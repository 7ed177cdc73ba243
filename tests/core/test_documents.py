"""Documents placed between their ids, in two or four bytes, against lists of Python."""

from __future__ import annotations

import random
from itertools import chain

import numpy as np
import pytest

import bbpe
from bbpe.core.documents import Layout, differing_rows

PIECES = ["low", " lower", "\u00e9", "\u6f22", "\n", "x"]
TOK = bbpe.train_from_iterator(["low lower lowest \u00e9\u6f22"] * 3, 290)


@pytest.mark.parametrize(("size", "dtype"), [(2, np.uint16), (4, np.uint32)])
@pytest.mark.parametrize(("before", "after"), [((), ()), ((7,), ()), ((), (8,)), ((7, 9), (8, 1, 2))])
def test_documents_are_those_of_encode(size: int, dtype: type, before: tuple[int, ...], after: tuple[int, ...]) -> None:
    layout, generator = Layout(before, after, size), random.Random(3)
    for count in (0, 1, 2, 1024, 1025):
        texts = ["".join(generator.choices(PIECES, k=k % 9)) for k in range(count)]
        rows = [[*before, *ids, *after] if (ids := TOK.encode(text)) else [] for text in texts]
        data = "".join(texts).encode()
        ends = np.cumsum([len(text.encode()) for text in texts], dtype=np.int64)
        found = TOK.encode_batch_to_numpy(texts)
        for ids, lengths in (
            layout.encode(TOK._parts.encoder.encoder, data, ends), layout.place(found.ids, found.offsets)
        ):  # fmt: skip
            assert ids.view(dtype).tolist() == list(chain.from_iterable(rows))
            assert lengths.tolist() == list(map(len, rows))


def test_a_document_longer_than_all_that_is_encoded_at_once() -> None:
    text = "low lower " * 40_000
    data = (text + "x" + text).encode()
    ends = np.array([len(text), len(text) + 1, len(data)])
    ids, lengths = Layout((), (5,), 2).encode(TOK._parts.encoder.encoder, data, ends)
    assert ids.view(np.uint16).tolist() == [*TOK.encode(text), 5, *TOK.encode("x"), 5, *TOK.encode(text), 5]
    assert lengths[1] == 2


def test_wrong_arguments_are_refused() -> None:
    for arguments in (((), (), 3), ((1,) * 17, (), 2), ((70_000,), (), 2)):
        with pytest.raises(ValueError, match=r"expected at most 16|does not fit"):
            Layout(*arguments)
    layout = Layout((), (), 2)
    for ends in ([3], [2, 1]):
        with pytest.raises(ValueError, match="expected at least"):
            layout.encode(TOK._parts.encoder.encoder, b"ab", np.array(ends))
    with pytest.raises(ValueError, match="no offsets"):
        layout.place(np.zeros(1, np.uint32), np.zeros(0, np.int64))


@pytest.mark.parametrize("dtype", [np.uint16, np.int32, np.uint32, np.int64])
def test_rows_that_differ_are_found(dtype: type) -> None:
    generator = random.Random(6)
    rows = [[generator.randrange(9) for _ in range(k % 7)] for k in range(300)] + [[7] * 5000, [8] * 5000]
    others = [list(row) for row in rows]
    for row in others[::3]:
        if row:
            row[generator.randrange(len(row))] += 1
    others[1].append(5)
    others[2].pop()
    others[-1][-1] = 7
    # an id between rows is in none of them
    ids = np.array(list(chain.from_iterable([9, *row] for row in rows)), dtype)
    ends = np.cumsum([1 + len(row) for row in rows], dtype=np.int64)
    lengths = np.array([len(row) for row in others])
    flat = np.array(list(chain.from_iterable(others)), np.uint32)
    found = differing_rows(ids, ends - [len(row) for row in rows], ends, flat, lengths)
    assert found.tolist() == [row != other for row, other in zip(rows, others, strict=True)]
    assert 60 < found.sum() < 200


@pytest.mark.parametrize(
    ("starts", "ends", "lengths"),
    [
        ([0], [5], [4]), ([2], [1], [1]), ([-1], [1], [1]), ([0], [4], [5]), ([0], [4], [-1]), ([0], [4], []),
        ([0], [], [4]),
    ],
)
def test_rows_that_are_not_there(starts: list[int], ends: list[int], lengths: list[int]) -> None:
    four = np.arange(4, dtype=np.uint32)
    with pytest.raises(ValueError, match="rows of 4 ids, and as many of 4 others"):
        differing_rows(four, *(np.array(each, np.int64) for each in (starts, ends)), four, np.array(lengths, np.int64))
