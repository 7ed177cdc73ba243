"""The empty path, which a variable that is not set gives, is no file and no folder: not the current one either."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import bbpe

TOK = bbpe.train_from_iterator(["low lower"], 258)
CALLS: dict[str, Callable[[], Any]] = {
    "save": lambda: TOK.save(""),
    "save as": lambda: TOK.save("", format="huggingface"),
    "load": lambda: bbpe.load(""),
    "load_counts": lambda: bbpe.load_counts(""),
    "save counts": lambda: bbpe.count_from_iterator(["low"], pattern="gpt2").save(""),
    "checkpoint": lambda: bbpe.Counting(checkpoint=""),
    "log_merges": lambda: bbpe.train_from_iterator(["low"], 257, log_merges=""),
    "plan_count": lambda: bbpe.plan_count("a.txt", "", pattern="gpt2"),
    "shard": lambda: bbpe.shard("a.txt", "", TOK),
    "load_shards": lambda: bbpe.load_shards(""),
    "verify_shards": lambda: bbpe.verify_shards(""),
}


@pytest.mark.parametrize("name", CALLS)
def test_the_empty_path_is_refused(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.txt").write_text("low")
    with pytest.raises((ValueError, bbpe.VocabularyError), match=r"is empty; expected the name of a file or a folder$"):
        CALLS[name]()
    assert [path.name for path in tmp_path.iterdir()] == ["a.txt"]
