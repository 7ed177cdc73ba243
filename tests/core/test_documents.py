"""Documents placed between their ids, in two or four bytes, against lists of Python."""

from __future__ import annotations

import random
from itertools import chain

import numpy as np
import pytest

import bbpe
from bbpe.core.documents import Layout

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
