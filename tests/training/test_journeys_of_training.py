"""Training on one small file is counting it, and little else."""

from __future__ import annotations

from pathlib import Path

import pytest
from journeys import journey

import bbpe


@pytest.mark.parametrize(("model", "size", "rooms", "changes"), [("bpe", 258, 12, 23), ("wordpiece", 30, 17, 31)])
def test_training_on_a_file_is_a_short_journey(model: str, size: int, rooms: int, changes: int, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("low lower lowest")
    found = journey(lambda: bbpe.train(tmp_path / "a.txt", size, model=model))  # type: ignore[arg-type]
    assert found.rooms <= rooms, found
    assert found.changes <= changes, found
