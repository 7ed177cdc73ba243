"""What merging reads comes in blocks of any sizes, and is handed over in others: nothing twice, nothing left out."""

from __future__ import annotations

from itertools import accumulate

import numpy as np
import pytest

from bbpe.shards.streams import HeldMasks, _as_bytes, _as_texts


@pytest.mark.parametrize("blocks", [[10], [1] * 10, [3, 3, 4], [0, 5, 0, 0, 5, 0], [9, 1], [1, 9], [4, 6]])
@pytest.mark.parametrize("taken", [[10], [1] * 10, [0, 3, 0, 4, 3], [5, 5], [4, 4, 2], [9, 1], [1, 9], [2, 3]])
def test_masks_are_taken_in_order(blocks: list[int], taken: list[int]) -> None:
    """Also where as many are asked for as are held, one more, or one less."""
    numbers = list(range(10))
    ends = list(accumulate(blocks))
    given = [np.array(numbers[end - size : end], np.uint8) for end, size in zip(ends, blocks, strict=True)]
    held = HeldMasks(iter(given))
    found = [held.take(count).tolist() for count in taken]
    assert found == [numbers[end - count : end] for end, count in zip(accumulate(taken), taken, strict=True)]


def test_masks_that_are_not_there_are_no_masks() -> None:
    held = HeldMasks(iter([np.ones(3, np.uint8)]))
    assert held.take(2).tolist() == [1, 1]
    with pytest.raises(StopIteration):
        held.take(2)


@pytest.mark.parametrize("keys", [[], ["a"], ["", "a", ""], ["\u00e9t\u00e9", "\u6df1", "\U0001f600", "ab"]])
def test_ids_of_documents_are_moved_as_bytes_and_come_back(keys: list[str]) -> None:
    data, sizes = _as_bytes(keys)
    assert (data.tobytes(), sizes.tolist()) == ("".join(keys).encode(), [len(key.encode()) for key in keys])
    assert list(_as_texts(data, sizes)) == keys
