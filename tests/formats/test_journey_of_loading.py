"""Following a load through the package, a reader visits few modules: those of the components that the file has."""

from __future__ import annotations

from pathlib import Path

from journeys import journey

import bbpe


def test_loading_a_file_is_a_short_journey(tmp_path: Path) -> None:
    bbpe.train_from_iterator(["low lower lowest"], 258).save(tmp_path / "tokenizer.json")
    found = journey(lambda: bbpe.load(tmp_path / "tokenizer.json"))
    assert found.rooms <= 17, found
    assert found.changes <= 82, found
