"""Ids without those around documents, files that are no longer what a plan says, and arrays that grow."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bbpe.corpus.rowfiles import buffers_of
from bbpe.errors import CorpusError
from bbpe.shards.bins import _GrowingArray
from bbpe.shards.formats import FORMATS
from bbpe.shards.plan import Source
from bbpe.shards.texts import _inner


@pytest.mark.parametrize(("ids", "lengths", "bos", "eos", "inner", "left"), [
    ([5, 6, 1, 7, 1], [3, 2], None, 1, [5, 6, 7], [2, 1]), ([5, 6], [1, 1], None, None, [5, 6], [1, 1]),
    ([2, 5, 2, 6, 7], [2, 3], 2, None, [5, 6, 7], [1, 2]), ([2, 5, 1, 2, 6, 1], [3, 3], 2, 1, [5, 6], [1, 1]),
    # a document may have nothing else, and these ids within it, too
    ([1, 5, 1], [1, 2], None, 1, [5], [0, 1]), ([2, 1, 2, 5, 1], [2, 3], 2, 1, [5], [0, 1]),
    ([1], [1], None, 1, [], [0]),
    ([1, 1, 5, 1], [2, 2], None, 1, [1, 5], [1, 1]), ([], [], 2, 1, [], []),
    # an empty one that was kept has none at all
    ([5, 1], [2, 0], None, 1, [5], [1, 0]), ([5, 1, 6, 1], [0, 2, 0, 0, 2], None, 1, [5, 6], [0, 1, 0, 0, 1]),
    ([2, 5, 1], [0, 3, 0], 2, 1, [5], [0, 1, 0]), ([], [0, 0], 2, None, [], [0, 0]),
    ([5], [0, 1], None, None, [5], [0, 1]),
])  # fmt: skip
def test_ids_around_documents_are_left_out(
    ids: list[int], lengths: list[int], bos: int | None, eos: int | None, inner: list[int], left: list[int]
) -> None:
    for dtype in (np.uint16, np.uint32):
        found = _inner(np.array(ids, dtype), np.array(lengths, np.int64), bos, eos, "part")
        assert (found[0].tolist(), found[1].tolist(), found[0].dtype) == (inner, left, np.uint32)


@pytest.mark.parametrize(("ids", "lengths", "bos", "eos", "message"), [
    ([2, 1, 1], [2, 1], 2, 1, "a document has 1 id; expected bos and eos around each"),
    ([5, 1, 6], [2, 1], None, 1, "a document ends with the id 6; expected 1"),
    ([2, 5, 7, 6], [2, 2], 2, None, "a document begins with the id 7; expected 2"),
])  # fmt: skip
def test_documents_without_the_ids_around_them_are_refused(
    ids: list[int], lengths: list[int], bos: int | None, eos: int | None, message: str
) -> None:
    with pytest.raises(CorpusError, match=f"^part: {message}, as the plan says$"):
        _inner(np.array(ids, np.uint16), np.array(lengths, np.int64), bos, eos, "part")


SAME: dict[str, Any] = {"size": 10, "mtime_ns": 7, "ends": "e"}
AGAIN = "call it with the same arguments again, which compares its {}, or make a new plan in another folder"


@pytest.mark.parametrize(("changes", "contents", "message"), [
    ({"size": 1}, "texts", "has 1 byte, and had 10 since the plan was made; make a new plan in another folder"),
    ({"size": 2000, "ends": "f", "mtime_ns": 8}, "ids",
        "has 2,000 bytes, and had 10 since the plan was made; make a new plan in another folder"),
    ({"ends": "f", "mtime_ns": 8}, "texts",
        "has other contents of the same size since the plan was made; make a new plan in another folder"),
    ({"mtime_ns": 6}, "texts", "was written to since the plan was made; " + AGAIN.format("texts")),
    ({"mtime_ns": 8}, "ids", "was written to since the plan was made; " + AGAIN.format("ids")),
])  # fmt: skip
def test_a_file_that_is_not_as_it_was(changes: dict[str, Any], contents: str, message: str) -> None:
    source = Source("a.bin", 10, 7, 10, ends="e")
    source.check(**SAME, contents=contents)
    with pytest.raises(CorpusError) as caught:
        source.check(**{**SAME, **changes}, contents=contents)
    assert str(caught.value) == f"a.bin: the file {message}"


def test_arrays_grow_by_any_number_of_rows() -> None:
    grown, every = _GrowingArray(np.uint16, 2), []
    for size in (3, 0, 1, 50, 2):
        rows = np.arange(2 * size, dtype=np.uint16).reshape(size, 2) + len(every)
        grown.add(rows)
        every += rows.tolist()
    assert grown.counts == [3, 0, 1, 50, 2]
    assert grown.joined().tolist() == every


def test_what_follows_an_array_of_numpy_is_no_part_of_it(tmp_path: Path) -> None:
    np.save(tmp_path / "part.npy", np.arange(5, dtype=np.uint16))
    with (tmp_path / "part.npy").open("ab") as file:
        file.write(b"\1\0\2\0")
    assert FORMATS["numpy"].ids(tmp_path / "part", "uint16").tolist() == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("kind", ["string", "large_string", "binary", "large_binary", "string_view"])
def test_the_bytes_of_a_part_of_a_column_are_those_of_its_texts(kind: str) -> None:
    """Neither those before it nor those after it."""
    pa = pytest.importorskip("pyarrow")
    texts = ["ab", "", "c\u00e9", "d"]
    column = pa.array(texts, pa.string()).cast(getattr(pa, kind)())
    for start in range(5):
        for stop in range(start, 5):
            data, offsets = buffers_of(column[start:stop])
            right = [text.encode() for text in texts[start:stop]]
            assert (data.tobytes(), np.diff(offsets).tolist(), offsets[0]) == (b"".join(right), [*map(len, right)], 0)
