"""The numbers of records of documents in a part: kept where a record has no document, and nowhere else."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
import pytest

from bbpe.errors import CorpusError
from bbpe.shards import part
from bbpe.shards.outputs import Outputs


class Written:
    """The files of a part in memory."""

    def __init__(self) -> None:
        self.files: dict[str, bytearray] = {}

    def open(self, suffix: str) -> Any:
        data = self.files[suffix] = bytearray()

        class File:
            def write(self, block: bytes) -> None:
                data.extend(block)

        return File()


def rows_of(calls: list[tuple[int, list[int]]]) -> list[int] | None:
    """What is kept of blocks of documents: the run of each block, and its numbers of records."""
    written = Written()
    rows = part._Rows(cast(Outputs, written))
    for run, numbers in calls:
        rows.add(run, np.array(numbers, np.int64), "a.jsonl")
    found = written.files.get(part.ROWS)
    assert set(written.files) <= {part.ROWS}
    return None if found is None else np.frombuffer(found, "<u4").tolist()


@pytest.mark.parametrize("block", [1, 2, 1 << 16])
@pytest.mark.parametrize(("calls", "expected"), [
    ([], None), ([(0, [])], None), ([(0, [0])], None), ([(0, [0, 1]), (0, [2]), (0, [3, 4])], None),
    # each run begins anew, however many blocks it has
    ([(0, [0, 1]), (0, [2]), (1, [0]), (1, [1]), (3, [0, 1])], None), ([(2, [0, 1]), (5, []), (5, [0])], None),
    ([(0, [1])], [1]), ([(0, [0, 2])], [0, 2]), ([(0, [0, 1]), (0, [3])], [0, 1, 3]),
    ([(0, [0, 1]), (0, [2, 3]), (0, [5]), (0, [6, 7])], [0, 1, 2, 3, 5, 6, 7]),
    ([(0, [0, 1, 2]), (1, [0, 1]), (1, [3])], [0, 1, 2, 0, 1, 3]),
    ([(0, [0, 1]), (4, [1])], [0, 1, 1]), ([(0, [0, 1]), (4, [0]), (5, [0, 2]), (6, [0])], [0, 1, 0, 0, 2, 0]),
    # nothing is left out of the second run
    ([(0, [0, 2]), (1, [0, 1]), (1, [2])], [0, 2, 0, 1, 2]),
])  # fmt: skip
def test_numbers_are_kept_from_the_first_record_without_a_document_on(
    calls: list[tuple[int, list[int]]], expected: list[int] | None, block: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(part, "_BLOCK", block)
    assert rows_of(calls) == expected


def test_a_record_whose_number_is_no_uint32_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    assert part._MOST_RECORDS == 1 << 32
    monkeypatch.setattr(part, "_MOST_RECORDS", 5)
    assert rows_of([(0, [0, 4])]) == [0, 4]
    with pytest.raises(CorpusError, match=r"^a\.jsonl: record 5 has a document; expected fewer than 5 of a file in"):
        rows_of([(0, [0, 5])])
