"""Options of an executor are refused where there is none, and a limit that the process exceeds is refused."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import bbpe

TOK = bbpe.train_from_iterator(["low lower"], 258, special_tokens=["<s>"])
CALLS: dict[str, Callable[..., Any]] = {
    "Counting": lambda _, **options: bbpe.Counting(**options),
    "count": lambda folder, **options: bbpe.count(folder / "a.txt", pattern="gpt2", **options),
    "count_from_iterator": lambda _, **options: bbpe.count_from_iterator(["low"], pattern="gpt2", **options),
    "shard": lambda folder, **options: bbpe.shard(folder / "a.txt", folder / "out", TOK, **options),
}
#: A part of shards is tried again without an executor, too.
ROWS = [
    (call, name, value)
    for name, value in (("in_flight", 3), ("in_flight", 1), ("attempts", 9), ("attempts", 1))
    for call in CALLS if (call, name) != ("shard", "attempts")
]  # fmt: skip


@pytest.mark.parametrize(("call", "name", "value"), ROWS)
def test_options_of_an_executor_need_one(call: str, name: str, value: int, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("low lower")
    with pytest.raises(ValueError, match=rf"^(Counting\.)?{name} is {value}; expected it only with an executor$"):
        CALLS[call](tmp_path, **{name: value})
    with ThreadPoolExecutor(1) as executor:
        assert CALLS[call](tmp_path, executor=executor, **{name: value})


@pytest.mark.parametrize("model", ["bpe", "unigram", bbpe.Unigram(byte_fallback=False)], ids=repr)
def test_a_limit_that_the_process_exceeds_is_refused(model: Any) -> None:
    with pytest.raises(bbpe.MemoryLimitError, match=r"max_memory is 1 bytes"):
        bbpe.train_from_counts({"low": 2}, 300, model=model, max_memory=1)
    assert bbpe.train_from_counts({"low": 2}, 300, model=model, max_memory="64GB")
